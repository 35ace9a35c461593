/* SPDX-License-Identifier: MIT */
/* whatif_text.c: what requests would take after a change, or after each of those that there are: tables, or
 * JSON. See show.h. */
#include "show/text/json.h"
#include "show/text/table.h"
#include "show/text/terminal.h"
#include "show/whatif/whatif_face.h"

#include <errno.h>
#include <string.h>

/* ---- text ---- */

static const struct table_column columns[] = {
    {"", false, 0, false},    {"RECORDED", true, 0, false}, {"MODEL OF IT", true, 1, false},
    {"THEN", true, 0, false}, {"CHANGE", true, 0, false},
};

/* A single request has none, nor have clients that hardly ask again. */
static bool has_rate(const struct whatif_figures *figures)
{
    return figures->per_second > 0;
}

static int add_rate(struct table *table, const struct whatif_answer *answer)
{
    char cells[4][UNIT_SIZE];

    show_frequency(answer->recorded.per_second, cells[0]);
    show_frequency(answer->base.per_second, cells[1]);
    show_frequency(answer->then.per_second, cells[2]);
    whatif_factor_text(answer->recorded.per_second, answer->then.per_second, cells[3]);
    return table_add(table,
                     (const char *const[]){"requests/s", cells[0], cells[1], cells[2], cells[3]});
}

static int add_latency(struct table *table, const char *name, uint64_t recorded, uint64_t base,
                       uint64_t then)
{
    char cells[4][UNIT_SIZE];

    show_duration(recorded, cells[0]);
    show_duration(base, cells[1]);
    show_duration(then, cells[2]);
    whatif_factor_text((double)recorded, (double)then, cells[3]);
    return table_add(table, (const char *const[]){name, cells[0], cells[1], cells[2], cells[3]});
}

static int print_table(const struct whatif_answer *answer, FILE *file)
{
    struct table table;
    int result = table_init(&table, file, columns, ARRAY_SIZE(columns));

    if (result == 0 && has_rate(&answer->recorded) && has_rate(&answer->then))
        result = add_rate(&table, answer);
    if (result == 0 && !answer->together)
        result = add_latency(&table, "latency P50", answer->recorded.median, answer->base.median,
                             answer->then.median);
    if (result == 0 && !answer->together)
        result = add_latency(&table, "latency P99", answer->recorded.p99, answer->base.p99,
                             answer->then.p99);
    if (result == 0)
        result = table_print(&table, file);
    table_done(&table);
    return result;
}

static void pool_text(const struct whatif_model *model, uint32_t pool, char text[PROCESS_NAME_SIZE])
{
    const struct whatif_pool *pools;

    whatif_pools(model, &pools);
    const struct whatif_party *party = whatif_party(model, pools[pool - 1].party);
    if (party->label[0] != '\0')
        show_text(party->label, PROCESS_NAME_SIZE - 1, text);
    else
        show_text(party->name, STREAM_NAME_SIZE, text);
}

static void print_busiest(const struct whatif_model *model, const struct whatif_figures *figures,
                          const char *when, FILE *file)
{
    char name[PROCESS_NAME_SIZE], busy[UNIT_SIZE];

    whatif_share_text(figures->busy, busy);
    if (figures->busiest != 0) {
        pool_text(model, figures->busiest, name);
        bool one = figures->busiest_workers == 1;
        fprintf(file, "%s, the worker%s of %s %s busy for %s%% of the time", when, one ? "" : "s",
                name, one ? "is" : "are", busy);
    } else {
        fprintf(file, "%s, the CPUs are busy with requests for %s%% of the time", when, busy);
    }
    if (figures->waiting >= 0.01) {
        whatif_share_text(figures->waiting, busy);
        fprintf(file, ", and requests wait for a free worker for %s%% of their latency", busy);
    }
    fputs(".", file);
}

static void print_load(const struct whatif_answer *answer, FILE *file)
{
    char used[UNIT_SIZE], rate[UNIT_SIZE];

    if (answer->used_up <= 0)
        return;
    whatif_share_text(answer->recorded.per_second / answer->used_up, used);
    show_frequency(answer->used_up, rate);
    fprintf(
        file,
        " The machine used %s%% of its CPU time: if all of that grows with requests, none is left "
        "at %s requests/s.",
        used, rate);
}

static void print_lock(const char *name, FILE *file)
{
    fprintf(file, "Workers of %s wait for locks: more of them may only wait longer. ", name);
}

static void print_pools(const struct whatif_model *model, const struct whatif_answer *answer,
                        FILE *file)
{
    const struct whatif_pool *pools;
    char name[PROCESS_NAME_SIZE];

    whatif_pools(model, &pools);
    if (answer->pool == 0)
        return;
    const struct whatif_pool *pool = &pools[answer->pool - 1];
    pool_text(model, answer->pool, name);
    fprintf(file, "%u worker%s of %s had requests in the recording%s", pool->all,
            pool->all == 1 ? "" : "s", name, pool->blocking ? "" : ", several at a time");
    if (pool->all > pool->workers)
        fprintf(file, ", at most %u of them at the same time", pool->workers);
    fputs(". ", file);
    if (whatif_shares_lock(pool))
        print_lock(name, file);
}

/* For each program of which more workers are among the changes shown. */
static void print_locks(const struct whatif_found *found, FILE *file)
{
    char name[PROCESS_NAME_SIZE];

    for (size_t i = 0; i < found->count; i++) {
        const struct whatif_trial *trial = &found->trials[i];
        if (trial->change.kind != WHATIF_REPLICAS || !trial->share_lock)
            continue;
        show_text(trial->change.name, PROCESS_NAME_SIZE - 1, name);
        print_lock(name, file);
    }
}

#define OFF_MUCH    0.1
#define KEPT_LITTLE 0.01

/* " The PERCENT% of TEXT", unless that is next to nothing. */
static void print_kept(double part, const char *text, FILE *file)
{
    char share[UNIT_SIZE];

    if (part < KEPT_LITTLE)
        return;
    whatif_share_text(part, share);
    fprintf(file, " The %s%% of %s", share, text);
}

static void print_range(const struct whatif_answer *answer, FILE *file)
{
    char rates[2][UNIT_SIZE], medians[2][UNIT_SIZE];

    show_frequency(answer->low.per_second, rates[0]);
    show_frequency(answer->high.per_second, rates[1]);
    show_duration(answer->low.median, medians[0]);
    show_duration(answer->high.median, medians[1]);
    if (has_rate(&answer->low))
        fprintf(file, "It may be between %s and %s requests/s%s", rates[0], rates[1],
                answer->together ? "" : ", P50 ");
    else
        fputs("The latency may be ", file);
    if (answer->low.median != 0)
        fprintf(file, "between %s and %s", medians[0], medians[1]);
    else if (!answer->together) /* if all was the CPU time of calls: nothing bounds it */
        fprintf(file, "at most %s", medians[1]);
    whatif_why_text(answer->why, false, file);
    fputs(".\n\n", file);
}

/* What stays in the model, and may go; unless the range has said so. `more_workers`: are, or may be, among the changes. */
static void print_all_kept(const struct whatif_answer *answer, bool more_workers, FILE *file)
{
    unsigned said = answer->is_range ? answer->why : 0;

    if ((said >> WHY_NO_CPU & 1) == 0)
        print_kept(answer->no_cpu,
                   more_workers
                       ? "requests' latency without a CPU, because other threads used it or one "
                         "was being woken, stays: the gain may be larger."
                       : "requests' latency without a CPU, because other threads used it, one was "
                         "being woken, or there is a limit, stays: the gain may be larger.",
                   file);
    if (more_workers && answer->lacked >= KEPT_LITTLE)
        fputs(" If a CPU limit caused time without a CPU, that grows with more workers: they gain "
              "less, or nothing.",
              file);
    if ((said >> WHY_QUEUES & 1) == 0)
        print_kept(answer->kept,
                   "the time in queues that no recorded request explains stays: the gain may be "
                   "larger.",
                   file);
    if (answer->calls_stay && (said >> WHY_CALLS & 1) == 0)
        fputs(" The CPU time of the calls that would go is not known, and stays: the gain may be "
              "larger.",
              file);
}

static void print_trust(const struct whatif_answer *answer, bool more_workers, uint32_t cpus,
                        FILE *file)
{
    char off[UNIT_SIZE], count[COUNTED_SIZE];

    whatif_share_text(answer->off, off);
    fprintf(file, "Without a change the model is %s%% off what was recorded%s.", off,
            answer->off > OFF_MUCH ? ": do not rely on it" : "");
    print_all_kept(answer, more_workers, file);
    fputs(" The model assumes that clients ask again as soon as they did, that what is not changed "
          "takes "
          "as long as it did, and ",
          file);
    if (cpus == 0)
        fputs("enough CPUs (how many there were was not recorded).", file);
    else
        fprintf(file, "%u CPU%s.", cpus, cpus == 1 ? "" : "s");
    if (answer->left_out > 0) {
        show_counted(answer->left_out, "later request", count);
        fprintf(file, " %s %s left out.", count, answer->left_out == 1 ? "is" : "are");
    }
    if (answer->early_stay)
        fputs(" Most requests may have waited for others before the recording.", file);
    if (answer->early == 1)
        fputs(
            " The first request may have waited for others before the recording, and is left out.",
            file);
    else if (answer->early > 1) {
        show_count(answer->early, count);
        fprintf(file,
                " The first %s requests may have waited for others before the recording, and are "
                "left out.",
                count);
    }
    fputs("\n", file);
}

static int print_text(const struct whatif_model *model, const struct whatif_answer *answer,
                      uint32_t cpus, FILE *file)
{
    char count[COUNTED_SIZE];
    struct folding folding;

    show_counted(answer->recorded.requests, "request", count);
    fprintf(file, "%s\n\n", count);
    int result = print_table(answer, file);
    fputs("\n", file);
    FILE *into = folding_begin(&folding, file);
    if (answer->is_range)
        print_range(answer, into);
    print_pools(model, answer, into);
    print_busiest(model, &answer->base, "As recorded", into);
    print_busiest(model, &answer->then, " Then", into);
    print_load(answer, into);
    fputs("\n\n", into);
    print_trust(answer, answer->pool != 0, cpus, into);
    folding_end(&folding);
    return result;
}

/* ---- all changes, as text ---- */

static const struct table_column trial_columns[] = {
    {"REQUESTS/S", true, 0, false}, {"LATENCY P50", true, 0, false}, {"P99", true, 1, false},
    {"CONCERNS", true, 2, false},   {"CHANGE", false, 0, false},
};

static int add_trial(struct table *table, const struct whatif_trial *trial)
{
    const struct whatif_figures *then = &trial->answer.then;
    char cells[4][UNIT_SIZE], option[CHANGE_SIZE];

    if (has_rate(then))
        show_frequency(then->per_second, cells[0]);
    else
        snprintf(cells[0], UNIT_SIZE, "-");
    show_duration(then->median, cells[1]);
    show_duration(then->p99, cells[2]);
    whatif_share_text(trial->concerns, cells[3]);
    strncat(cells[3], "%", UNIT_SIZE - strlen(cells[3]) - 1);
    whatif_option_text(&trial->change, option);
    return table_add(table, (const char *const[]){cells[0], cells[1], cells[2], cells[3], option});
}

static int print_trials(const struct whatif_found *found, FILE *file)
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

static bool has_more_workers(const struct whatif_found *found)
{
    for (size_t i = 0; i < found->count; i++)
        if (found->trials[i].change.kind == WHATIF_REPLICAS)
            return true;
    return false;
}

/* What changes promise beyond that. */
static void print_loads(const struct whatif_found *found, FILE *file)
{
    char rate[UNIT_SIZE];

    for (size_t i = 0; i < found->count; i++) {
        if (found->trials[i].answer.used_up <= 0)
            continue;
        show_frequency(found->trials[i].answer.used_up, rate);
        fprintf(file,
                "If all CPU time that the machine used grows with requests, none is left at %s "
                "requests/s. ",
                rate);
        return; /* it is the same of all */
    }
}

static int print_found(const struct whatif_model *model, const struct whatif_found *found,
                       uint32_t cpus, FILE *file)
{
    const struct whatif_figures *now = &found->now.recorded;
    char count[COUNTED_SIZE], median[UNIT_SIZE], p99[UNIT_SIZE], rate[UNIT_SIZE];
    bool is_known = has_rate(now);
    struct folding folding;

    show_counted(now->requests, "request", count);
    show_duration(now->median, median);
    show_duration(now->p99, p99);
    show_frequency(now->per_second, rate);
    fprintf(file, "%s, %s%slatency P50 %s, P99 %s\n\n", count, is_known ? rate : "",
            is_known ? " a second, " : "", median, p99);
    int result = print_trials(found, file);
    fputs("\n", file);
    FILE *into = folding_begin(&folding, file);
    show_counted(found->tried, "change", count);
    fprintf(into,
            "%s tried, one at a time; those that make requests faster by 1%% or more are shown. "
            "CONCERNS is the part of the requests' latency that a change affects. ",
            count);
    if (found->left > 0) {
        show_count(found->left, count);
        fprintf(into, "%s more that concern%s less %s not tried. ", count,
                found->left == 1 ? "s" : "", found->left == 1 ? "is" : "are");
    }
    print_locks(found, into);
    print_loads(found, into);
    print_busiest(model, &found->now.base, "As recorded", into);
    fputs("\n\n", into);
    print_trust(&found->now, has_more_workers(found), cpus, into);
    folding_end(&folding);
    return result;
}

/* ---- JSON ---- */

/* Not known: if all of the CPU time went with calls, nothing remains to judge by. */
static json_t *latency_json(uint64_t latency)
{
    return latency == 0 ? json_null() : json_count(latency);
}

static json_t *rate_json(const struct whatif_figures *figures)
{
    return has_rate(figures) ? json_real(figures->per_second) : json_null();
}

static json_t *figures_json(const struct whatif_model *model, const struct whatif_figures *figures,
                            bool is_simulated)
{
    char name[PROCESS_NAME_SIZE] = "";
    json_t *object =
        json_pack("{s:o,s:o,s:o}", "requests_per_second", rate_json(figures), "latency_p50_ns",
                  latency_json(figures->median), "latency_p99_ns", latency_json(figures->p99));

    if (!is_simulated || object == NULL)
        return object;
    if (figures->busiest != 0)
        pool_text(model, figures->busiest, name);
    if (json_object_set_new(object, "busiest",
                            figures->busiest == 0 ? json_string("cpus") : json_string(name)) < 0 ||
        json_object_set_new(object, "busy", json_real(figures->busy)) < 0 ||
        json_object_set_new(object, "waiting_for_workers", json_real(figures->waiting)) < 0) {
        json_decref(object);
        return NULL;
    }
    return object;
}

static json_t *pool_json(const void *context, size_t index)
{
    const struct whatif_model *model = context;
    const struct whatif_pool *pools;
    char name[PROCESS_NAME_SIZE];

    whatif_pools(model, &pools);
    pool_text(model, (uint32_t)index + 1, name);
    return json_pack("{s:s,s:o,s:o,s:b,s:o}", "name", name, "threads",
                     json_text(pools[index].kind, STREAM_NAME_SIZE), "workers",
                     json_count(pools[index].workers), "one_request_at_a_time",
                     pools[index].blocking, "visits", json_count(pools[index].visits));
}

/* An end of the range; null: the prediction is at most a tenth off. */
static json_t *end_json(const struct whatif_model *model, const struct whatif_answer *answer,
                        const struct whatif_figures *end)
{
    return answer->is_range ? figures_json(model, end, false) : json_null();
}

static json_t *at_best_json(const struct whatif_model *model, const struct whatif_answer *answer)
{
    return answer->at_best.requests > 0 ? figures_json(model, &answer->at_best, true) : json_null();
}

static int print_json(const struct whatif_model *model, const struct whatif_answer *answer,
                      uint32_t cpus, FILE *file)
{
    const struct whatif_pool *pools;
    size_t count = whatif_pools(model, &pools);

    return json_print(
        json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:f,s:f,s:f,s:o,s:o,s:o,s:o,s:o}", "requests",
                  json_count(answer->recorded.requests), "recorded",
                  figures_json(model, &answer->recorded, false), "model",
                  figures_json(model, &answer->base, true), "then",
                  figures_json(model, &answer->then, true), "at_best", at_best_json(model, answer),
                  "low", end_json(model, answer, &answer->low), "high",
                  end_json(model, answer, &answer->high), "off", answer->off, "no_cpu_kept",
                  answer->no_cpu, "queues_kept", answer->kept, "cpus",
                  cpus == 0 ? json_null() : json_count(cpus), "cpus_used_up_at",
                  answer->used_up > 0 ? json_real(answer->used_up) : json_null(), "left_out",
                  json_count(answer->left_out), "left_out_first", json_count(answer->early),
                  "pools", json_array_of(model, count, pool_json)),
        JSON_INDENT(1) | JSON_ENCODE_ANY, file);
}

int show_whatif(const struct whatif_model *model, const struct whatif_answer *answer, uint32_t cpus,
                FILE *file, const struct show_options *options)
{
    return options->json ? print_json(model, answer, cpus, file)
                         : print_text(model, answer, cpus, file);
}

static json_t *trial_json(const void *context, size_t index)
{
    const struct whatif_found *found = context;
    const struct whatif_trial *trial = &found->trials[index];
    char option[CHANGE_SIZE];

    whatif_option_text(&trial->change, option);
    return json_pack("{s:s,s:f,s:o,s:o,s:o}", "change", option, "concerns", trial->concerns,
                     "requests_per_second", rate_json(&trial->answer.then), "latency_p50_ns",
                     json_count(trial->answer.then.median), "latency_p99_ns",
                     json_count(trial->answer.then.p99));
}

static int print_found_json(const struct whatif_model *model, const struct whatif_found *found,
                            uint32_t cpus, FILE *file)
{
    return json_print(json_pack("{s:o,s:o,s:o,s:f,s:f,s:f,s:o,s:o,s:o,s:o,s:o,s:o}", "requests",
                                json_count(found->now.recorded.requests), "recorded",
                                figures_json(model, &found->now.recorded, false), "model",
                                figures_json(model, &found->now.base, true), "off", found->now.off,
                                "no_cpu_kept", found->now.no_cpu, "queues_kept", found->now.kept,
                                "cpus", cpus == 0 ? json_null() : json_count(cpus), "left_out",
                                json_count(found->now.left_out), "left_out_first",
                                json_count(found->now.early), "tried", json_count(found->tried),
                                "not_tried", json_count(found->left), "changes",
                                json_array_of(found, found->count, trial_json)),
                      JSON_INDENT(1) | JSON_ENCODE_ANY, file);
}

int show_whatif_search(const struct whatif_model *model, const struct whatif_found *found,
                       uint32_t cpus, FILE *file, const struct show_options *options)
{
    return options->json ? print_found_json(model, found, cpus, file)
                         : print_found(model, found, cpus, file);
}
