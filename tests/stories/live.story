# SPDX-License-Identifier: MIT
# Snapshots: `dpm stats --interval --json`, and `dpm top` without a terminal. live_account.py checks those of all stories.

== what processes did and waited for, interval by interval
| client   ask -.                                      .- answered | computes 300 ms ........| ends
| server        '- fdatasync 250 ms -- computes 40 ms -'           |... epoll_wait ..........
process client launched
process server pid 200
tcp c: client > server older ports 40000,80
client sends 10 on c
server receives on c in epoll_wait
server sleeps 250ms in fdatasync on /var/lib/app.wal uninterruptible
server computes 40ms
server sends 20 on c
server waits in epoll_wait for 400ms endless
client receives on c
client computes 300ms
client ends
$ dpm stats --interval 100ms --json trace | jq -s .
jq: length >= 6 and (map(.time.number) == [range(1; length + 1)]) and (map(select(.time.last)) | length) == 1
jq: [.[] | .interval.processes[] | select(.name == "server[200]") | .requests.count] | add == 1
# the wait for the disk ends in the third interval: most of it was in the two before, which could not know
jq: .[2].interval.processes[] | select(.name == "server[200]") | .waits_for.kind == "disk" and .waits_for.what == "/var/lib/app.wal" and
    near(.waits_ns.disk; 50e6) and near(.correction_ns; 200e6)
# the client asked at once, and waits for the server, by name, while it goes on
jq: .[1].interval.processes[] | select(.name | startswith("client")) | .waits_for.kind == "in_flight" and .waits_for.what == "server[200]" and
    near(.waits_ns.in_flight; 100e6) and near(.waits_for.since_ns; 200e6)
# what others waited for it
jq: [.[] | .interval.processes[] | select(.name == "server[200]") | .waited_for_ns] | add | near(.; 290e6)
jq: [.[] | .interval.programs[] | .sent.messages] | add == 2
jq: [.[-1].processes[] | .sent.messages] == [1, 1]
# rows are found again by their keys, which pairs have of both ends; so is what they belong to, and what they did in all
jq: map(.interval.processes[] | select(.name == "server[200]") | .key) | unique | length == 1
jq: .[-1].interval as $now | ($now.processes[] | select(.name == "server[200]")) as $server | [$now.pairs[] | select(.to_key == $server.key)] |
    length == 1 and .[0].from_program == "client" and .[0].to_program == $server.program and .[0].to_machine == $server.machine
jq: .[-1].interval | (.pairs | map(.so_far.sent.messages) == [1, 1]) and ([.processes[] | .so_far.requests.count] | add) == 1 and (.programs | map(.so_far.sent.bytes) | add) == 30
$ dpm top --interval 100ms trace
says: PROCESS CPU WAITED REQ/S P99 SENT/S WAITS FOR
says: server[200] 0% 100% 0 - 0 (silent)
says: client[100] 0% 0% 0 - 0 message of server[200]
says: server[200] 40% 90% 10 290ms 10 disk: /var/lib/app.wal
says: client[100] 0% 0% 0 - 0 (silent)
says: client[100] 100% 0% 0 - 0 (ended)

== a program's name may hold anything: nothing of it controls a terminal
| \e[2J  ask -.    .- answered
| server      '----'
process client launched named "\e[2Jx"
process server pid 200
tcp c: client > server older ports 40000,80
client sends 10 on c
server receives on c
server computes 40ms
server sends 20 on c
client receives on c
client ends
$ dpm top --interval 10ms trace | od -c | grep -c 033
exits: 1
$ dpm stats --interval 10ms --json trace
jq: .interval.processes | length == 2

== characters that take two columns take two columns
| client   ask -.    .- answered
| server       '----'
process client launched named "abcdefghij"
process server pid 200 named "中文服务器"
tcp c: client > server older ports 40000,80
client sends 10 on c
server receives on c
server computes 40ms
server sends 20 on c
client receives on c
client ends
$ dpm top --interval 1s trace | sed -n 's/\(abcdefghij\|中文服务器\)\[[0-9]*\]\( *[0-9]*%\).*/\2/p' | awk '{ print length }' | uniq -c
says: 2 12

== of many rows 200 are kept, and the rest is one
process client launched
for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15
    process a$n named worker
    process b$n named worker
    process c$n named worker
    process d$n named worker
    process e$n named worker
    process f$n named worker
    process g$n named worker
    process h$n named worker
    process i$n named worker
    process j$n named worker
    process k$n named worker
    process l$n named worker
    process m$n named worker
    process n$n named worker
    process o$n named worker
    tcp c$n: client > a$n older
    client sends 10 on c$n
    a$n receives on c$n
end
client ends
$ dpm stats --interval 1h --json trace
jq: (.interval.processes | length) == 200 and .interval.other_processes.rows == 26
jq: ([.interval.processes[].received.messages] | add) + .interval.other_processes.received.messages == 15
jq: (.interval.programs | length) <= 2

== options that do not go together
process client launched
client computes 5ms
client ends
$ dpm stats --interval 1s trace
says: --interval needs --follow, or --json
exits: 2
$ dpm stats --interval 1s --json --by user trace
says: it goes with no other option
exits: 2
$ dpm top --pid 1 trace
exits: 2
says: not both
$ dpm live --listen 0.0.0.0 trace
says: give --token FILE
exits: 2
