# SPDX-License-Identifier: MIT
# Sums in tables are not more than what they are of: times that overlap count once, or the heading says that they are added up.

== four threads of a server wait for one client at the same time, and four messages wait at once
| client    ............ 100 ms ........... sends 4 .. 50 ms .. (sends 4 more, received late)
| server    w1 waits ----------------------- '
|           w2, w3, w4 wait as well          '
process client pid 100
process server pid 200
for w in 1 2 3 4
    thread w$w of server
    tcp c$w: client > server older
end
for w in 1 2 3 4
    w$w computes 1ms
end
client sleeps 100ms in clock_nanosleep
for w in 1 2 3 4
    client sends 10 on c$w
end
for w in 1 2 3 4
    w$w receives on c$w
end
for w in 1 2 3 4
    client sends 10 on c$w
end
for w in 1 2 3 4
    w$w computes 50ms
    w$w receives on c$w
end
$ dpm stats --json trace
jq: .trace.duration_ns as $all | .pairs[] | select(.from == 1) | .receiver_wait_ns.count as $n | .receiver_wait_ns.mean * $n > 3 * $all / 2 and
    .receiver_wait_covered_ns <= $all and near(.receiver_wait_covered_ns; 99e6)
jq: .pairs[] | select(.from == 1) | .message_wait_ns.mean * .message_wait_ns.count > 190e6 and near(.message_wait_covered_ns; 50e6)
$ dpm stats --all --by pair trace
says: client[100] server[200] 99.0 ms 99.0 ms 50.0 ms 5.00 us
$ dpm stats --by program --json trace
jq: .trace.duration_ns as $all | all(.pairs[]; .receiver_wait_covered_ns <= $all)
$ dpm report --all trace
says: RECEIVE WAIT RECEIVE-QUEUE DELAY

== two threads try to connect at the same time: the time to failure counts once
process client pid 100
thread other of client
client fails to connect to 10.0.0.9:80 with 110 after 3s
other fails to connect to 10.0.0.9:80 with 110 after 3s
$ dpm stats --json trace
jq: .failures | length == 1 and .[0].count == 2 and near(.[0].time_covered_ns; 3e9) and near(.[0].time_ns.mean; 3e9)
$ dpm stats trace
says: client[100] 10.0.0.9:80 2 2 3.00 s 3.00 s 3.00 s

== ten processes of one program, one after the other, that cannot connect: the time of the program is their sum
process sh launched
10 times
    process curl.$N created by sh
    curl.$N fails to connect to 10.0.0.9:80 with 110 after 3s
    curl.$N ends
    sh waits for curl.$N
end
sh ends
$ dpm stats --by program --json trace
jq: .failures | length == 1 and .[0].count == 10 and near(.[0].time_covered_ns; 30e9) and near(.[0].time_ns.mean; 3e9)
$ dpm stats --by program trace
says: curl 10.0.0.9:80 10 10 30.0 s 3.00 s 3.00 s

== ... and two at the same time: the sum is no more than the duration
process sh launched
for c in 1 2
    process curl.$c created by sh
    curl.$c fails to connect to 10.0.0.9:80 with 110 after 3s
    curl.$c ends
end
sh waits for curl.2
sh ends
$ dpm stats --by program --json trace
jq: .failures | length == 1 and .[0].count == 2 and near(.[0].time_covered_ns; 3e9)

== the waits for a CPU of several threads are added up, and the heading says so
process server launched
for w in 1 2 3
    thread w$w of server created by server
end
for w in 1 2 3
    w$w computes 5ms
    w$w lacks a CPU for 20ms
    w$w computes 5ms
    w$w ends
end
server ends
$ dpm stats --json trace
jq: .processes[0] | .waited_for_cpu_ns > 1.5 * .life_ns
$ dpm stats trace
says: CPU WAIT OF THREADS
says: 60.0 ms
never: WAITED FOR CPU

== the times of reads of several threads are added up, and the heading says so
process server pid 200
for w in 1 2
    thread w$w of server
    w$w reads 4096 of /var/data
end
$ dpm stats trace
says: READ TIME SUM

== a process that gains privilege is not metered any longer: that its end is not known is said
process sh launched
process sudo created by sh
pipe p: sh > sudo
sh sends 10 on p
sudo receives on p
at 20ms EXEC stream=sudo left=1
sh computes 40ms
sh ends
$ dpm stats trace
says: 1 process executed a program that gains privilege, which is not metered: when it ended is not known.
$ dpm report trace
says: 1 process executed a program that gains privilege

== many short processes, one after the other: the rates of those that are not shown are over the recording, not over one's life
| cat.1    100 ms, 1000 B |
| cat.2                     100 ms, 1000 B |      (110 of them)
process sh launched
110 times
    process cat.$N created by sh
    pipe p$N: cat.$N > sh
    cat.$N sleeps 100ms in clock_nanosleep
    cat.$N sends 1000 on p$N
    sh receives on p$N
    cat.$N ends
    sh waits for cat.$N
end
sh ends
$ dpm stats trace
says: Who sent to whom
# 10,000 B in 11 s; in the 100 ms of one of them it would be 97.6 KiB/s
like: others \(10\) 10 9\.77 KiB 90\d B
$ dpm stats --json trace
jq: [.pairs[].bytes_per_s] | length == 110 and all(. > 9000 and . < 11000)
