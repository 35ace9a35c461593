# Files between processes (--kinds file): what one process reads that another one wrote before.

== cat f1 > f2; cat f2 > f3: one arc, from the first to the second
| sh      fork ---.              .-- fork ---.             .--
| cat.1           '-- WRITE f2 --'            |            |
| cat.2                                       '- READ f2 --'
process sh launched
process cat.1 created by sh
cat.1 reads 100 of /w/f1
cat.1 opens /w/f2 emptied
cat.1 writes 100 to /w/f2
cat.1 computes 10ms
cat.1 ends
sh waits for cat.1
process cat.2 created by sh
cat.2 reads 100 of /w/f2
cat.2 reads 0 of /w/f2
cat.2 opens /w/f3 emptied
cat.2 writes 100 to /w/f3
cat.2 computes 10ms
cat.2 ends
sh waits for cat.2
sh ends
$ dpm stats trace
says: Files that another process wrote
says: cat[101] cat[102] 1 1 100 B /w/f2
says: Files: a read found what another process had written 1 time (inferred).
never: Matched receives
$ dpm stats --json trace
jq: .inputs == [{from: 2, to: 3, files: 1, reads: 1, bytes: 100, doubtful: 0, file: "/w/f2"}]
jq: .trace.matching.files == 1 and .trace.matching.exact == 0 and .pairs == []
$ dpm stats --by input --csv trace
like: cat\[101\],cat\[102\],1,1,100,0,/w/f2
$ dpm dump --matched --type read trace
says: <- WRITE 5 of cat[101], 100 bytes, file
$ dpm graph -o - trace
says: 100 bytes, file from WRITE

== the last writer of each byte counts; what was cut off or made anew has none
| one     0-100 ---------------- cut to 10
| two        25-75
| reader           READ 0-100 .            READ 0-100 .
process one
process two
process reader
one writes 100 to /f
two idles 1ms
two writes 50 to /f at 25
reader idles 2ms
reader reads 100 of /f
one idles 3ms
one cuts /f to 10
reader idles 2ms
reader reads 100 of /f at 0
two idles 4ms
two opens /f emptied
reader idles 2ms
reader reads 100 of /f at 0
one writes 10 to /g
one writes 10 to /h
one removes /g
one renames /h to /i
reader idles 1ms
reader reads 10 of /g
reader reads 10 of /i
$ dpm dump --matched --type read trace
says: file /f 100 bytes, offset 0, in 0 ns <- WRITE 1 of one[100], 50 bytes, file; WRITE 1 of two[101], 50 bytes, file
says: file /f 100 bytes, offset 0, in 0 ns <- WRITE 1 of one[100], 10 bytes, file
says: file /g 10 bytes, offset 0, in 0 ns 2023
says: file /i 10 bytes, offset 0, in 1 ns <- WRITE 6 of one[100], 10 bytes, file
never: in doubt
$ dpm stats --json trace
jq: .trace.matching.files == 4 and .trace.matching.doubtful_files == 0 and .trace.matching.overlapping_writes == 0
jq: [.inputs[] | [.from, .to, .files, .bytes, .file]] == [[1, 3, 2, 70, "/f"], [2, 3, 1, 50, "/f"]]

== a process's own writes hide those of others, and are no arcs; threads of one process are not others
process one
process two
thread helper of two
one writes 100 to /f
two idles 1ms
two writes 100 to /f
helper idles 2ms
helper reads 100 of /f
two idles 2ms
two reads 100 of /f at 0
$ dpm stats --json trace
jq: .inputs == [] and .trace.matching.files == 0
$ dpm stats trace
never: another process

== calls that overlap are in doubt, and so are mappings
| writer  |-- WRITE 0-10 --|   |- WRITE 20-30 mapped
| reader        |-- READ --|            READ 0-30
process writer
process reader
writer writes 10 to /f in 10ms
reader idles 5ms
reader reads 10 of /f in 6ms
writer idles 5ms
writer writes 10 to /f at 20 mapped
reader idles 9ms
reader reads 30 of /f at 0
reader reads 5 of /f at 0 in 5ms
writer idles 7ms
writer writes 10 to /f at 0 in 20ms
$ dpm dump --matched --type read trace
says: 10 bytes, offset 0, in 6.00 ms <- WRITE 1 of writer[100], 10 bytes, file, in doubt
says: 30 bytes, offset 0, in 0 ns <- WRITE 2 of writer[100], 20 bytes, file, in doubt
$ dpm stats trace
says: (inferred; 2 in doubt, for calls that overlapped or mapped the file)
says: 1 write overlapped a read of the same file, which may have found it.
$ dpm stats --json trace
jq: .trace.matching.overlapping_writes == 1 and .inputs[0].doubtful == 2

== a mapping may have changed what another process has written since
process mapper
process writer
process reader
mapper writes 100 to /f mapped
writer idles 1ms
writer writes 50 to /f
writer writes 50 to /f at 200
reader idles 2ms
reader reads 50 of /f
reader reads 50 of /f at 200
$ dpm dump --matched --type read trace
says: 50 bytes, offset 0, in 0 ns <- WRITE 1 of writer[101], 50 bytes, file, in doubt
says: 50 bytes, offset 200, in 0 ns <- WRITE 2 of writer[101], 50 bytes, file
$ dpm stats --json trace
jq: .trace.matching.files == 2 and .trace.matching.doubtful_files == 1

== a writer that is held back, as its message has no SEND yet, is waited for
| client  SEND |-------------------------------| recorded here
| server        RECEIVE, WRITE
| reader                        READ
process client
process server
process reader
unix-stream c: client > server
client sends 3 on c in 20ms
server receives on c
server idles 1ms
server writes 100 to /f
reader idles 5ms
reader reads 100 of /f
$ dpm dump --matched --type read trace
says: <- WRITE 4 of server[101], 100 bytes, file
$ dpm stats --json trace
jq: .trace.matching.files == 1 and .trace.matching.exact == 1

== a build: the item that the run waited for, what it wrote, and what read that
| make   fork fork fork ----- waits ----------------.   fork ---.
| gcc 1   as: WRITE a.o                              |           |
| gcc 2   as: ======= 100 ms ======== WRITE b.o -----'           |
| gcc 3   as: WRITE c.o                                          |
| ld                                                    READ a.o b.o c.o
process make launched
for N in 1 2 3
    process gcc.$N created by make command "gcc -c $N.c"
end
for N in 1 2 3
    process as.$N created by gcc.$N
end
as.1 computes 10ms
as.1 writes 500 to /w/1.o
as.1 ends
gcc.1 waits for as.1
gcc.1 ends
as.2 computes 100ms
as.2 writes 900 to /w/2.o
as.2 ends
gcc.2 waits for as.2
gcc.2 ends
as.3 computes 10ms
as.3 writes 500 to /w/3.o
as.3 ends
gcc.3 waits for as.3
gcc.3 ends
make waits for gcc.1
make waits for gcc.3
make waits for gcc.2
process ld created by make
ld reads 500 of /w/1.o
ld reads 900 of /w/2.o
ld reads 500 of /w/3.o
ld computes 10ms
ld ends
make waits for ld
make ends
$ dpm report trace
says: Items gcc -c 2.c[102] is one of 3 gcc processes that make[100] created. The run waited for it and its descendants for 100 ms (91%),
    for the next of them 0%. To split it would save at most that. ld[107] read /w/2.o, which it wrote.
says: Files that another process wrote
says: as -c 2.c[105] ld[107] 1 1 900 B /w/2.o
$ dpm stats --by program trace
says: as ld 3 3 1.86 KiB /w/2.o
$ dpm report --html page.html trace && grep -o '"file",[01]' page.html | sort | uniq -c
says: 3 "file",0
$ dpm why trace
says: Files that one of these processes wrote, and another one read later (inferred)
says: 91% as -c 2.c[105] ld[107] 900 B /w/2.o
never: /w/1.o
$ dpm path trace
says: Files that one of these processes wrote, and another one read later (inferred)
says: 91% as -c 2.c[105] ld[107] 900 B /w/2.o
$ dpm path --json trace
jq: .files == [{from_machine: null, from_name: "as", from_pid: 105, to_machine: null, to_name: "ld", to_pid: 107, share: .files[0].share, bytes: 900, reads: 1, file: "/w/2.o"}]
$ dpm why --json trace
jq: (.spent_on_ns.computing - 110e6 | fabs) < 1e6 and (.spent_on_ns.unknown < 1e3)
jq: ([.rows[].time_ns] | add) == .elapsed_ns

== a reader that got along without waiting: the file is on the critical path, and it is no message
| writer  ==== 50 ms ==== WRITE |
| reader  = 5 ms =                READ === 20 ms ===|
process writer
process reader
writer computes 50ms
writer writes 100 to /f
writer ends
reader computes 5ms
reader idles until 60ms
reader reads 100 of /f
reader computes 20ms
reader ends
$ dpm path trace
says: writer[100] reader[101] file 1
$ dpm path --json trace
jq: [.arcs[] | select(.kind == "file")] | length == 1
$ dpm parallelism --json trace
jq: .trace.message_arcs == 0 and .trace.other_arcs == 1 and .trace.matching.files == 1
$ dpm parallelism trace
says: 0 edges of messages, 1 of creation, ends, buffer space, connections, wakeups and files.

== memory that processes share is named, unless they all exchange messages, too
process a
process b
process c
process d
process e
pipe p: d > e
a computes 1ms
d sends 10 on p
e receives on p
d shares 1 /dev/shm/ring
e shares 1 /dev/shm/ring
a shares 2 "/dev/zero (deleted)"
b shares 2 "/dev/zero (deleted)"
c shares 2 "/dev/zero (deleted)"
a shares 3 /dev/shm/x
b shares 3 /dev/shm/x
$ dpm stats trace
says: a[100], b[101] and 1 other share memory that they may write to (/dev/zero (deleted)); the same holds for 1 other group of processes. What passes there is not recorded.
never: ring
$ dpm stats --json trace
jq: .trace.shared_memory == [{memory: "/dev/zero (deleted)", objects: 1, processes: [1, 2, 3]}, {memory: "/dev/shm/x", objects: 1, processes: [1, 2]}]
$ dpm stats --by program trace
never: share memory
$ dpm dump --type name trace
says: process 1 shares memory 2, /dev/zero (deleted)

== a reader that polls: its wait is for its timer, though the file was written meanwhile
| writer  ==== 30 ms ==== WRITE |
| reader  poll ~~~~~~~~~~ 50 ms ~~~~ READ == 10 ms ==|
process writer
process reader
writer computes 30ms
writer writes 100 to /f
writer ends
reader waits in poll for 50ms at-most 50ms
reader reads 100 of /f
reader computes 10ms
reader ends
$ dpm why --json trace
jq: near(.spent_on_ns.timer; 50e6) and near(.spent_on_ns.computing; 10e6)
$ dpm parallelism --json trace
jq: .trace.asleep.count == 1 and .trace.other_arcs == 1
