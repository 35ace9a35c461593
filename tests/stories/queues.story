# SPDX-License-Identifier: MIT
# How long messages wait to be received, and senders for buffer space; request latency and service time; sizes; over time.

== a server that needs one millisecond for each request, and bursts of fifteen
| client  15 requests at once ----------------- 20 ms later 15 more      20 times
| server  |=1=|=2=|=3=| ... |=15=|  waits      |=1=|
|         the second waits 1 ms, the third 2 ms, the last 14 ms
for k in tcp udp unix-stream pipe
    process client.$k
    process server.$k
    $k $k: client.$k > server.$k older
    20 times
        15 times
            client.$k sends 100 on $k in 2us
        end
        15 times
            server.$k receives 100 on $k
            server.$k computes 1ms
        end
        client.$k idles 35ms
    end
end
$ dpm stats --json trace
jq: [.processes[] | select(.name == "server").message_wait_ns] | length == 4 and all(
    .count == 300 and near(.p50; 7e6) and near(.max; 14e6) and near(.mean * .count; 20 * 105e6))
jq: [.processes[] | select(.name == "server").queue] | length == 4 and all(.messages_max == 14 and .bytes_max == 1400 and
    .unreceived == 0)
jq: .trace.duration_ns as $time | [.paths[].queue.messages_mean] | length == 4 and all(near(. * $time; 2.1e9))
jq: .pairs | length == 4 and all(.message_wait_ns.count == 300 and (.receiver_wait_ns | .count == 20 and near(.p50; 20e6) and
    near(.mean * .count; 19 * 20.03e6)))
jq: [.late_senders[] | .from + 1 == .to and near(.receiver_waited_ns; 380e6) and .messages_waited_ns > 2e9] ==
    [true, true, true, true] and .late_receivers == []
$ dpm stats --by pair trace
like: client\[104\] server\[105\] 3[78]\d ms (19|20)\.\d ms 28\d ms 7\.\d\d ms .* the sender
$ dpm report trace
says: server[105] has the longest receive queue: 3.09 messages on average, at most 14.

== ... and a burst every twenty milliseconds: the server waits for 5 of these, requests wait for 14 of them
process client
process server
unix-stream u: client > server older
20 times
    15 times
        client sends 100 on u in 2us
    end
    15 times
        server receives 100 on u
        server computes 1ms
    end
    client idles 20ms
end
$ dpm stats --json trace
jq: (.late_receivers | length) == 1 and .late_senders == []
$ dpm stats --by pair trace
like: client\[100\] server\[101\] .* 280 ms 7\.00 ms .* the receiver
$ dpm report trace
says: Late Messages from client[100] waited in the receive queue of server[101]: median 7.00 ms; for 280 ms at least one was there.

== a server that answers: it is idle for six of twenty milliseconds, but for five of these, requests wait for it
| client  ask one ---------. ask three -------------------.   6 ms    20 times
| server  === 6.5 ms =====' |= 2.5 =|= 2.5 =|= 2.5 =|    idle
|         the second waits 2.5 ms, the third 5 ms
process client pid 100
process server pid 200
for k in 1 2 3
    tcp c$k: client > server ports 4000$k,80
    client connects c$k
    server accepts c$k
end
20 times
    client idles 6ms
    client sends 10 on c1
    server receives on c1
    server computes 6500us
    server sends 10 on c1
    client receives on c1
    for k in 1 2 3
        client sends 10 on c$k in 2us
    end
    for k in 1 2 3
        server receives on c$k
        server computes 2500us
        server sends 10 on c$k
        client receives on c$k
    end
end
$ dpm stats --json trace
jq: .pairs[] | select(.from == 1) | .receiver_wait_covered_ns > 110e6 and .message_wait_covered_ns > 95e6 and
    .message_wait_covered_ns < .receiver_wait_covered_ns
jq: [.late_receivers[] | [.from, .to]] == [[1, 2]] and [.late_senders[] | [.from, .to]] == [[2, 1]]
jq: .late_receivers[0] | .message_wait_covered_ns > 95e6 and .receiver_wait_covered_ns > .message_wait_covered_ns
$ dpm stats --by pair trace
like: client\[100\] server\[200\] .* the receiver
$ dpm report trace
like: Messages from client\[100\] waited in the receive queue of server\[200\]: median [0-9.]+ [a-z]+; for (99\.\d|10\d) ms at least one

== three servers that wait for requests take no place from a receiver that is late
process client pid 100
process writer pid 250
process reader pid 300
for k in 1 2 3
    process server.$k pid 20$k
    tcp c$k: client > server.$k ports 4000$k,80
    client connects c$k
    server.$k accepts c$k
end
unix-stream u: writer > reader older
20 times
    writer sends 100 on u in 2us
end
reader idles 200ms
20 times
    reader receives 100 on u
end
10 times
    client idles 50ms
    for k in 1 2 3
        client sends 10 on c$k
        server.$k receives on c$k
        server.$k computes 1ms
        server.$k sends 10 on c$k
        client receives on c$k
    end
end
$ dpm report trace
like: Messages from writer\[250\] waited in the receive queue of reader\[300\]: median 200 ms

== data is in the queue before the call that sends it has ended
| client  send ============ 20 us =.
| server  (in its queue after 10 us)
process client
process server
tcp c: client > server
client connects c
server accepts c
10 times
    client sends 100 on c in 20us
    server receives on c
    client idles 1ms
end
$ dpm stats --json trace
jq: .pairs[0].delivery_ns | .count == 10 and near(.p50; 10e3) and near(.max; 10e3)

== what is sent before the server has accepted the connection waits, too
process client launched
process server
tcp c: client > server
client connects c
client sends 100 on c
server idles 50ms
server accepts c
server receives on c
$ dpm stats --json trace
jq: .pairs[0].message_wait_ns | .count == 1 and near(.max; 50e6)

== a client that finds no buffer space
| writer  |blocked 8 ms|blocked 8 ms| ...
| reader  ===== computes 8 ms ==== receive
for k in unix-stream pipe
    process writer.$k
    process reader.$k
    $k $k: writer.$k > reader.$k older
    writer.$k sends 4096 on $k
    10 times
        writer.$k starts sending 4096 on $k with 0 out
        reader.$k computes 8ms
        reader.$k receives 4096 on $k
        writer.$k finishes sending on $k
    end
    reader.$k receives on $k
end
$ dpm stats --json trace
jq: [.processes[] | select(.name == "writer").sender_blocked_ns] | length == 2 and all(.count == 10 and near(.mean * .count; 80e6))
jq: [.pairs[].message_wait_ns] | length == 2 and all(.count == 11 and near(.max; 8e6) and near(.mean * .count; 80e6))
jq: [.processes[] | select(.name == "reader").queue.messages_max] == [1, 1]
jq: [.late_receivers[] | [.from, .to]] | sort == [[1, 2], [3, 4]]
jq: .late_senders == []
$ dpm report trace
says: writer[100] was blocked for 80.0 ms while sending to reader[101], which was slow to receive

== a client that finds no buffer space, of which two processes make some
| writer    |blocked 8 ms|blocked 8 ms| ...
| reader.1  ===== computes 8 ms ==== receive ...
| reader.2                                   receives one at the end
process writer
process reader.1
process reader.2
unix-stream s: writer > reader.1 older
writer sends 4096 on s
10 times
    writer starts sending 4096 on s with 0 out
    reader.1 computes 8ms
    reader.1 receives 4096 on s.2
    writer finishes sending on s
end
reader.2 idles until 80ms
reader.2 receives 4096 on s.2
$ dpm report trace
like: writer\[100\] was blocked for 80\.[01] ms while sending to reader\[101\], reader\[102\], which were slow to receive

== a process that two receivers block: three threads together for a second, later one for eight
| server w1 |--- blocked 1 s ---|
| server w2 |--- blocked 1 s ---|
| server w3 |--- blocked 1 s ---|
| server                            |------ blocked 8 s ------|
process server pid 200
process one pid 300
process other pid 400
unix-stream last: server > other older
for w in 1 2 3
    thread w$w of server
    unix-stream u$w: w$w > one older
    w$w sends 4096 on u$w
    w$w starts sending 4096 on u$w with 0 out
end
one computes 1s
for w in 1 2 3
    one receives 4096 on u$w
    w$w finishes sending on u$w
    one receives on u$w
end
server idles until 2s
server sends 4096 on last
server starts sending 4096 on last with 0 out
other idles until 2s
other computes 8s
other receives 4096 on last
server finishes sending on last
other receives on last
$ dpm stats --json trace
jq: [.pairs[] | [.to, .sender_blocked_ns.count]] | sort == [[2, 3], [3, 1]]
jq: [.pairs[] | .sender_blocked_covered_ns] | sort | near(.[0]; 1e9) and near(.[1]; 8e9)

== ... and one that an unmonitored receiver blocks for eight seconds: those are not of the other one
process server pid 200
process one pid 300
outside user at 10.0.0.8
tcp last: server > user older ports 40001,80
for w in 1 2 3
    thread w$w of server
    unix-stream u$w: w$w > one older
    w$w sends 4096 on u$w
    w$w starts sending 4096 on u$w with 0 out
end
one computes 1s
for w in 1 2 3
    one receives 4096 on u$w
    w$w finishes sending on u$w
    one receives on u$w
end
server idles until 2s
server sends 4096 on last
server starts sending 4096 on last with 0 out
user idles until 10s
user receives 4096 on last
server finishes sending on last
user receives on last
$ dpm stats --json trace
jq: .pairs[] | select(.to == 2) | .sender_blocked_ns.count == 3 and near(.sender_blocked_covered_ns; 1e9)
jq: .pairs[] | select(.to != 2) | near(.sender_blocked_covered_ns; 8e9)

== a wait for the first message of a connection
| client  connect, wait ----------.        ten times
| server  accept -- 30 ms -- send '
for k in tcp unix-stream
    process client.$k launched
    process server.$k
    for i in 1 2 3 4 5 6 7 8 9 10
        $k $k$i: client.$k > server.$k
        client.$k connects $k$i
        server.$k accepts $k$i
        server.$k sleeps 30ms in clock_nanosleep
        server.$k sends 7 on $k$i
        client.$k receives on $k$i
        client.$k sends 3 on $k$i
        server.$k receives on $k$i
        client.$k closes $k$i
        server.$k closes $k$i
    end
end
$ dpm stats --json trace
jq: [.pairs[].receiver_wait_ns | select(.max > 1e6)] | length == 2 and all(.count == 10 and near(.mean * .count; 300e6))

# A quantile has so many of a hundred values before it: of 200 values, 180 of which take 1 ms and 18 take 10 ms, p90 is 10 ms.
== service time and request latency, and their quantiles
| client  ask ---.                  .--- answered
| server          '-- 1 to 100 ms --'
process client launched
process server
tcp c: client > server
unix-stream u: client > server
client connects c
server accepts c
for c in c u
    90 times
        client sends 100 on $c
        server receives on $c
        server idles 1ms
        server sends 300 on $c
        client receives on $c
    end
    9 times
        client sends 101 on $c
        server receives on $c
        server idles 10ms
        server sends 303 on $c
        client receives on $c
    end
    client sends 299 on $c
    server receives on $c
    server idles 100ms
    server sends 897 on $c
    client receives on $c
end
client closes c
server closes c
$ dpm stats --json trace
jq: .processes[] | select(.name == "server").response_ns | .count == 200 and near(.min; 1e6) and near(.max; 100e6) and near(.mean; 2.8e6) and
    near(.p50; 1e6) and near(.p90; 1e6) and near(.p99; 10e6)
jq: .processes[] | select(.name == "client").request_ns | .count == 200 and near(.min; 1.03e6) and near(.max; 100e6) and near(.mean; 2.83e6) and
    near(.p50; 1.03e6) and near(.p90; 1.03e6) and near(.p99; 10.03e6)
jq: .paths | length == 2 and all(.response_ns.count == 100 and near(.response_ns.mean; 2.8e6) and near(.request_ns.mean; 2.83e6))
jq: [.pairs[].size | [.count, .min, .max]] | sort == [[200, 100, 299], [200, 300, 897]]
jq: [.processes[].size | [.count, .min, .max]] | sort == [[200, 100, 299], [200, 300, 897]]
jq: .paths | all(.size | [.count, .min, .p50, .p90, .p99, .max] == [200, 100, 299, 300, 303, 897])
jq: .trace | .local.messages == 400 and .remote.messages == 0 and .connections == 2 and .ended == 1
jq: [.processes[].share] | near(map(.messages) | add; 1) and near(map(.bytes) | add; 1)
$ dpm stats trace
says: server[101] service time 200 2.80 ms
says: 2 connections, 1 of them ended.

== connections that have ended, and a port that is used again
| client  port 40001: connect, send, close; connect, send, close ...   five times; and three other ports
process client launched
process server
for i in 1 2 3 4 5
    tcp c$i: client > server ports 40001,80
    client connects c$i
    server accepts c$i
    client sends 1 on c$i
    server receives on c$i
    client closes c$i
    server closes c$i
end
for i in 6 7 8
    tcp c$i: client > server ports 4000$i,80
    client connects c$i
    server accepts c$i
    client sends 1 on c$i
    server receives on c$i
    client closes c$i
    server closes c$i
end
$ dpm stats --json trace
jq: .trace.connections == 8 and .trace.ended == 8 and .trace.matching.exact == 8
jq: (.paths | map(.connections) | add) == 8 and (.paths | map(.ended) | add) == 8
$ dpm stats trace
says: 8 connections, 8 of them ended.

== a single connection, which ended
process client launched
process server
tcp c: client > server
client connects c
server accepts c
client sends 1 on c
server receives on c
client closes c
server closes c
$ dpm stats trace
says: 1 connection, which ended.

== ... and carried no message
process client launched
process server
tcp c: client > server
client connects c
server accepts c
client closes c
server closes c
$ dpm stats trace
says: 1 connection, which ended and was never used.

== over time: what is sent in each interval
| one  send -- 40 ms -- send -- send -- 40 ms -- send ... (nothing for 50 ms) send
process one
process other
unix-stream u: one > other older
for size in 100 200 300
    one sends $size on u
    other receives on u
    one idles 40ms
    one sends 1 on u
    other receives on u
    one idles 10ms
end
one idles 50ms
one sends 7 on u
other receives on u
$ dpm stats --json --every 50ms trace
jq: [.intervals[] | [.messages, .bytes]] == [[2, 101], [2, 201], [2, 301], [0, 0], [1, 7]]

== percentiles of sizes and times are values that were there: 45 bytes are 45, and the median of 1.1 and 30.1 ms is 1.1 ms
process client pid 100
process server pid 200
tcp c: client > server older
10 times
    client sends 45 on c
    server receives on c
    server idles 1100us
    server sends 5 on c
    client receives on c
end
10 times
    client sends 45 on c
    server receives on c
    server idles 30100us
    server sends 1022 on c
    client receives on c
end
client sends 2000 on c
server receives on c
server idles 30100us
server sends 5 on c
client receives on c
$ dpm stats --json trace
jq: [.pairs[] | [.from, .size.min, .size.p50, .size.p90, .size.p99, .size.max]] | sort == [[1, 45, 45, 45, 2000, 2000], [2, 5, 5, 1022, 1022, 1022]]
jq: .processes[] | select(.name == "server").response_ns | (.p50 / 30100e3 - 1 | fabs) < 0.001
$ dpm stats --to 330ms --json trace
jq: .processes[] | select(.name == "server").response_ns | .count == 20 and (.p50 / 1100e3 - 1 | fabs) < 0.001
$ dpm why --to 330ms --json trace
jq: .requests | .count == 20 and near(.median_ns; 1.13e6)

== messages that wait for any of two readers of a pipe, for a part of the time
| parent  4 sends at once --- 40 ms later 4 more ...    10 times
| reader  |=1=|=3=|  waits    |=1=|                     1 ms each
| reader  |=2=|=4=|  waits    |=2=|
process parent launched
process reader.1 created by parent
process reader.2 created by parent
pipe p: parent > reader.1
10 times
    4 times
        parent sends 1 on p.1 in 2us
    end
    2 times
        for r in 1 2
            reader.$r receives 1 on p.2
            reader.$r computes 1ms
        end
    end
    parent idles 40ms
end
$ dpm stats --json trace
jq: .pairs | length == 1 and (.[0] | near(.message_wait_covered_ns; 10.17e6))

== sixty workers read one pipe, and the name of one has quotes: a cell of CSV has all of them
| boss       o o o o ...
| worker     1 2 3 4 ... 60
process boss pid 99
60 times
    process worker.$N pid 10$N
end
process last pid 200 named 'a,"b"'
pipe p: boss > worker.1
60 times
    boss sends 10 on p.1
    worker.$N receives 10 on p.2
end
boss sends 10 on p.1
last receives 10 on p.2
$ dpm stats --csv --by pair trace | python3 -c 'import csv, sys; print([(len(row["to"].split()), row["to"].split()[59:],
    row["messages"]) for row in csv.DictReader(sys.stdin)])'
says: [(61, ['worker[1060]', 'a,"b"[200]'], '61')]

== a server that takes one connection after the other: the others' requests are in its queue, too
| client.1-5  connect, ask at once ...... answered, connect, ask        4 times each
| server      accept, receive == 20 ms == answer, accept ...
process server pid 200
for k in 1 2 3 4 5
    process client.$k
end
4 times
    for k in 1 2 3 4 5
        tcp c$k.$N: client.$k > server
        client.$k connects c$k.$N
        client.$k sends 80 on c$k.$N
    end
    for k in 1 2 3 4 5
        server accepts c$k.$N
        server receives on c$k.$N
        server sleeps 20ms in clock_nanosleep
        server sends 100 on c$k.$N
        client.$k receives on c$k.$N
        client.$k closes c$k.$N
        server closes c$k.$N
    end
end
$ dpm stats --json trace
jq: .processes[] | select(.name == "server") | .queue.messages_max == 5 and .queue.bytes_max == 400
$ dpm report trace
like: server\[200\] has the longest receive queue: [0-9.]+ messages on average, at most 5\.

== what was received before its receiver's records begin is not in its queue
| server  sends 1, 2 ... 20                sends 21
| client  receives 1 to 20, not recorded   receives it at once
process server pid 200
process client pid 300
unix-stream u: server > client older
client sends 5 on u
server receives on u
20 times
    server sends 10 on u
    server idles 10ms
end
server sends 10 on u
client idles 201ms
at 201ms RECEIVE stream=client path=2 offset=200 bytes=10
client computes 1ms
client ends
server ends
$ dpm stats --json trace
jq: .processes[] | select(.name == "client") | .queue | .messages_max == 1 and .messages_mean < 0.1 and .unreceived == 0
jq: .paths[0].queue.messages_max == 1

== a process that lived for a moment, and left a message unread: its mean is that of its life, and no finding
process server pid 200
process client pid 300
process child pid 201 created by server
tcp c: client > child
client connects c
child accepts c
client sends 100 on c
client sends 50 on c
child receives 100 on c
child computes 1ms
child sends 10 on c
child closes c
child ends
client receives on c
server idles 5s
server computes 1ms
server sleeps 1ms in clock_nanosleep
$ dpm report trace
never: Queues

== ... unlike one that lived on
process server pid 200
process client pid 300
tcp c: client > server
client connects c
server accepts c
client sends 100 on c
client sends 50 on c
server receives 100 on c
server computes 1ms
server sends 10 on c
client receives on c
server idles 5s
server receives 50 on c
server computes 1ms
$ dpm report trace
says: Queues server[200] has the longest receive queue: 1.00 messages on average

== what was sent over time: no two intervals have the same time, which --from takes
process one
process other
unix-stream u: one > other older
for round in 1 2 3 4
    one sends 10 on u
    other receives on u
    one idles 50s
end
$ dpm stats --every 500ms trace
says: Sent in each 500 ms
like: \n99\.5 s \d+ \d+ B
like: \n120\.0 s \d+ \d+ B\n120\.5 s \d+ \d+ B\n121\.0 s
never: 2 min 01 s
$ dpm stats --every 50s trace
like: \n50\.0 s 1 10 B
