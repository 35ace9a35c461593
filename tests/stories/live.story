# SPDX-License-Identifier: MIT
# Snapshots: `dpm stats --interval --json`, and `dpm top` without a terminal. live_account.py checks those of all stories.

== what processes did and waited for, interval by interval
| client   ask -.                                      .- answered | computes 300 ms ........| ends
| server        '- fdatasync 250 ms -- computes 40 ms -'           |... epoll_wait ..........
process client launched
process server pid 200
tcp c: client > server older ports 40000,80
client sends 10 on c
server receives on c in epoll_wait
server sleeps 250ms in fdatasync on /var/lib/app.wal uninterruptible
server computes 40ms
server sends 20 on c
server waits in epoll_wait for 400ms endless
client receives on c
client computes 300ms
client ends
$ dpm stats --interval 100ms --json trace | jq -s .
jq: length >= 6 and (map(.time.number) == [range(1; length + 1)]) and (map(select(.time.last)) | length) == 1
jq: map(.interval.stands) | unique == [false]
jq: [.[] | .interval.processes[] | select(.name == "server[200]") | .requests.count] | add == 1
# the wait for the disk ends in the third interval: most of it was in the two before, which could not know
jq: .[2].interval.processes[] | select(.name == "server[200]") | .waits_for.kind == "disk" and .waits_for.what == "/var/lib/app.wal" and
    near(.waits_ns.disk; 50e6) and near(.correction_ns; 200e6)
# the client asked at once, and waits for the server, by name, while it goes on
jq: .[1].interval.processes[] | select(.name | startswith("client")) | .waits_for.kind == "in_flight" and .waits_for.what == "server[200]" and
    near(.waits_ns.in_flight; 100e6) and near(.waits_for.since_ns; 200e6)
# what others waited for it
jq: [.[] | .interval.processes[] | select(.name == "server[200]") | .waited_for_ns] | add | near(.; 290e6)
jq: [.[] | .interval.programs[] | .sent.messages] | add == 2
jq: [.[-1].processes[] | .sent.messages] == [1, 1]
# rows are found again by their keys, which pairs have of both ends; so is what they belong to, and what they did in all
jq: map(.interval.processes[] | select(.name == "server[200]") | .key) | unique | length == 1
jq: .[-1].interval as $now | ($now.processes[] | select(.name == "server[200]")) as $server | [$now.pairs[] | select(.to_key == $server.key)] |
    length == 1 and .[0].from_program == "client" and .[0].to_program == $server.program and .[0].to_machine == $server.machine
jq: .[-1].interval | (.pairs | map(.so_far.sent.messages) == [1, 1]) and ([.processes[] | .so_far.requests.count] | add) == 1 and (.programs | map(.so_far.sent.bytes) | add) == 30
$ dpm top --interval 100ms trace
says: PROCESS CPU WAITED REQ/S P99 SENT/S WAITS FOR
says: server[200] 0%+ 100% 0 - 0 (silent)
says: client[100] 0% 0% 0 - 0 message of server[200]
says: server[200] 40% 90% 10 290ms 10 disk: /var/lib/app.wal
says: client[100] 0%+ 0% 0 - 0 (silent)
says: client[100] 100% 0% 0 - 0 (ended)

== a group waits for what its processes wait for together, and what is true of one of them alone is not said of it
| worker.1   fdatasync /a 450 ms | computes ................................|
| worker.2   fdatasync /b 400 ms | naps 300 ms | computes | naps | computes |
| worker.3   fdatasync /c 400 ms | computes ............. | naps | computes |
| reader.1-3 fdatasync /all 300 ms | computes ........... | naps | computes |
| quiet.1-2  fdatasync /all 100 ms | computes ..............................|
process boss launched
process worker.1 created by boss
process worker.2 created by boss
process worker.3 created by boss
worker.1 sleeps 450ms in fdatasync on /a uninterruptible
worker.1 computes 700ms
worker.1 ends
worker.2 sleeps 400ms in fdatasync on /b uninterruptible
worker.2 sleeps 300ms in clock_nanosleep
worker.2 computes 200ms
worker.2 sleeps 50ms in clock_nanosleep
worker.2 computes 300ms
worker.2 ends
worker.3 sleeps 400ms in fdatasync on /c uninterruptible
worker.3 computes 500ms
worker.3 sleeps 50ms in clock_nanosleep
worker.3 computes 300ms
worker.3 ends
for i in 1 2 3
    process reader.$i created by boss
    reader.$i sleeps 300ms in fdatasync on /all uninterruptible
    reader.$i computes 600ms
    reader.$i sleeps 50ms in clock_nanosleep
    reader.$i computes 300ms
    reader.$i ends
end
for i in 1 2
    process quiet.$i created by boss
    quiet.$i sleeps 100ms in fdatasync on /all uninterruptible
    quiet.$i computes 1100ms
    quiet.$i ends
end
boss computes 1300ms
boss ends
$ dpm stats --interval 1s --json trace | jq -s .
jq: .[0].interval.programs[] | select(.name == "worker") | (.is_silent | not) and .waits_for.kind == "disk" and near(.waits_for.time_ns; 1250e6) and
    .waits_for.what == null
# each of them waits for the same file
jq: .[0].interval.programs[] | select(.name == "reader") | (.is_silent | not) and .waits_for.kind == "disk" and .waits_for.what == "/all"
jq: .[0].interval.programs[] | select(.name == "quiet") | .is_silent

== a thread that has made a record shortly before the end of an interval is not silent, although it waited for less
| work  == 240 ms == nap 2 ms == 240 ms == nap 2 ms ... (8 times)
process work launched
8 times
    work computes 240ms
    work sleeps 2ms in nanosleep
end
work ends
$ dpm stats --interval 1s --json trace | jq -s .
jq: .[0].interval.processes[0] | (.is_silent | not) and near(.cpu_ns; 960e6) and .waits_for.kind == "timer" and near(.waits_ns.timer; 8e6) and
    .silent_ns > 20e6
$ dpm top --interval 1s trace
says: work[100]
says: 0% 0 - 0 timer
never: silent

== what lives has a row also when it does nothing: before what has ended
| zoo      starts jobs ... nanosleep 5 s ................
| tick     nanosleep, nanosleep ...
| p1-15    15 jobs of each, which compute 1 ms, and end
process zoo launched
process tick created by zoo
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15
    for k in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15
        process p$i.$k created by zoo
        p$i.$k computes 1ms
        p$i.$k ends
    end
end
10 times
    tick sleeps 500ms in nanosleep
end
tick ends
zoo sleeps 5s in nanosleep
zoo ends
$ dpm stats --interval 1s --json trace | jq -s .
jq: .[2].interval | .other_processes.rows == 27 and any(.processes[]; .name | startswith("zoo"))
$ dpm top --interval 1s trace
says: zoo[100]
says: and 27 more, which have ended

== CPU time counts in the interval in which it was used: what sleeps uses none
| work  ====== 900 ms ======... nanosleep 1 s ...== ends
process work launched
work computes 900ms
work sleeps 1s in nanosleep
work computes 200ms
work ends
$ dpm stats --interval 1s --json trace | jq -s .
jq: .[1].interval.processes[0] | near(.cpu_ns; 900e6) and .cpu_earlier_ns == .cpu_ns and near(.waits_ns.timer; 900e6)
jq: .[2].interval.processes[0] | near(.cpu_ns; 200e6) and near(.cpu_earlier_ns; 100e6)
$ dpm top --interval 1s trace
says: work[100] 0%+ 0% 0 - 0 (silent)
says: work[100] 0% 0% 0 - 0 timer

== what threads do that make no record is not known, whatever the others wait for
| job      ======================== computes 2.5 s ========================
| helper   . nanosleep . nanosleep . nanosleep . nanosleep . nanosleep .
process job launched
thread helper of job created by job
12 times
    helper sleeps 200ms in nanosleep
end
job computes 2500ms
job ends
$ dpm top --interval 1s trace
says: job[100] 0%+ 0% 0 - 0 timer, silent threads
says: job[100] 0%+ 0% 0 - 0 timer, silent threads

== threads without a record have computed only if CPUs of their machine have
| vm       idle ............. | one of two CPUs is used
| job      . nanosleep . nanosleep . nanosleep .
| helper   futex .......................................
process job launched
thread helper of job created by job
at 0s SUMMARY cpuUser=10s cpuSystem=1s cpuIdle=50s
at 900ms SUMMARY cpuUser=10.04s cpuSystem=1s cpuIdle=51.76s
at 1900ms SUMMARY cpuUser=11s cpuSystem=1s cpuIdle=52.8s
helper sleeps 3500ms in futex
18 times
    job sleeps 200ms in nanosleep
end
job ends
$ dpm top --interval 1s trace
says: job[100] 0% 0% 0 - 0 timer
says: job[100] 0%+ 0% 0 - 0 timer, silent threads

== time that no record explains is not for lack of a CPU, unless the scheduler's counts say so
process work launched
process sink
pipe p: work > sink older
work computes 10ms
work idles 500ms
work sends 1 on p
sink receives on p
work lacks a CPU for 40ms
work sends 1 on p
sink receives on p
work ends
$ dpm stats --interval 1s --json trace
jq: .interval.processes[] | select(.name == "work[100]") | near(.waits_ns.unknown; 499e6) and near(.waits_ns.no_cpu; 41e6)

== where delays are reported only when threads end, time that no record explains is for lack of a CPU
machine vm ptrace
process work launched
process sink
pipe p: work > sink older
work computes 10ms
work idles 500ms
work sends 1 on p
sink receives on p
work ends
$ dpm stats --interval 1s --json trace
jq: .interval.processes[] | select(.name == "work[100]") | near(.waits_ns.no_cpu; 500e6) and (.waits_ns.unknown // 0) == 0

== many short times that no record explains are together no more than the scheduler's counts allow
process work launched
process sink
pipe p: work > sink older
100 times
    work idles 500us
    work sends 1 on p
    sink receives on p
end
work ends
$ dpm stats --interval 1s --json trace
jq: .interval.processes[] | select(.name == "work[100]") | near(.waits_ns.unknown; 49e6) and .waits_ns.no_cpu <= 1e6

== an unmonitored client waits while it sends a long request, until it is answered or closed
| client   5 requests, answered   request, in 15 pieces of 200 ms                    request
| server   .. .. .. .. ..         receives them          == 5 s == answers           == 2 s == closes
process server pid 300
outside client at 10.9.9.8
tcp c: client > server older ports 42000,80
5 times
    client sends 10 on c
    server receives on c
    server computes 10ms
    server sends 20 on c
    client receives on c
end
client idles until 500ms
15 times
    client sends 1000 on c
    server receives on c
    client idles 200ms
end
server computes 5s
server sends 20 on c
client receives on c
client sends 10 on c
server receives on c
server computes 2s
server closes c
server sleeps 300ms in nanosleep
$ dpm stats --interval 500ms --json trace | jq -s .
jq: [.[].interval.processes[] | select(.name == "server[300]") | .waited_for_ns] | near(.[4]; 500e6) and near(.[10]; 500e6) and near(add; 9850e6)

== a request of an unmonitored client is open only where clients wait for answers
| shipper  line . line . line . line               (no answers)
| client   ask-answered . ask ---- 1.5 s ---- answered
| sensor   hello-welcome . value . value . value   (no more answers)
process logger pid 200
process server pid 300
process broker pid 400
outside shipper at 10.9.9.9
outside client at 10.9.9.8
outside sensor at 10.9.9.7
tcp l: shipper > logger older ports 41000,514
tcp c: client > server older ports 42000,80
tcp m: sensor > broker older ports 43000,1883
20 times
    shipper idles 200ms
    shipper sends 50 on l
    logger receives on l
end
client sends 10 on c
server receives on c
server computes 10ms
server sends 20 on c
client receives on c
client idles until 500ms
client sends 10 on c
server receives on c
server computes 1500ms
server sends 20 on c
client receives on c
sensor sends 10 on m
broker receives on m
broker sends 2 on m
sensor receives on m
20 times
    sensor idles 200ms
    sensor sends 20 on m
    broker receives on m
end
$ dpm stats --interval 500ms --json trace | jq -s .
jq: [.[].interval.processes[] | select(.name == "logger[200]") | .waited_for_ns] | add == 0
jq: [.[].interval.processes[] | select(.name == "server[300]") | .waited_for_ns] | near(.[0]; 10e6) and near(.[1]; 500e6) and near(.[2]; 500e6) and near(.[3]; 500e6)
jq: [.[3:][].interval.processes[] | select(.name == "broker[400]") | .waited_for_ns] | add == 0

== threads of a machine whose recording has ended wait for nothing that is known
| server at a   .- receives == 3.5 s ==
| client at b   '- waits (b's recording ends)
machine a
process server of a
machine b
process client of b
tcp c: client > server older
client computes 400ms
client sends 10 on c
client waits on c for 1ms
server receives on c
server computes 3500ms
server ends
$ dpm stats --interval 1s --json a b | jq -s .
jq: [.[].interval.processes[] | select(.name | startswith("client")) | .waits_ns.in_flight // 0] | length >= 4 and add < 1e6
jq: .[2].interval.machine_states | map([.name, .ended]) == [["a", false], ["b", true]]
$ dpm top --interval 1s a b
says: b: ended

== a recorder that was killed is gone, although no record says so
machine a
process server of a
machine b
process client of b
tcp c: client > server older
client computes 400ms
client sends 10 on c
client waits on c for 1ms
server receives on c
server computes 3500ms
server ends
ends at 1ms killed
$ dpm top --interval 1s a b
says: b: gone
says: a: gone

== unmonitored peers of one host, or on both sides of a filter, are several
process app
process filter
outside one at 10.9.9.9
outside two at 10.9.9.9
outside writer
outside reader
tcp a: app > one older ports 40001,50051
tcp b: app > two older ports 40002,50052
pipe p: writer > filter older
pipe q: filter > reader older
app sends 10 on a
2 times
    app sends 10 on b
end
writer sends 5 on p
filter receives on p
filter sends 5 on q
$ dpm stats --interval 1s --json trace
jq: [.interval.pairs[] | select(.to | startswith("10.9.9.9:")) | [.to, .sent.messages]] | sort == [["10.9.9.9:50051", 1], ["10.9.9.9:50052", 2]]
jq: .interval.pairs | map(select(.from_program == null) | .from_key) + map(select(.to_program == null) | .to_key) | unique | length == 4

== another pipe between the same processes does not make all messages of their row new
process filter
outside writer
pipe p: writer > filter older
pipe q: writer > filter older
20 times
    writer sends 5 on p
    filter receives on p
end
writer idles until 490ms
writer sends 5 on q
filter idles until 500ms
filter receives on q
filter sleeps 200ms in nanosleep
$ dpm stats --interval 100ms --json trace | jq -s .
jq: [.[].interval.connections[].sent.messages] | add == 21

== another connection of an unmonitored client does not make all of its messages new
process server pid 200
outside client at 10.9.9.9
tcp a: client > server older ports 41234,80
tcp b: client > server older ports 41235,80
20 times
    client sends 10 on a
    server receives on a
    server computes 10ms
    server sends 20 on a
    client receives on a
end
client idles until 500ms
client sends 10 on b
server receives on b
server computes 10ms
server sends 20 on b
client receives on b
server computes 200ms
server sends 20 on b
$ dpm stats --interval 100ms --json trace | jq -s .
jq: [.[].interval.pairs[] | select(.to == "server[200]") | .sent.messages] | add == 21
jq: [.[].interval.pairs[] | select(.from == "server[200]") | .sent.messages] | add == 22
jq: [.[].interval.pairs[] | select(.to == "server[200]") | [.from, .from_key]] | (map(.[0]) | unique) == ["10.9.9.9:*", "10.9.9.9:41234"] and
    (map(.[1]) | unique | length) == 1

== a recorder says now and then what it has cost: that is of all the time since it did so before
process work launched
at 1ms COST cpu=100ms
work computes 6s
at 5s+501ms COST cpu=155ms
work ends
$ dpm stats --interval 1s --json trace | jq -s .
jq: map(.interval.recorder_share) | .[:5] == [null, null, null, null, null] and near(.[5]; 0.01) and .[-1] == .[5]
$ dpm top --interval 1s trace
says: recorder 1.0%

== what recorders of several machines cost is not known until each has said it
machine a
process one of a launched
machine b
process two of b launched
at 1ms COST of a cpu=100ms
at 1s+1ms COST of a cpu=110ms
at 1s+501ms COST of b cpu=50ms
at 2s+501ms COST of b cpu=70ms
one computes 5s
one ends
two computes 5s
two ends
$ dpm stats --interval 1s --json a b | jq -s .
jq: map(.interval.recorder_share) | .[:2] == [null, null] and near(.[2]; 0.03)

== a program's name may hold anything: nothing of it controls a terminal
| \e[2J  ask -.    .- answered
| server      '----'
process client launched named "\e[2Jx"
process server pid 200
tcp c: client > server older ports 40000,80
client sends 10 on c
server receives on c
server computes 40ms
server sends 20 on c
client receives on c
client ends
$ dpm top --interval 10ms trace | od -c | grep -c 033
exits: 1
$ dpm stats --interval 10ms --json trace
jq: .interval.processes | length == 2

== characters that take two columns take two columns
| client   ask -.    .- answered
| server       '----'
process client launched named "abcdefghij"
process server pid 200 named "中文服务器"
tcp c: client > server older ports 40000,80
client sends 10 on c
server receives on c
server computes 40ms
server sends 20 on c
client receives on c
client ends
$ dpm top --interval 1s trace | sed -n 's/\(abcdefghij\|中文服务器\)\[[0-9]*\]\( *[0-9]*%\).*/\2/p' | awk '{ print length }' | uniq -c
says: 2 12

== after selection rules, which may have removed receives, it is not known what waits to be received
| client   o o o o o
| server                 (its receives are not in the trace)
process client pid 100
process server pid 200
tcp c: client > server older
at 0s FLAGS meterFlags=0xffffffffff kindsLeftOut=16 rules=1
5 times
    client sends 10 on c
    client idles 10ms
end
server computes 1ms
$ dpm stats --interval 1h --json trace
jq: [.interval.processes[] | .sent.messages] | add == 5
jq: all(.interval.processes[], .interval.programs[], .interval.connections[]; .queue == {"messages": null, "bytes": null})

== of many rows 200 are kept, and the rest is one
process client launched
for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15
    process a$n named worker
    process b$n named worker
    process c$n named worker
    process d$n named worker
    process e$n named worker
    process f$n named worker
    process g$n named worker
    process h$n named worker
    process i$n named worker
    process j$n named worker
    process k$n named worker
    process l$n named worker
    process m$n named worker
    process n$n named worker
    process o$n named worker
    tcp c$n: client > a$n older
    client sends 10 on c$n
    a$n receives on c$n
end
client ends
$ dpm stats --interval 1h --json trace
jq: (.interval.processes | length) == 200 and .interval.other_processes.rows == 26
jq: ([.interval.processes[].received.messages] | add) + .interval.other_processes.received.messages == 15
jq: (.interval.programs | length) <= 2

== options that do not go together
process client launched
client computes 5ms
client ends
$ dpm stats --interval 1s trace
says: --interval needs --follow, or --json
exits: 2
$ dpm stats --interval 1s --json --by user trace
says: it goes with no other option
exits: 2
$ dpm top --pid 1 trace
exits: 2
says: not both
$ dpm live --listen 0.0.0.0 trace
says: give --token FILE
exits: 2
