#!/bin/sh
# SPDX-License-Identifier: MIT
# again_test.sh BUILD_FOLDER: what identifies something is used again: a port by another process, a process number at once, a
# name in another namespace, a process's number by a thread that executes a program. The programs print what they have
# received, and the records say the same, with both meters.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_programs ip jq python3 unshare
need_meter
cd "$scratch" || exit 1

# Clients of UDP, one after the other, that use the same port; the server has one path for all of them.
cat > port.py << 'END'
import os, socket
def named(name):
    with open("/proc/self/comm", "w") as file:
        file.write(name)
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 0))
if os.fork() == 0:
    named("server")
    for i in range(6):
        data, sender = server.recvfrom(100)
        server.sendto(data, sender)
    os._exit(0)
address = server.getsockname()
server.close()
port = 0
for k in range(3):
    reading, writing = os.pipe()
    if os.fork() == 0:
        named("client%d" % k)
        client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        client.bind(("127.0.0.1", port))
        for i in range(2):
            client.sendto(bytes(10 + k), address)
            client.recv(100)
        print(client.getsockname()[1], file=open(writing, "w"))
        os._exit(0)
    os.close(writing)
    port = int(open(reading).read())
    os.wait()
END

# Two connecting sockets become one connection.
cat > both.py << 'END'
import os, socket
def named(name):
    with open("/proc/self/comm", "w") as file:
        file.write(name)
def end(own, other, count, name):
    named(name)
    while True:
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        connection.bind(own)
        try:
            connection.connect(other)
            break
        except OSError:
            connection.close()
    for i in range(count):
        connection.send(bytes(10))
    connection.shutdown(socket.SHUT_WR)
    while connection.recv(10):
        pass
ports = []
for i in range(2):
    one = socket.socket()
    one.bind(("127.0.0.1", 0))
    ports.append(one.getsockname())
    one.close()
if os.fork() == 0:
    end(ports[1], ports[0], 6, "right")
    os._exit(0)
end(ports[0], ports[1], 9, "left")
os.wait()
END

# Another thread than the first one executes a program: it has the process's number from then on.
cat > thread.py << 'END'
import os, socket, sys, threading, time
if len(sys.argv) > 1:
    sender = socket.socket(fileno=int(sys.argv[1]))
    for i in range(11):
        sender.send(bytes(5))
    sender.close()
    os.wait() # the reader
    sys.exit()
sender, receiver = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
if os.fork() == 0:
    with open("/proc/self/comm", "w") as file:
        file.write("reader")
    sender.close()
    while receiver.recv(100):
        pass
    os._exit(0)
receiver.close()
def execute():
    for i in range(7):
        sender.send(bytes(3))
    os.set_inheritable(sender.fileno(), True)
    os.execv(sys.executable, [sys.executable, "-S", "thread.py", str(sender.fileno())])
threading.Thread(target=execute).start()
time.sleep(120)
END
# Ports are chosen before they are bound again: in a network of its own no other program takes them meanwhile.
for part in port both; do
    echo "exec unshare -n sh -c 'ip link set lo up && exec timeout 100 /usr/bin/python3 -S $part.py'" > $part.sh
done
echo "exec timeout 100 /usr/bin/python3 -S thread.py" > thread.sh
all="port both thread"

# Three processes of one number.
cat > number.py << 'END'
import os, socket
sender, receiver = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
numbers = set()
for count in 3, 5, 7:
    with open("/proc/sys/kernel/ns_last_pid", "w") as file:
        file.write("99")
    pid = os.fork()
    if pid == 0:
        with open("/proc/self/comm", "w") as file:
            file.write("sends%d" % count)
        for i in range(count):
            sender.send(bytes(10 * count))
        os._exit(0)
    os.waitpid(pid, 0)
    numbers.add(pid)
for i in range(15):
    receiver.recv(100)
assert len(numbers) == 1
END
if unshare -pf --mount-proc /usr/bin/python3 -S number.py 2> err; then
    echo 'exec unshare -pf --mount-proc /usr/bin/python3 -S number.py' > number.sh
    all="$all number"
fi

# pairs PART: who sent how many messages and bytes to whom, by name.
pairs() {
    part t "$1"
    # shellcheck disable=SC2086 # a word for each
    "$dpm" stats --json $part t 2> stats.err | jq -r '.processes as $all | def who: if type == "number" then $all[. - 1].name else . end;
        [.pairs[] | "\(.from | who) \(.to | who) \(.messages) \(.bytes)"] | sort | join(", ")'
}
for meter in kernel ptrace; do
    rm -rf t ./*.pid ./*.status
    # shellcheck disable=SC2086 # a word for each
    in_parts $all -- --meter $meter --wait -o t > out 2> err
    check_equal "$meter: all programs end in order" "" "$(grep -vx 0 ./*.status)"
    "$dpm" stats --json t 2> stats.err > all.json
    check_equal "$meter: what is sent is received, and by metered processes" "0 0 0 0" \
        "$(jq -r '.trace.matching | "\(.external) \(.not_found) \(.unmatched_sends) \(.unmatched_receives)"' all.json)"
    check_equal "$meter: each client of the port has its own messages" \
        "client0 server 2 20, client1 server 2 22, client2 server 2 24, server client0 2 20, server client1 2 22, server client2 2 24" \
        "$(pairs port | tr ',' '\n' | sed 's/^ //' | grep server | paste -sd , | sed 's/,/, /g')"
    check_equal "$meter: two connecting ends" "left right 9 90, right left 6 60" "$(pairs both)"
    check_equal "$meter: a process whose thread executes a program sends before and after it" "python3 reader 18 76" "$(pairs thread)"
    case $all in
    *number*)
        check_equal "$meter: three processes of one number" "sends3 python3 3 90, sends5 python3 5 250, sends7 python3 7 490" \
            "$(pairs number)" ;;
    *) skip "$meter: three processes of one number" "a PID namespace cannot be made here: $(head -n 1 err)" ;;
    esac
done
finish
