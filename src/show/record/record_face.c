/* SPDX-License-Identifier: MIT */
/* record_face.c: what record_text.c and record_json.c share. See record_face.h. */
#include "show/record/record_face.h"

#include <time.h>

/* strftime writes the zone as +0100; RFC 3339 requires +01:00. */
static void write_second(struct record_face *face, int64_t second)
{
    time_t time = (time_t)second;
    struct tm local;
    char zone[8];

    localtime_r(&time, &local);
    strftime(face->second_text, sizeof(face->second_text), "%Y-%m-%d %H:%M:%S", &local);
    strftime(zone, sizeof(zone), "%z", &local);
    snprintf(face->zone_text, sizeof(face->zone_text), "%.3s:%.2s", zone, zone + 3);
    face->second = second;
}

struct wall_time record_wall_time(struct record_face *face, const struct event *event)
{
    int64_t wall = (int64_t)(event->header->time + (uint64_t)event->wall_offset);
    int64_t second = wall / 1000000000;
    int64_t ns = wall % 1000000000;

    if (ns < 0) {
        ns += 1000000000;
        second--;
    }
    if (face->second_text[0] == '\0' || face->second != second)
        write_second(face, second);
    return (struct wall_time){face->second_text, (unsigned)ns, face->zone_text};
}

bool record_has_stream(const struct record_header *header)
{
    return record_is_of_stream(header) && header->stream != 0;
}

uint64_t record_event_pc(const struct record_header *header)
{
    bool is_event = event_is_metered(header->id) && !(header->flags & RECORD_NO_STREAM);

    return is_event ? record_pc(header) : 0;
}

/* The ptrace meter only reports the sum, when a thread ends. */
void show_note_record(struct record_face *face, const struct event *event)
{
    const struct machine_record *machine = identities_machine(face->identities, event->origin);

    face->no_cpu = face->matched != NULL ? face->matched->no_cpu
                   : machine != NULL && machine->meter == METER_PTRACE
                       ? (struct no_cpu){0}
                       : cpu_waits_note(&face->cpu_waits, event);
}

int show_record(struct record_face *face, const struct event *event)
{
    return face->json ? show_record_json(face, event) : show_record_text(face, event);
}
