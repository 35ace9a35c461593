# SPDX-License-Identifier: MIT
# The critical path of a service: that of its requests, not of what happened last (dpm path, and the report's Path).

== the client thinks and an idle loop polls: neither is the cause of the requests' time
| client   ask ---.                       .--- answered, thinks for 50 ms
| server          '== 8 ms ==(3 ms disk)==o
| poller   ~~ 100 ms ~~ does a bit ~~ 100 ms ~~ ..., also after the last answer
process server pid 200
process client pid 300
process poller pid 400
tcp c: client > server older
9 times
    client sends 1 on c
    server receives 1 on c
    server computes 8ms
    server sleeps 3ms in fdatasync
    server sends 1 on c
    client receives 1 on c
    client sleeps 50ms in clock_nanosleep
    poller sleeps 100ms in poll
    poller computes 5ms
end
client sends 1 on c
server receives 1 on c
server computes 30ms
server sleeps 3ms in fdatasync
server sends 1 on c
client receives 1 on c
4 times
    poller sleeps 100ms in poll
    poller computes 20ms
end
$ dpm path trace
says: No end that all work leads to was recorded in the 1.40 s from the first event to the last, so the critical path is that of requests.
says: 10 requests took 132 ms together (median 11.0 ms, 99th percentile 33.0 ms, slowest 33.0 ms)
says: SHARE TIME PROCESS SPENT ON MEAN TYPICAL SLOWEST
says: 77% 102 ms server[200] computing 10.2 ms 8.00 ms 30.0 ms
says: 23% 30.0 ms server[200] disk 3.00 ms 3.00 ms 3.00 ms
never: poller
says: A typical request, of 11.0 ms
says: The slowest request, of 33.0 ms
$ dpm path --json trace
jq: .requests | .followed == 10 and near(.time_ns; 132e6) and near(.median_ns; 11e6) and near(.slowest_ns; 33e6) and .unanswered == 0
jq: .requests | ([.parts[].time_ns] | add) == .time_ns
jq: .requests | ([.parts[].typical_ns] | add) == .typical_ns and ([.parts[].slowest_ns] | add) == .slowest_ns
jq: .requests.parts[0] | .name == "server" and .pid == 200 and .spent_on == "computing" and .label == null
$ dpm why --json trace > why.json; dpm path --json trace | jq --slurpfile why why.json '.requests as $of | $why[0].requests |
    .time_ns == $of.time_ns and .median_ns == $of.median_ns and .p99_ns == $of.p99_ns and .spent_on_ns ==
    (.spent_on_ns | with_entries(.key as $key | .value = ([$of.parts[] | select(.spent_on == $key).time_ns] | add // 0)))'
is: true
$ dpm report --json trace
jq: [.findings[] | select(.kind == "critical" or .kind == "path_in_flight")] == []
jq: .path.requests.time_ns == .why.requests.time_ns
$ dpm report --analyses path --json trace
jq: [.findings[] | select(.kind == "critical" or .kind == "path_in_flight")] == []
$ dpm report --html - trace
says: Critical path of all requests, their times added up
$ dpm path --folded - trace
says: server[200];computing
says: server[200];disk;fdatasync 3
$ dpm path --longest trace
says: It is the longest path of the whole graph
$ dpm path --what-if server=2 trace
says: It ends with the last work for others
says: server 2 times as fast

== one request: nothing is added up, and no typical one stands beside the slowest
process client launched
process server pid 200
tcp c: client > server ports 40001,80
client connects c
server accepts c
client sends 70 on c
server receives on c
server sleeps 20ms in fdatasync uninterruptible
server sends 150 on c
client receives on c
$ dpm why --requests trace
like: 1 request took 20\.\d ms\. Backwards from the last byte of its answer, the time was spent on:
like: The request, of 20\.\d ms
never: median
never: typical
$ dpm path trace
like: that of requests\. 1 request took 20\.\d ms\. Backwards from the last byte of its answer, the time was spent on:
like: The request, of 20\.\d ms
never: added up
never: A typical request
$ dpm why --json trace
jq: .requests | .typical.time_ns == .slowest.time_ns and near(.slowest.time_ns; 20e6)

== a request of more hops than are kept: its times in the table are of all of them
| client   ask ---.                                            .--- answered
| app             '= 1 ms = ask db . = 1 ms = ask db . (800 times)
| db                          = 1 ms =        = 1 ms =
process client pid 100
process app pid 200
process db pid 300
tcp c: client > app older
tcp d: app > db older
client sends 1 on c
app receives 1 on c
800 times
    app computes 1ms
    app sends 1 on d
    db receives 1 on d
    db computes 1ms
    db sends 1 on d
    app receives 1 on d
end
app sends 1 on c
client receives 1 on c
$ dpm why --requests --json trace
jq: .requests.slowest | .cut and (.hops | length) == 2000
$ dpm path --json trace
jq: .requests | ([.parts[].slowest_ns] | add) == .slowest_ns and ([.parts[].typical_ns] | add) == .typical_ns
jq: [.requests.parts[] | select(.name == "app" and .spent_on == "computing")] | length == 1 and .[0].slowest_ns > 790e6 and .[0].slowest_ns < 830e6
