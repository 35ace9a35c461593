# SPDX-License-Identifier: MIT
# Requests as a client feels them: connecting, retries, questions without an answer. See src/analysis/client_requests.h.

== a silent name server before one that answers: the lookup takes as long as both
| lookup   ask 1 ... 1 s ... ask 2 -.   .- answered        3 times
| first    '-' takes it              |   |
| second                             '- - '
process lookup launched
process first pid 200
process second pid 300
for N in 1 2 3
    udp a$N: lookup > first ports 4000$N,53
    udp b$N: lookup > second ports 4100$N,53
    lookup sends 33 on a$N
    first receives on a$N
    lookup waits in poll for 1s at-most 1s only a$N
    lookup sends 33 on b$N
    second receives on b$N
    second idles 5ms
    second sends 49 on b$N
    lookup receives on b$N in poll
    lookup closes a$N
    lookup closes b$N
end
lookup ends
$ dpm report trace
says: Time 99% of 3.02 s: lookup[100] waited 1.00 s on average for an answer that did not come (udp 127.0.0.1:53), 3 times.
says: Answers 3 of 3 questions from lookup[100] to first[200] 127.0.0.1:53 had no answer: it waited 1.00 s for each on average, at
    most 1.00 s. Check that the server works, or ask another one first.
says: lookup[100] sent 3 requests: request latency median 1.01 s, p99 1.01 s, max 1.01 s. Retries took 99% of that time.
$ dpm stats --json trace
jq: .processes[] | select(.name == "lookup") | .request_ns.count == 3 and near(.request_ns.p50; 1.005e9) and (.requests |
    .retried == 3 and near(.retry_ns; 3e9) and .unanswered == 3 and near(.unanswered_ns; 3e9) and near(.unanswered_max_ns; 1e9) and
    .connects == 0)
$ dpm why --requests trace
says: 3 requests took 3.02 s together (median 1.01 s, 99th percentile 1.01 s, slowest 1.01 s). 3 questions had no answer.
says: 99% 3.00 s 3 lookup[100] answer that did not come udp 127.0.0.1:53
$ dpm why --json trace
jq: .requests | .count == 3 and .retried == 3 and .unanswered == 3 and .unfinished == 0 and .spent_on_ns.event == 0 and
    ([.spent_on_ns[]] | add) == .time_ns and near(.spent_on_ns.no_answer; 3e9)
jq: [.requests.typical.hops[] | [.spent_on, .address]][0] == ["no_answer", "127.0.0.1:53"]

== the socket of a silent server is closed before the next one is asked
process lookup launched
process first pid 200
process second pid 300
udp a: lookup > first ports 40001,53
udp b: lookup > second ports 41001,53
lookup sends 33 on a
first receives on a
lookup waits in poll for 1s at-most 1s only a
lookup closes a
lookup sends 33 on b
second receives on b
second sends 49 on b
lookup receives on b in poll
lookup ends
$ dpm why --requests --json trace
jq: .requests | .count == 1 and .retried == 1 and .unanswered == 1 and near(.median_ns; 1e9) and near(.spent_on_ns.no_answer; 1e9)
$ dpm stats --json trace
jq: .processes[] | select(.name == "lookup") | .request_ns.count == 1 and near(.request_ns.max; 1e9) and .requests.unanswered == 1
$ dpm why trace
says: lookup[100] answer that did not come udp 127.0.0.1:53

== a question is sent again over the same socket, and the second one is answered
process client launched
process server pid 200
udp c: client > server ports 40001,7000
for N in 1 2
    client sends 12 on c
    server receives on c
    client waits in poll for 200ms
    client sends 12 on c
    server receives on c
    client waits in poll for 200ms
    client sends 12 on c
    server receives on c
    server idles 3ms
    server sends 20 on c
    client receives on c in poll
end
client ends
$ dpm stats --json trace
jq: .processes[] | select(.name == "client") | .request_ns.count == 2 and near(.request_ns.min; 403e6) and (.requests |
    .retried == 2 and near(.retry_ns; 800e6) and .unanswered == 4 and near(.unanswered_ns; 800e6))
$ dpm report trace
says: Answers 4 of 6 questions from client[100] to server[200] 127.0.0.1:7000 had no answer: it waited 200 ms for each on average
$ dpm why --requests --json trace
jq: .requests | .count == 2 and .retried == 2 and .unanswered == 4 and near(.median_ns; 403e6) and near(.spent_on_ns.no_answer; 800e6)

== answers to both: the first one ends the request, and no question was without an answer
process client launched
process server pid 200
udp c: client > server ports 40001,7000
client sends 12 on c
client waits in poll for 200ms
client sends 12 on c
server idles 200ms
server receives on c
server idles 10ms
server sends 20 on c
client receives on c in poll
server receives on c
server idles 300ms
server sends 20 on c
client receives on c in poll
client ends
$ dpm stats --json trace
jq: .processes[] | select(.name == "client") | .request_last_byte_ns.count == 1 and near(.request_last_byte_ns.max; 210e6) and
    .requests.unanswered == 0
$ dpm why --requests --json trace
jq: .requests | .count == 1 and .unanswered == 0 and near(.median_ns; 210e6)

== the first server answers after all, when the second one was asked, too
process lookup launched
process first pid 200
process second pid 300
udp a: lookup > first ports 40001,53
udp b: lookup > second ports 41001,53
lookup sends 33 on a
first receives on a
lookup waits in poll for 1s
lookup sends 33 on b
second receives on b
first idles 1100ms
first sends 49 on a
lookup receives on a in poll
second idles 400ms
second sends 49 on b
lookup receives on b in poll
lookup ends
$ dpm stats --json trace
jq: .processes[] | select(.name == "lookup") | .request_ns.count == 2 and near(.request_ns.max; 1.1e9) and
    near(.request_ns.min; 0.4e9) and .requests.unanswered == 0
$ dpm why --requests --json trace
jq: .requests | .count == 2 and .unanswered == 0 and near(.slowest.time_ns; 1.1e9)

== ... and of two questions without an answer the longer one has it at last: the other took no longer than both
process lookup launched
process first pid 200
process second pid 300
udp a: lookup > first ports 40001,53
udp b: lookup > second ports 41001,53
lookup sends 33 on a
first receives on a
lookup waits in poll for 100ms
lookup sends 33 on b
second receives on b
second sends 49 on b
lookup receives on b in poll
lookup sends 33 on a
first receives on a
lookup waits in poll for 1s
lookup sends 33 on b
second receives on b
first idles 1100ms
first sends 49 on a
lookup receives on a in poll
second idles 400ms
second sends 49 on b
lookup receives on b in poll
lookup ends
$ dpm stats --json trace
jq: .processes[] | select(.name == "lookup") | .requests | .unanswered == 1 and near(.unanswered_ns; 100e6) and
    near(.unanswered_max_ns; 100e6)

== two questions at once, with two answers, are one request that was asked once
process lookup launched
process server pid 200
udp a: lookup > server ports 40001,53
2 times
    lookup sends 33 on a
    lookup sends 33 on a
    server receives on a
    server receives on a
    server idles 2ms
    server sends 49 on a
    server idles 2ms
    server sends 61 on a
    lookup receives on a in poll
    lookup receives on a in poll
end
lookup ends
$ dpm stats --json trace
jq: .processes[] | select(.name == "lookup") | .request_last_byte_ns.count == 2 and near(.request_last_byte_ns.max; 4e6) and
    .requests.retried == 0 and .requests.unanswered == 0

== metrics of an event loop are no questions
process app launched
process metrics pid 200
udp m: app > metrics ports 40001,8125
5 times
    app sends 40 on m
    metrics receives on m
    app waits in epoll_wait for 1s
end
app closes m
app ends
$ dpm stats --json trace
jq: .processes[] | select(.name == "app") | .requests.unanswered == 0 and .request_ns == null
$ dpm report trace
never: had no answer
$ dpm why --requests --json trace
jq: .requests | .count == 0 and .unanswered == 0

== a connection for each request: connecting is part of it, and a SYN that was sent again is seen
| client  connect --- 5 ms ---- ask -.         .- answered, close     4 times; twice the SYN is lost, for 1 s
| server                             '- 30 ms -'
process client launched
process server pid 200
for c in a
    tcp $c: client > server
    client connects $c in 5ms
    server accepts $c
    client sends 10 on $c
    server receives on $c
    server sleeps 30ms in clock_nanosleep
    server sends 10 on $c
    client receives on $c
    client closes $c
    server closes $c
end
for c in b
    tcp $c: client > server
    client connects $c in 1005ms
    server accepts $c
    client sends 10 on $c
    server receives on $c
    server sleeps 30ms in clock_nanosleep
    server sends 10 on $c
    client receives on $c
    at 1060ms NETWORK connection=$c.1 retransmitted=1
    client closes $c
    server closes $c
end
for c in c
    tcp $c: client > server
    client connects $c in 5ms
    server accepts $c
    client sends 10 on $c
    server receives on $c
    server sleeps 30ms in clock_nanosleep
    server sends 10 on $c
    client receives on $c
    client closes $c
    server closes $c
end
for c in d
    tcp $c: client > server
    client connects $c in 1005ms
    server accepts $c
    client sends 10 on $c
    server receives on $c
    server sleeps 30ms in clock_nanosleep
    server sends 10 on $c
    client receives on $c
    at 2130ms NETWORK connection=$c.1 retransmitted=1
    client closes $c
    server closes $c
end
client ends
$ dpm stats --json trace
jq: .processes[] | select(.name == "client") | .request_ns.count == 4 and near(.request_ns.min; 35e6) and
    near(.request_ns.max; 1.035e9) and (.requests | .connects == 4 and near(.connect_ns; 2.02e9) and .resent_syns == 2 and
    near(.resent_syn_ns; 2e9) and .retried == 0 and .unanswered == 0)
$ dpm report trace
says: client[100] sent 4 requests: request latency median 35.1 ms, p99 1.04 s, max 1.04 s. Connecting took 94% of that time.
$ dpm why --requests --json trace
jq: .requests | .count == 4 and .connects == 4 and near(.spent_on_ns.resent_syn; 2e9) and near(.spent_on_ns.connect; 20e6) and
    near(.spent_on_ns.timer; 120e6) and near(.slowest.time_ns; 1.035e9) and ([.spent_on_ns[]] | add) == .time_ns
jq: [.requests.slowest.hops[] | [.spent_on, .address]][:2] == [["resent_syn", "127.0.0.1:80"], ["connect", "127.0.0.1:80"]]

== a connect that took long, and no SYN was sent again: its thread heard of it late
process client launched
process server pid 200
tcp c: client > server
client connects c in 1200ms
server accepts c
client sends 10 on c
server receives on c
server sleeps 30ms in clock_nanosleep
server sends 10 on c
client receives on c
at 1230ms NETWORK connection=c.1 retransmitted=0
client closes c
client ends
$ dpm stats --json trace
jq: .processes[] | select(.name == "client") | .requests | .connects == 1 and near(.connect_ns; 1.2e9) and .resent_syns == 0
$ dpm why --requests --json trace
jq: .requests | near(.spent_on_ns.connect; 1.2e9) and .spent_on_ns.resent_syn == 0

== a connection that waits for its first request was not made for it
process client launched
process server pid 200
outside other
tcp c: client > server
tcp o: other > client older
client connects c in 50ms
server accepts c
other idles 500ms
other sends 1 on o
client receives on o in epoll_wait
client sends 10 on c
server receives on c
server sends 10 on c
client receives on c
client ends
$ dpm stats --json trace
jq: .processes[] | select(.name == "client") | .requests.connects == 0

== a client with a time limit gives up
process client launched
process server pid 200
for N in 1 2 3
    tcp c$N: client > server
    client connects c$N
    server accepts c$N
    client sends 10 on c$N
    server receives on c$N
    client waits in poll for 300ms at-most 300ms only c$N
    client closes c$N
end
client ends
$ dpm report trace
says: Time 100% of 900 ms: client[100] waited 300 ms on average for an answer that did not come (tcp 127.0.0.1:80), 3 times.
says: Answers 3 of 3 questions from client[100] to server[200] 127.0.0.1:80 had no answer: it waited 300 ms for each on average
$ dpm stats --json trace
jq: .processes[] | select(.name == "client") | .requests.unanswered == 3 and near(.requests.unanswered_ns; 900e6)
$ dpm why --json trace
jq: .requests | .count == 0 and .unanswered == 3 and .unfinished == 0
$ dpm why --requests trace
says: No request had an answer: 3 were asked again or given up.
never: in progress

== a socket ends later than it was given up: the wait ended when the client went on
process client launched
process server pid 200
for N in 1 2
    tcp c$N: client > server
end
client connects c1
server accepts c1
client sends 10 on c1
server receives on c1
client waits in poll for 300ms at-most 300ms only c1
client connects c2
server accepts c2
client sends 10 on c2
server receives on c2
server sleeps 80ms in clock_nanosleep
server sends 10 on c2
client receives on c2 in poll
client closes c1
client ends
$ dpm stats --json trace
jq: .processes[] | select(.name == "client") | .request_ns.count == 1 and .requests.unanswered == 1 and
    near(.requests.unanswered_ns; 300e6)
$ dpm why --json trace
jq: .requests.unanswered == 1 and near(.spent_on_ns.no_answer; 300e6) and near(.spent_on_ns.timer; 80e6)

== a request in progress at the end of the recording is not one without an answer
process client
process server pid 200
tcp c: client > server older
2 times
    client sends 10 on c
    server receives on c
    server sends 10 on c
    client receives on c in poll
end
client sends 10 on c
server receives on c
client waits in poll for 300ms
ends at 400ms
$ dpm why --requests trace
says: 1 more was in progress at the end.
never: had no answer
$ dpm why --requests --json trace
jq: .requests | .count == 2 and .unanswered == 0 and .unfinished == 1
$ dpm stats --json trace
jq: .processes[] | select(.name == "client") | .requests.unanswered == 0

== a service that hangs: that no request had an answer is not that there were none
process client
process server pid 200
for N in 1 2 3
    tcp c$N: client > server
    client connects c$N
    server accepts c$N
    client sends 10 on c$N
    server receives on c$N
end
client waits in poll for 300ms
ends at 400ms
$ dpm why --requests trace
says: No request was answered before the end of the recording.
never: no requests
$ dpm why --requests --json trace
jq: .requests | .count == 0 and .unanswered == 0 and .unfinished > 0
$ dpm why trace
says: Waits that had not ended, or began before the recording, are not listed.

== a request that was sent before the recording is counted by nobody who cannot know its time
| client  (asked before)   .- answered, asks -.   .- answered      Time and Answers both count 3
| server    - receives - - '                  '- -'
process client
process server pid 200
tcp c: client > server older
server sends 1 on c
at 1ms RECEIVE stream=server connection=c.2 bytes=5 offset=995
client idles 5ms
client receives on c in poll
server idles 10ms
server sends 10 on c
client receives on c in poll
3 times
    client sends 10 on c
    server receives on c
    server idles 20ms
    server sends 10 on c
    client receives on c in poll
end
$ dpm why --requests --json trace
jq: .requests | .count == 3 and .unanswered == 0 and near(.median_ns; 20e6)
$ dpm stats --json trace
jq: .processes[] | select(.name == "client") | .request_ns.count == 3

== one of many questions was under way when its client ended: that is no failure
process client launched
process server pid 200
tcp c: client > server
client connects c
server accepts c
60 times
    client sends 10 on c
    server receives on c
    server computes 10ms
    server sends 10 on c
    client receives on c in poll
end
client sends 10 on c
server receives on c
client waits in poll for 9ms at-most 9ms only c
client closes c
client ends
$ dpm report trace
never: had no answer
$ dpm stats --json trace
jq: .processes[] | select(.name == "client") | .requests.unanswered == 1

== ... but it is if that was waited for longer than any answer
process client launched
process server pid 200
tcp c: client > server
client connects c
server accepts c
60 times
    client sends 10 on c
    server receives on c
    server computes 10ms
    server sends 10 on c
    client receives on c in poll
end
client sends 10 on c
server receives on c
client waits in poll for 90ms at-most 90ms only c
client closes c
client ends
$ dpm report trace
says: Answers 1 of 61 questions from client[100] to server[200] 127.0.0.1:80 had no answer: it waited 90.0 ms

== a pair of sockets for each direction, as rsync uses them: what is sent over one is no question
| rsync    sends -- waits in poll for both ---------.- closes
| server            receives -- 300 ms -- sends on the other
process rsync launched
process server created by rsync
unix-stream to: rsync > server pair
unix-stream from: server > rsync pair
rsync sends 10 on to.1
server receives on to.2
server sleeps 300ms in clock_nanosleep
server sends 6 on from.1
rsync waits in poll until server at-most 60s
rsync receives on from.2
rsync closes to.1
server ends
rsync ends
$ dpm report trace
never: had no answer
$ dpm stats --json trace
jq: .processes[] | select(.name == "rsync") | .requests.unanswered == 0

== a request of a client that is metered only later is one of its server's: the longest is not lost
| client  (asks, not metered yet) - - - - - - - - - answered, asks -.   .- answered
| server    receives -- sleeps 40 --------------- answers            '- -'
process client
process server pid 200
tcp c: client > server
server accepts c
at 1ms RECEIVE stream=server connection=c.2 bytes=5 offset=995
server idles until 1ms
server sleeps 40ms in nanosleep
client idles until 20ms
server sends 10 on c
client receives on c in poll
client sends 10 on c
server receives on c
server sleeps 2ms in nanosleep
server sends 10 on c
client receives on c in poll
$ dpm why --requests --json trace
jq: .requests | .count == 2 and near(.slowest.time_ns; 40e6) and near(.spent_on_ns.timer; 42e6)
$ dpm report trace
first: server[200] slept until a timer ended

== an answer on a UNIX stream whose client is metered only later, when positions are counted anew, is the new one
| client  (greeted, not metered yet)  asks -.              .- answered
| server    sends 414                       '- sleeps 40 - '
process client
process server pid 200
unix-stream c: client > server
server accepts c
at 1ms SEND stream=server connection=c.2 bytes=414 offset=0
server idles until 2ms
client idles until 20ms
client sends 27 on c
server receives on c
server sleeps 40ms in nanosleep
server sends 65 on c
client receives on c in poll
client sends 27 on c
server receives on c
server sleeps 10ms in nanosleep
server sends 65 on c
client receives on c in poll
$ dpm why --requests --json trace
jq: .requests | .count == 2 and near(.spent_on_ns.timer; 50e6) and .spent_on_ns.in_flight < 1e6

== messages that were not recorded for a time: what was asked before has no answer that is known
| client  asks 1 -. [ nothing is recorded: answer 1, .... ] asks 8 -. .- answered
| server          '---                                               '-'
outside other at 10.0.0.8
process client
process server
tcp a: client > server
tcp b: other > server ports 50000,80
client connects a
server accepts a
other connects b
server accepts b
client sends 3 on a
other sends 3 on b
server receives 3 on a
server receives 3 on b in epoll_wait
at 1s FLAGS flags=0x10 meterFlags=0x8000
at 5s FLAGS flags=0x10 meterFlags=0xffff
client idles until 6s
server idles until 6s
4 times
    client sends 3 on a
    server receives 3 on a
    server computes 10ms
    server sends 6 on a
    client receives 6 on a
end
server sends 6 on b
client ends
server ends
$ dpm stats --json trace
jq: [.processes[] | .request_ns // .response_ns | .count, .max < 11e6] == [4, true, 4, true]
$ dpm why --requests --json trace
jq: .requests | .count == 4 and .p99_ns < 11e6

== ... nor had it none: the client closes its connections after that time
| client  asks -. [ nothing is recorded: answered ] closes      asks another, with as many bytes
process client
outside names at 10.0.0.5
outside names2 at 10.0.0.6
outside server at 10.0.0.8
udp d: client > names ports 41000,53
udp e: client > names2 ports 41001,53
tcp c: client > server
client connects c
client sends 30 on c
client waits on c for 10ms
client sends 40 on d
client waits on d for 10ms
at 1s FLAGS flags=0x10 meterFlags=0x8000
at 5s FLAGS flags=0x10 meterFlags=0xffff
client idles until 6s
client sends 40 on e
names2 receives 40 on e
names2 idles 10ms
names2 sends 90 on e
client receives 90 on e
client closes d
client closes c
client ends
$ dpm stats --json trace
jq: .processes[0] | .request_ns.count == 1 and .request_ns.max < 11e6 and .requests.unanswered == 0 and .requests.retried == 0
