/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * sys_exit.bpf.h: the end of every system call of the machine, for what has no hooks of its own: pipes, message queues,
 * and which threads make sockets, and make and accept connections. Calls that change a thread's user are seen here, too.
 */
#ifndef DPM_SYS_EXIT_BPF_H
#define DPM_SYS_EXIT_BPF_H

#include "meter/kernel/connection.bpf.h"
#include "meter/kernel/made_call.bpf.h"
#include "meter/kernel/mq_call.bpf.h"
#include "meter/kernel/submit_call.bpf.h"

/* A 32-bit program: its calls on pipes are counted, but not recorded. */
static __always_inline int other_call_ended(const struct pt_regs *registers, int64_t result)
{
    if (kinds_in_force & METER_MQ)
        queue_passed_over(registers);
    if ((kinds_in_force & METER_PIPE) == 0)
        return 0;
    switch ((uint32_t)registers->orig_ax) {
    case CALL32_READ:
    case CALL32_READV:
        return pipe_passed_over(registers->bx, PIPE_READ, (int32_t)result);
    case CALL32_WRITE:
    case CALL32_WRITEV:
        return pipe_passed_over(registers->bx, PIPE_WRITTEN, (int32_t)result);
    default:
        return 0;
    }
}

static __always_inline bool changes_user(uint32_t call)
{
    return call == CALL_SETUID || call == CALL_SETREUID || call == CALL_SETRESUID;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(sys_exit, struct pt_regs *registers, int64_t result)
{
    struct task_struct *task = bpf_get_current_task_btf();
    uint32_t call = registers->orig_ax;
    bool has = has_storage(task);
    struct pipe_ends ends;
    struct stream *stream;

    if (!has && watched_pipes == 0 && known_queues == 0)
        return 0;
    if (registers->cs == USER32_CS)
        return other_call_ended(registers, result);
    if (changes_user(call)) {
        stream = running_stored_stream(task, has);
        if (stream != NULL)
            write_user(stream, task);
        return 0;
    }
    if (call == CALL_PROCESS_VM_READV || call == CALL_PROCESS_VM_WRITEV) {
        stream = result <= 0 ? NULL : running_stored_stream(task, has);
        if (stream != NULL && !silent(stream))
            __sync_fetch_and_or(&unmetered, 1u << UNMETERED_PROCESS_VM);
        return 0;
    }
    if (makes_sockets(call))
        return making_call_ended(running_stored_stream(task, has), call, registers, result);
    if (is_connection_call(call))
        return connection_call_ended(task, call, result);
    if ((kinds_in_force & METER_MQ) && is_queue_call(call))
        return queue_call_ended(running_stored_stream(task, has), call, result);
    if ((kinds_in_force & METER_PIPE) == 0 || (!is_pipe_call(call) && call != CALL_IO_SUBMIT))
        return 0;
    stream = running_stored_stream(task, has);
    if (stream == NULL && watched_pipes == 0)
        return 0;
    if (stream != NULL && !is_write(call))
        stream->pipe_write_at = 0; /* of one of several writes, or of none */
    if (call == CALL_IO_SUBMIT)
        return stream == NULL ? 0 : submission_ended(stream, result);
    if (stream != NULL)
        forget_call(stream, call);
    if (begins_pipe(call)) {
        if (stream != NULL)
            begin_pipe(stream, registers->di, call, result);
        return 0;
    }
    ends_of_call(&ends, call, registers);
    if (call == CALL_VMSPLICE)
        choose_end(&ends);
    if (stream == NULL) {
        if (ends.read != NO_CALL)
            pipe_passed_over(ends.read, PIPE_READ, result);
        if (ends.written != NO_CALL)
            pipe_passed_over(ends.written, PIPE_WRITTEN, result);
        return 0;
    }
    if (call == CALL_SPLICE && result > 0 && wants(stream, FLAGS_OF_UNIX_RECEIVE))
        unix_spliced(stream, ends.read, result);
    if (ends.read != NO_CALL && wants(stream, FLAGS_OF_RECEIVE))
        pipe_used(stream, ends.read, PIPE_READ, result, result == 0 && tells_end(call, registers));
    if (ends.written != NO_CALL && wants(stream, FLAGS_OF_SEND))
        pipe_used(stream, ends.written, PIPE_WRITTEN, result, is_write(call));
    return 0;
}

#endif
