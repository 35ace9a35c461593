# SPDX-License-Identifier: MIT
# Messages of MPI: what ranks wait for, and that spinning is a wait.

== a rank that spins until a slow one sends: the slow one computes
| slow        ===== 90 ms =====o SEND          (10 times)
| fast        == 10 ms == RECEIVECALL ~~~ spins ~~~ RECEIVE
process sh launched
process slow created by sh
process fast created by sh
mpi c: slow > fast
10 times
    slow computes 90ms
    slow sends 100 on c
    fast computes 10ms
    fast receives on c
end
slow ends
fast ends
sh waits for fast
sh waits for slow
sh ends
$ dpm why trace
like: 100% +900 ms +10 slow\[101\] computing
never: fast\[102\] +computing
$ dpm why --waits trace
like: fast\[102\] +message +mpi rank 0 +slow
$ dpm stats trace
says: Matched receives: 10 exact.
like: slow\[101\] fast\[102\] 800 ms .* the sender
$ dpm stats --by path --json trace
jq: [.. | objects | select(.kind? == "mpi")] | length > 0
$ dpm parallelism --json trace
jq: [.. | objects | .T_ns? // empty] | length > 0 and all(. < 1.1e9)
$ dpm report --all trace
says: 1 of 3 processes did 90% of the work (1.00 s of CPU time): slow[101].
$ dpm stats --json trace
jq: .processes[] | select(.pid == 102) | .cpu_ns > 0.85e9 and .spun_ns > 0.75e9
$ dpm dump trace
says: mpi rank 0 > rank 1

== a ring: one rank computes at a time, the others spin: P is 1
| one     ==== 4 ms ===o SEND   ~~~ spins ~~~~~~~~~~ RECEIVE
| two                  RECEIVE ==== 4 ms ===o SEND ~ spins ~
process sh launched
process one created by sh
process two created by sh
mpi c: one > two
mpi d: two > one
20 times
    one computes 4ms
    one sends 8 on c
    two receives on c
    two computes 4ms
    two sends 8 on d
    one receives on d
end
one ends
two ends
sh waits for one
sh waits for two
sh ends
$ dpm parallelism --json trace
jq: near(.rows[0].T_ns; 160e6) and near(.rows[0].tmax_ns; 160e6) and near(.rows[0].P; 1)

== a collective function: the wait has its name, and what it spun is no work
process rank launched
rank computes 10ms
rank sleeps 50ms in MPI on mpi:MPI_Barrier
rank computes 10ms
rank ends
$ dpm why trace
like: 7[0-9]% +50.0 ms +1 rank\[100\] +MPI, for other ranks MPI_Barrier
$ dpm report trace
says: waited in MPI for other ranks

== a receive ends without a message that is recorded: what follows is computing, and no wait
process rank launched
10 times
    rank spins 10ms in MPI_Recv
    rank computes 40ms
end
rank ends
$ dpm why trace
like: 80% +400 ms +10 rank\[100\] computing
like: 20% +100 ms +10 rank\[100\] +MPI, for other ranks MPI
$ dpm dump trace
says: of which it spun 10.0 ms of CPU time
never: task state
$ dpm parallelism --json trace
jq: [.. | objects | .T_ns? // empty] | length > 0 and all(. > 0.39e9 and . < 0.51e9)

== the same next to a collective function: what that spun is no work either
process rank launched
rank spins 10ms in MPI_Waitany
rank spins 10ms in MPI_Waitsome
rank computes 80ms
rank ends
$ dpm why trace
like: 80% +80.0 ms +1 rank\[100\] computing

== a job of MPI without records of its messages: the report says so, and what would record them
machine vm leaving-out mpi
process mpirun.mpich launched
process rank created by mpirun.mpich
rank computes 10ms
rank ends
mpirun.mpich waits for rank
mpirun.mpich ends
$ dpm stats trace
says: This is a job of MPI. Messages between ranks on one machine go through shared memory, and are not recorded: --kinds all,mpi records them (with the kernel meter).

== ... on several machines: messages by TCP are recorded, and the report does not deny it
machine here at 10.0.0.1 leaving-out mpi
machine there at 10.0.0.2 leaving-out mpi
process mpirun of here launched
process rank.0 of here created by mpirun
process rank.1 of there launched
tcp c: rank.0 > rank.1
rank.0 connects c
rank.1 accepts c
rank.0 sends 1000 on c
rank.1 receives on c
rank.1 sends 1000 on c
rank.0 receives on c
rank.0 ends
rank.1 ends
mpirun waits for rank.0
mpirun ends
$ dpm stats here there
says: Who sent to whom
says: This is a job of MPI. Messages between ranks on one machine go through shared memory, and are not recorded
never: between its ranks are not recorded

== the same, but they were among the kinds: it does not advise what was done
process mpirun.mpich launched
process rank created by mpirun.mpich
rank computes 10ms
rank ends
mpirun.mpich waits for rank
mpirun.mpich ends
$ dpm stats trace
says: This is a job of MPI, and no message between its ranks was recorded, although --kinds mpi was given: MPI in dpm-meter(7) says of which none are.
never: records them (with the kernel meter)

== a late rank: the others wait for it in MPI_Allreduce, and it computes
| slow      ======= 90 ms =======o begins
| fast      == 10 ms ==o begins ~~ waits ~~~o        (10 times)
process mpirun launched
process slow created by mpirun
process fast created by mpirun
10 times
    slow computes 90ms
    fast computes 10ms
    fast joins $N of 5 of 2
    slow joins $N of 5 of 2
    fast sleeps 81ms in MPI on mpi:MPI_Allreduce
    slow idles 1ms
end
slow ends
fast ends
mpirun waits for fast
mpirun waits for slow
mpirun ends
$ dpm why trace
like: 9[0-9]% +[89][0-9][0-9] ms +.* slow\[101\] computing
$ dpm why --waits trace
like: fast\[102\] .*MPI
$ dpm dump --matched --type block trace
like: fast\[102\] [^[]*MPI_Allreduce[^[]* <- WAKEUP [0-9]+ of slow\[101\], collective
never: <- WAKEUP [0-9]+ of fast
$ dpm dump --type wakeup trace
says: collective call 1 of communicator 00000028
$ dpm path trace
like: slow\[101\]

== each kind of collective function: the root of those that it gives to, all others of those that collect
process root
process one
process two
root joins 1 of 5 of 3 takes
one joins 1 of 5 of 3 takes
two idles 20ms
two joins 1 of 5 of 3 gives
root sleeps 21ms in MPI on mpi:MPI_Bcast
one sleeps 21ms in MPI on mpi:MPI_Bcast
two idles 1ms
root joins 2 of 5 of 3 collects
one joins 2 of 5 of 3 brings
one sleeps 5ms in MPI on mpi:MPI_Reduce
two idles 30ms
two joins 2 of 5 of 3 brings
root sleeps 31ms in MPI on mpi:MPI_Reduce
$ dpm dump --matched --type block trace
like: root\[100\] [^[]*MPI_Bcast[^[]* <- WAKEUP [0-9]+ of two\[102\], collective
like: one\[101\] [^[]*MPI_Bcast[^[]* <- WAKEUP [0-9]+ of two\[102\], collective
like: root\[100\] [^[]*MPI_Reduce[^[]* <- WAKEUP [0-9]+ of two\[102\], collective
$ dpm dump --matched --json --type block trace
jq: .duration_ns != 5000000 or .edges == null

== a root that was there before, another communicator, and a rank that is not recorded: no edge
process one
process two
one joins 1 of 5 of 2 gives
two idles 1ms
two joins 1 of 5 of 2 takes
two sleeps 10ms in MPI on mpi:MPI_Bcast
one idles 12ms
two joins 2 of 5 of 2
one joins 2 of 6 of 2
two sleeps 10ms in MPI on mpi:MPI_Barrier
two joins 3 of 5 of 3
one idles 20ms
one joins 3 of 5 of 3
two sleeps 20ms in MPI on mpi:MPI_Barrier
two joins 4 of 5
one idles 5ms
one joins 4 of 5
two sleeps 100ms in MPI on mpi:MPI_Barrier
$ dpm dump --matched --type block trace
never: collective
says: MPI_Barrier

== a wait that begins after the function is another one's
process one
process two
one joins 1 of 5 of 2
two idles 1us
two joins 1 of 5 of 2
one idles 5us
one sleeps 10ms in MPI on mpi:MPI_Probe
$ dpm dump --matched --type block trace
never: collective

== a late rank that is held back, as its message has no SEND yet: the others' wait finds it all the same
process sender
process late
process fast
unix-stream c: sender > late
sender sends 3 on c in 40ms
late receives on c
late joins 1 of 5 of 2
fast joins 1 of 5 of 2
fast sleeps 30ms in MPI on mpi:MPI_Barrier
$ dpm dump --matched --type block trace
says: of late[101], collective

== ranks of two machines: a rank receives by a tag for the first time, before the other machine's records are read so far
| early @web1   o RECEIVE 1 ... o RECEIVE 20    the other rank has sent, but its paths are read later
| late @db1     o SEND 1 ...    o SEND 20
machine web1 at 10.0.0.1 cpus 2
machine db1 at 10.0.0.2 cpus 2 ahead 50ms
process early pid 100 of web1
process late pid 200 of db1
mpi c: early > late
mpi d: late > early
mpi e: late > early
mpi f: late > early
20 times
    early sends 8 on c
    late receives on c
    late sends 8 on d
    early receives on d
    early computes 10ms
    late computes 10ms
end
late sends 8 on e
early receives on e
early computes 50ms
late sends 8 on f
early receives on f
early ends
late ends
$ dpm stats web1 db1
says: Matched receives: 42 exact.
# each edge refers to one record, of the other machine
$ dpm dump --matched --json web1 db1 | jq -s .
jq: . as $all | [.[] | select(.event == "RECEIVE") | .machine as $machine | (.edges[] | select(.kind == "exact")) as $edge |
    [$all[] | select(.origin == $edge.origin and .stream == $edge.stream and .sequence == $edge.sequence and .event == $edge.event) |
    .machine != $machine]] | length == 42 and all(.[]; . == [true])

== a late rank on another machine, whose clock is 50 ms ahead: the others wait for it
| first, second @web1   == 1 ms ==o ~~ waits ~~~~~o
| slow @db1             ======= 20 ms =======o
machine web1 at 10.0.0.1 cpus 2
machine db1 at 10.0.0.2 cpus 2 ahead 50ms
process first pid 100 of web1
process second pid 101 of web1
process slow pid 200 of db1
mpi c: first > slow
mpi d: slow > first
mpi e: slow > second
10 times
    first sends 8 on c
    slow receives on c
    slow sends 8 on d
    first receives on d
    slow sends 8 on e
    second receives on e
    first computes 1ms
    second computes 1ms
    first joins $N of 5 of 3
    second joins $N of 5 of 3
    slow computes 20ms
    slow joins $N of 5 of 3
    first sleeps 20ms in MPI on mpi:MPI_Allreduce
    second sleeps 20ms in MPI on mpi:MPI_Allreduce
    slow idles 1ms
end
first ends
second ends
slow ends
$ dpm dump --matched --json --type block web1 db1
jq: (.duration_ns >= 20000000) == any(.edges[]?; .kind == "collective")
$ dpm dump --matched --type block web1 db1
never: <- WAKEUP [0-9]+ of (first|second)
$ dpm why web1 db1
like: 200 ms +10 +20.0 ms first\[100\]@web1 +MPI, for other ranks MPI_Allreduce slow\[200\]@db1
like: 200 ms +10 +20.0 ms second\[101\]@web1 +MPI, for other ranks MPI_Allreduce slow\[200\]@db1

== ranks of two machines, as late as their clocks may be wrong: no edge
| early @web1 =o ~~~~~~~ waits ~~~~~~o
| one @web1   == 9 ms ==o ~ waits ~~~o
| two @db1    ==== 10.05 ms ====o          a message takes 1 ms: so much the clocks may be wrong
machine web1 at 10.0.0.1 cpus 2
machine db1 at 10.0.0.2 cpus 2
process early pid 99 of web1
process one pid 100 of web1
process two pid 200 of db1
mpi c: one > two
mpi d: two > one
10 times
    one sends 8 on c
    two idles 1ms
    two receives on c
    two sends 8 on d
    one idles 1ms
    one receives on d
    early joins $N of 5 of 3
    one computes 9ms
    two computes 10050us
    one joins $N of 5 of 3
    two joins $N of 5 of 3
    one sleeps 100us in MPI on mpi:MPI_Allreduce
    two idles 50us
    early sleeps 12ms in MPI on mpi:MPI_Allreduce
    one computes 1ms
    two computes 1050us
    one joins $N of 6 of 2 takes
    two joins $N of 6 of 2 gives
    one sleeps 100us in MPI on mpi:MPI_Bcast
end
one ends
two ends
$ dpm dump --matched --type block web1 db1
never: collective
says: MPI_Allreduce

== ranks of two machines, whose MPI uses TCP: its messages are counted twice, and the report says so
machine web1 at 10.0.0.1 cpus 2
machine db1 at 10.0.0.2 cpus 2
process one pid 100 of web1
process two pid 200 of db1
process daemon pid 201 of db1
tcp t: one > two
tcp other: one > daemon
mpi c: one > two
one connects t
two accepts t
one connects other
daemon accepts other
5 times
    one sends 8 on c
    one sends 40 on t
    two receives on t
    two receives on c
    one sends 3 on other
    daemon receives on other
end
one ends
two ends
daemon ends
$ dpm stats web1 db1
says: 5 messages over TCP between ranks of MPI most likely carried messages of MPI, which are counted, too: with --kinds mpi alone each counts once.
$ dpm stats --json web1 db1
jq: .trace.messages_below_mpi == 5
