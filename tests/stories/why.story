# Where the elapsed time went (dpm why), and what the report says of it first.

== two sleeps, one after the other: each counts, for its own process
| sh     fork ------.              .-- fork ------.              .--
| nap.1             '-- 200 ms ----'               |              |
| nap.2                                            '-- 100 ms ----'
process sh launched
process nap.1 created by sh
nap.1 sleeps 200ms in clock_nanosleep
nap.1 ends
sh waits for nap.1
process nap.2 created by sh
nap.2 sleeps 100ms in clock_nanosleep
nap.2 ends
sh waits for nap.2
sh ends
$ dpm why --json trace
jq: all(.rows[]; .machine == null)
jq: near(.spent_on_ns.timer; 300e6)
jq: [.rows[] | select(.spent_on == "timer") | .pid] | length == 2 and (unique | length) == 2
jq: ([.rows[].time_ns] | add) == .elapsed_ns and ([.spent_on_ns[]] | add) == .elapsed_ns
jq: .process == "sh" and .pid == 100
$ dpm why trace
says: 300 ms passed from the start of sh[100] to its end
says: 100% 300 ms timer
says: 67% 200 ms 1 nap[101] timer clock_nanosleep
says: 33% 100 ms 1 nap[102] timer clock_nanosleep
says: The parts add up to the elapsed time.
# the trace has the command's start; this part of it does not
$ dpm why --from 50ms trace
says: There is neither a command from its start to its end, nor a request with an answer.
$ dpm why --requests trace
says: There are no requests.

== beside load: what a process that ends takes after its last record is waited for, and known
| make   fork ------ waits ---------------------------.
| sh       '-- 100 ms --| last record -- no CPU 30 ms -'| make is woken at once
process make launched
process sh created by make
sh computes 100ms
sh ends in 30ms
make waits for sh
make ends
$ dpm why --json trace
jq: .spent_on_ns.child > 28.9e6 and .spent_on_ns.no_cpu < 1.1e6 and .spent_on_ns.unknown < 1e3
jq: [.rows[] | select(.spent_on == "child") | [.pid, .system_call]] == [[100, "wait4"]]
$ dpm why trace
says: 29.0 ms 1 make[100] end of a process wait4
says: A process closes its files after its last record, and may lack a CPU meanwhile.
# it was dpm run
never: meter it, too
$ dpm why --process make trace
says: may lack a CPU meanwhile. To know what an unmonitored child did, meter it, too: dpm acquire --descendants, or dpm run.

== beside load: what is no CPU of the parent, is not the child's end
| make   fork ------ waits ------------------ no CPU 20 ms --.
| sh       '-- 100 ms --| last record -- 30 ms -'|
process make launched
process sh created by make
sh computes 100ms
sh ends in 30ms
make waits for sh late 20ms
make ends
$ dpm why --json trace
jq: .spent_on_ns.child > 28.9e6 and .spent_on_ns.no_cpu > 20e6 and .spent_on_ns.no_cpu < 21.1e6 and .spent_on_ns.unknown < 1e3

== beside load: the end of a pipe comes when its sender has ended, though it made its last record before the wait
| curl  SEND --| last record -- no CPU 40 ms --.
| wc       no CPU 10 ms -- RECEIVE, waits -----'-- end of the file
process sh launched
process curl created by sh
process wc created by sh
pipe p: curl > wc
curl computes 20ms
curl sends 1000 on p
curl ends in 40ms
wc receives on p late 10ms
wc finds the end of p
wc ends
sh waits for curl
sh waits for wc
sh ends
$ dpm why --json trace
jq: .spent_on_ns.child > 38e6 and .spent_on_ns.unknown < 1e3
$ dpm why trace
says: 1 wc[102] end of a process

== a sender that frees its memory for long closes its pipe late, and the wait for that began meanwhile
| curl  SEND -- computes 1 s --| last record -- frees memory, 500 ms --.
| wc                       no CPU 200 ms -- RECEIVE, waits -----------'-- end of the file
process sh launched
process curl created by sh
process wc created by sh
pipe p: curl > wc
curl computes 1s
curl sends 1000 on p
curl ends in 500ms
wc receives on p late 200ms
wc finds the end of p
wc ends
sh waits for curl
sh waits for wc
sh ends
$ dpm why --json trace
jq: .spent_on_ns.child > 490e6 and .spent_on_ns.child < 510e6 and .spent_on_ns.unknown < 1e3

== two sleeps at once: only the longer one counts
| sh     fork, fork ----------- waits for both ------.
| nap.1      '-- 100 ms --'                          |
| nap.2      '--------------- 600 ms ----------------'
process sh launched
process nap.1 created by sh
process nap.2 created by sh
nap.1 sleeps 100ms in clock_nanosleep
nap.1 ends
nap.2 sleeps 600ms in clock_nanosleep
nap.2 ends
sh waits for nap.1
sh waits for nap.2
sh ends
$ dpm why --json trace
jq: near(.spent_on_ns.timer; 600e6)
jq: near([.rows[] | select(.spent_on == "timer" and .pid == 102).time_ns] | add; 600e6)
jq: ([.rows[].time_ns] | add) == .elapsed_ns and ([.spent_on_ns[]] | add) == .elapsed_ns

== a server sleeps for each answer: the time is the server's timer, not the client's wait
| client  ask ---.          .--- answered
| server          '-- 40 ms -'              five times
process client launched
process server pid 200 created by client
tcp c: client > server
client connects c
server accepts c
5 times
    client sends 3 on c
    server receives on c
    server sleeps 40ms in clock_nanosleep
    server sends 6 on c
    client receives on c
end
server ends
client waits for server
client ends
$ dpm why --json trace
jq: near(.spent_on_ns.timer; 200e6)
jq: [.rows[] | select(.spent_on == "timer") | .pid] == [200]
jq: ([.rows[].time_ns] | add) == .elapsed_ns and ([.spent_on_ns[]] | add) == .elapsed_ns
$ dpm report trace
first: Time 100% of 200 ms: server[200] slept until a timer ended

== beside load: the run queue of the server is not its timer's
| client  ask ---.                        .--- answered
| server          '-- 40 ms -- no CPU 20 -'              five times
process client launched
process server pid 200 created by client
tcp c: client > server
client connects c
server accepts c
5 times
    client sends 3 on c
    server receives on c
    server sleeps 40ms in clock_nanosleep late 20ms
    server sends 6 on c
    client receives on c
end
server ends
client waits for server
client ends
$ dpm why --json trace
jq: near(.spent_on_ns.timer; 200e6) and near(.spent_on_ns.no_cpu; 100e6)
jq: [.rows[] | select(.spent_on == "no_cpu" and .pid == 200).time_ns] | near(add; 100e6)

== small sends that wait for an acknowledgement are messages in flight (Nagle's algorithm)
| client  head, tail ....(held back 40 ms)....        done
| server       '- head, waits for tail           '- tail -'
process client launched
process server pid 200 created by client
tcp c: client > server latency 40ms
client connects c
server accepts c
10 times
    client sends 4 on c
    server receives on c
    server sends 4 on c
    client receives on c
end
client ends
$ dpm why --json trace
jq: near(.spent_on_ns.in_flight; 800e6) and .spent_on_ns.outside == 0 and .spent_on_ns.unknown == 0

== a program that computes, also with other tasks beside it
| python  == 200 ms of CPU time, no CPU for 100 ms ==
process python3 launched
20 times
    python3 computes 10ms
    python3 lacks a CPU for 5ms
end
python3 ends
$ dpm why --json trace
jq: near(.spent_on_ns.computing; 200e6) and near(.spent_on_ns.no_cpu; 100e6)
$ dpm report trace
first: Time 67% of 300 ms: python3[100] computed. 33%: python3[100] could run, but had no CPU
$ dpm why trace
says: 67% 200 ms computing
says: 33% 100 ms runnable, no CPU
$ dpm why --all trace
says: 67% 200 ms 1 python3[100] computing

== a receive that ends by a timeout of its socket: no peer has caused it
| python3 RECEIVECALL ---- 300 ms, and nothing comes ---- end
process python3 launched
unix-stream pair: python3 > python3
python3 sends 1 on pair.1
python3 receives on pair.2
at 1ms RECEIVECALL stream=python3 connection=pair.2
python3 idles 300ms
python3 ends
$ dpm why --json trace
jq: .spent_on_ns.outside == 0 and .spent_on_ns.unknown >= 290e6
jq: ([.spent_on_ns[]] | add) == .elapsed_ns

== what was not metered is named, with the flag that records it
| sleep    (no BLOCK, no WAKEUP)
machine vm without BLOCK,WAKEUP
process sleep launched
sleep idles 100ms
sleep ends
$ dpm why trace
like: not metered: .*block.*--flags all

== everything is metered: no hint of flags
process sleep launched
sleep sleeps 100ms in clock_nanosleep
sleep ends
$ dpm why trace
never: not metered

== an unmonitored server answers after 200 ms: how to know what it did
| client   connect ---.
| (server)            '--- 200 ms ---- x
process client launched
outside server
tcp c: client > server
client connects c
server idles 200ms
server sends 1 on c
client receives on c
client ends
$ dpm why trace
says: 100% 200 ms
like: 200 ms +1 client\[100\] +(unmonitored peer|waiting for an unmonitored peer|outside)
says: dpm acquire --pid PID

== a send finds the pipe full: the time is that of the receiver, which computes before it takes anything
| writer  SENDCALL ------ no buffer space -------- SEND
| reader           ====== computes 300 ms ===== RECEIVE
process writer launched
process reader pid 200 created by writer
pipe p: writer > reader
16 times
    writer sends 4096 on p
end
writer starts sending 4096 on p with 0 out
reader computes 300ms
reader receives 65536 on p
writer finishes sending on p
reader receives 4096 on p
reader ends
writer waits for reader
writer ends
$ dpm why --json trace
jq: near([.rows[] | select(.pid == 200 and .spent_on == "computing").time_ns] | add; 300e6)
jq: [.waits[] | select(.waited_for == "space" and .pid == 100 and .ended_by_pid == 200 and .longest_ns > 250e6)] != []
jq: ([.rows[].time_ns] | add) == .elapsed_ns and ([.spent_on_ns[]] | add) == .elapsed_ns

== a process that ran before the recording: its beginning is not known
process reader
process writer
pipe p: writer > reader older
writer sends 4 on p
reader receives on p
reader ends
$ dpm why --json trace
jq: .pid == null

== requests of a service whose threads share one lock: 10 ms under it, and two of three wait
| client.1..3    ask ---.                         .--- answered
| serve.1              '== sleeps 10 ms, unlocks -'
| serve.2              '.. lock ............. == 10 ms, unlocks -'
process server pid 200
process client pid 300
for i in 1 2 3
    thread serve.$i of server
    thread ask.$i of client
    tcp c$i: client > server older
end
20 times
    for i in 1 2 3
        ask.$i sends 3 on c$i
        serve.$i receives on c$i
    end
    serve.1 sleeps in futex until serve.3
    serve.1 sleeps 10ms in clock_nanosleep
    serve.2 sleeps in futex until serve.1
    serve.2 sleeps 10ms in clock_nanosleep
    serve.3 sleeps in futex until serve.2
    serve.3 sleeps 10ms in clock_nanosleep
    for i in 1 2 3
        serve.$i sends 2 on c$i
        serve.$i sends 4 on c$i
        ask.$i receives 6 on c$i
        ask.$i idles 1ms
    end
end
$ dpm why --json trace
jq: .requests.count == 60
jq: .requests | ([.rows[].time_ns] | add) == .time_ns and ([.spent_on_ns[]] | add) == .time_ns
jq: .requests.slowest | . as $slowest | reduce .hops[] as $hop (0; if . == $hop.begin_ns then . + $hop.time_ns
    else -1 end) | . == $slowest.time_ns
jq: .requests.spent_on_ns | .lock > 1.8 * .timer and near(.timer; 600e6) and .unknown < 1e6
jq: .waits | map(select(.waited_for == "lock" and .ended_by_pid == 200).count) | add == 59
$ dpm why trace
says: 60 requests took
says: The slowest request, of
like: \|=* *\|.*server
$ dpm why --waits trace
like: server\[200\] serve +lock or condition +futex
$ dpm report trace
first: of the time of 60 requests
first: server[200] (in its threads serve) waited for a lock
$ dpm why nothing
exits: 1
says: nothing

== processes with names of their own need no labels, although each had the name of the shell at first
process sh launched command "sh -c seq | sort"
process seq created by sh named sh command "sh -c seq | sort"
process sort created by sh named sh command "sh -c seq | sort"
seq execs /usr/bin/seq
sort execs /usr/bin/sort
pipe p: seq > sort
seq computes 10ms
seq sends 100 on p
seq closes p
seq ends
sort receives 100 on p
sort finds the end of p
sort computes 20ms
sort ends
sh waits for seq
sh waits for sort
sh ends
$ dpm why --json trace
jq: [.rows[].label // empty] == [] and ([.rows[].name] | unique) == ["seq", "sh", "sort"]
jq: ([.rows[].time_ns] | add) == .elapsed_ns and ([.spent_on_ns[]] | add) == .elapsed_ns

# ---- by the ptrace meter, which records neither when a message arrives nor who ends whose wait ----

== ptrace: two sleeps at once, for which a shell waits by a signal
machine vm ptrace
process sh launched
process nap.1 created by sh
process nap.2 created by sh
nap.1 sleeps 100ms in clock_nanosleep
nap.1 ends
nap.2 sleeps 600ms in clock_nanosleep
nap.2 ends
sh sleeps in rt_sigsuspend until nap.1 ends
sh sleeps in rt_sigsuspend until nap.2 ends
sh ends
$ dpm why --json trace
jq: near(.spent_on_ns.timer; 600e6) and ([.rows[].time_ns] | add) == .elapsed_ns
jq: near([.rows[] | select(.spent_on == "timer" and .pid == 102).time_ns] | add; 600e6)

== ptrace: a server sleeps for each answer
machine vm ptrace
process client launched
process server pid 200 created by client
tcp c: client > server
client connects c
server accepts c
5 times
    client sends 3 on c
    server receives on c
    server sleeps 40ms in clock_nanosleep
    server sends 6 on c
    client receives on c
end
server ends
client waits for server
client ends
$ dpm why --json trace
jq: near(.spent_on_ns.timer; 200e6) and [.rows[] | select(.spent_on == "timer") | .pid] == [200]
jq: ([.rows[].time_ns] | add) == .elapsed_ns and ([.spent_on_ns[]] | add) == .elapsed_ns

== ptrace: a program that computes
machine vm ptrace
process python3 launched
python3 computes 200ms
python3 lacks a CPU for 20ms
python3 ends
$ dpm why --json trace
jq: near(.spent_on_ns.computing; 200e6) and near(.spent_on_ns.no_cpu; 20e6)

== ptrace: a receive that ends by a timeout of its socket
machine vm ptrace
process python3 launched
unix-stream pair: python3 > python3
python3 sends 1 on pair.1
python3 receives on pair.2
at 1ms RECEIVECALL stream=python3 connection=pair.2
python3 idles 300ms
python3 ends
$ dpm why --json trace
jq: .spent_on_ns.outside == 0 and .spent_on_ns.unknown >= 290e6

== ptrace: a send finds the pipe full
machine vm ptrace
process writer launched
process reader pid 200 created by writer
pipe p: writer > reader
16 times
    writer sends 4096 on p
end
writer starts sending 4096 on p with 0 out
reader computes 300ms
reader receives 65536 on p
writer finishes sending on p
reader receives 4096 on p
reader ends
writer waits for reader
writer ends
$ dpm why --json trace
jq: near([.rows[] | select(.pid == 200 and .spent_on == "computing").time_ns] | add; 300e6)
jq: [.waits[] | select(.waited_for == "space" and .pid == 100 and .ended_by_pid == 200)] | length == 1 and .[0].longest_ns > 250e6
jq: ([.rows[].time_ns] | add) == .elapsed_ns and ([.spent_on_ns[]] | add) == .elapsed_ns

== ptrace: what it cannot record is named
machine vm ptrace
process sleep launched
sleep sleeps 100ms in clock_nanosleep
sleep ends
$ dpm why trace
says: these were not metered: wakeup. --flags all and --kinds all record them (with the kernel meter).

== several machines: each process is named with its machine, also if two have one name and number
machine web1 at 10.83.7.1
machine web2 at 10.83.7.2
process client of web1 pid 120 launched
process server of web1 pid 121
process server.2 of web2 pid 121
tcp c: client > server
tcp d: client > server.2
client connects c
server accepts c
client connects d
server.2 accepts d
10 times
    client sends 10 on c
    server receives on c
    server computes 3ms
    server sends 20 on c
    client receives on c
    client sends 10 on d
    server.2 receives on d
    server.2 computes 6ms
    server.2 sends 20 on d
    client receives on d
end
client ends
$ dpm why web1 web2
says: server[121]@web2
says: server[121]@web1
$ dpm why --waits web1 web2
like: client\[120\]@web1 message .*server\[121\]@web2
$ dpm why --json web1 web2
jq: [.rows[] | select(.name == "server") | .machine] | unique == ["web1", "web2"]
jq: [.waits[] | select(.ended_by == "server" and .ended_by_pid == 121) | [.machine, .ended_by_machine]] | unique ==
    [["web1", "web1"], ["web1", "web2"]]
$ dpm path --json web1 web2
jq: [.processes[] | select(.name == "server") | [.pid, .machine]] | sort == [[121, "web1"], [121, "web2"]]
$ dpm path web1 web2
like: server\[121\]@web1
like: client\[120\]@web1 server\[121\]@web2
$ dpm path --folded - web1 web2
like: server\[121\]@web1;
like: server\[121\]@web2;
$ dpm report web1 web2
says: server[121]@web2 (67% of that) and 1 other

== messages one way between two machines, whose clocks nothing compares: the difference of clocks is no time in flight
| producer @web1  == o == o == o ...
| consumer @db1          o == o == o ...       db1's clock: 500 ms ahead
machine web1 at 10.83.7.1
machine db1 at 10.83.7.2 ahead 500ms
process producer pid 100 of web1
process consumer launched of db1
tcp c: producer > consumer older
10 times
    producer computes 50ms
    producer sends 10 on c
    consumer receives on c
end
consumer ends
producer ends
$ dpm why --json web1 db1
jq: .spent_on_ns.in_flight == 0
$ dpm report web1 db1
says: consumer[100]@db1 waited for messages of a machine whose clock nothing compares (tcp 10.83.7.1:*)

== a command on one machine runs later than its messages come, which the kernel does not count: no clock is to blame
| app  asks -.            .- the answer is there .. 275 us .. runs
| db          '-- 100 us -'
process app launched
process db created by app
tcp c: app > db
app connects c
db accepts c
100 times
    app sends 10 on c
    db receives on c
    db computes 100us
    db sends 10 on c
    app waits on c for 400us
    app receives on c
end
app ends
$ dpm why --json trace
jq: .spent_on_ns | .unknown > 25e6 and .unknown < 28e6 and .no_cpu < 2e6
$ dpm report trace
first: app[100] waited longer, or ran later than records explain (tcp 127.0.0.1:80)
never: whose clock nothing compares

== a thread that is awake, and has no CPU for a reason that the kernel does not count: it did not wait for anything
| app  == 100 ms ==  (the host runs another virtual machine)  == 20 ms ==
process app launched
app computes 100ms
app idles 200ms
app computes 20ms
app ends
$ dpm why --json trace
jq: .spent_on_ns | near(.unknown; 199e6)
$ dpm report trace
first: app[100] ran later than records explain.
