# What cannot be paired: an unmonitored peer, or a metered one behind a translated address.

== translated addresses and the ptrace meter: the other end is not found, and no sentence calls it unmonitored
machine vm ptrace
process client launched
process server created by client
tcp c: client > server translated
client connects c
server accepts c
3 times
    client sends 100 on c
    server receives on c
    server computes 30ms
    server sends 200 on c
    client receives on c
end
server ends
client waits for server
client ends
$ dpm stats trace
says: Matched receives: 12 whose other end was not found.
says: Ends not found are unmonitored, or metered behind translated addresses (NAT)
never: unmonitored peer
$ dpm why trace
says: peer not found
says: A peer not found is unmonitored, or metered behind a translated address (NAT)
never: unmonitored peer
$ dpm why --json trace
jq: .spent_on_ns.not_found > 85e6 and .spent_on_ns.outside == 0
$ dpm dump --matched --json --type receive trace
jq: [inputs, .] | length == 6 and all(.rest.why == "not_found")
$ dpm stats --json trace
jq: .trace.matching | .not_found == 12 and .external == 0
$ dpm report trace
says: waited for a peer that was not found
never: unmonitored peer

== the kernel meter finds TCP by its sequence numbers, and UDP by addresses only
process client launched
process server created by client
tcp c: client > server translated
udp u: client > server translated
client connects c
server accepts c
client sends 100 on c
server receives on c
2 times
    client sends 50 on u
    server receives on u
end
server ends
client waits for server
client ends
$ dpm stats trace
says: Matched receives: 1 exact; 4 whose other end was not found.

== unmonitored peers of clients only, or of servers only: nothing recorded may be their other end
machine vm ptrace
outside database at 10.0.0.9
process one launched
process two created by one
tcp a: one > database
tcp b: two > database
udp u: one > database
for T in one two
    $T computes 1ms
end
one connects a
two connects b
one sends 10 on a
database sends 20 on a
one receives on a
two sends 10 on b
one sends 30 on u
database sends 40 on u
one receives on u
two ends
one waits for two
one ends
$ dpm stats trace
says: to or from unmonitored peers.
never: not found

== a server of unmonitored clients that asks an unmonitored database: with the ptrace meter each may be the other's end
machine vm ptrace
outside user at 10.0.0.8
outside database at 10.0.0.9
process server launched
tcp a: user > server
tcp b: server > database
server accepts a
user sends 10 on a
server receives on a
server connects b
server sends 10 on b
database sends 20 on b
server receives on b
server sends 5 on a
server ends
$ dpm stats trace
says: Matched receives: 4 whose other end was not found.
$ dpm causality trace
says: 1 request came from a requestor that is unmonitored or was not found.
