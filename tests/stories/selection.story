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
