/* SPDX-License-Identifier: MIT */
/*
 * telling.c: passes records from the tracer to the reader.
 *
 *      tracer --> | filling |  swapped when all of `reading` is read  | reading | --> reader
 *
 * If its buffer is full, the tracer waits, and the tracees with it: no record is lost. Only while tracees are released
 * at the end, when there is no reader, records are dropped and counted.
 */
#include "ptracemeter/telling.h"

#include "meter/shared/message.h"

#include <string.h>

uint64_t tell_time(struct ptracemeter *meter)
{
    atomic_store(&meter->pending, meter->last_time + 1); /* before the clock is read */
    uint64_t now = clock_now(CLOCK_MONOTONIC);

    if (now <= meter->last_time)
        now = meter->last_time + 1;
    atomic_store(&meter->pending, now);
    return meter->last_time = now;
}

void tell(struct ptracemeter *meter, const struct record_header *record)
{
    size_t size = event_size(record->id);

    pthread_mutex_lock(&meter->lock);
    while (meter->filling.used + size > BUFFER_SIZE && atomic_load(&meter->phase) == PHASE_RECORDS)
        pthread_cond_wait(&meter->changed, &meter->lock);
    bool keeps = atomic_load(&meter->phase) != PHASE_STOPPED;
    if (keeps && meter->filling.used + size > BUFFER_SIZE) {
        meter->shortfalls.dropped++;
    } else if (keeps) {
        memcpy(meter->filling.bytes + meter->filling.used, record, size);
        meter->filling.used += size;
    }
    atomic_store(&meter->pending, NOT_PENDING);
    pthread_mutex_unlock(&meter->lock);
}

/* ---- records of a stream ---- */

/* The PC in the program. It is determined once per call, and only while the stream is stopped. For a running stream,
 * only the address where it entered the library is known. */
static uint64_t pc_of(const struct ptracemeter *meter, struct tracee *tracee, uint32_t id)
{
    bool asked = (meter->options.flags & METER_FLAG_PC) != 0;

    if (!asked || id == EVENT_EXEC || id == EVENT_STARTPROCESS)
        return 0;
    if (tracee->pc_found)
        return tracee->pc;
    tracee->pc = tracee->ip;
    tracee->pc_flags = RECORD_LIBRARY;
    if (!tracee->stands || tracee->process == NULL || tracee->process->callers == NULL)
        return tracee->pc;
    tracee->pc_flags =
        callers_find(tracee->process->callers, tracee->tid, tracee->ip, tracee->stack, &tracee->pc);
    tracee->pc_found = true;
    return tracee->pc;
}

static void fill_header(struct ptracemeter *meter, struct tracee *tracee,
                        struct record_header *header, uint32_t id, uint32_t flags)
{
    uint64_t pc = pc_of(meter, tracee, id);

    *header = (struct record_header){
        .time = tell_time(meter),
        .id = (uint8_t)id,
        .flags = (uint16_t)flags,
        .sequence = tracee->sequence++,
        .proc_time_and_pc = (tracee->schedule.run & PROC_TIME_MASK) | pc << 48,
        .pc_high = (uint32_t)(pc >> 16),
        .stream = tracee->number,
    };
    if (pc != 0)
        header->flags |= tracee->pc_flags;
}

void tell_message(struct ptracemeter *meter, struct tracee *tracee, uint32_t id,
                  const struct message *message)
{
    struct record record;

    if (!wants(meter, id) || tracee->from_exec)
        return;
    fill_header(meter, tracee, &record.header, id, message->flags);
    record.message.path = message->path;
    record.message.offset = message->offset;
    record.message.bytes = message->bytes;
    set_span(&record, message->begin);
    tell(meter, &record.header);
}

void tell_process_event(struct ptracemeter *meter, struct tracee *tracee, uint32_t id,
                        uint32_t word0, uint32_t word1, uint32_t word2, uint32_t word3)
{
    struct record record;

    if (!wants(meter, id) || tracee->from_exec)
        return;
    fill_header(meter, tracee, &record.header, id, 0);
    record.message.path = word0;
    record.message.offset = word1;
    record.message.bytes = word2;
    record.message.span = word3;
    tell(meter, &record.header);
}

#define STATE_INTERRUPTIBLE 1

void tell_block(struct ptracemeter *meter, struct tracee *tracee, uint32_t system_call,
                uint64_t duration)
{
    struct record record;

    if (!wants(meter, EVENT_BLOCK) || tracee->from_exec)
        return;
    fill_header(meter, tracee, &record.header, EVENT_BLOCK, 0);
    record.block.system_call = system_call;
    record.block.state = STATE_INTERRUPTIBLE;
    record.block.object = 0;
    record.block.duration = duration < BLOCK_LONGEST ? duration : BLOCK_LONGEST;
    tell(meter, &record.header);
}

void tell_failed(struct ptracemeter *meter, struct tracee *tracee, uint32_t number, uint32_t path,
                 uint32_t error, uint64_t begin)
{
    struct record record = {.failed = {.path = path, .error = error}};

    if (!wants(meter, EVENT_CONNECTFAILED) || (tracee != NULL && tracee->from_exec))
        return;
    if (tracee != NULL)
        fill_header(meter, tracee, &record.header, EVENT_CONNECTFAILED, 0);
    else
        record.header = (struct record_header){.time = tell_time(meter),
                                               .id = EVENT_CONNECTFAILED,
                                               .flags = RECORD_NO_STREAM,
                                               .stream = number};
    set_span(&record, begin);
    tell(meter, &record.header);
}

void tell_unowned(struct ptracemeter *meter, uint32_t id, uint32_t path)
{
    struct record record = {
        .header = {.id = (uint8_t)id, .flags = RECORD_NO_STREAM},
        .message = {.path = path},
    };

    if (!wants(meter, id))
        return;
    record.header.time = tell_time(meter);
    tell(meter, &record.header);
}

/* ---- the reader ---- */

/* Swaps the buffers. Returns whether no more records will come. */
static bool swap(struct ptracemeter *meter)
{
    pthread_mutex_lock(&meter->lock);
    struct buffer read = meter->reading;
    meter->reading = meter->filling;
    read.used = read.first = 0;
    meter->filling = read;
    bool finished = meter->finished;
    pthread_cond_broadcast(&meter->changed);
    pthread_mutex_unlock(&meter->lock);
    return finished;
}

/* All records before this time have been returned: none that the tracer makes now, or later, is older. `now`, `pending`: as they
 * were before the buffers were found empty. Otherwise the state of the machine, which the recorder reads, would come before a
 * record that is older, and the trace takes none of these. */
static uint64_t complete_to(struct ptracemeter *meter, uint64_t now, uint64_t pending)
{
    uint64_t complete = pending < now ? pending : now;

    if (complete > meter->complete)
        meter->complete = complete;
    return meter->complete;
}

int tell_next(struct source *source, struct event *ret_event, uint64_t *ret_complete,
              struct problem *problem)
{
    struct ptracemeter *meter = (struct ptracemeter *)source;
    struct buffer *reading = &meter->reading;
    uint64_t now = clock_now(CLOCK_MONOTONIC);
    uint64_t pending = atomic_load(&meter->pending);

    (void)problem;
    if (reading->first == reading->used) {
        bool finished = swap(meter);
        if (reading->first == reading->used && finished) {
            meter->interface.state.complete = true;
            meter->interface.state.end_reason = END_COMPLETE;
            return SOURCE_END;
        }
    }
    if (reading->first == reading->used) {
        *ret_complete = complete_to(meter, now, pending);
        return SOURCE_NONE_YET;
    }
    const struct record_header *record =
        (const struct record_header *)(reading->bytes + reading->first);
    reading->first += event_size(record->id);
    meter->interface.state.records++;
    *ret_event = (struct event){record, 0, meter->wall_offset};
    return SOURCE_RECORD;
}
