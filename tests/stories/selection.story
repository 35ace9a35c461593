# SPDX-License-Identifier: MIT
# What --process selects: by the name of a script and by the command line, with all threads of a process; and what of the
# analyses is then left.

== two scripts of one interpreter: --process by script, by command line, and by the interpreter
| sh            starts both, waits for them -----------------.
| first.py      helper: 7 messages to itself  '              |
| second.py     helper: 11 messages to itself ---------------'
process sh launched
process first.python3 created by sh named python3 command "/usr/bin/python3 first.py 7"
process second.python3 created by sh named python3 command "/usr/bin/python3 -u ./second.py 11"
for who in first second
    thread helper.$who of $who.python3 created by $who.python3 named helper
    unix-stream $who: helper.$who > $who.python3
end
7 times
    helper.first sends 5 on first.1
    helper.first receives on first.2
end
11 times
    helper.second sends 5 on second.1
    helper.second receives on second.2
end
helper.first ends
first.python3 waits for helper.first
first.python3 ends
helper.second ends
second.python3 waits for helper.second
second.python3 ends
sh waits for second.python3
sh idles 500ms
sh ends
$ dpm stats --json --process first.py --path unix-stream trace
jq: [.processes[] | select(.peer_only | not) | .sent.messages] | add == 7
$ dpm stats --json --process second.py --path unix-stream trace
jq: [.processes[] | select(.peer_only | not) | .sent.messages] | add == 11
$ dpm stats --json --process './second.py 11' --path unix-stream trace
jq: [.processes[] | select(.peer_only | not) | .sent.messages] | add == 11
$ dpm stats --json --process python3 --path unix-stream trace
jq: [.processes[] | select(.peer_only | not) | .sent.messages] | add == 18
$ dpm dump --json --process first.py --path unix-stream --type send trace
jq: [., inputs] | length == 7
$ dpm dump --json --process second.py --path unix-stream --type send trace
jq: [., inputs] | length == 11
$ dpm dump --json --process './second.py 11' --path unix-stream --type send trace
jq: [., inputs] | length == 11
$ dpm dump --json --process python3 --path unix-stream --type send trace
jq: [., inputs] | length == 18
$ dpm why --process first.py trace
like: passed from the first event of all to the last of python3
$ dpm why --requests --process first.py trace
exits: 2
says: why: --process does not go with
$ dpm path --json --process first.py trace
jq: [.. | .processes? | arrays][0] | length == 1
$ dpm parallelism --json --process first.py trace
jq: [.. | .processes? | arrays][0] | length == 1

== a process that ends before the others: what comes after its end is left out
| sh        starts it, waits --. 500 ms more
| first.py  ===== 100 ms ======'
process sh launched
process first.python3 created by sh named python3 command "/usr/bin/python3 first.py 1"
first.python3 computes 100ms
first.python3 ends
sh waits for first.python3
sh sleeps 500ms in clock_nanosleep
sh ends
$ dpm why --json trace
jq: near(.elapsed_ns; 600e6)
$ dpm why --json --process first.py trace
jq: near(.elapsed_ns; 100e6)

== some processes of several: totals are theirs, and what their peers sent to others is not known
| client 1  33 messages to server, 63 to other, of which 3 more find a full queue
| client 2   4 messages to server,  9 to other
process client.1 pid 100
process client.2 pid 101
process server pid 200
process other pid 300
udp a: client.1 > server older
udp b: client.1 > other older ports 40002,81
udp c: client.2 > server older
udp d: client.2 > other older ports 40004,81
33 times
    client.1 sends 10 on a
    server receives on a
end
63 times
    client.1 sends 10 on b
    other receives on b
end
4 times
    client.2 sends 10 on c
    server receives on c
end
9 times
    client.2 sends 10 on d
    other receives on d
end
at 1s DROPPED connection=b.2 count=3 refused=2
$ dpm stats --json trace
jq: .trace | .dropped == 3 and .refused == 2 and .unused == 0
jq: [.pairs[] | select(.from == 1 and .to == 3)] | length == 1 and near(.[0].messages_share; 33 / 96) and near(.[0].share; 33 / 96)
$ dpm stats --json --process client --process other trace
jq: .trace | .dropped == 3 and .refused == 2
$ dpm stats --json --process 100 trace
jq: [.pairs[] | .messages_share] | length == 2 and near(add; 1)
$ dpm stats --json --process server trace
jq: .trace | .dropped == 0 and .refused == 0 and .unused == null
jq: [.pairs[] | .messages_share, .share, .bytes_share_of_all] == [null, null, null, null, null, null]
$ dpm stats --csv --by pair --process server trace
# (without blocked sends: a count of 0 and six empty cells; then four shares)
like: client\[100\],server\[200\],33,330,.*,0,{11}
like: client\[101\],server\[200\],4,40,.*,0,{11}
$ dpm stats --json --by program --process server trace
jq: [.pairs[] | .messages_share, .share] == [null, null]
$ dpm stats --json --by program --process 100 --process server trace
jq: [.pairs[] | .messages_share, .share] == [null, null, null, null]
$ dpm stats --process server trace
never: dropped
$ dpm stats --process server --every 100ms trace
exits: 2
says: stats: --every counts all processes: it does not go with --process

== --from: what a thread had waited for a CPU before that time does not count as a wait of the part
| app   no CPU 3 s, sleeps .... --from ...., computes, sleeps 900 ms, no CPU 2 ms
process app launched
app lacks a CPU for 3s
app sleeps 6s in clock_nanosleep
app computes 100ms
app sleeps 900ms in clock_nanosleep late 2ms
app ends
$ dpm why --json --from 8s trace
jq: .spent_on_ns.no_cpu < 4e6 and .spent_on_ns.timer > 890e6 and ([.rows[].time_ns] | add) == .elapsed_ns

== without an event, a picture is empty: options are the reason only if there are some
process app
app lacks a CPU for 5ms
$ dpm graph trace > none.svg
is: dpm: there is no event to draw
$ dpm graph --from 1ms trace > none.svg
is: dpm: no event matches --process, --from and --to
