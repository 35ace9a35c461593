/* SPDX-License-Identifier: MIT */
/*
 * steer_rules.c: what a user decides instead of the model. See steer.h and dpm-steer(1).
 *
 *      when  queue of app  above  10     set  workers of app  to  8
 *      when  cpu of app    below  40%    set  workers of app  to  2
 *            '-- figure         '-- bound     '-- act             '-- setting
 */
#include "base/amounts.h"
#include "steer/steer_private.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Their words, up to `of`: one or two. */
static const char *const figure_words[STEER_FIGURES][2] = {
    [STEER_TRAFFIC] = {"messages/s"},     [STEER_CPU] = {"cpu"},
    [STEER_RUN_QUEUE] = {"run", "queue"}, [STEER_QUEUE] = {"queue"},
    [STEER_MEMORY] = {"memory"},          [STEER_PAGING] = {"major", "faults/s"},
};

static bool is_time(unsigned figure)
{
    return figure < STEER_MEASURES && steer_is_latency((enum steer_measure)figure);
}

/* ---- reading ---- */

static int read_figure(struct policy_reader *reader, struct steer_rule *rule)
{
    enum steer_measure measure;
    int result = 0;

    for (rule->figure = STEER_TRAFFIC; rule->figure < STEER_FIGURES; rule->figure++)
        if (words_next_is(reader, figure_words[rule->figure][0]))
            break;
    if (rule->figure == STEER_FIGURES) {
        const char *word = reader->at < reader->count ? reader->words[reader->at] : "";
        if (strcmp(word, "requests/s") != 0 && strcmp(word, "received") != 0 &&
            strcmp(word, "latency") != 0)
            return words_refuse(reader,
                                "requests/s, received messages/s, latency, messages/s, cpu, run "
                                "queue, queue, memory or major faults/s");
        result = policy_read_measure(reader, &measure);
        rule->figure = measure;
    } else if (figure_words[rule->figure][1] != NULL) {
        result = words_expect(reader, figure_words[rule->figure][1]);
    }
    if (result == 0)
        result = words_expect(reader, "of");
    if (result == 0)
        result = words_expect_group(reader, &rule->group);
    if (result == 0 && rule->figure == STEER_TRAFFIC)
        result = words_expect(reader, "to");
    if (result == 0 && rule->figure == STEER_TRAFFIC)
        result = words_expect_group(reader, &rule->receiver);
    return result;
}

/* "10", "40%", "2G", "50ms": as the figure has it. */
static int read_bound(struct policy_reader *reader, struct steer_rule *rule)
{
    const char *word = reader->at < reader->count ? reader->words[reader->at] : "";
    uint64_t number = 0;
    char *end = NULL;

    if (is_time(rule->figure)) {
        if (parse_duration(word, &number) < 0)
            return words_refuse(reader, "a time, such as 50ms");
        rule->bound = (double)number;
    } else if (rule->figure == STEER_MEMORY) {
        if (parse_size(word, &number) < 0)
            return words_refuse(reader, "a size, such as 500M or 2G");
        rule->bound = (double)number;
    } else {
        rule->bound = *word >= '0' && *word <= '9' ? strtod(word, &end) : NAN;
        if (!isfinite(rule->bound) || strcmp(end, rule->figure == STEER_CPU ? "%" : "") != 0)
            return words_refuse(reader, rule->figure == STEER_CPU
                                            ? "per cent of a CPU, such as 150%"
                                            : "a number, such as 10 or 0.5");
    }
    reader->at++;
    return 0;
}

/* The act of a line above, by its kind and its groups. */
static int read_act(struct policy_reader *reader, struct steer_rule *rule)
{
    const struct steer_policy *policy = reader->policy;
    size_t begin = reader->at;

    for (size_t i = 0; i < policy->act_count; i++) {
        const struct steer_act *act = &policy->acts[i];
        bool is = act->kind != STEER_CPUS && words_next_is(reader, steer_act_names[act->kind]) &&
                  words_next_is(reader, "of");
        for (size_t j = 0; is && j < act->group_count; j++)
            is = words_next_is(reader, policy->groups[act->groups[j]].name);
        if (is && words_next_is(reader, "to")) {
            rule->act = i;
            return 0;
        }
        reader->at = begin;
    }
    return words_refuse(reader, "weight, workers or shares of GROUP ... to, as in a line above");
}

static int read_setting(struct policy_reader *reader, struct steer_rule *rule)
{
    const struct steer_act *act = &reader->policy->acts[rule->act];
    uint32_t *numbers = rule->to.numbers, sum = 0;
    int result = 0;

    if (act->kind != STEER_SHARES)
        return words_expect_number(reader, act->from, act->to, &numbers[0]);
    for (size_t i = 0; result == 0 && i < act->group_count; i++) {
        result = words_expect_number(reader, 0, 100 - sum, &numbers[i]);
        sum += numbers[i];
    }
    if (result == 0 && sum != 100) {
        reader->at--;
        return words_refuse(reader, "shares that are 100 in all");
    }
    return result;
}

/* "queue of app above 10" */
static char *text_of(const struct policy_reader *reader, size_t begin, size_t end)
{
    char text[STEER_TEXT_SIZE] = "";
    size_t length = 0;

    for (size_t i = begin; i < end && length < sizeof(text); i++)
        length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%s",
                                   i > begin ? " " : "", reader->words[i]);
    return strdup(text);
}

int policy_read_rule(struct policy_reader *reader)
{
    struct steer_policy *policy = reader->policy;
    struct steer_rule rule = {.line = reader->line};
    size_t begin = reader->at;

    if (policy->rule_count == STEER_RULES_MOST)
        return problem_set(reader->problem, -EINVAL, "%.200s:%u: a policy has at most %d rules",
                           reader->file, reader->line, STEER_RULES_MOST);
    int result = read_figure(reader, &rule);
    if (result == 0) {
        rule.above = words_next_is(reader, "above");
        if (!rule.above && !words_next_is(reader, "below"))
            return words_refuse(reader, "above or below");
        result = read_bound(reader, &rule);
    }
    size_t end = reader->at;
    if (result == 0)
        result = words_expect(reader, "set");
    if (result == 0)
        result = read_act(reader, &rule);
    if (result == 0)
        result = read_setting(reader, &rule);
    if (result < 0)
        return result;
    rule.always = words_next_is(reader, "always");
    rule.text = text_of(reader, begin, end);
    if (rule.text == NULL || array_reserve(&policy->rules, &policy->rule_room,
                                           policy->rule_count + 1, sizeof(*policy->rules)) < 0) {
        free(rule.text);
        return words_no_memory(reader);
    }
    policy->rules[policy->rule_count++] = rule;
    policy->acts[rule.act].has_rules = true;
    return 0;
}

/* ---- whether it holds ---- */

/* NAN: not known. */
static double figure_of(const struct steer_rule *rule, const struct steer_slice *window)
{
    const struct steer_figures *group = &window->groups[rule->group];
    double length = window->length;

    if (group->processes == 0) /* it has not begun, has ended, or its machine is silent */
        return NAN;
    switch (rule->figure) {
    case STEER_TRAFFIC:
        return window->talk[rule->group][rule->receiver].messages / length * 1e9;
    case STEER_CPU:
        return group->cpu / length * 100;
    case STEER_RUN_QUEUE:
        return group->no_cpu / length;
    case STEER_QUEUE:
        return (group->queue_delay + group->blocked) / length;
    case STEER_MEMORY:
        return group->memory;
    case STEER_PAGING:
        return group->major_faults / length * 1e9;
    default:
        return steer_value((enum steer_measure)rule->figure, group, length);
    }
}

/* "queue of app above 10: 23.4" */
static void give_reason(const struct steer_rule *rule, double value, char reason[STEER_TEXT_SIZE])
{
    const char *unit = is_time(rule->figure)          ? " ms"
                       : rule->figure == STEER_MEMORY ? " MiB"
                       : rule->figure == STEER_CPU    ? "%"
                                                      : "";
    double shown = is_time(rule->figure)          ? value / 1e6
                   : rule->figure == STEER_MEMORY ? value / (1 << 20)
                                                  : value;

    snprintf(reason, STEER_TEXT_SIZE, "%.200s: %.*f%s", rule->text, shown < 10 ? 2 : 0, shown,
             unit);
}

bool steer_rule_holds(const struct steer_rule *rule, const struct steer_slice *window,
                      struct steer_candidate *ret_candidate)
{
    double value = window->length > 0 ? figure_of(rule, window) : NAN;

    if (rule->above ? !(value > rule->bound) : !(value < rule->bound))
        return false;
    *ret_candidate = (struct steer_candidate){.to = rule->to, .gain = NAN, .rule = rule};
    give_reason(rule, value, ret_candidate->reason);
    return true;
}
