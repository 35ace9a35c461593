# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154 # who reads it sets $dpm
# counted.sh: what `dpm stats --quick` tells is what it tells without it, but for what follows messages from their senders
# to their receivers.

# counted NULL WHAT FILE: the JSON of FILE without what is known only of messages that are followed; where NULL is true, all of
# it must be null there. Of several machines without the duration, too, which hangs on how far their clocks are apart.
# Processes are called by their machine, number and name, for which of several traces tells of one first is chance.
# WHAT: rows of connections, or the sums of them.
counted() {
    jq -cS --argjson null "$1" --arg what "$2" '
        def followed: ["queue", "message_wait_ns", "delivery_ns", "duplicates"];
        def without: if type == "object" then . as $row
            | if $null and ([followed[] | $row[.] | values] != []) then error("\(followed) of \($row)") else . end
            | with_entries(select(.key | IN(followed[]) | not)) else . end;
        def called: "\(.machine) \(.pid) \(.name)";
        def named($names): if type == "number" then $names[tostring] elif type == "array" then map(named($names)) | sort else . end;
        def name_all: ([.processes[]?, .groups[]?] | map({key: (.id | tostring), value: called}) | from_entries) as $names
            | (.pairs, .pair_histograms | values) |= (map(.from |= named($names) | .to |= named($names)) | sort)
            | (.paths, .path_histograms | values) |= (map(.ends |= map(named($names))) | sort)
            | (.process_histograms | values) |= (map(.id |= named($names)) | sort)
            | if .processes then .processes |= (map(.parent |= named($names) | del(.id)) | sort) else . end
            | if .groups then .groups |= (map(del(.id)) | sort) else . end;
        def timeless: if (.trace.machines | length) > 1 then del(.trace.duration_ns)
            | walk(if type == "object" then with_entries(select(.key | endswith("_per_s") | not)) else . end) else . end;
        def sums: if $what == "sums" then
            .pairs |= (map([.messages, .bytes]) | transpose | map(add))
            | .paths |= (map([.connections, .ended, .reused, .dropped, .sent.messages, .sent.bytes, .received.messages, .received.bytes])
                | transpose | map(add))
            | del(.pair_histograms, .path_histograms) else . end;
        if $null and ([.late_senders, .late_receivers, .trace.matching | values] != []) then error("who is late") else . end
        | del(.late_senders, .late_receivers, .trace.matching, .trace.clocks, .trace.counts_only)
        | .trace |= without | .processes[]? |= without | .groups[]? |= without | .pairs[] |= without | .paths[] |= without
        | .process_histograms[]? |= without | .pair_histograms[]? |= without | .path_histograms[]? |= without | timeless | name_all | sums' "$3"
}

# share_rows FILE...: whether connections that have ended share rows.
share_rows() {
    jq -e -s 'any(.[].paths[]; .connections > 1)' "$@" > shared.out
}

# check_counted NAME OPTION... TRACE...
check_counted() {
    check_counted_by rows "$@"
}

# The same of a program that was recorded here: which of its connections share rows hangs on when they are known to have
# ended, and that on how long all takes.
check_counted_live() {
    check_counted_by either "$@"
}

check_counted_by() {
    counted_by=$1
    counted_name=$2
    shift 2
    "$dpm" stats --json "$@" > whole.json 2> whole.err
    "$dpm" stats --quick --json "$@" > quick.json 2> quick.err
    check "$counted_name: something was sent" jq -e '.pairs != []' whole.json
    counted false rows whole.json > whole.rows
    counted true rows quick.json > quick.rows
    if [ "$counted_by" = either ] && ! cmp -s whole.rows quick.rows && share_rows whole.json quick.json; then
        counted false sums whole.json > whole.rows
        counted true sums quick.json > quick.rows
    fi
    check_equal "$counted_name: --quick counts the same" "$(cat whole.rows)" "$(cat quick.rows)"
    check_equal "... and says so" '[true,0]' "$(jq -c '[.trace.counts_only, .trace.split]' quick.json)"
    check "... with the same complaints" cmp whole.err quick.err
}
