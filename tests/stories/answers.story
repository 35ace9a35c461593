# SPDX-License-Identifier: MIT
# How programs use connections: answers in pieces, sends that are held back, requests that queue for a pooled connection, a
# connection for each request, replies from processes that are not metered.

== an answer in pieces lasts until its last byte
| client  ask ---. .-----.-----.----- ... ---- answered
| server         '-- 10 ms - 10 ms - ...          20 pieces, twice
process client launched
process server pid 200
tcp c: client > server
client connects c
server accepts c
2 times
    client sends 1 on c
    server receives on c
    server sends 100 on c
    client receives on c
    19 times
        server sleeps 10ms in clock_nanosleep
        server sends 100 on c
        client receives on c
    end
    client idles 50ms
    server idles 50ms
end
$ dpm stats --json trace
jq: .processes[] | select(.name == "server") | .response_ns.count == 2 and .response_ns.max <= 10 and
    .response_last_byte_ns.count == 2 and near(.response_last_byte_ns.min; 190e6) and near(.response_last_byte_ns.mean; 190e6)
jq: .processes[] | select(.name == "client") | .request_ns.count == 2 and near(.request_ns.max; 30e3) and
    .request_last_byte_ns.count == 2 and (.request_last_byte_ns.mean - 190.03e6 | fabs) < 50
jq: .processes[] | select(.name == "client") | .response_ns == null
$ dpm report trace
says: client[100] sent 2 requests: request latency to the last byte median 190 ms, p99 190 ms, max 190 ms. The first byte came
    after 30.0 us (median).
says: server[200] answered 2 requests: service time to the last byte median 190 ms, p99 190 ms, max 190 ms. The first byte came
    after
$ dpm stats trace
says: client[100] request latency 2 30.0 us
says: client[100] request latency, last byte 2 190 ms
says: server[200] service time, last byte 2 190 ms
$ dpm parallelism --json trace
jq: [.. | objects | select(has("elapsed_ns") and has("time_ns"))] | length > 0 and all(.elapsed_ns <= .time_ns)

== Nagle's algorithm holds back the second of two sends
| client  ask ---. .- header .......................... body
| server         '-+- body waits for an acknowledgement -'     15 times
process client launched
process server pid 200
tcp c: client > server
client connects c
server accepts c
15 times
    client sends 70 on c
    server receives on c
    server sends 150 on c
    server sends 1000 on c held 40ms
    client receives 150 on c
    client receives 1000 on c
    client idles 10ms
end
$ dpm stats --json trace
jq: .paths[0].nagle | .received == 15 and near(.received_ns; 600e6) and .sent == 0
$ dpm report trace
says: Nagle's algorithm held back 15 of 30 messages from server[200] 127.0.0.1:80 to client[100] 127.0.0.1:40001, each by 40.0 ms
    on average (600 ms of 7
says: the receiver delays its acknowledgement. Set TCP_NODELAY, or send it in one call.

== ... of a command: the critical path says nothing else, and no faster network would help
process client launched
process server pid 200 created by client
tcp c: client > server
client connects c
server accepts c
15 times
    client sends 70 on c
    server receives on c
    server computes 20us
    server sends 150 on c
    server computes 20us
    server sends 1000 on c held 40ms
    client receives 150 on c
    client receives 1000 on c
    client computes 5ms
end
client ends
$ dpm report trace
says: Nagle's algorithm held back
never: were in flight for
$ dpm report --json trace
jq: [.findings[] | select(.kind == "path_in_flight")] | length == 1 and .[0].aside

== ... and where nothing is held back, messages within one machine pass no network
process client launched
process server pid 200 created by client
tcp c: client > server latency 20ms
client connects c
server accepts c
15 times
    client sends 70 on c
    server receives on c
    server computes 20us
    server sends 150 on c
    client receives on c
    client computes 5ms
end
client ends
$ dpm report --all trace
says: that elapsed: faster programs do not shorten that. Fewer messages would.
never: Nagle

== ... held back on another connection, for little of the time: the path through the network is said, too
machine far1 at 10.83.7.1
machine far2 at 10.83.7.2
process client of far1 launched
process server of far2 launched
tcp c: client > server ports 41000,7000 latency 20ms
tcp l: client > server ports 41001,7001 latency 1ms
for c in c l
    client connects $c
    server accepts $c
end
40 times
    client sends 3 on c
    server receives 3 on c
    server computes 2ms
    server sends 3 on c
    client receives 3 on c
    client computes 10us
end
12 times
    client sends 3 on l
    client sends 5 on l held 40ms
    server receives 3 on l
    server receives 5 on l
    server computes 10us
    server sends 3 on l
    client receives 3 on l
    client computes 10us
end
client ends
server ends
$ dpm report far1 far2
says: Messages on the critical path were in flight for
says: Nagle's algorithm held back

== ... on a connection that is older than the recording: what TCP sent again before is no evidence against it
process client launched
process server pid 200
tcp c: client > server older
15 times
    client sends 70 on c
    server receives on c
    server sends 150 on c
    server sends 1000 on c held 40ms
    client receives 150 on c
    client receives 1000 on c
    client idles 10ms
end
at 900ms NETWORK connection=c.2 retransmitted=4812 roundTrip=30
$ dpm report trace
says: Nagle's algorithm held back
never: TCP retransmitted

== what TCP sent again is known of a connection that began in the recording, not of an older one
process client launched
process server pid 200
tcp new: client > server
tcp old: client > server older ports 50000,81
client connects new
server accepts new
for c in new old
    client sends 3 on $c
    server receives on $c
end
at 10ms NETWORK connection=new.1 retransmitted=2 roundTrip=30
at 10ms NETWORK connection=old.1 retransmitted=4812 roundTrip=40
$ dpm stats --json trace
jq: [.paths[].network | [.retransmitted, .round_trip_ns]] | sort == [[null, 40000], [2, 30000]]
$ dpm stats --csv --by path trace
like: ,127.0.0.1:80,.*,0,2,30000,
like: ,127.0.0.1:81,.*,0,,40000,
$ dpm report --all trace
says: TCP retransmitted 2 segments between client[100]

== what takes longer than a delayed acknowledgement is no such message
process client launched
process server pid 200
tcp c: client > server
client connects c
server accepts c
for D in 20ms 25ms 29ms 125ms 200ms
    client sends 70 on c
    server receives on c
    server sends 150 on c
    server sends 1000 on c held $D
    client receives 150 on c
    client receives 1000 on c
end
$ dpm stats --json trace
jq: .paths[0].nagle.received == 0
$ dpm report trace
never: Nagle

== with TCP_NODELAY nothing is held back
process client launched
process server pid 200
tcp c: client > server
client connects c
server accepts c
15 times
    client sends 70 on c
    server receives on c
    server sends 150 on c
    server sends 1000 on c
    client receives 150 on c
    client receives 1000 on c
    client idles 10ms
end
$ dpm stats --json trace
jq: .paths[0].nagle | .sent + .received == 0
$ dpm report trace
never: Nagle

== a server that sleeps between its two sends is late itself
process client launched
process server pid 200
tcp c: client > server
client connects c
server accepts c
15 times
    client sends 70 on c
    server receives on c
    server sends 150 on c
    server sleeps 40ms in clock_nanosleep
    server sends 1000 on c
    client receives 150 on c
    client receives 1000 on c
    client idles 10ms
end
$ dpm stats --json trace
jq: .paths[0].nagle | .sent + .received == 0
$ dpm report trace
never: Nagle

== of a slow network nobody knows what is held back
process client launched
process server pid 200
tcp c: client > server latency 40ms
client connects c
server accepts c
15 times
    client sends 70 on c
    server receives on c
    server sends 150 on c
    server sends 1000 on c
    client receives 150 on c
    client receives 1000 on c
end
$ dpm stats --json trace
jq: .paths[0].nagle | .sent + .received == 0

== requests of three clients queue for one connection to the back end
| ask.1   ask -.                    .- answered, asks again ...
| ask.2   ask -+-.                  |               .- answered ...
| ask.3   ask -+-+-.                |               |               .- answered ...
| front        '-'-'- call -.       '- next call -. '- next call -. '
| back                      '- 5 ms '             '- 5 ms '       '- 5 ms -
process back pid 50
process front pid 60
process client pid 70
tcp pool: front > back older ports 40000,81
for i in 1 2 3
    thread ask.$i of client
    tcp f$i: client > front older
end
ask.1 sends 1 on f1
front receives on f1 in epoll_wait
front sends 1 on pool
for i in 2 3
    ask.$i idles 1ms
    ask.$i sends 1 on f$i
    front receives on f$i in epoll_wait
end
9 times
    for i in 1 2 3
        back receives on pool
        back sleeps 5ms in clock_nanosleep
        back sends 1 on pool
        front receives on pool in epoll_wait
        front sends 1 on f$i
        front sends 1 on pool
        ask.$i receives on f$i
        ask.$i sends 1 on f$i
        front receives on f$i in epoll_wait
    end
end
for i in 1 2
    back receives on pool
    back sleeps 5ms in clock_nanosleep
    back sends 1 on pool
    front receives on pool in epoll_wait
    front sends 1 on f$i
    front sends 1 on pool
    ask.$i receives on f$i
end
back receives on pool
back sleeps 5ms in clock_nanosleep
back sends 1 on pool
front receives on pool in epoll_wait
front sends 1 on f3
ask.3 receives on f3
$ dpm causality --json trace
jq: .requests.count == 30 and .requests.replies == 30
jq: .paths | length == 1 and .[0].string == "ABA" and .[0].count == 30 and .[0].answered
jq: .precision.assumed.waiting > 0
jq: .pools | length == 1 and (.[0] | .connections == 1 and .requests == 30 and .waits_ns.count == 29)
$ dpm report trace
says: 29 of 30 requests in front[60] waited until a connection to back[50] 127.0.0.1:81 was free (it used 1 in all): median 10.0 ms, max
    10.0 ms (in 145 ms of 151 ms at least one waited). Which request waited is assumed. Use more connections, or make the back
    end faster.
says: 100% of the request paths are ABA: median 15.1 ms, p99 15.1 ms (A = front[60], B = back[50]). 48% of the messages are
    attributed to requests by assumption.

== ... of several machines it says whose pool it is: processes of two may have one number
machine web1 at 10.83.7.1
machine web2 at 10.83.7.2
process front.2 pid 60 of web2
process back pid 50 of web1
process front pid 60 of web1
process client pid 70 of web1
tcp pool: front > back older ports 40000,81
for i in 1 2 3
    thread ask.$i of client
    tcp f$i: client > front older ports 4001$i,80
end
front.2 computes 1ms
ask.1 sends 1 on f1
front receives on f1 in epoll_wait
front sends 1 on pool
for i in 2 3
    ask.$i idles 1ms
    ask.$i sends 1 on f$i
    front receives on f$i in epoll_wait
end
9 times
    for i in 1 2 3
        back receives on pool
        back sleeps 5ms in clock_nanosleep
        back sends 1 on pool
        front receives on pool in epoll_wait
        front sends 1 on f$i
        front sends 1 on pool
        ask.$i receives on f$i
        ask.$i sends 1 on f$i
        front receives on f$i in epoll_wait
    end
end
$ dpm report web1 web2
says: requests in front[60]@web1 waited until a connection to back[50]@web1

== beside load the front end lacks a CPU before it calls again: the requests waited for the connection all the same
process back pid 50
process front pid 60
process client pid 70
tcp pool: front > back older ports 40000,81
for i in 1 2
    thread ask.$i of client
    tcp f$i: client > front older
end
ask.1 sends 1 on f1
front receives on f1 in epoll_wait
front sends 1 on pool
ask.2 idles 1ms
ask.2 sends 1 on f2
front receives on f2 in epoll_wait
5 times
    for i in 1 2
        back receives on pool
        back sleeps 5ms in clock_nanosleep
        back sends 1 on pool
        front receives on pool in epoll_wait
        front lacks a CPU for 20ms
        front sends 1 on f$i
        front sends 1 on pool
        ask.$i receives on f$i
        ask.$i sends 1 on f$i
        front receives on f$i in epoll_wait
    end
end
$ dpm causality --json trace
jq: .pools | length == 1 and (.[0] | .connections == 1 and .requests == 11 and .waits_ns.count >= 9)

== a pool with a connection for each request: none waits
process back pid 50
process front pid 60
process client pid 70
for i in 1 2 3
    tcp pool$i: front > back older ports 4000$i,81
    thread ask.$i of client
    tcp f$i: client > front older
end
10 times
    for i in 1 2 3
        ask.$i sends 1 on f$i
        front receives on f$i in epoll_wait
        front sends 1 on pool$i
        back receives on pool$i in epoll_wait
        back sends 1 on pool$i
        front receives on pool$i in epoll_wait
        front sends 1 on f$i
        ask.$i receives on f$i
    end
end
$ dpm causality --json trace
jq: .requests.count == 30 and ([.pools[] | select(.waits_ns.count > 0)] | length == 0)
$ dpm report trace
never: which was busy

== 200 requests, each over its own connection
| client  connect, ask -.  .- answered, close    200 times
| server                '--'
process client launched
process server pid 200
200 times
    tcp c$N: client > server
    client connects c$N
    server accepts c$N
    client sends 1 on c$N
    server receives on c$N
    server sends 1 on c$N
    client receives on c$N
    client closes c$N
    server closes c$N
    client idles 1ms
end
$ dpm report trace
says: 200 requests to server[200] 127.0.0.1:80 came over 200 connections, 9
says: nearly each makes its own. Keep connections open (keep-alive, or a pool).

== 200 connections, each tenth of which has a second request: it would save connecting, not the answers
process client launched
process server pid 200
for K in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20
    9 times
        tcp c$K.$N: client > server
        client connects c$K.$N
        server accepts c$K.$N
        client sends 1 on c$K.$N
        server receives on c$K.$N
        server computes 20ms
        server sends 1 on c$K.$N
        client receives on c$K.$N
        client closes c$K.$N
        server closes c$K.$N
    end
    1 times
        tcp d$K.$N: client > server
        client connects d$K.$N
        server accepts d$K.$N
        for ask in one another
            client sends 1 on d$K.$N
            server receives on d$K.$N
            server computes 20ms
            server sends 1 on d$K.$N
            client receives on d$K.$N
        end
        client closes d$K.$N
        server closes d$K.$N
    end
end
client ends
$ dpm report trace
says: 220 requests to server[200] 127.0.0.1:80 came over 200 connections,
says: nearly each makes its own. Keep connections open (keep-alive, or a pool).

== ... and if more of them have a second request, it is not nearly each that makes its own
process client launched
process server pid 200
for K in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20
    6 times
        tcp c$K.$N: client > server
        client connects c$K.$N
        server accepts c$K.$N
        client sends 1 on c$K.$N
        server receives on c$K.$N
        server computes 20ms
        server sends 1 on c$K.$N
        client receives on c$K.$N
        client closes c$K.$N
        server closes c$K.$N
    end
    4 times
        tcp d$K.$N: client > server
        client connects d$K.$N
        server accepts d$K.$N
        for ask in one another
            client sends 1 on d$K.$N
            server receives on d$K.$N
            server computes 20ms
            server sends 1 on d$K.$N
            client receives on d$K.$N
        end
        client closes d$K.$N
        server closes d$K.$N
    end
end
client ends
$ dpm report trace
never: nearly each

== 200 requests over one connection
process client launched
process server pid 200
tcp c: client > server
client connects c
server accepts c
200 times
    client sends 1 on c
    server receives on c
    server sends 1 on c
    client receives on c
    client idles 1ms
end
$ dpm report trace
never: Keep connections open
never: came over

== pipes have no requests
| seq  --- numbers --.
| sort               '-- sorted --.
| wc                              '- counts
process seq
process sort
process wc
pipe one: seq > sort
pipe two: sort > wc
seq sends 292 on one
seq closes one
seq ends
sort receives on one
sort finds the end of one
sort sends 292 on two
sort closes two
sort ends
wc receives on two
wc finds the end of two
wc ends
$ dpm report --json trace
jq: [.findings[] | select(.topic == "Requests" or .topic == "Answers")] == []

== an answer of a server that is not metered is drawn with the time that it took
| client    ask -- computes -- . - answered
| (server)   '------ 40 ms ----'             five times, later and later
process client launched
outside server
tcp c: client > server
client connects c
server accepts c
for D in 10ms 20ms 30ms 40ms 50ms
    client sends 1 on c
    server receives on c
    server idles $D
    server sends 1 on c
    client computes 5ms
    client receives on c
end
$ dpm graph -o outside.svg trace && grep -o 'answer from outside, took [0-9.]* ms' outside.svg
is: answer from outside, took 10.2 ms answer from outside, took 20.2 ms answer from outside, took 30.2 ms
    answer from outside, took 40.2 ms answer from outside, took 50.2 ms
$ dpm graph -o outside.dot trace && sed -n 's/^ *\(e[0-9]*\) -> e[0-9]* .*answer from outside.*from SEND.*/\1/p' outside.dot |
    sort -u | wc -l
is: 5
$ dpm path --graph path.svg trace > words && grep -c 'answer from outside, took' path.svg
is: 5
$ dpm parallelism trace
says: 5 replies from unmonitored peers
$ dpm graph --from 1000s trace > none.svg && grep -c 'answer from outside, took' none.svg
exits: 1

== an answer of a metered server is a message, and no such arc
process client launched
process server pid 200
tcp c: client > server
client connects c
server accepts c
5 times
    client sends 1 on c
    server receives on c
    server idles 20ms
    server sends 1 on c
    client receives on c
end
$ dpm graph --most 10000 -o inside.svg trace && grep -c 'answer from outside, took' inside.svg
exits: 1
$ grep -c '<path class="arc exact' inside.svg
is: 10

== a pool of two connections to two processes at one address, of which a third one answers somebody else
process back.1 pid 51
process back.2 pid 52
process back.3 pid 53
process front pid 60
process client pid 70
process other pid 80
for i in 1 2
    tcp p$i: front > back.$i older ports 4000$i,81
end
tcp o: other > back.3 older ports 40003,81
for i in 1 2 3 4
    thread ask.$i of client
    tcp f$i: client > front older
end
other sends 1 on o
back.3 receives on o
back.3 sends 1 on o
other receives on o
for i in 1 2
    ask.$i sends 1 on f$i
    front receives on f$i in epoll_wait
    front sends 1 on p$i
end
for i in 3 4
    ask.$i idles 1ms
    ask.$i sends 1 on f$i
    front receives on f$i in epoll_wait
end
9 times
    for i in 1 2
        back.$i receives on p$i
        back.$i sleeps 5ms in clock_nanosleep
        back.$i sends 1 on p$i
        front receives on p$i in epoll_wait
        front sends 1 on f$i
        front sends 1 on p$i
        ask.$i receives on f$i
        ask.$i sends 1 on f$i
        front receives on f$i in epoll_wait
    end
    for i in 1 2
        back.$i receives on p$i
        back.$i sleeps 5ms in clock_nanosleep
        back.$i sends 1 on p$i
        front receives on p$i in epoll_wait
    end
    front sends 1 on f3
    front sends 1 on p1
    front sends 1 on f4
    front sends 1 on p2
    for i in 3 4
        ask.$i receives on f$i
        ask.$i sends 1 on f$i
        front receives on f$i in epoll_wait
    end
end
$ dpm report trace
says: in front[60] waited until a connection to 2 back processes 127.0.0.1:81 was free (it used 2 in all)
