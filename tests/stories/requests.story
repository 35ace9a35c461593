# SPDX-License-Identifier: MIT
# Which ways requests take through servers: dpm causality. Each process that serves has a letter; a request has a string of them.

== two workers in front of two servers: which of them got each request
| (client)  ask -.                               .- answered
| worker.1,2     '- ask -.            .- answered '
| first/second           '- computes -'
process worker.1 pid 61 named front
process worker.2 pid 62 named front
process first pid 71
process second pid 72
outside client
for w in 1 2
    tcp f$w: client > worker.$w older ports 4000$w,80
    tcp a$w: worker.$w > first older ports 4100$w,81
    tcp b$w: worker.$w > second older ports 4200$w,82
end
6 times
    client sends 10 on f1
    worker.1 receives on f1 in epoll_wait
    worker.1 sends 20 on a1
    first receives on a1 in epoll_wait
    first computes 2ms
    first sends 100 on a1
    worker.1 receives on a1 in epoll_wait
    worker.1 sends 100 on f1
    client receives on f1
end
for w in 1 2
    2 times
        client sends 10 on f$w
        worker.$w receives on f$w in epoll_wait
        worker.$w sends 20 on b$w
        second receives on b$w in epoll_wait
        second computes 5ms
        second sends 100 on b$w
        worker.$w receives on b$w in epoll_wait
        worker.$w sends 100 on f$w
        client receives on f$w
    end
end
3 times
    client sends 10 on f2
    worker.2 receives on f2 in epoll_wait
    worker.2 sends 100 on f2
    client receives on f2
end
$ dpm causality --json --slowest 3 trace
jq: .letters == {"A": "front[61]", "B": "front[62]", "C": "first[71]", "D": "second[72]"}
jq: .requests | .count == 13 and .replies == 13 and .not_metered == 13 and .messages == 20
jq: [.strings[] | [.string, .count]] == [["ACA", 6], ["ADA", 2], ["B", 3], ["BDB", 2]]
jq: [.paths[] | [.string, .count, .answered]] == [["ACA", 6, true], ["ADA", 2, true], ["B", 3, true], ["BDB", 2, true]]
jq: .paths | all(.count == .latency_ns.count) and near(.[0].latency_ns.p50; 2.03e6) and near(.[1].latency_ns.max; 5.03e6)
jq: [.transitions[] | [.from, .at, .next, .count, .probability]] == [["requestor", "A", "C", 6, 0.75], ["requestor", "A", "D", 2, 0.25],
    ["requestor", "B", "D", 2, 1], ["A", "C", "A", 6, 1], ["A", "D", "A", 2, 1], ["B", "D", "B", 2, 1]]
jq: [.replies[] | [.from, .at, .count]] == [["C", "A", 6], ["D", "A", 2], ["D", "B", 2], ["requestor", "B", 3]]
jq: [.substrings[] | [.string, .count]] == [["AC", 6], ["ACA", 6], ["AD", 2], ["ADA", 2], ["BD", 2], ["BDB", 2], ["CA", 6], ["DA", 2], ["DB", 2]]
jq: .precision.proved == {"path": 10, "alone": 10, "creation": 0} and .precision.proved_share == 1
jq: .precision | .late + .unmatched + .unknown_paths + .ambiguous + ([.assumed[]] | add) == 0
jq: [.slowest[] | .string] == ["ADA", "BDB", "BDB"] and near(.slowest[0].duration_ns; 5.03e6)
jq: .slowest[0] | [.events[] | [.by, .from]] == [["A", "requestor"], ["D", "A"], ["A", "D"]] and .requestor == "10.0.0.1:40001"
$ dpm causality --strings --slowest 2 --diagram web.svg trace
says: 4 server processes, 13 requests, 13 replies, 20 messages between server processes
says: A server front 61 0
says: ACA 6 46 2.03 ms
says: Message sequences
says: BDB 2
says: A requestor C 6 75
says: A requestor D 2 25
says: B requestor reply 3 -
says: 5.03 ms ADA, requested by 10.0.0.1:40001
says: Messages were attributed to requests: proved 20 (100 %), assumed 0. proved : 10 by the connection that they answer
    proved : 10 as the only request open in the process
says: Matched receives: 20 exact; 26 to or from unmonitored peers.
says: 13 requests came from unmonitored requestors.
$ python3 -c 'import xml.dom.minidom; xml.dom.minidom.parse("web.svg")' && grep -c '<g class="arc' web.svg
is: 12
$ dpm causality --strings --context 3 --diagram web.dot trace > words && grep -c -e '->' web.dot
is: 12
$ dpm causality --by-program --json trace
jq: [.strings[] | [.string, .count]] == [["A", 3], ["ABA", 6], ["ACA", 4]]
$ dpm causality --json --server 61,62 trace
jq: [.strings[] | [.string, .count]] == [["A", 8], ["B", 5]]
jq: [.processes[] | select(.role == "system").pid] == [71, 72]
$ dpm causality --server front,nosuch trace
says: dpm: note: --server: no process nosuch in the traces
$ dpm report trace
says: Requests 46% of the request paths are ACA: median 2.03 ms

== a probability is one of its context: who asked before counts
| (client) ask -.                .- answered
| front         '- a -.  .- b -.'
| back                '-'      '-'         first a word, then a number
process front pid 61
process word pid 71
process number pid 72
outside client
tcp f: client > front older
tcp a: front > word older
tcp b: front > number older
4 times
    client sends 1 on f
    front receives on f
    front sends 1 on a
    word receives on a
    word sends 1 on a
    front receives on a
    front sends 1 on b
    number receives on b
    number sends 1 on b
    front receives on b
    front sends 1 on f
    client receives on f
end
2 times
    client sends 1 on f
    front receives on f
    front sends 1 on a
    word receives on a
    word sends 1 on a
    front receives on a
    front sends 1 on f
    client receives on f
end
$ dpm causality --json trace
jq: [.strings[] | [.string, .count]] == [["ABA", 2], ["ABACA", 4]]
jq: [.transitions[] | select(.from == "B" and .at == "A") | [.next, .count]] == [["C", 4]]
jq: [.replies[] | [.from, .at, .count]] == [["B", "A", 2], ["C", "A", 4]]
$ dpm causality trace
says: A B C 4 100
$ dpm causality --json --context 1 trace
jq: [.transitions[] | select(.at == "A") | [.next, .count, .probability]] == [["B", 6, 0.6], ["C", 4, 0.4]]
$ dpm causality --json --length 2 trace
jq: [.substrings[] | .string] == ["AB", "AC", "BA", "CA"]

== two requests at once in one process: their own connections prove the answers
| (client.1) ask -.                 .---------- answered
| (client.2)   ask+-.               |      .- answered
| front           '-'-- one, two ---'------'
| back                 '--1--'---2--'
process front pid 61
process back pid 71
outside client
for i in 1 2
    tcp f$i: client > front older ports 4000$i,80
    tcp b$i: front > back older ports 4100$i,81
end
5 times
    client sends 1 on f1
    client sends 1 on f2
    front receives on f1 in epoll_wait
    front sends 1 on b1
    front receives on f2 in epoll_wait
    front sends 1 on b2
    for i in 1 2
        back receives on b$i in epoll_wait
        back computes 1ms
        back sends 1 on b$i
        front receives on b$i in epoll_wait
        front sends 1 on f$i
        client receives on f$i
    end
end
$ dpm causality --json trace
jq: .requests.count == 10 and .requests.replies == 10 and ([.strings[] | [.string, .count]] == [["ABA", 10]])
jq: .precision.proved.path * 2 == .requests.messages and .precision.proved.path == 10
jq: .requests.messages as $all | ([.precision | .proved, .assumed | .[]] | add) == $all

== a server of many clients: each command is a request, and two in one message are one
process redis-server pid 50
outside client
for i in 1 2 3 4 5
    tcp c$i: client > redis-server older ports 4000$i,6379
end
client sends 30 on c1
client sends 30 on c1
redis-server receives 60 on c1 in epoll_wait
redis-server sends 100 on c1
client receives on c1
20 times
    for i in 1 2 3 4 5
        client sends 40 on c$i
    end
    for i in 1 2 3 4 5
        redis-server receives on c$i in epoll_wait
        redis-server sends 5 on c$i
    end
    for i in 1 2 3 4 5
        client receives on c$i
    end
end
$ dpm causality --json trace
jq: .requests.count == 101 and .requests.replies == 101 and [.strings[] | [.string, .count]] == [["A", 101]]

== requests that are still open when the recording ends have no latency, and are not among the slowest
| client   asks on each of six connections
| server   -- 20 ms -- answers two of them; four wait for news
process server pid 50
outside client
for n in 1 2 3 4 5 6
    tcp c$n: client > server older ports 4000$n,80
end
for n in 1 2 3 4 5 6
    client sends 30 on c$n
    server receives 30 on c$n in epoll_wait
end
server sleeps 20ms in clock_nanosleep
for n in 1 2
    server sends 5 on c$n
    client receives 5 on c$n
end
$ dpm causality --json --slowest 6 trace
jq: .requests.count == 6 and .requests.replies == 2 and [.strings[] | [.string, .count]] == [["A", 6]]
jq: .paths[0].latency_ns | .count == 2 and .min > 20e6 and .max < 21e6
jq: .precision.without_send == 4 and .precision.unknown_clocks == 0 and (.slowest | length) == 2
$ dpm causality trace
like: MAX A 6 100 20\.
says: 4 requests caused no send (not answered, or one-way): no latency counts them.

== where no request was answered, there is no latency to show
process server pid 50
outside client
tcp c: client > server older ports 40001,80
client sends 30 on c
server receives 30 on c in epoll_wait
server sleeps 20ms in clock_nanosleep
$ dpm causality --json trace
jq: .requests.count == 1 and .paths[0].latency_ns == null and .precision.without_send == 1
$ dpm causality trace
says: A 1 100 - - - -
says: 1 request caused no send (not answered, or one-way): no latency counts it.

== requests that asked a back end, and were never answered: that they asked is not the end of their latency
| client  asks on each of four connections
| front   asks the back end for each; answers two of them 20 ms later
process front pid 50
outside client at 10.0.0.8
outside back at 10.0.0.9
for n in 1 2 3 4
    tcp c$n: client > front older ports 4000$n,80
    tcp d$n: front > back older ports 4100$n,5432
end
for n in 1 2 3 4
    client sends 30 on c$n
    front receives 30 on c$n in epoll_wait
    front computes 500us
    front sends 20 on d$n
end
back idles 20ms
for n in 1 2
    back receives 20 on d$n
    back sends 50 on d$n
    front receives 50 on d$n in epoll_wait
    front sends 5 on c$n
    client receives 5 on c$n
end
$ dpm causality --json --slowest 6 trace
jq: .requests.count == 4 and .requests.replies == 2 and [.strings[] | [.string, .count]] == [["A", 4]]
jq: .paths[0].latency_ns | .count == 2 and .min > 15e6
jq: .precision.unanswered == 2 and .precision.without_send == 0 and (.slowest | length) == 2
$ dpm causality trace
says: 2 paths belong to requests that were not answered, while others like them were: no latency counts them.

== where some requests were not answered, the latency is that of the others
process front pid 50
process back pid 60
outside client
for n in 1 2 3 4 5 6 7
    tcp c$n: client > front older ports 4000$n,80
end
tcp d: front > back older ports 41000,81
client sends 10 on c7
front receives on c7 in epoll_wait
front sends 20 on d
back receives on d in epoll_wait
back computes 2ms
back sends 100 on d
front receives on d in epoll_wait
front sends 100 on c7
client receives on c7
for n in 1 2 3 4 5 6
    client idles 3ms
    client sends 30 on c$n
    front receives 30 on c$n in epoll_wait
end
front sleeps 20ms in clock_nanosleep
for n in 1 2
    front sends 5 on c$n
    client receives 5 on c$n
end
$ dpm report trace
like: of the request paths are A: of the 2 with a latency, median [0-9.]+ ms
says: STRING COUNT
says: WITH LATENCY

== a client that is metered is the requestor
process redis-server pid 50
process redis-benchmark pid 60
for i in 1 2 3
    tcp c$i: redis-benchmark > redis-server older ports 4000$i,6379
end
20 times
    for i in 1 2 3
        redis-benchmark sends 40 on c$i
        redis-server receives on c$i in epoll_wait
        redis-server sends 5 on c$i
        redis-benchmark receives on c$i in epoll_wait
    end
end
$ dpm causality --json trace
jq: [.processes | sort_by(.name)[] | [.name, .role, .letter, .requests]] == [["redis-benchmark", "requestor", null, 60],
    ["redis-server", "server", "A", 0]]
jq: .requests | .count == 60 and .not_metered == 0

== a pipeline: each line goes all the way
| sh   line -.  (100 ms)  line -.
| sed        '- xline -.        '- xline ...
| cat                  '- written
process sh launched
process sed
process cat
pipe one: sh > sed
pipe two: sed > cat
3 times
    sh sends 2 on one
    sed receives on one
    sed sends 3 on two
    cat receives on two
    sh sleeps 100ms in clock_nanosleep
end
$ dpm causality --json trace
jq: [.strings[] | [.string, .count]] == [["AB", 3]] and .precision.proved_share == 1
$ dpm causality --server sed,nosuch trace
says: dpm: note: --server: no process nosuch in the traces
$ dpm causality
exits: 2
says: name a trace
$ dpm causality nothing.trace
exits: 1
says: nothing.trace
$ dpm causality --length 17 trace
exits: 2
says: a number from 2 to 16
$ dpm causality --context 0 trace
exits: 2
says: a number from 1 to 15
$ dpm causality --diagram x.png trace
exits: 2
says: the suffix .svg, .dot or .gv
$ dpm causality --diagram none/x.svg trace
exits: 1
says: cannot be written
$ dpm causality --server a,,b trace
exits: 2
says: names or pids

== nginx with two workers in front of two others: what its access log says
recorded nginx
$ dpm causality --json trace
jq: .letters | keys == ["A", "B", "C", "D"] and ([.[]] == ["nginx[30846]", "nginx[30845]", "nginx[30848]", "nginx[30849]"])
jq: .requests | .count == 30 and .replies == 30
jq: [.strings[] | [.string, .count]] == [["A", 4], ["ACA", 11], ["ADA", 9], ["B", 2], ["BCB", 3], ["BDB", 1]]
jq: [.transitions[] | select(.from == "requestor") | [.at, .next, .probability]] == [["A", "C", 0.55], ["A", "D", 0.45],
    ["B", "C", 0.75], ["B", "D", 0.25]]
jq: .requests.messages == 48 and .precision.proved.path == 24 and .precision.without_request == 0
jq: .requests.messages as $all | ([.precision | .proved, .assumed | .[]] | add) == $all
jq: .precision | .late + .unmatched + .unknown_paths + .ambiguous == 0
jq: .paths | all(.count == .latency_ns.count and .latency_ns.p50 <= .latency_ns.p99)
$ dpm causality --json --slowest 3 trace
jq: .slowest[0].duration_ns == ([.paths[].latency_ns.max] | max) and .slowest[0].events[0].from == "requestor"
jq: .slowest[0] | (.events | length) == (.string | length)
$ dpm causality --by-program --json trace
jq: [.strings[] | [.string, .count]] == [["A", 6], ["AAA", 24]]
$ dpm causality --json --server 30845,30846 trace
jq: ([.strings[] | select(.string | length == 1).count] | add) == 30 and ([.processes[] | select(.role == "system")] | length) == 2
$ dpm dump --json --type accept trace | jq -s -c '[.[] | select(.local == "127.0.0.1:18181").pid] | unique'
is: [30848]

# Where the time of the requests of a service went (dpm why, dpm report): the service is metered, its clients are not.

== a web server before two back ends, one of which sleeps: half of the requests sleep there
| client (not metered)  GET ---.                                           .--- 200
| nginx                        '- epoll, connect, send .... receive, send -'
| quick                                               '== 1 ==o
| slow                                                '-- sleeps 30 --o       each second time
process nginx pid 200
process quick pid 300 named python3 command "python3 back.py 8001 0"
process slow pid 400 named python3 command "python3 back.py 8002 0.03"
outside client at 10.9.9.9
for n in 1 2 3 4 5 6 7 8 9 10
    tcp front.q$n: client > nginx ports 510$n,8080
    tcp up.q$n: nginx > quick ports 520$n,8001
    nginx accepts front.q$n
    client sends 50 on front.q$n
    nginx receives 50 on front.q$n in epoll_wait
    nginx computes 100us
    nginx connects up.q$n
    quick accepts up.q$n
    nginx sends 60 on up.q$n
    quick receives 60 on up.q$n
    quick computes 1ms
    quick sends 70 on up.q$n
    nginx receives 70 on up.q$n in epoll_wait
    nginx sends 80 on front.q$n
    client receives 80 on front.q$n
    tcp front.s$n: client > nginx ports 530$n,8080
    tcp up.s$n: nginx > slow ports 540$n,8002
    nginx accepts front.s$n
    client sends 50 on front.s$n
    nginx receives 50 on front.s$n in epoll_wait
    nginx computes 100us
    nginx connects up.s$n
    slow accepts up.s$n
    nginx sends 60 on up.s$n
    slow receives 60 on up.s$n
    slow sleeps 30ms in clock_nanosleep
    slow sends 70 on up.s$n
    nginx receives 70 on up.s$n in epoll_wait
    nginx sends 80 on front.s$n
    client receives 80 on front.s$n
end
$ dpm why --json trace
jq: .requests.count == 20 and .requests.unanswered == 0 and near(.requests.time_ns; 312.6e6)
jq: .requests | ([.rows[].time_ns] | add) == .time_ns and ([.spent_on_ns[]] | add) == .time_ns and .spent_on_ns.unknown == 0
jq: [.requests.rows[] | select(.spent_on == "timer")] | length == 1 and .[0].pid == 400 and .[0].time_ns == 300e6 and
    .[0].count == 10
jq: [.requests.slowest.hops[].pid] | unique == [200, 400]
jq: .requests.slowest | . as $slowest | reduce .hops[] as $hop (0; if . == $hop.begin_ns then . + $hop.time_ns
    else -1 end) | . == $slowest.time_ns
$ dpm report trace
first: Time 96% of the time of 20 requests (median
first: ): python3 back.py 8002 0.03[400] slept until a timer ended (clock_nanosleep), 10 times.

== a database that waits for its disk: each transaction of five statements ends with fdatasync
| pgbench (not metered)   BEGIN UPDATE SELECT UPDATE END
| postgres                0.1   0.2    0.1    0.2    0.1 fdatasync 5 ms
process postgres.1 pid 200 named postgres
process postgres.2 pid 201 named postgres
outside pgbench at 10.9.9.9
tcp c1: pgbench > postgres.1 ports 51000,5432 older
tcp c2: pgbench > postgres.2 ports 51001,5432 older
12 times
    for backend in 1 2
        for work in 100us 200us 100us 200us
            pgbench sends 30 on c$backend
            postgres.$backend receives 30 on c$backend in epoll_wait
            postgres.$backend computes $work
            postgres.$backend sends 20 on c$backend
            pgbench receives 20 on c$backend
        end
        pgbench sends 5 on c$backend
        postgres.$backend receives 5 on c$backend in epoll_wait
        postgres.$backend computes 100us
        postgres.$backend sleeps 5ms in fdatasync uninterruptible
        postgres.$backend sends 20 on c$backend
        pgbench receives 20 on c$backend
    end
end
$ dpm why --json trace
jq: .requests.count == 120
jq: .requests | ([.rows[].time_ns] | add) == .time_ns and ([.spent_on_ns[]] | add) == .time_ns and .spent_on_ns.unknown == 0
jq: [.requests.rows[] | select(.spent_on == "disk" and .system_call == "fdatasync")] | ([.[].time_ns] | add) == 120e6 and
    ([.[].count] | add) == 24
$ dpm report trace
first: of the time of 120 requests (median
first: ): 2 postgres processes waited for the disk (fdatasync), 24 times.
$ dpm why --waits trace
like: postgres.* disk +fdatasync

== a request that comes while the server has no CPU to receive it: it does nothing else
| client   ask ---.     .--- answered, asks again
| server          '= 2 ='(8 ms for others)'= 2 =
process server pid 200
process client pid 300
tcp c: client > server older
5 times
    client sends 3 on c
    server receives 3 on c
    server computes 2ms
    server sends 3 on c
    server lacks a CPU for 8ms
    client receives 3 on c
    client computes 1ms
end
client sends 3 on c
server receives 3 on c
server sends 3 on c
client receives 3 on c
$ dpm why --json trace
jq: .requests.spent_on_ns | .no_cpu > 34e6 and .no_cpu < 36e6 and .queued < 1e6 and near(.computing; 10e6)
$ dpm report trace
first: server[200] could run, but had no CPU.
never: did something else

== a service on a machine with free CPUs: its threads wait to be woken, which is no lack of CPUs
| client  ask -.                        .- answered, thinks for 1 ms
| server        '~ 40 us until it runs ~= 20 us =
process server pid 200
process client pid 300
tcp c: client > server older
200 times
    client sends 3 on c
    server receives 3 on c late 40us
    server computes 20us
    server sends 3 on c
    client receives 3 on c
    client idles 1ms
end
at 0s SUMMARY cpuUser=10s cpuIdle=50s runnable=2
at 0.2s SUMMARY cpuUser=10.1s cpuIdle=50.3s runnable=1
$ dpm report trace
says: server[200] waited for a CPU, or to be woken (0.5 tasks for 2 CPUs, on average).
never: had no CPU

== ... and on one where nine tasks want two CPUs
process server pid 200
process client pid 300
tcp c: client > server older
200 times
    client sends 3 on c
    server receives 3 on c late 40us
    server computes 20us
    server sends 3 on c
    client receives 3 on c
    client idles 1ms
end
at 0s SUMMARY cpuUser=10s cpuIdle=50s runnable=10
at 0.2s SUMMARY cpuUser=10.4s cpuIdle=50s runnable=10
$ dpm report trace
says: server[200] could run, but had no CPU (9.0 tasks for 2 CPUs, on average).
never: to be woken

== ... and on one with free CPUs, where a CPU limit was used up
process server pid 200 cgroup 7
process client pid 300
tcp c: client > server older
200 times
    client sends 3 on c
    server receives 3 on c late 40us
    server computes 20us
    server sends 3 on c
    client receives 3 on c
    client idles 5ms
end
at 0s NAME number=7 kind=2 name=/batch
at 0s SUMMARY cpuUser=10s cpuIdle=50s runnable=2
at 0s CGROUP cgroup=7 quota=20ms period=100ms cpu=1s periods=10 throttledPeriods=2 throttled=100ms
at 1s SUMMARY cpuUser=10.1s cpuIdle=51.9s runnable=1
at 1s CGROUP cgroup=7 quota=20ms period=100ms cpu=1.2s periods=20 throttledPeriods=12 throttled=900ms
$ dpm report trace
says: could run, but had no CPU (0.5 tasks for 2 CPUs, on average, and a CPU limit that was used up).
never: to be woken

== a request that comes while the server computes for another one waits in its queue
| a        ask ---.                .--- answered
| b            ask ---.(15 ms)                   .--- answered
| server          '== 20 =========='== 10 ======-'
process server pid 200
outside a at 10.9.9.1
outside b at 10.9.9.2
tcp ca: a > server ports 51000,80 older
tcp cb: b > server ports 51001,80 older
# both ends are known before the first request
a sends 3 on ca
server receives 3 on ca
server sends 3 on ca
a receives 3 on ca
b sends 3 on cb
server receives 3 on cb
server sends 3 on cb
b receives 3 on cb
a idles until 100ms
b idles until 105ms
5 times
    a sends 3 on ca
    server receives 3 on ca in epoll_wait
    b sends 3 on cb
    server computes 20ms
    server sends 3 on ca
    server receives 3 on cb in epoll_wait
    server computes 10ms
    server sends 3 on cb
    a receives 3 on ca
    a idles 20ms
    b receives 3 on cb
    b idles 15ms
end
$ dpm why --json trace
jq: .requests | .count == 12 and near(.spent_on_ns.computing; 150e6) and near(.spent_on_ns.queued; 75e6) and near(.time_ns; 225e6)
jq: [.requests.rows[] | select(.spent_on == "queued") | .pid, .count] == [200, 5]
$ dpm why --requests trace
says: message waiting for its receiver

== what waits for any of several processes waits for them
| client.1-4  ask at once -------------------------- answered     5 times
| worker.1-2  == 50 ms == answers one == 50 ms == answers the other
for w in 1 2
    process worker.$w pid 20$w
end
for c in 1 2
    process first.$c launched
    process second.$c
    tcp a$c: first.$c > worker.$c older
    tcp b$c: second.$c > worker.$c older
end
5 times
    for c in 1 2
        first.$c sends 1 on a$c
        second.$c sends 1 on b$c
        worker.$c receives on a$c
        worker.$c sleeps 50ms in clock_nanosleep
        worker.$c sends 1 on a$c
        worker.$c receives on b$c
        worker.$c sleeps 1ms in clock_nanosleep
        worker.$c sends 1 on b$c
        first.$c receives on a$c
        second.$c receives on b$c
    end
end
$ dpm report trace
says: 2 worker processes did something else while messages waited for them

== an answer, and then its end of file, which is read when the server is at the next request: that one's time is not this one's
| clients (not metered)  four ask                        .--- answered
| front                  '- connects, sends, (no CPU) receives, the end -'
| back                    '-- sleeps 60 --o, closes, accepts the next '-- sleeps 60 --o ...
process front pid 200
process back pid 300
for n in 1 2 3 4
    outside client$n at 10.9.9.$n
    tcp f$n: client$n > front ports 5100$n,8080 older
    tcp b$n: front > back ports 5200$n,9000
end
for n in 1 2 3 4
    client$n sends 50 on f$n
end
for n in 1 2 3 4
    front receives 50 on f$n in epoll_wait
    front connects b$n
    front sends 60 on b$n
end
for n in 1 2 3 4
    back accepts b$n
    back receives 60 on b$n
    back sleeps 60ms in clock_nanosleep
    back sends 70 on b$n
    front receives 70 on b$n in epoll_wait
    back computes 100us
    back closes b$n
    front finds the end of b$n late 1ms
    front sends 80 on f$n
    client$n receives 80 on f$n
end
$ dpm why --json trace
jq: .requests | .count == 4 and near(.time_ns; 604e6) and near(.spent_on_ns.timer; 240e6) and near(.spent_on_ns.queued; 360e6)
$ dpm report trace
first: back[300] did something else while messages waited

== a request that waits until another client sends something: the time limits in between are the event loop's own
| taker   asks (BLPOP) -.                                       .- answered
| giver                 |                        sends (LPUSH) -+-.
| server                '-- epoll 100 -- epoll 100 -- epoll 50 -'-'
process server pid 50
outside taker at 10.9.9.1
process giver pid 60
tcp t: taker > server ports 51000,6379 older
tcp g: giver > server ports 51001,6379 older
giver sends 5 on g
server receives 5 on g in epoll_wait
server sends 5 on g
giver receives 5 on g
taker idles until 1ms
4 times
    taker sends 30 on t
    server receives 30 on t in epoll_wait
    server waits in epoll_wait for 100ms at-most 100ms
    server waits in epoll_wait for 100ms at-most 100ms
    giver sleeps 250ms in clock_nanosleep
    giver sends 20 on g
    server receives 20 on g in epoll_wait
    server sends 18 on t
    server sends 4 on g
    giver receives 4 on g
    taker receives 18 on t
end
$ dpm why --requests --json trace
jq: .requests | .spent_on_ns.timer == 0 and .spent_on_ns.event == 0 and near(.spent_on_ns.other_connection; 1e9)
jq: [.requests.rows[] | select(.spent_on == "other_connection") | .pid, .peer_pid] == [50, 60]
$ dpm report trace
first: server[50] waited for a message on another connection, or for a time limit (giver[60], tcp 127.0.0.1:*), 12 times.

== an event loop before an unmonitored database: while it waits for an answer, it receives other requests
| user   asks 1 -.           asks 2 -.                         .- answered 1      .- answered 2
| loop           '- asks A --- 20 ms -'- asks B --- 100 ms --o-'---- 20 ms ---o---'
| database                                        answers A -'     answers B -'
outside user at 10.9.9.1
outside database at 10.9.9.2
process loop pid 50
tcp u1: user > loop ports 51001,80
tcp u2: user > loop ports 51002,80
tcp a: loop > database ports 41001,5432
tcp b: loop > database ports 41002,5432
for c in u1 u2
    user connects $c
    loop accepts $c
end
for c in a b
    loop connects $c
    database accepts $c
end
user sends 30 on u1
loop receives 30 on u1 in epoll_wait
loop computes 100us
loop sends 20 on a
database receives 20 on a
user idles 20ms
user sends 30 on u2
loop receives 30 on u2 in epoll_wait
loop computes 100us
loop sends 20 on b
database receives 20 on b
database idles 100ms
database sends 50 on a
loop receives 50 on a in epoll_wait
loop sends 60 on u1
database idles 20ms
database sends 50 on b
loop receives 50 on b in epoll_wait
loop sends 60 on u2
user receives 60 on u1
user receives 60 on u2
$ dpm why --requests --json trace
jq: .requests | .count == 2 and .spent_on_ns.other_connection == 0 and near(.spent_on_ns.outside; 240e6)
$ dpm report trace
first: loop[50] waited for an unmonitored peer (tcp 10.9.9.2:5432

== an event loop before an unmonitored database that has asked for an earlier request: a later one does not wait for that answer
| user   asks 0 -.      asks 1 -.     asks 2 -. .- answered 2                     .- answered 1
| loop           '-asks A ------'-------------'-'----- o ---- for 0 ---- timer ---'
| database                              answers A -----'
outside user at 10.9.9.1
outside database at 10.9.9.2
process loop pid 50
for c in 0 1 2
    tcp u$c: user > loop ports 5100$c,80
    user connects u$c
    loop accepts u$c
end
tcp a: loop > database ports 41001,5432
loop connects a
database accepts a
user sends 30 on u0
loop receives 30 on u0 in epoll_wait
loop sends 20 on a
database receives 20 on a
user idles 20ms
user sends 30 on u1
loop receives 30 on u1 in epoll_wait
user idles 40ms
user sends 30 on u2
loop receives 30 on u2 in epoll_wait
loop sends 60 on u2
database idles 80ms
database sends 50 on a
loop receives 50 on a in epoll_wait
loop sends 60 on u0
loop waits in epoll_wait for 40ms at-most 40ms
loop sends 60 on u1
for c in 0 1 2
    user receives 60 on u$c
end
$ dpm why --requests --json trace
jq: .requests | .count == 3 and near(.spent_on_ns.outside; 80e6 + 20e6) and near(.spent_on_ns.other_connection; 40e6)
