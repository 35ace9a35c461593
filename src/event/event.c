/* SPDX-License-Identifier: MIT */
/*
 * event.c: the table of event types and fields. Names, printing, the CTF metadata, JSON keys and (later) descriptions
 * and rules derive from it.
 */
#include "event/event.h"

#include <math.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#define FIELD(type, member, kind, name, meaning)                                                   \
    {                                                                                              \
        name, offsetof(struct type, member), sizeof(((struct type *)0)->member), kind, meaning     \
    }
#define U(type, member, name, meaning) FIELD(type, member, FIELD_UNSIGNED, name, meaning)
#define END_OF_FIELDS                                                                              \
    {                                                                                              \
        NULL, 0, 0, FIELD_UNSIGNED, NULL                                                           \
    }

const struct event_field event_header_fields[] = {
    U(record_header, time, "time", "ns, CLOCK_MONOTONIC, when the record was made"),
    U(record_header, id, "id", "type"),
    U(record_header, load, "load", "tasks of the machine that run or wait for a CPU; 255: or more"),
    FIELD(record_header, flags, FIELD_HEX, "flags", "bits, enum record_flag"),
    U(record_header, sequence, "sequence", "number within the stream, gap-free, modulo 2^32"),
    {"procTime", 16, 6, FIELD_UNSIGNED, "CPU time the stream has used, ns, modulo 2^48"},
    {"PC", 22, 6, FIELD_HEX, "user program counter"},
    U(record_header, stream, "_stream", "number of the STREAM record"),
    END_OF_FIELDS,
};

static const struct event_field message_fields[] = {
    U(record, message.path, "path", "number of the PATH record"),
    U(record, message.offset, "offset", "byte offset of the direction, or number of the message"),
    U(record, message.bytes, "bytes", "bytes of the message"),
    FIELD(
        record, message.span, FIELD_SPAN, "span",
        "the event happened at time - span; in units of 16 to the power of ((flags >> 11) & 7) ns"),
    END_OF_FIELDS,
};

static const struct event_field queued_fields[] = {
    U(record, queued.path, "path", "number of the PATH record"),
    U(record, queued.offset, "offset", "byte offset of the direction, or number of the message"),
    U(record, queued.bytes, "bytes", "bytes of the message, or of the stream that have come"),
    U(record, queued.queue, "queue", "in the queue now: bytes of a byte stream, else messages"),
    END_OF_FIELDS,
};

static const struct event_field block_fields[] = {
    U(record, block.system_call, "systemCall", "number of the system call it slept in"),
    FIELD(record, block.state, FIELD_HEX, "state",
          "the kernel's task state it slept in; in MPI: us it spun, times 2, plus 1"),
    {"duration", offsetof(struct record, block.duration_and_object), 6, FIELD_UNSIGNED,
     "ns asleep, ending at time; 2^48 - 1: or more"},
    {"object", offsetof(struct record, block.duration_and_object) + 6, 2, FIELD_UNSIGNED,
     "number of the NAME of what it waited for, 0: not known"},
    END_OF_FIELDS,
};

static const struct event_field create_fields[] = {
    U(record, create.child, "child", "number of the child's STREAM record"),
    U(record, create.thread, "thread", "1: a thread of the same process"),
    END_OF_FIELDS,
};

static const struct event_field exec_fields[] = {
    U(record, exec.image, "image", "number of the IMAGE record"),
    U(record, exec.left, "left", "1: the program gains privilege and is not metered"),
    END_OF_FIELDS,
};

static const struct event_field wakeup_fields[] = {
    U(record, wakeup.woken, "woken", "number of the stream that slept"),
    U(record, wakeup.waker, "waker",
      "flag 16: number of the stream that did it after its end; woken is 0: size of the "
      "communicator"),
    U(record, wakeup.call, "call", "woken is 0: which collective function of MPI it begins"),
    U(record, wakeup.communicator, "communicator", "... on which communicator, and its part there"),
    END_OF_FIELDS,
};

static const struct event_field no_fields[] = {
    END_OF_FIELDS,
};

static const struct event_field termination_fields[] = {
    U(record, termination.status, "status", "as wait(2) gives it: exit code << 8, or signal"),
    U(record, termination.last, "last", "1: the process's last stream"),
    U(record, termination.failed_sends, "failedSends", "send calls of the stream that failed"),
    U(record, termination.failed_receives, "failedReceives", "receive calls that failed"),
    END_OF_FIELDS,
};

static const struct event_field lost_fields[] = {
    U(record, lost.count, "count", "records"),
    U(record, lost.ring, "ring", "0 control, 1 data"),
    U(record, lost.reason, "reason",
      "1: the ring was full, 2: hooks were skipped, 3: no memory for connections or files"),
    END_OF_FIELDS,
};

static const struct event_field dropped_fields[] = {
    U(record, dropped.path, "path", "number of the path"),
    U(record, dropped.count, "count", "datagrams since the path was met, modulo 2^32"),
    U(record, dropped.refused, "refused", "datagrams refused for other reasons, modulo 2^32"),
    END_OF_FIELDS,
};

static const struct event_field network_fields[] = {
    U(record, network.path, "path", "number of the path"),
    U(record, network.retransmitted, "retransmitted", "segments sent again since it began"),
    U(record, network.round_trip, "roundTrip", "us, smoothed; 0: not known"),
    U(record, network.unacknowledged, "unacknowledged", "bytes sent and not acknowledged"),
    END_OF_FIELDS,
};

static const struct event_field schedule_fields[] = {
    U(record, schedule.runnable, "runnable", "ns that the stream has waited for a CPU"),
    U(record, schedule.voluntary, "voluntary", "times that it gave up its CPU to wait"),
    U(record, schedule.involuntary, "involuntary", "times that it was preempted"),
    END_OF_FIELDS,
};

static const struct event_field signal_fields[] = {
    U(record, signal.number, "signal", "number of the signal"),
    U(record, signal.result, "result",
      "0 delivered, 1 ignored, 2 the same one was pending already, 3 lost"),
    FIELD(record, signal.code, FIELD_SIGNED, "code",
          "si_code: 0 kill(2), -6 tgkill(2), 128 kernel"),
    U(record, signal.receiver, "receiver", "number of a STREAM of the process, 0: not metered"),
    U(record, signal.receiver_pid, "receiverPid", "process id of the receiver"),
    U(record, signal.sender_pid, "senderPid", "process id of the sender, 0: the kernel"),
    END_OF_FIELDS,
};

static const struct event_field failed_fields[] = {
    U(record, failed.path, "path", "number of the PATH record"),
    U(record, failed.error, "error", "errno: 111 refused, 110 timed out ..."),
    FIELD(record, failed.span, FIELD_SPAN, "span",
          "connect was called at time - span; unit as in SEND"),
    END_OF_FIELDS,
};

static const struct event_field sensor_fields[] = {
    U(record, sensor.sensor, "sensor", "number of the sensor"),
    U(record, sensor.value, "value", "what it reports"),
    END_OF_FIELDS,
};

static const struct event_field class_fields[] = {
    U(record, class.number, "class", "the id of its records"),
    U(record, class.type, "type", "the id of the type that they are of"),
    FIELD(record, class.absent, FIELD_HEX, "absent",
          "bit N: lacks field N of the header, from bit 8 on of the body"),
    END_OF_FIELDS,
};

static const struct event_field flags_fields[] = {
    FIELD(flags_record, meter_flags, FIELD_HEX, "meterFlags", "flags in force from now on"),
    FIELD(flags_record, kinds_left_out, FIELD_HEX, "kindsLeftOut", "as in MACHINE"),
    U(flags_record, process, "process", "number of the process they apply to, 0: all"),
    U(flags_record, rules, "rules", "how many selection rules are in force, 0: none"),
    END_OF_FIELDS,
};

#define SUMMARY(member, name, meaning) U(summary_record, member, name, meaning)
static const struct event_field summary_fields[] = {
    SUMMARY(cpu_user, "cpuUser", "ns, all CPUs together"),
    SUMMARY(cpu_system, "cpuSystem", "ns, with interrupts"),
    SUMMARY(cpu_idle, "cpuIdle", "ns"),
    SUMMARY(cpu_disk, "cpuDisk", "ns idle while a task waited for a disk"),
    SUMMARY(cpu_stolen, "cpuStolen", "ns given to other virtual machines"),
    SUMMARY(runnable, "runnable", "tasks that run or wait for a CPU now"),
    SUMMARY(in_disk, "inDisk", "tasks that wait for a disk now"),
    SUMMARY(load, "loadAverage", "of the last minute, times 100"),
    SUMMARY(memory, "memory", "bytes of the machine"),
    SUMMARY(memory_available, "memoryAvailable", "bytes now"),
    SUMMARY(swap, "swap", "bytes"),
    SUMMARY(swap_free, "swapFree", "bytes now"),
    SUMMARY(major_faults, "majorFaults", "page faults that needed a disk"),
    SUMMARY(swapped_in, "swappedIn", "bytes"),
    SUMMARY(swapped_out, "swappedOut", "bytes"),
    SUMMARY(cpu_waited, "cpuWaited", "ns in which some task waited for a CPU"),
    SUMMARY(memory_waited, "memoryWaited", "ns in which some task waited for memory"),
    SUMMARY(memory_waited_all, "memoryWaitedAll", "ns in which all non-idle tasks did"),
    SUMMARY(disk_waited, "diskWaited", "ns in which some task waited for a disk"),
    SUMMARY(disk_waited_all, "diskWaitedAll", "ns in which all non-idle tasks did"),
    SUMMARY(disk_reads, "diskReads", "requests"),
    SUMMARY(disk_writes, "diskWrites", "requests"),
    SUMMARY(disk_read, "diskRead", "bytes"),
    SUMMARY(disk_written, "diskWritten", "bytes"),
    SUMMARY(disk_busy, "diskBusy",
            "ns in which the disk that was busiest in the interval had requests"),
    SUMMARY(network_received, "networkReceived", "bytes, all interfaces but loopback"),
    SUMMARY(network_sent, "networkSent", "bytes"),
    SUMMARY(network_packets_received, "networkPacketsReceived", "packets"),
    SUMMARY(network_packets_sent, "networkPacketsSent", "packets"),
    SUMMARY(network_dropped, "networkDropped", "packets, either way"),
    SUMMARY(tcp_retransmitted, "tcpRetransmitted", "segments"),
    END_OF_FIELDS,
};

static const struct event_field decision_fields[] = {
    U(decision_record, number, "number", "of the act that was tried, 0: none yet"),
    U(decision_record, before, "before", "the goal, ns, or thousandths of one in a second"),
    U(decision_record, after, "after", "the same after it was tried"),
    U(decision_record, before_length, "beforeLength", "ns that were measured before it was tried"),
    U(decision_record, after_length, "afterLength", "ns that were measured after it, up to now"),
    U(decision_record, outcome, "outcome",
      "1 tries, 2 would try, 3 kept, 4 undone, 5 failed, 6 nothing to do"),
    U(decision_record, flags, "decisionFlags", "1: the goal is a time, 2: the prediction is rough"),
    U(decision_record, predicted, "predicted", "gain, thousandths, all ones: unknown"),
    U(decision_record, noise, "noise", "as a gain, thousandths, all ones: unknown"),
    FIELD(decision_record, act, FIELD_TEXT, "act", "which act"),
    FIELD(decision_record, from, FIELD_TEXT, "actFrom", "how it stood"),
    FIELD(decision_record, to, FIELD_TEXT, "actTo", "what is tried"),
    FIELD(decision_record, goal, FIELD_TEXT, "goal", "what is to get better"),
    FIELD(decision_record, reason, FIELD_TEXT, "reason", "what was measured"),
    END_OF_FIELDS,
};

static const struct event_field cgroup_fields[] = {
    U(cgroup_record, cgroup, "cgroup", "number of the cgroup"),
    U(cgroup_record, cpu, "cpu", "ns of CPU time used"),
    U(cgroup_record, quota, "quota", "ns of CPU time in each period, 0: no limit"),
    U(cgroup_record, period, "period", "ns"),
    U(cgroup_record, periods, "periods", "in which it ran"),
    U(cgroup_record, throttled_periods, "throttledPeriods", "in which it used up its quota"),
    U(cgroup_record, throttled, "throttled", "ns that it was throttled, all CPUs together"),
    U(cgroup_record, memory, "memory", "bytes in use now"),
    U(cgroup_record, memory_most, "memoryMost", "limit in bytes, 0: none"),
    U(cgroup_record, memory_reclaims, "memoryReclaims", "times that it reached the limit"),
    U(cgroup_record, oom_kills, "oomKills", "processes of it killed for lack of memory"),
    U(cgroup_record, cpu_waited, "cpuWaited", "ns in which some task waited for a CPU"),
    U(cgroup_record, memory_waited, "memoryWaited", "... for memory"),
    U(cgroup_record, disk_waited, "diskWaited", "... for a disk"),
    END_OF_FIELDS,
};

static const struct event_field cost_fields[] = {
    U(record, cost.cpu, "cpu", "ns of CPU time that the recorder has used"),
    U(record, cost.wakeups, "wakeups", "how often it looked for records"),
    U(record, cost.hook, "hook", "ns in the kernel for each record, 0: not known"),
    END_OF_FIELDS,
};

static const struct event_field stream_fields[] = {
    U(stream_record, pid, "pid", "process id (thread group), PID namespace of the meter"),
    U(stream_record, tid, "tid", "thread id, PID namespace of the meter"),
    U(stream_record, process, "process", "number of the process: that of its first stream"),
    U(stream_record, parent, "parent", "number of the stream that created it, 0: not metered"),
    U(stream_record, start, "start", "ns, CLOCK_MONOTONIC, when it was created"),
    U(stream_record, pid_inside, "pidInside", "process id in its own PID namespace"),
    U(stream_record, user, "user", "user id, initial user namespace"),
    U(stream_record, cgroup, "cgroup", "cgroup2 id"),
    U(stream_record, pid_namespace, "pidNamespace", "inode of the PID namespace it lives in"),
    U(stream_record, image, "image", "number of the program it executes, 0: not known"),
    FIELD(stream_record, name, FIELD_TEXT, "name", "name of the program or thread"),
    END_OF_FIELDS,
};

static const struct event_field path_fields[] = {
    U(path_record, path, "path", "number of the path"),
    U(path_record, kind, "kind",
      "1 TCP, 2 UNIX stream, 3 UNIX datagram, 4 UNIX seqpacket, 5 UDP, 6 pipe, 7 FIFO, 8 file, "
      "9 System V message queue, 10 POSIX message queue, 11 channel of messages of another system, "
      "12 of bytes"),
    U(path_record, family, "family", "address family: 1 UNIX, 2 IPv4, 10 IPv6; 0 of pipes"),
    U(path_record, role, "role",
      "0 not known, 1 this end connected, 2 was accepted, 5 listens; of a pipe 3 it is written, "
      "4 it is read"),
    U(path_record, name_end, "nameEnd", "whose name: 0 none, 1 this end, 2 the other end"),
    U(path_record, cookie, "cookie", "of this socket"),
    U(path_record, peer, "peer", "cookie of the socket at the other end, 0: not known"),
    U(path_record, inode, "inode", "of this socket"),
    U(path_record, network, "network", "inode of the network namespace"),
    U(path_record, local_port, "localPort", "port of this end"),
    U(path_record, remote_port, "remotePort", "port of the other end"),
    FIELD(path_record, local, FIELD_BYTES, "local", "address of this end"),
    FIELD(path_record, remote, FIELD_BYTES, "remote", "address of the other end"),
    U(path_record, start_out, "startOut", "offset of the first byte or message sent"),
    U(path_record, start_in, "startIn", "offset of the first byte or message received"),
    FIELD(path_record, name, FIELD_TEXT, "name", "UNIX address, '@': abstract"),
    END_OF_FIELDS,
};

static const struct event_field image_fields[] = {
    U(image_record, image, "image", "number of the image"),
    U(image_record, device, "device", "device of its file"),
    U(image_record, inode, "inode", "inode of its file"),
    FIELD(image_record, load, FIELD_HEX, "load", "address of the program's text"),
    FIELD(image_record, name, FIELD_TEXT, "name", "file name as given to exec"),
    END_OF_FIELDS,
};

static const struct event_field module_fields[] = {
    U(module_record, module, "module", "number of the module"),
    U(module_record, device, "device", "device of its file"),
    U(module_record, inode, "inode", "inode of its file"),
    FIELD(module_record, text, FIELD_HEX, "text", "address of its first executable segment"),
    FIELD(module_record, build_id, FIELD_BYTES, "buildId", "build id, all 0: it has none"),
    FIELD(module_record, name, FIELD_TEXT, "name", "path of its file"),
    END_OF_FIELDS,
};

static const struct event_field procedure_fields[] = {
    U(procedure_record, module, "module", "number of the module, 0: not known"),
    U(procedure_record, image, "image", "0: address is the module's; else the PC in this image"),
    FIELD(procedure_record, address, FIELD_HEX, "address", "which PC is named"),
    U(procedure_record, offset, "offset", "bytes from the procedure's or the module's beginning"),
    FIELD(procedure_record, name, FIELD_TEXT, "name", "the procedure, empty: no symbol"),
    END_OF_FIELDS,
};

static const struct event_field name_fields[] = {
    U(name_record, number, "number",
      "user id, cgroup2 id, or number of a process, rule, object or kind"),
    U(name_record, kind, "kind",
      "1 user, 2 cgroup, 3 command line, 4 rule, 5 object, 6 sockets not metered"),
    U(name_record, what, "what",
      "of an object: 1 file, 2 device, 3 pipe, 4 socket, 5 anonymous, 6 queue, 7 semaphore, 8 "
      "opened, 9 lock"),
    FIELD(name_record, name, FIELD_TEXT, "name", "what it is called"),
    END_OF_FIELDS,
};

static const struct event_field machine_fields[] = {
    FIELD(machine_record, machine_id, FIELD_BYTES, "machineId", "machine id"),
    FIELD(machine_record, boot_id, FIELD_BYTES, "bootId", "boot id"),
    FIELD(machine_record, meter_flags, FIELD_HEX, "meterFlags", "flags in force at the beginning"),
    FIELD(
        machine_record, kinds_left_out, FIELD_HEX, "kindsLeftOut",
        "kinds of paths that are not metered: 1 TCP, 2 UDP, 4 UNIX, 8 pipes, 16 files, 32 message "
        "queues"),
    FIELD(machine_record, cpus, FIELD_UNSIGNED, "cpus", "processors in use; 0: not known"),
    FIELD(
        machine_record, meter, FIELD_UNSIGNED, "meter",
        "which meter made the records: 0 the kernel meter, 1 the ptrace meter, 2 another system's"),
    FIELD(machine_record, name, FIELD_TEXT, "name", "host name"),
    FIELD(machine_record, system, FIELD_TEXT, "system", "kernel and architecture"),
    FIELD(machine_record, addresses, FIELD_TEXT, "addresses", "separated by blanks"),
    END_OF_FIELDS,
};

static const struct event_field end_fields[] = {
    U(end_record, records, "records", "records in the trace, this one included"),
    U(end_record, lost, "lost", "records lost, all rings"),
    U(end_record, reason, "reason",
      "1 complete, 2 size, 3 write error, 4 repaired, 5 the meter or DPM failed, or ended by dpmd"),
    END_OF_FIELDS,
};

static const struct event_field begin_fields[] = {
    U(begin_record, began, "began", "when the recording began"),
    U(begin_record, records, "records", "in earlier files, without repeated ones"),
    U(begin_record, lost_control, "lostControl", "records lost in earlier files, of control"),
    U(begin_record, lost_data, "lostData", "the same of data"),
    U(begin_record, cpu, "recorderCpu", "of the latest COST in earlier files"),
    U(begin_record, wakeups, "wakeups", "the same"),
    U(begin_record, repeated, "repeated", "records that follow and were in earlier files, too"),
    END_OF_FIELDS,
};

#define MESSAGE(id, synonym, ring, meaning)                                                        \
    [EVENT_##id] = {EVENT_##id, #id, synonym, ring, sizeof(struct record), message_fields, meaning}
#define TYPE(id, synonym, ring, type, fields, meaning)                                             \
    [EVENT_##id] = {EVENT_##id, #id, synonym, ring, sizeof(struct type), fields, meaning}

static const struct event_type types[EVENT_ID_END] = {
    MESSAGE(SEND, "SENDMESSAGE", RING_DATA, "a send call completed"),
    MESSAGE(SENDCALL, NULL, RING_DATA, "a stream left the CPU inside a send"),
    MESSAGE(RECEIVECALL, NULL, RING_DATA, "a receive call blocks"),
    MESSAGE(RECEIVE, NULL, RING_DATA, "data handed to the process; 0 bytes: end of file"),
    TYPE(MESSAGEQUEUED, NULL, RING_DATA, record, queued_fields,
         "data placed in a receiver's queue"),
    TYPE(BLOCK, NULL, RING_DATA, record, block_fields, "slept for another reason than a message"),
    MESSAGE(CREATEPATH, "SOCKET", RING_CONTROL, "a path was met for the first time"),
    MESSAGE(CONNECT, NULL, RING_CONTROL, "this end connected"),
    MESSAGE(ACCEPT, NULL, RING_CONTROL, "this end was accepted"),
    MESSAGE(DESTROYPATH, "DESTSOCKET", RING_CONTROL, "the last holder closed this end"),
    TYPE(CREATEPROCESS, "FORK", RING_CONTROL, record, create_fields, "process or thread created"),
    TYPE(EXEC, NULL, RING_CONTROL, record, exec_fields, "new program image"),
    TYPE(STARTPROCESS, NULL, RING_CONTROL, record, no_fields, "first on a CPU, or continued"),
    TYPE(STOPPROCESS, NULL, RING_CONTROL, record, no_fields, "stopped by a signal"),
    TYPE(TERMINATION, "DESTROYPROCESS", RING_CONTROL, record, termination_fields, "stream ended"),
    TYPE(LOST, NULL, RING_CONTROL, record, lost_fields, "records that could not be written"),
    TYPE(DISCARDED, NULL, RING_CONTROL, record, lost_fields, "records removed by a selection"),
    TYPE(STREAM, NULL, RING_CONTROL, stream_record, stream_fields, "identity of a stream"),
    TYPE(PATH, NULL, RING_CONTROL, path_record, path_fields, "identity of one end of a path"),
    TYPE(IMAGE, NULL, RING_CONTROL, image_record, image_fields, "identity of a program image"),
    TYPE(MODULE, NULL, RING_CONTROL, module_record, module_fields, "file with program text"),
    TYPE(PROCEDURE, NULL, RING_CONTROL, procedure_record, procedure_fields, "the name of a PC"),
    TYPE(NAME, NULL, RING_CONTROL, name_record, name_fields,
         "name of a user, cgroup or object, or command line"),
    TYPE(DROPPED, NULL, RING_CONTROL, record, dropped_fields, "datagrams that found a full queue"),
    TYPE(NETWORK, NULL, RING_CONTROL, record, network_fields, "how the network served a path"),
    TYPE(COST, NULL, RING_CONTROL, record, cost_fields, "what the recording itself cost"),
    TYPE(WAKEUP, NULL, RING_DATA, record, wakeup_fields, "ended another stream's sleep"),
    TYPE(FLAGS, NULL, RING_CONTROL, flags_record, flags_fields, "what is metered changed"),
    TYPE(SCHEDULE, NULL, RING_DATA, record, schedule_fields, "how long a stream waited for a CPU"),
    TYPE(SIGNAL, NULL, RING_DATA, record, signal_fields, "a signal was sent"),
    TYPE(CONNECTFAILED, NULL, RING_CONTROL, record, failed_fields, "a connection failed"),
    MESSAGE(READ, NULL, RING_DATA, "data read from a file"),
    MESSAGE(WRITE, NULL, RING_DATA, "data written to a file"),
    TYPE(SUMMARY, NULL, RING_CONTROL, summary_record, summary_fields, "the state of the machine"),
    TYPE(CGROUP, NULL, RING_CONTROL, cgroup_record, cgroup_fields, "limits of a cgroup"),
    TYPE(SENSOR, NULL, RING_DATA, record, sensor_fields, "the value of a sensor"),
    TYPE(CLASS, NULL, RING_CONTROL, record, class_fields, "a class of records that lack fields"),
    TYPE(BEGIN, NULL, RING_CONTROL, begin_record, begin_fields, "a later file of a trace begins"),
    TYPE(DECISION, NULL, RING_CONTROL, decision_record, decision_fields,
         "what dpm steer has decided"),
    TYPE(MACHINE, NULL, RING_CONTROL, machine_record, machine_fields, "identity of the machine"),
    TYPE(END, NULL, RING_CONTROL, end_record, end_fields, "the recording ended in order"),
};

const char *decision_name(unsigned outcome)
{
    static const char *const names[DECISION_OUTCOMES] = {
        [DECISION_TRIES] = "try",     [DECISION_WOULD] = "would",   [DECISION_KEPT] = "kept",
        [DECISION_UNDONE] = "undone", [DECISION_FAILED] = "failed", [DECISION_NOTHING] = "nothing",
    };

    return outcome < DECISION_OUTCOMES ? names[outcome] : NULL;
}

double decision_gain(const struct decision_record *decision)
{
    double before = (double)decision->before, after = (double)decision->after;
    bool judged = decision->outcome == DECISION_KEPT || decision->outcome == DECISION_UNDONE;

    if (!judged || decision->before == NOT_KNOWN || decision->after == NOT_KNOWN ||
        decision->before == 0 || decision->after == 0)
        return NAN;
    return 1000 * ((decision->flags & DECISION_IS_TIME ? before / after : after / before) - 1);
}

const struct event_type *event_type(unsigned id)
{
    return id < EVENT_ID_END && types[id].name != NULL ? &types[id] : NULL;
}

const struct event_type *event_type_by_name(const char *name)
{
    for (size_t id = 0; id < ARRAY_SIZE(types); id++) {
        const struct event_type *type = event_type(id);
        if (type == NULL)
            continue;
        if (strcasecmp(name, type->name) == 0 ||
            (type->synonym != NULL && strcasecmp(name, type->synonym) == 0))
            return type;
    }
    return NULL;
}

const char *event_sensor_name(uint32_t sensor)
{
    switch (sensor) {
    case SENSOR_GC_BEGIN:
        return "hotspot:gc__begin";
    case SENSOR_GC_END:
        return "hotspot:gc__end";
    case SENSOR_SAFEPOINT_BEGIN:
        return "hs_private:safepoint__begin";
    case SENSOR_SAFEPOINT_END:
        return "hs_private:safepoint__end";
    default:
        return NULL;
    }
}

size_t event_size(unsigned id)
{
    const struct event_type *type = event_type(id);
    return type == NULL ? 0 : type->size;
}

const struct event_field *event_absent_field(const struct event_type *type, unsigned bit)
{
    const struct event_field *fields =
        bit < EVENT_BODY_FIELD_FIRST ? event_header_fields : type->fields;
    unsigned index = bit < EVENT_BODY_FIELD_FIRST ? bit : bit - EVENT_BODY_FIELD_FIRST;

    for (unsigned i = 0; fields[i].name != NULL; i++)
        if (i == index)
            return &fields[i];
    return NULL;
}

uint64_t event_field_value(const struct event_field *field, const void *record)
{
    uint64_t value = 0;

    memcpy(&value, (const char *)record + field->offset,
           field->size < sizeof(value) ? field->size : sizeof(value));
    return value;
}
