#!/bin/sh
# SPDX-License-Identifier: MIT
# children.sh before|after: php-fpm has 5 children, Debian's default, and then 20, for 20 clients of nginx; a page waits 50 ms,
# as for a back end.
. "$(dirname "$0")/case.inc"
change='--replicas php-fpm8.2=20'
programs='nginx php-fpm8.2 wrk'
needs='nginx php-fpm8.2 wrk'
packages='nginx-light php8.2-fpm wrk'

start() {
    children=5
    [ "$setting" = before ] || children=20
    echo '<?php usleep(50000); echo "done\n";' > "$scratch/page.php"
    cat > "$scratch/php.conf" << END
[global]
error_log = $scratch/php.log
daemonize = no
[www]
user = www-data
group = www-data
listen = $scratch/php.sock
listen.owner = www-data
listen.backlog = 511
pm = static
pm.max_children = $children
END
    cat > "$scratch/nginx.conf" << END
user www-data;
daemon off;
worker_processes 1;
pid $scratch/nginx.pid;
error_log $scratch/nginx.log;
events {}
http {
    access_log off;
    server {
        listen 127.0.0.1:18080;
        location / {
            fastcgi_pass unix:$scratch/php.sock;
            include /etc/nginx/fastcgi_params;
            fastcgi_param SCRIPT_FILENAME $scratch/page.php;
        }
    }
}
END
    serve php-fpm8.2 --nodaemonize --fpm-config "$scratch/php.conf"
    serve nginx -c "$scratch/nginx.conf"
    ready 18080
    while [ ! -S "$scratch/php.sock" ]; do sleep 0.05; done
}

load() {
    wrk -t1 -c20 -d"$seconds" --latency http://127.0.0.1:18080/ | of_wrk
}

play
