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
like: slow\[101\] +fast\[102\] +10 .* the sender
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
says: This is a job of MPI, and messages between its ranks are not recorded: those on one machine go through shared memory. --kinds all,mpi records them (with the kernel meter).

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
