/* SPDX-License-Identifier: MIT */
/* steer_policy.c: reads policies. See steer.h and dpm-steer(1). A statement is a line of words:
 *
 *      group NAME is {name WORD [on MACHINE] | cgroup PATH | unit UNIT | pid PID}...
 *      goal {requests/s | received messages/s | latency mean | latency p50 | latency p99} of GROUP
 *      cpus of GROUP...
 *      weight of GROUP... up to N [in FOLDER]
 *      workers of GROUP from A to B by COMMAND WORD...
 *      shares of GROUP GROUP... by COMMAND WORD...
 *      when FIGURE of GROUP {above | below} AMOUNT set ACT of GROUP... to N... [always]       (steer_rules.c)
 *      window TIME      settle TIME      limit TIME      cost PERCENT
 */
#include "base/amounts.h"
#include "steer/steer_private.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIME_MOST 86400000000000ull /* ns */

/* ---- groups ---- */

static bool is_name(const char *word)
{
    for (const char *at = word; *at != '\0'; at++)
        if (!isalnum((unsigned char)*at) && strchr("-_.", *at) == NULL)
            return false;
    return *word != '\0' && strlen(word) < 32;
}

const char *const steer_word_names[STEER_WORD_KINDS] = {[STEER_BY_NAME] = "name",
                                                        [STEER_BY_CGROUP] = "cgroup",
                                                        [STEER_BY_UNIT] = "unit",
                                                        [STEER_BY_PID] = "pid"};

static int add_group_word(struct policy_reader *reader, struct steer_group *group,
                          enum steer_word_kind by)
{
    uint32_t ignored;

    if (by == STEER_BY_PID && words_expect_number(reader, 2, INT32_MAX, &ignored) < 0)
        return -EINVAL;
    const char *text = by == STEER_BY_PID           ? reader->words[reader->at - 1]
                       : reader->at < reader->count ? reader->words[reader->at++]
                                                    : "";
    if (*text == '\0')
        return words_refuse(reader, "which processes");
    if (by == STEER_BY_CGROUP && *text != '/') {
        reader->at--;
        return words_refuse(reader, "a cgroup that begins with '/'");
    }
    struct steer_word *words = realloc(group->words, (group->word_count + 1) * sizeof(*words));
    if (words == NULL)
        return words_no_memory(reader);
    group->words = words;
    struct steer_word *word = &words[group->word_count++];
    *word = (struct steer_word){.by = by, .text = strdup(text)};
    if (word->text == NULL)
        return words_no_memory(reader);
    if (by != STEER_BY_NAME || !words_next_is(reader, "on"))
        return 0;
    if (reader->at == reader->count)
        return words_refuse(reader, "the name of a machine");
    word->machine = strdup(reader->words[reader->at++]);
    return word->machine == NULL ? words_no_memory(reader) : 0;
}

static int read_group(struct policy_reader *reader)
{
    struct steer_policy *policy = reader->policy;
    uint32_t ignored;
    int result = 0;

    if (policy->group_count == STEER_GROUPS_MOST)
        return problem_set(reader->problem, -EINVAL, "%.200s:%u: a policy has at most %d groups",
                           reader->file, reader->line, STEER_GROUPS_MOST);
    if (reader->at == reader->count || !is_name(reader->words[reader->at]))
        return words_refuse(reader, "a name of letters, digits, '-', '_' and '.'");
    if (words_expect_group(reader, &ignored) == 0) {
        reader->at--;
        return words_refuse(reader, "a name that no other group has");
    }
    if (array_reserve(&policy->groups, &policy->group_room, policy->group_count + 1,
                      sizeof(*policy->groups)) < 0)
        return words_no_memory(reader);
    struct steer_group *group = &policy->groups[policy->group_count++];
    *group =
        (struct steer_group){.name = strdup(reader->words[reader->at++]), .line = reader->line};
    if (group->name == NULL)
        return words_no_memory(reader);
    result = words_expect(reader, "is");
    do {
        unsigned by = 0;
        while (by < STEER_WORD_KINDS && !words_next_is(reader, steer_word_names[by]))
            by++;
        if (result == 0)
            result = by < STEER_WORD_KINDS
                         ? add_group_word(reader, group, (enum steer_word_kind)by)
                         : words_refuse(reader, "name NAME, cgroup PATH, unit UNIT or pid PID");
    } while (result == 0 && reader->at < reader->count);
    return result;
}

/* ---- the goal ---- */

static const char *const measures[] = {
    [STEER_REQUESTS] = "requests/s",       [STEER_RECEIVED] = "received messages/s",
    [STEER_LATENCY_MEAN] = "latency mean", [STEER_LATENCY_P50] = "latency p50",
    [STEER_LATENCY_P99] = "latency p99",
};

const char *steer_measure_name(enum steer_measure measure)
{
    return measures[measure];
}

bool steer_is_latency(enum steer_measure measure)
{
    return measure >= STEER_LATENCY_MEAN;
}

int policy_read_measure(struct policy_reader *reader, enum steer_measure *ret_measure)
{
    if (words_next_is(reader, "requests/s")) {
        *ret_measure = STEER_REQUESTS;
        return 0;
    }
    if (words_next_is(reader, "received")) {
        *ret_measure = STEER_RECEIVED;
        return words_expect(reader, "messages/s");
    }
    if (!words_next_is(reader, "latency"))
        return words_refuse(reader, "requests/s, received messages/s or latency");
    for (unsigned i = STEER_LATENCY_MEAN; i <= STEER_LATENCY_P99; i++)
        if (words_next_is(reader, measures[i] + strlen("latency "))) {
            *ret_measure = (enum steer_measure)i;
            return 0;
        }
    return words_refuse(reader, "mean, p50 or p99");
}

static int read_goal(struct policy_reader *reader)
{
    if (reader->has_goal)
        return problem_set(reader->problem, -EINVAL, "%.200s:%u: a policy has one goal",
                           reader->file, reader->line);
    reader->has_goal = true;
    int result = policy_read_measure(reader, &reader->policy->measure);
    if (result == 0)
        result = words_expect(reader, "of");
    return result < 0 ? result : words_expect_group(reader, &reader->policy->goal);
}

/* ---- acts ---- */

const char *const steer_act_names[STEER_ACT_KINDS] = {[STEER_CPUS] = "cpus",
                                                      [STEER_WEIGHT] = "weight",
                                                      [STEER_WORKERS] = "workers",
                                                      [STEER_SHARES] = "shares"};

/* All words that follow: one of them is {}. */
static int read_command(struct policy_reader *reader, struct steer_act *act)
{
    bool has_place = false;

    if (words_expect(reader, "by") < 0)
        return -EINVAL;
    if (reader->at == reader->count || reader->words[reader->at][0] != '/')
        return words_refuse(reader, "a command with its full path: it is not looked for in PATH");
    act->words = calloc(reader->count - reader->at + 1, sizeof(*act->words));
    if (act->words == NULL)
        return words_no_memory(reader);
    while (reader->at < reader->count) {
        has_place |= strcmp(reader->words[reader->at], "{}") == 0;
        act->words[act->word_count] = strdup(reader->words[reader->at++]);
        if (act->words[act->word_count++] == NULL)
            return words_no_memory(reader);
    }
    if (!has_place)
        return words_refuse(reader,
                            act->kind == STEER_SHARES
                                ? "{} as a word of its own: there the command gets the shares"
                                : "{} as a word of its own: there the command gets the number");
    return act->word_count <= STEER_COMMAND_MOST
               ? 0
               : problem_set(reader->problem, -EINVAL, "%.200s:%u: a command has at most %d words",
                             reader->file, reader->line, STEER_COMMAND_MOST);
}

static bool is_end(const char *word)
{
    return strcmp(word, "by") == 0 || strcmp(word, "up") == 0;
}

/* Up to the word `by` or `up`, or the end. */
static int read_groups(struct policy_reader *reader, struct steer_act *act, size_t least)
{
    int result = words_expect(reader, "of");

    while (result == 0 && act->group_count < STEER_NUMBERS_MOST && reader->at < reader->count &&
           (act->group_count < least || !is_end(reader->words[reader->at]))) {
        result = words_expect_group(reader, &act->groups[act->group_count]);
        for (size_t i = 0; result == 0 && i < act->group_count; i++)
            if (act->groups[i] == act->groups[act->group_count]) {
                reader->at--;
                result = words_refuse(reader, "each group once");
            }
        act->group_count += result == 0;
    }
    if (result == 0 && act->group_count < least)
        return words_refuse(reader, "one more group");
    return result;
}

static int read_one_group(struct policy_reader *reader, struct steer_act *act)
{
    int result = words_expect(reader, "of");

    act->group_count = 1;
    return result < 0 ? result : words_expect_group(reader, &act->groups[0]);
}

static bool is_folder(const char *path)
{
    return *path == '/' && strstr(path, "/../") == NULL &&
           (strlen(path) < 3 || strcmp(path + strlen(path) - 3, "/..") != 0);
}

static int read_weight(struct policy_reader *reader, struct steer_act *act)
{
    int result = read_groups(reader, act, 1);

    act->from = 1;
    if (result == 0)
        result = words_expect(reader, "up");
    if (result == 0)
        result = words_expect(reader, "to");
    if (result == 0)
        result = words_expect_number(reader, 2, STEER_WEIGHT_MOST, &act->to);
    if (result < 0 || !words_next_is(reader, "in"))
        return result;
    if (reader->at == reader->count || !is_folder(reader->words[reader->at]))
        return words_refuse(reader, "the full path of a cgroup's folder: /sys/fs/cgroup/cpu/web");
    act->cgroup = strdup(reader->words[reader->at++]);
    return act->cgroup == NULL ? words_no_memory(reader) : 0;
}

static int read_workers(struct policy_reader *reader, struct steer_act *act)
{
    int result = read_one_group(reader, act);

    if (result == 0)
        result = words_expect(reader, "from");
    if (result == 0)
        result = words_expect_number(reader, 1, STEER_WORKERS_MOST - 1, &act->from);
    if (result == 0)
        result = words_expect(reader, "to");
    if (result == 0)
        result = words_expect_number(reader, act->from + 1, STEER_WORKERS_MOST, &act->to);
    return result < 0 ? result : read_command(reader, act);
}

/* Two acts of a kind on the same processes would each take what the other has made for what was before. */
static int check_alone(const struct policy_reader *reader)
{
    const struct steer_policy *policy = reader->policy;
    const struct steer_act *last = &policy->acts[policy->act_count - 1];

    for (const struct steer_act *act = policy->acts; act < last; act++) {
        bool shared = act->kind == last->kind && act->cgroup != NULL && last->cgroup != NULL &&
                      strcmp(act->cgroup, last->cgroup) == 0;
        for (size_t i = 0; act->kind == last->kind && i < act->group_count; i++)
            for (size_t j = 0; j < last->group_count; j++)
                shared |= act->groups[i] == last->groups[j];
        if (shared)
            return problem_set(reader->problem, -EINVAL,
                               "%.200s:%u: %s: line %u has this act for the same processes: name "
                               "each group in one of them",
                               reader->file, reader->line, steer_act_names[act->kind], act->line);
    }
    return 0;
}

static int read_act(struct policy_reader *reader, enum steer_act_kind kind)
{
    struct steer_policy *policy = reader->policy;

    if (policy->act_count == STEER_ACTS_MOST)
        return problem_set(reader->problem, -EINVAL, "%.200s:%u: a policy has at most %d acts",
                           reader->file, reader->line, STEER_ACTS_MOST);
    if (array_reserve(&policy->acts, &policy->act_room, policy->act_count + 1,
                      sizeof(*policy->acts)) < 0)
        return words_no_memory(reader);
    struct steer_act *act = &policy->acts[policy->act_count++];
    *act = (struct steer_act){.kind = kind, .line = reader->line};
    int result = kind == STEER_WEIGHT    ? read_weight(reader, act)
                 : kind == STEER_WORKERS ? read_workers(reader, act)
                                         : read_groups(reader, act, kind == STEER_SHARES ? 2 : 1);
    if (result == 0 && kind == STEER_SHARES)
        result = read_command(reader, act);
    return result < 0 ? result : check_alone(reader);
}

/* ---- times ---- */

static int read_time(struct policy_reader *reader, uint64_t least, uint64_t *ret_time)
{
    const char *word = reader->at < reader->count ? reader->words[reader->at] : "";

    if (parse_duration(word, ret_time) < 0 || *ret_time < least || *ret_time > TIME_MOST)
        return words_refuse(reader, least > 0 ? "a time of 1s to 24h, such as 10s or 2m"
                                              : "a time of at most 24h, such as 500ms, 10s or 2m");
    reader->at++;
    return 0;
}

/* "2%", "0.1%" */
static int read_cost(struct policy_reader *reader)
{
    const char *word = reader->at < reader->count ? reader->words[reader->at] : "";
    char *end;
    double percent = strtod(word, &end);

    if (word[0] < '0' || word[0] > '9' || strcmp(end, "%") != 0 || !(percent >= 0.01) ||
        percent > 100)
        return words_refuse(reader, "a part of the CPUs of 0.01% to 100%, such as 2%");
    reader->policy->cost = percent / 100;
    reader->at++;
    return 0;
}

/* ---- lines ---- */

static int read_line(struct policy_reader *reader)
{
    struct steer_policy *policy = reader->policy;
    int result = -ENOENT;

    if (reader->count == 0)
        return 0;
    if (words_next_is(reader, "group"))
        result = read_group(reader);
    else if (words_next_is(reader, "goal"))
        result = read_goal(reader);
    else if (words_next_is(reader, "window"))
        result = read_time(reader, 1000000000u, &policy->window);
    else if (words_next_is(reader, "settle"))
        result = read_time(reader, 0, &policy->settle);
    else if (words_next_is(reader, "limit"))
        result = read_time(reader, 0, &policy->limit);
    else if (words_next_is(reader, "cost"))
        result = read_cost(reader);
    else if (words_next_is(reader, "when"))
        result = policy_read_rule(reader);
    for (unsigned i = 0; result == -ENOENT && i < ARRAY_SIZE(steer_act_names); i++)
        if (words_next_is(reader, steer_act_names[i]))
            result = read_act(reader, (enum steer_act_kind)i);
    if (result == -ENOENT)
        return words_refuse(
            reader, "group, goal, cpus, weight, workers, shares, when, window, settle, limit "
                    "or cost");
    return result == 0 && reader->at < reader->count
               ? words_refuse(reader, "nothing more in this line")
               : result;
}

static int read_all(struct policy_reader *reader, const char *text, const char *end)
{
    int result = 0;

    while (result == 0 && text < end) {
        const char *line_end = memchr(text, '\n', (size_t)(end - text));
        if (line_end == NULL)
            line_end = end;
        reader->line++;
        result = words_split(reader, text, line_end);
        if (result == 0)
            result = read_line(reader);
        words_forget(reader);
        text = line_end + (line_end < end);
    }
    if (result == 0 && !reader->has_goal)
        result =
            problem_set(reader->problem, -EINVAL,
                        "%.200s: it has no goal, such as: goal requests/s of GROUP", reader->file);
    if (result == 0 && reader->policy->act_count == 0)
        result = problem_set(
            reader->problem, -EINVAL,
            "%.200s: it allows no act: cpus, weight, workers or shares of GROUP ...", reader->file);
    return result;
}

#define SECOND 1000000000u

int steer_policy_parse(const char *file, const char *text, size_t size,
                       struct steer_policy **ret_policy, struct problem *problem)
{
    struct steer_policy *policy = calloc(1, sizeof(*policy));
    struct policy_reader reader = {.policy = policy, .file = file, .problem = problem};

    if (policy == NULL || (policy->file = strdup(file)) == NULL) {
        free(policy);
        return problem_set(problem, -ENOMEM, "out of memory");
    }
    policy->window = 5ull * SECOND;
    policy->settle = 1ull * SECOND;
    policy->limit = 10ull * SECOND;
    policy->cost = 0.02;
    int result = size > POLICY_SIZE_MOST
                     ? problem_set(problem, -EFBIG, "%.200s: a policy has at most %d bytes", file,
                                   POLICY_SIZE_MOST)
                     : read_all(&reader, text, text + size);
    free(reader.words);
    if (result < 0)
        steer_policy_free(policy);
    else
        *ret_policy = policy;
    return result;
}

void steer_policy_free(struct steer_policy *policy)
{
    if (policy == NULL)
        return;
    for (size_t i = 0; i < policy->group_count; i++) {
        for (size_t j = 0; j < policy->groups[i].word_count; j++) {
            free(policy->groups[i].words[j].text);
            free(policy->groups[i].words[j].machine);
        }
        free(policy->groups[i].words);
        free(policy->groups[i].name);
    }
    for (size_t i = 0; i < policy->act_count; i++) {
        for (size_t j = 0; j < policy->acts[i].word_count; j++)
            free(policy->acts[i].words[j]);
        free(policy->acts[i].words);
        free(policy->acts[i].cgroup);
    }
    for (size_t i = 0; i < policy->rule_count; i++)
        free(policy->rules[i].text);
    free(policy->groups);
    free(policy->acts);
    free(policy->rules);
    free(policy->file);
    free(policy);
}

void steer_act_text(const struct steer_policy *policy, const struct steer_act *act,
                    char text[STEER_TEXT_SIZE])
{
    int size = snprintf(text, STEER_TEXT_SIZE, "%s of", steer_act_names[act->kind]);

    for (size_t i = 0; i < act->group_count; i++)
        size += snprintf(text + size, STEER_TEXT_SIZE - (size_t)size, " %s",
                         policy->groups[act->groups[i]].name);
}
