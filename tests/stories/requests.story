# Where the time of the requests of a service went (dpm why, dpm report): the service is metered, its clients are not.

== a web server before two back ends, one of which sleeps: half of the requests sleep there
| client (not metered)  GET ---.                                           .--- 200
| nginx                        '- epoll, connect, send .... receive, send -'
| quick                                               '== 1 ==o
| slow                                                '-- sleeps 30 --o       each second time
process nginx pid 200
process quick pid 300 named python3 command "python3 back.py 8001 0"
process slow pid 400 named python3 command "python3 back.py 8002 0.03"
outside client at 10.9.9.9
for n in 1 2 3 4 5 6 7 8 9 10
    tcp front.q$n: client > nginx ports 510$n,8080
    tcp up.q$n: nginx > quick ports 520$n,8001
    nginx accepts front.q$n
    client sends 50 on front.q$n
    nginx receives 50 on front.q$n in epoll_wait
    nginx computes 100us
    nginx connects up.q$n
    quick accepts up.q$n
    nginx sends 60 on up.q$n
    quick receives 60 on up.q$n
    quick computes 1ms
    quick sends 70 on up.q$n
    nginx receives 70 on up.q$n in epoll_wait
    nginx sends 80 on front.q$n
    client receives 80 on front.q$n
    tcp front.s$n: client > nginx ports 530$n,8080
    tcp up.s$n: nginx > slow ports 540$n,8002
    nginx accepts front.s$n
    client sends 50 on front.s$n
    nginx receives 50 on front.s$n in epoll_wait
    nginx computes 100us
    nginx connects up.s$n
    slow accepts up.s$n
    nginx sends 60 on up.s$n
    slow receives 60 on up.s$n
    slow sleeps 30ms in clock_nanosleep
    slow sends 70 on up.s$n
    nginx receives 70 on up.s$n in epoll_wait
    nginx sends 80 on front.s$n
    client receives 80 on front.s$n
end
$ dpm why --json trace
jq: .requests.count == 20 and .requests.unanswered == 0 and near(.requests.time_ns; 312.6e6)
jq: .requests | ([.rows[].time_ns] | add) == .time_ns and ([.spent_on_ns[]] | add) == .time_ns and .spent_on_ns.unknown == 0
jq: [.requests.rows[] | select(.spent_on == "timer")] | length == 1 and .[0].pid == 400 and .[0].time_ns == 300e6 and
    .[0].count == 10
jq: [.requests.slowest.hops[].pid] | unique == [200, 400]
jq: .requests.slowest | . as $slowest | reduce .hops[] as $hop (0; if . == $hop.begin_ns then . + $hop.time_ns
    else -1 end) | . == $slowest.time_ns
$ dpm report trace
first: Time 96% of the time of 20 requests (median
first: ): python3 back.py 8002 0.03[400] slept until a timer ended (clock_nanosleep), 10 times.

== a database that waits for its disk: each transaction of five statements ends with fdatasync
| pgbench (not metered)   BEGIN UPDATE SELECT UPDATE END
| postgres                0.1   0.2    0.1    0.2    0.1 fdatasync 5 ms
process postgres.1 pid 200 named postgres
process postgres.2 pid 201 named postgres
outside pgbench at 10.9.9.9
tcp c1: pgbench > postgres.1 ports 51000,5432 older
tcp c2: pgbench > postgres.2 ports 51001,5432 older
12 times
    for backend in 1 2
        for work in 100us 200us 100us 200us
            pgbench sends 30 on c$backend
            postgres.$backend receives 30 on c$backend in epoll_wait
            postgres.$backend computes $work
            postgres.$backend sends 20 on c$backend
            pgbench receives 20 on c$backend
        end
        pgbench sends 5 on c$backend
        postgres.$backend receives 5 on c$backend in epoll_wait
        postgres.$backend computes 100us
        postgres.$backend sleeps 5ms in fdatasync uninterruptible
        postgres.$backend sends 20 on c$backend
        pgbench receives 20 on c$backend
    end
end
$ dpm why --json trace
jq: .requests.count == 120
jq: .requests | ([.rows[].time_ns] | add) == .time_ns and ([.spent_on_ns[]] | add) == .time_ns and .spent_on_ns.unknown == 0
jq: [.requests.rows[] | select(.spent_on == "disk" and .system_call == "fdatasync")] | ([.[].time_ns] | add) == 120e6 and
    ([.[].count] | add) == 24
$ dpm report trace
first: of the time of 120 requests (median
first: ): 2 postgres processes waited for the disk (fdatasync), 24 times.
$ dpm why --waits trace
like: postgres.* disk +fdatasync

== a request that comes while the server computes for another one waits in its queue
| a        ask ---.                .--- answered
| b            ask ---.(15 ms)                   .--- answered
| server          '== 20 =========='== 10 ======-'
process server pid 200
outside a at 10.9.9.1
outside b at 10.9.9.2
tcp ca: a > server ports 51000,80 older
tcp cb: b > server ports 51001,80 older
# both ends are known before the first request
a sends 3 on ca
server receives 3 on ca
server sends 3 on ca
a receives 3 on ca
b sends 3 on cb
server receives 3 on cb
server sends 3 on cb
b receives 3 on cb
a idles until 100ms
b idles until 105ms
5 times
    a sends 3 on ca
    server receives 3 on ca in epoll_wait
    b sends 3 on cb
    server computes 20ms
    server sends 3 on ca
    server receives 3 on cb in epoll_wait
    server computes 10ms
    server sends 3 on cb
    a receives 3 on ca
    a idles 20ms
    b receives 3 on cb
    b idles 15ms
end
$ dpm why --json trace
jq: .requests | .count == 12 and near(.spent_on_ns.computing; 150e6) and near(.spent_on_ns.queued; 75e6) and near(.time_ns; 225e6)
jq: [.requests.rows[] | select(.spent_on == "queued") | .pid, .count] == [200, 5]
$ dpm why --requests trace
says: message waiting for its receiver
