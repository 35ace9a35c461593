#!/bin/sh
# SPDX-License-Identifier: MIT
# filesystem_hosts_test.sh BUILD_FOLDER: the file system of the thesis with its servers on hosts of their own (5.10): messages,
# bytes and the paths of requests are those of one machine, as the programs count them, and as dpm does.
. "$(dirname "$0")/tap.sh"
long_ones || skip_all "takes long, and seldom finds a fault: only with ./dev test --all"
. "$(dirname "$0")/meter.sh"
need_meter
need_programs ip ssh jq nats-server unshare
hosts=$(realpath "$(dirname "$0")/../../scripts/hosts")
programs=$(realpath "$1/examples/filesystem")
dir=$scratch/hosts

# shellcheck disable=SC2317 # called by trap
leave() {
    "$hosts" down "$dir"
    rm -rf "$scratch"
}
trap leave EXIT
"$hosts" up --owner $$ "$dir" disk buffer dirs users > up.log 2>&1 || skip_all "no hosts can be made: $(tail -n 1 up.log; rm -f up.log)"
rm -f up.log
dpm=$(realpath "$dpm")
cd "$scratch" || exit 1
export HOME="$scratch/home" XDG_STATE_HOME=
mkdir -p "$HOME"

# counted TRACE...: messages and bytes between each two programs, as lines of the example.
counted() {
    "$dpm" stats --json "$@" 2> stats.err | jq -r '
        (.processes | map({key: (.id | tostring), value: .name}) | from_entries) as $name |
        [.pairs[] | {from: $name[.from | tostring], to: $name[.to | tostring], messages, bytes}] |
        group_by([.from, .to])[] |
        [.[0].from, .[0].to, (map(.messages) | add), (map(.bytes) | add)] | join(" ")' | LC_ALL=C sort
}

# ways TRACE...: what the servers send next, by whom they received from last.
ways() {
    "$dpm" causality --json --last --each-send --by-program \
        --server disk-interface,buffer-manager,directory-mgr,request-interp "$@" 2> causality.err | jq -r '
        .letters as $name | def named: if . == "requestor" then "user-process" else $name[.] // . end;
        (.transitions[], (.replies[] | .next = "requestor")) |
        "\(.at | named) \(.from | named) \(.next | named) \(.count)"' | LC_ALL=C sort
}

# own TABLE FILE: the example's own lines of a table, without the host's name before them.
own() {
    sed 's/^[a-z]*\(\[[0-9]*\]\)*: //' "$2" | awk -v table="$1" '$1 == table { $1 = ""; print substr($0, 2) }' | LC_ALL=C sort
}

for options in "--clients 4" "--clients 2 --kind random"; do
    rm -rf one.trace apart
    # shellcheck disable=SC2086 # the words are options
    "$dpm" run -o one.trace --kinds tcp -- "$programs/filesystem" --requests 200 --tcp $options > one.out 2> one.err
    check_equal "on one machine it ends in order, $options" 0 $?
    part="$programs/filesystem --requests 200 $options --hosts disk=disk,buffer=buffer,directory=dirs,interpreter=dirs --part"
    timeout 200 "$dpm" run -o apart --rsh "ssh -F $dir/ssh_config" --remote-dpm "$dpm" --kinds tcp \
        --host disk:"$part disk" --host buffer:"$part buffer" --host dirs:"$part directory" \
        --host dirs:"$part interpreter" --host users:"$part users" < /dev/null > apart.out 2> apart.err
    check_equal "... with its servers on hosts of their own, too" 0 $?
    check "... each of the four has a trace" test -s apart/disk/data -a -s apart/buffer/data -a -s apart/dirs/data -a -s apart/users/data
    for table in sent next requests verified cache; do
        check_equal "... the programs count the same ($table)" "$(own $table one.out)" "$(own $table apart.out)"
    done
    check_equal "... dpm counts the same messages and bytes, which are the programs' own" \
        "$(own sent one.out)" "$(counted apart/*)"
    check_equal "... and on one machine" "$(counted one.trace)" "$(counted apart/*)"
    check_equal "... requests take the same paths" "$(ways one.trace)" "$(ways apart/*)"
    check_equal "... which are the servers' own" "$(own next one.out | grep -v ^user-process)" "$(ways apart/*)"
    check_equal "... and every message is matched" "[true,0,0,0,0,0]" "$("$dpm" stats --json apart/* 2> stats.err | jq -c --argjson sent \
        "$(own sent one.out | awk '{ sum += $3 } END { print sum }')" \
        '.trace.matching | [.exact == $sent, .ordered, .inferred, .external, .unmatched_sends, .unmatched_receives]')"
done
finish
