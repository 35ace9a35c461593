/* SPDX-License-Identifier: MIT */
/*
 * descriptions_fuzz.c: the input is a file of descriptions. Any input is accepted, or refused with one line that says where. What is
 * accepted has its fields within limits, and can be checked and searched.
 */
#include "fuzz.h"
#include "rules/descriptions.h"
#include "rules/rules.h"

#include <errno.h>

static void check_part(const struct descriptions *all, const struct description *part)
{
    PROMISE(part->name[0] != '\0' && part->size <= DESCRIPTION_SIZE_MOST);
    for (uint32_t i = 0; i < part->count; i++) {
        const struct description_field *field = descriptions_field(all, part, i);
        PROMISE(field->length > 0 && (uint32_t)field->offset + field->length <= part->size);
        PROMISE(field->index < DESCRIPTION_FIELDS_MOST && field->meaning < MEANINGS);
        PROMISE(field->base == BASE_TEXT || (field->base >= 2 && field->base <= 36));
        PROMISE(descriptions_named(all, field->name)->index == field->index);
        PROMISE(field->meaning == MEANS_NOTHING || field->meaning == MEANS_NAME ||
                field->length <= 8);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct descriptions *all;
    struct problem problem = {""};
    int result = descriptions_parse("input", (const char *)bytes, size, &all, &problem);

    if (result < 0) {
        PROMISE(result == -EINVAL && strncmp(problem.text, "input:", 6) == 0);
        PROMISE(strchr(problem.text, '\n') == NULL);
        return 0;
    }
    check_part(all, descriptions_header(all));
    PROMISE(descriptions_count(all) <= DESCRIPTIONS_MOST);
    for (uint32_t i = 0; i < descriptions_count(all); i++) {
        const struct description *part = descriptions_at(all, i);
        check_part(all, part);
        PROMISE(descriptions_find(all, part->number) == part);
    }
    result = descriptions_check(all, &problem);
    PROMISE(result == 0 || (result == -EINVAL && problem.text[0] != '\0'));
    descriptions_free(all);
    return 0;
}

size_t fuzz_example(uint8_t *bytes, size_t room)
{
    static const char example[] =
        "# a system\n"
        "set system=\"DEMOS/MP\", byteOrder=big, timeUnit=10ms, paths=messages;\n"
        "header 0, machine,0,4,16 traceType,4,4,10 time,8,4,10 procTime,12,4,10;\n"
        "SENDMESSAGE 1, fromTask,0,4,16 toTask,4,4,16 channel,8,4,-10:channel text,12,30,text;\n"
        "MOVE 8:SEND, readTask,0,4,16:to writeTask,4,4,16:from size,0x8,4,10; END 9:none;\n";

    return fuzz_text(bytes, room, example);
}
