# SPDX-License-Identifier: MIT
# Locks that make threads and processes wait one after the other: which, for how many, and what it costs at most.

== jobs that wait for the lock of one file
| sh     fork fork fork -------- waits -------.
| job.1  == 100 ms with the lock ==o
| job.2  |..... flock ............|== 100 ms ==o
| job.3  |..... flock .........................|== 100 ms ==o
process sh launched
for N in 1 2 3
    process job.$N created by sh
end
job.1 computes 100ms
job.2 sleeps in flock until job.1 on /run/lock/app
job.1 ends
job.2 computes 100ms
job.3 sleeps in flock until job.2 on /run/lock/app
job.2 ends
job.3 computes 100ms
job.3 ends
sh waits for job.3
sh ends
$ dpm report trace
says: Patterns 2 processes (job) waited for the lock of /run/lock/app, up to 2 at the same time. Without these waits the
    run would take at most 200 ms (67%) less: use a file for each, or hold the lock for a shorter time.
$ dpm report --json trace
jq: [.findings[] | select(.kind == "lock")] | length == 1 and near(.[0].ns; 200e6) and (.[0].share - 0.667 | fabs) < 0.01
$ dpm why --json trace
jq: .locks | length == 1 and (.[0] | .waited_on == "/run/lock/app" and near(.time_ns; 200e6) and near(.followed_ns; 200e6) and
    .waits == 2 and .waiting_processes == 2 and .most_at_once == 2)

== a short wait for the lock of a file is no pattern
process sh launched
process job.1 created by sh
process job.2 created by sh
job.1 computes 10ms
job.2 sleeps in flock until job.1 on /run/lock/app
job.1 ends
job.2 computes 500ms
job.2 ends
sh waits for job.2
sh ends
$ dpm report trace
never: waited for the lock of

== the run would not end earlier without a lock that only a helper waits for
| sh      == 300 ms with the lock ===================o ======o ends
| helper  |.......... flock .........................|
process sh launched
process helper created by sh
sh computes 300ms
helper sleeps in flock until sh on /run/lock/app
helper ends
sh computes 100ms
sh ends
$ dpm why --json trace
jq: .locks == []
$ dpm report trace
never: Patterns

== a mutex that one thread of four holds for long
| app      ------- join ------------------------------------------.
| holder   ==== 80 ms with the lock ====o                          |
| worker   |...... futex ...............|= 10 =o                   |
| worker   |...... futex ......................|= 10 =o            |
| worker   |...... futex .............................|= 10 =o ----'
process app launched
app calls table_lock
app calls nothing
thread holder of app created by app
for N in 1 2 3
    thread worker.$N of app created by app named worker-$N
end
holder computes 80ms
worker.1 sleeps in futex until holder on lock:0x400100
holder ends
worker.1 computes 10ms
worker.2 sleeps in futex until worker.1 on lock:0x400100
worker.1 ends
worker.2 computes 10ms
worker.3 sleeps in futex until worker.2 on lock:0x400100
worker.2 ends
worker.3 computes 10ms
app sleeps in futex until worker.3
worker.3 ends
app ends
$ dpm report trace
says: meanwhile other threads waited for a lock (futex on lock table_lock (0x400100))
says: Patterns 3 threads of app[100] waited for the lock table_lock (0x400100), up to 3 at the same time; app[100] holder held it
    for 80% of that time, and mostly computed. Without these waits the run would take at most 100 ms (91%) less: use a lock for each part
    of the data, or hold the lock for a shorter time.
$ dpm why --json trace
jq: .locks[0] | .waited_on == "lock table_lock (0x400100)" and .waiting_threads == 3 and .waiting_processes == 1 and
    .holder_name == "app" and (.holder_share - 0.8 | fabs) < 0.02

== threads that take turns: each waits for all others, and the time with the lock is what counts
| one  == 10 ==o...... 10 .......|== 10 ==o ...
| two  |.......|== 10 ==o........
process app launched
thread one of app created by app
thread two of app created by app
5 times
    one computes 10ms
    two sleeps in futex until one on lock:0x7f0010
    two computes 10ms
    one sleeps in futex until two on lock:0x7f0010
end
two ends
one computes 10ms
app sleeps in futex until one
one ends
app ends
$ dpm why --json trace
jq: .locks[0] | .waited_on == "lock 0x7f0010" and near(.time_ns; 50e6) and near(.followed_ns; 100e6) and .most_at_once == 1

== what waits for a condition, or for the end of a thread, waits for no lock that is known
process app launched
thread one of app created by app
one computes 100ms
app sleeps in futex until one
one ends
app ends
$ dpm why --json trace
jq: .locks == []

== a lock that another thread holds only now and then, between waits for others: what the last thread itself waited counts
| app     == 20 ==|... 80 for the lock ...|== 20 ==
| holder  ======== 100 with the lock =====o
process app launched
thread holder of app created by app
app computes 20ms
holder computes 100ms
app sleeps in futex until holder on lock:0x55d0c0de4040
app computes 20ms
holder ends
app ends
$ dpm report trace
says: Patterns app[100] waited for the lock 0x55d0c0de4040; app[100] holder held it for 100% of that time, and mostly computed.
    Without these waits the run would take at most 80.0 ms (67%) less

== a thread with the lock computes in four procedures for 15 ms each, and waits for the disk for 40 ms: mostly it computes
| app     |.......... for the lock .........................|== 20 ==
| holder  == take == parse == sort == pack ==|. fdatasync ..o
process app launched
thread holder of app created by app
for P in take parse sort pack
    holder calls $P
    holder computes 15ms
    holder sleeps 1us in read on device:/dev/pts/1
end
holder sleeps 40ms in fdatasync uninterruptible
app sleeps in futex until holder on lock:0x55d0c0de4040
app computes 20ms
holder ends
app ends
$ dpm report trace
says: Patterns app[100] waited for the lock 0x55d0c0de4040; app[100] holder held it for 100% of that time, and mostly computed.

== ... and one that does nothing for half of that time
process app launched
thread holder of app created by app
holder computes 35ms
holder sleeps 40ms in fdatasync uninterruptible
holder sleeps 25ms in read on device:/dev/pts/1
app sleeps in futex until holder on lock:0x55d0c0de4040
app computes 20ms
holder ends
app ends
$ dpm report trace
says: Patterns app[100] waited for the lock 0x55d0c0de4040; app[100] holder held it for 100% of that time. Without these waits

== many locks that one thread holds, each for a short time: they are one kind of wait
process server pid 200
thread other of server
outside client at 10.0.0.9
tcp c: client > server ports 40001,80
server accepts c
for N in 1 2 3 4 5 6 7 8 9
    client sends 10 on c
    server receives on c
    other computes 10ms
    server sleeps in futex until other on lock:0x7f00$N
    server computes 1ms
    server sends 100 on c
    client receives on c
    other idles 1ms
end
$ dpm report trace
says: server[200] waited for a lock or condition (futex), 9 times.

== one lock of a service, by its name
process server pid 200
server calls table_lock
server calls nothing
thread other of server
outside client at 10.0.0.9
tcp c: client > server ports 40001,80
server accepts c
3 times
    client sends 10 on c
    server receives on c
    other computes 10ms
    server sleeps in futex until other on lock:0x400100
    server computes 1ms
    server sends 100 on c
    client receives on c
    other idles 1ms
end
$ dpm report trace
says: server[200] waited for a lock (futex on lock table_lock (0x400100)), 3 times.
