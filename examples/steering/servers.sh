#!/bin/sh
# SPDX-License-Identifier: MIT
# servers.sh off|on|best: requests are allocated to three servers, which take 10, 20 and 40 ms for one, each with four threads. Found by hand:
# as their speeds, 57%, 29% and 14%.
. "$(dirname "$0")/study.inc"
needs='nginx wrk /usr/bin/python3'
packages='nginx wrk python3'
port=18180

site="$scratch $((port + 1)) $((port + 2)) $((port + 3))"

start() {
    back_end fast $((port + 1)) 10
    back_end middle $((port + 2)) 20
    back_end slow $((port + 3)) 40
    shares='34 33 33'
    [ "$setting" != best ] || shares='57 29 14'
    # shellcheck disable=SC2086 # words
    "$folder/nginx-shares" $site $shares
    serve_site
}

policy() {
    cat << POLICY
group load is name wrk
group fast is name backend-fast
group middle is name backend-middle
group slow is name backend-slow
goal requests/s of load
shares of fast middle slow by $folder/nginx-shares $site {}
POLICY
}

load() {
    wrk -t1 -c24 -d"$seconds" http://127.0.0.1:$port/ | of_wrk
}

play
