/* SPDX-License-Identifier: MIT */
/*
 * meter_flags.c: meter flags and kinds of paths by name. A flag is the bit of the event type it records; the papers'
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
    uint64_t flags;
} groups[] = {
    {"all", METER_ALL_FLAGS},
    {"fork",
     BIT(CREATEPROCESS) | BIT(EXEC) | BIT(STARTPROCESS) | BIT(STOPPROCESS) | BIT(TERMINATION)},
    {"socket", BIT(CREATEPATH) | BIT(DESTROYPATH)},
    {"destsocket", BIT(DESTROYPATH)},
    {"file", BIT(READ) | BIT(WRITE)},
    {"pc", METER_FLAG_PC},
};

/* The flags of one word; 0 if it is unknown. */
static uint64_t flags_of_word(const char *word)
{
    for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
        if (strcasecmp(word, groups[i].name) == 0)
            return groups[i].flags;
    const struct event_type *type = event_type_by_name(word);
    return type == NULL ? 0 : EVENT_FLAG(type->id) & METER_EVENT_FLAGS;
}

/* Appends a word to a list if it fits. */
static void append_word(const char *name, char *text, size_t size)
{
    size_t length = strlen(text);

    if (length + strlen(name) + 2 > size)
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

/* ---- kinds of paths ---- */

static const struct {
    const char *name;
    uint32_t kinds;
} kinds_by_name[] = {
    {"all", METER_ALL_KINDS}, {"tcp", METER_TCP},   {"udp", METER_UDP}, {"unix", METER_UNIX},
    {"pipe", METER_PIPE},     {"file", METER_FILE}, {"mq", METER_MQ},   {"mpi", METER_MPI},
};

const char *meter_kind_word(size_t index)
{
    return index < ARRAY_SIZE(kinds_by_name) ? kinds_by_name[index].name : NULL;
}

const char *meter_kind(size_t index, uint32_t *ret_kind)
{
    if (++index >= ARRAY_SIZE(kinds_by_name))
        return NULL;
    *ret_kind = kinds_by_name[index].kinds;
    return kinds_by_name[index].name;
}

static uint64_t kinds_of_word(const char *word)
{
    for (size_t i = 0; i < ARRAY_SIZE(kinds_by_name); i++)
        if (strcasecmp(word, kinds_by_name[i].name) == 0)
            return kinds_by_name[i].kinds;
    return 0;
}

void meter_kinds_text(uint32_t kinds, char text[METER_KINDS_TEXT_SIZE])
{
    const char *name;
    uint32_t kind;

    text[0] = '\0';
    for (size_t i = 0; (name = meter_kind(i, &kind)) != NULL; i++)
        if (kinds & kind)
            append_word(name, text, METER_KINDS_TEXT_SIZE);
}

/* ---- lists of words ---- */

struct vocabulary {
    const char *what; /* what its words are called */
    uint64_t (*bits)(const char *word);
    const char *(*word)(size_t index);
};

static const struct vocabulary flag_words = {"meter flag", flags_of_word, meter_flag_word};
static const struct vocabulary kind_words = {"kind of path", kinds_of_word, meter_kind_word};

static int unknown_word(const struct vocabulary *vocabulary, const char *word, int length,
                        struct problem *problem)
{
    char names[METER_FLAGS_TEXT_SIZE] = "";
    const char *name;

    for (size_t i = 0; (name = vocabulary->word(i)) != NULL; i++)
        append_word(name, names, METER_FLAGS_TEXT_SIZE);
    return problem_set(problem, -EINVAL,
                       "'%.*s' is no %s; there are: %s; '-' before a word takes it away",
                       length < 40 ? length : 40, word, vocabulary->what, names);
}

static int parse_list(const struct vocabulary *vocabulary, const char *list, uint64_t *bits,
                      struct problem *problem)
{
    static const char separators[] = ", \t\n";
    uint64_t result = *bits;

    for (const char *at = list + strspn(list, separators); *at != '\0';
         at += strspn(at, separators)) {
        size_t length = strcspn(at, separators);
        bool take_away = *at == '-';
        char word[32] = "";
        if (length - take_away < sizeof(word))
            memcpy(word, at + take_away, length - take_away);
        uint64_t named = vocabulary->bits(word);
        if (named == 0)
            return unknown_word(vocabulary, at, (int)length, problem);
        result = take_away ? result & ~named : result | named;
        at += length;
    }
    *bits = result;
    return 0;
}

int meter_flags_parse(const char *list, uint64_t *flags, struct problem *problem)
{
    return parse_list(&flag_words, list, flags, problem);
}

int meter_kinds_parse(const char *list, uint32_t *kinds, struct problem *problem)
{
    uint64_t bits = *kinds;
    int result = parse_list(&kind_words, list, &bits, problem);

    *kinds = (uint32_t)bits;
    return result;
}

void meter_flags_text(uint64_t flags, char text[METER_FLAGS_TEXT_SIZE])
{
    text[0] = '\0';
    if ((flags & METER_ALL_FLAGS) == METER_ALL_FLAGS) {
        append_word("all", text, METER_FLAGS_TEXT_SIZE);
        return;
    }
    for (unsigned id = 1; id < EVENT_ID_END; id++)
        if ((flags & METER_EVENT_FLAGS & EVENT_FLAG(id)) != 0)
            append_word(event_type(id)->name, text, METER_FLAGS_TEXT_SIZE);
    if ((flags & METER_FLAG_PC) != 0)
        append_word("pc", text, METER_FLAGS_TEXT_SIZE);
}
