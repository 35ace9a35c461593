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
says: server has 1 worker in the recording. As recorded, the workers of server are busy for
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
$ dpm whatif --wait server,disk=0.5 trace
exits: 1
says: no request waited for that in a process named server

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
$ dpm whatif --json --no-holdback trace
jq: near(.recorded.latency_p50_ns; 40e6) and .then.latency_p50_ns < 1e6 and .off < 0.02
$ dpm report trace
says: Prediction If no message waited for a delayed acknowledgement, the median latency would be
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
says: Prediction If server did not wait for the disk, the median latency would be 30.0 ms instead of 40.0 ms, with
$ dpm whatif --json --speed server=3 trace
jq: .at_best == null
jq: near(.recorded.latency_p50_ns; 40e6) and near(.then.latency_p50_ns; 20e6) and .then.busiest == "server"
$ dpm whatif --wait server,disk=0 trace
says: It may be between 15.0 and 51,668 requests/s, P50 between 13.5 us and 46.5 ms: requests are few, or vary; the CPU time of calls may be saved, too.
never: The CPU time of these calls
$ dpm whatif --speed server=3 trace
never: The CPU time of these calls
$ dpm whatif --json --wait server,disk=0.5 trace
jq: near(.then.latency_p50_ns; 35e6) and .at_best == null
$ dpm whatif --json --wait server,disk=0 --speed server=3 trace
jq: near(.then.latency_p50_ns; 10e6)
$ dpm whatif --no-holdback trace
exits: 1
says: no message of a request was in flight for as long as an acknowledgement is delayed

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
jq: [.changes[] | "\(.change) \(.latency_p50_ns / 1e6 | round)"] == ["--merge 'front>back' 12", "--speed back=2 15"]
$ dpm report trace
says: Prediction If front asked back once for each request, the median latency would be 12.0 ms instead of 20.1 ms, with
says: (dpm whatif --merge 'front>back' trace; without a change

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
jq: near(.recorded.latency_p50_ns; 4.03e6) and .off < 0.02 and .then.latency_p50_ns < 2.1e6 and
    (.then.requests_per_second * 3.4e-3 - 1 | fabs) < 0.05
jq: .at_best.latency_p50_ns == null and .low.latency_p50_ns == null and .low.latency_p99_ns > 0 and .high.latency_p50_ns > 3e6
$ dpm whatif --merge 'client>server=5' trace
like: It may be between [0-9.,]+ and [0-9.,]+ requests/s, P50 at most 3\.10 ms: requests are few
never: 0 ns
$ dpm whatif --json --delay 'client>server=6ms' trace
jq: near(.then.latency_p50_ns; 14e6)
$ dpm whatif --delay 'client>server' trace
exits: 2
says: --delay: give a time after '=': 'nginx>php-fpm=5ms'
$ dpm whatif --delay 'client>nobody=1ms' trace
exits: 1
says: no request had a message between client and nobody
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
says: server has 1 worker in the recording.
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
says: As recorded, most of the critical path is gzip: computing, 9
says: Then, most of the critical path is head: computing,
says: Without a change the model is
$ dpm whatif --json --delay 'head>gzip=200ms' trace
jq: .then.elapsed_ns > .recorded.elapsed_ns + 150e6
$ dpm whatif --json --search trace
jq: .changes[0].change == "--speed gzip=2" and .changes[0].concerns > 0.4 and .tried >= 2
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
says: time in which other programs have the CPUs may stay, or disappear

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
says: Collecting so many bytes takes up to
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
