/* SPDX-License-Identifier: MIT */
/* descriptions.c: what parsed descriptions say. See descriptions.h. */
#include "rules/descriptions.h"

#include "event/event.h"
#include "rules/descriptions_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void descriptions_free(struct descriptions *descriptions)
{
    if (descriptions == NULL)
        return;
    free(descriptions->parts);
    free(descriptions->fields);
    arena_done(&descriptions->texts);
    free(descriptions);
}

/* ---- finding ---- */

const struct description *descriptions_header(const struct descriptions *descriptions)
{
    return &descriptions->parts[0];
}

uint32_t descriptions_count(const struct descriptions *descriptions)
{
    return descriptions->part_count - 1;
}

const struct description *descriptions_at(const struct descriptions *descriptions, uint32_t index)
{
    return &descriptions->parts[index + 1];
}

const struct description *descriptions_find(const struct descriptions *descriptions,
                                            uint64_t number)
{
    for (uint32_t i = 1; i < descriptions->part_count; i++)
        if (descriptions->parts[i].number == number)
            return &descriptions->parts[i];
    return NULL;
}

const struct description_field *descriptions_field(const struct descriptions *descriptions,
                                                   const struct description *part, uint32_t index)
{
    return &descriptions->fields[part->first + index];
}

static const struct description_field *find_meaning(const struct descriptions *descriptions,
                                                    const struct description *part,
                                                    enum meaning meaning)
{
    for (uint32_t i = 0; i < part->count; i++)
        if (descriptions->fields[part->first + i].meaning == meaning)
            return &descriptions->fields[part->first + i];
    return NULL;
}

const struct description_field *descriptions_meaning(const struct descriptions *descriptions,
                                                     const struct description *type,
                                                     enum meaning meaning)
{
    const struct description_field *field =
        find_meaning(descriptions, &descriptions->parts[0], meaning);

    return field != NULL || type == NULL ? field : find_meaning(descriptions, type, meaning);
}

const struct description_field *descriptions_named(const struct descriptions *descriptions,
                                                   const char *name)
{
    for (uint32_t i = 0; i < descriptions->field_count; i++)
        if (strcasecmp(descriptions->fields[i].name, name) == 0)
            return &descriptions->fields[i];
    return NULL;
}

const struct description *descriptions_type_named(const struct descriptions *descriptions,
                                                  const char *name)
{
    const struct event_type *event = event_type_by_name(name);

    for (uint32_t i = 1; i < descriptions->part_count; i++)
        if (strcasecmp(descriptions->parts[i].name, name) == 0)
            return &descriptions->parts[i];
    for (uint32_t i = 1; event != NULL && i < descriptions->part_count; i++)
        if (descriptions->parts[i].event == event->id)
            return &descriptions->parts[i];
    return NULL;
}

struct described_system descriptions_system(const struct descriptions *descriptions)
{
    return descriptions->system;
}

/* ---- whether they suffice ---- */

static bool has(const struct descriptions *descriptions, const struct description *type,
                enum meaning meaning)
{
    return descriptions_meaning(descriptions, type, meaning) != NULL;
}

static bool names_process(const struct descriptions *descriptions, const struct description *type)
{
    bool receives = type->event == EVENT_RECEIVE || type->event == EVENT_RECEIVECALL ||
                    type->event == EVENT_ACCEPT;

    return type->event == EVENT_MESSAGEQUEUED || has(descriptions, type, MEANS_PROCESS) ||
           has(descriptions, type, receives ? MEANS_TO : MEANS_FROM);
}

/* Messages need both ends. */
static bool names_path(const struct descriptions *descriptions, const struct description *type)
{
    bool needs = type->event == EVENT_SEND || type->event == EVENT_RECEIVE ||
                 type->event == EVENT_MESSAGEQUEUED;

    return !needs || (has(descriptions, type, MEANS_FROM) && has(descriptions, type, MEANS_TO)) ||
           (has(descriptions, type, MEANS_SOURCE) && has(descriptions, type, MEANS_DESTINATION));
}

static int check_type(const struct descriptions *descriptions, const struct description *type,
                      struct problem *problem)
{
    if (has(descriptions, type, MEANS_MACHINE) && !has(descriptions, NULL, MEANS_MACHINE))
        return problem_set(problem, -EINVAL,
                           "%s: its body has the machine, which must be in the header: describe it "
                           "there, or add ':none' to the field",
                           type->name);
    if (type->event == 0)
        return 0;
    if (!names_process(descriptions, type))
        return problem_set(problem, -EINVAL,
                           "%s: no field says which process it is: add ':process' to one",
                           type->name);
    if (!names_path(descriptions, type))
        return problem_set(
            problem, -EINVAL,
            "%s: no fields say between whom the message goes: add ':from' and ':to', "
            "or ':source' and ':destination'",
            type->name);
    if (type->event == EVENT_CREATEPROCESS && !has(descriptions, type, MEANS_CHILD))
        return problem_set(problem, -EINVAL,
                           "%s: no field says which process is created: add ':child' to one",
                           type->name);
    bool is_message = type->event == EVENT_SEND || type->event == EVENT_RECEIVE;
    if (descriptions->system.paths == PATHS_BYTES && is_message &&
        !has(descriptions, type, MEANS_BYTES))
        return problem_set(
            problem, -EINVAL,
            "%s: paths=bytes needs the bytes of each message: add ':bytes' to a field", type->name);
    return 0;
}

int descriptions_check(const struct descriptions *descriptions, struct problem *problem)
{
    int result = 0;

    if (!has(descriptions, NULL, MEANS_TIME))
        return problem_set(problem, -EINVAL, "the header has no time: add ':time' to a field");
    if (descriptions->system.time_unit == 0)
        return problem_set(problem, -EINVAL,
                           "nothing says in which unit times are: add 'set timeUnit=ms;' "
                           "(ns, us, ms, s, 10ms ...)");
    for (uint32_t i = 1; result == 0 && i < descriptions->part_count; i++)
        result = check_type(descriptions, &descriptions->parts[i], problem);
    return result;
}

/* ---- raw records ---- */

uint64_t description_value(const struct description_field *field, bool is_big_endian,
                           const unsigned char *part)
{
    const unsigned length = field->length < 8 ? field->length : 8;
    uint64_t value = 0;

    for (unsigned i = 0; i < length; i++)
        value |= (uint64_t)part[field->offset + i] << 8 * (is_big_endian ? length - 1 - i : i);
    if (field->is_signed && length < 8 && value >> (8 * length - 1) != 0)
        value |= UINT64_MAX << 8 * length;
    return value;
}

/* ---- DPM's own ---- */

static void print_field(FILE *file, const struct event_field *field, unsigned from)
{
    unsigned offset = field->offset - from;

    if (field->kind == FIELD_TEXT)
        fprintf(file, "    %s,%u,%u,text", field->name, offset, field->size);
    else
        fprintf(file, "    %s,%u,%u,%s:none", field->name, offset, field->size,
                field->kind == FIELD_SIGNED                              ? "-10"
                : field->kind == FIELD_HEX || field->kind == FIELD_BYTES ? "16"
                                                                         : "10");
}

void descriptions_print_own(FILE *file)
{
    const unsigned body = sizeof(struct record_header);

    fprintf(
        file,
        "# The records of DPM's own traces: dpm-descriptions(5). A record is a header and a body.\n"
        "set system=DPM, byteOrder=little, timeUnit=ns;\n\n"
        "header 0,\n");
    for (const struct event_field *field = event_header_fields; field->name != NULL; field++) {
        if (strcmp(field->name, "id") == 0)
            fprintf(file, "    id,%u,%u,10:type", field->offset, field->size);
        else if (strcmp(field->name, "time") == 0)
            fprintf(file, "    time,%u,%u,10:time", field->offset, field->size);
        else
            print_field(file, field, 0);
        fprintf(file, "%s  # %s\n", field[1].name == NULL ? ";" : "", field->meaning);
    }
    for (unsigned id = 1; id < EVENT_ID_END; id++) {
        const struct event_type *type = event_type(id);
        if (type == NULL)
            continue;
        fprintf(file, "\n%s %u:none,  # %s, %u bytes\n", type->name, id, type->meaning, type->size);
        for (const struct event_field *field = type->fields; field->name != NULL; field++) {
            print_field(file, field, body);
            fprintf(file, "  # %s\n", field->meaning);
        }
        fprintf(file, "    ;\n");
    }
}
