# What a wait was for, by its own name: docs/waits.md. A BLOCK says which call, and on what; the record after it, which connection.

== a call names what it waits for: each kind, with its object
| program |timerfd 10|eventfd 20|inotify 30|signalfd 40|flock 50|fcntl 60|FIFO 70|queue 80|semaphore 90|terminal 100|file 110| == 5 ==
process program launched
program sleeps 10ms in read on [timerfd]
program sleeps 20ms in read on [eventfd]
program sleeps 30ms in read on anonymous:inotify
program sleeps 40ms in read on [signalfd]
program sleeps 50ms in flock on /run/lock/app
program sleeps 60ms in fcntl on /var/lib/app.db
program sleeps 70ms in openat on opened:/run/app.fifo
program sleeps 80ms in msgrcv on queue:3
program sleeps 90ms in semop on semaphore:7
program sleeps 100ms in read on device:/dev/pts/1
program sleeps 110ms in fdatasync on /var/lib/app.wal uninterruptible
program sleeps 120ms in read on /var/lib/app.db uninterruptible
program computes 5ms
program ends
$ dpm why --json trace
jq: [.rows[] | select(.system_call) | "\(.time_ns / 1e6 | round) \(.spent_on) \(.system_call) \(.waited_on)"] | sort_by(split(" ")[0] | tonumber) ==
    ["10 timer read timerfd", "20 notification read eventfd", "30 notification read inotify", "40 signal read signalfd",
     "50 file_lock flock /run/lock/app", "60 file_lock fcntl /var/lib/app.db", "70 open openat /run/app.fifo",
     "80 message_queue msgrcv message queue 3", "90 lock semop semaphore 7", "100 input read /dev/pts/1",
     "110 disk fdatasync /var/lib/app.wal", "120 disk read /var/lib/app.db"]
jq: ([.rows[].time_ns] | add) == .elapsed_ns
$ dpm why trace
says: 70.0 ms     1 program[100] opening          openat of /run/app.fifo
says: 50.0 ms     1 program[100] file lock        flock on /run/lock/app
$ dpm dump --type block trace
says: asleep 50.0 ms in flock on /run/lock/app, task state 0x1
$ dpm dump --json --type block trace
jq: .waited_on // "none" | type == "string"
$ dpm report trace
says: Time 15% of 785 ms: program[100] waited for the disk (read on /var/lib/app.db), 1 time.

== a lock on a file: the one that holds it is what the time went to
| holder  ==== computes 100 ms with the lock ====o unlocks
| waiter  |......... flock on /run/lock/app .....|== 5 ==
process holder launched
process waiter created by holder
holder computes 100ms
waiter sleeps in flock until holder on /run/lock/app
waiter computes 5ms
waiter ends
holder waits for waiter
holder ends
$ dpm why --json trace
jq: near(.spent_on_ns.computing; 105e6) and .spent_on_ns.file_lock == 0
$ dpm why --waits --json trace
jq: [.waits[] | select(.waited_for == "file_lock") | "\(.name) \(.waited_on) \(.ended_by)"] == ["waiter /run/lock/app holder"]

== a call that creates a process waits until that has begun another program, not for the disk
| program |.. vfork 30 ..|== 5 ==
process program launched
program sleeps 30ms in vfork uninterruptible
program computes 5ms
program ends
$ dpm why --json trace
jq: .spent_on_ns | near(.child; 30e6) and .disk == 0
$ dpm report trace
says: program[100] waited for a process to begin its program (vfork)

== a sleep that a signal ends: no timer did
| sleep ..... clock_nanosleep ..... SIGINT
process sleep launched
sleep sleeps 5s in clock_nanosleep
sleep ends with signal 2
at 5s SIGNAL signal=2 receiver=1 senderPid=0
$ dpm report trace
says: sleep[100] slept until a signal came (clock_nanosleep: SIGINT from the kernel)

== a real-time signal has no name
process sleep launched
sleep sleeps 5s in clock_nanosleep
sleep ends with signal 34
at 5s SIGNAL signal=34 receiver=1 senderPid=0
$ dpm report trace
says: sleep[100] slept until a signal came (clock_nanosleep: signal 34 from the kernel)

== a signal that is ignored, of a child that ends: one that does not end the sleep
process parent launched
parent sleeps 2s in clock_nanosleep
parent ends
at 1999900us SIGNAL signal=17 result=1 receiver=1 senderPid=101
$ dpm report trace
says: parent[100] slept until a timer ended (clock_nanosleep)

== a signal that is blocked: the sleep goes on
process parent launched
parent sleeps 2s in clock_nanosleep
parent ends
at 1s SIGNAL signal=15 receiver=1 senderPid=101
$ dpm report trace
says: parent[100] slept until a timer ended (clock_nanosleep)

== a wait for the file lock of a metered process that a signal ends: no unmonitored one holds it
| waiter  .... flock .... SIGALRM
process waiter launched
waiter sleeps 2s in flock on /run/lock/app
waiter ends with signal 14
at 2s SIGNAL signal=14 receiver=1 senderPid=0
$ dpm report trace
says: waiter[100] waited for a file lock until a signal came (flock
never: unmonitored

== a wait for any of several connections that a signal ends: a record explains it
| server  .... epoll_wait .... SIGINT
process server launched
server waits in epoll_wait for 5s endless
server ends with signal 2
at 5s SIGNAL signal=2 receiver=1 senderPid=0
$ dpm report trace
says: server[100] waited until a signal came (epoll_wait: SIGINT from the kernel)
never: no record explains

== ... and that the program handles for a while: the signal came before that
| server  .... epoll_wait .... SIGTERM == 20 ms ==
process server launched
server waits in epoll_wait for 5s endless
server computes 20ms
server ends
at 5s SIGNAL signal=15 receiver=1 senderPid=0
$ dpm report trace
says: server[100] waited until a signal came (epoll_wait: SIGTERM from the kernel)

== ... and a wait for one connection
| server  -- accepts -- .... recv .... SIGTERM
process server launched
outside user at 10.0.0.8
tcp c: user > server
user connects c
server accepts c
server waits on c for 5s
server ends with signal 15
at 5s SIGNAL signal=15 receiver=1 senderPid=0
$ dpm report trace
says: server[100] waited until a signal came
never: no record says

== what is left of a sleep after a stop is a restart_syscall: no record says of which call, and none was input
| sleep  .. nanosleep ..|(stopped)|.. restart_syscall ..
process sleep launched
sleep sleeps 1s in nanosleep
sleep is stopped for 500ms
sleep sleeps 3s in restart_syscall
sleep ends
$ dpm why --json trace
jq: .spent_on_ns | .input == 0 and near(.unknown; 3e9)
$ dpm report trace
first: sleep[100] waited; no record says for what (restart_syscall)

== two processes were stopped, one of them for next to nothing: the other one is named alone
| sh     .... waits ..........| .. waits ..|
| job.1  (stopped for 1 s)----'
| job.2                          (2 ms)----'
process sh launched
process job.1 created by sh
job.1 is stopped for 1s
job.1 ends
sh waits for job.1
process job.2 created by sh
job.2 is stopped for 2ms
job.2 ends
sh waits for job.2
sh ends
$ dpm report trace
says: job[101] was stopped by a signal, 2 times.

== two processes wait until their time limits, one after the other
process sh launched
for N in 1 2
    process gunicorn.$N created by sh
    gunicorn.$N sleeps 100ms in futex limit
    gunicorn.$N ends
    sh waits for gunicorn.$N
end
sh ends
$ dpm report trace
says: 2 gunicorn processes waited until the time limits of their calls (futex), 2 times.

# ---- answers ----

== a name server that does not answer: the datagram to it had no answer within the time limit
| client  o query -> 10.0.0.53     |.... poll, 1 s at most ....| o query -> 10.0.0.54 ... o answer
process client launched
outside dead at 10.0.0.53
outside good at 10.0.0.54
udp q1: client > dead ports 40001,53
udp q2: client > good ports 40002,53
client computes 2ms
client sends 33 on q1
client waits in poll for 1s at-most 1s only q1
client sends 33 on q2
good receives on q2
good sends 49 on q2
client receives on q2 in poll
client computes 2ms
client ends
$ dpm why --json trace
jq: near(.spent_on_ns.no_answer; 1e9) and .spent_on_ns.event == 0 and .spent_on_ns.timer == 0
jq: [.rows[] | select(.spent_on == "no_answer") | "\(.kind) \(.address)"] == ["udp 10.0.0.53:53"]
$ dpm report trace
first: client[100] waited 1.00 s for an answer that did not come (udp 10.0.0.53:53), 1 time.

== the same with a silent server that is metered
| client  o query |.... poll, 1 s at most ....|
| server   '-> o receives
process server
process client launched
udp q: client > server ports 40001,53
client sends 33 on q
server receives on q
client waits in poll for 1s at-most 1s only q
client sleeps 5ms in nanosleep
client ends
$ dpm why --json trace
jq: near(.spent_on_ns.no_answer; 1e9) and .spent_on_ns.event == 0

== a time limit of the socket itself: a receive that gives up
| client  o query |.... recvfrom (SO_RCVTIMEO 1 s) ....| o query again
process client launched
outside dead at 10.0.0.53
udp q: client > dead ports 40001,53
client sends 33 on q
client waits on q for 1s
client sends 33 on q
client computes 5ms
client ends
$ dpm why --json trace
jq: near(.spent_on_ns.no_answer; 1e9) and .spent_on_ns.unknown == 0 and .spent_on_ns.outside == 0

== an event loop whose time limit passes slept for that time, although it has asked something
| loop  o subscribes |.... epoll_wait, 100 ms at most ....| == 1 ==
process loop launched
outside broker at 10.0.0.9
tcp c: loop > broker ports 40001,1883
loop connects c
loop sends 33 on c
loop waits in epoll_wait for 100ms at-most 100ms
loop computes 1ms
loop sleeps 10ms in nanosleep
loop ends
$ dpm why --json trace
jq: near(.spent_on_ns.timer; 110e6) and .spent_on_ns.no_answer == 0 and .spent_on_ns.event == 0

== a server that waits for the next request until a time limit: what it sent was an answer
| server  o answers |.... poll of that connection, 1 s at most ....|
process server launched
outside client at 10.0.0.9
tcp c: client > server ports 40001,80
server accepts c
client sends 10 on c
server receives on c
server sends 100 on c
server waits in poll for 1s at-most 1s only c
server computes 1ms
server sleeps 1ms in nanosleep
server ends
$ dpm why --json trace
jq: near(.spent_on_ns.timer; 1001e6) and .spent_on_ns.no_answer == 0

== a call that ends before its time limit, by something that has no record
| program |... epoll_wait, 1 s at most: ends after 50 ms ...| == 5 ==
process program launched
program waits in epoll_wait for 50ms at-most 1s
program computes 5ms
program sleeps 10ms in nanosleep
program ends
$ dpm why --json trace
jq: near(.spent_on_ns.event; 50e6) and near(.spent_on_ns.timer; 10e6)
$ dpm dump --type receivecall trace
says: any of several paths, in epoll_wait for at most 1.00 s

# ---- connections ----

== a wait in connect has the name of the peer, from the record that follows it
| client |.... connect 200 ms ....| CONNECT == 5 ==
process client launched
outside server at 10.0.0.7
tcp c: client > server ports 40001,5432
client sleeps 200ms in connect
client connects c
client computes 5ms
client ends
$ dpm why --json trace
jq: [.rows[] | select(.spent_on == "connect") | "\(.time_ns) \(.kind) \(.address)"] == ["200000000 tcp 10.0.0.7:5432"]
$ dpm report trace
first: client[100] waited to connect (tcp 10.0.0.7:5432), 1 time.
$ dpm why --waits --json trace
jq: [.waits[] | "\(.waited_for) \(.address)"] == ["connect 10.0.0.7:5432"]

== ... also if it fails
| client |.... connect 200 ms ....| CONNECTFAILED == 5 ==
process client launched
client sleeps 200ms in connect
client fails to connect to 10.0.0.7:5432 with 110
client computes 5ms
client ends
$ dpm why --json trace
jq: [.rows[] | select(.spent_on == "connect") | "\(.time_ns) \(.kind) \(.address)"] == ["200000000 tcp 10.0.0.7:5432"]

== a connect with a time limit, which the program keeps in poll: nobody answered
| client  connect() ==|.... poll, 2 s at most ....| CONNECTFAILED == 5 ==
process client launched
client waits in poll for 2s at-most 2s
client fails to connect to 10.0.0.7:5432 with 125 over 2001ms
client computes 5ms
client ends
$ dpm why --json trace
jq: [.rows[] | select(.spent_on == "connect") | .address] == ["10.0.0.7:5432"]
jq: [.rows[] | select(.spent_on == "timer")] == []
$ dpm report trace
first: client[100] waited to connect (tcp 10.0.0.7:5432), 1 time.

== a server that waits for a connection: from a client that is not metered
| server |.... accept 100 ms ....| ACCEPT |.... poll 50 ms ....| ACCEPT == 5 ==
process server launched
outside client at 10.0.0.9
tcp a: client > server ports 40001,80
tcp b: client > server ports 40002,80
server waits in accept for 100ms
server accepts a
server waits in poll for 50ms at-most 1s
server accepts b
server computes 5ms
server sleeps 1ms in nanosleep
server ends
$ dpm why --json trace
jq: near(.spent_on_ns.outside; 150e6) and .spent_on_ns.event == 0
jq: [.rows[] | select(.spent_on == "outside") | "\(.kind) \(.address)"] | unique == ["tcp 10.0.0.9:*"]
$ dpm report trace
first: server[100] waited for an unmonitored peer (tcp 10.0.0.9:*), 2 times.

== ... which a metered client makes: what that does meanwhile
| client  == computes 100 ms ==o connects
| server  |.... accept .........| == 5 ==
process server launched
process client created by server
tcp a: client > server ports 40001,80
client computes 100ms
client connects a
server waits in accept until client
server accepts a
server computes 5ms
client ends
server ends
$ dpm why --json trace
jq: near(.spent_on_ns.computing; 105e6) and .spent_on_ns.outside == 0

# ---- requests ----

== a row lock: the session that holds it waits for its own client
| app     o update ------------- thinks 300 ms ------------- o commit
| first    '-> o locks the row ... waits for the next message '-> o COMMIT, wakes the second
| other       o update -----------------------------------------------------------. RECEIVE o
| second       '-> o .......... epoll_wait: the row is locked ................... o answers '
process first pid 201 named postgres
process second pid 202 named postgres
process app launched pid 300
process other pid 301
tcp a: app > first ports 40001,5432
tcp b: other > second ports 40002,5432
app connects a
first accepts a
other connects b
second accepts b
app computes 1ms
app sends 40 on a
first receives on a in epoll_wait
first computes 1ms
first sends 10 on a
app receives on a
other idles until 5ms
other sends 40 on b
second receives on b in epoll_wait
app sleeps 300ms in clock_nanosleep
app sends 20 on a
first receives on a in epoll_wait
first computes 1ms
second waits in epoll_wait until first
first sends 10 on a
second computes 1ms
second sends 10 on b
app receives on a
other receives on b
app ends
$ dpm why --requests --json trace
jq: .requests.spent_on_ns | .event < 1e6 and (.client > 290e6)
jq: [.requests.rows[] | select(.spent_on == "client") | "\(.pid) \(.peer) \(.kind)"] == ["201 app tcp"]

== ... and with threads, a third one waits for the second: all that time the first client thinks
| first    o update, answers |....... waits for COMMIT of its client .......|=o wakes the second
| second     o update ............... futex: the row is locked ...............|=o answers |.... COMMIT |=o wakes the third
| third        o update ................................... futex ....................................|=o answers
process database pid 200 named mariadbd
thread first of database
thread second of database
thread third of database
for N in first second third
    process app.$N
    tcp c$N: app.$N > $N
    app.$N connects c$N
    $N accepts c$N
end
app.first computes 1ms
app.first sends 40 on cfirst
first receives on cfirst in poll
first computes 1ms
first sends 10 on cfirst
app.first receives on cfirst
for N in second third
    app.$N idles until 5ms
    app.$N sends 40 on c$N
    $N receives on c$N in poll
end
app.first sleeps 300ms in clock_nanosleep
app.first sends 20 on cfirst
first receives on cfirst in poll
first computes 1ms
second sleeps in futex until first
first sends 10 on cfirst
second computes 1ms
second sends 10 on csecond
app.second receives on csecond
app.second sleeps 10ms in clock_nanosleep
app.second sends 20 on csecond
second receives on csecond in poll
second computes 1ms
third sleeps in futex until second
second sends 10 on csecond
third computes 1ms
third sends 10 on cthird
app.third receives on cthird
$ dpm why --json trace
jq: .requests.spent_on_ns | near(.client; 300e6 + 310e6) and .lock < 10e6
jq: [.requests.rows[] | select(.spent_on == "client") | .peer] | unique == ["app"]

== ... and two others wait for that row: its wait for its client is one, whichever requests it holds up
process first pid 201 named postgres
process app pid 300
tcp a: app > first ports 40001,5432
app connects a
first accepts a
for N in 2 3
    process session.$N pid 20$N named postgres
    process other.$N pid 30$N
    tcp b$N: other.$N > session.$N ports 4000$N,5432
    other.$N connects b$N
    session.$N accepts b$N
end
app computes 1ms
app sends 40 on a
first receives on a in epoll_wait
first computes 1ms
first sends 10 on a
app receives on a
for N in 2 3
    other.$N idles until 5ms
    other.$N sends 40 on b$N
    session.$N receives on b$N in epoll_wait
end
app sleeps 300ms in clock_nanosleep
app sends 20 on a
first receives on a in epoll_wait
first computes 1ms
for N in 2 3
    session.$N waits in epoll_wait until first
end
first sends 10 on a
for N in 2 3
    session.$N computes 1ms
    session.$N sends 10 on b$N
    other.$N receives on b$N
end
app receives on a
$ dpm why --json trace
jq: .requests | near(.spent_on_ns.client; 590e6) and ([.rows[] | select(.spent_on == "client") | "\(.pid) \(.count)"] == ["201 1"])

== ... also if an alarm interrupts that wait
| first    o answer |... epoll_wait ...| alarm |....... epoll_wait .......| COMMIT, wakes the second
process first pid 201 named postgres
process second pid 202 named postgres
process app launched pid 300
process other pid 301
tcp a: app > first ports 40001,5432
tcp b: other > second ports 40002,5432
app connects a
first accepts a
other connects b
second accepts b
app computes 1ms
app sends 40 on a
first receives on a in epoll_wait
first computes 1ms
first sends 10 on a
app receives on a
other idles until 5ms
other sends 40 on b
second receives on b in epoll_wait
app sleeps 300ms in clock_nanosleep
app sends 20 on a
first waits in epoll_wait for 100ms
first waits in epoll_wait for 50ms at-most 50ms
first receives on a in epoll_wait
first computes 1ms
second waits in epoll_wait until first
first sends 10 on a
second computes 1ms
second sends 10 on b
app receives on a
other receives on b
app ends
$ dpm why --requests --json trace
jq: .requests.spent_on_ns | .event < 1e6 and .timer < 1e6 and .client > 290e6
jq: [.requests.rows[] | select(.spent_on == "client") | "\(.pid) \(.peer) \(.kind)"] == ["201 app tcp"]

== a lock of Python's: waits until a time limit, one after the other, until the holder releases it
| other   ================ computes ===============o releases
| server  o request |- futex 5 ms -|- futex 5 ms -|- futex 1 ms -| == 1 == o answer
process server pid 200
thread other of server
outside client at 10.0.0.9
tcp c: client > server ports 40001,80
server accepts c
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
jq: .requests.spent_on_ns | .lock > 10.8e6 and .time_limit == 0 and .timer == 0

== a wait in epoll_wait is named by where it was called, not by where its thread sent next
| server  epoll_wait in WaitEventSetWait for 30 ms, and nothing came |send_all: an answer
process server pid 200
outside client at 10.9.9.9
tcp c: client > server ports 51000,5432 older
server calls WaitEventSetWait
client sends 5 on c
server receives 5 on c in epoll_wait
server waits in epoll_wait for 30ms at-most 30ms
server calls send_all
server sends 7 on c
client receives 7 on c
$ dpm report trace
says: server[200] slept until a timer ended (epoll_wait in WaitEventSetWait (server)), 1 time.
$ dpm why --waits trace
never: send_all

== files of the kernel are on no disk
process program launched
program sleeps 20ms in write on /sys/fs/cgroup/memory/group/tasks uninterruptible
program sleeps 10ms in read on /proc/1/maps uninterruptible
program sleeps 30ms in read on /var/lib/app.db uninterruptible
program ends
$ dpm why --json trace
jq: .spent_on_ns | .disk == 30e6 and .input == 30e6
$ dpm report trace
says: program[100] waited for the disk (read on /var/lib/app.db), 1 time.
never: waited for the disk (write on

== locks of the kernel, in which no signal wakes a thread, are no disk: a socket, a pipe and a namespace have none
process ip launched
ip sleeps 40ms in sendmsg uninterruptible
ip sleeps 5ms in write on socket uninterruptible
ip sleeps 5ms in write on pipe uninterruptible
ip sleeps 20ms in read on [eventfd] uninterruptible
ip sleeps 30ms in unshare uninterruptible
ip sleeps 50ms in openat uninterruptible
ip ends
$ dpm why --json trace
jq: .spent_on_ns | .disk == 50e6 and .unknown == 100e6
$ dpm report trace
says: ip[100] waited; no record says for what (sendmsg), 1 time.
says: ip[100] waited; no record says for what (unshare), 1 time.
never: waited for the disk (sendmsg
never: waited for the disk (unshare

== a request that a thread hands over to another one, and waits for it: it was spent on what that one did
| client    ask -.                                                                   .- answered
| front      RECEIVE o=o wakes ................ futex ..............................o=SEND
| fetcher     futex ....'-o==o asks |......... futex ........| RECEIVE o==o wakes --'
| poller                           |... epoll_wait ...o wakes
| back                    '- RECEIVE ---- sleeps 80 ms ---- SEND
process front pid 200
thread fetcher of front
thread poller of front
process back pid 300
process client pid 400
tcp c: client > front
tcp b: fetcher > back
client connects c
front accepts c
fetcher connects b
back accepts b
client computes 1ms
client sends 10 on c
front receives on c
front computes 1ms
fetcher sleeps in futex until front
fetcher computes 1ms
fetcher sends 20 on b
back receives on b
back sleeps 80ms in clock_nanosleep
back sends 30 on b
poller idles until 83ms
fetcher sleeps in futex until poller
fetcher receives on b
fetcher computes 1ms
front sleeps in futex until fetcher
front computes 1ms
front sends 40 on c
client receives on c
$ dpm why --json trace
jq: .requests | near(.spent_on_ns.timer; 80e6) and .spent_on_ns.lock == 0 and
    ([.rows[] | select(.spent_on == "timer") | .name] == ["back"])
$ dpm report trace
first: back[300] slept until a timer ended

== ... or for which it creates a thread
| front      RECEIVE o==o creates ...... futex: waits for its end ......o=SEND
| worker                o==== sleeps 50 ms ====o ends
process front pid 200
process client pid 400
tcp c: client > front
client connects c
front accepts c
client computes 1ms
client sends 10 on c
front receives on c
front computes 1ms
thread worker of front created by front
worker sleeps 50ms in clock_nanosleep
front sleeps in futex until worker
front computes 1ms
front sends 40 on c
client receives on c
$ dpm why --json trace
jq: .requests.spent_on_ns | near(.timer; 50e6) and .lock == 0

== ... but a thread that was woken before the request came works for another one
| front     wakes fetcher | RECEIVE o ... futex: until fetcher is done ...o=SEND
process front pid 200
thread fetcher of front
process client pid 400
tcp c: client > front
client connects c
front accepts c
front computes 1ms
fetcher sleeps in futex until front
client idles until 5ms
client sends 10 on c
front receives on c
front computes 1ms
fetcher computes 80ms
front sleeps in futex until fetcher
front computes 1ms
front sends 40 on c
client receives on c
$ dpm why --json trace
jq: .requests | .spent_on_ns.lock > 70e6 and .spent_on_ns.computing < 10e6

# ---- records that are missing ----

== records were lost while a client waited: one of these may be the answer, so none did not come
| client  ask -- poll, 300 ms at most --(records are lost)--      3 times
process client launched
process server pid 200
for N in 1 2 3
    tcp c$N: client > server
    client connects c$N
    server accepts c$N
    client sends 10 on c$N
    server receives on c$N
    client waits in poll for 300ms at-most 300ms only c$N
    lose 3 of client
    client closes c$N
end
client ends
$ dpm why --json trace
jq: .spent_on_ns | .no_answer == 0 and .timer == 0 and near(.unknown; 900e6)
$ dpm report trace
never: for an answer that did not come

== ... but not of records that were lost before it began to wait
process client launched
process server pid 200
lose 3 of server
client computes 1ms
tcp c: client > server
client connects c
server accepts c
client sends 10 on c
server receives on c
client waits in poll for 300ms at-most 300ms only c
client closes c
client ends
$ dpm why --json trace
jq: .spent_on_ns | near(.no_answer; 300e6)

== a sleep that is much longer than its time limit: no timer ended it
process client launched
client computes 1ms
client waits in poll for 5s at-most 300ms
client ends
$ dpm why --json trace
jq: .spent_on_ns | .timer == 0 and near(.unknown; 5e9)

== ... but not a signal that comes while the program computes, long after the wait
| server  .... epoll_wait .... == 1 s == SIGINT
process server launched
server waits in epoll_wait for 5s endless
server computes 1s
server ends with signal 2
at 6s SIGNAL signal=2 receiver=1 senderPid=0
$ dpm report trace
says: 83% of 6.00 s: server[100] waited
never: until a signal came
