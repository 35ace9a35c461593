/* SPDX-License-Identifier: MIT */
/* record_state_text.c: SUMMARY, CGROUP, DECISION, FLAGS and CLASS as text, and records that lack fields. */
#include "show/record/record_face.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static void print_time(FILE *file, const char *what, uint64_t ns)
{
    char text[UNIT_SIZE];

    if (ns == NOT_KNOWN)
        return;
    show_duration(ns, text);
    fprintf(file, ", %s %s", what, text);
}

static void print_size(FILE *file, const char *what, uint64_t bytes)
{
    char text[UNIT_SIZE];

    if (bytes == NOT_KNOWN)
        return;
    show_bytes(bytes, text);
    fprintf(file, ", %s %s", what, text);
}

static void print_count(FILE *file, const char *what, uint64_t count)
{
    if (count != NOT_KNOWN && count != 0)
        fprintf(file, ", %s %" PRIu64, what, count);
}

void print_summary(FILE *file, const struct summary_record *summary)
{
    if (summary->runnable != NOT_KNOWN && summary->in_disk != NOT_KNOWN)
        fprintf(file, "%" PRIu64 " runnable, %" PRIu64 " waiting for disks", summary->runnable,
                summary->in_disk);
    else
        fputs("tasks unknown", file);
    print_time(file, "CPU user", summary->cpu_user);
    print_time(file, "system", summary->cpu_system);
    print_time(file, "idle", summary->cpu_idle);
    print_size(file, "memory available", summary->memory_available);
    print_count(file, "major faults", summary->major_faults);
    print_time(file, "waited for CPU", summary->cpu_waited);
    print_time(file, "for memory", summary->memory_waited);
    print_time(file, "for disk", summary->disk_waited);
    print_size(file, "disk read", summary->disk_read);
    print_size(file, "written", summary->disk_written);
    print_size(file, "network received", summary->network_received);
    print_size(file, "sent", summary->network_sent);
    print_count(file, "TCP retransmits", summary->tcp_retransmitted);
}

void print_cgroup(FILE *file, const struct cgroup_record *cgroup, const char *name)
{
    char text[NAME_SIZE + 1];

    if (name == NULL) {
        fprintf(file, "cgroup %" PRIu64, cgroup->cgroup);
    } else {
        show_text(name, NAME_SIZE, text);
        fputs(text, file);
    }
    print_time(file, "CPU", cgroup->cpu);
    if (cgroup->quota != 0 && cgroup->quota != NOT_KNOWN) {
        print_time(file, "limit", cgroup->quota);
        print_time(file, "in", cgroup->period);
        if (cgroup->periods != NOT_KNOWN && cgroup->throttled_periods != NOT_KNOWN)
            fprintf(file, ", throttled in %" PRIu64 " of %" PRIu64 " periods",
                    cgroup->throttled_periods, cgroup->periods);
        print_time(file, "for", cgroup->throttled);
    }
    print_size(file, "memory", cgroup->memory);
    if (cgroup->memory_most != 0)
        print_size(file, "of", cgroup->memory_most);
    print_count(file, "memory limit reached", cgroup->memory_reclaims);
    print_count(file, "OOM kills", cgroup->oom_kills);
}

void show_gain(double thousandths, char text[UNIT_SIZE])
{
    if (isnan(thousandths))
        strcpy(text, "-");
    else
        snprintf(text, UNIT_SIZE, "%+.0f%%", fmin(thousandths / 10, 1e9));
}

void show_noise(double thousandths, char text[UNIT_SIZE])
{
    if (isnan(thousandths))
        strcpy(text, "-");
    else
        snprintf(text, UNIT_SIZE, "%.0f%%", fmin(thousandths / 10, 1e9));
}

void show_goal(uint64_t value, uint32_t flags, char text[UNIT_SIZE])
{
    if (value == NOT_KNOWN)
        strcpy(text, "unknown");
    else if (flags & DECISION_IS_TIME)
        show_duration(value, text);
    else
        show_frequency((double)value / 1000, text);
}

static void print_promise(FILE *file, const struct decision_record *decision)
{
    char gain[UNIT_SIZE];

    show_gain(decision->predicted, gain);
    if (decision->predicted != DECISION_NOT_KNOWN)
        fprintf(file, ", predicted %s%s", decision->flags & DECISION_IS_ROUGH ? "perhaps " : "",
                gain);
}

static void print_goal(FILE *file, const struct decision_record *decision)
{
    char goal[DECISION_SHORT_SIZE * 4], before[UNIT_SIZE], after[UNIT_SIZE], gain[UNIT_SIZE];

    show_text(decision->goal, DECISION_SHORT_SIZE, goal);
    show_goal(decision->before, decision->flags, before);
    show_goal(decision->after, decision->flags, after);
    show_gain(decision_gain(decision), gain);
    fprintf(file, "; %s %s", goal, before);
    if (decision->outcome == DECISION_KEPT || decision->outcome == DECISION_UNDONE)
        fprintf(file, " -> %s, gain %s", after, gain);
    if (decision->noise != DECISION_NOT_KNOWN)
        fprintf(file, " (noise %.0f%%)", decision->noise / 10.0);
}

static void print_decision_line(FILE *file, const struct decision_record *decision)
{
    const char *name = decision_name(decision->outcome);
    char act[DECISION_ACT_SIZE * 4], from[DECISION_SHORT_SIZE * 4], to[DECISION_SHORT_SIZE * 4];

    show_text(decision->act, DECISION_ACT_SIZE, act);
    show_text(decision->from, DECISION_SHORT_SIZE, from);
    show_text(decision->to, DECISION_SHORT_SIZE, to);
    fputs(name == NULL ? "?" : name, file);
    bool is_undone = decision->outcome == DECISION_UNDONE;
    if (act[0] != '\0')
        fprintf(file, " %" PRIu64 ": %s: %s -> %s", decision->number, act, is_undone ? to : from,
                is_undone ? from : to);
    else
        fputs(decision->noise == DECISION_NOT_KNOWN ? " to judge by" : " to do", file);
    print_promise(file, decision);
    print_goal(file, decision);
}

void show_decision(const struct decision_record *decision, char text[DECISION_LINE_SIZE])
{
    FILE *file = fmemopen(text, DECISION_LINE_SIZE, "w");

    text[0] = '\0';
    if (file == NULL)
        return;
    print_decision_line(file, decision);
    fclose(file);
    text[DECISION_LINE_SIZE - 1] = '\0';
}

void print_decision(FILE *file, const struct decision_record *decision)
{
    char reason[DECISION_REASON_SIZE * 4];

    show_text(decision->reason, DECISION_REASON_SIZE, reason);
    print_decision_line(file, decision);
    if (reason[0] != '\0')
        fprintf(file, "; %s", reason);
}

void print_meter_flags(FILE *file, const struct flags_record *flags)
{
    char words[METER_FLAGS_TEXT_SIZE], kinds[METER_KINDS_TEXT_SIZE];

    meter_flags_text(flags->meter_flags, words);
    meter_kinds_text(METER_EVERY_KIND & ~flags->kinds_left_out, kinds);
    if (flags->process == 0)
        fputs("all processes: ", file);
    else
        fprintf(file, "process %" PRIu32 ": ", flags->process);
    fprintf(file, "flags %s; kinds %s", words[0] == '\0' ? "none" : words,
            kinds[0] == '\0' ? "none" : kinds);
    if (flags->rules != 0)
        fprintf(file, "; rules %" PRIu32, flags->rules);
}

static void print_names(FILE *file, const struct event_type *type, uint64_t absent)
{
    const char *before = "";

    for (unsigned bit = 0; bit < 64; bit++) {
        const struct event_field *field = event_absent_field(type, bit);
        if (!(absent >> bit & 1) || field == NULL)
            continue;
        fprintf(file, "%s%s", before, field->name);
        before = ", ";
    }
}

void print_class(FILE *file, const struct record *record)
{
    const struct event_type *type = event_type(record->class.type);

    fprintf(file, "%" PRIu32 ": %s without ", record->class.number,
            type == NULL ? "unknown type" : type->name);
    if (type == NULL)
        return;
    print_names(file, type, record->class.absent);
}

void print_without(FILE *file, const struct event *event)
{
    const struct event_type *type = event_type(event->header->id);
    const struct event_field *field;

    for (size_t i = 0; (field = &type->fields[i])->name != NULL; i++) {
        const char *at = (const char *)event->header + field->offset;
        char text[PATH_NAME_SIZE + IMAGE_NAME_SIZE + NAME_SIZE];
        if (event->absent & EVENT_BODY_FIELD_BIT(i))
            continue;
        switch (field->kind) {
        case FIELD_TEXT:
            show_text(at, field->size, text);
            fprintf(file, "%s %s, ", field->name, text);
            break;
        case FIELD_BYTES:
            break;
        case FIELD_SIGNED:
            fprintf(file, "%s %d, ", field->name, (int16_t)event_field_value(field, event->header));
            break;
        default:
            fprintf(file, field->kind == FIELD_HEX ? "%s 0x%" PRIx64 ", " : "%s %" PRIu64 ", ",
                    field->name, event_field_value(field, event->header));
        }
    }
    fputs("without ", file);
    print_names(file, type, event->absent);
}
