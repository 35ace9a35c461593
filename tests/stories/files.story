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
