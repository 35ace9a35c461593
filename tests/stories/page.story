# SPDX-License-Identifier: MIT
# The page of dpm report --html: its chart adds up to dpm why, and names are never markup. (Drawn in a browser: browser_test.sh)

== the chart of a run adds up to its account
| shell   ==5 ms== ask . . . . . . answered ==
| worker   . . . . ==2 ms== 40 ms sleep ==
process shell launched command "sh -c x"
process worker pid 200 command "python3 serve.py"
process idle pid 300
tcp c: shell > worker
shell computes 5ms
shell connects c
worker accepts c
3 times
    shell sends 3 on c
    worker receives on c
    worker computes 2ms
    worker sleeps 40ms in nanosleep
    worker sends 6 on c
    shell receives on c
end
idle sleeps 10ms in nanosleep
idle sleeps 100ms in nanosleep
shell ends
$ dpm why --json trace > why.json; dpm report --html page.html trace; page_account.py page.html --why why.json
is: ok
$ sed -n 's/^<script type="application\/json" id="data">\(.*\)<\/script>$/\1/p' page.html
jq: [.lanes[].name] | sort == ["idle[300]", "shell[100]", "worker[200]"]
jq: .lanes[] | select(.name == "worker[200]") | .ns.timer == 120e6 and .ns.computing == 6e6 and .account_ns.timer == 120e6
jq: .lanes[] | select(.name == "idle[300]") | .account_ns == {} and .ns.timer == 100e6
jq: .why.of == "run" and .time.account_of == "run" and .losses == []
jq: .map.arcs | length == 1 and (.[0] | .requests == 3 and .messages == 3 and .back_messages == 3 and near(.p50_ns; 42e6))
jq: .kinds | length > 10 and any(.key == "timer" and .name == "timer")

== the chart of a service adds up to the time of its requests, each group is one lane
process front.1 pid 200 command "front worker 1"
process front.2 pid 201 command "front worker 2"
process back pid 300
outside client
for i in 1 2
    tcp c$i: client > front.$i older
    tcp b$i: front.$i > back older
end
10 times
    for i in 1 2
        client sends 10 on c$i
        front.$i receives on c$i
        front.$i computes 1ms
        front.$i sends 5 on b$i
        back receives on b$i
        back computes 3ms
        back sends 50 on b$i
        front.$i receives on b$i
        front.$i sends 20 on c$i
    end
end
$ dpm why --json trace > why.json; dpm report --html page.html trace; page_account.py page.html --why why.json --has 'ABA'
is: ok
$ sed -n 's/^<script type="application\/json" id="data">\(.*\)<\/script>$/\1/p' page.html
jq: .why.of == "requests" and .requests.count == 20
jq: [.lanes[] | [.processes, (.members // [] | length)]] | sort == [[1, 0], [2, 2]]
jq: [.lanes[] | .account_ns.computing] | add == 80e6
jq: [.map.nodes[] | .name] | sort == ["10.0.0.1", "back", "front"]
jq: [.states.states[].name] | any(test("front"))

== of a request that several threads of a process handle, each has its own share, under the name that its hops have
| client  ask -.                                          .- answered
| java         = w.1: 20 ms = wakes = w.2: 30 ms = answers
process java pid 100
thread w.1 of java created by java named worker-1
thread w.2 of java created by java named worker-2
outside client
tcp c: client > java older
3 times
    client sends 1 on c
    w.1 receives on c
    w.1 computes 20ms
    w.2 sleeps in futex until w.1
    w.2 computes 30ms
    w.2 sends 1 on c
end
$ dpm why --json trace > why.json; dpm report --html page.html trace; page_account.py page.html --why why.json
is: ok
$ sed -n 's/^<script type="application\/json" id="data">\(.*\)<\/script>$/\1/p' page.html
jq: .requests.typical | .who_ns as $ns | (.hops | length) > 1 and all(.hops[]; .who == "" or $ns[.who] >= .ns) and ($ns | length) > 1

== of a request with very many hops, the longest are drawn; the shares of its threads are of all of them
| client  ask ---.                                                .--- answered
| app             '= 100 us = ask back . = 100 us = ask back . (200 times)
| back                          = 600 us =          = 600 us =
process app pid 200
process back pid 300
outside client
tcp c: client > app older
tcp d: app > back older
3 times
    client sends 1 on c
    app receives on c
    200 times
        app computes 100us
        app sends 1 on d
        back receives on d
        back computes 600us
        back sends 1 on d
        app receives on d
    end
    app sends 1 on c
end
$ dpm why --json trace > why.json; dpm report --html page.html trace; page_account.py page.html --why why.json
is: ok
$ sed -n 's/^<script type="application\/json" id="data">\(.*\)<\/script>$/\1/p' page.html
jq: .requests.slowest | (.hops | length) == 250 and .left_out > 100 and (.cut | not) and ([.who_ns[]] | add) == .ns
jq: .requests.slowest.who_ns | with_entries(.key |= split("[")[0]) | .back >= 120e6 and .app >= 311e6

== the picture of README: a shop, the disk of whose database is slow for a while
| client  ask ---.                                           .--- answered
| nginx           '- computes -.                 .- computes -'
| shop                          '- computes -. .- computes -'
| postgres                                    '- fdatasync -'
for i in 1 2
    process nginx.$i pid 81$i command "nginx: worker process"
    process shop.$i pid 91$i named python3 command "python3 shop.py"
    process postgres.$i pid 95$i command "postgres: shop shop"
end
process report pid 931 named python3 command "python3 report.py"
outside client
for i in 1 2
    tcp c$i: client > nginx.$i older ports 4000$i,80
    tcp a$i: nginx.$i > shop.$i older ports 4100$i,8000
    tcp d$i: shop.$i > postgres.$i older ports 4200$i,5432
end
7 times
    for i in 1 2
        client sends 300 on c$i
        nginx.$i receives on c$i in epoll_wait
        nginx.$i computes 3ms
        nginx.$i sends 350 on a$i
        shop.$i receives on a$i in epoll_wait
        shop.$i computes 9ms
        shop.$i sends 90 on d$i
        postgres.$i receives on d$i
        postgres.$i computes 4ms
        postgres.$i sleeps 14ms in fdatasync uninterruptible
        postgres.$i sends 600 on d$i
        shop.$i receives on d$i in epoll_wait
        shop.$i lacks a CPU for 5ms
        shop.$i computes 6ms
        shop.$i sends 9000 on a$i
        nginx.$i receives on a$i in epoll_wait
        nginx.$i computes 2ms
        nginx.$i sends 9100 on c$i
        client receives on c$i
    end
end
5 times
    for i in 1 2
        client sends 300 on c$i
        nginx.$i receives on c$i in epoll_wait
        nginx.$i computes 3ms
        nginx.$i sends 350 on a$i
        shop.$i receives on a$i in epoll_wait
        shop.$i computes 9ms
        shop.$i sends 90 on d$i
        postgres.$i receives on d$i
        postgres.$i computes 4ms
        postgres.$i sleeps 95ms in fdatasync uninterruptible
        postgres.$i sends 600 on d$i
        shop.$i receives on d$i in epoll_wait
        shop.$i lacks a CPU for 5ms
        shop.$i computes 6ms
        shop.$i sends 9000 on a$i
        nginx.$i receives on a$i in epoll_wait
        nginx.$i computes 2ms
        nginx.$i sends 9100 on c$i
        client receives on c$i
    end
end
9 times
    for i in 1 2
        client sends 300 on c$i
        nginx.$i receives on c$i in epoll_wait
        nginx.$i computes 3ms
        nginx.$i sends 350 on a$i
        shop.$i receives on a$i in epoll_wait
        shop.$i computes 9ms
        shop.$i sends 90 on d$i
        postgres.$i receives on d$i
        postgres.$i computes 4ms
        postgres.$i sleeps 14ms in fdatasync uninterruptible
        postgres.$i sends 600 on d$i
        shop.$i receives on d$i in epoll_wait
        shop.$i lacks a CPU for 5ms
        shop.$i computes 6ms
        shop.$i sends 9000 on a$i
        nginx.$i receives on a$i in epoll_wait
        nginx.$i computes 2ms
        nginx.$i sends 9100 on c$i
        client receives on c$i
    end
end
report computes 40ms
report sleeps 300ms in nanosleep
report computes 60ms
report sleeps 400ms in nanosleep
$ dpm report --html shop.html trace 2> err; page_account.py shop.html --has 'python3 shop.py ×2'
is: ok
$ grep -o '<h1>.*</h1>' shop.html
says: fdatasync

== what was lost is a gap in the chart
process work launched
process sink
pipe p: work > sink older
work computes 50ms
work sends 1 on p
sink receives on p
work computes 50ms
lose 7 of work
work sends 1 on p
sink receives on p
work computes 50ms
work ends
$ dpm report --html page.html trace 2> err; page_account.py page.html
is: ok
$ sed -n 's/^<script type="application\/json" id="data">\(.*\)<\/script>$/\1/p' page.html
jq: .losses | length == 1 and .[0].records == 7 and .[0].begin >= 50e6 and .[0].end > .[0].begin

== twelve groups have lanes, the others share one
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15
    process p$i.1 command "p$i"
    process p$i.2 command "p$i"
    for k in 1 2
        p$i.$k computes 1ms
        p$i.$k sleeps 1ms in nanosleep
        p$i.$k computes 3ms
        p$i.$k sleeps 1ms in nanosleep
    end
end
$ dpm report --html page.html trace 2> err; page_account.py page.html
is: ok
$ sed -n 's/^<script type="application\/json" id="data">\(.*\)<\/script>$/\1/p' page.html
jq: (.lanes | length) == 13 and .lanes[12].id == "lane-others" and .lanes[12].processes == 6 and .lanes[0].processes == 2

== names and command lines are never markup
process h1 launched command "first X"
process h2 command "second X"
process h2b named h2 command "third X"
tcp c: h1 > h2 older
tcp d: h1 > h2b older
5 times
    h1 sends 1 on c
    h2 receives on c
    h2 computes 2ms
    h2 sends 2 on c
    h1 receives on c
    h1 sends 1 on d
    h2b receives on d
    h2b sends 2 on d
    h1 receives on d
end
h1 ends
$ sed 's|name="h1"|name="</script><b>\\x22\\x27\&"|; s|name="h2"|name="<img onerror=a>"|; s|first X|<!--\\x0a\\x1b[2J\\xff|;
    s|second X|x </script><script>alert(1)</script>|; s|third X|x <img onerror=b>|' trace.txt |
    "$(dirname "$(command -v dpm)")/tests/programs/text-trace" hostile 0
$ dpm report --html page.html hostile; page_account.py page.html --has '</script><b>"' --has '<img onerror=a>' --has '</script><script>alert(1)'
    --has "onerror=b>"
is: ok
$ grep -c -e '<b>' -e '<img' -e '</script><script>' page.html
exits: 1
$ dpm report --html - hostile | tr -d '\n\t' | tr -cd '\000-\037\177' | tr -d '\001' | wc -c
is: 0

== passwords in command lines are hidden unless they are asked for
process sh launched command "sh -c work"
process mysql.1 command "mysql -phunter2 -h db"
process mysql.2 command "mysql --password=hunter3 -h db2"
process env.1 command "env PGPASSWORD=hunter4 psql one"
process env.2 command "env curl --token hunter5 -u joe:hunter6 two"
process get.1 command "get postgres://joe:hunter7@db/x"
process get.2 command "get --passive x"
for p in mysql.1 mysql.2 env.1 env.2 get.1 get.2
    tcp c$p: sh > $p older
    sh sends 1 on c$p
    $p receives on c$p
    $p computes 5ms
    $p sends 2 on c$p
    sh receives on c$p
end
sh ends
$ dpm report --html page.html trace; page_account.py page.html --lacks hunter --has 'mysql -p*** -h db' --has 'password=***'
    --has 'PGPASSWORD=***' --has 'joe:***@db' --has '--passive x'
is: ok
$ dpm report --json trace
never: hunter
$ dpm report trace
never: hunter
$ dpm report --html page.html --secrets trace; page_account.py page.html --has hunter2 --has hunter4 --has hunter7
is: ok

== a path that repeats itself is folded
process a command "a"
process b
outside client
tcp c: client > a older
tcp d: a > b older
3 times
    client sends 1 on c
    a receives on c
    11 times
        a sends 1 on d
        b receives on d
        b computes 1ms
        b sends 1 on d
        a receives on d
    end
    a sends 1 on c
end
$ dpm report --html page.html trace; page_account.py page.html --has '(AB)×11A' --lacks ABABAB
is: ok

== of many groups forty are in the map, and the rest is one, of no machine
process client launched
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44
    process s$i
    tcp c$i: client > s$i older
    client sends 10 on c$i
    s$i receives on c$i
end
client ends
$ dpm report --html page.html trace 2> err; page_account.py page.html
is: ok
$ sed -n 's/^<script type="application\/json" id="data">\(.*\)<\/script>$/\1/p' page.html
jq: (.map.nodes | length) == 41 and (.map.nodes[40] | .name == "5 others" and .outside and .processes == 0 and .lane == null)
# it has one arc, with the traffic of all five
jq: .map.arcs | length == 40 and ([.[].messages] | add) == 44 and (map(select(.to == 40)) | length == 1 and .[0].connections == 5 and .[0].messages == 5)

== the chart begins with the first event, commands count from the first record
| work     idle 2 s -- sends, computes, sends
process work
process sink
pipe p: work > sink older
work idles 2s
work sends 1 on p
sink idles until 2s
sink receives on p
work computes 50ms
work sends 1 on p
sink receives on p
$ dpm report --html page.html trace 2> err; sed -n 's/^<script type="application\/json" id="data">\(.*\)<\/script>$/\1/p' page.html
jq: near(.history.first_ns; 2e9) and near(.time.ns; 50e6)
