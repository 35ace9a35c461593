/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * sensor.bpf.c: what runs in the kernel when a program reaches a sensor's place.
 *
 *      uprobe, USDT probe ---- cookie ----> codes[cookie] --> values --> unchanged? --> condition --> ring
 *      hardware watchpoint --- cookie --'        |
 *                                                '--> states[sensor]: on, counts, what was seen last
 *
 * A sensor is one of a process, or of all that execute a file: then what was seen last is in memories[sensor, process].
 *
 * It reads the registers and the memory of the program that it runs in, and writes nothing there.
 */
#define __VMLINUX_H__
#define DPM_KERNEL_SIDE

#include <linux/bpf.h>
#include <stdbool.h>

#include "sensor/kernel/sensor_code.h"

#include <bpf/bpf_helpers.h>
/* in this order */
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#define SENSORS 256
#define CODES   512

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct pt_regs {
    unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip;
    unsigned short cs;
    unsigned long flags, sp;
};

struct super_block {
    unsigned int s_dev;
};

struct inode {
    unsigned long i_ino;
    struct super_block *i_sb;
};

struct file {
    struct inode *f_inode;
};

struct mm_struct {
    unsigned long start_code, start_stack;
    struct file *exe_file;
};

typedef struct {
    int counter;
} atomic_t;

struct signal_struct {
    atomic_t live;
};

struct thread_struct {
    unsigned long fsbase;
};

struct task_struct {
    int pid, tgid;
    struct mm_struct *mm;
    struct task_struct *group_leader;
    struct signal_struct *signal;
    unsigned long long start_time;
    struct thread_struct thread;
    char comm[16];
};

#pragma clang attribute pop

/* As the kernel shows it to programs: no CO-RE. */
struct perf_event_data {
    struct {
        unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip,
            cs, flags, sp, ss;
    } regs;
    __u64 sample_period;
    __u64 addr;
};

struct code_map {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __uint(key_size, sizeof(uint32_t));
    __uint(value_size, sizeof(struct sensor_code));
};

/* A new code is a new map, which the kernel puts in place at once. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
    __uint(max_entries, CODES);
    __type(key, uint32_t);
    __array(values, struct code_map);
} codes SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 1 << 20);
} ring SEC(".maps");

/* What sensors by file have seen last in each process. If there are more, those that were there least recently begin anew. */
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 4096);
    __type(key, struct sensor_process);
    __type(value, struct sensor_memory);
} memories SEC(".maps");

/* Process ids of a process and what descends from it. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 1 << 16);
    __type(key, uint32_t);
    __type(value, uint32_t);
} family SEC(".maps");
struct sensor_memory forgotten; /* where there was no memory for one: as if it was never there */
uint64_t family_lost;           /* descendants for which there was no memory */
uint64_t beginnings_lost;       /* the ring was full */

struct sensor_state states[SENSORS];
uint32_t has_messages; /* some sensor makes records without waking the reader */

#define WATCHES 64
struct sensor_watch watches[WATCHES];

/* Where every machine begins. Verifiers before Linux 6.7 look at one step only, and remove branches that cannot be taken in
 * it. So the machine is read from here by a helper: then they know nothing of its state, and the one step is any. */
const volatile struct sensor_machine first_state = {0};

struct run {
    struct sensor_machine machine;
    uint64_t registers[SENSOR_REGISTERS];
    const struct sensor_code *code;
    struct sensor_memory *memory;
    uint64_t moved; /* what to add to addresses of the program */
};

static __attribute__((always_inline)) void read_memory(struct sensor_machine *machine,
                                                       const struct sensor_step *step, uint32_t to)
{
    const void *address = (const void *)(machine->to[to] + (uint64_t)step->constant);
    uint64_t value = 0;
    long result;

    if (step->size == 1)
        result = bpf_probe_read_user(&value, 1, address);
    else if (step->size == 2)
        result = bpf_probe_read_user(&value, 2, address);
    else if (step->size == 4)
        result = bpf_probe_read_user(&value, 4, address);
    else
        result = bpf_probe_read_user(&value, 8, address);
    machine->to[to] = sensor_extend(value, step->size * 8u, step->is_signed);
    if (result != 0)
        sensor_mark(&machine->unknown, to, 1);
}

/* As of the last change by the kernel: the C library makes no other. */
static __attribute__((always_inline)) uint64_t thread_memory(void)
{
    const struct task_struct *task = (const struct task_struct *)bpf_get_current_task_btf();

    return BPF_CORE_READ(task, thread.fsbase);
}

static long run_step(uint32_t index, struct run *run)
{
    const struct sensor_step *step = &run->code->steps[index & (SENSOR_STEPS - 1)];
    uint32_t to = step->to & (SENSOR_DEPTH - 1);

    if (step->operation == STEP_LOAD) {
        read_memory(&run->machine, step, to);
    } else if (step->operation == STEP_REGISTER) {
        uint64_t number = (uint64_t)step->constant;
        run->machine.to[to] = number < SENSOR_REGISTERS ? run->registers[number]
                              : number == SENSOR_THREAD ? thread_memory()
                                                        : 0;
        sensor_mark(&run->machine.unknown, to, 0);
    } else if (step->operation == STEP_CONSTANT && step->is_address) {
        run->machine.to[to] = (uint64_t)step->constant + run->moved;
        sensor_mark(&run->machine.unknown, to, 0);
    } else {
        sensor_run(&run->machine, step);
    }
    return 0;
}

static __attribute__((always_inline)) bool
is_changed(struct sensor_memory *memory, const struct sensor_machine *machine, uint32_t values)
{
    bool changed = __sync_lock_test_and_set(&memory->has_last, 1) == 0;

    if (__sync_lock_test_and_set(&memory->last_known, machine->known) != machine->known)
        changed = true;
    for (uint32_t i = 0; i < SENSOR_VALUE_MOST; i++) {
        if (i >= values)
            break;
        if (__sync_lock_test_and_set(&memory->last[i], machine->values[i]) != machine->values[i])
            changed = true;
    }
    return changed;
}

/* As struct view_filter. */
static __attribute__((always_inline)) bool is_accepted(struct sensor_memory *memory,
                                                       const struct sensor_machine *machine,
                                                       uint32_t conditional)
{
    uint32_t now = (machine->unknown & 1) == 0 && machine->to[0] != 0;
    bool doubtful = (machine->inexact & 1u << SENSOR_DOUBTFUL) != 0;

    if (conditional == SENSOR_TRUE)
        return (__sync_lock_test_and_set(&memory->was_true, now) | now) != 0;
    /* the reader evaluates what is doubtful; its result is not known here */
    return __sync_lock_test_and_set(&memory->was_true, doubtful ? SENSOR_UNTOLD : now) != now ||
           doubtful;
}

/* By itself the kernel wakes a reader only if it has read all before: so not after records that woke nobody. */
static __attribute__((always_inline)) uint64_t wake_flags(const struct sensor_state *state)
{
    if (!state->notify)
        return BPF_RB_NO_WAKEUP;
    return has_messages ? BPF_RB_FORCE_WAKEUP : 0;
}

static __attribute__((always_inline)) void lose_record(struct sensor_state *state,
                                                       struct sensor_memory *memory)
{
    __sync_fetch_and_add(&state->lost, 1);
    /* its reader knows nothing of this one: so the next one is new to it */
    memory->has_last = 0;
    memory->was_true = SENSOR_UNTOLD;
}

static __attribute__((always_inline)) void fill_record(struct sensor_event_record *record,
                                                       const struct sensor_state *state,
                                                       const struct sensor_code *code,
                                                       const struct sensor_machine *machine)
{
    uint64_t task = bpf_get_current_pid_tgid();
    record->sensor = code->sensor;
    record->spare = 0;
    record->time = bpf_ktime_get_ns();
    record->pid = task >> 32;
    record->tid = (uint32_t)task;
    record->known = machine->known;
    record->generation = state->generation;
    for (uint32_t i = 0; i < SENSOR_VALUE_MOST; i++)
        record->values[i] = machine->values[i];
}

static __attribute__((always_inline)) void put_record(struct sensor_state *state,
                                                      const struct run *run)
{
    struct sensor_event_record *record = bpf_ringbuf_reserve(&ring, sizeof(*record), 0);

    if (record == NULL) {
        lose_record(state, run->memory);
        return;
    }
    fill_record(record, state, run->code, &run->machine);
    bpf_ringbuf_submit(record, wake_flags(state));
    __sync_fetch_and_add(&state->passed, 1);
}

static __attribute__((always_inline)) void put_texts(struct sensor_state *state,
                                                     const struct run *run)
{
    struct sensor_text_record *record = bpf_ringbuf_reserve(&ring, sizeof(*record), 0);
    uint32_t next = 0;

    if (record == NULL) {
        lose_record(state, run->memory);
        return;
    }
    fill_record(&record->record, state, run->code, &run->machine);
    for (uint32_t i = 0; i < SENSOR_VALUE_MOST; i++) {
        if ((run->code->texts >> i & 1) == 0 || next >= SENSOR_TEXTS_MOST)
            continue;
        char *text = record->texts[next++];
        uint32_t last = run->code->sizes[i] & (SENSOR_TEXT_BYTES - 1);
        const void *from = (const void *)run->machine.values[i];
        if ((run->code->structs >> i & 1
                 ? bpf_probe_read_user(text, last + 1, from)
                 : bpf_probe_read_user_str(text, SENSOR_TEXT_BYTES, from)) < 0)
            record->record.known &= ~(1u << i);
    }
    bpf_ringbuf_submit(record, wake_flags(state));
    __sync_fetch_and_add(&state->passed, 1);
}

static __attribute__((always_inline)) bool executes(struct sensor_state *state,
                                                    struct task_struct *task)
{
    uint32_t pid = (uint32_t)task->tgid;
    const struct file *file = task->mm->exe_file;

    if (file == NULL)
        return false;
    const struct inode *inode = file->f_inode;
    return inode->i_ino == state->inode &&
           (state->device == SENSOR_ANY_DEVICE || inode->i_sb->s_dev == state->device) &&
           (!state->family || bpf_map_lookup_elem(&family, &pid) != NULL);
}

/* What the sensor has seen in this process; NULL: it is not to be seen. */
static __attribute__((always_inline)) struct sensor_memory *
remember(struct sensor_state *state, uint32_t sensor, struct task_struct *task, uint64_t stack)
{
    const struct sensor_memory first = {.was_true = state->memory.was_true, .turn = state->turn};
    const struct sensor_process process = {sensor, (uint32_t)task->tgid,
                                           task->group_leader->start_time, stack};
    struct sensor_memory *memory = bpf_map_lookup_elem(&memories, &process);

    if (memory == NULL) {
        bpf_map_update_elem(&memories, &process, &first, BPF_NOEXIST);
        memory = bpf_map_lookup_elem(&memories, &process);
    }
    if (memory == NULL)
        memory = &forgotten;
    if (memory == &forgotten || memory->turn != state->turn) {
        memory->turn = state->turn;
        memory->has_last = 0;
        memory->was_true = SENSOR_UNTOLD;
    }
    return memory->muted ? NULL : memory;
}

/* Whether the sensor is one of this process. */
static __attribute__((always_inline)) bool is_its_program(struct sensor_state *state,
                                                          struct run *run)
{
    struct task_struct *task = (struct task_struct *)bpf_get_current_task_btf();

    run->memory = &state->memory;
    run->moved = 0;
    if (task->mm != NULL && !state->by_file && task->mm->start_stack == state->stack)
        return true;
    if (task->mm != NULL && state->by_file && executes(state, task)) {
        run->moved = task->mm->start_code - state->code;
        run->memory = remember(state, run->code->sensor, task, task->mm->start_stack);
        return run->memory != NULL;
    }
    __sync_fetch_and_add(&state->foreign, 1);
    return false;
}

static __attribute__((always_inline)) void judge(struct sensor_state *state, struct run *run)
{
    uint32_t count = run->code->count;

    bpf_probe_read_kernel(&run->machine, sizeof(run->machine), (const void *)&first_state);
    bpf_loop(count > SENSOR_STEPS ? SENSOR_STEPS : count, run_step, run, 0);
    /* the same place may have another text */
    if (state->changes_only && !run->code->texts &&
        !is_changed(run->memory, &run->machine, run->code->values))
        __sync_fetch_and_add(&state->unchanged, 1);
    else if (run->code->conditional &&
             !is_accepted(run->memory, &run->machine, run->code->conditional))
        __sync_fetch_and_add(&state->refused, 1);
    else if (run->code->texts)
        put_texts(state, run);
    else
        put_record(state, run);
}

/* The state of the sensor of this code, if it makes records. */
static __attribute__((always_inline)) struct sensor_state *find(struct run *run, uint64_t cookie)
{
    uint32_t number = (uint32_t)cookie, first = 0;
    void *map = bpf_map_lookup_elem(&codes, &number);

    if (map == NULL)
        return NULL;
    run->code = bpf_map_lookup_elem(map, &first);
    if (run->code == NULL)
        return NULL;
    struct sensor_state *state = &states[run->code->sensor & (SENSORS - 1)];
    if (!state->on || !is_its_program(state, run))
        return NULL;
    __sync_fetch_and_add(&state->hits, 1);
    return state;
}

#define COPY_REGISTERS(to, from)                                                                   \
    do {                                                                                           \
        (to)[0] = (from)->ax;                                                                      \
        (to)[1] = (from)->dx;                                                                      \
        (to)[2] = (from)->cx;                                                                      \
        (to)[3] = (from)->bx;                                                                      \
        (to)[4] = (from)->si;                                                                      \
        (to)[5] = (from)->di;                                                                      \
        (to)[6] = (from)->bp;                                                                      \
        (to)[7] = (from)->sp;                                                                      \
        (to)[8] = (from)->r8;                                                                      \
        (to)[9] = (from)->r9;                                                                      \
        (to)[10] = (from)->r10;                                                                    \
        (to)[11] = (from)->r11;                                                                    \
        (to)[12] = (from)->r12;                                                                    \
        (to)[13] = (from)->r13;                                                                    \
        (to)[14] = (from)->r14;                                                                    \
        (to)[15] = (from)->r15;                                                                    \
        (to)[16] = (from)->ip;                                                                     \
    } while (0)

SEC("uprobe")
int sensor_at_place(struct pt_regs *registers)
{
    struct run run;
    struct sensor_state *state = find(&run, bpf_get_attach_cookie(registers));

    if (state != NULL) {
        COPY_REGISTERS(run.registers, registers);
        judge(state, &run);
    }
    return 0;
}

static __attribute__((always_inline)) int find_watch(uint64_t address)
{
    struct task_struct *task = (struct task_struct *)bpf_get_current_task_btf();

    if (task->mm == NULL)
        return -1;
    uint64_t stack = task->mm->start_stack;
    for (uint32_t i = 0; i < WATCHES; i++)
        if (watches[i].used && watches[i].address == address && watches[i].stack == stack)
            return (int)watches[i].code;
    return -1;
}

SEC("perf_event")
int sensor_at_variable(struct perf_event_data *data)
{
    struct run run;
    int code = find_watch(data->addr);
    struct sensor_state *state = code < 0 ? NULL : find(&run, (uint32_t)code);

    if (state != NULL) {
        COPY_REGISTERS(run.registers, &data->regs);
        judge(state, &run);
    }
    return 0;
}

/* ---- processes that begin ---- */

static __attribute__((always_inline)) void tell_beginning(const struct task_struct *task)
{
    const struct inode *inode = BPF_CORE_READ(task, mm, exe_file, f_inode);
    struct sensor_event_record *record = bpf_ringbuf_reserve(&ring, sizeof(*record), 0);

    if (record == NULL) { /* found a moment later, if it lives that long */
        __sync_fetch_and_add(&beginnings_lost, 1);
        return;
    }
    record->sensor = SENSOR_BEGINS;
    record->spare = 0;
    record->time = bpf_ktime_get_ns();
    record->pid = (uint32_t)BPF_CORE_READ(task, tgid);
    record->tid = record->pid;
    record->known = 0;
    record->generation = 0;
    for (uint32_t i = 0; i < SENSOR_VALUE_MOST; i++)
        record->values[i] = 0;
    bpf_probe_read_kernel(record->values, sizeof(task->comm), task->comm);
    record->values[SENSOR_BEGINS_FILE] = BPF_CORE_READ(inode, i_ino);
    record->values[SENSOR_BEGINS_FILE + 1] = BPF_CORE_READ(inode, i_sb, s_dev);
    bpf_ringbuf_submit(record, has_messages ? BPF_RB_FORCE_WAKEUP : 0);
}

SEC("raw_tp/sched_process_exec")
int program_begins(struct bpf_raw_tracepoint_args *context)
{
    tell_beginning((const struct task_struct *)context->args[0]);
    return 0;
}

SEC("raw_tp/sched_process_fork")
int process_begins(struct bpf_raw_tracepoint_args *context)
{
    const struct task_struct *child = (const struct task_struct *)context->args[1];

    if (BPF_CORE_READ(child, pid) == BPF_CORE_READ(child, tgid))
        tell_beginning(child);
    return 0;
}

/* ---- families ---- */

/* Before the child executes anything. */
SEC("raw_tp/sched_process_fork")
int family_grows(struct bpf_raw_tracepoint_args *context)
{
    const struct task_struct *parent = (const struct task_struct *)context->args[0];
    const struct task_struct *child = (const struct task_struct *)context->args[1];
    uint32_t from = (uint32_t)BPF_CORE_READ(parent, tgid),
             pid = (uint32_t)BPF_CORE_READ(child, tgid);
    const uint32_t one = 1;

    if (from != pid && bpf_map_lookup_elem(&family, &from) != NULL &&
        bpf_map_update_elem(&family, &pid, &one, BPF_ANY) != 0)
        __sync_fetch_and_add(&family_lost, 1);
    return 0;
}

/* Its last thread: process ids are used again. */
SEC("raw_tp/sched_process_exit")
int family_shrinks(struct bpf_raw_tracepoint_args *context)
{
    const struct task_struct *task = (const struct task_struct *)context->args[0];
    uint32_t pid = (uint32_t)BPF_CORE_READ(task, tgid);

    if (BPF_CORE_READ(task, signal, live.counter) == 0)
        bpf_map_delete_elem(&family, &pid);
    return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
