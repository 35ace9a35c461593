# Beside load: what belongs to the program is the same, whatever else runs on the machine.

== a ring of three that computes, sleeps and passes a token on: P and t_max, on a quiet machine
| a  ==10==zz10zz--.                              .--
| b                 '-==10==zz10zz--.             |
| c                                  '-==10==zz10zz-
process a launched
process b created by a
process c created by a
pipe ab: a > b
pipe bc: b > c
pipe ca: c > a
10 times
    a computes 10ms
    a sleeps 10ms in clock_nanosleep
    a sends 8 on ab
    b receives on ab
    b computes 10ms
    b sleeps 10ms in clock_nanosleep
    b sends 8 on bc
    c receives on bc
    c computes 10ms
    c sleeps 10ms in clock_nanosleep
    c sends 8 on ca
    a receives on ca
end
a ends
$ dpm parallelism --json trace
jq: .rows[0] | near(.tmax_ns; 600e6) and near(.P; 0.5)
$ dpm path --json trace
jq: near(.cpu_ns; 300e6) and near(.outside_ns; 300e6)

== ... and beside four loops that compute: each sleep ends late, each burst is interrupted
process a launched
process b created by a
process c created by a
pipe ab: a > b
pipe bc: b > c
pipe ca: c > a
10 times
    a computes 6ms
    a lacks a CPU for 7ms
    a computes 4ms
    a sleeps 10ms in clock_nanosleep late 5ms
    a sends 8 on ab
    b receives on ab late 4ms
    b computes 5ms
    b lacks a CPU for 12ms
    b computes 5ms
    b sleeps 10ms in clock_nanosleep late 2500us
    b sends 8 on bc
    c receives on bc late 3ms
    c computes 10ms
    c lacks a CPU for 5ms
    c sleeps 10ms in clock_nanosleep late 700us
    c sends 8 on ca
    a receives on ca late 500us
end
a ends
$ dpm parallelism --json trace
jq: .rows[0] | .tmax_ns >= 599e6 and .tmax_ns <= 610e6 and .P > 0.49 and .P <= 0.5
$ dpm path --json trace
jq: near(.cpu_ns; 300e6) and .outside_ns >= 300e6 and .outside_ns <= 310e6
$ dpm why --json trace
jq: .spent_on_ns.timer >= 299e6 and .spent_on_ns.timer <= 310e6 and near(.spent_on_ns.computing; 300e6)
$ dpm report trace
never: faster programs do not shorten that

== work that is interrupted all the time: what it would take at twice the speed is a lower bound, for it would also wait less
| work  ==5==  (40 ms for others)  ==5==  (40 ms for others) ...
process work launched
10 times
    work computes 5ms
    work lacks a CPU for 40ms
end
work ends
$ dpm report trace
says: If it ran twice as fast, the same work would take 5.6% less, or more if that also shortens waits for a CPU.

== ... which does not matter where hardly anything else runs
process work launched
10 times
    work computes 50ms
    work lacks a CPU for 500us
end
work ends
$ dpm report trace
says: If it ran twice as fast, the same work would take 50% less.

== ... and so is what a process and those that it created would take
process sh launched command "sh -c seq 2 | xargs ./item.sh"
process xargs created by sh command "xargs ./item.sh"
process item.1 created by xargs named item.sh command "./item.sh 1"
item.1 computes 5ms
item.1 ends
xargs waits for item.1
process item.2 created by xargs named item.sh command "./item.sh 2"
for k in a b c d
    process gzip.$k created by item.2 command "gzip -9"
    gzip.$k computes 10ms
    gzip.$k lacks a CPU for 60ms
    gzip.$k ends
    item.2 waits for gzip.$k
end
item.2 ends
xargs waits for item.2
xargs ends
sh waits for xargs
sh ends
$ dpm report trace
says: and the processes that it created carry 89% of the critical path
says: If all of them ran twice as fast, the same work would take 7.0% less, or more if that also shortens waits for a CPU.

== dump says when more threads are runnable than there are CPUs, and only then
process nap pid 100
load 2
nap sleeps 1ms in clock_nanosleep
load 7
nap sleeps 10ms in clock_nanosleep late 5ms
load 255
nap sleeps 2ms in clock_nanosleep
load 1
nap sleeps 3ms in clock_nanosleep
$ dpm dump --type block trace
never: 2 runnable threads
says: asleep 10.0 ms in clock_nanosleep, then 5.00 ms without a CPU, task state 0x1, 7 runnable threads on 2 CPUs
says: asleep 2.00 ms in clock_nanosleep, task state 0x1, 255 or more runnable threads on 2 CPUs
$ dpm dump trace | grep -c runnable
is: 2
