/* SPDX-License-Identifier: MIT */
/* recorded.c: which types an origin records, from MACHINE, FLAGS and NAME. See event.h. */
#include "event/event.h"

static void note(struct recorded_types *recorded, uint64_t flags, uint32_t kinds_left_out)
{
    recorded->always = recorded->known ? recorded->always & flags : flags;
    recorded->ever |= flags;
    recorded->kinds_left_out |= kinds_left_out;
    if (flags != 0)
        recorded->kinds_ever |= METER_EVERY_KIND & ~kinds_left_out;
    recorded->known = true;
}

void recorded_note(struct recorded_types *recorded, const struct record_header *header)
{
    if (header->id == EVENT_MACHINE) {
        const struct machine_record *machine = (const struct machine_record *)header;
        if (machine->meter_flags != 0) /* 0: a trace that does not say */
            note(recorded, machine->meter_flags, machine->kinds_left_out);
    }
    if (header->id == EVENT_FLAGS) {
        const struct flags_record *flags = (const struct flags_record *)header;
        note(recorded, flags->meter_flags, flags->kinds_left_out);
        if (flags->rules > recorded->rules)
            recorded->rules = flags->rules;
    }
    if (header->id == EVENT_NAME) {
        const struct name_record *name = (const struct name_record *)header;
        if (name->kind == NAME_UNMETERED && name->number < UNMETERED_END)
            recorded->unmetered |= 1u << name->number;
    }
}

bool message_gap_note(struct message_gap *gap, const struct record_header *header)
{
    const struct flags_record *flags = (const struct flags_record *)header;
    const uint64_t messages = EVENT_FLAG(EVENT_SEND) | EVENT_FLAG(EVENT_RECEIVE);

    if (header->id != EVENT_FLAGS || flags->process != 0)
        return false;
    bool ends = gap->lasts && (flags->meter_flags & messages) == messages;
    gap->lasts = (flags->meter_flags & messages) != messages;
    if (ends)
        gap->end = header->time;
    return ends;
}
