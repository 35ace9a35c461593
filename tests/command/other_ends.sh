# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154 # read after meter.sh, which sets $dpm
# other_ends.sh: shared by the tests that compare what other_ends.c says of its messages with what a trace says; read after
# meter.sh, in the scratch folder.
other_ends=$1/tests/programs/other-ends

# record METER MODE [KIND]: runs it metered; `truth` has what it says, `said` the same from the trace: of each RECEIVE
# the size, and of the SEND that it leads to the port, the thread and which of its SENDs it is, how certain that is, and
# whether the sizes agree.
record() {
    meter_options=$1
    shift
    rm -rf trace
    # shellcheck disable=SC2086 # several options
    timeout -k 1 60 "$dpm" run --meter $meter_options -o trace --report none -- "$other_ends" "$@" > truth 2> err
    "$dpm" dump --matched --json trace 2> dump.err | jq -s -r '
        (map(select(.event == "SEND")) | group_by(.tid) | map(sort_by(.sequence) | to_entries |
            map(.value + {rank: .key})) | add // [] | map({("\(.stream)/\(.sequence)"): .}) | add) as $sends |
        .[] | select(.event == "RECEIVE" and .bytes > 0) | . as $receive |
        [.edges // [] | .[] | select(.event == "SEND")] |
        if length == 1 then $sends["\(.[0].stream)/\(.[0].sequence)"] as $sent |
            "\($receive.bytes) \(if $sent.kind == "tcp" or $sent.kind == "udp" then
                $sent.local | sub(".*:"; "") else 0 end) \($sent.tid) \($sent.rank) \(.[0].kind) \(
                if $sent.bytes == $receive.bytes then "whole" else "part" end)"
        else "\($receive.bytes) - - - none -" end' > said
}

# judge: "RIGHT of ALL, EXACT exact; WRONG wrong", line by line; wrong: said to be exact and is not, or not even possible.
judge() {
    paste -d ' ' truth said | awk '
        { all++; right = $1 == $5 && $2 == $6 && $3 == $7 && $4 == $8 }
        right { good++ }
        $9 == "exact" { exact++ }
        !right && ($9 == "exact" || ($9 != "none" && $1 != $5)) { wrong++ }
        END { printf "%d of %d, %d exact; %d wrong\n", good, all, exact, wrong }'
}

# in_order: sorts both, where several processes receive at a time.
in_order() {
    for list in truth said; do
        sort -n $list > sorted
        mv sorted $list
    done
}
