# SPDX-License-Identifier: MIT
# What dpm report finds, in words and in drawings: who worked and who was idle, the critical path, what was not metered.

== three of four servers are not used
| tsp            create four, ask one -------- answered, end all
| tsp-server.1   ====== computes 900 ms ======'
| tsp-server.2-4 (nothing but their end)
process tsp launched
tsp computes 50ms
for i in 1 2 3 4
    process tsp-server.$i created by tsp
    unix-stream s$i: tsp > tsp-server.$i older
    tsp sends 100 on s$i
    tsp-server.$i receives on s$i
    tsp-server.$i computes 1ms
    tsp-server.$i sends 10 on s$i
    tsp receives on s$i
end
60 times
    tsp sends 100 on s1
    tsp-server.1 receives on s1
    tsp-server.1 computes 15ms
    tsp-server.1 sends 10 on s1
    tsp receives on s1
end
for i in 1 2 3 4
    tsp sends 1 on s$i
    tsp-server.$i receives on s$i
    tsp-server.$i ends
end
tsp ends
$ dpm report --all trace
says: Time 95% of 956 ms: tsp-server[101] computed. 5.2%: tsp[100] computed.
says: tsp-server[101] carries 94% of the critical path. If it ran twice as fast, the same work would take 47% less.
says: Idle 3 of 4 tsp-server did next to nothing: tsp-server[102], tsp-server[103], tsp-server[104]. Together they have 3.00 ms of
    CPU time and 9 messages; tsp-server[101] has 901 ms and 123 messages.
says: Work 1 of 5 processes did 94% of the work (954 ms of CPU time): tsp-server[101].
says: Created tsp[100] created 4 processes: tsp-server[101], tsp-server[102], tsp-server[103], tsp-server[104].
says: P = 1.00 of 5 threads (954 ms of CPU time

== one server that works, with its parent idle
process tsp launched
process tsp-server created by tsp
unix-stream s: tsp > tsp-server older
3 times
    tsp sends 100 on s
    tsp-server receives on s
    tsp-server computes 300ms
    tsp-server sends 10 on s
    tsp receives on s
end
tsp-server ends
tsp ends
$ dpm report --all trace
says: Work 1 of 2 processes did 100% of the work (900 ms of CPU time): tsp-server[101].
says: Created tsp[100] created 1 process: tsp-server[101].
never: Idle

== a master that creates workers of its own name is none of them
| gunicorn    creates two ---------------- waits
| gunicorn.1        ====== 20 answers ======
| gunicorn.2                              ====== 20 answers ======
process gunicorn launched
process gunicorn.1 created by gunicorn
process gunicorn.2 created by gunicorn
outside user at 10.0.0.8
for i in 1 2
    tcp c$i: user > gunicorn.$i
    user connects c$i
    gunicorn.$i accepts c$i
    20 times
        user sends 100 on c$i
        gunicorn.$i receives on c$i
        gunicorn.$i computes 40ms
        gunicorn.$i sends 10 on c$i
        user receives on c$i
    end
    gunicorn.$i ends
end
gunicorn waits for gunicorn.1
gunicorn waits for gunicorn.2
gunicorn ends
$ dpm report --all trace
never: Idle

== ... and one of them that does nothing is one of two, not of three
process gunicorn launched
process gunicorn.1 created by gunicorn
process gunicorn.2 created by gunicorn
outside user at 10.0.0.8
tcp c: user > gunicorn.1
user connects c
gunicorn.1 accepts c
20 times
    user sends 100 on c
    gunicorn.1 receives on c
    gunicorn.1 computes 40ms
    gunicorn.1 sends 10 on c
    user receives on c
end
gunicorn.1 ends
gunicorn.2 idles 900ms
gunicorn.2 ends
gunicorn waits for gunicorn.1
gunicorn waits for gunicorn.2
gunicorn ends
$ dpm report --all trace
says: Idle 1 of 2 gunicorn did next to nothing: gunicorn[102].

== four servers that share the work
process tsp launched
for i in 1 2 3 4
    process tsp-server.$i created by tsp
    unix-stream s$i: tsp > tsp-server.$i older
end
5 times
    for i in 1 2 3 4
        tsp sends 100 on s$i
        tsp-server.$i receives on s$i
        tsp-server.$i computes 100ms
        tsp-server.$i sends 10 on s$i
    end
    for i in 1 2 3 4
        tsp receives on s$i
    end
end
for i in 1 2 3 4
    tsp-server.$i ends
end
tsp ends
$ dpm report --all trace
says: Work The work (2.00 s of CPU time) was shared: the busiest of 5 processes, tsp-server[101], did 25%.
says: P = 4.00 of 5 threads (2.00 s of CPU time, longest path t_max 500 ms): on average, this many processors could be kept busy.
never: Idle

== a pipeline: its slowest program carries the critical path, and the others wait for it
process sh launched
process head created by sh
process gzip created by sh
process wc created by sh
pipe one: head > gzip
pipe two: gzip > wc
10 times
    head computes 5ms
    head sends 4096 on one
end
head closes one
head ends
10 times
    gzip receives 4096 on one
    gzip computes 50ms
    gzip sends 2000 on two
    wc receives on two
end
gzip closes two
gzip ends
wc finds the end of two
wc ends
sh waits for head
sh waits for wc
sh ends
$ dpm report --all trace
says: gzip[102] carries 99% of the critical path. If it ran twice as fast, the same work would take 50% less.
says: Messages from head[101] waited in the receive queue of gzip[102]: median 180 ms; for 445 ms at least one was there.
says: Silent 1 of 4 processes sent and received nothing: sh[100].

== a program that sleeps: its wait is said once
process sleep launched
sleep sleeps 200ms in clock_nanosleep
sleep ends
$ dpm report trace
says: Time 100% of 200 ms: sleep[100] slept until a timer ended (clock_nanosleep), 1 time.
never: Waits
$ dpm report --all trace
says: Waits 200 ms of 200 ms were spent in 1 wait that no message explains (timers, disks, idle threads).

== processes that were created and computed, and nothing else was metered
machine vm without SEND,SENDCALL,RECEIVECALL,RECEIVE,MESSAGEQUEUED,BLOCK,CREATEPATH,CONNECT,ACCEPT,EXEC,STARTPROCESS,STOPPROCESS,WAKEUP,SCHEDULE,SIGNAL
process sh launched
process sort created by sh
process tail created by sh
sort computes 20ms
tail computes 1ms
sort ends
tail ends
sh ends
$ dpm report --all trace
never: Silent
says: P = 
says: P may be too high: edges are missing, because these were not metered: send, sendcall
says: Events of these kinds were not metered: send, sendcall

== two processes that compute and have nothing to do with each other: that both are silent is all that is left out
process one
process two
for p in one two
    $p sleeps 1ms in nanosleep
    $p computes 500ms
    $p sleeps 1ms in nanosleep
end
$ dpm report trace
says: (1 more, which explains nothing or repeats these: --all)

== only sends
machine vm without SENDCALL,RECEIVECALL,RECEIVE,MESSAGEQUEUED,BLOCK,CREATEPATH,CONNECT,ACCEPT,CREATEPROCESS,EXEC,STARTPROCESS,STOPPROCESS,TERMINATION,WAKEUP,SCHEDULE,SIGNAL
process seq
process sort
process tail
pipe one: seq > sort
pipe two: sort > tail
seq computes 20ms
seq sends 4000 on one
sort receives on one
sort computes 20ms
sort sends 5 on two
tail receives on two
$ dpm report --all trace
never: Silent
never: P =
says: Events of these kinds were not metered: sendcall, receivecall

== only TCP, of programs that use pipes
machine vm leaving-out udp,unix,pipe,mq
process seq launched
process sort created by seq
seq computes 20ms
sort computes 30ms
seq ends
sort ends
$ dpm report --all trace
says: Silent 2 of 2 processes sent and received nothing over tcp: seq[100], sort[101].
says: P = 1.67 of 2 threads
says: P may be too high: edges are missing, because these were not metered: udp, unix, pipe, mq.
says: Connections of these kinds were not metered: udp, unix, pipe

== ... of which P may be too high is said only with P itself
| client  ==== asks ....           ==== asks ...
| server            ==== answers ..          ====
machine vm leaving-out pipe,mq
process client launched
process server created by client
tcp c: client > server
client connects c
server accepts c
10 times
    client sends 3 on c
    server receives on c
    server computes 5ms
    server sends 3 on c
    client receives on c
    client computes 5ms
end
client ends
$ dpm report trace
says: Time
never: P =
never: P may be too high
says: Connections of these kinds were not metered: pipe, mq
$ dpm report --all trace
like: P = (0\.99|1\.00) of 2 threads
says: P may be too high: edges are missing, because these were not metered: pipe, mq.

== nothing was recorded
machine vm without SEND,SENDCALL,RECEIVECALL,RECEIVE,MESSAGEQUEUED,BLOCK,CREATEPATH,CONNECT,CREATEPROCESS,EXEC,STARTPROCESS,STOPPROCESS,TERMINATION,WAKEUP,SCHEDULE,SIGNAL leaving-out udp,unix,pipe,mq
process true launched
$ dpm report trace
says: What was found Nothing Too little was recorded to find anything. Processes

== the drawings of a page agree with the figures, and names of programs are no markup
process front pid 61 named '<b>&"x'
process back pid 71
process log pid 81
outside client
tcp f: client > front older
tcp b: front > back older
pipe p: front > log older
30 times
    client sends 1 on f
    front receives on f
    front computes 1ms
    front sends 10 on b
    back receives on b
    back computes 4ms
    back sends 500 on b
    front receives on b
    front sends 20 on p
    front sends 1 on f
    client receives on f
    log receives on p
    log computes 2ms
end
$ dpm report --html page.html trace; page_account.py page.html --has '<b>&"x'
is: ok
$ sed -n 's/^<script type="application\/json" id="data">\(.*\)<\/script>$/\1/p' page.html
jq: (.map.nodes | map(.name)) as $names | [.map.arcs[] | "\($names[.from]) \($names[.to]) \(.messages) \(.back_messages)"] | sort ==
    ["10.0.0.1 <b>&\"x 30 30", "<b>&\"x back 30 30", "<b>&\"x log 30 0"]
jq: [.map.arcs[] | select(.requests > 0)] | length == 2 and all(.requests == 30)
$ dpm report --json trace
jq: [.parallelism.rows[] | select(.step == "sharing").P] | length == 3 and near(.[0]; 4 / 3) and near(.[1]; 4 / 3) and near(.[2]; 1)
jq: (.statistics | [.pairs[] | .bytes] | max) == 15000
$ sed 's/<[^>]*>/ /g' page.html | grep -A 12 'Parallelism *$'
like: one-each max 1\.33 156 ms
like: one-machine sharing 1\.00 208 ms
$ grep -c -e '<b>' -e 'https\?://' page.html
exits: 1

== who did the work is not said of a run that hardly computed
process main launched
process helper created by main
main computes 10ms
helper computes 15ms
main sleeps 1s in clock_nanosleep
helper ends
main ends
$ dpm report trace
never: Work
$ dpm report --all trace
says: Work The work (25.0 ms of CPU time) was shared: the busiest of 2 processes, helper[101], did 60%.

== two processes that wait for each other since before the recording: no thread ran
process one pid 200
process two pid 201
tcp c: one > two older
at 1ms SCHEDULE stream=one runnable=5000000 voluntary=3 involuntary=1
at 1ms SCHEDULE stream=two runnable=6000000 voluntary=4 involuntary=1
at 4s SCHEDULE stream=one runnable=5000000 voluntary=3 involuntary=1
at 4s SCHEDULE stream=two runnable=6000000 voluntary=4 involuntary=1
ends at 4s+1ms
$ dpm report trace
first: Asleep 2 threads of one[200], two[201] did not run for 4.00 s: what they wait for did not come. That is an idle server, or a deadlock:
$ dpm report --json trace
jq: .findings[0] | .kind == "asleep" and (.processes | length) == 2

== ... but if one of them has run, the other may be idle
process one pid 200
process two pid 201
tcp c: one > two older
at 1ms SCHEDULE stream=one runnable=5000000 voluntary=3 involuntary=1
at 1ms SCHEDULE stream=two runnable=6000000 voluntary=4 involuntary=1
at 4s SCHEDULE stream=one runnable=5000000 voluntary=3 involuntary=1
at 4s SCHEDULE stream=two runnable=6000000 voluntary=5 involuntary=1
ends at 4s+1ms
$ dpm report trace
never: Asleep
