/* SPDX-License-Identifier: MIT */
/* whatif_run_text.c: what the elapsed time of a run would be after a change, or after each of those that there are: tables, or
 * JSON. See show.h. */
#include "show/text/json.h"
#include "show/text/table.h"
#include "show/text/terminal.h"
#include "show/whatif/whatif_face.h"

#include <string.h>

/* ---- text ---- */

static void time_text(double time, char text[UNIT_SIZE])
{
    show_duration((uint64_t)time, text);
}

static const struct table_column columns[] = {
    {"", false, 0, false},    {"RECORDED", true, 0, false}, {"MODEL OF IT", true, 1, false},
    {"THEN", true, 0, false}, {"CHANGE", true, 0, false},
};

static int print_table(const struct whatif_run_answer *answer, FILE *file)
{
    char cells[4][UNIT_SIZE];
    struct table table;
    int result = table_init(&table, file, columns, ARRAY_SIZE(columns));

    time_text(answer->recorded, cells[0]);
    time_text(answer->base.time, cells[1]);
    time_text(answer->then.time, cells[2]);
    whatif_factor_text(answer->recorded, answer->then.time, cells[3]);
    if (result == 0)
        result = table_add(
            &table, (const char *const[]){"elapsed", cells[0], cells[1], cells[2], cells[3]});
    if (result == 0)
        result = table_print(&table, file);
    table_done(&table);
    return result;
}

/* "As recorded, the largest part of the critical path is gzip: computing, 92%." `time`: of the whole path. */
static void print_most(const char *when, const struct whatif_part *most, double time, FILE *file)
{
    char name[PROCESS_NAME_SIZE], share[UNIT_SIZE];

    if (most->time <= 0 || time <= 0)
        return;
    show_text(most->name, PROCESS_LABEL_SIZE, name);
    whatif_share_text(most->time / time, share);
    fprintf(file, "%s, the largest part of the critical path is %s: %s, %s%%.", when, name,
            elapsed_kind_name(most->kind), share);
}

#define OFF_MUCH 0.1

static bool is_range(const struct whatif_run_answer *answer)
{
    return whatif_is_range(answer->then.time, answer->low, answer->high);
}

static void print_range(const struct whatif_run_answer *answer, FILE *file)
{
    char low[UNIT_SIZE], high[UNIT_SIZE], collects[UNIT_SIZE];

    if (is_range(answer)) {
        time_text(answer->low, low);
        time_text(answer->high, high);
        fprintf(file, "It may be between %s and %s", low, high);
        whatif_why_text(answer->why, true, file);
        fputs(".\n\n", file);
    }
    if (answer->collects > 0) {
        time_text(answer->collects, collects);
        fprintf(file,
                "Collecting so many bytes takes %s on average at the recorded rate, longer where "
                "fewer bytes come; the first of them waits as long.\n\n",
                collects);
    }
}

#define CALLS_LITTLE 0.01

/* Whether calls that end with their waits may save more, and the range does not say it. With larger messages, fewer calls are
 * part of the prediction. */
static bool hides_calls(const struct whatif_run_answer *answer)
{
    bool said = is_range(answer) && (answer->why >> WHY_CALLS & 1) != 0;

    return answer->at_best > 0 && answer->collects == 0 && !said &&
           answer->at_best < (1 - CALLS_LITTLE) * answer->then.time;
}

static void print_trust(const struct whatif_run_answer *answer, uint32_t cpus, FILE *file)
{
    char off[UNIT_SIZE];

    whatif_share_text(answer->off, off);
    fprintf(file, "Without a change the model is %s%% off what was recorded%s.", off,
            answer->off > OFF_MUCH ? ": do not rely on it" : "");
    if (hides_calls(answer))
        fputs(" The CPU time of the calls that would go is not known, and stays: the gain may be "
              "larger.",
              file);
    fputs(" The model assumes that events keep their order, that what is not changed takes as "
          "long as it did, and ",
          file);
    if (cpus == 0)
        fputs("enough CPUs (how many there were was not recorded).\n", file);
    else
        fprintf(file, "%u CPU%s.\n", cpus, cpus == 1 ? "" : "s");
}

static int print_text(const struct whatif_run_answer *answer, uint32_t cpus, FILE *file)
{
    struct folding folding;
    int result = print_table(answer, file);

    fputs("\n", file);
    FILE *into = folding_begin(&folding, file);
    print_range(answer, into);
    print_most("As recorded", &answer->base.most, answer->base.time, into);
    print_most(" Then", &answer->then.most,
               answer->then.time * answer->base.time / answer->recorded, into);
    fputs("\n\n", into);
    print_trust(answer, cpus, into);
    folding_end(&folding);
    return result;
}

static const struct table_column trial_columns[] = {
    {"ELAPSED", true, 0, false},
    {"SAVED", true, 0, false},
    {"CONCERNS", true, 1, false},
    {"CHANGE", false, 0, false},
};

static int add_trial(struct table *table, const struct whatif_run_trial *trial)
{
    const struct whatif_run_answer *answer = &trial->answer;
    char cells[3][UNIT_SIZE], option[CHANGE_SIZE];

    time_text(answer->then.time, cells[0]);
    whatif_share_text(1 - answer->then.time / answer->recorded, cells[1]);
    whatif_share_text(trial->concerns, cells[2]);
    for (int i = 1; i < 3; i++)
        strncat(cells[i], "%", UNIT_SIZE - strlen(cells[i]) - 1);
    whatif_option_text(&trial->change, option);
    return table_add(table, (const char *const[]){cells[0], cells[1], cells[2], option});
}

static int print_trials(const struct whatif_run_found *found, FILE *file)
{
    struct table table;
    int result = table_init(&table, file, trial_columns, ARRAY_SIZE(trial_columns));

    for (size_t i = 0; i < found->count && result == 0; i++)
        result = add_trial(&table, &found->trials[i]);
    if (result == 0)
        result = table_print(&table, file);
    table_done(&table);
    return result;
}

static int print_found(const struct whatif_run_found *found, uint32_t cpus, FILE *file)
{
    char count[COUNTED_SIZE], elapsed[UNIT_SIZE];
    struct folding folding;

    time_text(found->now.recorded, elapsed);
    fprintf(file, "%s elapsed\n\n", elapsed);
    int result = print_trials(found, file);
    fputs("\n", file);
    FILE *into = folding_begin(&folding, file);
    show_counted(found->tried, "change", count);
    fprintf(into,
            "%s tried, one at a time; those that save 1%% or more are shown. CONCERNS is the part "
            "of the critical path that a change affects. ",
            count);
    if (found->left > 0) {
        show_count(found->left, count);
        fprintf(into, "%s more that concern%s less %s not tried. ", count,
                found->left == 1 ? "s" : "", found->left == 1 ? "is" : "are");
    }
    print_most("As recorded", &found->now.base.most, found->now.base.time, into);
    fputs("\n\n", into);
    print_trust(&found->now, cpus, into);
    folding_end(&folding);
    return result;
}

/* ---- JSON ---- */

static json_t *elapsed_json(double time)
{
    return json_pack("{s:o}", "elapsed_ns", json_count((uint64_t)time));
}

/* `path`: the length of the path that `most` is a part of. */
static json_t *time_json(const struct whatif_time *time, double path)
{
    return json_pack("{s:o,s:{s:o,s:s,s:f}}", "elapsed_ns", json_count((uint64_t)time->time),
                     "most_of_path", "name",
                     json_text(time->most.name == NULL ? "" : time->most.name, PROCESS_LABEL_SIZE),
                     "spent_on", elapsed_kind_key(time->most.kind), "share",
                     path > 0 ? time->most.time / path : 0);
}

static int print_json(const struct whatif_run_answer *answer, uint32_t cpus, FILE *file)
{
    bool has_range = is_range(answer);
    double path = answer->then.time * answer->base.time / answer->recorded;

    return json_print(
        json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:f,s:o,s:o}", "recorded",
                  elapsed_json(answer->recorded), "model",
                  time_json(&answer->base, answer->base.time), "then",
                  time_json(&answer->then, path), "at_best",
                  answer->at_best > 0 ? elapsed_json(answer->at_best) : json_null(), "low",
                  has_range ? elapsed_json(answer->low) : json_null(), "high",
                  has_range ? elapsed_json(answer->high) : json_null(), "off", answer->off, "cpus",
                  cpus == 0 ? json_null() : json_count(cpus), "collects_ns",
                  answer->collects > 0 ? json_count((uint64_t)answer->collects) : json_null()),
        JSON_INDENT(1) | JSON_ENCODE_ANY, file);
}

int show_whatif_run(const struct whatif_run_answer *answer, uint32_t cpus, FILE *file,
                    const struct show_options *options)
{
    return options->json ? print_json(answer, cpus, file) : print_text(answer, cpus, file);
}

static json_t *trial_json(const void *context, size_t index)
{
    const struct whatif_run_found *found = context;
    const struct whatif_run_trial *trial = &found->trials[index];
    char option[CHANGE_SIZE];

    whatif_option_text(&trial->change, option);
    return json_pack("{s:s,s:f,s:o}", "change", option, "concerns", trial->concerns, "elapsed_ns",
                     json_count((uint64_t)trial->answer.then.time));
}

static int print_found_json(const struct whatif_run_found *found, uint32_t cpus, FILE *file)
{
    return json_print(
        json_pack("{s:o,s:o,s:f,s:o,s:o,s:o,s:o}", "recorded", elapsed_json(found->now.recorded),
                  "model", time_json(&found->now.base, found->now.base.time), "off", found->now.off,
                  "cpus", cpus == 0 ? json_null() : json_count(cpus), "tried",
                  json_count(found->tried), "not_tried", json_count(found->left), "changes",
                  json_array_of(found, found->count, trial_json)),
        JSON_INDENT(1) | JSON_ENCODE_ANY, file);
}

int show_whatif_run_search(const struct whatif_run_found *found, uint32_t cpus, FILE *file,
                           const struct show_options *options)
{
    return options->json ? print_found_json(found, cpus, file) : print_found(found, cpus, file);
}
