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
    bool judged = decision->outcome == STEER_KEPT || decision->outcome == STEER_UNDONE;
    bool acts = decision->act != NULL;
    json_t *line = json_pack(
        "{s:I, s:I, s:s, s:s, s:s, s:o, s:o, s:o}", "time_ns", (json_int_t)decision->time, "number",
        (json_int_t)decision->number, "decision", steer_outcome_name(decision->outcome), "goal",
        words->goal, "reason", words->reason, "before", number(decision->before), "after",
        number(judged ? decision->after : NAN), "noise", number(decision->noise));

    json_object_set_new(line, "unit",
                        json_string(steer_is_latency(policy->measure) ? "ns" : "per_second"));
    json_object_set_new(line, "act", acts ? json_string(words->act) : json_null());
    json_object_set_new(line, "from", acts ? json_string(words->from) : json_null());
    json_object_set_new(line, "to", acts ? json_string(words->to) : json_null());
    json_object_set_new(line, "predicted_gain", number(acts ? decision->predicted : NAN));
    json_object_set_new(line, "rough", json_boolean(decision->is_rough));
    json_object_set_new(line, "measured_gain", number(judged ? decision->measured : NAN));
    json_dumpf(line, file, JSON_COMPACT);
    fputc('\n', file);
    json_decref(line);
}

/* ---- text ---- */

static void value_text(const struct steer_policy *policy, double value, char text[UNIT_SIZE])
{
    if (!isfinite(value))
        strcpy(text, "nothing");
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

    fprintf(file, "%9.1f s  %s", (double)decision->time / 1e9,
            steer_outcome_name(decision->outcome));
    if (decision->act == NULL) {
        value_text(policy, decision->before, before);
        fprintf(file, " to do: %s %s (noise %.0f%%)\n", words->goal, before, 100 * decision->noise);
        fprintf(file, "              %s\n", words->reason);
        return;
    }
    if (decision->outcome != STEER_WOULD)
        fprintf(file, " %" PRIu64, decision->number);
    fprintf(file, ": %s: %s -> %s", words->act,
            decision->outcome == STEER_UNDONE ? words->to : words->from,
            decision->outcome == STEER_UNDONE ? words->from : words->to);
    if (decision->outcome == STEER_TRIES || decision->outcome == STEER_WOULD)
        fprintf(file, ", predicted %s%+.0f%%", decision->is_rough ? "perhaps " : "",
                100 * decision->predicted);
    fputc('\n', file);
    if (decision->outcome == STEER_KEPT || decision->outcome == STEER_UNDONE)
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
