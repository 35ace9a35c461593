#!/bin/sh
# SPDX-License-Identifier: MIT
# nodelay.sh before|after: a question and its answer through a broker, with quality of service 1: Nagle's algorithm holds each
# back until the acknowledgement before it is itself acknowledged; and then without it, in the broker and in the clients.
#
. "$(dirname "$0")/case.inc"
change='--no-holdback'
programs='mosquitto nodelay_client.py'
needs='mosquitto /usr/lib/python3/dist-packages/paho/mqtt/client.py'
packages='mosquitto python3-paho-mqtt'

start() {
    no_delay=false
    [ "$setting" = before ] || no_delay=true
    printf 'listener 18088 127.0.0.1\nallow_anonymous true\nset_tcp_nodelay %s\n' $no_delay > "$scratch/mosquitto.conf"
    serve mosquitto -c "$scratch/mosquitto.conf"
    ready 18088
    serve /usr/bin/python3 "$folder/nodelay_client.py" answer $no_delay
    sleep 0.5
}

load() {
    /usr/bin/python3 "$folder/nodelay_client.py" ask $no_delay "$seconds"
}

play
