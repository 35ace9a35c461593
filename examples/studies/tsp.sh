#!/bin/sh
# SPDX-License-Identifier: MIT
# tsp.sh BUILD_FOLDER: the study of the travelling salesman computation, section 5.3.3 of Miller's thesis: the tables of
# figures 5.20 and 5.21, the curves of 5.22 to 5.27 as pictures, the tables of 5.28 and 5.29, and whether the thesis'
# statements about them hold here.
#
#     max         a machine for each process, messages take no time
#     1/machine   a machine for each process, messages take a remote delivery
#     2/machine   the controller on one machine, the servers two to a machine, whose processor they
#                 share (the thesis does not say where the controller ran)
#
# From the environment: SIZES and SERVERS ("4 8 12 16 20", "4 8 12 16"), SCALE (see below), RUNS, DPM.
# shellcheck source=examples/studies/study.sh
. "$(dirname "$0")/study.sh"
sizes=${SIZES:-4 8 12 16 20}
servers=${SERVERS:-4 8 12 16}
tsp=$build/examples/tsp/tsp

# As in the thesis, only sends and receives are metered; so a process is seen from its first message on, without the
# cost of starting it.
metered=$option_messages_metered

# In the thesis messages took 4 to 35 ms (figure 5.11), and the computation for 4 cities 70 ms of CPU time (5.21). Here
# it takes less, so message delays are scaled down: SCALE microseconds for each millisecond.
thesis_cpu_ms=70
delay='--local-delay 0us'

# cpu: total CPU time of the trace in ms, and the controller's share in percent. Without dpm parallelism, of the whole
# processes, including their start.
cpu() {
    if has parallelism; then
        parallelism $option_messages_graph
        jq .processes "$scratch/parallelism"
    else
        jq .processes "$scratch/stats"
    fi | jq -r '
        ([.[].cpu_ns] | add) as $all |
        ([.[] | select(.name == "tsp") | .cpu_ns] | add) as $controller |
        "\($all / 1e6) \(100 * $controller / $all)"'
}

# measure CITIES SERVERS VERSION: RUNS times; the figures are KIND.CITIES.SERVERS.VERSION. All processes share one
# processor, since they would not share two equally.
measure() {
    key=$1.$2.$3
    run=0
    while [ "$run" -lt "$runs" ]; do
        measure_cpu "$1" "$2" "$3"
        ! has parallelism || measure_p "$key"
        run=$((run + 1))
    done
}

measure_cpu() {
    record taskset --cpu-list 0 "$tsp" --cities "$1" --servers "$2" --version "$3" --quiet
    used=$(cpu)
    note "cpu.$1.$2.$3" "${used% *}"
    note "controller.$1.$2.$3" "${used#* }"
}

# two_per_machine: the machines of the trace's processes.
two_per_machine() {
    together tsp
    pids tsp-server | paste -d , - - | sed 's/,$//'
}

measure_p() {
    # shellcheck disable=SC2086,SC2046 # options and machines are words
    parallelism $option_messages_graph $option_one_machine $(option_place two $(two_per_machine)) $delay
    note "max.$1" "$(p_of "$row_one_each" max)"
    note "one.$1" "$(p_of "$row_one_each" delay)"
    note "two.$1" "$(p_of two sharing)"
    note "together.$1" "$(p_of "$row_one_machine" sharing)"
    note "turns.$1" "$(servers turns)"
    note "synchronous.$1" "$(servers synchronous)"
}

# servers turns: how often all servers answered before they received; servers synchronous: how often, of these, the
# message they then received had been sent since.
servers() {
    jq --arg key "$1" '[.processes[] | select(.name == "tsp-server")[$key]] | add' "$scratch/parallelism"
}

# share CITIES SERVERS VERSION
share() {
    awk "BEGIN { print $(median "synchronous.$1.$2.$3") / $(median "turns.$1.$2.$3") }"
}

# cell CITIES SERVERS VERSION: the three values of a cell of figure 5.20.
cell() {
    printf '%.1f/%.1f/%.1f' "$(median "max.$1.$2.$3")" "$(median "one.$1.$2.$3")" "$(median "two.$1.$2.$3")"
}

fits() {
    [ "$2" -le "$1" ]
}

# ---- the delay ----

# The runs that measure message delays are also those of their cell of the table: with so little CPU time, other runs
# may take half as much or twice.
machine
run=0
while [ "$run" -lt "$runs" ]; do
    measure_cpu 4 4 1
    mkdir "$scratch/run.$run"
    mv "$scratch/trace" "$scratch/stats" "$scratch/run.$run"
    run=$((run + 1))
done
cpu_ms=$(median cpu.4.4.1)
scale=${SCALE:-$(awk "BEGIN { print 1000 * $cpu_ms / $thesis_cpu_ms }")}
if has parallelism; then
    delay=$(option_delay "$scale")
    echo "4 cities take $cpu_ms ms of CPU time (the thesis: $thesis_cpu_ms); messages take: $delay"
else
    echo "this dpm has no command 'parallelism': only CPU times are shown"
fi
for kept in "$scratch"/run.*; do
    rm -rf "$scratch/trace"
    mv "$kept"/* "$scratch"
    ! has parallelism || measure_p 4.4.1
done

# ---- measuring ----

for p in $servers; do
    for n in $sizes; do
        ! fits "$n" "$p" || [ "$n.$p" = 4.4 ] || measure "$n" "$p" 1
    done
done

echo
echo "Figure 5.21: CPU time"
printf '%-8s%12s%14s\n' CITIES "CPU TIME" "CONTROLLER %"
p=${servers%% *}
for n in $sizes; do
    ! fits "$n" "$p" ||
        printf '%-8s%9.1f ms%14.1f\n' "$n" "$(median "cpu.$n.$p.1")" "$(median "controller.$n.$p.1")"
done

has parallelism || exit 0

echo
echo "Figure 5.20: P: max / 1 per machine / 2 per machine"
printf '%-8s' SERVERS
for n in $sizes; do
    printf '%16s' "N=$n"
done
echo
for p in $servers; do
    printf '%-8s' "$p"
    for n in $sizes; do
        if fits "$n" "$p"; then
            printf '%16s' "$(cell "$n" "$p" 1)"
        else
            printf '%16s' -
        fi
    done
    echo
done

# ---- the curves ----

# thesis CITIES SERVERS: a cell of the thesis' figure 5.20: max, 1/machine, 2/machine.
thesis() {
    awk -v cities="$1" -v servers="$2" '$1 == cities && $2 == servers { print $3, $4, $5 }' << END
4 4 1.4 .3 .3
8 4 2.1 .8 .7
12 4 2.4 1.3 1.0
16 4 2.5 1.6 1.2
20 4 2.6 1.9 1.3
8 8 2.7 1.1 1.0
12 8 3.6 2.0 1.6
16 8 3.8 2.6 1.9
20 8 3.9 3.0 2.1
12 12 3.7 2.2 1.8
16 12 4.1 3.0 2.3
20 12 4.5 3.6 2.7
16 16 4.4 3.2 2.5
20 16 5.0 4.1 3.1
END
}

# point CURVE X KIND CITIES SERVERS FIELD: a line for curves.awk, and one for the thesis' value, its field of `thesis`.
point() {
    printf '%s\t%s\t%s\t%s\n' "$1" "$2" "$(median "$3.$4.$5.1")" "$(spread "$3.$4.$5.1" | tr ' ' '\t')"
    thesis "$4" "$5" | awk -v curve="$1" -v x="$2" -v field="$6" -v OFS='\t' '{ print curve, x, $field }'
}

# curves KIND FIELD OVER: the points of all curves over the number of cities, or of servers.
curves() {
    for p in $servers; do
        for n in $sizes; do
            fits "$n" "$p" || continue
            case $3 in
            cities) point "$p servers" "$n" "$1" "$n" "$p" "$2" ;;
            servers) point "$n cities" "$p" "$1" "$n" "$p" "$2" ;;
            esac
        done
    done
}

# draw_both KIND FIELD FIGURE FIGURE TITLE: a kind of P over the number of cities, and over that of servers.
draw_both() {
    curves "$1" "$2" cities > "$scratch/points"
    draw "$3" "$5" cities
    curves "$1" "$2" servers > "$scratch/points"
    draw "$4" "$5" servers
}

draw_both max 1 5.22 5.25 "largest possible P"
draw_both one 2 5.23 5.26 "P, one server on each machine"
draw_both two 3 5.24 5.27 "P, two servers on each machine"
echo
echo "Figures 5.22 to 5.27: $curves/figure-5.22.svg to figure-5.27.svg"

version_size=
for n in $sizes; do
    [ "$n" -ne 16 ] || version_size=16
done
if [ -n "$version_size" ]; then
    for version in 2 3; do
        for p in $servers; do
            measure $version_size "$p" "$version"
        done
    done
    echo
    echo "Figures 5.28 and 5.29: versions 1, 2 and 3, $version_size cities"
    printf '%-8s%16s%16s%16s\n' SERVERS "VERSION 1" "VERSION 2" "VERSION 3"
    for p in $servers; do
        printf '%-8s%16s%16s%16s\n' "$p" "$(cell $version_size "$p" 1)" "$(cell $version_size "$p" 2)" \
            "$(cell $version_size "$p" 3)"
    done
fi

# ---- the thesis' statements ----

echo
# Medians of different sets of runs differ by some percent: a growing figure may shrink by a twentieth. Without delays
# it may shrink by a tenth from one size to the next: each size has its own matrix, and one search backtracks more often
# than another. Growth is checked from 8 cities on, as in the thesis, 5.3.3.2, and growth with the servers from 12 on:
# with fewer, the CPU time of messages themselves dominates.

gap() {
    awk "BEGIN { print $(median "one.$1.$2.1") - $(median "two.$1.$2.1") }"
}

for p in $servers; do
    last=
    for n in $sizes; do
        fits "$n" "$p" || continue
        max=$(median "max.$n.$p.1") one=$(median "one.$n.$p.1") two=$(median "two.$n.$p.1")
        must "N=$n, p=$p: max >= 1/machine >= 2/machine" "$max >= $one && $one >= 0.95 * $two"
        if [ -n "$last" ]; then
            must "p=$p: both with delays grow from N=$last to $n" \
                "$one > 0.95 * $(median "one.$last.$p.1") && $two > 0.95 * $(median "two.$last.$p.1")"
            # with 8 cities nearly all work is messages, which only delays represent
            [ "$last" -lt 12 ] ||
                must "p=$p: max grows from N=$last to $n" "$max > 0.9 * $(median "max.$last.$p.1")"
            must "p=$p: so does what a second process on a machine costs" \
                "$(gap "$n" "$p") > 0.8 * $(gap "$last" "$p") - 0.1"
        fi
        [ "$n" -lt 8 ] || last=$n
    done
done
for n in $sizes; do
    [ "$n" -ge 12 ] || continue
    last=
    for p in $servers; do
        fits "$n" "$p" || continue
        if [ -n "$last" ]; then
            for kind in max one two; do
                now=$(median "$kind.$n.$p.1") before=$(median "$kind.$n.$last.1")
                must "N=$n: $kind grows from $last to $p servers, but less than they" \
                    "$now > 0.95 * $before && $now / $before < 1.05 * $p / $last"
            done
        fi
        last=$p
    done
done
for n in 4 8; do
    case " $sizes " in *" $n "*) ;; *) continue ;; esac
    case " $servers " in *" 4 "*) ;; *) continue ;; esac
    must "N=$n, p=4: with delays, less than 1" \
        "$(median "one.$n.4.1") < 1 && $(median "two.$n.4.1") < 1"
done
n=${sizes%% *} p=${servers%% *}
must "little CPU time (N=$n): one machine is best" \
    "$(median "together.$n.$p.1") > $(median "one.$n.$p.1") && $(median "together.$n.$p.1") > $(median "two.$n.$p.1")"
# With fewer cities the messages themselves dominate, since their system calls take CPU time.
for n in $sizes; do
    [ "$n" -ge 16 ] || continue
    must "N=$n: the controller has 10 to 16 % of the CPU time, give or take 1" \
        "$(median "controller.$n.$p.1") >= 9 && $(median "controller.$n.$p.1") <= 17"
done
if [ -n "$version_size" ]; then
    for p in $servers; do
        for kind in max one two; do
            one=$(median "$kind.16.$p.1") two=$(median "$kind.16.$p.2") three=$(median "$kind.16.$p.3")
            must "16 cities, p=$p, $kind: version 2 above 1" "$two > $one"
            # a step has at most 15 requests: with twelve servers hardly any gets a second one
            if [ "$p" -le 8 ]; then
                must "16 cities, p=$p, $kind: version 3 above 2" "$three > $two"
            else
                must "16 cities, p=$p, $kind: version 3 no worse than 2" "$three > 0.97 * $two"
            fi
        done
        must "16 cities, p=$p: versions 1 and 2 are synchronous" \
            "$(share 16 "$p" 1) > 0.95 && $(share 16 "$p" 2) > 0.95"
        waits=$("$tsp" --cities 16 --servers "$p" --times | sed -n 's/^waits *//p')
        must "16 cities, p=$p: version 3 is not, but for the $waits times that a server has no more to do in a step" \
            "$(median "synchronous.16.$p.3") <= $waits + $p" # including HELLO, which each server sends first
        [ "$p" -ge 8 ] ||
            must "16 cities, p=$p: that is less than half of its answers" "$(share 16 "$p" 3) < 0.5"
    done
fi
judge
