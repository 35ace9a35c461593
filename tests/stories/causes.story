# One cause of slowness built into a program: what the report says first, and dpm why in figures.

== make with a slow rule
| make       fork ~ sh ~ sleep 100 ms ~ fork ~ slow-tool 700 ms ~ end
process make launched
process sleep created by make
sleep sleeps 100ms in clock_nanosleep
sleep ends
make waits for sleep
process slow-tool created by make
slow-tool sleeps 700ms in clock_nanosleep
slow-tool ends
make waits for slow-tool
make computes 50ms
make ends
$ dpm report trace
first: Time 82% of 850 ms: slow-tool[102] slept until a timer ended (clock_nanosleep), 1 time. 12%: sleep[101] slept
    until a timer ended (clock_nanosleep), 1 time. 5.9%: make[100] computed.

== a pipeline with a slow stage
| seq      o 200 lines
| python3  '== 3 ms for each ==o
| sort                         '== 10 ==o
process sh launched
process seq created by sh
process python3 created by sh command "python3 stage.py"
process sort created by sh
pipe p: seq > python3
pipe q: python3 > sort
seq computes 2ms
seq sends 900 on p
seq closes p
seq ends
python3 receives 900 on p
python3 computes 600ms
python3 finds the end of p
python3 sends 900 on q
python3 closes q
python3 ends
sort receives 900 on q
sort finds the end of q
sort computes 10ms
sort ends
sh waits for sort
sh ends
$ dpm report trace
first: Time 98% of 612 ms: python3[102] computed.

== threads of a service that sleep with a lock held: it is the sleep, of one after the other
| client 1-3  ask ---.                         .--- answered
| serve.1            '== sleeps 20 ms, unlocks -'
| serve.2            '.. lock ............. == 20 ms, unlocks -'
process python3 launched
process server created by python3
for i in 1 2 3
    process client.$i created by python3
    thread serve.$i of server created by server
    tcp c$i: client.$i > server
    client.$i connects c$i
    serve.$i accepts c$i
end
8 times
    for i in 1 2 3
        client.$i sends 3 on c$i
        serve.$i receives 3 on c$i
    end
    serve.1 sleeps in futex until serve.3
    serve.1 sleeps 20ms in clock_nanosleep
    serve.2 sleeps in futex until serve.1
    serve.2 sleeps 20ms in clock_nanosleep
    serve.3 sleeps in futex until serve.2
    serve.3 sleeps 20ms in clock_nanosleep
    for i in 1 2 3
        serve.$i sends 6 on c$i
        client.$i receives 6 on c$i
    end
end
for i in 1 2 3
    client.$i ends
    serve.$i ends
    server sleeps in futex until serve.$i ends
    python3 waits for client.$i
end
server ends
python3 waits for server
python3 ends
$ dpm report trace
first: Time 100% of 480 ms: server[101] (in its threads serve) slept until a timer ended (clock_nanosleep), 24 times; meanwhile 2 threads waited
    for a lock or condition (futex).

== threads that compute with a lock held: the procedure in which the others wait for it
| thread 1  wait_for_table() == 20 ==         == 20 ==
| thread 2  ~~~~~~~~~~~~~~~~~~~~~~~~~ == 20 ==
process holders launched
for i in 1 2 3 4
    thread holder.$i of holders created by holders named holders
    holder.$i calls wait_for_table
end
3 times
    holder.1 sleeps in futex until holder.4
    holder.1 computes 20ms
    holder.2 sleeps in futex until holder.1
    holder.2 computes 20ms
    holder.3 sleeps in futex until holder.2
    holder.3 computes 20ms
    holder.4 sleeps in futex until holder.3
    holder.4 computes 20ms
end
for i in 1 2 3 4
    holder.$i ends
    holders sleeps in futex until holder.$i ends
end
holders ends
$ dpm report trace
first: Time 100% of 240 ms: holders[100] computed, most of it up to calls from wait_for_table (holders); meanwhile 4 threads
    waited for a lock or condition (futex in wait_for_table (holders)).
$ dpm why --json trace
jq: [.holders[] | select(.spent_on == "computing" and .waiting_threads >= 2 and .waiter_name == "holders" and
    .waiter_procedure == "wait_for_table" and .waiter_system_call == "futex")] | length > 0
$ dpm why trace
like: [0-9.]+% [0-9.]+ ms holders\[100\] .*computing [0-9]+ holders\[100\] futex in wait_for_table

== a thread that keeps the lock and wakes others in vain: these waited for it all the time
| thread 1  == 20 ==wake== 20 ==wake== 20 ==unlock
| thread 2  ~ lock ~~~~~|~~~~~~~~~~~~|~~~~~~~~~~~~~== 10 ==
| thread 3  ~ lock ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~ == 10 ==
process holders launched
for i in 1 2 3 4
    thread holder.$i of holders created by holders named holders
    holder.$i calls wait_for_table
end
3 times
    holder.1 computes 20ms
    holder.2 sleeps in futex until holder.1
end
holder.2 computes 10ms
holder.3 sleeps in futex until holder.2
holder.3 computes 10ms
holder.4 sleeps in futex until holder.3
holder.4 computes 10ms
for i in 1 2 3 4
    holder.$i ends
    holders sleeps in futex until holder.$i ends
end
holders ends
$ dpm report trace
first: Time 100% of 90.0 ms: holders[100] computed
first: meanwhile 3 threads waited for a lock or condition (futex in wait_for_table (holders))
$ dpm why --json trace
jq: [.holders[] | select(.waiter_procedure == "wait_for_table" and .spent_on == "computing").time_ns] | add | near(.; 80e6)

== processes that write into one pipe under a lock: it is the one that computes
| turns.1  o  o  o  ======== 200 ms ========o
| turns.2  ooo  (waits for the lock)
process turns launched
for i in 1 2 3
    process turns.$i created by turns
end
pipe p: turns.1 > turns
for k in 1 2 3
    for i in 1 2 3
        turns.$i computes 1ms
        turns.$i sends 80 on p.1
    end
end
for i in 2 3
    turns.$i computes 1ms
    turns.$i sends 80 on p.1
    turns.$i ends
end
turns.1 computes 200ms
turns.1 sends 80 on p.1
turns.1 ends
12 times
    turns receives 80 on p
end
for i in 1 2 3
    turns waits for turns.$i
end
turns ends
$ dpm report trace
first: turns[101] computed
says: Matched receives: 12 exact.
$ dpm why --json trace
jq: .spent_on_ns | near(.computing; 203e6) and .no_cpu < 1e5 and .unknown == 0

== threads of a JVM that sleep in a synchronized block, beside a VM thread that sleeps for a second and stops the others
| worker-0  sleeps 20, with the monitor
| worker-1  ~~~~~~~~~~~~~~~~~~~~~~~~~~~~ sleeps 20
process java launched
thread vm of java created by java named "VM Thread"
for i in 0 1 2 3
    thread worker.$i of java created by java named worker-$i
end
12 times
    worker.0 sleeps in futex until worker.3
    worker.0 sleeps 20ms in futex limit
    worker.1 sleeps in futex until worker.0
    worker.1 sleeps 20ms in futex limit
    worker.2 sleeps in futex until worker.1
    worker.2 sleeps 20ms in futex limit
    worker.3 sleeps in futex until worker.2
    worker.3 sleeps 20ms in futex limit
end
for i in 0 1 2 3
    worker.$i ends
    java sleeps in futex until worker.$i ends
end
vm sleeps 960ms in futex limit
vm ends
java ends
$ dpm report trace
first: Time 100% of 960 ms: java[100] (in its threads worker-*) waited until the time limit of its call (futex), 48 times; meanwhile other threads waited for a
    monitor, lock or condition (futex).

== threads of a JVM that compute in a synchronized block: the VM thread's own sleep is not what they wait for
| worker-0   == 20 == unlock
| worker-1   ~~~~~~~~~~~~~~~== 20 ==      == 20 ==
| VM Thread  ~~~ futex, 1 s at most ~~~=o stops and resumes the one that computes
process java launched
thread vm of java created by java named "VM Thread"
for i in 0 1 2 3
    thread worker.$i of java created by java named worker-$i
end
13 times
    worker.0 sleeps in futex until worker.3
    worker.0 computes 20ms
    worker.1 sleeps in futex until worker.0
    worker.1 computes 20ms
    worker.2 sleeps in futex until worker.1
    worker.2 computes 20ms
    worker.3 sleeps in futex until worker.2
    worker.3 computes 20ms
end
vm sleeps 1s in futex limit
vm computes 41ms
worker.3 sleeps in futex until vm
worker.3 computes 20ms
for i in 0 1 2 3
    worker.$i ends
    java sleeps in futex until worker.$i ends
end
vm ends
java ends
$ dpm report trace
first: java[100] (96% of that in its threads worker-*) computed; meanwhile other threads waited for a monitor, lock or
    condition (futex).
$ dpm why --json trace
jq: .elapsed_ns as $elapsed | [.rows[] | select(.spent_on == "computing" and .thread == "worker-*").time_ns] | add / $elapsed > 0.95
jq: .spent_on_ns.unknown <= 0.01 * .elapsed_ns and .spent_on_ns.timer == 0

== an event loop that computes for each fourth request
| node   client: ask --- server: == 1 ms, or 80 == answer --- client
process node launched
tcp c: node > node ports 41000,8000
node connects c.1
node accepts c.2
10 times
    for work in 1ms 1ms 1ms 80ms
        node sends 3 on c.1
        node receives 3 on c.2 in epoll_wait
        node computes $work
        node sends 6 on c.2
        node receives 6 on c.1 in epoll_wait
    end
end
node ends
$ dpm report trace
first: Time 100% of 831 ms: node[100] computed.

== a cgroup with a CPU limit: it could run, but had no CPU
| python3  == 25 ==(throttled 75)== 25 ==(throttled 75) ...
process python3 launched cgroup 77
at 0ms NAME number=77 kind=2 name=/system.slice/limited
at 0ms CGROUP cgroup=77 cpu=0 quota=25ms period=100ms periods=0 throttledPeriods=0 throttled=0
10 times
    python3 computes 25ms
    python3 lacks a CPU for 75ms
end
at 1s CGROUP cgroup=77 cpu=250ms quota=25ms period=100ms periods=10 throttledPeriods=10 throttled=750ms
python3 ends
$ dpm report trace
first: Time 75% of 1.00 s: python3[100] could run, but had no CPU. 25%: python3[100] computed.
says: /system.slice/limited used up its CPU limit (0.25 CPUs) in 100% of its periods
