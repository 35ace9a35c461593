/* SPDX-License-Identifier: MIT */
/* telling.h: records. See ptracemeter_types.h. */
#ifndef DPM_TELLING_H
#define DPM_TELLING_H

#include "meter/shared/message.h"
#include "ptracemeter/ptracemeter_types.h"

static inline bool wants(const struct ptracemeter *meter, uint32_t id)
{
    return (meter->options.flags & EVENT_FLAG(id)) != 0;
}

/* The time of the next record, later than that of any earlier one. That record must be told, and soon: the reader waits for it. */
uint64_t tell_time(struct ptracemeter *meter);
void tell(struct ptracemeter *meter, const struct record_header *record);

/* Record SEND, RECEIVE ... and process events, if their flag is in force. */
void tell_message(struct ptracemeter *meter, struct tracee *tracee, uint32_t id,
                  const struct message *message);
void tell_process_event(struct ptracemeter *meter, struct tracee *tracee, uint32_t id,
                        uint32_t word0, uint32_t word1, uint32_t word2, uint32_t word3);
void tell_block(struct ptracemeter *meter, struct tracee *tracee, uint32_t system_call,
                uint64_t duration);
/* CONNECTFAILED of a path, by the stream that called connect() at `begin`. NULL: it has ended, and had this `number`. */
void tell_failed(struct ptracemeter *meter, struct tracee *tracee, uint32_t number, uint32_t path,
                 uint32_t error, uint64_t begin);
/* Records an event of a path that belongs to no stream. */
void tell_unowned(struct ptracemeter *meter, uint32_t id, uint32_t path);
int tell_next(struct source *source, struct event *ret_event, uint64_t *ret_complete,
              struct problem *problem);

#endif
