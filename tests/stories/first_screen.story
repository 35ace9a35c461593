# Which findings come first, and that no figure exceeds what it is of.

== connections that fail at the same time: the time in which one of them was tried, not their sum
| client.1  connect ---- 2.5 s ---- timed out
| client.2  connect ---- 2.5 s ---- timed out
process client launched
thread second of client created by client
client fails to connect to 10.0.0.9:80 with 110 after 2500ms
second fails to connect to 10.0.0.9:80 with 110 after 2500ms
client idles until 3s
client ends
$ dpm report trace
says: Network client[100] failed to connect to 10.0.0.9:80 2 times (2 timed out), which took 2.50 s of 3.00 s

== a server that waits for its client is idle, and nobody is late; where the time went comes first
| client  computes 100 ms | ask | computes 100 ms | ask
| server                      answers                answers
process client launched
process server pid 200 created by client
tcp c: client > server
client connects c
server accepts c
10 times
    client computes 100ms
    client sends 3 on c
    server receives on c
    server computes 100us
    server sends 6 on c
    client receives on c
end
client ends
$ dpm report trace
first: Time 100% of 1.00 s: client[100] computed.
never: Late
says: client[100] server[200] 10 30 B 100 1.00 s 50.0 us -
$ dpm stats --json trace
jq: [.late_senders[] | [.from, .to]] == [[2, 1]] and .late_receivers == []

== a pipe of tokens: they wait until they are wanted, and nobody is late
process make launched
pipe tokens: make > make
make sends 1 on tokens.1
make sends 1 on tokens.1
make computes 500ms
make receives 1 on tokens.2
make ends
$ dpm report trace
says: make[100] make[100] 2 2 B 100 - 500 ms -
never: Queues

== two workers that take jobs from one pipe: the one without a job is idle, and nobody is late
process pool launched
process worker.1 created by pool
process worker.2 created by pool
pipe jobs: pool > worker.1
pool sends 3 on jobs.1
worker.1 receives 3 on jobs.2
worker.1 computes 500ms
pool idles 400ms
pool sends 3 on jobs.1
worker.2 receives 3 on jobs.2
worker.2 computes 20ms
worker.2 ends
worker.1 ends
pool waits for worker.2
pool waits for worker.1
pool ends
$ dpm report trace
never: Late

== two threads that wait at the same time: the table has the time in which one of them waited, not their sum
process client launched
thread second of client created by client
process server pid 200
tcp a: client > server older ports 51000,80
tcp b: client > server older ports 51001,80
client sends 3 on a
second sends 3 on b
server idles 400ms
server receives 3 on a
server receives 3 on b
server sends 6 on a
server sends 6 on b
client receives 6 on a
second receives 6 on b
second ends
client ends
$ dpm report trace
says: server[200] client[100] 2 12 B 100 400 ms

== of the processes of one name, those of one script belong together, and the one that took most is named
| make       fork ----------------------------------------.
| obj.py a   '== 10 ms ==                                 |
| obj.py b   '== 10 ms ==                                 |
| bundle.py               '========== 60 ms =========-----'
process make launched
for i in a b c
    process obj.$i created by make named python3 command "python3 obj.py $i.c"
    obj.$i computes 10ms
    obj.$i ends
    make waits for obj.$i
end
process bundle created by make named python3 command "python3 bundle.py"
bundle computes 60ms
bundle ends
make waits for bundle
make ends
$ dpm report trace
first: Time 67% of 90.0 ms: python3 bundle.py[104] computed. 33%: 3 python3 obj.py processes computed.

== one worker of a pool that has most to do is named, though all have the same command line
process pool launched
process worker.1 created by pool named python3
worker.1 computes 30ms
worker.1 ends
pool waits for worker.1
process worker.2 created by pool named python3
worker.2 computes 70ms
worker.2 ends
pool waits for worker.2
pool ends
$ dpm report trace
first: Time 100% of 100 ms: python3[102] (70% of that) and 1 other computed

== of the threads of a process, those with most are named: one, and several of one kind
| java       == 10 ms == waits ...
| VM Thread              == 60 ms ==
process java launched
thread vm of java created by java named "VM Thread"
java computes 10ms
vm sleeps in futex until java
vm computes 60ms
java sleeps in futex until vm
java computes 2ms
vm sleeps in futex until java
vm ends
java sleeps in futex until vm ends
java ends
$ dpm report trace
first: java[100] (83% of that in its thread VM Thread) computed

== ... by what is common to their names
process java launched
thread w.1 of java created by java named worker-1
thread w.2 of java created by java named worker-2
java computes 5ms
5 times
    w.1 sleeps in futex until w.2
    w.1 computes 20ms
    w.2 sleeps in futex until w.1
    w.2 computes 20ms
end
w.1 ends
w.2 ends
java sleeps in futex until w.2 ends
java ends
$ dpm report trace
first: java[100] (in its threads worker-*) computed

== a database's process is named by user and database, not by what it does at the moment
process postgres launched pid 400
process backend.1 created by postgres named postgres command "postgres: alice shop 10.0.0.7(40212) UPDATE waiting"
process backend.2 created by postgres named postgres command "postgres: bob books [local] idle"
backend.1 computes 80ms
backend.1 ends
backend.2 computes 10ms
backend.2 ends
postgres waits for backend.1
postgres ends
$ dpm report trace
says: postgres: alice shop[401] computed
never: waiting
never: idle

== what a person can act on comes before what explains less, each by its share of the time
process client launched
process server pid 200 created by client
tcp c: client > server
client connects c
server accepts c
for i in 1 2 3 4 5 6 7 8 9 10
    client sends 3 on c
    server receives on c
    server computes 10ms
    server sends 6 on c
    client receives on c
end
client fails to connect to 10.0.0.9:80 with 110 after 40ms
client ends
$ dpm report --json trace
jq: [.findings[] | select(.aside | not)] | (map(.kind) | index("elapsed") == 0 and index("failed_connections") < index("service_time")) and
    all(.[]; .share == null or (.share >= 0 and .share <= 1))

== procedures are named when the meter has stopped: how long that takes is no part of the recording
| program  == 100 ms ==o                                     |  (the meter names procedures, 2 s)  |
process program launched
program computes 100ms
program ends
at 101ms MODULE module=1 device=8 inode=1001 text=4096 name="/usr/bin/program"
at 101ms PROCEDURE module=1 address=4096 offset=16 name="main"
at 2100ms COST wakeups=20
ends at 2100ms
$ dpm report trace
says: 1 trace, machine vm, 101 ms,
$ dpm stats --json trace
jq: near(.trace.duration_ns; 101e6)

== a recording that goes on when nothing happens lasts until its end
process program launched
program computes 100ms
program ends
ends at 2s
$ dpm report trace
says: 1 trace, machine vm, 2.00 s,

== a server of unmonitored clients waits for their requests: these are no replies, and no client is late
| user    -- 200 ms -- ask -.       .- answered -- 200 ms -- ask ...
| server                    '- 10 ms -'
outside user at 10.0.0.8
process server pid 200
tcp c: user > server
user connects c
server accepts c
10 times
    user idles 200ms
    user sends 3 on c
    server receives on c
    server computes 10ms
    server sends 6 on c
    user receives on c
end
$ dpm report trace
first: Time 100% of the time of 10 requests
never: Late
never: Waits
$ dpm parallelism trace
never: replies from unmonitored peers

== a client waits for replies of an unmonitored server
outside server at 10.0.0.9
process client launched
tcp c: client > server
client connects c
5 times
    client sends 3 on c
    server receives on c
    server idles 100ms
    server sends 6 on c
    client receives on c
    client computes 1ms
end
client ends
$ dpm report trace
says: Waits 501 ms of 506 ms were spent in 5 waits for replies from unmonitored peers

== connections that are refused again and again: what matters is how long the client tried, not what the tries took
| client  connect, refused | 100 ms | connect, refused | 100 ms | ...
process client launched
10 times
    client fails to connect to 10.0.0.9:80 with 111 after 100us
    client idles 100ms
end
client ends
$ dpm report trace
first: Time
says: Network client[100] failed to connect to 10.0.0.9:80 10 times (10 refused) and never succeeded: it tried again for 901 ms of 1.00 s
$ dpm report --json trace
jq: [.findings[] | select(.kind == "failed_connections")] | length == 1 and near(.[0].share; 0.9)

== a connection that succeeds at last: its tries took little
process client launched
outside server at 10.0.0.9
tcp c: client > server
4 times
    client fails to connect to 10.0.0.9:80 with 111 after 100us
    client idles 100ms
end
client connects c
client sends 3 on c
client ends
$ dpm report --all trace
says: Network client[100] failed to connect to 10.0.0.9:80 4 times (4 refused), which took 400 us of
never: never succeeded

== a name with two addresses, the first of which always refuses: the client is connected to the second at once
process client launched
outside server at 10.0.0.8
for N in 1 2 3 4
    tcp c$N: client > server ports 4000$N,5432
    client fails to connect to 10.0.0.9:5432 with 111 after 100us
    client connects c$N
    client sends 3 on c$N
    client computes 100ms
end
client ends
$ dpm report --all trace
says: Network client[100] failed to connect to 10.0.0.9:5432 4 times (4 refused), which took 400 us of
never: never succeeded

== requests that took next to none of the recording: what happened in the rest of it comes first
| broker  answers one CONNECT, then passes on messages to a slow subscriber
process broker pid 200
process slow pid 300
outside user at 10.0.0.8
tcp c: user > broker
tcp s: slow > broker
user connects c
broker accepts c
slow connects s
broker accepts s
user sends 10 on c
broker receives on c
broker computes 100us
broker sends 4 on c
user receives on c
40 times
    broker sends 100 on s
    broker idles 10ms
end
40 times
    slow receives 100 on s
    slow idles 20ms
end
$ dpm report trace
first: Late Messages from broker[200] waited in the receive queue of slow[300]
says: Time 95% of the request's 105 us: broker[200] computed

== a service that a signal ends: the account is that of its requests, not of the thread that happened to end last
| user    -- 50 ms -- ask -.         .- answered ...
| server                    '- 10 ms -'       ... epoll_wait ...| SIGINT
| worker     .... futex ........................................| SIGINT
outside user at 10.0.0.8
process server launched
thread worker of server created by server
tcp c: user > server
user connects c
server accepts c
10 times
    user idles 50ms
    user sends 3 on c
    server receives on c in epoll_wait
    server computes 10ms
    server sends 6 on c
    user receives on c
end
server waits in epoll_wait for 400ms endless
server ends with signal 2
worker sleeps 1100ms in futex
worker ends with signal 2
$ dpm report trace
first: of the time of 10 requests
says: server[100] computed
$ dpm why --json trace
jq: .pid == null and .requests.count == 10

== ... and that of a program that serves nobody ends with its first thread
| app     .... clock_nanosleep ....| SIGINT
| worker  .... futex ...............| SIGINT
process app launched
thread worker of app created by app
app sleeps 1s in clock_nanosleep
app ends with signal 2
worker sleeps 1001ms in futex
worker ends with signal 2
at 1s SIGNAL signal=2 receiver=1 senderPid=0
$ dpm report trace
first: app[100] slept until a signal came (clock_nanosleep: SIGINT from the kernel)

== a job that computes and asks little: how little the requests are of its time, and what the rest of it was
| job       == 90 ms == asks -.         .- answered ...
| database                     '- 10 ms -'
outside database at 10.0.0.9
process job
tcp c: job > database older ports 50000,5432
100 times
    job computes 90ms
    job sends 30 on c
    database receives on c
    database idles 10ms
    database sends 50 on c
    job receives on c
end
$ dpm report trace
like: of the time of 100 requests \(1\.0[0-9] s of (10\.[0-9]|9\.9[0-9]) s; median 10\.[0-9] ms, p99 10\.[0-9] ms\): job\[100\] waited for an unmonitored peer
says: Path job[100] carries
$ dpm report --json trace
jq: [.findings[] | select(.kind == "critical")] | length == 1 and .[0].share > 0.85

== a UNIX socket that nobody listens on, tried each second: it took the time, whatever else the client uses
process client
outside log
unix-stream l: client > log name /run/log.sock
client connects l
30 times
    client fails to connect to /run/mysqld.sock with 111 after 20us
    client sends 20 on l
    client sleeps 1s in nanosleep
end
$ dpm report trace
says: client[100] failed to connect to /run/mysqld.sock 30 times (30 refused) and never succeeded: it tried again for 29.0 s of

== a job that computes, and that asks for many things at once: the time in which it did so, not that of all of them added up
| job       == 900 ms == asks 60 -.         .- all answered ...
| database                        '- 10 ms -'
outside database at 10.0.0.9
process job
for c in 0 1 2 3 4 5 6 7 8 9
    for d in 0 1 2 3 4 5
        tcp c$c$d: job > database ports 50$c$d,5432
        job connects c$c$d
    end
end
10 times
    job computes 900ms
    for c in 0 1 2 3 4 5 6 7 8 9
        for d in 0 1 2 3 4 5
            job sends 30 on c$c$d
        end
    end
    database receives 30 on c95
    database idles 10ms
    for c in 0 1 2 3 4 5 6 7 8 9
        for d in 0 1 2 3 4 5
            database sends 50 on c$c$d
            job receives 50 on c$c$d in epoll_wait
        end
    end
end
$ dpm report trace
like: of the time of 600 requests \([12][0-9]{2} ms of 9\.[0-9]+ s; median
says: Path job[100] carries
