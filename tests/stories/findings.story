# Which findings come first, and that no figure exceeds what it is of.

== connections that fail at the same time: the time in which one of them was tried, not their sum
| client.1  connect ---- 2.5 s ---- timed out
| client.2  connect ---- 2.5 s ---- timed out
process client launched
thread second of client created by client
client fails to connect to 10.0.0.9:80 with 110 after 2500ms
second fails to connect to 10.0.0.9:80 with 110 after 2500ms
client idles until 3s
client ends
$ dpm report trace
says: Network client[100] failed to connect to 10.0.0.9:80 2 times (2 timed out), which took 2.50 s of 3.00 s

== a server that waits for its client is idle, and nobody is late; where the time went comes first
| client  computes 100 ms | ask | computes 100 ms | ask
| server                      answers                answers
process client launched
process server pid 200 created by client
tcp c: client > server
client connects c
server accepts c
10 times
    client computes 100ms
    client sends 3 on c
    server receives on c
    server computes 100us
    server sends 6 on c
    client receives on c
end
client ends
$ dpm report trace
first: Time 100% of 1.00 s: client[100] computed.
never: Late
