/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * library.bpf.h: SENSOR: a thread has reached a place in a library. What is attached where: src/libraries.
 *
 *      libjvm.so + 0x8e1b24, in any process --> library_sensor, cookie SENSOR_GC_BEGIN --> not metered: nothing
 *                                                                                      '-> SENSOR of the thread
 *
 * A uprobe belongs to a file: so it is there before a metered process maps the file, and in those that others of its
 * processes create.
 */
#ifndef DPM_LIBRARY_BPF_H
#define DPM_LIBRARY_BPF_H

#include "meter/kernel/call.bpf.h"

/* As SCHEDULE, it says something about the stream, and is no event in it. */
SEC("uprobe")
int library_sensor(struct pt_regs *registers)
{
    struct task_struct *task = bpf_get_current_task_btf();
    struct stream *stream = stream_of(task);
    struct record *record;

    if (stream == NULL || is_silent_now(stream))
        return 0;
    record = begin_unowned(RING_DATA, EVENT_SENSOR);
    if (record == NULL)
        return 0;
    record->header.stream = stream->number;
    record->header.proc_time_and_pc = time_used(task, record->header.time) & PROC_TIME_MASK;
    record->sensor.sensor = bpf_get_attach_cookie(registers);
    submit(record);
    return 0;
}

#endif
