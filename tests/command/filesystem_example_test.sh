#!/bin/sh
# SPDX-License-Identifier: MIT
# filesystem_example_test.sh BUILD_FOLDER: the file system example keeps the written data, its message counts are right
# and the same in every run, and DPM's counts are the same.
#
# DPM_SEED sets the seed of the options to test (default: the clock).
. "$(dirname "$0")/tap.sh"
long_ones || skip_all "takes long, and seldom finds a fault: only with ./dev test --all"
# shellcheck source=tests/command/meter.sh
. "$(dirname "$0")/meter.sh"
programs=$1/examples/filesystem
seed=${DPM_SEED:-$(date +%s)}
cd "$scratch" || exit 1

# run OPTION...: a run without CPU work, its output in `out`.
run() {
    timeout 120 "$programs/filesystem" --cost-disk 0 --cost-buffer 0 --cost-directory 0 \
        --cost-interpreter 0 "$@" > out 2> err
}

# number WORD FIELD: of the line of `out` that begins with the word.
number() {
    awk -v word="$1" -v field="$2" '$1 == word { print $field }' out
}

# counts: the lines of `out` that must be the same in every run.
counts() {
    grep -E '^(requests|verified|cache|sent|next)' out
}

# adds_up: the sends by cause add up to all sends. Each server sends as many messages as it receives, except those at
# its start and end, which the directory manager sends (and gets answers to).
adds_up() {
    awk '
        $1 == "sent" { sent[$2, $3] += $4; out_of[$2] += $4; into[$3] += $4 }
        $1 == "next" { followed[$2, $4] += $5 }
        END {
            for (pair in sent)
                if (sent[pair] != followed[pair])
                    print "sent and followed differ: " pair
            for (server in into)
                if (into[server] != out_of[server])
                    print server " received " into[server] ", sent " out_of[server]
            if (out_of["user-process"] == 0)
                print "nothing was sent"
        }' out
}

# ---- any options: data is read as it was written, and counts add up ----

# pick LEAST LARGEST: sets `picked`, from the seed (Park and Miller 1988).
state=$((seed % 2147483646 + 1))
pick() {
    state=$((state * 48271 % 2147483647))
    picked=$(($1 + state % ($2 - $1 + 1)))
}

# random_options: sets `options`.
random_options() {
    options="--seed $round"
    for range in clients:1:6 requests:1:400 file-blocks:1:40 random-blocks:1:30 write-percent:0:100 \
        buffers:1:20 dirty-buffers:1:20 inside:1:6; do
        name=${range%%:*}
        limits=${range#*:}
        pick "${limits%:*}" "${limits#*:}"
        options="$options --$name $picked"
    done
    pick 0 2
    case $picked in
    0) options="$options --kind sequential" ;;
    1) options="$options --kind random" ;;
    2) options="$options --kind mixed --tcp" ;;
    esac
}

# try_options: prints the error of a run, or nothing.
try_options() {
    # shellcheck disable=SC2086 # the words are options
    run $options || {
        cat err
        return
    }
    adds_up
    asked=$(echo "$options" | awk '{ for (i = 1; i < NF; i++) of[$i] = $(i + 1)
        print of["--clients"] * of["--requests"] }')
    [ "$(number requests 2)" = "$asked" ] || echo "not $asked requests"
    [ $(($(number cache 2) + $(number cache 4))) = "$asked" ] || echo "hits and misses are not $asked"
}

echo "# seed $seed"
wrong=
round=0
while [ $round -lt 25 ]; do
    random_options
    found=$(try_options)
    [ -z "$found" ] || wrong="$wrong$options: $found
"
    round=$((round + 1))
done
check_equal "25 runs with random options: records are right, counts add up" "" "$wrong"

# ---- sequential users: every count follows from the options ----

# A round writes F blocks of a file and reads them. As many written blocks as may be dirty stay in memory until the file
# is closed; every other one costs one of the writes a disk access. Each block read costs one. The disk is asked for the
# blocks twice, and for the indirect block and the descriptor; once for the directory's block and descriptor, which has
# entries for 32 files.
expect_sequential() {
    clients=$1 blocks=$2 buffers=$3 dirty=$4 rounds=$5
    run --kind sequential --clients "$clients" --file-blocks "$blocks" --buffers "$buffers" \
        --dirty-buffers "$dirty" --requests $((rounds * blocks * 8)) || return
    least=$((dirty < buffers ? dirty : buffers))
    least=$((least < blocks ? least : blocks))
    indirect=$((blocks > 4))
    files=$((clients * rounds))
    wanted="$((files * blocks * 4)) $((files * 4)) $((files * (2 * blocks - least)))"
    wanted="$wanted $((files * (2 * blocks + 2 * indirect + 2) + 2))"
    got="$(number verified 2) $(number requests 6) $(number cache 4)"
    got="$got $(awk '$1 == "sent" && $2 == "buffer-manager" && $3 == "disk-interface" { print $4 }' out)"
    [ "$got" = "$wanted" ] || echo "$* are $got, not $wanted"
}

wrong=
for case in "1 4 2 1 1" "1 5 2 2 1" "3 12 8 3 2" "4 12 3 8 8" "2 40 40 40 2" "1 1 1 1 3"; do
    # shellcheck disable=SC2086 # the words are numbers
    wrong=$wrong$(expect_sequential $case)
done
check_equal "sequential users: records read, opens, misses and disk accesses are what they must be" "" "$wrong"

# ---- the same in every run ----

run --requests 300 --clients 5
counts > first
for options in "" "--tcp" "--inside 1" "--place disk=0,buffer=0,directory=0,interpreter=0,users=0" "--cost-disk 200"; do
    # shellcheck disable=SC2086 # the words are options
    run --requests 300 --clients 5 $options
    counts > again
    check_equal "the same counts again, ${options:-with the same options}" "" "$(diff first again)"
done
run --requests 300 --clients 5 --seed 2
counts > again
check_not "other counts with another seed" cmp -s first again

# ---- CPU work ----

timeout 60 "$programs/filesystem" --clients 1 --requests 200 --cost-disk 2000 --cost-buffer 1000 \
    --cost-directory 500 --cost-interpreter 250 > out 2> err
check "each message costs the CPU time asked for" awk '
    BEGIN { cost["disk-interface"] = 2; cost["buffer-manager"] = 1
            cost["directory-mgr"] = 0.5; cost["request-interp"] = 0.25 }
    $1 == "sent" { received[$3] += $4 }
    $1 == "cpu" && $2 in cost { took[$2] = $3 }
    END {
        for (server in cost) {
            least = received[server] * cost[server]
            print server, "took", took[server], "ms, asked for", least
            bad = bad || took[server] < 0.98 * least || took[server] > 1.5 * least + 30
        }
        exit bad || received["buffer-manager"] == 0
    }' out

# ---- errors ----

# all_begun: whether the four servers and four users are their programs: those forked last may be so first
all_begun() {
    [ "$(pgrep -c -P $launcher -x 'disk-interface|buffer-manager|directory-mgr|request-interp|user-process')" = 8 ]
}

# start OPTION...: a long run; sets `launcher`.
start() {
    "$programs/filesystem" --requests 10000000 "$@" > out 2> err &
    launcher=$!
    wait_for 30 all_begun
}

# none_left: no child of the launcher is alive.
none_left() {
    for process in $children; do
        ! grep -q "^State:[[:blank:]]*[^Z]" "/proc/$process/status" 2> /dev/null || return 1
    done
}

for victim in disk-interface buffer-manager directory-mgr request-interp user-process; do
    start
    children=$(pgrep -P $launcher)
    kill -KILL "$(pgrep -P $launcher -x $victim | head -n 1)"
    wait $launcher
    status=$?
    check "a $victim that is killed: exit code 1, and it is named" \
        test "$status $(grep -c "^filesystem: .*" err)" = "1 1"
    wait_for 30 none_left
    check "... and no process is left" none_left
done

start
children=$(pgrep -P $launcher)
kill -TERM $launcher
wait $launcher
check_equal "on SIGTERM it ends with a line" "1 filesystem: interrupted" "$? $(tail -n 1 err)"
start
children=$(pgrep -P $launcher)
kill -KILL $launcher
wait $launcher 2> /dev/null
wait_for 30 none_left
check "killed, it leaves no process" none_left

# Files of 4 blocks have no indirect blocks, so only data follow the descriptors.
start --kind sequential --file-blocks 4 --buffers 1 --cost-disk 0 --disk disk
while kill -0 $launcher 2> /dev/null && [ "$(wc -c < disk)" -lt 20000000 ]; do
    dd if=/dev/zero of=disk bs=2048 seek=4097 count=2000 conv=notrunc 2> /dev/null
done
kill -TERM $launcher 2> /dev/null
wait $launcher
check "a disk that is spoiled: the users notice" grep -q '^user-process: record .* is wrong' err

for options in "--clients 0" "--clients 65" "--kind odd" "--requests x" "--place buffer" "--place nobody=1" \
    "--dirty-buffers 0" "--what" "surplus"; do
    # shellcheck disable=SC2086 # the words are options
    timeout 60 "$programs/filesystem" $options > out 2> err
    check_equal "refuses: $options" "2 0" "$? $(wc -c < out)"
done
timeout 60 "$programs/filesystem" --place buffer=1000 > out 2> err
check "a core that is not there" grep -q '^filesystem: buffer-manager on core 1000: ' err
timeout 60 "$programs/buffer-manager" > out 2> err
check_equal "a server started by hand" 2 $?

# ---- DPM's counts are the same ----

# counted_by_dpm: messages and bytes between each two programs, as lines of the example.
counted_by_dpm() {
    "$dpm" stats --json fs.trace | jq -r '
        (.processes | map({key: (.id | tostring), value: .name}) | from_entries) as $name |
        [.pairs[] | {from: $name[.from | tostring], to: $name[.to | tostring], messages, bytes}] |
        group_by([.from, .to])[] |
        [.[0].from, .[0].to, (map(.messages) | add), (map(.bytes) | add)] | join(" ")' | sort
}

# followed_in_trace: from events and matched messages alone: what each server received last before it sent. The end of a
# connection has no sender.
followed_in_trace() {
    "$dpm" dump --matched --json --type send,receive fs.trace | jq -r '
        if .event == "RECEIVE" then
            [.event, .stream, .name, .sequence, .bytes, (.edges[0] // {} | .stream, .sequence)]
        else [.event, .stream, .name, .sequence] end | map(. // "-") | join(" ")' > events
    awk '
        { name[$2] = $3 }
        NR == FNR { if ($1 == "RECEIVE" && $5 > 0) receiver[$6, $7] = $2; next }
        $1 == "RECEIVE" { last[$2] = $5 > 0 ? name[$6] : "nobody"; next }
        { count[$3 " " ($2 in last ? last[$2] : "nobody") " " name[receiver[$2, $4]]]++ }
        END { for (row in count) print row, count[row] }' events events | sort
}

# followed_by_causality: the same for the servers, as counted by `dpm causality --last`.
servers='disk-interface,buffer-manager,directory-mgr,request-interp'
followed_by_causality() {
    "$dpm" causality --json --last --each-send --by-program --server $servers fs.trace | jq -r '
        .letters as $name | def named: if . == "requestor" then "user-process" else $name[.] // . end;
        (.transitions[], (.replies[] | .next = "requestor")) |
        "\(.at | named) \(.from | named) \(.next | named) \(.count)"' | sort
}

compare() {
    rm -rf fs.trace
    "$dpm" run -o fs.trace -- "$programs/filesystem" --requests 200 "$@" > out 2> err
    awk '$1 == "sent" { print $2, $3, $4, $5 }' out | sort > own
    check "messages are counted by the example, $*" test "$(wc -l < own)" -ge 10
    check_equal "DPM counts the same messages and bytes between each two programs, $*" \
        "$(cat own)" "$(counted_by_dpm)"
    awk '$1 == "next" { print $2, $3, $4, $5 }' out | sort > own
    check_equal "what follows what is in the trace, $*" "$(cat own)" "$(followed_in_trace)"
    check_equal "... and what dpm causality --last says of the servers, $*" \
        "$(grep -v ^user-process own)" "$(followed_by_causality)"
    check_equal "and DPM matches every message, $*" "$(awk '$1 == "sent" { sum += $4 } END { print sum }' out) 0 0 0" \
        "$("$dpm" stats --json fs.trace | jq -r '.trace.matching | "\(.exact) \(.ordered) \(.inferred) \(.external)"')"
}

find_meter
if [ -n "$meter" ]; then
    compare --clients 4
    compare --clients 4 --tcp
    compare --clients 1
    compare --clients 1 --kind random
else
    skip "DPM counts the same" "no meter runs here: $reason"
fi
finish
