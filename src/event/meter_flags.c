/* SPDX-License-Identifier: MIT */
/*
 * meter_flags.c: meter flags by name. A flag is the bit of the event type it records; the papers'
 * names cover groups of them ("fork", "socket"). See event.h.
 */
#include "event/event.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#define BIT(id) EVENT_FLAG(EVENT_##id)

static const struct {
    const char *name;
    uint32_t flags;
} groups[] = {
    {"all", METER_ALL_FLAGS},
    {"fork",
     BIT(CREATEPROCESS) | BIT(EXEC) | BIT(STARTPROCESS) | BIT(STOPPROCESS) | BIT(TERMINATION)},
    {"socket", BIT(CREATEPATH) | BIT(DESTROYPATH)},
    {"destsocket", BIT(DESTROYPATH)},
    {"pc", METER_FLAG_PC},
};

/* Flags of one word; 0 if there is no such word. */
static uint32_t flags_of_word(const char *word)
{
    for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
        if (strcasecmp(word, groups[i].name) == 0)
            return groups[i].flags;
    const struct event_type *type = event_type_by_name(word);
    return type == NULL ? 0 : EVENT_FLAG(type->id) & METER_EVENT_FLAGS;
}

static void append_flag(const char *name, char text[METER_FLAGS_TEXT_SIZE])
{
    size_t length = strlen(text);

    if (length + strlen(name) + 2 > METER_FLAGS_TEXT_SIZE)
        return;
    if (length > 0)
        text[length++] = ',';
    while (*name != '\0')
        text[length++] = (char)tolower((unsigned char)*name++);
    text[length] = '\0';
}

const char *meter_flag_word(size_t index)
{
    if (index < ARRAY_SIZE(groups))
        return groups[index].name;
    index -= ARRAY_SIZE(groups);
    for (unsigned id = 0; id < EVENT_ID_END; id++)
        if ((METER_EVENT_FLAGS & EVENT_FLAG(id)) != 0 && index-- == 0)
            return event_type(id)->name;
    return NULL;
}

static int unknown_word(const char *word, int length, struct problem *problem)
{
    char names[METER_FLAGS_TEXT_SIZE] = "";
    const char *name;

    for (size_t i = 0; (name = meter_flag_word(i)) != NULL; i++)
        append_flag(name, names);
    return problem_set(problem, -EINVAL,
                       "'%.*s' is no meter flag; there are: %s; '-' before a flag takes it away",
                       length < 40 ? length : 40, word, names);
}

int meter_flags_parse(const char *list, uint32_t *flags, struct problem *problem)
{
    static const char separators[] = ", \t\n";
    uint32_t result = *flags;

    for (const char *at = list + strspn(list, separators); *at != '\0';
         at += strspn(at, separators)) {
        size_t length = strcspn(at, separators);
        bool take_away = *at == '-';
        char word[32] = "";
        if (length - take_away < sizeof(word))
            memcpy(word, at + take_away, length - take_away);
        uint32_t bits = flags_of_word(word);
        if (bits == 0)
            return unknown_word(at, (int)length, problem);
        result = take_away ? result & ~bits : result | bits;
        at += length;
    }
    *flags = result;
    return 0;
}

void meter_flags_text(uint32_t flags, char text[METER_FLAGS_TEXT_SIZE])
{
    text[0] = '\0';
    if ((flags & METER_ALL_FLAGS) == METER_ALL_FLAGS) {
        append_flag("all", text);
        return;
    }
    for (unsigned id = 1; id < 31; id++)
        if ((flags & METER_EVENT_FLAGS & EVENT_FLAG(id)) != 0)
            append_flag(event_type(id)->name, text);
    if ((flags & METER_FLAG_PC) != 0)
        append_flag("pc", text);
}
