# What a thread waits for: each kind of wait in dpm why, and on the critical path of dpm path.

== each kind of wait, one after the other: each has its time, its process and its call
| program  == 10 ==|nanosleep 20|fdatasync 30|poll 40|futex 50|answer 60|stopped 70|wait 80|semop 15|== 5 ==
| child                                                                            '- 80 -'
process program launched
outside peer
tcp c: program > peer
program connects c
program computes 10ms
program sleeps 20ms in nanosleep
program sleeps 30ms in fdatasync uninterruptible
program sleeps 40ms in poll
program sleeps 50ms in futex
program sends 8 on c
peer idles until 210ms
peer sends 1 on c
program receives 1 on c
program is stopped for 70ms
process child created by program
child sleeps 80ms in pause
child ends
program waits for child
program sleeps 15ms in semop
program computes 5ms
program ends
$ dpm why --json trace
jq: ([.rows[].time_ns] | add) == .elapsed_ns and ([.spent_on_ns[]] | add) == .elapsed_ns
jq: .spent_on_ns | near(.computing; 15e6) and .disk == 30e6 and .lock == 65e6 and .stopped == 70e6
jq: .spent_on_ns | near(.timer; 60e6) and near(.signal; 80e6) and near(.outside; 60e6) and .child == 0 and .unknown == 0
jq: [.rows[] | select(.system_call) | "\(.name) \(.spent_on) \(.system_call) \(.time_ns / 1e6 | round)"] | sort ==
    ["child signal pause 80", "program disk fdatasync 30", "program lock futex 50", "program lock semop 15",
     "program timer nanosleep 20", "program timer poll 40"]
$ dpm why --waits trace
like: child wait4 child\[101\]

== a poll that ends without a record of it is no part of the wait that follows
| program  poll ---- 50 ms ---- (nothing came) == 1 == fdatasync - 20 ms - nanosleep - 10 ms -
process program launched
process other
unix-stream pair: program > other
program sends 1 on pair.1
at 1ms RECEIVECALL stream=program path=0 offset=7
program idles until 51ms
program computes 1ms
program sleeps 20ms in fdatasync uninterruptible
program sleeps 10ms in nanosleep
program ends
$ dpm why --json trace
jq: .spent_on_ns | .disk == 20e6 and .timer == 10e6 and near(.event; 50e6)

== a delay after a wait is no part of the wait
| program  nanosleep 20 |..no CPU 7..| answer 30 |..no CPU 9..| fdatasync 10 |.. 4 ..| == 6, preempted 11 ==
process program launched
outside peer
tcp c: program > peer
program connects c
program sleeps 20ms in nanosleep late 7ms
program sends 8 on c
peer idles until 57ms
peer sends 1 on c
program receives 1 on c late 9ms
program sleeps 10ms in fdatasync uninterruptible late 4ms
program computes 6ms
program lacks a CPU for 11ms
program ends
$ dpm why --json trace
jq: .spent_on_ns | near(.timer; 20e6) and near(.outside; 30e6) and near(.disk; 10e6) and near(.no_cpu; 31e6) and
    near(.computing; 6e6) and .unknown < 1e4

== who holds a mutex is what another one waits for, whether it computes or sleeps
| program  create --- mutex .....................== 5 ==
| holder       '-- == 30 == sleeps 20, unlocks -'
process program launched
thread holder of program created by program
holder computes 30ms
holder sleeps 20ms in nanosleep
program sleeps in futex until holder
holder ends
program computes 5ms
program ends
$ dpm why --json trace
jq: .spent_on_ns | near(.computing; 35e6) and near(.timer; 20e6) and .lock < 1e4
jq: [.rows[] | select(.spent_on == "timer") | .tid] == [101]
jq: [.waits[] | select(.waited_for == "lock") | .system_call, .ended_by_pid, .count] == ["futex", 100, 1]

== a limit on the wait: no other thread has woken it, so it ended with that limit
| program  futex, 30 ms at most --- (no one wakes it)   == 5 ==
process program launched
program sleeps 30ms in futex limit
program computes 5ms
program ends
$ dpm why --json trace
jq: .spent_on_ns | .time_limit == 30e6 and .timer == 0 and .lock == 0
$ dpm report trace
first: Time 86% of 35.0 ms: program[100] waited until the time limit of its call (futex), 1 time.

== a wakeup ends a poll, which makes no record of its end: the wait for the disk after it has not ended by that
| server  fork, == 20 ==, wakes .... wait4 ...... |
| worker   '- epoll_wait ......'| fdatasync 5 |==1==
process server launched
process worker created by server
server computes 20ms
worker waits in epoll_wait until server
worker sleeps 5ms in fdatasync uninterruptible
worker computes 1ms
worker ends
server waits for worker
server ends
$ dpm dump --matched --json --type block trace | jq -s .
jq: map(select(.system_call == 75)) | map(.edges | map([.kind, .earlier])) == [[["wakeup", true]]]
$ dpm dump --matched --type block trace
like: fdatasync.*, wakeup of the wait before
$ dpm path --json trace
jq: .cpu_ns == 21e6 and near(.outside_ns; 5e6)

# ---- a child works for 100 ms, its parent waits for it in some way and then works for 50 ms: the path has both ----

== a wait for a signal: of the end of a child
| parent  fork ~~ rt_sigsuspend ~~ | == 50 == |
| child     '== 100 ==============='
process parent launched
process child created by parent
child computes 100ms
child ends
parent sleeps in rt_sigsuspend until child ends
parent computes 50ms
parent ends
$ dpm path --json trace
jq: .cpu_ns == 150e6 and .outside_ns < 1e5 and .ends == "command"
jq: [.processes[] | "\(.name) \(.path_cpu_ns / 1e6 | round)"] | sort == ["child 100", "parent 50"]

== a wait for a signal, by the ptrace meter, without WAKEUP
machine vm ptrace
process parent launched
process child created by parent
child computes 100ms
child ends
parent sleeps in rt_sigsuspend until child ends
parent computes 50ms
parent ends
$ dpm path --json trace
jq: .cpu_ns == 150e6 and .outside_ns < 1e5

== a signal that is taken, by the ptrace meter
| parent  fork ~~ rt_sigtimedwait ~~ | == 50 == |
| child     '== 100 ================='
machine vm ptrace
process parent launched
process child created by parent
child computes 100ms
child ends
parent sleeps in rt_sigtimedwait until child ends
parent computes 50ms
parent ends
$ dpm path --json trace
jq: .cpu_ns == 150e6 and .outside_ns < 1e5

== a signal that is read, from a signalfd
process parent launched
process child created by parent
child computes 100ms
child ends
parent sleeps in read until child ends
parent computes 50ms
parent ends
$ dpm path --json trace
jq: .cpu_ns == 150e6 and .outside_ns < 1e5

== a signal that is read from what the meter names, without WAKEUP
machine vm without WAKEUP
process parent launched
process child created by parent
child computes 100ms
child ends
parent sleeps in read until child ends on [signalfd]
parent computes 50ms
parent ends
$ dpm path --json trace
jq: .cpu_ns == 150e6 and .outside_ns < 1e5

== a read of a timer that ends just after a child: no signal is read there
| parent  fork ~~~ read [timerfd] ~~~ | == 5 ==
| child     '== 20 ==, ends
process parent launched
process child created by parent
child computes 20ms
child ends
parent sleeps 25ms in read on [timerfd]
parent computes 5ms
parent ends
$ dpm dump --matched --json --type block trace
jq: .system_call == 0 and .edges == null

== a wait for an adopted grandchild: its own child ended long before
| parent      fork ~ wait4 ~~~~~~~~~~~~~~~~~~~~~~ | == 50 == |
| child         '- fork, ends
| grandchild         '-- == 100 == --------------'
process parent launched
process child created by parent
process grandchild created by child
child ends
grandchild computes 100ms
grandchild ends
parent waits for child
parent waits for grandchild
parent computes 50ms
parent ends
$ dpm path --json trace
jq: .cpu_ns == 150e6 and .outside_ns < 1e5
jq: [.processes[] | select(.path_cpu_ns > 0) | .name] | sort == ["grandchild", "parent"]

== a wait for an adopted grandchild, by the ptrace meter
machine vm ptrace
process parent launched
process child created by parent
process grandchild created by child
child ends
grandchild computes 100ms
grandchild ends
parent waits for child
parent waits for grandchild
parent computes 50ms
parent ends
$ dpm path --json trace
jq: .cpu_ns == 150e6 and .outside_ns < 1e5

== a wait for the end of a silent pipe: what the child computed until its end closed it
| parent  fork ~~~ read ~~~~~~~ | == 50 == |
| child     '== 100 ==, ends ---'
process parent launched
process child created by parent
pipe p: child > parent
child computes 100ms
child closes p
child ends
parent finds the end of p
parent computes 50ms
parent ends
$ dpm path --json trace
jq: .cpu_ns == 150e6 and .outside_ns < 1e5

== a wait for the end of a silent pair of sockets, by the ptrace meter
machine vm ptrace
process parent launched
process child created by parent
unix-stream p: child > parent pair
child computes 100ms
child closes p
child ends
parent finds the end of p
parent computes 50ms
parent ends
$ dpm path --json trace
jq: .cpu_ns == 150e6 and .outside_ns < 1e5

== a pipeline whose beginning says nothing
| sh       fork, fork ~~~~ wait4 ~~~~~~~~~~~~~~~~~~~~~.
| alone       '-- == 100 ==, ends -.                 |
| input        '-- read ~~~~~~~~~~~ '== 50 ==, ends --'
process sh launched
process alone created by sh
process input created by sh
pipe p: alone > input
alone computes 100ms
alone closes p
alone ends
input finds the end of p
input computes 50ms
input ends
sh waits for alone
sh waits for input
sh ends
$ dpm path --json trace
jq: .cpu_ns == 150e6 and .outside_ns < 1e5
jq: [.processes[] | select(.path_cpu_ns > 0) | .name] | sort == ["alone", "input"]

== a wait for the first message of a connection, in poll
| parent  accept ~ poll ~~~~~~~~~~~~~~~~~~~~~~ read | == 50 == |
| child   connect, == 100 ==, write 1 -------------'
process parent launched
process child created by parent
tcp c: child > parent
child connects c
parent accepts c
child computes 100ms
child sends 1 on c
child ends
parent receives 1 on c in poll
parent computes 50ms
parent ends
$ dpm path --json trace
jq: .cpu_ns == 150e6 and .outside_ns < 1e5

== a send that waits for longer than 32 bits of nanoseconds: so does its message to be read
| dd   write 200 KiB: 64 KiB out ---- 5 s ---- the rest
| cat                  sleeps 5 s ------------ read
process sh launched
process dd created by sh
process cat created by sh
pipe p: dd > cat
dd starts sending 204800 on p with 65536 out
cat sleeps 5s in clock_nanosleep
cat receives 65536 on p
dd finishes sending on p
cat receives 139264 on p
cat ends
dd ends
sh waits for cat
sh ends
$ dpm dump --json --type send trace
jq: .span_ns >= 5e9 and .span_ns < 5.001e9
$ dpm stats --json trace
jq: [.. | objects | .message_wait_ns? // empty | .max] | max | . >= 5e9 and . < 5.1e9

== a send whose rest goes out in parts: its reader waits for what its sender does before the part that it receives
| dd    write 128 KiB: 64 KiB out - 5 ms -.. 100 ms: runnable, no CPU ..the rest
| cat   ========== 5 ms ========== read - waits ------------------------- read
process sh launched
process dd created by sh
process cat created by sh
pipe p: dd > cat
dd starts sending 131072 on p with 65536 out
cat computes 5ms
cat receives 65536 on p
dd idles until 5ms
dd lacks a CPU for 100ms
dd finishes sending on p
cat receives 65536 on p
cat ends
dd ends
sh waits for cat
sh ends
$ dpm why --json trace
jq: [.waits[] | select(.waited_for == "message" and .pid == 102 and .ended_by_pid == 101) | near(.time_ns; 100e6)] == [true]
jq: .spent_on_ns | near(.no_cpu; 100e6) and .unknown < 1e6
jq: [.rows[] | select(.spent_on == "no_cpu" and .pid == 101) | near(.time_ns; 100e6)] == [true]
