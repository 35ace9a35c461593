/* SPDX-License-Identifier: MIT */
/*
 * rules_fuzz.c: the input is a file of selection rules. Any input is accepted, or refused with one line that says where.
 * Accepted rules can be explained and judged by, and their texts, parsed again, are the same rules.
 */
#include "fuzz.h"
#include "rules/rules.h"

#include <errno.h>
#include <string.h>

static void check_refusal(int result, const struct problem *problem)
{
    PROMISE(result == -EINVAL || result == -E2BIG);
    PROMISE(problem->text[0] != '\0' && strchr(problem->text, '\n') == NULL);
    PROMISE(result == -E2BIG || strncmp(problem->text, "input:", 6) == 0);
}

static void check_words(const struct rules *rules, uint32_t rule)
{
    char words[RULE_WORDS_SIZE];
    const char *where;
    uint32_t count = 0;

    while (rules_explain(rules, rule, count, words, &where)) {
        PROMISE(words[0] != '\0' && where[0] != '\0');
        count++;
    }
    PROMISE(count >= 1 && count <= RULES_CONDITIONS_MOST);
    PROMISE(rules_line(rules, rule) >= 1);
}

/* The text of a rule is that rule. */
static void check_text(const struct rules *rules, uint32_t rule)
{
    const char *text = rules_text(rules, rule);
    const struct rule *one = rules_at(rules, rule);
    size_t length = strlen(text);
    char *whole = malloc(length + 2);
    struct rules *again;

    memcpy(whole, text, length);
    strcpy(whole + length, ";");
    PROMISE(strchr(text, '\n') == NULL);
    PROMISE(rules_parse("again", whole, length + 1, &again, NULL) == 0);
    PROMISE(rules_count(again) == 1);
    PROMISE(rules_at(again, 0)->types == one->types && rules_at(again, 0)->count == one->count);
    for (unsigned id = 1; id < EVENT_ID_END; id++)
        PROMISE(rules_discards(again, 0, id) == rules_discards(rules, rule, id));
    PROMISE(strcmp(rules_text(again, 0), text) == 0);
    rules_free(again);
    free(whole);
}

static void check_verdicts(const struct rules *rules)
{
    struct rules_judge *judge;
    struct rules_verdict verdict;

    PROMISE(rules_judge_new(rules, &judge) == 0);
    for (unsigned id = 1; id < EVENT_ID_END; id++) {
        struct record record = {.header = {.id = (uint8_t)id, .stream = 1}};
        const struct event event = {.header = &record.header};
        if (event_size(id) != sizeof(record))
            continue;
        PROMISE(rules_judge(judge, &event, &verdict, NULL) == 0);
        PROMISE(verdict.accepted || rules_decide_about(id));
        PROMISE(verdict.rule == RULES_NONE || (rules_types(rules) >> id & 1));
    }
    rules_judge_free(judge);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct rules *rules;
    struct problem problem = {""};
    int result = rules_parse("input", (const char *)bytes, size, &rules, &problem);

    if (result < 0) {
        check_refusal(result, &problem);
        return 0;
    }
    for (uint32_t i = 0; i < rules_count(rules); i++) {
        check_words(rules, i);
        check_text(rules, i);
    }
    check_verdicts(rules);
    rules_free(rules);
    return 0;
}

size_t fuzz_example(uint8_t *bytes, size_t room)
{
    static const char example[] =
        "# slow requests\n"
        "type=block, process=redis*, duration>10ms; type = send,bytes>=1K,\n"
        "  PC=#*, user!=root; # \"\n"
        "command=\"a \\\" # b\", localPort<remotePort, code=-6; flags=0x1f;\n";

    return fuzz_text(bytes, room, example);
}
