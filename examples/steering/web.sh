#!/bin/sh
# SPDX-License-Identifier: MIT
# web.sh off|on|best: nginx with two back ends, each with four threads that take 10 ms for a request. After a third of the time one of
# them takes 50 ms. Found by hand: five of six requests to the one that stays as it is.
. "$(dirname "$0")/study.inc"
needs='nginx wrk /usr/bin/python3'
packages='nginx wrk python3'
port=18190

start() {
    back_end one $((port + 1)) 10
    back_end two $((port + 2)) 10
    share=50
    [ "$setting" != best ] || share=83
    "$folder/nginx-shares" "$scratch" $((port + 1)) $((port + 2)) $share $((100 - share))
    serve_site
}

policy() {
    cat << POLICY
group load is name wrk
group one is name backend-one
group two is name backend-two
goal requests/s of load
shares of one two by $folder/nginx-shares $scratch $((port + 1)) $((port + 2)) {}
POLICY
}

load() {
    (sleep $((seconds / 3)) && touch "$scratch/slow-two") &
    wrk -t1 -c8 -d"$seconds" http://127.0.0.1:$port/ | of_wrk
}

play
