# The critical path: which process it is that carries it (dpm path), and what the report says of it first.

# ---- a service and a helper that only sleeps ----

== a helper that only sleeps is not the critical path, even if it contends for the interpreter's lock
| client   ask ---.          .--- answered, asks again
| server          '== 8 ms ==o  (hands the lock to its helper every 50 ms)
| helper   ~~ sleeps 50 ms ~~ takes the lock for a moment
| idle     ~~ sleeps 100 ms ~~
process server pid 200
process client pid 300
process idle pid 400
thread helper of server
tcp c: client > server older
for second in 1 2
    for round in 1 2 3 4 5 6
        client sends 1 on c
        server receives 1 on c
        server computes 8ms
        server sends 1 on c
        client receives 1 on c
    end
    helper sleeps 45ms in clock_nanosleep
    helper sleeps in futex until server
    helper computes 20us
    server sleeps in futex until helper
    idle sleeps 100ms in clock_nanosleep
end
client sends 1 on c
server receives 1 on c
server computes 8ms
server sends 1 on c
client receives 1 on c
ends at 203ms
$ dpm report --json trace
jq: .path | .ends == "work" and .outside_ns < 0.1 * .path_ns and .path_ns == .cpu_ns + .delay_ns + .outside_ns
jq: [.path.processes[] | select(.pid == 200)][0].path_cpu_ns > 0.8 * .path.cpu_ns
jq: [.path.processes[] | select(.pid == 400)][0] | .path_cpu_ns == 0 and .path_outside_ns == 0 and .slack_ns == null
jq: [.findings[] | select(.kind == "elapsed")][0] | (.text | contains("server[200] computed")) and .processes == [0]
jq: [.findings[] | select(.kind == "critical")] == []
jq: .path.tmax_ns >= .path.path_ns and .path.P == null and
    ([.parallelism.rows[] | select(.step == "max")][0].tmax_ns == .path.tmax_ns)
jq: all(.findings[]; (.kind | length) > 0 and .kind != "other" and has("share") and has("ns") and (.processes | type) == "array")
jq: all(.findings[]; .share == null or (.share >= 0 and .share <= 1))
$ dpm path --json --longest trace
jq: .ends == "longest" and .path_ns == .tmax_ns
$ dpm report trace
never: Silent
never: Idle
never: created
$ dpm report --all trace
says: Silent

# ---- one of many processes ----

== which of eight items is slow: the process with what it created
| xargs  item 1, 2, 3 .. item 4 ====== six gzip of 100 ms ====.
|                     .. item 5, 6, 7, 8 meanwhile            |
process sh launched command "sh -c seq 8 | xargs -P 2 -I ITEM ./item.sh ITEM 4"
process xargs created by sh command "xargs -P 2 -I ITEM ./item.sh ITEM 4"
for i in 1 2 3
    process item.$i created by xargs named item.sh command "./item.sh $i 4"
    process gzip.$i created by item.$i command "gzip -9"
    gzip.$i computes 20ms
    gzip.$i ends
    item.$i waits for gzip.$i
    item.$i ends
    xargs waits for item.$i
end
process item.4 created by xargs named item.sh command "./item.sh 4 4"
for k in 1 2 3 4 5 6
    process gzip.4$k created by item.4 command "gzip -9"
    gzip.4$k computes 100ms
    gzip.4$k ends
    item.4 waits for gzip.4$k
end
item.4 computes 5ms
item.4 ends
for i in 5 6 7 8
    process item.$i created by xargs named item.sh command "./item.sh $i 4"
    process gzip.$i created by item.$i command "gzip -9"
    gzip.$i computes 20ms
    gzip.$i ends
    item.$i waits for gzip.$i
    item.$i ends
    xargs waits for item.$i
end
xargs waits for item.4
xargs ends
sh waits for xargs
sh ends
$ dpm report --json trace
jq: .path.ends == "command"
jq: .path.carrier as $carrier | $carrier.alone == false and .path.processes[$carrier.process].name == "item.sh" and
    .path.processes[$carrier.process].pid == 108 and $carrier.path_cpu_ns == 605e6 and near(.path.cpu_ns; 665e6)
$ dpm report trace
says: item.sh 4 4[108] and the processes that it created carry 91% of the critical path

== of four programs of one name, that with most work is named, by the word that only it has
process sh launched
for file in a b c d
    process python.$file created by sh named python3 command "python3 burn.py $file.input -a-long-option-that-all-of-them-have=and-its-value"
end
for file in a b d
    python.$file computes 10ms
    python.$file ends
end
python.c computes 300ms
python.c ends
for file in a b c d
    sh waits for python.$file
end
sh ends
$ dpm report trace
says: [103] (c.input) carries 100% of the critical path

== of a pool only the worker with the heavy chunk is named
process python3 launched
for n in 1 2 3 4
    process worker.$n created by python3 named python3
end
for n in 1 2 4
    worker.$n computes 20ms
    worker.$n ends
end
worker.3 computes 400ms
worker.3 ends
for n in 1 2 3 4
    python3 waits for worker.$n
end
python3 ends
$ dpm report trace
says: python3[103] carries 100% of the critical path
never: processes are on the critical path

# ---- a process that does not answer: it computes, or was stopped ----

== a server that computes for long while messages wait
| clients 1-5  ask -------------------------- answered
| server       select, == 100 ms ==o == 1 ==o == 1 ==o ...
process python3 launched
for i in 1 2 3
    process client.$i created by python3
    tcp c$i: client.$i > python3
    client.$i connects c$i
    python3 accepts c$i
end
for i in 1 2 3
    client.$i sends 1 on c$i
    python3 receives 1 on c$i
    python3 computes 1ms
    python3 sends 1 on c$i
    client.$i receives 1 on c$i
    client.$i sleeps 5ms in nanosleep
end
4 times
    for i in 1 2 3
        client.$i sends 1 on c$i
    end
    python3 receives 1 on c1 in epoll_wait
    python3 computes 100ms
    python3 sends 1 on c1
    for i in 2 3
        python3 receives 1 on c$i
        python3 computes 1ms
        python3 sends 1 on c$i
    end
    for i in 1 2 3
        client.$i receives 1 on c$i
        client.$i sleeps 5ms in nanosleep
    end
end
for i in 1 2 3
    client.$i ends
    python3 waits for client.$i
end
python3 ends
$ dpm report --json trace
jq: .statistics.processes as $processes | [.findings[] | select(.kind == "busy_while_messages_waited")] | length == 1 and
    (.[0] | $processes[.processes[0]].pid == 100 and .ns == 400e6)
$ dpm report trace
says: python3[100] computed up to 100 ms at a stretch while up to 2 messages came and had to wait, 98.5 ms on average: 4 times, 400 ms

== a process that a signal stops is found, and who sent the signal
| parent  == sleeps 100 == SIGSTOP == sleeps 300 == SIGCONT == sleeps 100 == SIGKILL
| child   naps 20 .........|         (stopped)     | naps 20 .............. x
process parent launched named python3
process child created by parent named python3
5 times
    child sleeps 20ms in clock_nanosleep
end
parent sleeps 100ms in clock_nanosleep
parent signals child with 19
child is stopped for 300ms
parent sleeps 300ms in clock_nanosleep
parent signals child with 18
5 times
    child sleeps 20ms in clock_nanosleep
end
parent sleeps 100ms in clock_nanosleep
parent signals child with 9
child ends with signal 9
parent waits for child
parent ends
$ dpm report --json trace
jq: [.findings[] | select(.kind == "stopped")] | length == 1 and near(.[0].ns; 300e6) and near(.[0].share; 0.6)
$ dpm report trace
says: python3[101] was stopped by SIGSTOP for 300 ms (60% of the elapsed time), 1 time, sent by python3[100].

== ... its share is of the command's time, though the recording goes on
process parent launched named python3
process other
process child created by parent named python3
child sleeps 100ms in clock_nanosleep
parent sleeps 100ms in clock_nanosleep
parent signals child with 19
child is stopped for 300ms
parent sleeps 300ms in clock_nanosleep
parent signals child with 18
parent sleeps 100ms in clock_nanosleep
parent signals child with 9
child ends with signal 9
parent waits for child
parent ends
other computes 1s
other ends
$ dpm report trace
says: python3[102] was stopped by SIGSTOP for 300 ms (60% of the elapsed time), 1 time, sent by python3[100].

# ---- the picture: the same waits, in read, epoll, poll and select ----

== waits for a message are drawn, in whichever call
for call in read epoll_wait poll select
    process parent.$call
    process child.$call created by parent.$call
    pipe p.$call: parent.$call > child.$call
    3 times
        parent.$call sleeps 40ms in clock_nanosleep
        parent.$call sends 1 on p.$call
        child.$call receives 1 on p.$call in $call
    end
end
$ dpm graph -o all.svg trace
$ grep -o '<title>waits for a[^<]* until' all.svg | grep -c ' for 40'
is: 12
$ sed -n '/<g id="legend">/,/^<\/g>/p' all.svg | grep -c '<rect class="wait[0-5]"'
is: 6

# ---- a slow network ----

== messages on the path were in flight, as the network made them
| client  ask ---.(20 ms)             (20 ms).--- answered
| server          '-- computes 2 ms ---------'
machine far1 at 10.83.7.1
machine far2 at 10.83.7.2
process client of far1 launched
process server of far2 launched
tcp c: client > server ports 41000,7000 latency 20ms
client connects c
server accepts c
client computes 10us
40 times
    client sends 3 on c
    server receives 3 on c
    server computes 2ms
    server sends 3 on c
    client receives 3 on c
    client computes 10us
end
client closes c
client ends
server finds the end of c
server ends
$ dpm report --json far1 far2
jq: .path | .in_flight_ns >= 1580e6 and .in_flight_ns <= 1600e6
jq: .path | ([.arcs[].in_flight_ns] | add) == .in_flight_ns and .in_flight_ns + .path_ns <= 1.02 * .elapsed_ns
jq: .path as $path | ($path.in_flight_ns / $path.elapsed_ns) as $share | [.findings[] | select(.kind == "path_in_flight")] |
    length == 1 and (.[0].share - $share | fabs) < 0.001 and (.[0].text | contains("that elapsed: faster programs do not shorten that. Fewer messages or a faster network would."))
jq: . as $all | all(.findings[] | select(.kind == "critical"); .share <= 1 - $all.path.in_flight_ns / $all.path.elapsed_ns + 0.01 and
    ((.text | capture("would take <?(?<less>[0-9.]+)% less").less | tonumber) <= 50 * .share + 1))
$ dpm path far1 far2
like: Messages on it were in flight for 1\.58 s as recorded, 9[0-9]% of the elapsed

== if that is less than a fifth of what elapsed, the report says nothing of it
machine far1 at 10.83.7.1
machine far2 at 10.83.7.2
process client of far1 launched
process server of far2 launched
tcp c: client > server ports 41000,7000 latency 1ms
client connects c
server accepts c
client computes 10us
40 times
    client sends 3 on c
    server receives 3 on c
    server computes 20ms
    server sends 3 on c
    client receives 3 on c
    client computes 10us
end
client ends
server ends
$ dpm report --json far1 far2
jq: near(.path.in_flight_ns; 80e6) and [.findings[] | select(.kind == "path_in_flight")] == []

== where it goes on from a thread to another one of the same process, it does not go from process to process
| app       ........... waits o=== 20 ms ===
| helper    === 50 ms =======o
process app launched
thread helper of app created by app
helper computes 50ms
app sleeps in futex until helper
helper ends
app computes 20ms
app ends
$ dpm path trace
says: Where it goes on, from thread to thread
like: app\[100\] app\[100\] wakeup 1
never: from process to process
