#!/bin/sh
# SPDX-License-Identifier: MIT
# web_site.sh: a web site of nginx, two back ends and postgres, on one host or several.
#
#   web_site.sh database FOLDER PORT SECONDS              postgres, whose queries take SECONDS; everyone may connect
#   web_site.sh web FOLDER PORT HOST:PORT HOST:PORT       nginx, in turn with two back ends behind it; its log, in
#                                                         FOLDER/access.log, has bytes and upstreams
#
# FOLDER is made. Each goes on until it is told to end.
set -eu
folder=$2
port=$3
mkdir -p "$folder"
cd "$folder"
case $1 in
database)
    PATH=$PATH:$(pg_config --bindir 2> /dev/null || echo /usr/lib/postgresql/*/bin)
    chown nobody .
    as_nobody() {
        setpriv --reuid nobody --regid nogroup --clear-groups env LC_ALL=C "$@"
    }
    as_nobody initdb -D data -A trust -U postgres --no-sync > initdb.out 2>&1
    echo "host all all all trust" >> data/pg_hba.conf
    cat >> data/postgresql.conf << CONF
port = $port
listen_addresses = '*'
unix_socket_directories = '$folder/data'
fsync = off
autovacuum = off
track_functions = all
max_parallel_workers = 0
CONF
    # before it serves anyone
    as_nobody postgres --single -D data postgres > single.out 2>&1 << SQL
create function answer(size int) returns text language plpgsql as 'begin perform pg_sleep($4); return repeat(chr(97), size + 10); end'
SQL
    exec setpriv --reuid nobody --regid nogroup --clear-groups env LC_ALL=C "$(command -v postgres)" -D data
    ;;
web)
    cat > nginx.conf << CONF
daemon off;
worker_processes 1;
pid $folder/nginx.pid;
error_log $folder/error.log;
events { worker_connections 512; }
http {
    log_format bytes '\$bytes_sent \$request_length \$upstream_addr \$upstream_bytes_sent \$upstream_bytes_received \$status';
    keepalive_requests 100000;
    client_body_temp_path $folder/body;
    proxy_temp_path $folder/proxy;
    fastcgi_temp_path $folder/fastcgi;
    uwsgi_temp_path $folder/uwsgi;
    scgi_temp_path $folder/scgi;
    upstream kept {
        server $4 max_fails=0;
        server $5 max_fails=0;
        keepalive 8;
        keepalive_requests 100000;
    }
    server {
        listen $port;
        access_log $folder/access.log bytes;
        location / {
            proxy_pass http://kept;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
        }
    }
}
CONF
    chmod 755 .
    exec nginx -c "$folder/nginx.conf" -e "$folder/error.log"
    ;;
*)
    sed -n 's/^#   //p' "$0" >&2
    exit 2
    ;;
esac
