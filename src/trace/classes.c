/* SPDX-License-Identifier: MIT */
/* classes.c: classes of records that lack fields. See classes.h. */
#include "trace/classes.h"

#include <string.h>

/* load, procTime and PC: the other fields of the header tell what the record is. */
#define ABSENT_OF_HEADER (1u << 2 | 1u << 5 | 1u << 6)

static uint64_t fields_of(const struct event_type *type)
{
    uint64_t fields = 0;

    for (size_t i = 0; type->fields[i].name != NULL; i++)
        fields |= EVENT_BODY_FIELD_BIT(i);
    return fields;
}

bool class_is_possible(unsigned id, uint64_t absent)
{
    const struct event_type *type = event_type(id);

    if (type == NULL || id == EVENT_CLASS || id == EVENT_MACHINE || id == EVENT_END ||
        id == EVENT_BEGIN)
        return false;
    return absent != 0 && (absent & ~(fields_of(type) | ABSENT_OF_HEADER)) == 0;
}

bool classes_note(struct classes *classes, const struct record *record)
{
    uint32_t number = record->class.number - EVENT_CLASS_FIRST;

    if (number >= CLASSES_MOST || !class_is_possible(record->class.type, record->class.absent))
        return false;
    struct class *class = &classes->at[number];
    if (class->type != 0)
        return class->type == record->class.type && class->absent == record->class.absent;
    class->type = (uint8_t)record->class.type;
    class->absent = record->class.absent;
    return true;
}

const struct class *classes_find(const struct classes *classes, unsigned id)
{
    const struct class *class;

    if (classes == NULL || id < EVENT_CLASS_FIRST || id - EVENT_CLASS_FIRST >= CLASSES_MOST)
        return NULL;
    class = &classes->at[id - EVENT_CLASS_FIRST];
    return class->type == 0 ? NULL : class;
}

static void clear(const struct event_field *fields, uint64_t absent, unsigned first,
                  struct record_header *record)
{
    for (size_t i = 0; fields[i].name != NULL; i++)
        if (absent >> (first + i) & 1)
            memset((char *)record + fields[i].offset, 0, fields[i].size);
}

void class_clear_fields(unsigned type, uint64_t absent, struct record_header *record)
{
    clear(event_header_fields, absent & ABSENT_OF_HEADER, 0, record);
    clear(event_type(type)->fields, absent, 8, record);
}
