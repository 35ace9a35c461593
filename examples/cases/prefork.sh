#!/bin/sh
# SPDX-License-Identifier: MIT
# prefork.sh before|after: apache with at most 2 processes, each of which has one request at a time, and then 12; twelve clients,
# whose page is a program that waits 30 ms.
. "$(dirname "$0")/case.inc"
change='--replicas apache2=12'
programs='apache2 ab page.sh'
needs='ab /usr/sbin/apache2'
packages='apache2 apache2-utils'

# (When apache ends, it ends its whole process group.)
start() {
    workers=2
    [ "$setting" = before ] || workers=12
    mkdir "$scratch/site" "$scratch/run"
    printf '#!/bin/sh\nsleep 0.03\necho "Content-Type: text/plain"\necho\necho done\n' > "$scratch/site/page.sh"
    chmod -R 755 "$scratch/site"
    cat > "$scratch/apache.conf" << END
ServerRoot $scratch
ServerName localhost
Listen 127.0.0.1:18088
PidFile $scratch/run/pid
ErrorLog $scratch/error.log
DefaultRuntimeDir $scratch/run
User www-data
Group www-data
$(for module in mpm_prefork authz_core alias cgi; do echo "LoadModule ${module}_module /usr/lib/apache2/modules/mod_$module.so"; done)
KeepAlive Off
StartServers $workers
ServerLimit $workers
MaxRequestWorkers $workers
ScriptAlias / $scratch/site/
<Directory $scratch/site>
    Require all granted
</Directory>
END
    serve setsid /usr/sbin/apache2 -D FOREGROUND -f "$scratch/apache.conf"
    ready 18088
}

load() {
    ab -q -c 12 -t "$seconds" -n 1000000 http://127.0.0.1:18088/page.sh | awk '
        /^Requests per second/ { rate = $4 } $1 == "50%" { median = $2 } /^Non-2xx/ { exit 1 } END { print rate, median }'
}

play
