/* SPDX-License-Identifier: MIT */
/*
 * rules_command.c: `dpm rules check`: explains selection rules in words. See dpm-rules(5). `dpm rules descriptions`
 * prints the fields of DPM's own records: dpm-descriptions(5).
 *
 *      $ dpm rules check slow.rules
 *      Rule 1, line 3: BLOCK
 *          type is BLOCK (type of the event)                          kernel: first
 *          duration is more than 10000000 (ns asleep, ending at time) kernel: each record
 */
#include "command/shared/command.h"

#include "rules/rules.h"
#include "show/show.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void print_types(uint64_t types)
{
    const char *separator = "";

    if (types == rules_types_all())
        fputs("every type of event", stdout);
    for (unsigned id = 1; id < EVENT_ID_END && types != rules_types_all(); id++) {
        if (!(types >> id & 1))
            continue;
        printf("%s%s", separator, event_type(id)->name);
        separator = ", ";
    }
    fputs(types == 0 ? "accepts nothing: no type of event has all these fields\n" : "\n", stdout);
}

/* What is discarded, with types that lack the same fields in one line. */
static void print_discards(const struct rules *rules, uint32_t rule)
{
    char words[RULE_WORDS_SIZE];
    uint64_t done = 0;

    for (unsigned id = 1; id < EVENT_ID_END; id++) {
        rules_discard_words(rules, rule, id, words);
        if (words[0] == '\0' || (done >> id & 1))
            continue;
        printf("    discards %s of", words);
        for (unsigned other = id; other < EVENT_ID_END; other++) {
            char same[RULE_WORDS_SIZE];
            rules_discard_words(rules, rule, other, same);
            if (strcmp(words, same) != 0)
                continue;
            printf(" %s", event_type(other)->name);
            done |= EVENT_FLAG(other);
        }
        putchar('\n');
    }
}

static void print_rule(const struct rules *rules, uint32_t rule)
{
    char words[RULE_WORDS_SIZE], shown[RULE_WORDS_SIZE];
    const char *where;
    int width = 0;

    printf("%sRule %" PRIu32 ", line %u: ", rule == 0 ? "" : "\n", rule + 1,
           rules_line(rules, rule));
    print_types(rules_at(rules, rule)->types);
    for (uint32_t i = 0; rules_explain(rules, rule, i, words, &where); i++)
        if ((int)strlen(words) > width && strlen(words) <= 80)
            width = (int)strlen(words);
    for (uint32_t i = 0; rules_explain(rules, rule, i, words, &where); i++) {
        show_text(words, sizeof(words), shown);
        printf("    %-*s  %s\n", width, shown, where);
    }
    print_discards(rules, rule);
    for (uint32_t i = 0; rules_note(rules, rule, i, words); i++) {
        show_text(words, sizeof(words), shown);
        printf("    note: %s\n", shown);
    }
}

static int check_rules(const char *file)
{
    struct rules *rules;
    struct problem problem;

    if (rules_read(file, &rules, &problem) < 0)
        return command_error("%s", problem.text);
    for (uint32_t i = 0; i < rules_count(rules); i++)
        print_rule(rules, i);
    if (rules_count(rules) == 0)
        puts("No rules: everything is accepted.");
    else
        puts("\nA record is accepted if all conditions of a rule hold; the first such rule "
             "discards fields.\n"
             "kernel: what no rule can accept is never recorded, where the kernel meter is used. "
             "filter: dpm\n"
             "decides, before the trace is written. For which events the kernel tells the rules "
             "apart:\n"
             "dpm-rules(5), What the kernel does.");
    rules_free(rules);
    return EXIT_SUCCESS;
}

static int print_descriptions(void)
{
    struct problem problem;

    descriptions_print_own(stdout);
    return command_flush_output(&problem) < 0 ? command_error("%s", problem.text) : EXIT_SUCCESS;
}

static int command_rules(int argc, char **argv)
{
    int option = command_next_option(&rules_command, argc, argv);

    if (option == OPTION_HELP)
        return command_help("rules");
    if (option != -1)
        return command_usage_error("rules", NULL);
    if (argc - optind == 1 && strcmp(argv[optind], "descriptions") == 0)
        return print_descriptions();
    if (argc - optind != 2 || strcmp(argv[optind], "check") != 0)
        return command_usage_error(
            "rules", "say what to do, and name one file: check FILE (or: descriptions)");
    return check_rules(argv[optind + 1]);
}

const struct command rules_command = {
    .name = "rules",
    .description = "explain selection rules in words, or list all fields",
    .usage = "check FILE\n"
             "       dpm rules descriptions",
    .function = command_rules,
    .operand = {"FILE", ARGUMENT_FILE},
};
