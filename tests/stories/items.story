# SPDX-License-Identifier: MIT
# Items of work for which a process creates one process each: xargs -P, make -j, a pool. Which one the run waited for.

== one item of four takes most of the time, mostly in a process that it created
| xargs    fork fork fork fork ------------ waits -----------.
| work 1   == 10 ==                                           |
| work 2   == 10 == gzip ======== 70 ========= waits == 10 ==-'
process xargs launched
for N in 1 2 3 4
    process work.$N created by xargs command "sh ./work $N"
end
process gzip created by work.2
work.1 computes 10ms
work.1 ends
gzip computes 70ms
gzip ends
work.2 waits for gzip
work.2 computes 10ms
work.2 ends
work.3 computes 10ms
work.3 ends
xargs waits for work.2
xargs computes 10ms
work.4 computes 10ms
work.4 ends
xargs ends
$ dpm report trace
says: Items work 2[102] is one of 4 work processes that xargs[100] created. The run waited for it and its descendants for 80.0 ms (89%),
    for the next of them 0%. To split it would save at most that.
$ dpm report --json trace
jq: [.findings[] | select(.kind == "item")] | length == 1 and near(.[0].ns; 80e6) and (.[0].share - 0.889 | fabs) < 0.01

== items that take equally long, one after the other
process xargs launched
for N in 1 2 3
    process work.$N created by xargs command "sh ./work $N"
    work.$N computes 50ms
    work.$N ends
    xargs waits for work.$N
end
xargs ends
$ dpm report trace
never: Items

== two processes of a name are not items
process sh launched
process a.1 created by sh
process a.2 created by sh
a.1 computes 10ms
a.1 ends
a.2 computes 100ms
a.2 ends
sh waits for a.2
sh ends
$ dpm report trace
never: Items

== stages of other names are not items of one kind
process sh launched
process a created by sh
process b created by sh
process c created by sh
a computes 100ms
a ends
sh waits for a
b ends
c ends
sh ends
$ dpm report trace
never: Items

== processes side by side to the end, as ranks that spin for each other, are not items: nobody waited for one of them alone
| rank 1..3   == 100 ==
| rank 4      == 101 ==
process mpirun launched
for N in 1 2 3
    process rank.$N created by mpirun
    rank.$N computes 100ms
    rank.$N ends
end
process rank.4 created by mpirun
rank.4 computes 101ms
rank.4 ends
mpirun waits for rank.4
mpirun ends
$ dpm report trace
never: Items
