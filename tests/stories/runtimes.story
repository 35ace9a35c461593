# SPDX-License-Identifier: MIT
# Waits that are the affair of a language's runtime: Go, Python, Java, Node.

== Go: a thread without a goroutine does not wait for a lock
| m1     o request |.. futex in runtime.futexsleep ....| == 1 == o answer
| m2     =========== computes 10 ms, for another goroutine ==o wakes m1
process srv pid 200 program /opt/srv
thread m2 of srv
outside client at 10.0.0.9
tcp c: client > srv ports 40001,80
srv accepts c
srv calls runtime.futexsleep
client sends 10 on c
10 times
    srv receives on c
    m2 computes 10ms
    srv sleeps in futex until m2
    srv computes 1ms
    srv sends 100 on c
    client receives on c
    client sends 10 on c
end
$ dpm report trace
first: srv[200] had no goroutine to run (no record shows what these wait for) (futex in runtime.futexsleep (srv)), 10 times
never: waited for a lock
$ dpm why --waits trace
like: work \(idle thread\) +futex in runtime.futexsleep \(srv\) +srv
$ dpm why --requests --json trace
jq: .requests.spent_on_ns | .idle > 85e6 and .lock == 0

== Go: its poll, and the sleeps of its scheduler, are no events or timers of the program; a poll's time limit is
process srv pid 200 program /opt/srv
outside client at 10.0.0.9
tcp c: client > srv ports 40001,80
srv accepts c
client sends 10 on c
5 times
    srv receives on c
    srv calls runtime.usleep
    srv sleeps 1ms in nanosleep
    srv calls syscall.RawSyscall6
    srv waits in epoll_pwait for 4ms
    srv calls runtime.netpoll
    srv waits in epoll_pwait for 3ms at-most 3ms
    srv sends 100 on c
    client receives on c
    client sends 10 on c
end
$ dpm why --requests --json trace
jq: .requests.spent_on_ns | .idle >= 24e6 and .event == 0 and near(.timer; 15e6)

== Go: a poll by epoll_pwait2 until its time limit is for a timer, too
process srv pid 200 program /opt/srv
outside client at 10.0.0.9
tcp c: client > srv ports 40001,80
srv accepts c
client sends 10 on c
5 times
    srv receives on c
    srv calls runtime.netpoll
    srv waits in epoll_pwait2 for 3ms at-most 3ms
    srv sends 100 on c
    client receives on c
    client sends 10 on c
end
$ dpm why --requests --json trace
jq: .requests.spent_on_ns | near(.timer; 15e6)

== Go: the way out of runtime.futex is not found, so its wait has no procedure; other waits show that the process is one of Go
process srv pid 200 program /opt/srv
thread m2 of srv
outside client at 10.0.0.9
tcp c: client > srv ports 40001,80
srv accepts c
m2 calls runtime.usleep
m2 sleeps 1ms in nanosleep
srv calls runtime.futex of /opt/srv
client sends 10 on c
5 times
    srv receives on c
    m2 computes 10ms
    srv sleeps in futex until m2
    srv computes 1ms
    srv sends 100 on c
    client receives on c
    client sends 10 on c
end
$ dpm why --requests --json trace
jq: .requests.spent_on_ns | .idle > 40e6 and .lock == 0

== Python: the interpreter lock, by the procedure that takes it
| other   ================ computes ===============o releases
| server  o request |- futex 5 ms -|- futex 5 ms -|- futex 1 ms -| == 1 == o answer
process server pid 200 program /usr/bin/python3.11
thread other of server
outside client at 10.0.0.9
tcp c: client > server ports 40001,80
server accepts c
server calls take_gil
other calls _PyEval_EvalFrameDefault
client sends 10 on c
server receives on c
2 times
    server sleeps 5ms in futex limit
end
other idles until 10ms
other computes 1ms
server sleeps in futex until other
server computes 1ms
server sends 100 on c
client receives on c
client sends 10 on c
server receives on c
server sends 100 on c
$ dpm why --requests --json trace
jq: .requests.spent_on_ns | .interpreter_lock > 10.8e6 and .lock == 0 and .time_limit == 0 and .timer == 0
$ dpm report trace
first: server[200] waited for Python's interpreter lock (GIL) (futex in take_gil (python3.11)), 3 times.
says: Patterns Threads of server[200] waited for Python's interpreter lock (GIL) for
says: of the time of the requests, while another one of its threads had it. Its thread 201 released it after 100% of these waits. Processes instead of threads would save at most that, and what other messages waited meanwhile.

== Python: a compiler's name for it; another lock of Python's is none
process server pid 200 program /usr/bin/python3.11
thread other of server
outside client at 10.0.0.9
tcp c: client > server ports 40001,80
server accepts c
client sends 10 on c
server receives on c
server calls take_gil.lto_priv.0
server sleeps 5ms in futex limit
server calls PyThread_acquire_lock_timed
server sleeps 5ms in futex limit
server sleeps 5ms in futex limit
server computes 1ms
server sends 100 on c
client receives on c
client sends 10 on c
server receives on c
server sends 100 on c
$ dpm why --requests --json trace
jq: .requests.spent_on_ns | near(.interpreter_lock; 5e6) and near(.time_limit; 10e6)

== Python in a shared library: the procedure is not known, but it waits for 5 ms at a time
process server pid 200 program /usr/local/bin/python3.12
thread other of server
outside client at 10.0.0.9
tcp c: client > server ports 40001,80
server accepts c
client sends 10 on c
server receives on c
2 times
    server sleeps 5100us in futex limit
end
other idles until 10ms
other computes 1ms
server sleeps in futex until other
server computes 1ms
server sends 100 on c
client receives on c
client sends 10 on c
server receives on c
server sleeps 20ms in futex limit
server sends 100 on c
client receives on c
client sends 10 on c
server receives on c
server sends 100 on c
$ dpm why --requests --json trace
jq: .requests.spent_on_ns | near(.interpreter_lock; 5.1e6) and .lock > 5.1e6 and .lock < 6.1e6 and near(.time_limit; 20e6)
$ dpm report trace
says: server[200] waited, most likely, for Python's interpreter lock (GIL), 5 ms at a time (futex)
says: Threads of server[200] waited, most likely, for Python's interpreter lock (GIL) for

== Python in a shared library: a program that polls a lock of its own every 5 ms
process server pid 200 program /usr/local/bin/python3.12
outside client at 10.0.0.9
tcp c: client > server ports 40001,80
server accepts c
client sends 10 on c
server receives on c
20 times
    server sleeps 5100us in futex limit
end
server sends 100 on c
client receives on c
$ dpm why --requests --json trace
jq: .requests.spent_on_ns | .interpreter_lock == 0 and near(.time_limit; 102e6)

== Python in a shared library: a wait of another length before one that a thread ends is for a lock of the program
process server pid 200 program /usr/local/bin/python3.12
thread other of server
outside client at 10.0.0.9
tcp c: client > server ports 40001,80
server accepts c
client sends 10 on c
server receives on c
server sleeps 20ms in futex limit
other idles until 25ms
other computes 1ms
server sleeps in futex until other
server computes 1ms
server sends 100 on c
client receives on c
client sends 10 on c
server receives on c
server sends 100 on c
$ dpm why --requests --json trace
jq: .requests.spent_on_ns | .interpreter_lock == 0 and near(.lock; 25.9e6)

== Python: the next question waits while the server, which has answered, waits for the interpreter lock in its send
| client  ask -- answered, ask . . . . . . . . . . . .  answered
| server  o == SEND o |- take_gil 5 ms -|- 5 ms -|  o RECEIVE o SEND
process client pid 100
process server pid 200 program /usr/bin/python3.11
thread other of server
tcp c: client > server ports 40001,80
client connects c
server accepts c
server calls take_gil
5 times
    client sends 10 on c
    server receives on c
    server sends 100 on c
    client receives on c
    client sends 10 on c
    server sleeps 5ms in futex limit
    server sleeps 5ms in futex limit
    server receives on c
    server sends 100 on c
    client receives on c
end
$ dpm why --requests --json trace
jq: .requests.spent_on_ns | .interpreter_lock > 45e6 and .queued < 5e6

== a JVM that collects garbage with threads for that: its share of the run
| main        == 4 == |... waits ...............................| == 4 ==
| VM Thread           |.. waits for collectors ....|= 1 =o resumes
| GC Thread#0         ======= 15 ms ===============o
process java launched
thread vm of java created by java named "VM Thread"
thread gc of java created by java named "GC Thread#0"
10 times
    java computes 4ms
    gc sleeps in futex until java
    gc computes 15ms
    vm sleeps in futex until gc
    vm computes 1ms
    java sleeps in futex until vm
end
gc ends
vm ends
java ends
$ dpm report trace
says: Patterns java[100] stopped its other threads for 80% of 200 ms (160 ms, of which it computed for 160 ms and had no CPU for the rest); it collected garbage. A larger heap (-Xmx), or fewer objects, would save at most that.
never: waited for a
$ dpm why --waits trace
like: java\[100\] GC Thread#0 +work \(idle thread\) +futex
$ dpm report --json trace
jq: [.findings[] | select(.kind == "jvm_stop")] | length == 1 and near(.[0].share; 0.8)

== a JVM with the serial collector: the VM Thread alone
process java launched
thread vm of java created by java named "VM Thread"
10 times
    java computes 4ms
    vm sleeps in futex until java
    vm computes 16ms
    java sleeps in futex until vm
end
vm ends
java ends
$ dpm report trace
says: java[100] stopped its other threads for 80% of 200 ms
says: most likely it collected garbage: it has no other threads for that (the serial collector). A larger heap

== a JVM whose own probes show what it stopped its threads for
| main        == 4 == |... waits ..............| == 4 ==
| VM Thread           [ safepoint ( collection ) ]
process java launched
thread vm of java created by java named "VM Thread"
10 times
    java computes 4ms
    vm sleeps in futex until java
    vm computes 16ms
    java sleeps in futex until vm
end
vm ends
java ends
at 4ms SENSOR sensor=65539 stream=vm
at 5ms SENSOR sensor=65537 stream=vm
at 17ms SENSOR sensor=65538 stream=vm
at 20ms SENSOR sensor=65540 stream=vm
at 24ms SENSOR sensor=65539 stream=vm
at 26ms SENSOR sensor=65537 stream=vm
at 27ms SENSOR sensor=65538 stream=vm
at 28ms SENSOR sensor=65540 stream=vm
$ dpm report trace
says: java[100] stopped its other threads for 80% of 200 ms (160 ms, of which it computed for 160 ms and had no CPU for the rest); its own probes show that it collected garbage 2 times in the recording, for 13.0 ms in all, up to 12.0 ms at a time; all else took 7.00 ms. A larger heap (-Xmx), or fewer objects, would save at most that.
never: most likely
never: stopped its threads to collect
$ dpm dump trace
says: hotspot:gc__begin
says: hs_private:safepoint__end

== a JVM whose probes show stops, but no collection
process java launched
thread vm of java created by java named "VM Thread"
10 times
    java computes 4ms
    vm sleeps in futex until java
    vm computes 16ms
    java sleeps in futex until vm
end
vm ends
java ends
at 4ms SENSOR sensor=65539 stream=vm
at 20ms SENSOR sensor=65540 stream=vm
$ dpm report trace
says: its own probes show no collection of garbage, but other stops (java -Xlog:safepoint shows which). Without them it would save at most that.
never: collected garbage

== a collection during which far more messages come than are kept one by one
| java     RECEIVE o        [ 39 ms ]           RECEIVE o
| client                     300 messages
process client pid 300
process java pid 200
tcp c: client > java ports 40001,80
client connects c
java accepts c
client sends 1 on c
java receives on c
client idles until 30ms
300 times
    client sends 1 on c
end
java idles until 60ms
java receives 300 on c
at 20ms SENSOR sensor=65537 stream=java
at 59ms SENSOR sensor=65538 stream=java
$ dpm report trace
says: up to 39.0 ms at a time, while up to 300 messages came and had to wait.

== collections that no account shows: the probes alone, and what came meanwhile
| java        RECEIVE o SEND        [ 40 ms ]      it has no thread with a JVM's name
| client                         o     o
process client pid 300
process other pid 301
process java pid 200
tcp c: client > java ports 40001,80
tcp d: other > java ports 40002,80
client connects c
java accepts c
other connects d
java accepts d
client sends 1 on c
java receives on c
other sends 1 on d
java receives on d
client idles until 30ms
other idles until 35ms
client sends 1 on c
other sends 1 on d
java idles until 60ms
java receives on c
java receives on d
at 12ms SENSOR sensor=65538 stream=java
at 20ms SENSOR sensor=65537 stream=java
at 59ms SENSOR sensor=65538 stream=java
at 60ms SENSOR sensor=65537 stream=java
$ dpm report trace
says: Stopped java[200] stopped its threads to collect garbage, as its own probes show: 1 time, for 39.0 ms in all
says: up to 39.0 ms at a time, while up to 2 messages came and had to wait. A larger heap (-Xmx), fewer objects, or another collector would help.
$ dpm report --json trace
jq: [.findings[] | select(.kind == "collections")] | length == 1

== a user's sensor with a small number says nothing of a JVM
process java launched
java computes 10ms
java ends
at 2ms SENSOR sensor=1 value=3 stream=java
at 8ms SENSOR sensor=2 value=4 stream=java
$ dpm report trace
never: garbage
$ dpm dump trace
says: sensor 1: 3

== a program in C whose thread has the name of a collector's is no JVM
process app launched
thread gc of app created by app named "GC Thread#0"
10 times
    app computes 4ms
    gc sleeps in futex until app
    gc computes 16ms
    app sleeps in futex until gc
end
gc ends
app ends
$ dpm report trace
never: stopped its other threads
$ dpm why --waits trace
never: idle thread

== a JVM that begins while its machine is busy: its collector has no CPU at first, and stops nothing
| java         == 100 ms ==|.. waits until it has begun ..|== 50 ms ==
| GC Thread#0              ~~~ 40 ms without a CPU ~~~=o
process java launched
thread vm of java created by java named "VM Thread"
vm computes 100us
vm sleeps 1ms in futex
thread gc of java created by java named "GC Thread#0"
java computes 100ms
gc idles 100ms
gc lacks a CPU for 40ms
gc computes 200us
java sleeps in futex until gc
java computes 50ms
gc sleeps in futex until java
gc ends
vm ends
java ends
$ dpm report trace
never: stopped its other threads

== requests to a JVM, while the VM Thread stops the thread that has them
| worker     o request |... stopped .........| = 1 = o answer
| VM Thread  =========== 9 ms ===============o resumes
process java pid 200
thread vm of java named "VM Thread"
outside client at 10.0.0.9
tcp c: client > java ports 40001,80
java accepts c
client sends 10 on c
10 times
    java receives on c
    vm computes 9ms
    java sleeps in futex until vm
    java computes 1ms
    java sends 100 on c
    client receives on c
    client sends 10 on c
end
$ dpm report trace
first: java[200] was stopped by its JVM, to collect garbage or for another safepoint (futex), 10 times
says: it collected garbage, or did something else that needs a safepoint (java -Xlog:gc,safepoint shows which)
never: waited for a lock
$ dpm why --requests --json trace
jq: .requests.spent_on_ns | .vm_stop > 70e6 and .lock == 0

== Node: threads of libuv's pool wait for work, the first one for a condition
process node pid 200 program /usr/bin/node
thread uv of node
thread v8 of node
outside client at 10.0.0.9
tcp c: client > node ports 40001,80
node accepts c
client sends 10 on c
node receives on c
node sends 10 on c
uv calls uv_cond_wait
node calls uv_cond_wait
2 times
    node computes 10ms
    uv sleeps in futex until node
    uv computes 5ms
    node sleeps in futex until uv
end
$ dpm why --waits trace
like: node\[200\] +lock or condition +futex in uv_cond_wait
like: node\[200\] uv +work \(idle thread\) +futex in uv_cond_wait

== a loop that computes beside others: how long that took by the clock, and how long messages waited for it
| node      RECEIVE o== 50 ==.. no CPU 50 ..==o SEND, RECEIVE ...
| clients         o  o  their messages wait for 100 ms and less
process node launched
for i in 1 2 3
    process client.$i created by node
    tcp c$i: client.$i > node ports 4100$i,8000
    client.$i connects c$i
    node accepts c$i
end
for i in 1 2 3
    client.$i sends 1 on c$i
    node receives 1 on c$i
    node sends 1 on c$i
    client.$i receives 1 on c$i
end
4 times
    for i in 1 2 3
        client.$i sends 1 on c$i
    end
    node receives 1 on c1 in epoll_wait
    node computes 50ms
    node lacks a CPU for 50ms
    node sends 1 on c1
    for i in 2 3
        node receives 1 on c$i
        node computes 1ms
        node sends 1 on c$i
    end
    for i in 1 2 3
        client.$i receives 1 on c$i
        client.$i sleeps 5ms in nanosleep
    end
end
for i in 1 2 3
    client.$i ends
    node waits for client.$i
end
node ends
$ dpm report trace
says: node[100] computed up to 50.0 ms at a stretch (up to 100 ms with waits for a CPU) while up to 2 messages came and had to wait
says: 98.5 ms on average: 3 times, 150 ms
