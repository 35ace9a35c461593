/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* process.bpf.h: how processes and threads begin, change and end. Children inherit the metering here. */
#ifndef DPM_PROCESS_BPF_H
#define DPM_PROCESS_BPF_H

#include "meter/kernel/cpu_wait.bpf.h"
#include "meter/kernel/receive.bpf.h"
#include "meter/kernel/rights.bpf.h"

/* Runs in the parent, before the child can run. */
SEC("tp_btf/task_newtask")
int BPF_PROG(task_newtask, struct task_struct *child, uint64_t clone_flags)
{
    struct task_struct *task = bpf_get_current_task_btf();
    struct stream *parent = running_stream(task), *stream;
    uint32_t thread = (clone_flags & CLONE_THREAD) != 0;

    if (parent == NULL || parent->life == STREAM_ENDED)
        return 0;
    stream = storage_of_task(child);
    if (stream == NULL) {
        /* the child cannot be metered: counted as a lost record, so that the gap is visible */
        count_lost(parent, RING_CONTROL);
        parent->sequence++;
        return 0;
    }
    if (claim(stream)) {
        /* a marking iterator may have found the child in the kernel's list already */
        stream->process = thread ? parent->process : stream->number;
        stream->parent = parent->number;
        stream->image = parent->image;
        stream->mark = parent->mark;
        stream->silent = parent->silent;
        if (kinds_in_force & METER_PIPE)
            stream->written_at = bpf_ktime_get_ns(); /* it is in no write */
        stream->away = (flags_in_force & FLAGS_OF_SWITCH) != 0 ? AWAY_NOT_STARTED : 0;
        enliven(stream, parent->flags, parent->told, parent->kinds);
        write_stream(stream, child);
    }
    write_process_event(parent, EVENT_CREATEPROCESS, stream->number | (uint64_t)thread << 32, 0);
    return 0;
}

/* Whether the current task is in a call that executes a program. The kernel renames it there, too. */
static __always_inline bool is_executing(struct task_struct *task)
{
    struct pt_regs *registers = registers_of(task);
    uint32_t call = call_of(task, registers);

    if (call == OTHER_CALL)
        return registers->orig_ax == CALL32_EXECVE || registers->orig_ax == CALL32_EXECVEAT;
    return call == CALL_EXECVE || call == CALL_EXECVEAT;
}

/* A thread gets another name, by its own call or by that of another one. It still has its old name. */
SEC("tp_btf/task_rename")
int BPF_PROG(task_rename, struct task_struct *task, const char *name)
{
    struct stream *stream = stream_of(task);

    if (stream == NULL || stream->life != STREAM_ALIVE ||
        (task == (void *)bpf_get_current_task_btf() && is_executing(task)))
        return 0;
    write_stream_named(stream, task, name);
    return 0;
}

/* A process, or a thread alone, has moved into another cgroup, in the context of whatever moved it. Of a process only its first
 * thread gets a STREAM, which tells for all. Cgroups of version 1 are not recorded. */
SEC("tp_btf/cgroup_attach_task")
int BPF_PROG(cgroup_attach_task, struct cgroup *cgroup, const char *path, struct task_struct *task,
             bool whole)
{
    struct stream *stream = stream_of(task);

    if (stream == NULL || stream->life != STREAM_ALIVE ||
        BPF_CORE_READ(cgroup, kn, id) != BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id))
        return 0;
    write_stream_named(stream, task, NULL);
    return 0;
}

/* What a stream has not recorded yet when it ends. */
static __always_inline void tell_rest(struct stream *stream)
{
    expect_no_outcomes(stream);
    if (stream->away)
        arrive_unseen(stream);
    tell_spliced(stream);
}

/* Before the last record of a stream. One that is still silent, but is in the trace, ends there, too: else it would
 * seem to live on. One that is not in the trace is not listed from now on. */
static __always_inline void end_silence(struct stream *stream)
{
    if (__sync_val_compare_and_swap(&stream->listed, STREAM_UNLISTED, STREAM_NEVER_LISTED) ==
            STREAM_LISTED &&
        begun != 0)
        stream->silent = 0;
}

/* The task has executed a program that gains privilege, or may not be read. As with ptrace(2), what it does from now on
 * is not the user's to see. Its last record is EXEC, which says so. */
static __noinline int leave_stream(struct stream *stream, struct task_struct *task)
{
    if (__sync_fetch_and_add(&gained, 1) == 0)
        bpf_core_read(gained_name, sizeof(gained_name), &task->comm);
    if (!stream->from_exec) {
        tell_rest(stream);
        end_silence(stream);
        tell_process_event(stream, NULL, EVENT_EXEC, 1ULL << 32, 0);
        if ((stream->lost[RING_CONTROL] | stream->lost[RING_DATA]) != 0)
            write_lost(stream, NULL, RING_CONTROL, stream->sequence);
    }
    if (kinds_in_force & METER_PIPE)
        __sync_fetch_and_add(&watched_pipes, 1); /* it may hold any of the pipes */
    end_stream(stream);
    bpf_task_storage_delete(&streams, task);
    return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(sched_process_exec, struct task_struct *task, int old_pid,
             struct linux_binprm *program)
{
    struct stream *stream = bpf_task_storage_get(&streams, task, NULL, 0);

    if (stream == NULL || stream->life == STREAM_ENDED)
        return 0;
    look_whether_silent(stream);
    if (!may_meter(task))
        return leave_stream(stream, task);
    for (uint32_t i = 0; i < PC_MEMORIES; i++)
        stream->pcs[i].ip = 0;
    stream->image =
        wants(stream, EVENT_FLAG(EVENT_EXEC) | METER_FLAG_PC) ? write_image(task, program) : 0;
    write_command(stream, task);
    /* not write_process_event: these two never have a PC, which costs the verifier most */
    if (stream->from_exec) {
        stream->from_exec = 0;
        stream->away = 0;
        write_stream(stream, task);
        tell_process_event(stream, NULL, EVENT_STARTPROCESS, 0, 0);
        write_schedule(stream, task); /* from before the metering */
    } else {
        write_stream(stream, task);
    }
    tell_process_event(stream, NULL, EVENT_EXEC, stream->image, 0);
    wake_reader();
    return 0;
}

/* Whether an exiting thread is the last one of its process. Before Linux 6.16 the hook does not show it: then the live
 * threads are counted, and of two that exit at once only one is called the last. */
static __always_inline bool is_last(struct task_struct *task, bool told)
{
    struct stream *leader;

    if (exit_tells_last)
        return told;
    if (BPF_CORE_READ(task, signal, live.counter) != 0)
        return false;
    leader = bpf_task_storage_get(&streams, task->group_leader, NULL, 0);
    return leader == NULL || __sync_val_compare_and_swap(&leader->last_told, 0, 1) == 0;
}

/* Not with BPF_PROG, which reads all arguments: the second one may not exist. */
SEC("tp_btf/sched_process_exit")
int sched_process_exit(uint64_t *arguments)
{
    struct task_struct *task = (struct task_struct *)arguments[0];
    bool last = is_last(task, exit_tells_last && arguments[1]);
    struct stream *stream = bpf_task_storage_get(&streams, task, NULL, 0);

    /* one that mark_tasks still fills in, it also ends */
    if (stream == NULL || stream->life != STREAM_ALIVE)
        return 0;
    look_whether_silent(stream);
    tell_rest(stream);
    end_silence(stream);
    if (!stream->from_exec)
        write_schedule(stream, task);
    if (!stream->from_exec && !silent(stream) && tells(stream, EVENT_TERMINATION))
        write_user(stream, task); /* if the end of its calls was not seen */
    if (!stream->from_exec && !silent(stream) && !tells(stream, EVENT_TERMINATION))
        write_stream(stream, task); /* for its CPU time */
    else if (!stream->from_exec)
        write_process_event(stream, EVENT_TERMINATION,
                            (uint32_t)task->exit_code | (uint64_t)last << 32,
                            stream->failed_sends | (uint64_t)stream->failed_receives << 32);
    if ((stream->lost[RING_CONTROL] | stream->lost[RING_DATA]) != 0)
        write_lost(stream, NULL, RING_CONTROL, stream->sequence);
    end_stream(stream);
    return 0;
}

#endif
