#!/bin/sh
# SPDX-License-Identifier: MIT
# filesystem.sh BUILD_FOLDER: the study of the file system, sections 5.3.1 and 5.3.2 of Miller's thesis: the table of
# figure 5.12, P (parallelism factor) for several assignments to machines, figures 5.15 (users), 5.17 (P measured and
# predicted), 5.18 and 5.19 (what follows what), and whether the thesis' statements about them hold here.
#
#     A   buffer manager, disk interface | directory manager, request interpreter
#     B   all on one machine
#     C   a machine each
#
# From the environment: CLIENTS_MOST (7), SCALE (10, of message delays), RUNS, DPM.
# shellcheck source=examples/studies/study.sh
. "$(dirname "$0")/study.sh"
filesystem=$build/examples/filesystem/filesystem
clients_most=${CLIENTS_MOST:-7}

# Messages get the delivery times of the thesis' figure 5.11, with this many microseconds for each of its milliseconds.
# The thesis does not give the CPU times that belong to them; with these, one machine for each process is hardly better
# than serial execution, as in the thesis.
scale=${SCALE:-10}

servers='disk-interface,buffer-manager,directory-mgr,request-interp'
machine

# ---- 5.12: CPU use, and messages between processes ----

record "$filesystem"
cp "$scratch/out" "$scratch/own"

# statistics: for the servers, lines "cpu NAME SHARE", "sent NAME MESSAGES-% BYTES-%", "to FROM TO MESSAGES-% BYTES-%
# MESSAGES BYTES"; shares are of the servers' totals.
statistics() {
    jq -r --arg servers "$servers" '
        ($servers | split(",")) as $servers |
        ([.processes[] | {key: (.id | tostring), value: .name}] | from_entries) as $name |
        [.pairs[] | {from: $name[.from | tostring], to: $name[.to | tostring], messages, bytes} |
            select(.from as $from | $servers | index($from))] as $pairs |
        [.processes[] | select(.name as $it | $servers | index($it))] as $processes |
        ([$processes[].cpu_ns] | add) as $cpu |
        ([$pairs[].messages] | add) as $messages | ([$pairs[].bytes] | add) as $bytes |
        ($processes[] | "cpu \(.name) \(100 * .cpu_ns / $cpu)"),
        ($pairs | group_by(.from)[] | ([.[].messages] | add) as $m | ([.[].bytes] | add) as $b |
            "sent \(.[0].from) \(100 * $m / $messages) \(100 * $b / $bytes)",
            (group_by(.to)[] | ([.[].messages] | add) as $to | ([.[].bytes] | add) as $tob |
                "to \(.[0].from) \(.[0].to) \(100 * $to / $m) \(100 * $tob / $b) \($to) \($tob)"))' "$scratch/stats"
}
statistics > "$scratch/statistics"

# share KIND NAME FIELD: from these lines.
share() {
    awk -v kind="$1" -v name="$2" -v field="$3" '$1 == kind && $2 == name { print $field }' "$scratch/statistics"
}

echo
echo "Figure 5.12: CPU time, messages and bytes sent; and where to (in brackets the thesis)"
printf '%-16s%13s%13s%13s   %-16s%10s%8s\n' FROM "CPU %" "MESSAGES %" "BYTES %" TO "MESSAGES %" "BYTES %"
while read -r name cpu messages bytes; do
    printf '%-16s%8.0f %-4s%8.0f %-4s%8.0f %-4s' "$name" "$(share cpu "$name" 3)" "($cpu)" \
        "$(share sent "$name" 3)" "($messages)" "$(share sent "$name" 4)" "($bytes)"
    awk -v from="$name" '$1 == "to" && $2 == from {
        printf "%*s   %-16s%10.0f%8.0f\n", count++ ? 55 : 0, "", $3, $4, $5
    }' "$scratch/statistics"
done << END
disk-interface 30 27 40
buffer-manager 51 33 42
directory-mgr 1 2 0
request-interp 18 38 17
END

echo
awk '$1 == "sent" && $2 != "user-process" { print $2, $3, $4, $5 }' "$scratch/own" | sort > "$scratch/sent"
awk '$1 == "to" { print $2, $3, $6, $7 }' "$scratch/statistics" | sort > "$scratch/counted"
must "DPM counts the messages and bytes that the program counts" \
    "$(cmp -s "$scratch/sent" "$scratch/counted" && echo 1 || echo 0)"
for row in disk-interface:30 buffer-manager:51 directory-mgr:1 request-interp:18; do
    must "CPU time of ${row%:*}: ${row#*:} %, give or take 4" \
        "$(share cpu "${row%:*}" 3) - ${row#*:} <= 4 && $(share cpu "${row%:*}" 3) - ${row#*:} >= -4"
done

# ---- 5.18 and 5.19: what follows what ----

# own_next FILE: the servers' rows of the program's table: at, received from, next sent to, count.
own_next() {
    awk '$1 == "next" && $2 != "user-process" && $4 != "user-process" {
        print $2, $3, $4, $5 }' "$1" | sort
}

# dpm_next: the same from dpm causality.
dpm_next() {
    # shellcheck disable=SC2046 # options are words
    "$dpm" causality --json $(option_servers "$servers") "$scratch/trace" | jq -r '
        .letters as $name | .transitions[] | select(.next != null) |
        "\($name[.at]) \(if .from == "requestor" then "user-process" else $name[.from] // .from end) \(
            $name[.next]) \(.count)"' | sort
}

# count AT FROM TO FILE
count() {
    awk -v at="$1" -v from="$2" -v to="$3" '$1 == at && $2 == from && $3 == to { sum += $4 } END { print sum + 0 }' "$4"
}

# out_of AT FROM FILE: all messages sent next.
out_of() {
    awk -v at="$1" -v from="$2" '$1 == at && $2 == from { sum += $4 } END { print sum + 0 }' "$3"
}

# differ FILE FILE: how many messages two tables have in different rows.
differ() {
    awk '
        NR == FNR { count[$1 " " $2 " " $3] = $4; next }
        { count[$1 " " $2 " " $3] -= $4 }
        END { for (row in count) sum += count[row] < 0 ? -count[row] : count[row]
              print sum / 2 }' "$1" "$2"
}

own_next "$scratch/own" > "$scratch/next"
if has causality; then
    dpm_next > "$scratch/found"
else
    echo "this dpm has no command 'causality': only the program's own counts are shown"
    cp "$scratch/next" "$scratch/found"
fi
# seen COUNT: the number, if DPM has counted it.
seen() {
    if has causality; then echo "$1"; else echo -; fi
}

echo
echo "Figure 5.18: what follows what, counted by DPM and by the program"
printf '%-16s%-16s%-16s%8s%8s%8s\n' AT "RECEIVED FROM" "NEXT SENT TO" DPM PROGRAM THESIS
while read -r at from to thesis; do
    printf '%-16s%-16s%-16s%8s%8s%8s\n' "$at" "$from" "$to" "$(seen "$(count "$at" "$from" "$to" "$scratch/found")")" \
        "$(count "$at" "$from" "$to" "$scratch/next")" "$thesis"
done << END
disk-interface buffer-manager buffer-manager 1086
buffer-manager disk-interface disk-interface 162
buffer-manager disk-interface request-interp 819
buffer-manager request-interp disk-interface 891
buffer-manager request-interp request-interp 2553
buffer-manager user-process disk-interface 33
buffer-manager directory-mgr directory-mgr -
buffer-manager directory-mgr disk-interface -
buffer-manager disk-interface directory-mgr -
directory-mgr request-interp request-interp 21
directory-mgr request-interp buffer-manager -
directory-mgr buffer-manager request-interp -
request-interp buffer-manager buffer-manager 9
request-interp directory-mgr buffer-manager 27
request-interp directory-mgr directory-mgr 12
request-interp user-process buffer-manager 3390
request-interp user-process directory-mgr 141
END

# probability AT FROM TO: in percent, from DPM.
probability() {
    awk "BEGIN { printf \"%.1f\", 100 * $(count "$1" "$2" "$3" "$scratch/found") / $(out_of "$1" "$2" "$scratch/found") }"
}

to_disk=$(probability buffer-manager request-interp disk-interface)
again=$(probability buffer-manager disk-interface disk-interface)
opens=$(probability request-interp user-process directory-mgr)
echo
echo "Figure 5.19: how requests go on"
printf '%-62s%8s%8s\n' "" "%" THESIS
printf '%-62s%8s%8s\n' "buffer manager, asked: to the disk interface" "$to_disk" 27 \
    "buffer manager, after the disk: to the disk interface again" "$again" 17 \
    "request interpreter, asked: to the directory manager" "$opens" 4
echo
must "27 % of requests go on to the disk, give or take 3" "$to_disk >= 24 && $to_disk <= 30"
must "17 % of its answers lead there again, give or take 3" "$again >= 14 && $again <= 20"
must "4 % of users' requests are opens and closes, give or take 1" "$opens >= 3 && $opens <= 5"
if has causality; then
    total=$(awk '{ sum += $4 } END { print sum }' "$scratch/next")
    must "with 4 users DPM finds what follows what (messages in other rows: $(differ "$scratch/next" "$scratch/found") of $total)" \
        "$(differ "$scratch/next" "$scratch/found") == 0"
    record "$filesystem" --clients 1
    dpm_next > "$scratch/found"
    own_next "$scratch/out" > "$scratch/next"
    must "with one user too (messages in other rows: $(differ "$scratch/next" "$scratch/found"))" \
        "$(differ "$scratch/next" "$scratch/found") == 0"
fi

# ---- P ----

has parallelism || {
    echo
    echo "this dpm has no command 'parallelism': P, and figures 5.15 and 5.17, are left out"
    judge
    exit
}

delay=$(option_delay "$scale")

# analyse [PROGRAM...]: P of the servers in the trace, on A, B and C, without these programs. Users and the launcher are
# not part of the file system, as in the thesis.
analyse() {
    buffer=$(together buffer-manager) disk=$(together disk-interface)
    directory=$(together directory-mgr) requests=$(together request-interp)
    # shellcheck disable=SC2046,SC2086 # options are words
    parallelism $delay $(option_without user-process filesystem "$@") \
        $(option_place A "$buffer,$disk" "$directory,$requests") \
        $(option_place B "$buffer,$disk,$directory,$requests") \
        $(option_place C "$buffer" "$disk" "$directory" "$requests")
}

run=0
while [ "$run" -lt "$runs" ]; do
    record "$filesystem"
    analyse
    note p.max "$(p_of "$row_one_each" max)"
    note p.delay "$(p_of A delay)"
    for place in A B C; do
        note "p.$place" "$(p_of $place sharing)"
    done
    note p.each "$(p_of C delay)"
    analyse directory-mgr
    note p.three "$(p_of A sharing)"
    run=$((run + 1))
done

echo
echo "P of the four servers; messages: $delay"
printf '%-56s%8s%10s%8s\n' "" P "% OF 4" THESIS
while read -r key thesis words; do
    printf '%-56s%8.2f%10.0f%8s\n' "$words" "$(median "p.$key")" \
        "$(awk "BEGIN { print 100 * $(median "p.$key") / 4 }")" "$thesis"
done << END
max 1.65 no delay, a machine each
delay 1.43 A, messages take time, processors are not shared
A 1.21 A, and processors are shared
C 1.07 C, a machine each, messages take time
B 0.95 B, all on one machine, which they share
three 1.21 A, without the directory manager
END
echo
must "delays cost parallelism, sharing costs more" \
    "$(median p.max) >= $(median p.delay) && $(median p.delay) >= $(median p.A) - 0.01"
must "a machine each loses more by messages than A" "$(median p.each) < $(median p.delay)"
must "and is hardly better than serial" "$(median p.C) < 1.2"
must "all on one machine is at best serial" "$(median p.B) <= 1.01"
must "the directory manager makes no difference" \
    "$(median p.three) / $(median p.A) > 0.95 && $(median p.three) / $(median p.A) < 1.05"

# ---- 5.15: P and the request interpreter's queue ----

forget
clients=1
while [ "$clients" -le "$clients_most" ]; do
    run=0
    while [ "$run" -lt "$runs" ]; do
        record "$filesystem" --clients "$clients"
        analyse
        note "p.$clients" "$(p_of A sharing)"
        note "queue.$clients" "$(
            jq '.processes[] | select(.name == "request-interp") | .queue.messages_mean' "$scratch/stats")"
        run=$((run + 1))
    done
    clients=$((clients + 1))
done
echo
echo "Figure 5.15: users, P (A), and the mean length of the request interpreter's queue"
printf '%-8s%8s%8s\n' USERS P QUEUE
clients=1
while [ "$clients" -le "$clients_most" ]; do
    printf '%-8s%8.2f%8.2f\n' "$clients" "$(median "p.$clients")" "$(median "queue.$clients")"
    clients=$((clients + 1))
done
echo
if [ "$clients_most" -ge 7 ]; then
    must "P rises up to four users" "$(median p.1) < $(median p.2) && $(median p.2) < $(median p.4)"
    must "and hardly further" "$(median p.7) < 1.1 * $(median p.4)"
    must "the queue is short up to four users" "$(median queue.4) < 1"
    must "from then on it grows with each user, at least twice as much" \
        "($(median queue.7) - $(median queue.4)) / 3 > 2 * ($(median queue.4) - $(median queue.1)) / 3"
fi

# ---- 5.17: P measured and predicted ----

# place_on A|B|C: --place of the example, on the available processors.
place_on() {
    last=$(($(nproc) - 1))
    case $1 in
    A) echo "disk=0,buffer=0,directory=$((last > 0)),interpreter=$((last > 0))" ;;
    B) echo "disk=0,buffer=0,directory=0,interpreter=0" ;;
    C) echo "disk=0,buffer=$((1 % (last + 1))),directory=$((2 % (last + 1))),interpreter=$((3 % (last + 1)))" ;;
    esac
}

forget
for measured in A B C; do # twice as many runs, since differences are a few per cent
    run=0
    while [ "$run" -lt $((2 * runs)) ]; do
        record "$filesystem" --place "$(place_on $measured)"
        analyse
        for predicted in A B C; do
            note "$measured.$predicted" "$(p_of $predicted sharing)"
        done
        run=$((run + 1))
    done
done
echo
echo "Figure 5.17: P of a configuration from traces of another, against P from its own traces, in %"
[ "$(nproc)" -ge 4 ] || echo "(C was recorded on $(nproc) processors: this machine has not four)"
printf '%-12s%8s%8s%8s   %s\n' RECORDED A B C "THE THESIS"
while read -r measured thesis; do
    printf '%-12s' "$measured"
    for predicted in A B C; do
        change=$(awk "BEGIN { print 100 * ($(median "$measured.$predicted") / $(median "$predicted.$predicted") - 1) }")
        [ "$measured" = "$predicted" ] && printf '%8s' - || printf '%8.1f' "$change"
        echo "$change" >> "$scratch/changes"
    done
    printf '   %s\n' "$thesis"
done << END
A -, -3, 2
B 4, -, 3
C 2, -2, -
END
echo
worst=$(awk '{ size = $1 < 0 ? -$1 : $1 } size > most { most = size } END { print most + 0 }' "$scratch/changes")
must "predicted P is within 4 %, as in the thesis" "$worst <= 4"
judge
