# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154 # read after tap.sh, which sets $scratch
# two_hosts.sh: two hosts on one machine, network namespaces with a cable between them, for tests that need a network.
# They are removed at the end of the test; `leave_hosts` is what the test does before that.
here=dpm-here-$$
there=dpm-there-$$
leave_hosts() { :; }

remove_hosts() {
    leave_hosts
    wait
    ip netns del $here 2> "$scratch/clean.err"
    ip netns del $there 2> "$scratch/clean.err"
    rm -rf "$scratch"
}

# two_hosts NETWORK: $here gets the address NETWORK.1, $there NETWORK.2; skips the test if that is impossible.
two_hosts() {
    trap remove_hosts EXIT
    ip netns add $here 2> err && ip netns add $there 2> err ||
        skip_all "no network namespaces: $(cat err)"
    ip link add cable netns $here type veth peer name cable netns $there 2> err ||
        skip_all "no veth: $(cat err)"
    ip -n $here addr add "$1.1/24" dev cable
    ip -n $there addr add "$1.2/24" dev cable
    for host in $here $there; do
        ip -n $host link set lo up
        ip -n $host link set cable up
    done
}
