# How parallel a program is (dpm parallelism): who waits for whom, T, t_max and P on other machines and with delays.

# ---- two parties take turns, with 2 ms of CPU time each, whatever makes them wait for each other: P is 1 ----

== two threads take turns by a lock
| turns   =====o        =====o
|               \      /      \
| other          =====o        =====
process turns launched
thread other of turns created by turns
8 times
    turns computes 2ms
    other sleeps in futex until turns
    other computes 2ms
    turns sleeps in futex until other
end
other ends
turns ends
$ dpm parallelism --json --one-each trace
jq: near(.rows[0].T_ns; 32e6) and near(.rows[0].tmax_ns; 32e6) and .trace.asleep.count == 0 and .trace.locks.count == 0
$ dpm dump --matched --json trace | jq -s .
jq: [.[] | .stream as $stream | .edges[]? | select(.kind == "wakeup" and .stream != $stream)] | length == 16

== ... by semaphores, signals, and an eventfd of two processes
| turns   =====o        =====o
|               \      /      \
| other          =====o        =====
process turns launched
process other created by turns
for call in futex rt_sigsuspend read
    8 times
        turns computes 2ms
        other sleeps in $call until turns
        other computes 2ms
        turns sleeps in $call until other
    end
end
other ends
turns waits for other
turns ends
$ dpm parallelism --json --one-each trace
jq: near(.rows[0].T_ns; 96e6) and near(.rows[0].tmax_ns; 96e6) and .trace.asleep.count == 0 and .trace.locks.count == 0
$ dpm parallelism trace
says: one-each max 1.00 50 96.0 ms

== ... by poll, for a byte in a pipe: a line that the receiver writes elsewhere before it reads is no end of its wait
| turns   ====o write       poll ....... o==
|              \                        / log, read
| other   poll .o log, read ====o write
process turns launched
process other created by turns
process log created by turns
pipe there: turns > other
pipe back: other > turns
pipe log1: turns > log
pipe log2: other > log
turns computes 1ms
8 times
    turns computes 2ms
    turns sends 1 on there
    other waits in poll until turns
    other sends 7 on log2
    other receives 1 on there
    other computes 2ms
    other sends 1 on back
    turns waits in poll until other
    turns sends 7 on log1
    turns receives 1 on back
end
other ends
turns ends
$ dpm parallelism --json --one-each trace
jq: near(.rows[0].T_ns; 33e6) and near(.rows[0].tmax_ns; 33e6)
jq: .trace.asleep.count == 0 and .trace.outside.count == 0 and .trace.locks.count == 0

== ... by TCP: the message wakes, which is no thread
process turns launched
process other created by turns
tcp c: turns > other
turns connects c
other accepts c
8 times
    turns computes 2ms
    turns sends 1 on c
    other receives 1 on c in poll
    other computes 2ms
    other sends 1 on c
    turns receives 1 on c in poll
end
other ends
turns waits for other
turns ends
$ dpm parallelism --json --one-each trace
jq: near(.rows[0].T_ns; 32e6) and near(.rows[0].tmax_ns; 32e6) and .trace.asleep.count == 0 and .trace.outside.count == 0
$ dpm dump --matched --json trace | jq -s .
jq: [.[] | .edges[]? | select(.kind == "wakeup")] == []

== ... by the end of a thread: one is created for each turn
process turns launched
for n in 1 2 3 4
    thread turn.$n of turns created by turns
    turn.$n computes 2ms
    turn.$n ends
    turns sleeps in futex until turn.$n ends
end
turns ends
$ dpm parallelism --json --one-each trace
jq: near(.rows[0].T_ns; 8e6) and near(.rows[0].tmax_ns; 8e6) and .trace.locks.count == 0 and .trace.asleep.count == 0

== without WAKEUP, threads of one process that take turns by a lock are counted
machine vm without WAKEUP
process turns launched
thread other of turns created by turns
8 times
    turns computes 2ms
    other sleeps in futex until turns
    other computes 2ms
    turns sleeps in futex until other
end
other ends
turns ends
$ dpm parallelism --json --one-each trace
jq: .trace.locks.count == 16 and near(.trace.locks.time_ns; 32e6)

== two that compute at the same time: P is 2
| apart   ==========
| other   ==========
process apart launched
thread other of apart created by apart
other computes 100ms
other ends
apart computes 100ms
apart sleeps in futex until other ends
apart ends
$ dpm parallelism --json --one-each trace
jq: near(.rows[0].P; 2) and .rows[0].P_processes == 1 and near(.rows[0].tmax_ns; 100e6)
jq: .processes[0].streams == 2

== who sleeps after each turn: no thread ends that, and it takes its time
process sleeper launched
8 times
    sleeper computes 2ms
    sleeper sleeps 2ms in nanosleep
end
sleeper ends
$ dpm parallelism --json --one-each trace
jq: .trace.asleep | .count == 8 and .time_ns == 16e6
jq: near(.rows[0].T_ns; 16e6) and near(.rows[0].tmax_ns; 32e6)
$ dpm parallelism trace
says: 8 unexplained waits (timers, disks, unmonitored peers), counted by elapsed time (--edges messages: not counted): 16.0 ms
$ dpm parallelism --json --edges messages trace
jq: near(.rows[0].tmax_ns; 16e6)
$ dpm dump --matched --json trace | jq -s .
jq: [.[] | .edges[]? | select(.kind == "wakeup")] == []

== one message, and one wait of which the cause is unknown
process one launched
process other created by one
pipe p: one > other
one computes 5ms
one sleeps 2ms in nanosleep
one sends 5 on p
other receives on p
other ends
one ends
$ dpm parallelism trace
says: lost; 1 edge of messages,
says: 1 unexplained wait (timers, disks, unmonitored peers), counted by elapsed time

== make -j 2 waits for two jobs at once, one after the other
| make    fork, fork ~~~ waits ~~~ fork, fork ~~~ waits ~~~~.
| job.1   '-- == 40 == --'         '-- job.3 == 40 == --'   |
| job.2   '-- == 40 == --'         '-- job.4 == 40 == ------'
process make launched
process job.1 created by make
process job.2 created by make
job.1 computes 40ms
job.1 ends
job.2 computes 40ms
job.2 ends
make waits for job.1
make waits for job.2
process job.3 created by make
process job.4 created by make
job.3 computes 40ms
job.3 ends
job.4 computes 40ms
job.4 ends
make waits for job.3
make waits for job.4
make ends
$ dpm parallelism --json --one-each trace
jq: near(.rows[0].T_ns; 160e6) and near(.rows[0].tmax_ns; 80e6) and near(.rows[0].P; 2)

== two sleeps, one after the other, take their time
process sh launched
process sleep.1 created by sh
sleep.1 sleeps 300ms in clock_nanosleep
sleep.1 ends
sh waits for sleep.1
process sleep.2 created by sh
sleep.2 sleeps 200ms in clock_nanosleep
sleep.2 ends
sh waits for sleep.2
sh ends
$ dpm parallelism --json trace
jq: near(.rows[0].tmax_ns; 500e6) and near(.rows[2].tmax_ns; 500e6) and near(.rows[0].tmax_ns; .trace.duration_ns)

# ---- a pipeline, on other machines and with delays ----

== a pipeline: T, t_max and P for each assignment and step
| head  ==o     ...room...  ==o
| gzip     '- ====== 20 ======o    ...     eight times
| wc                          '- = o
process sh launched
process head created by sh
process gzip created by sh
process wc created by sh
pipe p: head > gzip
pipe q: gzip > wc
head computes 1ms
head sends 65536 on p
8 times
    head computes 1ms
    head starts sending 65536 on p with 0 out
    gzip receives 65536 on p
    head finishes sending on p
    gzip computes 20ms
    gzip sends 30000 on q
    wc receives 30000 on q
    wc computes 500us
end
head closes p
head ends
gzip receives 65536 on p
gzip computes 20ms
gzip finds the end of p
gzip sends 30000 on q
gzip closes q
gzip ends
wc receives 30000 on q
wc finds the end of q
wc ends
sh waits for head
sh waits for gzip
sh waits for wc
sh ends
$ dpm parallelism --json trace
jq: .rows[0] | .assignment == "one-each" and .step == "max"
jq: [.rows[] | "\(.assignment) \(.step)"] == ["one-each max", "one-each delay", "one-each sharing", "as-recorded max",
    "as-recorded delay", "as-recorded sharing", "one-machine max", "one-machine delay", "one-machine sharing"]
jq: .rows[0].T_ns == 193e6 and ([.processes[].cpu_ns] | add) == 193e6
jq: [.processes[] | "\(.name) \(.cpu_ns / 1e6)"] == ["sh 0", "head 9", "gzip 180", "wc 4"]
jq: near(.rows[0].tmax_ns; 181e6) and .rows[0].tmax_ns == .rows[1].tmax_ns and .trace.streams == 4
jq: all(.rows[]; (.P * .tmax_ns - .T_ns | fabs) < 1000 and (.P_share * 4 - .P | fabs) < 1e-9)
jq: all(.rows[] | select(.assignment == "one-machine" and .step == "sharing"); .tmax_ns >= .T_ns)
jq: .rows[0].tmax_ns as $most | ([.processes[].tmax_ns] | max) == $most and
    all(.processes[]; .cpu_ns <= .tmax_ns and .tmax_ns <= $most)
jq: .trace.matching | .exact > 0 and .unmatched_receives == 0
jq: .trace | .lost == 0 and .other_arcs > 8 and .complete
$ dpm parallelism trace
says: T: 193 ms of CPU time, 4 threads in 4 processes; elapsed:
like: one-machine +max +1.07 +27 +181 ms
like: PROCESS +STREAMS +CPU TIME +% +T_MAX +% SYNCHRONOUS
like: Based on [0-9]+ events, 0 lost; 18 edges of messages
says: events are assumed to keep their order

== the more delay between machines, the less P; on one machine it is the same
as before
$ for delay in 100us 1ms 10ms 30ms; do dpm parallelism --json --step delay --remote-delay $delay trace; done | jq -s .
jq: [.[].rows[] | select(.assignment == "one-each" and .step == "delay")] |
    (.[0:3] | map(.tmax_ns)) == [181200000, 183000000, 201000000] and .[3].P < 0.8 * .[0].P
jq: [.[].rows[] | select(.assignment == "one-machine" and .step == "delay").P] | length == 4 and (unique | length) == 1

== the thesis' appendix A is a fourth step
as before
$ dpm parallelism --json --edges messages --step appendix-a trace
jq: [.rows[0:4][].step] == ["max", "delay", "sharing", "appendix-a"] and (.rows | length) == 12
jq: all(.rows | group_by(.assignment)[] | select(.[0].assignment != "as-recorded");
    (map({(.step): .tmax_ns}) | add) as $at | ($at.sharing - $at["appendix-a"] | fabs) < 1000)
$ dpm parallelism --step appendix-a trace
says: Step appendix-a: the thesis' appendix A as printed
$ dpm parallelism --step delay --json trace
jq: all(.processes[]; .tmax_ns == null)

== the path is as long as t_max, and the sum of its parts
as before
$ dpm path --json trace
jq: near(.tmax_ns; 181e6) and .tmax_ns == .path_ns and .cpu_ns + .delay_ns + .outside_ns == .path_ns and .trace.complete
jq: ([.processes[].path_cpu_ns] | add) == .cpu_ns and ([.processes[].path_outside_ns] | add) == .outside_ns
jq: [.processes[] | select(.name == "gzip")][0] | .path_cpu_ns == 180e6 and .slack_ns == 0
jq: [.processes[] | select(.path_cpu_ns > 0) | .name] | sort == ["gzip", "head"]
jq: [.processes[] | select(.name == "wc").slack_ns] == [19500000]
jq: [.what_if[] | "\(.process) \(.path_ns)"] == ["gzip 91000000", "head 180500000"]
# what is twice as fast needs half of its CPU time: T shrinks with t_max
jq: .T_ns == 193e6 and ([.what_if[].P] | near(.[0]; 103 / 91) and near(.[1]; 188.5 / 180.5))
$ dpm path --json trace | jq .tmax_ns > path; dpm parallelism --json trace | jq .rows[0].tmax_ns | diff path - && echo same
is: same
$ dpm path trace
like: gzip\[102\] [^[]* 0 ns
$ dpm path --processes trace
says: Where it goes from process to process

== what if: other speeds, and two that become one
as before
$ dpm path --what-if gzip=4 --what-if 'head>gzip' --remote-delay 1us --json trace
jq: (.what_if | length) == 2 and .what_if[0].speed == 4 and near(.what_if[0].tmax_ns; 46e6) and near(.what_if[0].P; 58 / 46)
jq: .what_if[1].process == "head" and .what_if[1].to == "gzip"
$ dpm path --what-if gzip=0.5 trace
like: gzip 0\.5 times as fast .* -[0-9]+

== the path as folded stacks, and drawn into the history
as before
$ dpm path --folded - trace | awk '{ sum += $NF } END { print sum }'
is: 181000
$ dpm path --folded - trace
like: gzip\[102\];[^ ]+ 180000\b
$ dpm path --graph path.svg --most 500 trace
$ cat path.svg
like: class="(life|arc [a-z]+) critical"
$ dpm path --graph path.dot --most 500 trace
$ cat path.dot
like: color="#d3182b"
$ dpm path --graph path.gv --most 500 trace
$ cmp path.dot path.gv && echo same
is: same

== a recording that was cut is not complete
as before
$ cp -r trace cut.trace; truncate -s -8 cut.trace/control
$ dpm path --json cut.trace 2> cut.err
jq: .trace.complete == false
$ dpm parallelism --json cut.trace 2> cut.err
jq: .trace.complete == false

== the path on machines of another speed: its processor time stays that of the recording
as before
$ printf 'machine fast 1 4\n* fast\n' > fast.txt
$ dpm path --json --assign fast.txt trace
jq: (.cpu_ns / 4 + .delay_ns + .outside_ns - .path_ns | fabs) < 1e-3 * .path_ns
jq: near(.path_ns; 45e6) or .path_ns > 45e6
$ dpm path --assign fast.txt trace
says: P = 1.07 (t_max 45.
$ dpm parallelism --json --assign fast.txt trace
jq: [.rows[] | select(.assignment == "fast.txt")] | .[0].T_ns == 193e6 and .[1].T_ns == 48.25e6 and near(.[1].P; 1.066)
jq: [.efficiency[] | select(.assignment == "fast.txt")][0].transfer | near(.; 1)

== assignments: from a file, of N to each machine, and as recorded; a machine of twice the speed
as before
$ printf '# gzip alone\nmachine fast 1 2\nmachine slow\ngzip fast\n*    slow\n' > two.txt
$ printf 'local  1us\nremote 5us+0.01ns/B\nslow fast 1:10us,100000:200us\n' > net.txt
$ dpm parallelism --json --assign two.txt --delays net.txt --cores 2 --per-machine 2 trace
jq: [.rows[].assignment] | reduce .[] as $a ([]; if index($a) then . else . + [$a] end) == ["one-each", "two.txt", "2-per-machine"]
jq: [.rows[] | select(.step == "sharing") | .tmax_ns] | .[1] < .[0] * 0.8
jq: [.rows[] | select(.assignment == "two.txt") | .T_ns] == [193e6, 103e6, 103e6] and all(.rows[]; .P_share <= 1)
$ dpm parallelism --one-each --json trace
jq: [.rows[].assignment] | unique == ["one-each"]

== a process that is left out, and names that are not there
as before
$ printf 'machine a\ngzip a\nnosuch a\n* a\n' > nosuch.txt
$ printf 'machine a\ngzip a\n* a\n' > gzip.txt
$ printf 'a b 1ms\na a 2ms\nlocal 1us\n' > nosuch.delays
$ dpm parallelism --without nobody --without head --assign nosuch.txt trace > out
is: dpm: note: --without: no process nobody in the traces dpm: note: --assign: no process nosuch in the traces
$ dpm parallelism --assign gzip.txt --delays nosuch.delays trace > out
is: dpm: note: --delays: no machines a and b in the traces
$ dpm parallelism --without gzip --assign gzip.txt trace > out
is:
$ dpm parallelism --json --without gzip --step delay trace
jq: ([.processes[].name] | index("gzip")) == null and ([.rows[].step] | index("sharing")) == null
jq: .rows[0].T_ns == 13e6 and near([.rows[] | select(.step == "max")][0].tmax_ns; 181e6)
$ dpm path --json --without gzip trace
jq: all(.processes[]; .name != "gzip") and near(.tmax_ns; 181e6)
$ for what in path parallelism; do dpm $what --json --without gzip trace | jq '.tmax_ns // .rows[0].tmax_ns'; done | uniq | wc -l
is: 1
$ dpm path --json --without gzip --without nobody trace > out
is: dpm: note: --without: no process nobody in the traces
$ dpm path --assign nosuch.txt trace > out
is: dpm: note: --assign: no process nosuch in the traces

== messages only
as before
$ dpm parallelism --json --edges messages trace
jq: .trace | .other_arcs == 0 and .asleep.count == 0 and .messages_only and .message_arcs == 18

== several runs: each row has the least and the greatest P
machine one
process a of one launched
process b of one created by a
a computes 100ms
b computes 100ms
b ends
a waits for b
a ends
machine two
process c of two launched
process d of two created by c
d computes 100ms
d ends
c waits for d
c computes 100ms
c ends
$ dpm parallelism --json --each one one
jq: .trace.runs == 2 and all(.rows[]; .P_least == .P and .P_greatest == .P)
$ dpm parallelism --json one > one.json; dpm parallelism --json two > two.json; dpm parallelism --json --each one two > both.json
$ jq -s . one.json two.json both.json
jq: .[0].rows as $one | .[1].rows as $two | .[2].rows as $both | ($both | length) == 9 and near($one[0].P; 2) and
    near($two[0].P; 1) and all(range(9); . as $i | [$one[$i].P, $two[$i].P] as $each |
    $both[$i].P_least == ($each | min) and $both[$i].P_greatest == ($each | max) and
    $both[$i].P_least <= $both[$i].P and $both[$i].P <= $both[$i].P_greatest)

== several runs with different numbers of threads: T, t_max and the share are those of the run with the median P
machine one
process a of one launched
a computes 100ms
a ends
for m in two three
    machine $m
    process b.$m of $m launched
    for n in 1 2
        thread t.$m.$n of b.$m created by b.$m
    end
    for n in 1 2
        t.$m.$n computes 200ms
        t.$m.$n ends
        b.$m sleeps in futex until t.$m.$n ends
    end
    b.$m ends
end
$ dpm parallelism --json --each one two three
jq: .rows[0] | near(.P; 2) and near(.P_share; 2 / 3) and near(.T_ns; 400e6) and near(.tmax_ns; 200e6) and near(.P_least; 1)
$ dpm parallelism --each one two three
like: one-each +max .* 67 200 ms

== processes that do nothing while the recording lasts are no part of the computation
process server pid 200
process client pid 300
for n in 1 2 3
    process idle.$n pid 40$n
end
tcp c: client > server older
5 times
    client sends 3 on c
    server receives 3 on c
    server computes 2ms
    server sends 3 on c
    client receives 3 on c
end
$ dpm parallelism --json trace
jq: .trace.streams == 2 and ([.processes[].streams] | sort) == [0, 0, 0, 1, 1]
$ dpm parallelism trace
says: 2 threads in 2 processes (3 more did nothing); elapsed:

== a good assignment is found: two that compute at once apart, those that only talk together
| a  == 100 ==o             o= 1 =
|              \            /
| b   == 1 ==   '-- o= 1 ==o
| c  == 100 ==
process sh launched
process a created by sh
process b created by sh
process c created by sh
tcp t: a > b
a connects t
b accepts t
c computes 100ms
c ends
a computes 50ms
10 times
    a computes 5ms
    a sends 10 on t
    b receives 10 on t
    b computes 1ms
    b sends 10 on t
    a receives 10 on t
end
a ends
b ends
sh waits for a
sh waits for b
sh waits for c
sh ends
$ dpm parallelism --json --search 2 --local-delay 1us --remote-delay 1ms trace > search.json
$ cat search.json
jq: (.searches | length) == 1 and (.searches[0].machines | length) == (.processes | length)
jq: all(.searches[0].machines[]; . == 0 or . == 1) and .searches[0].tried >= 1
jq: .searches[0] as $found | [.rows[] | select(.assignment == $found.assignment and .step == "sharing").tmax_ns] ==
    [$found.tmax_ns] and $found.bound_ns <= $found.tmax_ns
jq: .searches[0].machines as $at | [.processes[].name] as $names | ($names | index("a")) as $a | ($names | index("b")) as $b |
    ($names | index("c")) as $c | $at[$a] == $at[$b] and $at[$a] != $at[$c]
$ jq -r '"machine m0\nmachine m1", (.searches[0].machines as $at | .processes | to_entries[] | "\(.value.pid) m\($at[.key])")'
    search.json > found.txt
$ dpm parallelism --json --assign found.txt --one-machine --local-delay 1us --remote-delay 1ms trace > found.json
$ jq -n --slurpfile search search.json --slurpfile found found.json '$search[0].searches[0].tmax_ns as $best |
    $found[0].rows | map(select(.step == "sharing")) | map(select(.assignment == "found.txt"))[0].tmax_ns == $best and
    map(select(.assignment == "one-machine"))[0].tmax_ns >= $best'
is: true
$ dpm parallelism --search 2 --local-delay 1us --remote-delay 1ms trace
like: search-2 \(best of [0-9]+ tried; at most [0-9.<]+% longer than the best possible\):
says: a[101], b[102]

== delays as measured: the median of the time from SEND to MESSAGEQUEUED
as before
$ dpm parallelism --json --seen-delays trace
says: dpm: local messages took 10.0 us from SEND to MESSAGEQUEUED (median of 20
says: dpm: no remote message has a measured delay
$ dpm parallelism --json --seen-delays trace 2> seen.err
jq: [.rows[] | select(.assignment == "one-machine") | .tmax_ns] | .[1] > .[0]

== threads: P of processes is less than P of threads
process python3 launched
thread python3.1 of python3 created by python3
thread python3.2 of python3 created by python3
python3.1 computes 50ms
python3.1 ends
python3.2 computes 50ms
python3.2 ends
python3 sleeps in futex until python3.1 ends
python3 sleeps in futex until python3.2 ends
python3 ends
$ dpm parallelism --json trace
jq: near(.rows[0].P; 2) and near(.rows[0].P_processes; 1) and [.processes[].streams] == [3]

== which senders wait at once for an answer, and on which connection
| bash    ask ...... answer  ask == works ==  answer
| first       '----- '
| second                         '---- '
process bash launched
outside first at 10.1.0.1
outside second at 10.1.0.2
tcp f: bash > first ports 41000,7001
tcp s: bash > second ports 41001,7002
bash connects f
bash connects s
40 times
    bash sends 9 on f
    first receives 9 on f
    first idles 3ms
    first sends 4 on f
    bash receives 4 on f
    bash sends 9 on s
    second receives 9 on s
    second idles 100us
    second sends 4 on s
    bash computes 20ms
    bash receives 4 on s
end
bash ends
$ dpm parallelism --json trace
jq: [.paths[] | "\(.process) \(.address) \(.turns) \(.synchronous)"] | sort ==
    ["bash 10.1.0.1:7001 40 40", "bash 10.1.0.2:7002 40 0"]
jq: ([.paths[].turns, .other_paths.turns] | add) == ([.processes[].turns] | add)
jq: ([.paths[].synchronous, .other_paths.synchronous] | add) == ([.processes[].synchronous] | add)
$ dpm parallelism trace
like: bash\[100\] +tcp +10.1.0.2:7002 +40 +0

# ---- what cannot be done is said in one line, and nothing else ----

== errors of dpm parallelism and dpm path
process sh launched
process gzip created by sh
gzip computes 10ms
gzip ends
sh waits for gzip
sh ends
$ dpm parallelism
exits: 2
says: name a trace
$ dpm parallelism nowhere
exits: 1
says: nowhere
$ dpm parallelism --remote-delay fast trace
exits: 2
says: give a delay
$ dpm parallelism --remote-delay 10:1ms,5:2ms trace
exits: 2
says: give a delay
$ dpm parallelism --per-machine 0 trace
exits: 2
says: give a number from 1
$ dpm parallelism --step none trace
exits: 2
says: choose one of delay, sharing
$ dpm parallelism --search 2 --step delay trace
exits: 2
says: search needs --step sharing
$ dpm parallelism --assign missing.txt trace
exits: 1
says: cannot be read
$ dpm parallelism --assign . trace
exits: 1
is: dpm: .: cannot be read: Is a directory
$ dpm parallelism --assign /dev/zero trace
exits: 1
is: dpm: /dev/zero:1: give lines of less than 64 KiB of text
$ dpm parallelism --delays /dev/zero trace
exits: 1
is: dpm: /dev/zero:1: give lines of less than 64 KiB of text
$ echo 'gzip nowhere' > bad.txt; dpm parallelism --assign bad.txt trace
exits: 1
like: ^dpm: bad.txt:1: give machine NAME
$ printf 'machine a 0\n' > bad.txt; dpm parallelism --assign bad.txt trace
exits: 1
like: ^dpm: bad.txt:1: give a number of cores
$ : > bad.txt; dpm parallelism --assign bad.txt trace
exits: 1
says: no line
$ echo 'local often' > bad.txt; dpm parallelism --delays bad.txt trace
exits: 1
like: ^dpm: bad.txt:1: give local DELAY
$ dpm path --what-if nobody=2 trace
exits: 1
says: no process of the traces is nobody
$ dpm path --what-if gzip=fast trace
exits: 2
says: give NAME=SPEED
$ dpm path --graph - trace
exits: 2
says: the suffix .svg, .dot or .gv
$ dpm path --graph x.png trace
exits: 2
says: --graph x.png: use a file name with the suffix .svg, .dot or .gv
$ dpm path --most 5 trace
exits: 2
says: --most needs --graph
$ dpm path --json --folded - trace
exits: 2
says: --json and --folded -: give only one
$ dpm path --one-machine --as-recorded trace
exits: 2
says: --as-recorded, --one-machine and --assign: give only one
$ dpm path --json --graph /nowhere/a.svg trace
exits: 1
says: cannot be written
$ ln -s /dev/full full.svg; dpm path --json --graph full.svg trace
exits: 1
says: full.svg: cannot be written: No space left
$ (trap "" XFSZ; ulimit -f 1; exec dpm graph -o half.svg trace)
exits: 1
says: half.svg: cannot be written: File too large
$ ls half.svg
exits: 2
$ TMPDIR=/nowhere dpm parallelism trace
exits: 1
like: no temporary file can be made there.*set TMPDIR

== ... which is one line
as before
$ for words in 'parallelism' 'parallelism nowhere' 'parallelism --remote-delay fast trace' 'parallelism --per-machine 0 trace'
    'parallelism --step none trace' 'parallelism --assign missing.txt trace' 'path --what-if nobody=2 trace'
    'path --what-if gzip=fast trace' 'path --graph - trace' 'path --most 5 trace' 'path --json --folded - trace'
    'path --one-machine --as-recorded trace' 'path --json --graph /nowhere/a.svg trace'; do
    dpm $words > out 2> err; echo $(($(wc -l < out) * 10 + $(wc -l < err))); done | sort | uniq -c
is: 13 1

== a pool of two processes, which take their tasks from one pipe under a lock: both at the same time
| python3   tasks -------------------------------- results
| worker.1  lock, task === 10 ===o     lock, task === 10 ===o
| worker.2  ~lock~ task === 10 ===o   ~lock~ task === 10 ===o
process python3 launched
process worker.1 created by python3
process worker.2 created by python3
pipe tasks: python3 > worker.1
pipe results: worker.1 > python3
20 times
    python3 sends 10 on tasks
    python3 sends 10 on tasks
    worker.1 receives 10 on tasks.2
    worker.2 sleeps in futex until worker.1
    worker.2 receives 10 on tasks.2
    worker.1 computes 10ms
    worker.2 computes 10ms
    worker.1 sends 5 on results.1
    worker.2 sends 5 on results.1
    python3 receives 5 on results
    python3 receives 5 on results
end
python3 ends
$ dpm parallelism --json trace
jq: [.processes[] | select(.name == "worker").cpu_ns] == [200e6, 200e6]
jq: .rows[0] | near(.T_ns; 400e6) and near(.tmax_ns; 200e6) and .T_ns - .tmax_ns > 160e6

== the longest path is that of a process which sleeps, and does not end last: no processor is in use
| idle   sleeps 3 s ------------ = .
| busy   .                         = computes 1 ms =
process idle pid 200
process busy pid 300
idle sleeps 3s in clock_nanosleep
idle computes 1ms
busy idles 3100ms
busy computes 1ms
busy ends
$ dpm report --all trace
never: one processor at a time
says: P = 0.00 of 2 threads
says: most of the longest path is waits that no metered process ended, not CPU time.

== threads of which one does most of the work are loaded unevenly
| a   ==================== 200 ms
| b   =|          waits for a
| c   =|          waits for a
process pool launched
thread a of pool created by pool
thread b of pool created by pool
thread c of pool created by pool
b computes 10ms
c computes 10ms
a computes 200ms
b sleeps in futex until a
c sleeps in futex until a
b ends
c ends
a ends
pool sleeps in futex until a ends
pool ends
$ dpm report --all trace
says: Threads are loaded unevenly: load balance 0.2

== ... which explains nothing where one has nearly all of the work, and P says nothing either
process pool launched
thread a of pool created by pool
thread b of pool created by pool
thread c of pool created by pool
b computes 2ms
c computes 2ms
a computes 200ms
b sleeps in futex until a
c sleeps in futex until a
b ends
c ends
a ends
pool sleeps in futex until a ends
pool ends
$ dpm report trace
says: Time
never: P =
never: loaded unevenly
$ dpm report --all trace
says: they worked in turn, or waited: the program uses one processor at a time.
says: Threads are loaded unevenly: load balance 0.2

== ... but not those that live one after the other, as those for connections do
process server launched
for i in 1 2 3 4 5 6
    thread t.$i of server created by server
    t.$i computes 10ms
    t.$i ends
    server sleeps in futex until t.$i ends
end
thread t.7 of server created by server
t.7 computes 200ms
t.7 ends
server sleeps in futex until t.7 ends
server ends
$ dpm report --all trace
says: P = 
never: loaded unevenly
$ dpm parallelism --json trace
jq: .efficiency[0].load_balance < 0.2

== one of four is "1 other"
process w launched
for r in 1 2 3 4
    process reader.$r created by w
end
pipe p: w > reader.1
8 times
    w sends 1 on p.1
end
2 times
    for r in 1 2 3 4
        reader.$r receives 1 on p.2
    end
end
$ dpm stats trace
says: and 1 other
never: 1 others

== a process of several threads that counts as one stream has as many threads as in its row
process app launched
for w in 1 2 3
    thread w$w of app created by app
    w$w computes 10ms
    w$w ends
end
app computes 20ms
app ends
$ dpm parallelism --streams processes trace
says: of CPU time, 4 threads in 1 process; elapsed
like: \napp\[100\] 4 50\.0 ms
$ dpm parallelism --streams threads trace
says: of CPU time, 4 threads in 1 process; elapsed
