# SPDX-License-Identifier: MIT
# What the machine lacked: CPUs, memory, disks, a cgroup's limit; and what other programs had of it (--other-load).

== waits for a CPU, of the process that waited longest and of others
| busy.1   == 300 ms of CPU time, no CPU for 600 ms ==
| busy.2   == 300 ms of CPU time, no CPU for 300 ms ==
process busy.1 launched
process busy.2 created by busy.1
30 times
    busy.1 computes 10ms
    busy.1 lacks a CPU for 20ms
    busy.2 computes 10ms
    busy.2 lacks a CPU for 10ms
end
busy.1 ends
busy.2 ends
$ dpm stats --json trace
jq: [.processes[] | [.pid, .switches.involuntary]] == [[100, 30], [101, 30]]
jq: .processes[0] | near(.waited_for_cpu_ns; 600e6) and near(.waited_for_cpu_ns + .cpu_ns; .threads_watched_ns) and .asleep_ns < 1e6
jq: .processes[1] | near(.waited_for_cpu_ns; 300e6)
$ dpm report trace
says: CPU busy[100] waited 600 ms of 900 ms for a CPU: it was runnable, but other tasks ran. More CPUs, fewer other tasks or a higher
    priority would save at most 67% of the time above.
says: busy[101] waited 300 ms of 600 ms for a CPU.

== waits for a CPU that nothing waited for are shown only with --all
process main launched
process helper created by main
20 times
    helper lacks a CPU for 20ms
    helper computes 1ms
end
main waits in poll for 2s at-most 2s
helper ends
main ends
$ dpm report trace
never: CPU helper
$ dpm report --all trace
says: CPU helper[101] waited 400 ms

== one that sleeps waits for no CPU
process nap launched
10 times
    nap computes 10ms
    nap sleeps 90ms in clock_nanosleep
end
nap ends
$ dpm report --all trace
never: CPU nap
never: for a CPU

== what /proc said at the beginning and at the end of a recording
| vm  SUMMARY at 0, 1 and 2 s: 2 CPUs, 3.2 of 4 s used, a disk busy, memory short, a quarter of it swapped
process work launched
work computes 1900ms
work sleeps 100ms in fdatasync uninterruptible
work ends
at 0s SUMMARY cpuUser=10s cpuSystem=1s cpuIdle=50s runnable=3 memory=4000000000 memoryAvailable=900000000 majorFaults=5 cpuWaited=1s memoryWaited=1s diskWaited=2s diskReads=10 diskRead=1000
at 1s SUMMARY cpuUser=11s cpuSystem=1.5s cpuIdle=50.3s cpuDisk=0.1s cpuStolen=0.1s runnable=9 memory=4000000000 memoryAvailable=100000000 majorFaults=50 swappedIn=100000000 swappedOut=400000000 cpuWaited=1.5s memoryWaited=1.3s diskWaited=2.4s diskReads=1010 diskRead=8001000 diskBusy=0.9s
at 2s SUMMARY cpuUser=12.4s cpuSystem=1.8s cpuIdle=50.4s cpuDisk=0.1s cpuStolen=0.3s runnable=6 memory=4000000000 memoryAvailable=200000000 majorFaults=105 swappedIn=200000000 swappedOut=800000000 cpuWaited=2.5s memoryWaited=1.6s diskWaited=2.8s diskReads=2010 diskRead=16001000 diskBusy=1.8s
$ dpm stats --json trace
jq: .loads | length == 1 and (.[0] | .elapsed_ns == 2e9 and .cpus == 2 and .major_faults == 100 and
    .cpu == {"user": 0.6, "system": 0.2, "idle": 0.125, "stolen": 0.075})
# (the recorder itself is one of the runnable tasks)
$ dpm stats --csv --by load trace
says: machine,elapsed_ns,cpus,cpu_user,cpu_system,cpu_idle,cpu_stolen,runnable_mean,runnable_max,waited_cpu_ns
says: vm,2000000000,2,0.600000,0.200000,0.125000,0.075000,5.000000,8,1500000000,600000000,0,800000000,0,4000000000,100000000,200000000,800000000,100,50.000,2000,0,16000000,0,1800000000
$ dpm stats trace
says: Machine MACHINE CPUS USER % SYSTEM % IDLE % STOLEN % RUNNABLE MEAN MAX WAIT FOR CPU % MEMORY % DISK %
says: vm 2 60 20 12 7.5 5.00 8 75 30 40
says: vm 95.4 MiB 191 MiB 763 MiB 50.0 7.63 MiB 0 B 90
$ dpm report trace
says: Disks The machine had tasks waiting for a disk 40% of the time. Some disk was busy 90% of the time (all disks: 7.63 MiB/s read,
    0 B/s written). Faster disks, or fewer and larger reads and writes would help.
says: Memory The machine was short of memory: some task waited for memory 30% of the time, and 954 MiB were swapped. The least
    available was 95.4 MiB. Use less, or add some.
says: CPU The machine lost 7.5% of its CPU time to other virtual machines (stolen time). Move it to a less busy host, or give it
    dedicated CPUs.

== a recording of less than half a second: nothing is found about its machine
process work launched
work computes 400ms
work ends
at 0s SUMMARY cpuUser=10s cpuIdle=50s runnable=3 memory=4000000000 memoryAvailable=900000000 cpuWaited=1s memoryWaited=1s diskWaited=2s
at 0.4s SUMMARY cpuUser=10.4s cpuIdle=50.1s cpuStolen=0.3s runnable=3 memory=4000000000 memoryAvailable=900000000 cpuWaited=1.3s memoryWaited=1.3s diskWaited=2.3s
$ dpm report --json trace
jq: .statistics.loads[0].elapsed_ns == 4e8
jq: [.findings[] | select(.topic == "CPU" or .topic == "Limits" or .topic == "Memory" or .topic == "Disks")] == []

== a command that had no CPU for most of its time: how many tasks wanted one
process work launched
work computes 400ms
work lacks a CPU for 1200ms
work computes 400ms
work ends
at 0s SUMMARY cpuUser=10s cpuIdle=50s runnable=9
at 1s SUMMARY cpuUser=12s cpuIdle=50s runnable=9
at 2s SUMMARY cpuUser=14s cpuIdle=50s runnable=10
$ dpm report trace
says: Time 60% of 2.00 s: work[100] could run, but had no CPU (8.3 tasks for 2 CPUs, on average).
says: 40%: work[100] computed.

== a quiet machine: nothing is found
process work launched
work computes 2s
work ends
at 0s SUMMARY cpuUser=10s cpuIdle=50s runnable=1 memory=4000000000 memoryAvailable=900000000 cpuWaited=1s memoryWaited=1s diskWaited=2s
at 2s SUMMARY cpuUser=12s cpuIdle=52s runnable=1 memory=4000000000 memoryAvailable=900000000 cpuWaited=1.01s memoryWaited=1.01s diskWaited=2.01s swappedIn=4000
$ dpm report --all --json trace
jq: [.findings[] | select(.topic == "CPU" or .topic == "Limits" or .topic == "Memory" or .topic == "Disks")] == []

== a cgroup that uses up its CPU limit, and waits of its process
| spin  20 of each 100 ms; the rest of the period it may not run
process spin launched cgroup 7
20 times
    spin computes 20ms
    spin lacks a CPU for 80ms
end
spin ends
at 0s NAME number=7 kind=2 name=/batch
at 0s CGROUP cgroup=7 quota=20ms period=100ms cpu=1s periods=10 throttledPeriods=2 throttled=100ms
at 1s CGROUP cgroup=7 quota=20ms period=100ms cpu=1.2s periods=20 throttledPeriods=12 throttled=900ms
at 2s CGROUP cgroup=7 quota=20ms period=100ms cpu=1.4s periods=30 throttledPeriods=20 throttled=1.6s
$ dpm stats --json trace
jq: .cgroups | length == 1 and (.[0] | .name == "/batch" and .cpu_limit == 0.2 and .throttled_periods == 18 and .throttled_ns == 1.5e9 and
    .periods == 20 and .elapsed_ns == 2e9)
$ dpm stats trace
says: Control groups
says: /batch
says: 0.20
$ dpm report trace
says: Limits /batch used up its CPU limit (0.20 CPUs) in 90% of its periods: its threads were stopped for 1.50 s in 2.00 s, summed over
    CPUs. Raise the limit, or use less CPU time.
says: CPU spin[100] waited 1.60 s of 2.00 s for a CPU: it was runnable, but other tasks ran, or a CPU limit of a cgroup was used up. A higher limit,
    more CPUs or a higher priority would save at most 80% of the time above.

== a CPU limit that another container uses up is none of the process that waits
process db launched cgroup 8
process app pid 150 cgroup 7
app computes 10ms
db computes 400ms
db lacks a CPU for 1200ms
db computes 400ms
db ends
at 0s NAME number=7 kind=2 name=/docker/app
at 0s NAME number=8 kind=2 name=/docker/db
at 0s CGROUP cgroup=7 quota=20ms period=100ms cpu=1s periods=10 throttledPeriods=2 throttled=100ms
at 0s CGROUP cgroup=8 period=100ms cpu=1s
at 2s CGROUP cgroup=7 quota=20ms period=100ms cpu=1.4s periods=30 throttledPeriods=20 throttled=1.6s
at 2s CGROUP cgroup=8 period=100ms cpu=1.8s
at 0s SUMMARY cpuUser=10s cpuIdle=50s runnable=9
at 1s SUMMARY cpuUser=12s cpuIdle=50s runnable=9
at 2s SUMMARY cpuUser=14s cpuIdle=50s runnable=10
$ dpm report trace
says: (8.3 tasks for 2 CPUs, on average).
says: Limits /docker/app used up its CPU limit
says: for a CPU: it was runnable, but other tasks ran. The machine had 8.3 runnable tasks on 2 CPUs on average. More CPUs,
never: a CPU limit that was used up
never: or a CPU limit of a cgroup was used up

== ... but that of a cgroup above its own may be
process db launched cgroup 8
db computes 400ms
db lacks a CPU for 1200ms
db computes 400ms
db ends
at 0s NAME number=7 kind=2 name=/site
at 0s NAME number=8 kind=2 name=/site/db
at 0s CGROUP cgroup=7 quota=20ms period=100ms cpu=1s periods=10 throttledPeriods=2 throttled=100ms
at 2s CGROUP cgroup=7 quota=20ms period=100ms cpu=1.4s periods=30 throttledPeriods=20 throttled=1.6s
at 0s SUMMARY cpuUser=10s cpuIdle=50s runnable=9
at 1s SUMMARY cpuUser=12s cpuIdle=50s runnable=9
at 2s SUMMARY cpuUser=14s cpuIdle=50s runnable=10
$ dpm report trace
says: (8.3 tasks for 2 CPUs, on average, and a CPU limit that was used up).
says: for a CPU: it was runnable, but other tasks ran, or a CPU limit of a cgroup was used up. The machine had

== a cgroup that was out of memory
process web launched cgroup 7
web computes 1s
web ends
at 0s NAME number=7 kind=2 name=/web
at 0s CGROUP cgroup=7 memory=1000000 memoryMost=67108864 memoryReclaims=4 oomKills=1
at 1s CGROUP cgroup=7 memory=67100000 memoryMost=67108864 memoryReclaims=9 oomKills=3
$ dpm report trace
first: Limits The kernel killed 2 processes of /web for lack of memory (limit 64.0 MiB). Raise the limit, or use less memory.

== three other tasks want the same CPUs: step sharing takes longer
| busy  == 10 ms == says that 4 tasks run == 10 ms == ...
load 4
process busy launched
unix-stream pair: busy > busy
30 times
    busy computes 10ms
    busy sends 1 on pair.1
    busy receives 1 on pair.2
end
busy ends
$ dpm parallelism --json --other-load seen trace
jq: .other_load | length == 1 and near(.[0].tasks; 3)
jq: .rows | map(select(.assignment == "one-each") | {key: .step, value: .}) | from_entries |
    .sharing.tmax_ns - .max.tmax_ns | near(.; 900e6)
$ dpm parallelism --json trace
jq: .other_load == []
jq: .rows | map(select(.assignment == "one-each") | .tmax_ns) | max - min == 0
$ dpm parallelism --json --other-load 2 --cores 1 trace
jq: .rows | map(select(.assignment == "one-each") | {key: .step, value: .}) | from_entries |
    .max.T_ns == 300e6 and (.sharing.tmax_ns - .max.tmax_ns - 600e6 | fabs) < 1000 and .delay.tmax_ns == .max.tmax_ns
$ dpm parallelism --other-load seen trace
says: while this run used CPU time, 3.0 other tasks ran or waited for
$ dpm parallelism --other-load 2 trace
says: Step sharing: 2 other tasks want a processor of each machine
$ dpm parallelism --other-load 1 trace
says: Step sharing: 1 other task wants a processor of each machine
$ for wrong in -1 some 1x nan 1e9; do dpm parallelism --other-load $wrong trace 2>&1; echo $?; done
says: dpm: parallelism: --other-load '-1'
says: 2
says: dpm: parallelism: --other-load 'some'
says: 2
says: dpm: parallelism: --other-load '1x'
says: 2
says: dpm: parallelism: --other-load 'nan'
says: 2
says: dpm: parallelism: --other-load '1e9'
says: 2
$ dpm parallelism --other-load 2 --step delay trace
exits: 2
$ dpm parallelism --slices slices.svg --one-machine --cores 1 --other-load 2 trace > words; grep -o -e '>1/3</text>' -e 'Step sharing, one-machine' slices.svg |
    sort -u
is: >1/3</text> Step sharing, one-machine
$ dpm parallelism --slices slices.svg --step delay trace
exits: 2

== dpm steer has decided: other shares were kept, another weight was undone
process app launched
app computes 20s
app ends
at 5s DECISION number=1 before=92000 after=18446744073709551615 beforeLength=5s outcome=1 predicted=3040 noise=60 act="shares of one two" actFrom="50% 50%" actTo="83% 17%" goal="requests/s of load" reason="two takes long"
at 11s DECISION number=1 before=92000 after=367000 beforeLength=5s afterLength=5s outcome=3 predicted=3040 noise=100 act="shares of one two" actFrom="50% 50%" actTo="83% 17%" goal="requests/s of load" reason="two takes long"
at 19s DECISION number=2 before=4ms after=5ms beforeLength=5s afterLength=6s outcome=4 decisionFlags=3 predicted=400 noise=20 act="weight of app" actFrom="1 times" actTo="4 times" goal="latency p50 of load" reason="0.50 of its threads wait for a CPU, 1.00 run"
at 20s DECISION number=2 before=18446744073709551615 after=18446744073709551615 outcome=6 predicted=4294967295 noise=4294967295 goal="requests/s of load" reason="no predicted gain is above"
$ dpm report trace
says: Steering dpm steer changed shares of one two from 50% 50% to 83% 17%, because two takes long. requests/s of load went from 92.0 to 367 (+299%;
    predicted +304%, noise 10%): kept.
says: dpm steer changed weight of app from 1 times to 4 times, because 0.50 of its threads wait for a CPU, 1.00 run. latency p50 of load went
    from 4.00 ms to 5.00 ms (-20%; predicted perhaps +40%, noise 2%): undone.
$ dpm stats --by decision trace
says: AT DECISION ACT FROM TO GOAL BEFORE AFTER PREDICTED GAIN NOISE
says: 5.00 s try shares of one two 50% 50% 83% 17% requests/s of load 92.0 - +304% - 6%
says: 11.0 s kept shares of one two 50% 50% 83% 17% requests/s of load 92.0 367 +304% +299% 10%
says: 19.0 s undone weight of app 1 times 4 times latency p50 of load 4.00 ms 5.00 ms +40% -20% 2%
$ dpm stats --json trace
jq: .decisions | length == 4 and (.[1] | .decision == "kept" and .time_ns == 11e9 and .before == 92 and .after == 367 and
    .unit == "per_second" and near(.measured_gain; 2.989) and .predicted_gain == 3.04 and .noise == 0.1 and
    .before_length_ns == 5e9 and .after_length_ns == 5e9 and .reason == "two takes long")
jq: .decisions[2] | .unit == "ns" and .before == 4e6 and near(.measured_gain; -0.2)
jq: .decisions[3] | .decision == "nothing" and .before == null and .predicted_gain == null and .noise == null
$ dpm stats --by program --json trace
jq: .decisions | length == 4
$ dpm dump --type decision trace
says: try 1: shares of one two: 50% 50% -> 83% 17%, predicted +304%; requests/s of load 92.0 (noise 6%); two takes long
says: undone 2: weight of app: 4 times -> 1 times, predicted perhaps +40%; latency p50 of load 4.00 ms -> 5.00 ms, gain -20% (noise 2%)
says: nothing to judge by; requests/s of load unknown; no predicted gain is above
$ dpm dump --json --type decision trace | jq -s .
jq: (.[0] | .before == 92000 and .after == null and .predicted == 3040) and
    (.[3] | .before == null and .after == null and .predicted == null and .noise == null and .before_length == 0)
$ dpm top --interval 6s trace
says: dpm steer: try 1: shares of one two: 50% 50% -> 83% 17%, predicted +304%
says: dpm steer: nothing to judge by
$ dpm stats --interval 6s --json trace
jq: .interval.decisions | all(.text | length > 10)

== dpm steer had nothing to do: its goal was known
process app launched
app computes 6s
app ends
at 5s DECISION number=0 before=92000 after=18446744073709551615 beforeLength=5s outcome=6 predicted=4294967295 noise=60 goal="requests/s of load" reason="no predicted gain is above"
$ dpm dump --type decision trace
says: nothing to do; requests/s of load 92.0 (noise 6%); no predicted gain is above

== a cgroup of which the kernel killed a process, far from its own limit: the machine had no memory left
process web launched cgroup 7
web computes 1s
web ends
at 0s NAME number=7 kind=2 name=/web
at 0s CGROUP cgroup=7 memory=1000000 memoryMost=67108864 oomKills=0
at 1s CGROUP cgroup=7 memory=2000000 memoryMost=67108864 oomKills=1
$ dpm report trace
first: Limits The kernel killed 1 process of /web for lack of memory, but not because of its limit (64.0 MiB), which was never
    reached: the machine, or a cgroup above it, had no memory left.

== ... or a cgroup above it reached its limit: that one is named, whether the cgroup itself has a limit or not
process web launched cgroup 7
process job pid 150 cgroup 9
job computes 1s
web computes 1s
web ends
at 0s NAME number=7 kind=2 name=/pod/web
at 0s NAME number=8 kind=2 name=/pod
at 0s NAME number=9 kind=2 name=/pod/job
at 0s CGROUP cgroup=7 memory=1000000 memoryMost=67108864 oomKills=0
at 0s CGROUP cgroup=8 memory=1000000 memoryMost=134217728 memoryReclaims=4 oomKills=0
at 0s CGROUP cgroup=9 memory=1000000 oomKills=0
at 1s CGROUP cgroup=7 memory=2000000 memoryMost=67108864 oomKills=2
at 1s CGROUP cgroup=8 memory=134000000 memoryMost=134217728 memoryReclaims=9 oomKills=0
at 1s CGROUP cgroup=9 memory=2000000 oomKills=1
$ dpm report trace
first: Limits The kernel killed 2 processes of /pod/web for lack of memory, most likely because /pod, which is above it, reached its limit (128 MiB). Raise
    that limit, or use less memory.
says: The kernel killed 1 process of /pod/job for lack of memory, most likely because /pod, which is above it, reached its limit (128 MiB).
never: of /pod for lack of memory

== what dpm steer decided more than an hour after the beginning has a time of its own
process app launched
app sleeps 4010s in clock_nanosleep
app ends
at 95s DECISION number=1 before=92000 after=18446744073709551615 beforeLength=5s outcome=1 predicted=3040 noise=60 act="shares of one two" actFrom="50% 50%" actTo="83% 17%" goal="requests/s of load" reason="two takes long"
at 4000s DECISION number=2 before=92000 after=18446744073709551615 beforeLength=5s outcome=1 predicted=3040 noise=60 act="shares of one two" actFrom="50% 50%" actTo="83% 17%" goal="requests/s of load" reason="two takes long"
at 4006200ms DECISION number=2 before=92000 after=367000 beforeLength=5s afterLength=5s outcome=3 predicted=3040 noise=100 act="shares of one two" actFrom="50% 50%" actTo="83% 17%" goal="requests/s of load" reason="two takes long"
$ dpm stats --by decision trace
says: 95.0 s try shares
says: 4000.0 s try shares
says: 4006.2 s kept shares
