# SPDX-License-Identifier: MIT
# What requests would take after a change: dpm whatif. The simulation itself is held against theory in tests/unit/whatif_test.c.

== two clients share one worker; two workers would have each of them at once
| one     ask --- 20 ms ---. ask ...
| two     ask ............. --- 20 ms ---
| server      == for one ===== for two ===
process one launched
process two created by one
process server pid 200
tcp c1: one > server ports 40001,80
tcp c2: two > server ports 40002,80
one connects c1
server accepts c1
two connects c2
server accepts c2
one sends 10 on c1
two sends 10 on c2
20 times
    server receives on c1
    server sleeps 20ms in clock_nanosleep
    server sends 10 on c1
    one receives on c1
    one sends 10 on c1
    server receives on c2
    server sleeps 20ms in clock_nanosleep
    server sends 10 on c2
    two receives on c2
    two sends 10 on c2
end
one ends
two ends
at 0s SUMMARY cpuUser=10s cpuIdle=50s runnable=1
at 0.5s SUMMARY cpuUser=10s cpuIdle=51s runnable=1
$ dpm whatif --json --replicas server=2 trace
jq: near(.recorded.latency_p50_ns; 40e6) and .off < 0.03 and near(.then.latency_p50_ns; 20e6) and
    .then.requests_per_second > 1.9 * .recorded.requests_per_second and .pools[0].workers == 1 and .pools[0].one_request_at_a_time
$ dpm whatif --replicas server=2 trace
says: 1 worker of server had requests in the recording. As recorded, the worker of server is busy for
says: Then, the workers of server are busy for
never: wait for locks
$ dpm whatif --json --wait server,timer=0.5 trace
jq: near(.then.latency_p50_ns; 20e6)
$ dpm whatif --replicas nobody=2 trace
exits: 1
says: no process named nobody answered a request in this recording
$ dpm whatif --search --json trace
jq: [.changes[].change] == ["--wait server,timer=0", "--replicas server=2"] and .tried == 2 and .not_tried == 0 and near(.changes[1].latency_p50_ns; 20e6) and
    near(.recorded.latency_p50_ns; 40e6) and .changes[1].concerns > 0.45 and .changes[1].concerns < 0.55
$ dpm whatif --search trace
says: 40 requests, 50.0 a second, latency P50 40.0 ms, P99 40.0 ms
says: REQUESTS/S LATENCY P50 P99 CONCERNS CHANGE
says: --replicas server=2
says: 2 changes tried, one at a time; those that make requests faster by 1% or more are shown.
$ dpm whatif --search --replicas server=2 trace
exits: 2
says: give changes, or --search: not both
$ dpm report trace
says: Prediction With 2 workers of server instead of 1, the median latency would be 20.0 ms instead of 40.0 ms, with
says: requests/s instead of
says: (dpm whatif --replicas server=2 trace; without a change the model is
$ dpm report --json trace
jq: [.findings[] | select(.kind == "change")] | length == 1
$ dpm report --to 700ms trace
says: (dpm whatif --replicas server=2 --to 0.7s trace; without a change
$ dpm whatif --wait server,disk=0.5 trace
exits: 1
says: no request waited for that in a process named server
$ dpm whatif --wait nobody,disk=0.5 trace
exits: 1
says: no process named nobody had a part in what requests waited for
$ dpm whatif --speed nobody=2 trace
exits: 1
says: no process named nobody computed in what requests waited for; --run predicts the elapsed time instead
$ dpm whatif --wait server,queued=0 trace
exits: 2
says: --wait: 'queued' follows from the workers: give --replicas
$ dpm whatif --wait server,computing=0.5 trace
exits: 2
says: --wait: 'computing' is no wait: give --speed

== the machine has no CPU time for twice as many requests, which no request shows
process one launched
process two created by one
process server pid 200
tcp c1: one > server ports 40001,80
tcp c2: two > server ports 40002,80
one connects c1
server accepts c1
two connects c2
server accepts c2
one sends 10 on c1
two sends 10 on c2
20 times
    server receives on c1
    server sleeps 20ms in clock_nanosleep
    server sends 10 on c1
    one receives on c1
    one sends 10 on c1
    server receives on c2
    server sleeps 20ms in clock_nanosleep
    server sends 10 on c2
    two receives on c2
    two sends 10 on c2
end
one ends
two ends
at 0s SUMMARY cpuUser=10s cpuIdle=50s runnable=1
at 0.75s SUMMARY cpuUser=11.2s cpuIdle=50.3s runnable=1
$ dpm whatif --json --replicas server=2 trace
jq: near(.cpus_used_up_at; 62.5) and near(.then.latency_p50_ns; 20e6) and .low.requests_per_second < 62 and
    .high.latency_p50_ns > 31e6 and .high.latency_p50_ns < 36e6
$ dpm whatif --replicas server=2 trace
like: [:;] all CPU time that a machine used may grow with its requests
says: The machine used 80% of its CPU time: if all of that grows with requests, none is left at 62.
$ dpm whatif --json --wait server,timer=0.9 trace
jq: .cpus_used_up_at == null
$ dpm report trace
never: Prediction

== threads of a pool behind one that receives: what the others are at work on is the queue
process one launched
process two created by one
process server pid 200
thread worker of server
tcp c1: one > server ports 40001,80
tcp c2: two > server ports 40002,80
one connects c1
server accepts c1
two connects c2
server accepts c2
10 times
    one sends 10 on c1
    two sends 10 on c2
    server receives on c1
    worker sleeps in futex until server
    server receives on c2
    worker sleeps 20ms in clock_nanosleep
    worker sends 10 on c1
    one receives on c1
    one idles 25ms
    worker sleeps 20ms in clock_nanosleep
    worker sends 10 on c2
    two receives on c2
    two idles 5ms
    server idles 45ms
end
one ends
two ends
$ dpm whatif --json --replicas server=2 trace
jq: near(.recorded.latency_p99_ns; 40e6) and near(.model.latency_p99_ns; 40e6) and
    near(.then.latency_p99_ns; 20e6)
jq: any(.pools[]; .workers == 1 and .one_request_at_a_time)

== a thread that hands requests to a pool: what counts are the workers of the pool
process one launched
process two created by one
process server pid 200
thread w1 of server
thread w2 of server
tcp c1: one > server ports 40001,80
tcp c2: two > server ports 40002,80
one connects c1
server accepts c1
two connects c2
server accepts c2
10 times
    one sends 10 on c1
    two sends 10 on c2
    server receives on c1
    server computes 1ms
    w1 sleeps in futex until server
    server receives on c2
    server computes 1ms
    w2 sleeps in futex until server
    w1 sleeps 20ms in clock_nanosleep
    w1 sends 10 on c1
    one receives on c1
    one idles 5ms
    w2 sleeps 20ms in clock_nanosleep
    w2 sends 10 on c2
    two receives on c2
    two idles 5ms
    server idles 25ms
end
one ends
two ends
$ dpm whatif --replicas server=4 trace
says: 2 workers of server had requests in the recording.
$ dpm whatif --json --replicas server=4 trace
jq: [.pools[].workers] | sort == [1, 2]

== workers that each keep a connection to a thread of their own: both are changed
| php.1, php.2     == 10 ms ==.            .
| mysqld t1, t2               '-- 40 ms --'
process a launched
process b created by a
process c created by a
process d created by a
process php.1 pid 200
process php.2 pid 201
process mysqld pid 300
thread t1 of mysqld
thread t2 of mysqld
tcp ca: a > php.1 ports 40001,80
tcp cb: b > php.1 ports 40002,80
tcp cc: c > php.2 ports 40003,80
tcp cd: d > php.2 ports 40004,80
tcp m1: php.1 > mysqld ports 50001,3306
tcp m2: php.2 > mysqld ports 50002,3306
php.1 connects m1
mysqld accepts m1
php.2 connects m2
mysqld accepts m2
a connects ca
php.1 accepts ca
b connects cb
php.1 accepts cb
c connects cc
php.2 accepts cc
d connects cd
php.2 accepts cd
for X in a b c d
    $X sends 10 on c$X
end
15 times
    for X in a b
        php.1 receives on c$X
        php.1 computes 10ms
        php.1 sends 20 on m1
        t1 receives on m1
        t1 sleeps 40ms in fdatasync uninterruptible
        t1 sends 50 on m1
        php.1 receives on m1
        php.1 sends 10 on c$X
        $X receives on c$X
        $X sends 10 on c$X
    end
    for X in c d
        php.2 receives on c$X
        php.2 computes 10ms
        php.2 sends 20 on m2
        t2 receives on m2
        t2 sleeps 40ms in fdatasync uninterruptible
        t2 sends 50 on m2
        php.2 receives on m2
        php.2 sends 10 on c$X
        $X receives on c$X
        $X sends 10 on c$X
    end
end
for X in b c d a
    $X ends
end
at 0s SUMMARY cpuUser=10s cpuIdle=50s runnable=1
at 1.5s SUMMARY cpuUser=10s cpuIdle=53s runnable=1
$ dpm whatif --json --replicas php=4 trace
jq: near(.recorded.latency_p50_ns; 100e6) and .off < 0.05 and .then.latency_p50_ns > 75e6 and .then.latency_p50_ns < 92e6
$ dpm whatif --json --replicas php=4 --replicas mysqld=4 trace
jq: .then.latency_p50_ns > 49e6 and .then.latency_p50_ns < 65e6

== workers that replace each other are not there at the same time
| server.1   == 12 requests ==o
| server.2                     == 12 requests ==o
process client launched
process server.1 pid 200
process server.2 pid 300
tcp c1: client > server.1 ports 40001,80
tcp c2: client > server.2 ports 40002,80
client connects c1
server.1 accepts c1
client connects c2
server.2 accepts c2
for K in 1 2
    12 times
        client sends 10 on c$K
        server.$K receives on c$K
        server.$K sleeps 20ms in clock_nanosleep
        server.$K sends 10 on c$K
        client receives on c$K
    end
    server.$K ends
end
client ends
$ dpm whatif --replicas server=2 trace
says: 2 workers of server had requests in the recording, at most 1 of them at the same time.
$ dpm whatif --json --replicas server=2 trace
jq: [.pools[].workers] == [1] and .off < 0.02

== two workers that take turns with a lock: more of them would wait longer
| w1   == 10 ms ==|.. lock ..|== 10 ms ==|.. lock ..|
| w2   |.. lock ..|== 10 ms ==|.. lock ..|== 10 ms ==
process one launched
process two created by one
process three created by one
process four created by one
process server pid 200
thread w1 of server
thread w2 of server
tcp c1: one > server ports 40001,80
tcp c2: two > server ports 40002,80
tcp c3: three > server ports 40003,80
tcp c4: four > server ports 40004,80
one connects c1
server accepts c1
two connects c2
server accepts c2
three connects c3
server accepts c3
four connects c4
server accepts c4
one sends 10 on c1
two sends 10 on c2
three sends 10 on c3
four sends 10 on c4
20 times
    w1 receives on c1
    w1 sleeps in futex until w2
    w1 computes 10ms
    w1 sends 10 on c1
    one receives on c1
    one sends 10 on c1
    w2 receives on c2
    w2 sleeps in futex until w1
    w2 computes 10ms
    w2 sends 10 on c2
    two receives on c2
    two sends 10 on c2
    w1 receives on c3
    w1 sleeps in futex until w2
    w1 computes 10ms
    w1 sends 10 on c3
    three receives on c3
    three sends 10 on c3
    w2 receives on c4
    w2 sleeps in futex until w1
    w2 computes 10ms
    w2 sends 10 on c4
    four receives on c4
    four sends 10 on c4
end
one ends
two ends
three ends
four ends
at 0s SUMMARY cpuUser=10s cpuIdle=50s runnable=1
at 0.5s SUMMARY cpuUser=10s cpuIdle=51s runnable=1
$ dpm whatif --json --replicas server=4 trace
jq: near(.recorded.latency_p50_ns; 40e6) and .off < 0.1 and .then.latency_p50_ns < 32e6
$ dpm whatif --replicas server=4 trace
says: 2 workers of server had requests in the recording. Workers of server wait for locks: more of them may only wait longer.
$ dpm whatif --search trace
says: --replicas server=4
says: Workers of server wait for locks: more of them may only wait longer.
$ dpm report trace
never: Prediction

== a worker that uses up a CPU limit: two of them would use it up sooner
| server  == 10 ms ==(throttled 10 ms)== 10 ms ==(throttled 10 ms) ...
process one launched
process two created by one
process server pid 200 cgroup 7
tcp c1: one > server ports 40001,80
tcp c2: two > server ports 40002,80
one connects c1
server accepts c1
two connects c2
server accepts c2
one sends 10 on c1
two sends 10 on c2
20 times
    server receives on c1
    server computes 10ms
    server lacks a CPU for 10ms
    server sends 10 on c1
    one receives on c1
    one sends 10 on c1
    server receives on c2
    server computes 10ms
    server lacks a CPU for 10ms
    server sends 10 on c2
    two receives on c2
    two sends 10 on c2
end
one ends
two ends
at 0s NAME number=7 kind=2 name=/limited
at 0s CGROUP cgroup=7 quota=50ms period=100ms cpu=1s periods=10 throttledPeriods=2 throttled=100ms
at 0.7s CGROUP cgroup=7 quota=50ms period=100ms cpu=1.35s periods=17 throttledPeriods=9 throttled=450ms
at 0s SUMMARY cpuUser=10s cpuIdle=50s runnable=1
at 0.5s SUMMARY cpuUser=10s cpuIdle=51s runnable=1
$ dpm whatif --json --replicas server=2 trace
jq: near(.recorded.latency_p50_ns; 40e6) and .then.latency_p50_ns < 25e6
$ dpm whatif --replicas server=2 trace
says: If a CPU limit caused time without a CPU, that grows with more workers: they gain less, or nothing.
$ dpm whatif --speed server=2 trace
never: If a CPU limit caused
$ dpm report trace
says: /limited used up its CPU limit
never: Prediction

== a worker that uses all of a limit of one CPU is never throttled; two of them would be
process one launched
process two created by one
process server pid 200 cgroup 7
tcp c1: one > server ports 40001,80
tcp c2: two > server ports 40002,80
one connects c1
server accepts c1
two connects c2
server accepts c2
one sends 10 on c1
two sends 10 on c2
20 times
    server receives on c1
    server computes 20ms
    server sends 10 on c1
    one receives on c1
    one sends 10 on c1
    server receives on c2
    server computes 20ms
    server sends 10 on c2
    two receives on c2
    two sends 10 on c2
end
one ends
two ends
at 0s NAME number=7 kind=2 name=/limited
at 0s CGROUP cgroup=7 quota=100ms period=100ms cpu=1s periods=10 throttledPeriods=0 throttled=0ms
at 0.8s CGROUP cgroup=7 quota=100ms period=100ms cpu=1.8s periods=18 throttledPeriods=0 throttled=0ms
at 0s SUMMARY cpuUser=10s cpuIdle=50s runnable=1
at 0.5s SUMMARY cpuUser=10.5s cpuIdle=51s runnable=1
$ dpm whatif --json --replicas server=2 trace
jq: near(.recorded.latency_p50_ns; 40e6) and .then.latency_p50_ns < 25e6
$ dpm report trace
never: Prediction
never: used up its CPU limit

== a worker that uses a quarter of its CPU limit: two of them would use half of it
process one launched
process two created by one
process server pid 200 cgroup 7
tcp c1: one > server ports 40001,80
tcp c2: two > server ports 40002,80
one connects c1
server accepts c1
two connects c2
server accepts c2
one sends 10 on c1
two sends 10 on c2
20 times
    server receives on c1
    server computes 20ms
    server sends 10 on c1
    one receives on c1
    one sends 10 on c1
    server receives on c2
    server computes 20ms
    server sends 10 on c2
    two receives on c2
    two sends 10 on c2
end
one ends
two ends
at 0s NAME number=7 kind=2 name=/limited
at 0s CGROUP cgroup=7 quota=400ms period=100ms cpu=1s periods=10 throttledPeriods=0 throttled=0ms
at 0.8s CGROUP cgroup=7 quota=400ms period=100ms cpu=1.8s periods=18 throttledPeriods=0 throttled=0ms
at 0s SUMMARY cpuUser=10s cpuIdle=50s runnable=1
at 0.5s SUMMARY cpuUser=10.5s cpuIdle=51s runnable=1
$ dpm report trace
says: Prediction With 2 workers of server instead of 1

== a CPU limit that others use up is none of the worker's
process one launched
process two created by one
process batch pid 150 cgroup 7
process server pid 200
tcp c1: one > server ports 40001,80
tcp c2: two > server ports 40002,80
one connects c1
server accepts c1
two connects c2
server accepts c2
batch computes 10ms
one sends 10 on c1
two sends 10 on c2
20 times
    server receives on c1
    server sleeps 20ms in clock_nanosleep
    server sends 10 on c1
    one receives on c1
    one sends 10 on c1
    server receives on c2
    server sleeps 20ms in clock_nanosleep
    server sends 10 on c2
    two receives on c2
    two sends 10 on c2
end
batch ends
one ends
two ends
at 0s NAME number=7 kind=2 name=/limited
at 0s CGROUP cgroup=7 quota=50ms period=100ms cpu=1s periods=10 throttledPeriods=2 throttled=100ms
at 0.7s CGROUP cgroup=7 quota=50ms period=100ms cpu=1.35s periods=17 throttledPeriods=9 throttled=450ms
at 0s SUMMARY cpuUser=10s cpuIdle=50s runnable=1
at 0.5s SUMMARY cpuUser=10s cpuIdle=51s runnable=1
$ dpm report trace
says: Prediction With 2 workers of server instead of 1
like: /limited used up its CPU limit

== a worker that has no CPU for most of the time: there may be a limit that was not recorded
process one launched
process two created by one
process server pid 200
tcp c1: one > server ports 40001,80
tcp c2: two > server ports 40002,80
one connects c1
server accepts c1
two connects c2
server accepts c2
one sends 10 on c1
two sends 10 on c2
20 times
    server receives on c1
    server computes 5ms
    server lacks a CPU for 15ms
    server sends 10 on c1
    one receives on c1
    one sends 10 on c1
    server receives on c2
    server computes 5ms
    server lacks a CPU for 15ms
    server sends 10 on c2
    two receives on c2
    two sends 10 on c2
end
one ends
two ends
at 0s SUMMARY cpuUser=10s cpuIdle=50s runnable=1
at 0.5s SUMMARY cpuUser=10s cpuIdle=51s runnable=1
$ dpm whatif --json --replicas server=2 trace
jq: near(.recorded.latency_p50_ns; 40e6) and .then.latency_p50_ns < 25e6
$ dpm report trace
never: Prediction

== the CPUs are busy with requests for less time than they are busy
| client   == 20 ms ==.              .== 20 ms ==.
| w1, w2               == 20 ms ==               == 20 ms == ...
machine vm cpus 1
process client launched
process server pid 200
thread w1 of server
thread w2 of server
tcp c1: client > server ports 40001,80
tcp c2: client > server ports 40002,80
client connects c1
server accepts c1
client connects c2
server accepts c2
20 times
    for K in 1 2
        client sends 10 on c$K
        w$K receives on c$K
        w$K computes 20ms
        w$K sends 10 on c$K
        client receives on c$K
        client computes 20ms
    end
end
client ends
at 0s SUMMARY cpuUser=10s cpuIdle=50s runnable=1
at 1.5s SUMMARY cpuUser=11.5s cpuIdle=50s runnable=1
$ dpm whatif --speed server=2 trace
like: As recorded, the CPUs are busy with requests for (49|5[01])(\.\d+)?% of the time

== a single request has a latency, and no rate
process client launched
process server pid 200
tcp c: client > server ports 40001,80
client connects c
server accepts c
client sends 70 on c
server receives on c
server sleeps 20ms in fdatasync uninterruptible
server sends 150 on c
client receives on c
client ends
$ dpm whatif --json --wait server,disk=0.5 trace
jq: .recorded.requests_per_second == null and .then.requests_per_second == null and .low.requests_per_second == null and
    near(.then.latency_p50_ns; 10e6)
$ dpm whatif --wait server,disk=0.5 trace
says: latency P50
says: The latency may be between
never: requests/s
$ dpm whatif --search trace
says: 1 request, latency P50 20.0 ms
never: a second
$ dpm whatif --json --search trace
jq: .recorded.requests_per_second == null and all(.changes[]; .requests_per_second == null)
$ dpm report trace
says: Prediction If server did not wait for the disk, the median latency of only 1 request would be
says: instead of 20.0 ms (dpm whatif --wait server,disk=0 trace;

== a report takes the first 5,000 requests, and the command that it names has more
process client launched
process server pid 200
tcp c: client > server ports 40001,80
client connects c
server accepts c
5010 times
    client sends 70 on c
    server receives on c
    server sleeps 1ms in fdatasync uninterruptible
    server computes 1ms
    server sends 150 on c
    client receives on c
end
client ends
$ dpm report trace
says: Prediction If server did not wait for the disk, the median latency of the first 5,000 requests would be
says: (dpm whatif --wait server,disk=0 trace, which takes more of them; without a change
$ dpm whatif --json --wait server,disk=0 trace
jq: .requests == 5010 and .left_out == 0

== a burst, in which no client asks again, has no rate
process one launched
process two created by one
process three created by one
process server pid 200
tcp c1: one > server ports 40001,80
tcp c2: two > server ports 40002,80
tcp c3: three > server ports 40003,80
one connects c1
server accepts c1
two connects c2
server accepts c2
three connects c3
server accepts c3
one sends 10 on c1
two sends 10 on c2
three sends 10 on c3
for N in 1 2 3
    server receives on c$N
    server sleeps 20ms in clock_nanosleep
    server sends 10 on c$N
end
one receives on c1
two receives on c2
two ends
three receives on c3
three ends
one waits for three
one ends
at 0s SUMMARY cpuUser=10s cpuIdle=50s runnable=1
at 0.05s SUMMARY cpuUser=10s cpuIdle=50.1s runnable=1
$ dpm whatif --json --replicas server=3 trace
jq: near(.recorded.latency_p50_ns; 40e6) and near(.then.latency_p50_ns; 20e6) and
    all((.recorded, .model, .then, .low, .high); .requests_per_second == null)
$ dpm whatif --replicas server=3 trace
says: The latency may be between
never: requests/s
$ dpm report trace
says: Prediction With 3 workers of server instead of 1, the median latency of only 3 requests would be 20.0 ms instead of 40.0 ms (dpm whatif

== Nagle's algorithm holds back the second of two sends
process client launched
process server pid 200
tcp c: client > server
client connects c
server accepts c
15 times
    client sends 70 on c
    server receives on c
    server sends 150 on c
    server sends 1000 on c held 40ms
    client receives 150 on c
    client receives 1000 on c
    client idles 10ms
end
client ends
$ dpm whatif --no-holdback trace
says: latency P50 40.0 ms 40.0 ms
like: latency P50 .* -99\.[89]%
$ dpm whatif --json --no-holdback trace
jq: near(.recorded.latency_p50_ns; 40e6) and .then.latency_p50_ns < 1e6 and .off < 0.02
$ dpm report trace
says: Prediction If no message waited for a delayed acknowledgement, the median latency of only 15 requests would be
says: (dpm whatif --no-holdback trace;

== a server that computes, and one that waits for the disk
process client launched
process server pid 200
tcp c: client > server
client connects c
server accepts c
10 times
    client sends 70 on c
    server receives on c
    server computes 30ms
    server sleeps 10ms in fdatasync uninterruptible
    server sends 150 on c
    client receives on c
end
client ends
$ dpm report trace
says: Prediction If server did not wait for the disk, the median latency of only 10 requests would be 30.0 ms instead of 40.0 ms, with
$ dpm whatif --json --speed server=3 trace
jq: .at_best == null
jq: near(.recorded.latency_p50_ns; 40e6) and near(.then.latency_p50_ns; 20e6) and .then.busiest == "server"
$ dpm whatif --wait server,disk=0 trace
says: It may be between 15.0 and 51,668 requests/s, P50 between 13.5 us and 46.5 ms: requests are few, or vary; the CPU time of calls may be saved, too.
never: The CPU time of the calls that would go
$ dpm whatif --delay 'client>server=0ms' trace
like: latency P50 .* 0%
never: -0%
$ dpm whatif --delay 'client>server=0ms' --wait server,disk=0 --wait server,no_cpu=0 --wait client,no_cpu=0 trace
like: (P50|The latency may be) at most 46\.[0-9] ms: requests are few
never: 0 ns
$ dpm whatif --speed server=3 trace
never: The CPU time of the calls that would go
$ dpm whatif --json --wait server,disk=0.5 trace
jq: near(.then.latency_p50_ns; 35e6) and .at_best == null
$ dpm whatif --json --wait server,disk=0 --speed server=3 trace
jq: near(.then.latency_p50_ns; 10e6)
$ dpm whatif --no-holdback trace
exits: 1
says: no message of a request was in flight for as long as an acknowledgement is delayed

== a client that thinks for long asks as often as before: the rate is not said
| client  ask --- 40 ms ---. thinks for 2 s                     ask ---
| server      === disk ====
process client
process server pid 200
tcp c: client > server older
10 times
    client sends 70 on c
    server receives on c
    server computes 30ms
    server sleeps 10ms in fdatasync uninterruptible
    server sends 150 on c
    client receives on c
    client sleeps 2s in clock_nanosleep
end
$ dpm whatif --json --wait server,disk=0 trace
jq: near(.recorded.requests_per_second; 0.49) and near(.then.requests_per_second; 0.4925)
$ dpm report trace
says: Prediction If server did not wait for the disk, the median latency of 9 of the 10 requests would be 30.0 ms instead of 40.0 ms (dpm
    whatif --wait server,disk=0 trace; without a change the model is
never: requests/s instead of

== requests at the beginning, which may have waited for others, are left out: the median is of the others
process client
process server pid 200
tcp c: client > server older
51 times
    client sends 70 on c
    server receives on c
    server computes 30ms
    server sleeps 10ms in fdatasync uninterruptible
    server sends 150 on c
    client receives on c
end
$ dpm whatif --json --wait server,disk=0 trace
jq: .requests == 50 and .left_out_first == 1 and .left_out == 0
$ dpm report trace
says: of the time of 51 requests (median 40.0 ms
says: Prediction If server did not wait for the disk, the median latency of 50 of the 51 requests would be 30.0 ms instead of 40.0 ms, with

== five questions in each request, one after the other
process client launched
process front pid 200
process back pid 300
tcp c: client > front ports 40001,80
tcp d: front > back ports 50001,5432 latency 1ms
client connects c
front accepts c
front connects d
back accepts d
10 times
    client sends 70 on c
    front receives on c
    5 times
        front sends 20 on d
        back receives on d
        back computes 2ms
        back sends 50 on d
        front receives on d
    end
    front sends 150 on c
    client receives on c
end
client ends
$ dpm whatif --json --merge 'front>back' trace
jq: near(.recorded.latency_p50_ns; 20e6) and near(.then.latency_p50_ns; 12e6) and .off < 0.02
$ dpm whatif --json --search trace
jq: [.changes[] | "\(.change) \(.latency_p50_ns / 1e6 | round)"] == ["--merge 'front>back' 12", "--speed back=2 15"] and
    .changes[1].concerns > 0.45
$ dpm report trace
says: Prediction If front asked back once for each request, the median latency of only 10 requests would be 12.0 ms instead of 20.1 ms, with
says: (dpm whatif --merge 'front>back' trace; without a change

== the same questions, of which the ptrace meter records no arrivals
machine vm ptrace
process client launched
process front pid 200
process back pid 300
tcp c: client > front ports 40001,80
tcp d: front > back ports 50001,5432
client connects c
front accepts c
front connects d
back accepts d
10 times
    client sends 70 on c
    front receives on c
    2 times
        front sends 20 on d
        back receives on d
        back computes 2ms
        back sends 50 on d
        front receives on d
    end
    front sends 150 on c
    client receives on c
end
client ends
$ dpm whatif --delay 'front>back=5ms' trace
exits: 1
says: no message of a request between front and back was in flight for a recorded time (the ptrace meter records no arrivals)
$ dpm whatif --merge 'front>back' trace
exits: 1
says: no request had two questions of front to back, one after the other, that were in flight for a recorded time (the ptrace meter

== a client that connects for each request, and a front end that does
| client  connect 3 ms, ask ---------------------------------. answered
| front                        connect 4 ms, ask ---. .------
| back                                               5 ms
process client launched
process front pid 200
process back pid 300
for N in 1 2 3 4 5 6
    tcp c$N: client > front ports 4100$N,80
    tcp d$N: front > back ports 5100$N,5432
end
for N in 1 2 3 4 5 6
    client connects c$N in 3ms
    front accepts c$N
    client sends 70 on c$N
    front receives on c$N
    front sleeps 4ms in connect
    front connects d$N
    back accepts d$N
    front sends 20 on d$N
    back receives on d$N
    back computes 5ms
    back sends 50 on d$N
    front receives on d$N
    front closes d$N
    front sends 150 on c$N
    client receives on c$N
    client closes c$N
end
client ends
$ dpm whatif --json --keep-connections 'front>back' trace
jq: near(.recorded.latency_p50_ns; 12e6) and near(.then.latency_p50_ns; 8e6) and .off < 0.02
$ dpm whatif --json --keep-connections 'client>front' --keep-connections 'front>back' trace
jq: near(.then.latency_p50_ns; 5.06e6)

== a front end that connects to a program that is not metered, and then asks one over a connection that it keeps
| front   connect 4 ms, ask ---.          .---- ask ---.        .----
| api                           '-- 5 ms -'
| redis                                                 '- 3 ms -'
process client launched
process front pid 200
process redis pid 300
outside api at 10.9.9.9
tcp c: client > front ports 40001,80
tcp r: front > redis ports 50001,6379
client connects c
front accepts c
front connects r
redis accepts r
for N in 1 2 3 4 5 6
    tcp d$N: front > api ports 5100$N,443
end
for N in 1 2 3 4 5 6
    client sends 70 on c
    front receives on c
    front sleeps 4ms in connect
    front connects d$N
    front sends 20 on d$N
    api receives on d$N
    api idles 5ms
    api sends 50 on d$N
    front receives on d$N
    front closes d$N
    front sends 20 on r
    redis receives on r
    redis computes 3ms
    redis sends 50 on r
    front receives on r
    front sends 150 on c
    client receives on c
end
client ends
$ dpm whatif --keep-connections 'front>redis' trace
exits: 1
says: no request waited while front connected to redis
$ dpm whatif --keep-connections 'front>client' trace
exits: 1
$ dpm whatif --search trace
says: --speed redis=2
never: --keep-connections
$ dpm report trace
never: kept its connections

== a loop of clients that ask once each: it asks sooner when it has its answer sooner
process sh launched
process server pid 200
for N in 1 2 3 4 5 6 7 8
    process curl.$N created by sh
    tcp c$N: curl.$N > server ports 4100$N,80
    curl.$N connects c$N
    curl.$N sends 10 on c$N
    server accepts c$N
    server receives on c$N
    server sleeps 10ms in clock_nanosleep
    server sleeps 10ms in fdatasync uninterruptible
    server sends 10 on c$N
    curl.$N receives on c$N
    curl.$N ends
    sh waits for curl.$N
end
sh ends
$ dpm whatif --json --wait server,disk=0 trace
jq: near(.recorded.latency_p50_ns; 20e6) and near(.then.latency_p50_ns; 10e6) and .off < 0.02 and
    .then.requests_per_second > 1.9 * .recorded.requests_per_second

== two clients that ask at the same time, though they are of one program
process curl.1 launched
process curl.2 created by curl.1
process server pid 200
tcp c1: curl.1 > server ports 40001,80
tcp c2: curl.2 > server ports 40002,80
curl.1 connects c1
server accepts c1
curl.2 connects c2
server accepts c2
curl.1 sends 10 on c1
curl.2 sends 10 on c2
20 times
    server receives on c1
    server sleeps 20ms in clock_nanosleep
    server sends 10 on c1
    curl.1 receives on c1
    curl.1 sends 10 on c1
    server receives on c2
    server sleeps 20ms in clock_nanosleep
    server sends 10 on c2
    curl.2 receives on c2
    curl.2 sends 10 on c2
end
curl.1 ends
curl.2 ends
$ dpm whatif --json --replicas server=2 trace
jq: near(.recorded.latency_p50_ns; 40e6) and .off < 0.03 and near(.then.latency_p50_ns; 20e6) and
    .then.requests_per_second > 1.9 * .recorded.requests_per_second

== a connection for each request: what comes after the answer is no question, and the worker takes the next one a while later
| one     ask --- 20 ms ---. end     ask ...
| two     ask ......................---- 20 ms ---.
| server      == for one ====. 5 ms .== for two ==
process one launched
process two created by one
process server pid 200
for N in 1 2 3 4 5 6 7 8
    tcp c$N: one > server ports 4100$N,80
    tcp d$N: two > server ports 4200$N,80
end
for N in 1 2 3 4 5 6 7 8
    one connects c$N
    one sends 10 on c$N
    two connects d$N
    two sends 10 on d$N
    server accepts c$N
    server receives on c$N
    server sleeps 20ms in clock_nanosleep
    server sends 10 on c$N
    one receives on c$N
    one sends 2 on c$N
    one closes c$N
    server receives on c$N
    server finds the end of c$N
    server idles 5ms
    server accepts d$N
    server receives on d$N
    server sleeps 20ms in clock_nanosleep
    server sends 10 on d$N
    two receives on d$N
    two sends 2 on d$N
    two closes d$N
    server receives on d$N
    server finds the end of d$N
    server idles 5ms
end
one ends
two ends
$ dpm whatif --json --replicas server=2 trace
jq: .pools[0].one_request_at_a_time and .off < 0.02 and near(.recorded.latency_p50_ns; 50e6) and near(.then.latency_p50_ns; 25e6)

== a client that asks five times for what it could ask at once, over a network
| client  ask ---1 ms--- 2 ms ---1 ms--- ask ...
process client launched
process server pid 200
tcp c: client > server ports 40001,80 latency 1ms
client connects c
server accepts c
30 times
    client sends 10 on c
    server receives on c
    server computes 2ms
    server sends 10 on c
    client receives on c
    client computes 1ms
end
client ends
$ dpm whatif --json --merge 'client>server=5' trace
jq: near(.recorded.latency_p50_ns; 4.03e6) and .off < 0.02 and (.then.requests_per_second * 3.4e-3 - 1 | fabs) < 0.05
jq: all((.then, .at_best, .low, .high); .latency_p50_ns == null and .latency_p99_ns == null and .requests_per_second > 0)
$ dpm whatif --merge 'client>server=5' trace
like: It may be between [0-9.,]+ and [0-9.,]+ requests/s: requests are few
never: P50
$ dpm whatif --json --delay 'client>server=6ms' trace
jq: near(.then.latency_p50_ns; 14e6)
$ dpm whatif --delay 'client>server' trace
exits: 2
says: --delay: give a time after '=': 'nginx>php-fpm=5ms'
$ dpm whatif --delay 'client>nobody=1ms' trace
exits: 1
says: no message of a request between client and nobody was in flight for a recorded time (the ptrace meter records no arrivals)
$ dpm whatif --merge 'server>client=5' trace
exits: 1
says: server is not a client with several requests to client
$ dpm whatif --merge 'client>server=1' trace
exits: 2
says: --merge: give a number from 2 to 1e+06 after '='

== a server that has no CPU for half of the time
process one launched
process first pid 200
tcp c1: one > first ports 40001,80
one connects c1
first accepts c1
20 times
    one sends 10 on c1
    first receives on c1
    first computes 10ms
    first lacks a CPU for 10ms
    first sends 10 on c1
    one receives on c1
end
one ends
$ dpm whatif --json --wait first,no_cpu=0.5 trace
jq: near(.recorded.latency_p50_ns; 20e6) and near(.then.latency_p50_ns; 15e6)
$ dpm whatif --json --search trace
jq: [.changes[].change] == ["--wait first,no_cpu=0", "--speed first=2"]
$ dpm whatif --json --place first trace
jq: near(.then.latency_p50_ns; 20e6)

== a server that a CPU limit keeps from taking the request: no queue, with one client
process one launched
process first pid 200
tcp c1: one > first ports 40001,80
one connects c1
first accepts c1
20 times
    one sends 10 on c1
    first receives on c1 late 30ms
    first computes 10ms
    first sends 10 on c1
    one receives on c1
end
one ends
$ dpm whatif --json --wait first,no_cpu=0 trace
jq: near(.recorded.latency_p50_ns; 40e6) and near(.then.latency_p50_ns; 10e6) and .no_cpu_kept < 0.01
$ dpm whatif --json --speed first=2 trace
jq: near(.then.latency_p50_ns; 35e6) and .no_cpu_kept > 0.74
$ dpm whatif --speed first=2 trace
says: ; time without a CPU may stay, or disappear

== time without a CPU, which no other program needs to have used
process one launched
process first pid 200
tcp c1: one > first ports 40001,80
one connects c1
first accepts c1
50 times
    one sends 10 on c1
    first receives on c1
    first computes 5ms
    first lacks a CPU for 1ms
    first sleeps 65ms in clock_nanosleep
    first sends 10 on c1
    one receives on c1
end
one ends
$ dpm whatif --json --speed first=2 trace
jq: near(.then.latency_p50_ns; 68.5e6) and .no_cpu_kept > 0.01 and .no_cpu_kept < 0.02 and .low == null
$ dpm whatif --speed first=2 trace
says: of requests' latency without a CPU, because other threads used it, one was being woken, or there is a limit, stays: the gain may be larger.
never: other programs

== processes of the server's name that it makes for one request each are no workers
process one launched
process two created by one
process server.1 pid 200
tcp c1: one > server.1 ports 40001,80
tcp c2: two > server.1 ports 40002,80
one connects c1
server.1 accepts c1
two connects c2
server.1 accepts c2
one sends 10 on c1
two sends 10 on c2
12 times
    server.1 receives on c1
    server.1 computes 1ms
    process server.a$N created by server.1
    server.a$N computes 20ms
    server.a$N ends
    server.1 waits for server.a$N
    server.1 computes 1ms
    server.1 sends 10 on c1
    one receives on c1
    one sends 10 on c1
    server.1 receives on c2
    server.1 computes 1ms
    process server.b$N created by server.1
    server.b$N computes 20ms
    server.b$N ends
    server.1 waits for server.b$N
    server.1 computes 1ms
    server.1 sends 10 on c2
    two receives on c2
    two sends 10 on c2
end
one ends
two ends
$ dpm whatif --replicas server=2 trace
says: 1 worker of server had requests in the recording.
$ dpm whatif --json --replicas server=2 trace
jq: near(.recorded.latency_p50_ns; 44e6) and near(.model.latency_p50_ns; 44e6) and near(.then.latency_p50_ns; 22e6)

# ---- runs without requests ----

== a pipeline: the elapsed time after a change, and what limits it next
| head  5 ms for each part; gzip  50 ms for each; wc
process sh launched
process head created by sh
process gzip created by sh
process wc created by sh
pipe one: head > gzip
pipe two: gzip > wc
10 times
    head computes 5ms
    head sends 4096 on one
end
head closes one
head ends
10 times
    gzip receives 4096 on one
    gzip computes 50ms
    gzip sends 2000 on two
    wc receives on two
end
gzip closes two
gzip ends
wc finds the end of two
wc ends
sh waits for head
sh waits for wc
sh ends
$ dpm whatif --json --speed gzip=2 trace
jq: near(.recorded.elapsed_ns; .model.elapsed_ns) and .off < 0.02 and .low == null and .at_best == null and
    .model.most_of_path.name == "gzip" and .model.most_of_path.spent_on == "computing" and
    near(.then.elapsed_ns; .recorded.elapsed_ns - 250e6)
$ dpm whatif --json --speed gzip=100 trace
jq: .then.most_of_path.name == "head" and .then.most_of_path.share > 0.8
$ dpm whatif --speed gzip=100 trace
says: RECORDED MODEL OF IT THEN CHANGE
says: As recorded, the largest part of the critical path is gzip: computing, 9
says: Then, the largest part of the critical path is head: computing,
says: Without a change the model is
$ dpm whatif --json --delay 'head>gzip=200ms' trace
jq: .then.elapsed_ns > .recorded.elapsed_ns + 150e6
$ dpm whatif --json --search trace
jq: .changes[0].change == "--speed gzip=2" and .changes[0].concerns > 0.8 and .tried >= 2
$ dpm whatif --search trace
says: ELAPSED SAVED CONCERNS CHANGE
says: --speed gzip=2
$ dpm whatif --replicas gzip=2 trace
exits: 1
says: workers, connections and questions of gzip can be judged for requests only, not for the elapsed time of a run
$ dpm whatif --wait gzip,disk=0 trace
exits: 1
says: gzip has no such wait of its own in this recording
$ dpm whatif --speed nobody=2 trace
exits: 1
says: no process named nobody computed in this recording
$ dpm whatif --buffer 'head>gzip=64K' trace
exits: 1
says: head sent 10 messages to gzip: too few to judge --buffer

== a run that waits for the disk, and computes at the same time elsewhere
| sync  10 times: 10 ms computing, 20 ms disk
process sync launched
10 times
    sync computes 10ms
    sync sleeps 20ms in fdatasync uninterruptible
end
sync ends
$ dpm whatif --json --wait sync,disk=0.5 trace
jq: near(.recorded.elapsed_ns; 300e6) and near(.then.elapsed_ns; 200e6) and .model.most_of_path.spent_on == "disk"
$ dpm whatif --json --wait sync,disk=0 --speed sync=2 trace
jq: near(.then.elapsed_ns; 50e6) and .at_best.elapsed_ns < 1e6 and .low.elapsed_ns < 1e6
$ dpm whatif --json --search trace
jq: [.changes[].change] == ["--wait sync,disk=0", "--speed sync=2"]
$ dpm whatif --wait sync,no_cpu=0 trace
exits: 1
says: --wait sync,no_cpu can be judged for requests only; for a run, --place gives more CPUs

== a run that has no CPU for half of the time: that changes with its CPU time, or stays
process one launched
10 times
    one computes 10ms
    one lacks a CPU for 10ms
    one sleeps 5ms in clock_nanosleep
end
one ends
$ dpm whatif --json --speed one=2 trace
jq: near(.recorded.elapsed_ns; 250e6) and .off < 0.02 and near(.then.elapsed_ns; 150e6) and near(.high.elapsed_ns; 200e6)
$ dpm whatif --speed one=2 trace
says: time without a CPU may stay as it is
never: disappear

== a prediction whose range ends more than a tenth above it
process one launched
10 times
    one computes 10ms
    one lacks a CPU for 3ms
    one sleeps 3500us in clock_nanosleep
end
one ends
$ dpm whatif --json --speed one=2 trace
jq: near(.recorded.elapsed_ns; 165e6) and near(.then.elapsed_ns; 100e6) and near(.high.elapsed_ns; 115e6)

== a run whose calls cost less than a tenth of what remains without their waits
process sync launched
10 times
    sync computes 10ms
    sync sleeps 5ms in clock_nanosleep
    sync computes 500us
    sync sleeps 20ms in fdatasync uninterruptible
end
sync ends
$ dpm whatif --json --wait sync,disk=0 trace
jq: near(.then.elapsed_ns; 155e6) and near(.at_best.elapsed_ns; 150e6) and .low == null
$ dpm whatif --wait sync,disk=0 trace
says: The CPU time of the calls that would go is not known, and stays: the gain may be larger.
$ dpm whatif --speed sync=2 trace
never: The CPU time of the calls that would go

== a run with requests: its elapsed time on demand
process one launched
process server pid 200
tcp c1: one > server ports 40001,80
one connects c1
server accepts c1
20 times
    one sends 10 on c1
    server receives on c1
    server sleeps 20ms in clock_nanosleep
    server sends 10 on c1
    one receives on c1
end
one ends
$ dpm whatif --json --wait server,timer=0.5 trace
jq: near(.then.latency_p50_ns; 10e6) and has("low") and has("high")
$ dpm whatif --json --run --wait server,timer=0.5 trace
jq: near(.recorded.elapsed_ns; 400e6) and near(.then.elapsed_ns; 200e6)

== a program that passes on what it receives, eight times as often as others
| cat   64 KiB for 20 us; relay  8 KiB for 20 us; sink  64 KiB for 15 us
process sh launched
process cat created by sh
process relay created by sh
process sink created by sh
tcp a: cat > relay ports 40001,80
tcp b: relay > sink ports 40002,81
cat connects a
relay accepts a
relay connects b
sink accepts b
20 times
    cat computes 20us
    cat sends 65536 on a
    8 times
        relay receives 8192 on a
        relay computes 10us
        relay sends 8192 on b
        relay computes 10us
    end
    sink receives 65536 on b
    sink computes 15us
end
cat ends
relay ends
sink ends
sh waits for cat
sh waits for relay
sh waits for sink
sh ends
$ dpm whatif --json --buffer 'relay>sink=64K' trace
jq: .then.elapsed_ns < 0.6 * .recorded.elapsed_ns and .at_best.elapsed_ns < .then.elapsed_ns and
    .low.elapsed_ns <= .at_best.elapsed_ns and .high.elapsed_ns >= .then.elapsed_ns and .collects_ns > 0
$ dpm whatif --buffer 'relay>sink=64K' trace
says: It may be between 460 us and 1.08 ms: the CPU time of calls may be saved, too.
like: Collecting so many bytes takes [0-9.]+ us on average at the recorded rate, longer where fewer bytes come; the first of them waits as long\.
$ dpm whatif --buffer 'cat>relay=1M' trace
exits: 1
says: cat does more than pass on to relay what it receives: what it computes for its bytes cannot be separated from what its calls cost
$ dpm whatif --buffer 'relay>sink' trace
exits: 2
says: --buffer: give bytes after '=', up to 1G: 'socat>nc=64K'
$ dpm whatif --buffer 'relay>sink=0' trace
exits: 2
says: --buffer: give bytes after '='
$ dpm whatif --buffer 'relay=64K' trace
exits: 2
says: --buffer 'relay': give two names

== two programs that pass on what they receive: each collects its own bytes
process sh launched
for K in 1 2
    process cat.$K created by sh
    process relay.$K created by sh
    process sink.$K created by sh
    tcp a$K: cat.$K > relay.$K ports 4000$K,80
    tcp b$K: relay.$K > sink.$K ports 4100$K,81
end
for K in 1 2
    cat.$K connects a$K
    relay.$K accepts a$K
    relay.$K connects b$K
    sink.$K accepts b$K
    20 times
        cat.$K computes 20us
        cat.$K sends 65536 on a$K
        8 times
            relay.$K receives 8192 on a$K
            relay.$K computes 10us
            relay.$K sends 8192 on b$K
            relay.$K computes 10us
        end
        sink.$K receives 65536 on b$K
        sink.$K computes 15us
    end
    cat.$K ends
    relay.$K ends
    sink.$K ends
end
for K in 1 2
    sh waits for cat.$K
    sh waits for relay.$K
    sh waits for sink.$K
end
sh ends
$ dpm whatif --json --buffer 'relay>sink=64K' trace
jq: .collects_ns > 150e3 and .collects_ns < 200e3

== a program that passes on what it receives, and its master, which sends nothing: that one collects nothing
process sh launched
sh computes 10ms
process cat created by sh
process relay.m created by sh
process relay.1 created by relay.m
process sink created by sh
tcp a: cat > relay.1 ports 40001,80
tcp b: relay.1 > sink ports 40002,81
cat connects a
relay.1 accepts a
relay.1 connects b
sink accepts b
20 times
    cat computes 20us
    cat sends 65536 on a
    8 times
        relay.1 receives 8192 on a
        relay.1 computes 10us
        relay.1 sends 8192 on b
        relay.1 computes 10us
    end
    sink receives 65536 on b
    sink computes 15us
end
cat ends
relay.1 ends
relay.m waits for relay.1
relay.m ends
sink ends
sh waits for cat
sh waits for relay.m
sh waits for sink
sh ends
$ dpm whatif --json --buffer 'relay>sink=64K' trace
jq: .collects_ns > 150e3 and .collects_ns < 200e3
jq: .low == null and .at_best.elapsed_ns < 0.98 * .then.elapsed_ns
$ dpm whatif --buffer 'relay>sink=64K' trace
says: Collecting so many bytes
never: The CPU time of the calls that would go

== messages to two programs are held back: the change concerns both
| first   == 10 ms ==- 40 ms -.
| second                       '== 10 ms ==- 40 ms -.
| third                                              '== 10 ms ==
process sh launched
process first created by sh
process second created by sh
process third created by sh
tcp a: first > second ports 40001,80
tcp b: second > third ports 40002,81
first connects a
second accepts a
second connects b
third accepts b
first computes 10ms
first sends 100 on a held 40ms
second receives on a
second computes 10ms
second sends 100 on b held 40ms
third receives on b
third computes 10ms
first ends
second ends
third ends
sh waits for first
sh waits for second
sh waits for third
sh ends
$ dpm whatif --run --search --json trace
jq: .changes[0] | .change == "--no-holdback" and .concerns > 0.7 and .concerns < 0.75

== what takes as long between machines is the way, and no change concerns it
| first (web1)   == 10 ms ==- 40 ms -.                                        .- answered
| second (db1)                        '== 10 ms ==- 40 ms -.                .-'
| third (db1)                                               '== 10 ms ==---'
machine web1 at 10.0.0.1
machine db1 at 10.0.0.2
process first launched of web1
process second of db1 pid 200
process third of db1 pid 300
tcp a: first > second ports 40001,80
tcp b: second > third ports 40002,82
first connects a
second accepts a
second connects b
third accepts b
first sends 10 on a
second receives on a
second sends 10 on a
first receives on a
first computes 10ms
first sends 100 on a held 40ms
second receives on a
second computes 10ms
second sends 100 on b held 40ms
third receives on b
third computes 10ms
third sends 10 on b
second receives on b
second sends 10 on a
first receives on a
first ends
$ dpm whatif --run --search --json web1 db1
jq: .changes[] | select(.change == "--no-holdback") | .concerns > 0.3 and .concerns < 0.65
