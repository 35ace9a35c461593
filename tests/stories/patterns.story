# SPDX-License-Identifier: MIT
# Ways to use processes that cost time, each with what its remedy can save; and what only looks like it.

# ---- round trips, one after the other ----

== a page that asks for each item (N+1)
| client  ask ----.                                             .-- answered
| web             '-- ask .-- ask .-- ... 12 x 1 ms ... == 8 ms --'            5 times
| db                  '-- 1 ms ---'
process client launched
process web pid 200
process db pid 300
tcp w: client > web
tcp d: web > db older
client connects w
web accepts w
5 times
    client sends 1 on w
    web receives on w
    12 times
        web sends 1 on d
        db receives on d
        db computes 1ms
        db sends 1 on d
        web receives on d
    end
    web computes 8ms
    web sends 1 on w
    client receives on w
    client computes 1ms
end
client ends
$ dpm report trace
says: Each of 5 requests to web[200] asked db[300] 127.0.0.1:80 12 times (median), one after the other: 12.4 ms of 20.4 ms on average
says: One query for all, or several at a time, would save at most 11.3 ms of each.
$ dpm report --json trace
jq: [.findings[] | select(.kind == "round_trips_per_request")] | length == 1 and .[0].ns > 61e6 and .[0].ns < 63e6 and .[0].share > 0.5
$ dpm report --json trace
jq: [.findings[] | .kind] | index("round_trips_per_request") < index("service_time") and index("round_trips") == null

== ... and most pages ask for one item
| web   == ask x 12 ==  3 times, and  == ask ==  7 times
process client launched
process web pid 200
process db pid 300
tcp w: client > web
tcp d: web > db older
client connects w
web accepts w
3 times
    client sends 1 on w
    web receives on w
    12 times
        web sends 1 on d
        db receives on d
        db computes 1ms
        db sends 1 on d
        web receives on d
    end
    web computes 8ms
    web sends 1 on w
    client receives on w
end
7 times
    client sends 1 on w
    web receives on w
    1 times
        web sends 1 on d
        db receives on d
        db computes 1ms
        db sends 1 on d
        web receives on d
    end
    web computes 8ms
    web sends 1 on w
    client receives on w
end
client ends
$ dpm report trace
says: 3 of 10 requests to web[200] that asked db[300] 127.0.0.1:80 did so 12 times (median), one after the other: 12.4 ms of 20.4 ms on average

== a page that asks for a few things, or for many at once
| web     == ask 1 ms ask 1 ms ask 1 ms ==     and == ask ask ask ... receive receive receive ==
process client launched
process web pid 200
process db pid 300
tcp w: client > web
for i in 1 2 3 4 5 6 7 8 9 10 11 12
    tcp d$i: web > db older
end
client connects w
web accepts w
5 times
    client sends 1 on w
    web receives on w
    3 times
        web sends 1 on d1
        db receives on d1
        db computes 1ms
        db sends 1 on d1
        web receives on d1
    end
    web sends 1 on w
    client receives on w
    client sends 1 on w
    web receives on w
    for i in 1 2 3 4 5 6 7 8 9 10 11 12
        web sends 1 on d$i
    end
    for i in 1 2 3 4 5 6 7 8 9 10 11 12
        db receives on d$i
        db computes 1ms
        db sends 1 on d$i
    end
    for i in 1 2 3 4 5 6 7 8 9 10 11 12
        web receives on d$i
    end
    web sends 1 on w
    client receives on w
end
client ends
$ dpm report trace
never: one after the other

== a script that asks for one thing at a time
| script  ask - 1 ms - ask - 1 ms - ...     200 times
process script launched
process db pid 300
tcp d: script > db
script connects d
db accepts d
200 times
    script sends 1 on d
    db receives on d
    db computes 1ms
    db sends 1 on d
    script receives on d
    script computes 200us
end
script ends
$ dpm report trace
says: script[100] asked db[300] 127.0.0.1:80 200 times, one after the other: median 1.0
says: Unless it is a load generator: several at a time (one query, a batch, a pipeline), where none needs the answer to another, would save at most that.
$ dpm report --json trace
jq: [.findings[] | select(.kind == "round_trips")] | length == 1 and .[0].share > 0.8 and .[0].share < 0.9

== a script that does much between two questions: the trips are a third, which is what is said first
| script  ask - 1 ms - == 2 ms == ask - 1 ms - ...     200 times
process script launched
process db pid 300
tcp d: script > db
script connects d
db accepts d
200 times
    script sends 1 on d
    db receives on d
    db computes 1ms
    db sends 1 on d
    script receives on d
    script computes 2ms
end
script ends
$ dpm report trace
says: script[100] asked db[300] 127.0.0.1:80 200 times, one after the other: median 1.03 ms, 206 ms in all (34% of the elapsed time), 604 ms with
    what it did between them. Unless it is a load generator

== data that goes one way, with an answer now and then, as ssh and scp move it
| ssh   sends 12 x 24 KiB - 4 ms - answer - sends 32 KiB - answer - sends 10 bytes - answer ...
| sshd  receives ------------------'
process ssh launched
process sshd pid 300
tcp d: ssh > sshd
ssh connects d
sshd accepts d
120 times
    12 times
        ssh sends 24576 on d in 2us
    end
    12 times
        sshd receives 24576 on d
    end
    sshd computes 4ms
    sshd sends 36 on d
    ssh receives on d
    ssh sends 32804 on d
    sshd receives 32804 on d
    sshd computes 2ms
    sshd sends 36 on d
    ssh receives on d
    ssh sends 10 on d
    sshd receives 10 on d
    sshd computes 2ms
    sshd sends 36 on d
    ssh receives on d
end
ssh ends
$ dpm report trace
never: one after the other

== users who ask for one thing at a time, or long questions, are no such script
| user.1, user.2   ask - 1 ms - ask - 1 ms - ...      120 times each
| slow             ask - 8 ms - ask ...
process user.1 launched
process user.2 created by user.1
process slow pid 400
process db pid 300
process back pid 310
tcp a: user.1 > db older
tcp b: user.2 > db older
tcp c: slow > back older ports 40000,81
120 times
    user.1 sends 1 on a
    db receives on a in epoll_wait
    db computes 1ms
    db sends 1 on a
    user.1 receives on a
    user.2 sends 1 on b
    db receives on b in epoll_wait
    db computes 1ms
    db sends 1 on b
    user.2 receives on b
    slow sends 1 on c
    back receives on c
    back computes 8ms
    back sends 1 on c
    slow receives on c
end
user.2 ends
user.1 waits for user.2
user.1 ends
$ dpm report trace
never: one after the other

== three clients, one after the other, whose requests have a connection each: what connecting took them, together
| client.1 (connect, ask, answered, close) x 100   client.2 ...   client.3 ...
process client.1 launched
process client.2 launched
process client.3 launched
process db pid 300
for C in 1 2 3
    100 times
        tcp c$C$N: client.$C > db
        client.$C connects c$C$N in 5ms
        db accepts c$C$N
        client.$C sends 1 on c$C$N
        db receives on c$C$N
        db sends 1 on c$C$N
        client.$C receives on c$C$N
        client.$C closes c$C$N
        db closes c$C$N
        client.$C idles 1ms
    end
    client.$C ends
end
$ dpm report trace
says: that would save 1.5
says: of the callers' time, added up, or more.

== connections for one query each, which take three exchanges
| client  connect, greeting, login, query, close      200 times
process client launched
process db pid 300
200 times
    tcp c$N: client > db
    client connects c$N
    db accepts c$N
    for ask in greeting login query
        client sends 1 on c$N
        db receives on c$N
        db computes 100us
        db sends 1 on c$N
        client receives on c$N
    end
    client closes c$N
    db closes c$N
    client idles 1ms
end
client ends
$ dpm report trace
says: 200 connections to db[300] 127.0.0.1:80 were made,
says: each for 3 exchanges, most of which may only set it up. Connections that are kept open (keep-alive, or a pool) would save at most
never: one after the other
$ dpm report --json trace
jq: [.findings[] | select(.kind == "connection_per_request")] | length == 1 and .[0].share > 0.1 and .[0].share < 0.4

== connections that many processes make for three queries each are their own business
| client.1 ... client.150   connect, 3 queries, close
process sh launched
process db pid 300
for i in 1 2 3 4 5 6 7 8 9 10 11 12
    process client.$i created by sh
    for N in 1 2 3 4 5 6 7 8 9 10
        tcp c$i.$N: client.$i > db
        client.$i connects c$i.$N
        db accepts c$i.$N
        for ask in greeting login query
            client.$i sends 1 on c$i.$N
            db receives on c$i.$N
            db computes 100us
            db sends 1 on c$i.$N
            client.$i receives on c$i.$N
        end
        client.$i closes c$i.$N
        db closes c$i.$N
    end
    client.$i ends
    sh waits for client.$i
end
sh ends
$ dpm report trace
never: were made

# ---- a pool of threads ----

== requests wait while both workers are busy
| main    receives a b c d ...
| worker  == a 15 ms sleep ==SEND== c ==SEND ...
process srv pid 200
thread worker.1 of srv
thread worker.2 of srv
process client launched
for i in 1 2 3 4 5 6
    thread c.$i of client
    tcp t$i: client > srv older
end
6 times
    for i in 1 2 3 4 5 6
        c.$i sends 1 on t$i
        srv receives on t$i in epoll_wait
    end
    worker.1 sleeps 15ms in nanosleep
    worker.1 sends 1 on t1
    worker.2 sleeps 15ms in nanosleep
    worker.2 sends 1 on t2
    worker.1 sleeps 15ms in nanosleep
    worker.1 sends 1 on t3
    worker.2 sleeps 15ms in nanosleep
    worker.2 sends 1 on t4
    worker.1 sleeps 15ms in nanosleep
    worker.1 sends 1 on t5
    worker.2 sleeps 15ms in nanosleep
    worker.2 sends 1 on t6
    for i in 1 2 3 4 5 6
        c.$i receives on t$i
    end
end
client ends
$ dpm report trace
says: waited in srv[200] until one of the 2 threads that answer them had answered another one: median 30.0 ms
says: more threads would save at most that wait.
$ dpm report --json trace
jq: [.findings[] | select(.kind == "busy_workers")] | length == 1 and .[0].share > 0.5

== workers that wait for work are not what requests wait for
| main    receives a, thinks, gives it to a worker, which waited
process srv pid 200
thread worker.1 of srv
thread worker.2 of srv
process client launched
for i in 1 2
    tcp t$i: client > srv older
end
10 times
    for i in 1 2
        client sends 1 on t$i
        srv receives on t$i in epoll_wait
    end
    for i in 1 2
        srv computes 20ms
        worker.$i sleeps in futex until srv
        worker.$i computes 1ms
        worker.$i sends 1 on t$i
    end
    for i in 1 2
        client receives on t$i
    end
end
client ends
$ dpm report trace
never: threads that answer them

== requests for one of two workers, while the other one is free
| main      receives a b c d ...
| worker.1  == a == b == c == d ...
| worker.2  == x ==                         == x ==
process srv pid 200
thread worker.1 of srv
thread worker.2 of srv
process client launched
for i in 1 2 3 4 5 6
    thread c.$i of client
    tcp t$i: client > srv older
end
for round in 1 2
    c.6 sends 1 on t6
    srv receives on t6 in epoll_wait
    worker.2 sleeps 15ms in nanosleep
    worker.2 sends 1 on t6
    c.6 receives on t6
    6 times
        for i in 1 2 3 4 5
            c.$i sends 1 on t$i
            srv receives on t$i in epoll_wait
        end
        for i in 1 2 3 4 5
            worker.1 sleeps 15ms in nanosleep
            worker.1 sends 1 on t$i
        end
        for i in 1 2 3 4 5
            c.$i receives on t$i
        end
    end
    c.6 idles 460ms
    worker.2 idles 460ms
end
client ends
$ dpm report trace
never: threads that answer them

# ---- an event loop that blocks ----

== a call blocks the loop while messages wait
| client.1-3  ask --------------------------- answered
| loop        epoll_wait == nanosleep 100 ms == answers
process loop pid 200
process c.1 launched
for i in 2 3
    process c.$i created by c.1
end
for i in 1 2 3
    tcp t$i: c.$i > loop older
end
5 times
    for i in 1 2 3
        c.$i sends 1 on t$i
    end
    loop receives on t1 in epoll_wait
    loop sleeps 100ms in nanosleep
    loop sends 1 on t1
    for i in 2 3
        loop receives on t$i
        loop sends 1 on t$i
    end
    for i in 1 2 3
        c.$i receives on t$i
        c.$i sleeps 5ms in nanosleep
    end
end
for i in 2 3
    c.$i ends
    c.1 waits for c.$i
end
c.1 ends
$ dpm report trace
says: loop[200] serves all its connections in one thread, which was blocked for up to 100 ms (nanosleep) while up to 2 messages came and had to wait:
says: An asynchronous call, or another thread for it, would help.
never: would save
$ dpm report --json trace
jq: [.findings[] | select(.kind == "blocked_while_messages_waited")] | length == 1 and .[0].ns >= 400e6 and .[0].ns <= 500e6

== a loop that waits in epoll, or sleeps while no message waits
process loop pid 200
process c.1 launched
process c.2 created by c.1
for i in 1 2
    tcp t$i: c.$i > loop older
end
5 times
    for i in 1 2
        c.$i sends 1 on t$i
        loop receives on t$i in epoll_wait
        loop sends 1 on t$i
        c.$i receives on t$i
    end
    loop sleeps 100ms in nanosleep
    for i in 1 2
        c.$i sleeps 150ms in nanosleep
    end
end
c.2 ends
c.1 waits for c.2
c.1 ends
$ dpm report trace
never: which was blocked

# ---- a listener whose queue is full ----

== a connection that is made after the SYN was sent again
| client  connect, SYN ------ 1 s ------ SYN again, ask -- 10 ms -- answered
process client launched
process server pid 200
tcp c: client > server
client connects c in 1s+20ms
server accepts c
client sends 1 on c
server receives on c
server computes 10ms
server sends 1 on c
client receives on c
at 1s+35ms NETWORK connection=c.1 retransmitted=1
client idles 10ms
client closes c
server closes c
client ends
$ dpm report trace
says: 1 of 1 connection from client[100] to server[200] 127.0.0.1:80 was only made after the first packet (SYN) was sent again: median 1.02 s, max 1.02 s
says: The queue of the listener was full, or a firewall dropped it: a larger backlog for listen(), or faster accept(), would save at most that.
$ dpm report --json trace
jq: [.findings[] | select(.kind == "connect_resent")] | length == 1 and near(.[0].ns; 1.02e9)

== ten connections to a listener with a backlog of one: its queue is to blame, not that they were not kept
recorded backlog
$ dpm whatif --search trace
says: --keep-connections
$ dpm report trace
says: 7 of 10 connections from python3[32545] to python3[32535] 127.0.0.1:40479 were only made after the first packet (SYN) was sent again
never: Prediction

== a slow connect, or a retransmit later, has another reason
process client launched
process server pid 200
for c in slow again
    tcp $c: client > server
end
client connects slow in 1s+20ms
server accepts slow
client connects again in 20ms
server accepts again
for c in slow again
    client sends 1 on $c
    server receives on $c
    server sends 1 on $c
    client receives on $c
end
at 1s+41ms NETWORK connection=slow.1 retransmitted=0
at 1s+41ms NETWORK connection=again.1 retransmitted=1
client idles 10ms
for c in slow again
    client closes $c
    server closes $c
end
client ends
$ dpm report trace
never: SYN

# ---- a script that polls ----

== a script that sleeps until something is there
| sh     sleep 0.5, sleep 0.5, sleep 0.5, computes     2 times
process sh launched
2 times
    3 times
        process sleep.$N created by sh
        sh sleeps 20ms in vfork uninterruptible
        sleep.$N execs /usr/bin/sleep
        sleep.$N sleeps 500ms in clock_nanosleep
        sleep.$N ends
        sh waits for sleep.$N
    end
    sh signals sh with 17
end
sh ends
$ dpm report trace
says: sh[100] seems to poll: it made a process that slept, 6 times for up to 500 ms, in 2 series with next to nothing recorded in between: 3.00 s (
says: If it does, waiting for the event itself would save at most 1.00 s (33%), one nap of each series.

== a program that sleeps between pieces of work
| worker    sleeps 100 ms, sends, sleeps 100 ms, computes 50 ms ...
process worker launched
process log created by worker
pipe p: worker > log
5 times
    worker sleeps 100ms in clock_nanosleep
    worker sends 1 on p
    log receives on p
    worker sleeps 100ms in clock_nanosleep
    worker computes 50ms
end
log ends
worker waits for log
worker ends
$ dpm report trace
never: seems to poll

== a sleep between writes to a disk, or after a lock, is no poll
| writer   sleeps 50 ms - fdatasync 1 ms - sleeps 50 ms ...
| worker   sleeps 60 ms - futex 2 ms - sleeps 60 ms ...
process writer launched
process worker created by writer
6 times
    writer sleeps 50ms in clock_nanosleep
    writer sleeps 1ms in fdatasync on /srv/db uninterruptible
    worker sleeps 60ms in clock_nanosleep
    worker sleeps 2ms in futex
end
worker ends
writer waits for worker
writer ends
$ dpm report trace
never: seems to poll

== a thread that wakes another one after each sleep does not poll
| tick   sleeps 100 ms --.  sleeps 100 ms --.
| app    .. futex .......'  .. futex .......'
process app launched
thread tick of app created by app
6 times
    tick sleeps 100ms in clock_nanosleep
    app sleeps in futex until tick
end
tick ends
app ends
$ dpm report trace
never: seems to poll
