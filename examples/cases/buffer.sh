#!/bin/sh
# SPDX-License-Identifier: MIT
# buffer.sh before|after: socat passes on a stream of bytes from one TCP connection to another, 8 KiB at a time, which is its
# default; and then 256 KiB. Its first figure is MB a second at the other end; there are no requests.
. "$(dirname "$0")/case.inc"
change='--buffer socat>dd=262144'
programs='cat socat dd'
needs='socat bash'
packages='socat bash'

start() {
    size=8192
    [ "$setting" = before ] || size=262144
    serve socat -u -b $size TCP-LISTEN:18091,reuseaddr TCP-LISTEN:18092,reuseaddr
    ready 18091
}

# With exec, both ends have the names of what they do.
load() {
    # shellcheck disable=SC2016 # the other shell expands it
    timeout "$seconds" bash -c 'exec cat /dev/zero > /dev/tcp/127.0.0.1/18091' &
    ready 18092
    LC_ALL=C bash -c 'exec dd of=/dev/null bs=1M < /dev/tcp/127.0.0.1/18092' 2> "$scratch/dd.log" || :
    sed -n 's/^\([0-9]*\) bytes.* copied, \([0-9.]*\) s,.*/\1 \2/p' "$scratch/dd.log" | awk '{ print $1 / $2 / 1e6, "-" }'
}

play
