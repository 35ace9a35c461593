/* SPDX-License-Identifier: MIT */
/* steer_lines.c: see steer_lines.h. */
#include "command/steer_lines.h"

#include "show/show.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

struct words {
    char act[STEER_TEXT_SIZE], from[STEER_TEXT_SIZE], to[STEER_TEXT_SIZE];
    char goal[STEER_TEXT_SIZE];
    char reason[STEER_TEXT_SIZE];
};

static void find_words(const struct steer_policy *policy, const struct steer_machine *machine,
                       const struct steer_decision *decision, struct words *words)
{
    *words = (struct words){.act = ""};
    snprintf(words->goal, sizeof(words->goal), "%s of %s", steer_measure_name(policy->measure),
             policy->groups[policy->goal].name);
    show_text(decision->reason, strlen(decision->reason), words->reason);
    if (decision->act == NULL)
        return;
    steer_act_text(policy, decision->act, words->act);
    steer_setting_text(machine, decision->act, &decision->from, words->from);
    steer_setting_text(machine, decision->act, &decision->to, words->to);
}

/* ---- JSON ---- */

/* JSON has no NAN. */
static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static void print_json(const struct steer_policy *policy, const struct words *words,
                       const struct steer_decision *decision, FILE *file)
{
    bool judged = decision->outcome == DECISION_KEPT || decision->outcome == DECISION_UNDONE;
    bool acts = decision->act != NULL;
    json_t *line = json_pack(
        "{s:I, s:I, s:s, s:s, s:s, s:o, s:o, s:o}", "time_ns", (json_int_t)decision->time, "number",
        (json_int_t)decision->number, "decision", decision_name(decision->outcome), "goal",
        words->goal, "reason", words->reason, "before", number(decision->before), "after",
        number(judged ? decision->after : NAN), "noise", number(decision->noise));

    json_object_set_new(line, "unit",
                        json_string(steer_is_latency(policy->measure) ? "ns" : "per_second"));
    json_object_set_new(line, "act", acts ? json_string(words->act) : json_null());
    json_object_set_new(line, "from", acts ? json_string(words->from) : json_null());
    json_object_set_new(line, "to", acts ? json_string(words->to) : json_null());
    json_object_set_new(line, "predicted_gain", number(acts ? decision->predicted : NAN));
    json_object_set_new(line, "rough", json_boolean(decision->is_rough));
    json_object_set_new(line, "rule",
                        decision->rule == NULL ? json_null() : json_integer(decision->rule->line));
    json_object_set_new(line, "measured_gain", number(judged ? decision->measured : NAN));
    json_dumpf(line, file, JSON_COMPACT);
    fputc('\n', file);
    json_decref(line);
}

/* ---- text ---- */

static void value_text(const struct steer_policy *policy, double value, char text[UNIT_SIZE])
{
    if (!isfinite(value))
        strcpy(text, "unknown");
    else if (steer_is_latency(policy->measure))
        show_duration((uint64_t)value, text);
    else
        show_frequency(value, text);
}

static void print_measured(const struct steer_policy *policy, const struct words *words,
                           const struct steer_decision *decision, FILE *file)
{
    char before[UNIT_SIZE], after[UNIT_SIZE];

    value_text(policy, decision->before, before);
    value_text(policy, decision->after, after);
    fprintf(file, "              %s %s -> %s", words->goal, before, after);
    if (isfinite(decision->measured))
        fprintf(file, ", gain %+.0f%% (noise %.0f%%)", 100 * decision->measured,
                100 * decision->noise);
    fputc('\n', file);
}

static void print_text(const struct steer_policy *policy, const struct words *words,
                       const struct steer_decision *decision, FILE *file)
{
    char before[UNIT_SIZE];

    fprintf(file, "%9.1f s  %s", (double)decision->time / 1e9, decision_name(decision->outcome));
    if (decision->act == NULL) {
        value_text(policy, decision->before, before);
        if (isfinite(decision->noise))
            fprintf(file, " to do: %s %s (noise %.0f%%)\n", words->goal, before,
                    100 * decision->noise);
        else
            fprintf(file, " to judge by: %s %s\n", words->goal, before);
        fprintf(file, "              %s\n", words->reason);
        return;
    }
    if (decision->outcome != DECISION_WOULD)
        fprintf(file, " %" PRIu64, decision->number);
    fprintf(file, ": %s: %s -> %s", words->act,
            decision->outcome == DECISION_UNDONE ? words->to : words->from,
            decision->outcome == DECISION_UNDONE ? words->from : words->to);
    bool begins = decision->outcome == DECISION_TRIES || decision->outcome == DECISION_WOULD;
    if (begins && decision->rule != NULL)
        fprintf(file, ", by the rule in line %u", decision->rule->line);
    else if (begins)
        fprintf(file, ", predicted %s%+.0f%%", decision->is_rough ? "perhaps " : "",
                100 * decision->predicted);
    fputc('\n', file);
    if (decision->outcome == DECISION_KEPT || decision->outcome == DECISION_UNDONE)
        print_measured(policy, words, decision, file);
    else
        fprintf(file, "              %s\n", words->reason);
}

void steer_print(const struct steer_policy *policy, const struct steer_machine *machine,
                 const struct steer_decision *decision, bool json, FILE *file)
{
    struct words words;

    find_words(policy, machine, decision, &words);
    if (json)
        print_json(policy, &words, decision, file);
    else
        print_text(policy, &words, decision, file);
}

/* ---- the loop ---- */

void steer_print_loop(const struct steer_policy *policy, const struct steer_tally *tally,
                      FILE *file)
{
    char machines[COUNTED_SIZE], records[COUNTED_SIZE], lost[UNIT_SIZE], slices[COUNTED_SIZE],
        incomplete[UNIT_SIZE], length[UNIT_SIZE], acts[COUNTED_SIZE], cost[UNIT_SIZE],
        rested[UNIT_SIZE], goal[UNIT_SIZE];
    char meters[192];

    show_counted(tally->machines, "machine", machines);
    show_counted(tally->records, "record", records);
    show_count(tally->lost, lost);
    show_counted(tally->slices, "snapshot", slices);
    show_duration(tally->length, length);
    show_counted(tally->decided[DECISION_TRIES], "act", acts);
    show_percent(tally->cpu, tally->real, cost);
    snprintf(meters, sizeof(meters), "%s, %s, %s lost", machines, records, lost);
    fprintf(file, "\ncomputation --> meters      %s\n", meters);
    fprintf(file, "     ^             |\n");
    show_count(tally->incomplete, incomplete);
    fprintf(file, "     |          reduction   %s, of %s in all", slices, length);
    if (tally->incomplete > 0)
        fprintf(file, "; %s not measured, as records were lost", incomplete);
    fputc('\n', file);
    fprintf(file, "     |             |\n");
    fprintf(file,
            "    acts <----- scheduler   %s: %" PRIu64 " kept, %" PRIu64 " undone, %" PRIu64
            " failed\n",
            acts, tally->decided[DECISION_KEPT], tally->decided[DECISION_UNDONE],
            tally->decided[DECISION_FAILED]);
    show_duration(tally->rested, rested);
    if (tally->rested > 0)
        fprintf(file, "The meter rested for %s.\n", rested);
    value_text(policy, tally->goal, goal);
    fprintf(file,
            "Its goal: %s of %s, %s when it was measured last. The loop itself took %s%% of a "
            "CPU.\n",
            steer_measure_name(policy->measure), policy->groups[policy->goal].name, goal, cost);
}

/* ---- records ---- */

/* NAN, and what is below 0: not known. */
static uint64_t goal_of(const struct steer_policy *policy, double value)
{
    double times = steer_is_latency(policy->measure) ? 1 : 1000;

    return value >= 0 && value * times < 1e18 ? (uint64_t)llround(value * times) : NOT_KNOWN;
}

static uint32_t thousandths(double gain)
{
    return gain >= 0 ? (uint32_t)fmin(1000 * gain + 0.5, DECISION_NOT_KNOWN - 1)
                     : DECISION_NOT_KNOWN;
}

/* Cuts it; `to` is all zero, and need not be terminated. */
static void put_text(char *to, size_t size, const char *text)
{
    size_t length = strlen(text);

    memcpy(to, text, length < size ? length : size);
}

void steer_record(const struct steer_policy *policy, const struct steer_machine *machine,
                  const struct steer_decision *decision, struct decision_record *ret_record)
{
    bool judged = decision->outcome == DECISION_KEPT || decision->outcome == DECISION_UNDONE;
    struct words words;

    find_words(policy, machine, decision, &words);
    *ret_record = (struct decision_record){
        .header = {.time = clock_now(CLOCK_MONOTONIC),
                   .id = EVENT_DECISION,
                   .flags = RECORD_NO_STREAM},
        .number = decision->number,
        .before = goal_of(policy, decision->before),
        .after = judged ? goal_of(policy, decision->after) : NOT_KNOWN,
        .before_length = (uint64_t)decision->before_length,
        .after_length = judged ? (uint64_t)decision->after_length : 0,
        .outcome = decision->outcome,
        .flags = (steer_is_latency(policy->measure) ? DECISION_IS_TIME : 0) |
                 (decision->is_rough ? DECISION_IS_ROUGH : 0),
        .predicted = decision->act == NULL ? DECISION_NOT_KNOWN : thousandths(decision->predicted),
        .noise = thousandths(decision->noise)};
    put_text(ret_record->act, sizeof(ret_record->act), words.act);
    put_text(ret_record->from, sizeof(ret_record->from), words.from);
    put_text(ret_record->to, sizeof(ret_record->to), words.to);
    put_text(ret_record->goal, sizeof(ret_record->goal), words.goal);
    put_text(ret_record->reason, sizeof(ret_record->reason), words.reason);
}
