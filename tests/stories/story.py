# SPDX-License-Identifier: MIT
"""story.py: the language of stories: what the processes of a program do, as a text, and the records that a meter makes
of it. No process runs and no clock is read: times are those of the text.

     machine web1 at 10.0.0.1 cpus 2       first, if there are several; without one it is vm, with 2 CPUs
     process client launched               as dpm run starts it, at the beginning
     process server pid 200 command "python3 serve.py"
     tcp c: client > server                client connects
     client connects c
     server accepts c
     5 times
         client sends 3 on c               c carries 3 bytes to the other end, in 10 us
         server receives on c              waits for them: RECEIVECALL and RECEIVE, or RECEIVE alone
         server sleeps 40ms in nanosleep
         server sends 6 on c
         client receives on c
     end
     client ends

Each thread has a clock of its own, which its acts move on. The lines need not be in the order of time: what a thread
waits for has to stand before the wait, and who uses a connection, a lock or a processor first stands first.

Words of a line after the first two may stand in any order. T is a thread or process, D a duration (40ms, 2s, 10us, 5ns), C a connection.

  who
     machine M [at ADDRESS[,ADDRESS]] [cpus N] [ahead D] [without TYPE,TYPE] [leaving-out KIND,KIND] [ptrace] [pc]
                                              ahead: its wall clock is ahead of the true time
     process P [launched | created by T] [pid N] [of M] [named NAME] [command "TEXT"] [program FILE] [user N] [cgroup N]
                                              neither launched nor created: it was running before the recording began.
                                              Its name is P without what follows a dot: of worker.1 it is worker
     thread T of P [created by T] [named NAME]
     outside P [at ADDRESS] [pid N]           a process that is not metered: its acts make no records of its own
     tcp|udp|unix-stream|unix-datagram|unix-seqpacket|pipe|fifo|mpi C: P > P [ports N,N] [latency D] [older] [name FILE] [pair] [translated]
                                             pair: two UNIX sockets that were made together; translated: neither end has the
                                             other's address (NAT), and with ptrace their positions are their own. mpi: of
                                             ranks 0 and 1; a receiver that waits spins, and uses a CPU
  what
     T computes D
     T idles D; T idles until D               its clock moves on, without a record
     T spins D in MPI_Recv                    or another function of MPI that receives, and nothing that is recorded
     T joins N of C [of M] [gives|takes|collects|brings]    it begins the N-th collective function of MPI on communicator C, a number,
                                              which has M members; without a word all need what all have
     T lacks a CPU for D                      it is runnable, and others run
     T is stopped for D
     T sleeps D in CALL [on OBJECT] [late D] [uninterruptible] [limit]    BLOCK; late: it is runnable so long before it runs.
                                              OBJECT: /a/file, device:/dev/tty, pipe, socket, [timerfd], queue:NAME,
                                              semaphore:3, opened:NAME, lock:0x400100 (of the first procedure called)
     T sleeps in CALL until T [ends] [late D]  the other wakes it, at its own clock (ends: by its end)
     T waits for T                            the same in wait4, for the end of a child
     T waits in CALL until T; T waits in CALL for D    poll, select, epoll_wait ... of several connections: RECEIVECALL.
             [at-most D | endless] [only C]   The other wakes it, or time has passed, of which there is no record. at-most:
                                              the call's time limit; only: of one connection alone
     T waits on C for D                       in a receive, and gives up: RECEIVECALL alone
     T connects C [in D]; T accepts C; T closes C
     T sends N on C [in D] [held D] [continued] [concurrent]    held: it arrives so much later (Nagle's algorithm)
     T starts sending N on C [with M out]; T finishes sending on C    the buffer is full until the other end receives
     T receives [N] on C [in CALL] [late D]   one message, or N bytes; in poll, epoll_wait, accept4: it waits for several
     T finds the end of C [late D]
     T fails to connect to ADDRESS:PORT with NUMBER after D       or to /A/SOCKET
     T reads N of FILE; T writes N to FILE    where its process was last in the file, or at N; a first use opens it.
             [at N] [in D] [mapped]           mapped: by mmap
     T shares N NAME                          the memory with this number, of this name, with others that say so
     T opens FILE [emptied]; T cuts FILE to N    emptied: O_TRUNC
     T renames FILE to FILE; T removes FILE   without a record; what is made next under that name gets the same inode
     T signals T with N                       kill(2); who then is stopped, or ends, does so in a line of its own
     T execs FILE; T calls PROCEDURE [of FILE]    from now on it sends, receives and waits there; "calls nothing"
     T is renamed NAME
     T ends [with N] [in D]                   exit status, or "with signal 9". With D, it closes its connections and wakes its
                                              parent so long after its last record
  and
     lose N of T; ring data loses N           records; the first leaves a gap in the sequence
     at D TYPE FIELD=VALUE ...                any other record, with the fields of event/event.c; stream=T
     load N                                   runnable tasks, in records from now on
     ends at D [killed | full]                when the recording ends; without it, with the last record
     N times ... end; for X in A B C ... end  $X, and $N for the round, from 1
"""
import re
import shlex

TYPES = {  # ring, control = 0; those that belong to a stream's sequence
    "SEND": True, "SENDCALL": True, "RECEIVECALL": True, "RECEIVE": True, "BLOCK": True, "CREATEPATH": True, "CONNECT": True,
    "ACCEPT": True, "CREATEPROCESS": True, "EXEC": True, "STARTPROCESS": True, "STOPPROCESS": True, "TERMINATION": True,
    "WAKEUP": True, "CONNECTFAILED": True, "READ": True, "WRITE": True, "DESTROYPATH": True, "SIGNAL": True}
EVENT_IDS = {name: number + 1 for number, name in enumerate(
    "SEND SENDCALL RECEIVECALL RECEIVE MESSAGEQUEUED BLOCK CREATEPATH CONNECT ACCEPT DESTROYPATH CREATEPROCESS EXEC "
    "STARTPROCESS STOPPROCESS TERMINATION LOST DISCARDED STREAM PATH IMAGE MACHINE END MODULE PROCEDURE NAME DROPPED "
    "NETWORK COST WAKEUP FLAGS SCHEDULE SIGNAL CONNECTFAILED READ WRITE SUMMARY CGROUP SENSOR CLASS BEGIN".split())}
NOT_FLAGS = ["LOST", "DISCARDED", "STREAM", "PATH", "IMAGE", "MACHINE", "END", "MODULE", "PROCEDURE", "NAME", "COST", "FLAGS",
             "SUMMARY", "CGROUP", "SENSOR", "CLASS", "BEGIN", "NETWORK"]
PC_FLAG = 1 << 62
KINDS = {"tcp": 1, "unix-stream": 2, "unix-datagram": 3, "unix-seqpacket": 4, "udp": 5, "pipe": 6, "fifo": 7, "mpi": 13}
METER_KINDS = {"tcp": 1, "udp": 2, "unix": 4, "pipe": 8, "file": 16, "mq": 32, "mpi": 64}
WAITED_ON = {"file": 1, "device": 2, "pipe": 3, "socket": 4, "anonymous": 5, "queue": 6, "semaphore": 7, "opened": 8,
             "lock": 9, "mpi": 10}
COLLECTIVE_PARTS = ("", "gives", "takes", "collects", "brings")  # enum collective_part
BYTE_STREAMS = {"tcp", "unix-stream", "pipe", "fifo"}
CALLS = {"read": 0, "write": 1, "open": 2, "poll": 7, "lseek": 8, "mmap": 9, "ioctl": 16, "readv": 19, "select": 23, "pause": 34,
         "nanosleep": 35, "connect": 42, "accept": 43, "sendto": 44, "recvfrom": 45, "recvmsg": 47, "clone": 56, "wait4": 61,
         "flock": 73, "fsync": 74, "fdatasync": 75, "fcntl": 72, "futex": 202, "epoll_wait": 232, "waitid": 247, "openat": 257,
         "newfstatat": 262, "pselect6": 270, "ppoll": 271, "epoll_pwait": 281, "epoll_pwait2": 441, "accept4": 288, "clock_nanosleep": 230,
         "rt_sigtimedwait": 128, "rt_sigsuspend": 130, "getdents64": 217, "mq_timedreceive": 243, "sendmsg": 46,
         "semop": 65, "restart_syscall": 219, "semtimedop": 220, "msgrcv": 70, "vfork": 58, "none": 0xffffffff, "MPI": 0xfffe}
FOR_ANY = {"poll", "select", "pselect6", "ppoll", "epoll_wait", "epoll_pwait", "epoll_pwait2", "accept", "accept4"}
# flags of records
CONTINUED, CALL_IMPLIED, OLDER, LIBRARY, NO_STREAM, END_OF_FILE, CONCURRENT, PREEMPTED, WHOLE_CALL, TIME_LIMIT = (
    1, 2, 4, 8, 16, 32, 128, 256, 512, 32768)
COUNTED = WHOLE_CALL  # ... of PATH
MAPPED, TRUNCATED = PREEMPTED, WHOLE_CALL  # ... of READ and WRITE
SPAN_UNIT_SHIFT = 11

WALL = 1700000000 * 10**9  # of time 0 of each story: 2023-11-14 22:13:20 UTC
US, MS, SECOND = 1000, 10**6, 10**9
WAKE = 5 * US  # from a wakeup to the first instruction
SCHEDULE_STEP = MS  # as in the meter
END_REASONS = {"": 1, "full": 2}


class StoryError(Exception):
    pass


def duration(text):
    """40ms, 1s+500ms: ns."""
    units = {"": 1, "ns": 1, "us": US, "ms": MS, "s": SECOND, "min": 60 * SECOND, "h": 3600 * SECOND}
    total = 0
    for part in text.split("+"):
        found = re.fullmatch(r"(\d+(?:\.\d+)?)([a-z]*)", part)
        if not found or found[2] not in units:
            raise StoryError(f"not a duration: {text}")
        total += round(float(found[1]) * units[found[2]])
    return total


def long_span(span, flags):
    """As a record has one of more than 32 bits: in units of 16, 256 ... ns."""
    unit = 0
    while span >= 2**32:
        span, unit = (span + 15) // 16, unit + 1
    return {"span": span, "flags": flags | unit << SPAN_UNIT_SHIFT}


ENDLESS = 0xFFFF


def limit_of(time):
    """The time limit of a call, as a RECEIVECALL has it."""
    ms = time // MS
    return ms if ms < 0x8000 else 0x8000 | ms // 1000


def quoted(text):
    return '"' + "".join(c if c.isascii() and c.isprintable() and c not in '"\\' else "".join(
        f"\\x{byte:02x}" for byte in c.encode(errors="surrogateescape")) for c in text) + '"'


def address_bytes(address):
    import ipaddress
    return ipaddress.ip_address(address).packed.hex()


class Machine:
    def __init__(self, name, number):
        self.name, self.number = name, number
        self.addresses, self.cpus, self.ahead, self.meter = [f"10.0.0.{number}"], 2, 0, 0
        self.flags = sum(1 << EVENT_IDS[name] for name in EVENT_IDS if name not in NOT_FLAGS)
        self.kinds_left_out = METER_KINDS["file"]
        self.begin = 1000 * SECOND * number  # of its monotonic clock
        self.records, self.lost = [], {}
        self.numbers = {}  # the last stream, path, image ...
        self.images, self.procedures, self.files, self.objects = {}, {}, {}, {}
        self.inodes = {}  # of files, by name; and the generation
        self.load, self.end, self.how = 1, None, ""

    def next(self, what):
        self.numbers[what] = self.numbers.get(what, 0) + 1
        return self.numbers[what]

    def add(self, time, what, /, gap=0, **fields):
        """A record, to be sorted by time; those of a stream get their sequence numbers then. Returns its fields."""
        if what in EVENT_IDS and what not in NOT_FLAGS and not self.flags >> EVENT_IDS[what] & 1:
            return None
        self.records.append((time, len(self.records), what, gap, fields))
        return fields

    def image(self, file):
        if file not in self.images:
            self.images[file] = self.next("image")
            self.add(0, "IMAGE", image=self.images[file], device=8, inode=1000 + self.images[file], load=0x400000,
                     name=quoted(file))
        return self.images[file]

    def lines(self):
        """The records as text-trace reads them."""
        yield (f"MACHINE time={self.begin} machineId={0xa0 + self.number:x} bootId={0xb0 + self.number:x} "
               f"meterFlags={self.flags:#x} kindsLeftOut={self.kinds_left_out} cpus={self.cpus} meter={self.meter} "
               f"name={quoted(self.name)} system=\"Linux 6.6 x86_64\" addresses={quoted(' '.join(self.addresses))}")
        sequences, last = {}, 0
        for time, _, kind, gap, fields in sorted(self.records, key=lambda record: record[:2]):
            last = max(last, time)
            stream = fields.get("_stream", 0)
            if kind in ("LOST", "DISCARDED") and stream:
                sequences[stream] = sequences.get(stream, 0) + gap
                fields = {**fields, "sequence": sequences[stream]}
            elif stream and TYPES.get(kind):
                fields = {**fields, "sequence": sequences.get(stream, 0)}
                sequences[stream] = fields["sequence"] + 1
            if fields.get("span", 0) >= 2**32 and kind in ("SEND", "SENDCALL"):
                fields = {**fields, **long_span(fields["span"], fields["flags"])}
            yield " ".join([kind, f"time={self.begin + time}"] + [f"{name}={value}" for name, value in fields.items()])
        end = max(last, self.end or 0)
        for ring, count in self.lost.items():
            yield f"LOSE ring={ring} count={count}"
        if self.end is not None and self.end > last and self.how != "killed":
            # nothing happened any more until the recording ended
            yield f"COST time={self.begin + end} flags={NO_STREAM} cpu={MS}"
        if self.how != "killed":
            yield f"END time={self.begin + end} reason={END_REASONS[self.how]}"

    def wall_offset(self):
        return WALL + self.ahead - self.begin


class Thread:
    """A thread; the first one of a process stands for the process."""

    def __init__(self, name, machine, leader=None):
        self.name, self.machine = name, machine
        self.leader = leader or self
        self.number = machine.next("stream") if machine else 0
        self.pid = self.tid = 0
        self.now = self.cpu = 0
        self.runnable = self.told = self.voluntary = self.involuntary = 0
        self.pc, self.in_library, self.ended, self.end = 0, False, False, None
        self.gone = None
        self.comm, self.image, self.user, self.cgroup, self.parent = name.split(".")[0], 0, 0, 1, 0
        self.begun, self.last, self.sending, self.alive = 0, 0, None, 0
        if leader is None:
            self.alive = 1  # threads of the process

    def identity(self, time):
        if self.machine:
            self.machine.add(time, "STREAM", _stream=self.number, pid=self.leader.pid, tid=self.tid, process=self.leader.number,
                             parent=self.parent, start=self.machine.begin + self.begun, pidInside=self.leader.pid,
                             user=self.leader.user, cgroup=self.leader.cgroup, image=self.leader.image,
                             pidNamespace=4026531836, name=quoted(self.comm))

    def tick(self):
        """Its records have different times: those of the two rings have no other order."""
        self.now = max(self.now, self.last + 1)
        self.last = self.now

    def record(self, kind, flags=0, **fields):
        """One of its own acts, now."""
        if self.machine is None:
            return
        if self.ended:
            raise StoryError(f"{self.name} has ended")
        if self.in_library and self.pc:
            flags |= LIBRARY
        self.tick()
        self.machine.add(self.now, kind, _stream=self.number, procTime=self.cpu, PC=self.pc, flags=flags,
                         load=self.machine.load, **fields)

    def schedule(self, always=False):
        """SCHEDULE, if it has waited for a CPU for much longer than the last one says."""
        if self.machine and (self.runnable - self.told >= SCHEDULE_STEP or always):
            self.tick()
            self.told = self.runnable
            self.machine.add(self.now, "SCHEDULE", _stream=self.number, flags=NO_STREAM, procTime=self.cpu,
                             load=self.machine.load, runnable=self.runnable, voluntary=self.voluntary,
                             involuntary=self.involuntary)

    def lack_cpu(self, time):
        self.now += time
        self.runnable += time


class End:
    """One end of a connection."""

    def __init__(self, connection, index, owner):
        self.connection, self.index, self.owner = connection, index, owner
        self.machine = owner.machine
        self.number = self.machine.next("path") if self.machine else 0
        self.announced, self.is_open = False, True
        self.sent = 0  # bytes, or messages
        self.queue, self.received, self.last_receive = [], 0, 0  # what has come and was not received: (offset, bytes, arrival)
        self.moves = []  # (when, what is in the queue more then, fields of the MESSAGEQUEUED that say how much is)
        self.closed = None

    def count_queue(self):
        """What is received before an arrival may stand after it in the story, so the queue is counted at its end."""
        size = 0
        for _, more, fields in sorted(self.moves, key=lambda move: move[0]):
            size += more
            if fields is not None:
                fields["queue"] = size

    def other(self):
        return self.connection.ends[1 - self.index]

    def announce(self, thread, made, span=0):
        if self.announced or self.machine is None:
            return
        self.announced = True
        connection, other = self.connection, self.other()
        flags = NO_STREAM | (OLDER if connection.older else 0)
        fields = dict(path=self.number, kind=KINDS[connection.kind], cookie=10 * connection.number + self.index,
                      inode=100 * connection.number + (0 if connection.kind in ("pipe", "fifo") else self.index), network=4026531840)
        if connection.kind in ("tcp", "udp"):
            here, there = connection.addresses[self.index], connection.addresses[1 - self.index]
            fields.update(family=10 if ":" in here else 2, local=address_bytes(here), remote=address_bytes(there),
                          localPort=connection.ports[self.index], remotePort=connection.ports[1 - self.index])
            if connection.translated:
                fields.update(remote=address_bytes(f"10.96.0.{1 + self.index}"), remotePort=31000 + self.index)
            if self.machine.meter == 1 and connection.kind == "tcp":
                flags |= COUNTED
        else:
            fields.update(family=0 if connection.kind in ("pipe", "fifo", "mpi") else 1, peer=10 * connection.number + 1 - self.index)
            if connection.file:
                fields.update(name=quoted(connection.file), nameEnd=2 - self.index)
        if connection.kind in ("pipe", "fifo"):
            fields.update(role=3 + self.index)
        elif connection.kind == "mpi":
            fields.update(local=f"{self.index:02x}00000007" + 22 * "0", remote=f"{1 - self.index:02x}" + 30 * "0")
        elif connection.kind not in ("udp", "unix-datagram") and not connection.pair:
            fields.update(role=1 + self.index)
        own = 100000 * self.index if connection.translated and self.machine.meter == 1 else 0
        fields.update(startOut=connection.start[self.index] + own, startIn=connection.start[1 - self.index] + own)
        self.machine.add(thread.now, "PATH", flags=flags, **fields)
        if not connection.older:
            thread.record("CREATEPATH", path=self.number)
        if made:
            thread.record(made, path=self.number, **long_span(span, 0))


class Connection:
    def __init__(self, name, kind, number, one, other):
        self.name, self.kind, self.number = name, kind, number
        self.latency = 10 * US if one.machine is other.machine else 100 * US
        self.ports, self.older, self.file, self.pair = [40000 + number, 80], False, "", False
        self.translated = False
        self.start = [1000 * number, 5000 * number] if kind == "tcp" else [0, 0]
        self.ends = []
        self.ends = [End(self, 0, one), End(self, 1, other)]
        self.addresses = []


class Words:
    """The words of a line, from which options are taken."""

    def __init__(self, line):
        try:
            self.words = shlex.split(line, comments=False)
        except ValueError as error:
            raise StoryError(str(error)) from error

    def option(self, name, default=None):
        if name in self.words:
            index = self.words.index(name)
            if index + 1 < len(self.words):
                value = self.words[index + 1]
                del self.words[index:index + 2]
                return value
        return default

    def flag(self, name):
        if name in self.words:
            self.words.remove(name)
            return True
        return False

    def done(self):
        if self.words:
            raise StoryError(f"not understood: {' '.join(self.words)}")


class Story:
    def __init__(self):
        self.machines, self.threads, self.connections = {}, {}, {}
        self.pids, self.hosts = {}, {}

    # ---- who ----

    def machine(self, name=None):
        if name is None and not self.machines:
            self.machines["vm"] = Machine("vm", 1)
        if name is None:
            return list(self.machines.values())[-1]
        if name not in self.machines:
            raise StoryError(f"no machine {name}")
        return self.machines[name]

    def thread(self, name):
        if name not in self.threads:
            raise StoryError(f"no process or thread {name}")
        return self.threads[name]

    def connection(self, name):
        if name not in self.connections:
            raise StoryError(f"no connection {name}")
        return self.connections[name]

    def say_machine(self, words):
        name = words.words.pop(0)
        machine = self.machines[name] = Machine(name, len(self.machines) + 1)
        machine.addresses = words.option("at", machine.addresses[0]).split(",")
        machine.cpus = int(words.option("cpus", 2))
        ahead = words.option("ahead", "0")
        machine.ahead = -duration(ahead[1:]) if ahead.startswith("-") else duration(ahead)
        for kind in filter(None, words.option("without", "").split(",")):
            machine.flags &= ~(1 << EVENT_IDS[kind])
        for kind in filter(None, words.option("leaving-out", "").split(",")):
            machine.kinds_left_out |= METER_KINDS[kind]
        if words.flag("ptrace"):
            machine.meter = 1
            machine.flags &= ~(1 << EVENT_IDS["MESSAGEQUEUED"] | 1 << EVENT_IDS["WAKEUP"])
        if words.flag("pc"):
            machine.flags |= PC_FLAG
        words.done()

    def say_process(self, words):
        name = words.words.pop(0)
        creator = None
        if words.flag("created"):
            creator = self.thread(words.option("by"))
        launched = words.flag("launched")
        where = words.option("of")
        machine = creator.machine if creator else self.machine(where)
        thread = self.threads[name] = Thread(name, machine)
        self.pids[machine.name] = self.pids.get(machine.name, 99) + 1
        thread.pid = thread.tid = int(words.option("pid", self.pids[machine.name]))
        self.pids[machine.name] = max(self.pids[machine.name], thread.pid)
        thread.comm = words.option("named", thread.comm)
        command, program = words.option("command"), words.option("program", "/usr/bin/" + thread.comm.split("/")[-1])
        thread.user = int(words.option("user", creator.leader.user if creator else 0))
        thread.cgroup = int(words.option("cgroup", creator.leader.cgroup if creator else 1))
        words.done()
        thread.image = machine.image(program)
        if creator:
            thread.parent, thread.now = creator.number, creator.now
        thread.begun = thread.now if creator else -SECOND
        if command:
            machine.add(thread.now, "NAME", number=thread.number, kind=3, name=quoted(command))
        thread.identity(thread.now)
        if creator:
            creator.record("CREATEPROCESS", child=thread.number)
            thread.now = creator.now
        if launched:
            thread.schedule(always=True)  # it has waited before, too: these count from here on
        if creator or launched:
            thread.record("STARTPROCESS")
            thread.record("EXEC", image=thread.image)

    def say_thread(self, words):
        name = words.words.pop(0)
        leader = self.thread(words.option("of"))
        creator = self.thread(words.option("by")) if words.flag("created") else None
        thread = self.threads[name] = Thread(name, leader.machine, leader)
        leader.alive += 1
        if leader.machine:
            self.pids[leader.machine.name] += 1
            thread.tid = self.pids[leader.machine.name]
        thread.comm = words.option("named", thread.comm)
        words.done()
        thread.image = leader.image
        thread.now = creator.now if creator else 0
        thread.begun = thread.now if creator else leader.begun
        thread.parent = creator.number if creator else 0
        thread.identity(thread.now)
        if creator:
            creator.record("CREATEPROCESS", child=thread.number, thread=1)
            thread.now = creator.now
            thread.record("STARTPROCESS")

    def say_outside(self, words):
        name = words.words.pop(0)
        thread = self.threads[name] = Thread(name, None)
        thread.address = words.option("at")
        words.done()

    def address_of(self, thread, other):
        if thread.machine is None:
            return thread.address or (other.machine.addresses[0] if other.machine else "127.0.0.1")
        if thread.machine is other.machine or (other.machine is None and not other.address):
            return "127.0.0.1" if len(self.machines) == 1 else thread.machine.addresses[0]
        return thread.machine.addresses[0]

    def say_connection(self, kind, name, one, other, words):
        one, other = self.thread(one), self.thread(other)
        connection = self.connections[name] = Connection(name, kind, len(self.connections) + 1, one, other)
        ports = words.option("ports")
        if ports:
            connection.ports = [int(port) for port in ports.split(",")]
        connection.latency = duration(words.option("latency", f"{connection.latency}ns"))
        connection.older, connection.pair = words.flag("older"), words.flag("pair")
        connection.translated = words.flag("translated")
        connection.file = words.option("name", "")
        connection.addresses = [self.address_of(one, other), self.address_of(other, one)]
        words.done()

    # ---- what ----

    def end_of(self, thread, name):
        """The end of a connection that this thread uses: its process', or c.1 (that sends first, or connects), c.2."""
        found = re.fullmatch(r"(.*)\.([12])", name)
        if found and name not in self.connections:
            return self.connection(found[1]).ends[int(found[2]) - 1]
        ends = self.connection(name).ends
        own = [end for end in ends if end.owner.leader is thread.leader]
        if len(own) != 1:
            raise StoryError(f"which end of {name} {thread.name} uses: write {name}.1 or {name}.2")
        return own[0]

    def send(self, thread, end, count, begin, flags=0, call="SEND", whole=None, held=0):
        """Bytes are out at `begin`; the record is made now."""
        connection, other = end.connection, end.other()
        is_stream = connection.kind in BYTE_STREAMS
        offset = (connection.start[end.index] + end.sent) % 2**32
        if connection.kind in ("pipe", "fifo"):
            flags |= WHOLE_CALL
        if connection.older:
            flags |= OLDER
        size, place = (count, offset) if whole is None else whole
        thread.record(call, flags, path=end.number, offset=place % 2**32, bytes=size, span=thread.now - begin)
        if count == 0 and is_stream:
            return
        arrival = begin + connection.latency + held
        other.queue.append((offset, count, arrival))
        end.sent += count if is_stream else 1
        fields = None
        if other.machine and other.announced and connection.kind not in ("pipe", "fifo", "mpi"):
            fields = other.machine.add(arrival, "MESSAGEQUEUED", flags=NO_STREAM, path=other.number, offset=offset, bytes=count)
        other.moves.append((arrival, count if is_stream else 1, fields))

    def wait_for_arrival(self, thread, end, arrival, call, late):
        """RECEIVECALL if the arrival is later than now. Returns whether the receive itself had to wait."""
        if arrival <= thread.now:
            thread.lack_cpu(late)
            thread.schedule()
            return False
        if call in FOR_ANY:
            limit = 0 if call.startswith("accept") else ENDLESS
            thread.record("RECEIVECALL", path=0, offset=CALLS[call] | limit << 16)
        else:
            thread.record("RECEIVECALL", path=end.number)
        if end.connection.kind == "mpi":
            thread.cpu += arrival - thread.now
        else:
            thread.voluntary += 1
        thread.now = arrival
        thread.lack_cpu(WAKE + late)
        thread.schedule()
        return call not in FOR_ANY

    def take(self, end, count):
        """Bytes of the queue, at most `count`: offset, bytes, when the last has arrived."""
        offset, size, arrival = end.queue.pop(0)
        if end.connection.kind not in BYTE_STREAMS:
            return offset, size, arrival
        while count is not None and size < count:
            if not end.queue:
                raise StoryError(f"{count} bytes are to be received on {end.connection.name}, {size} were sent")
            _, more, arrival = end.queue.pop(0)
            size += more
        if count is not None and size > count:
            end.queue.insert(0, ((offset + count) % 2**32, size - count, arrival))
            size = count
        return offset, size, arrival

    def receive(self, thread, name, count, call, late):
        end = self.end_of(thread, name)
        if not end.queue:
            raise StoryError(f"nothing was sent on {name} that {thread.name} could receive")
        if end.connection.older or end.announced or end.connection.kind != "tcp":
            end.announce(thread, None)
        else:
            end.announce(thread, "CONNECT" if end.index == 0 else "ACCEPT")
        offset, size, arrival = self.take(end, count)
        waited = self.wait_for_arrival(thread, end, arrival, call, late)
        thread.record("RECEIVE", (0 if waited else CALL_IMPLIED) | (OLDER if end.connection.older else 0), path=end.number,
                      offset=offset, bytes=size)
        end.last_receive = thread.now
        end.moves.append((thread.now, -size if end.connection.kind in BYTE_STREAMS else -1, None))

    def close(self, end, time):
        end.closed = time
        if end.machine and end.announced:
            end.machine.add(time, "DESTROYPATH", flags=NO_STREAM, path=end.number)

    @staticmethod
    def object(thread, text):
        """The number of what a BLOCK waits for."""
        if text is None:
            return 0
        machine = thread.machine
        if text not in machine.objects:
            kind, _, name = text.rpartition(":")
            kind = kind or ("file" if text.startswith("/") else "anonymous" if text.startswith("[") else text)
            machine.objects[text] = len(machine.objects) + 1
            machine.add(thread.now, "NAME", flags=NO_STREAM, number=machine.objects[text], kind=5, what=WAITED_ON[kind],
                        name=quoted("" if kind == text else name))
        return machine.objects[text]

    def sleep(self, thread, time, call, late=0, state=1, flags=0, on=None):
        thread.voluntary += 1
        thread.now += time
        thread.lack_cpu(late)
        thread.schedule()
        number = self.object(thread, on)
        thread.record("BLOCK", flags, systemCall=CALLS[call], state=state, **({"object": number} if number else {}),
                      duration=time + late)

    def sleep_until(self, thread, other, call, ends, late, on=None):
        """The other thread wakes this one, by what it does at its clock now, or by its end."""
        at = other.gone if ends else other.now
        if at is None:
            raise StoryError(f"{other.name} has not ended")
        if at <= thread.now:
            return
        if other.machine is thread.machine and other.machine:
            if ends:
                other.machine.add(at, "WAKEUP", flags=NO_STREAM, woken=thread.number, waker=other.number)
            else:
                other.record("WAKEUP", woken=thread.number)
        self.sleep(thread, at - thread.now + WAKE, call, late, on=on)

    def wait_for_any(self, thread, words):
        """In poll and the like, with connections among what it waits for."""
        call, other, time = CALLS[words.option("in")], words.option("until"), words.option("for")
        limit, only = words.option("at-most"), words.option("only")
        most = ENDLESS if words.flag("endless") else limit_of(duration(limit)) if limit else 0
        thread.record("RECEIVECALL", path=0, offset=call | most << 16, **({"bytes": self.end_of(thread, only).number} if only else {}))
        thread.voluntary += 1
        if time:
            thread.now += duration(time)
            return
        waker = self.thread(other)
        waker.record("WAKEUP", woken=thread.number)
        if waker.now <= thread.now:
            raise StoryError(f"{other} wakes {thread.name} before it waits")
        thread.now = waker.now + WAKE

    def end(self, thread, status, time):
        thread.schedule(always=True)
        thread.leader.alive -= 1
        last = thread.leader.alive == 0
        thread.record("TERMINATION", status=status, last=int(last))
        thread.end, thread.gone, thread.ended = thread.now, thread.now + time, True
        for connection in self.connections.values() if time else []:
            for end in connection.ends:
                if end.owner.leader is thread.leader and end.closed is None:
                    self.close(end, thread.gone)

    def file(self, thread, name, flags=None):
        """The path of a file as its process uses it, which it opens now if it has not: [number, position]."""
        machine = thread.machine
        if name not in machine.inodes:
            machine.inodes[name] = (5000 + machine.next("inode"), 1)
        key = (thread.leader.number, machine.inodes[name])
        opens = key not in machine.files
        if opens:
            machine.files[key] = [machine.next("path"), 0]
            inode, generation = machine.inodes[name]
            machine.add(thread.now, "PATH", flags=NO_STREAM, path=machine.files[key][0], kind=8, cookie=0,
                        inode=inode, startIn=generation, nameEnd=1, name=quoted(name))
            machine.kinds_left_out &= ~METER_KINDS["file"]
        if opens or flags is not None:
            machine.files[key][1] = 0
            thread.record("CREATEPATH", flags or 0, path=machine.files[key][0])
        return machine.files[key]

    def uses_file(self, thread, kind, words):
        count, begin = int(words.words.pop(0)), thread.now
        flags = MAPPED if words.flag("mapped") else 0
        position, time = words.option("at"), duration(words.option("in", "0"))
        file = self.file(thread, words.words.pop())
        del words.words[:]
        offset = file[1] if position is None else int(position)
        file[1] = offset + count
        thread.now += time
        thread.record(kind, flags, path=file[0], offset=offset % 2**32, bytes=count, span=thread.now - begin)

    def calls(self, thread, procedure, library):
        machine = thread.machine
        if procedure == "nothing":
            thread.pc = 0
            return
        key = (procedure, library, thread.leader.image)
        if key not in machine.procedures:
            number = len(machine.procedures) + 1
            file = library or [name for name, image in machine.images.items() if image == thread.leader.image][0]
            if ("module", file) not in machine.numbers:
                machine.numbers["module", file] = machine.next("module")
                machine.add(0, "MODULE", module=machine.numbers["module", file], device=8, text=0x1000,
                            inode=9000 if library else 1000 + thread.leader.image, name=quoted(file))
            pc = (0x7f0000000000 if library else 0x400000) + number * 0x100
            machine.procedures[key] = pc
            machine.add(0, "PROCEDURE", module=machine.numbers["module", file], image=thread.leader.image if library else 0,
                        address=pc if library else pc - 0x400000 + 0x1000, offset=0x10, name=quoted(procedure))
            machine.flags |= PC_FLAG
        thread.pc, thread.in_library = machine.procedures[key], library is not None

    def raw(self, time, kind, words):
        """at D TYPE FIELD=VALUE ..."""
        fields, machine = {}, self.machine(words.option("of"))
        for word in words.words:
            name, _, value = word.partition("=")
            if name == "stream":
                thread = self.thread(value)
                machine, fields["_stream"] = thread.machine, thread.number
            elif name == "connection":
                end = self.connection(re.sub(r"\.[12]$", "", value)).ends[1 if value.endswith(".2") else 0]
                machine, fields["path"] = end.machine, end.number
            elif re.fullmatch(r"-?\d+|0x[0-9a-fA-F]+", value) or name in ("local", "remote", "machineId", "bootId", "buildId"):
                fields[name] = value
            elif value in self.threads:
                fields[name] = self.threads[value].number
            elif re.fullmatch(r"\d+(\.\d+)?[a-z]+", value):
                fields[name] = duration(value)
            else:
                fields[name] = quoted(value)
        if kind not in TYPES and "flags" not in fields:
            fields["flags"] = NO_STREAM
        machine.add(time, kind, gap=int(fields.get("count", 0)), **fields)

    # ---- lines ----

    def act(self, thread, verb, words):
        if verb == "computes":
            time = duration(words.words.pop(0))
            thread.now += time
            thread.cpu += time
        elif verb == "idles":
            if words.flag("until"):
                thread.now = max(thread.now, duration(words.words.pop(0)))
            else:
                thread.now += duration(words.words.pop(0))
        elif verb == "spins":
            time = duration(words.words.pop(0))
            thread.record("RECEIVECALL", path=0, offset=CALLS["MPI"] | ENDLESS << 16)
            thread.now += time
            thread.cpu += time
            thread.record("BLOCK", systemCall=CALLS["MPI"], state=time // 1000 << 1 | 1, duration=time,
                          object=self.object(thread, "mpi:" + words.option("in")))
        elif verb == "joins":
            call, members = words.words.pop(0), 0
            part = next((number for number, word in enumerate(COLLECTIVE_PARTS) if word and words.flag(word)), 0)
            numbers = [int(word) for word in words.words if word != "of"]
            del words.words[:]
            members = numbers[1] if len(numbers) > 1 else 0
            thread.record("WAKEUP", woken=0, waker=members, call=call, communicator=numbers[0] << 3 | part)
        elif verb == "lacks":
            time = duration(words.words.pop())
            del words.words[:]
            thread.involuntary += 1
            thread.lack_cpu(time)
            thread.schedule()
        elif verb == "is":
            self.is_made(thread, words)
        elif verb == "sleeps":
            self.sleeps(thread, words)
        elif verb == "waits" and words.words[0] == "in":
            self.wait_for_any(thread, words)
        elif verb == "waits" and words.words[0] == "on":
            thread.record("RECEIVECALL", path=self.end_of(thread, words.option("on")).number)
            thread.voluntary += 1
            thread.now += duration(words.option("for"))
        elif verb == "waits":
            self.sleep_until(thread, self.thread(words.option("for")), "wait4", True, duration(words.option("late", "0")))
        elif verb in ("connects", "accepts"):
            end = self.end_of(thread, words.words.pop(0))
            time = duration(words.option("in", "0"))
            thread.now += time
            end.announce(thread, "CONNECT" if verb == "connects" else "ACCEPT", time)
        elif verb == "closes":
            end = self.end_of(thread, words.words.pop(0))
            thread.tick()
            self.close(end, thread.now)
        elif verb in ("sends", "starts", "finishes"):
            self.sends(thread, verb, words)
        elif verb == "receives":
            call, late = words.option("in", "read"), duration(words.option("late", "0"))
            name = words.option("on")
            count = int(words.words.pop(0)) if words.words else None
            self.receive(thread, name, count, call, late)
        elif verb == "finds":
            late = duration(words.option("late", "0"))
            self.finds_end(thread, words.words.pop(), late)
            del words.words[:]
        elif verb == "fails":
            self.fails_to_connect(thread, words)
        elif verb in ("reads", "writes"):
            self.uses_file(thread, "READ" if verb == "reads" else "WRITE", words)
        elif verb == "shares":
            number, name = int(words.words.pop(0)), words.words.pop(0)
            thread.machine.add(thread.now, "NAME", flags=NO_STREAM, number=number << 32 | thread.leader.number, kind=7,
                               name=quoted(name))
        elif verb == "opens":
            self.file(thread, words.words.pop(0), TRUNCATED if words.flag("emptied") else 0)
        elif verb == "cuts":
            length = int(words.option("to"))
            thread.record("WRITE", TRUNCATED, path=self.file(thread, words.words.pop(0))[0], offset=length, bytes=0)
        elif verb == "renames":
            files, new = thread.machine.inodes, words.option("to")
            files[new] = files.pop(words.words.pop(0))
        elif verb == "removes":  # what is made next gets its inode
            files, name = thread.machine.inodes, words.words.pop(0)
            files[name] = (files[name][0], files[name][1] + 1)
        elif verb == "signals":
            other, number = self.thread(words.words.pop(0)), words.option("with")
            thread.record("SIGNAL", signal=number, receiver=other.number, receiverPid=other.leader.pid,
                          senderPid=thread.leader.pid)
        elif verb == "execs":
            thread.leader.image = thread.machine.image(words.words[0])
            thread.comm = words.words.pop(0).split("/")[-1]
            thread.record("EXEC", image=thread.leader.image)
            thread.identity(thread.now)
        elif verb == "calls":
            library = words.option("of")
            self.calls(thread, words.words.pop(0), library)
        elif verb == "ends":
            status, time = 0, duration(words.option("in", "0"))
            if words.flag("with"):
                status = int(words.words.pop()) << (0 if words.flag("signal") else 8)
            self.end(thread, status, time)
        else:
            raise StoryError(f"no such act: {verb}")
        words.done()

    def is_made(self, thread, words):
        what = words.words.pop(0)
        if what == "renamed":
            thread.comm = words.words.pop(0)
            thread.identity(thread.now)
        elif what == "stopped":
            thread.record("STOPPROCESS")
            thread.now += duration(words.option("for"))
            thread.record("STARTPROCESS")
        else:
            raise StoryError(f"no such act: is {what}")

    def sleeps(self, thread, words):
        call, late = words.option("in"), duration(words.option("late", "0"))
        state = 2 if words.flag("uninterruptible") else 1
        other, on = words.option("until"), words.option("on")
        if call not in CALLS:
            raise StoryError(f"no system call that is known here: {call}")
        if other:
            self.sleep_until(thread, self.thread(other), call, words.flag("ends"), late, on)
        else:
            self.sleep(thread, duration(words.words.pop(0)), call, late, state, TIME_LIMIT if words.flag("limit") else 0, on)

    def sends(self, thread, verb, words):
        if verb != "sends":
            words.flag("sending")
        end = self.end_of(thread, words.option("on"))
        end.announce(thread, None if end.connection.kind != "tcp" or end.connection.older else
                     ("CONNECT" if end.index == 0 else "ACCEPT"))
        flags = (CONTINUED if words.flag("continued") else 0) | (CONCURRENT if words.flag("concurrent") else 0)
        if verb == "sends":
            begin = thread.now
            thread.now += duration(words.option("in", "0"))
            self.send(thread, end, int(words.words.pop(0)), begin, flags, held=duration(words.option("held", "0")))
        elif verb == "starts":
            out = int(words.option("with", 0))
            words.flag("out")
            count = int(words.words.pop(0))
            first = end.connection.start[end.index] + end.sent
            thread.sending = (end, count, out, thread.now, first)
            self.send(thread, end, out, thread.now, 0, "SENDCALL", (out, first + out))
        else:
            end, count, out, begin, first = thread.sending
            free = end.other().last_receive
            if free > thread.now:
                thread.voluntary += 1
                thread.now = free + WAKE
            self.send(thread, end, count - out, thread.now, 0, "SEND", (count, first))
            # a pipe's record begins with the call, others with the first byte that was out
            if thread.machine and (out > 0 or end.connection.kind in ("pipe", "fifo")):
                time, order, kind, gap, fields = next(record for record in reversed(thread.machine.records) if record[2] == "SEND")
                fields["span"] = thread.now - begin

    def finds_end(self, thread, name, late):
        end = self.end_of(thread, name)
        if end.other().closed is None:
            raise StoryError(f"the other end of {name} was not closed")
        end.announce(thread, "ACCEPT" if end.connection.kind == "tcp" and not end.connection.older else None)
        waited = self.wait_for_arrival(thread, end, end.other().closed + end.connection.latency, "read", late)
        thread.record("RECEIVE", END_OF_FILE | (0 if waited else CALL_IMPLIED), path=end.number,
                      offset=(end.connection.start[1 - end.index] + end.other().sent) % 2**32)

    def fails_to_connect(self, thread, words):
        """fails to connect to ADDRESS:PORT or /A/SOCKET with NUMBER [after D | over D]: connect() was called so long before, over: the
        records since then are there already"""
        words.flag("connect")
        time, error = duration(words.option("after", "0")), int(words.option("with"))
        over = duration(words.option("over", "0"))
        address = words.words.pop()
        del words.words[:]
        number = thread.machine.next("path")
        fields = dict(path=number, role=1, cookie=7000 + number, inode=7000 + number, network=4026531840)
        if address[0] == "/":
            fields.update(kind=KINDS["unix-stream"], family=1, name=quoted(address), nameEnd=2)
        else:
            address, port = address.rsplit(":", 1)
            fields.update(kind=KINDS["tcp"], family=2, remotePort=port, remote=address_bytes(address),
                          local=address_bytes(thread.machine.addresses[0]), localPort=50000 + number)
        thread.machine.add(thread.now, "PATH", flags=NO_STREAM, **fields)
        thread.now += time
        thread.record("CONNECTFAILED", path=number, error=error, span=time + over)
        thread.machine.add(thread.now, "DESTROYPATH", flags=NO_STREAM, path=number)

    def line(self, text):
        found = re.match(r"(tcp|udp|unix-stream|unix-datagram|unix-seqpacket|pipe|fifo|mpi) (\S+): (\S+) > (\S+)(.*)", text)
        if found:
            return self.say_connection(*found.groups()[:4], Words(found[5]))
        words = Words(text)
        first = words.words.pop(0)
        say = {"machine": self.say_machine, "process": self.say_process, "thread": self.say_thread, "outside": self.say_outside}
        if first in say:
            return say[first](words)
        if first == "at":
            time, kind = duration(words.words.pop(0)), words.words.pop(0)
            return self.raw(time, kind, words)
        if first == "lose":
            count = int(words.words.pop(0))
            thread = self.thread(words.option("of"))
            thread.machine.add(thread.now, "LOST", gap=count, _stream=thread.number, count=count, ring=1, reason=1)
            thread.machine.lost[1] = thread.machine.lost.get(1, 0) + count
            return words.done()
        if first == "ring":
            ring = {"control": 0, "data": 1}[words.words.pop(0)]
            count = int(words.option("loses"))
            self.machine(words.option("of")).lost[ring] = count
            return words.done()
        if first == "load":
            self.machine(words.option("of")).load = int(words.words.pop(0))
            return words.done()
        if first == "ends":
            time = duration(words.option("at"))
            for machine in self.machines.values():
                machine.end, machine.how = time, words.words[0] if words.words else ""
            return None
        return self.act(self.thread(first), words.words.pop(0), words)

    def tell(self, lines):
        """Lines: (number, text)."""
        for number, text in unrolled(lines):
            try:
                self.line(text)
            except StoryError as error:
                raise StoryError(f"line {number}: {error}") from error
            except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
                raise StoryError(f"line {number}: not understood: {text} ({error!r})") from error
        for connection in self.connections.values():
            for end in connection.ends:
                end.count_queue()


def unrolled(lines, values=None):
    """Loops, as the lines that they stand for."""
    at, values = 0, values or {}
    while at < len(lines):
        number, text = lines[at]
        words = text.split()
        at += 1
        if not (len(words) == 2 and words[1] == "times") and not (words[0] == "for" and "in" in words):
            yield number, re.sub(r"\$(\w+)", lambda found: str(values.get(found[1], found[0])), text)
            continue
        depth, end = 1, at
        while depth > 0:
            if end == len(lines):
                raise StoryError(f"line {number}: the loop has no end")
            inner = lines[end][1].split()
            depth += (len(inner) == 2 and inner[1] == "times") or (inner[0] == "for" and "in" in inner)
            depth -= inner == ["end"]
            end += 1
        if words[0] == "for":
            rounds = [{words[1]: word} for word in words[3:]]
        else:
            rounds = [{"N": n} for n in range(1, int(values.get(words[0][1:], words[0])) + 1)]
        for one in rounds:
            yield from unrolled(lines[at:end - 1], {**values, **one})
        at = end
