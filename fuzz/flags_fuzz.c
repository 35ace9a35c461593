/* SPDX-License-Identifier: MIT */
/*
 * flags_fuzz.c: the input is a list of meter flags, or of kinds of paths, as a user types it. Any input is accepted, or
 * rejected with one line that names a word of it. Since each word sets or clears bits, a list acts on each bit
 * independently.
 */
#include "event/event.h"
#include "fuzz.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

static int parse_kinds(const char *list, uint64_t *bits, struct problem *problem)
{
    uint32_t kinds = (uint32_t)*bits;
    int result = meter_kinds_parse(list, &kinds, problem);

    *bits = kinds | (*bits & ~(uint64_t)UINT32_MAX);
    return result;
}

static const struct language {
    int (*parse)(const char *list, uint64_t *bits, struct problem *problem);
    const char *refusal;
    uint64_t all;   /* of the word "all" */
    uint64_t every; /* of any word */
} languages[] = {
    {meter_flags_parse, "' is no meter flag", METER_ALL_FLAGS, METER_ALL_FLAGS},
    {parse_kinds, "' is no kind of path", METER_ALL_KINDS, METER_EVERY_KIND},
};

static const struct language *language; /* the language being tested */

/* How a problem's message shows this character. */
static char told(char character)
{
    return iscntrl((unsigned char)character) ? '?' : character;
}

/* Whether the list has this word, as shown in a problem's message. */
static bool contains(const char *list, const char *word)
{
    for (; *list != '\0'; list++) {
        size_t same = 0;
        while (word[same] != '\0' && list[same] != '\0' && told(list[same]) == word[same])
            same++;
        if (word[same] == '\0')
            return true;
    }
    return false;
}

static void check_refusal(const char *list, uint64_t before, uint64_t after,
                          const struct problem *problem)
{
    static const char last_words[] = "takes it away";
    size_t length = strlen(problem->text);
    const char *word_end = strstr(problem->text, language->refusal);
    char word[41];

    PROMISE(after == before);
    PROMISE(strchr(problem->text, '\n') == NULL);
    PROMISE(length > strlen(last_words));
    PROMISE(strcmp(problem->text + length - strlen(last_words), last_words) == 0);
    PROMISE(problem->text[0] == '\'' && word_end != NULL);
    size_t word_length = (size_t)(word_end - problem->text) - 1;
    PROMISE(word_length > 0 && word_length < sizeof(word));
    memcpy(word, problem->text + 1, word_length);
    word[word_length] = '\0';
    PROMISE(contains(list, word));
}

/* Reads the list into `flags`; returns whether it was accepted. */
static bool parse(const char *list, uint64_t *flags)
{
    struct problem problem = {""};
    uint64_t before = *flags;
    int result = language->parse(list, flags, &problem);

    PROMISE(result == 0 || result == -EINVAL);
    if (result < 0)
        check_refusal(list, before, *flags, &problem);
    return result == 0;
}

/* Appends a word after which all flags are set, or none. */
static void check_last_word(const char *list, uint64_t start, const char *word, uint64_t expected)
{
    size_t size = strlen(list) + strlen(word) + 2;
    char *longer = malloc(size);

    if (longer == NULL)
        abort();
    snprintf(longer, size, "%s,%s", list, word);
    PROMISE(parse(longer, &start));
    PROMISE((start & language->all) == expected);
    free(longer);
}

static void check_understood(char *list, uint64_t start)
{
    uint64_t none = 0;
    uint64_t every = UINT64_MAX;
    uint64_t some = start;

    PROMISE(parse(list, &none) && parse(list, &every) && parse(list, &some));
    PROMISE((none & ~language->every) == 0);
    PROMISE((~every & ~language->every) == 0);
    PROMISE((none & ~every) == 0);
    PROMISE(some == ((start & every) | none));
    check_last_word(list, start, "all", language->all);
    check_last_word(list, start, "-ALL", 0);
    uint64_t again = some;
    PROMISE(parse(list, &again) && again == some);
    for (char *at = list; *at != '\0'; at++)
        *at = (char)toupper((unsigned char)*at);
    again = start;
    PROMISE(parse(list, &again) && again == some);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    uint64_t start = 0;
    char *list = malloc(size + 1);

    if (list == NULL)
        abort();
    if (size > 0)
        memcpy(list, bytes, size);
    list[size] = '\0';
    for (size_t i = 0; i < size; i++)
        start = start * 0x100000001b3 + bytes[i];
    for (language = languages; language < languages + ARRAY_SIZE(languages); language++) {
        uint64_t flags = start;
        if (parse(list, &flags))
            check_understood(list, start);
    }
    free(list);
    return 0;
}

size_t fuzz_example(uint8_t *bytes, size_t room)
{
    static const char example[] = "-block,send fork -exec Socket,\tRECEIVECALL -createPath";

    return fuzz_text(bytes, room, example);
}
