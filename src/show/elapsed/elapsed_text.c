/* SPDX-License-Identifier: MIT */
/* elapsed_text.c: where the elapsed time went, as tables. See elapsed_face.h. */
#include "show/elapsed/elapsed_face.h"
#include "show/statistics/statistics_words.h"
#include "show/text/matching_face.h"
#include "show/text/table.h"
#include "show/text/terminal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void share_text(uint64_t part, uint64_t whole, char text[UNIT_SIZE + 1])
{
    show_percent(part, whole, text);
    strcat(text, "%");
}

static void print_rest(size_t shown, size_t count, FILE *file)
{
    if (shown < count)
        fprintf(file, "(%zu more: --all)\n", count - shown);
}

static size_t shown_of(size_t count, bool all)
{
    return all || count < ELAPSED_FEW_ROWS ? count : ELAPSED_FEW_ROWS;
}

/* ---- accounts ---- */

static int print_kinds(const struct elapsed_account *account, FILE *file)
{
    static const struct table_column columns[] = {
        {"SHARE", true}, {"TIME", true}, {"SPENT ON", false}};
    bool done[ELAPSED_KIND_COUNT] = {false};
    struct table table;
    int result = table_init(&table, file, columns, ARRAY_SIZE(columns));

    for (unsigned i = 0; i < ELAPSED_KIND_COUNT && result == 0; i++) {
        char share[UNIT_SIZE + 1], time[UNIT_SIZE];
        unsigned most = ELAPSED_KIND_COUNT;
        for (unsigned kind = 0; kind < ELAPSED_KIND_COUNT; kind++)
            if (!done[kind] && account->by_kind[kind] > 0 &&
                (most == ELAPSED_KIND_COUNT || account->by_kind[kind] > account->by_kind[most]))
                most = kind;
        if (most == ELAPSED_KIND_COUNT)
            break;
        done[most] = true;
        share_text(account->by_kind[most], account->time, share);
        show_duration(account->by_kind[most], time);
        result = table_add(&table, (const char *[]){share, time, elapsed_kind_name(most)});
    }
    if (result == 0)
        result = table_print(&table, file);
    table_done(&table);
    return result;
}

static int print_rows(const struct elapsed_account *account, FILE *file, bool all)
{
    static const struct table_column columns[] = {
        {"SHARE", true},    {"TIME", true},      {"TIMES", true, .rank = 1},
        {"PROCESS", false}, {"SPENT ON", false}, {"WHAT", false}};
    size_t shown = shown_of(account->row_count, all);
    struct table table;
    int result = table_init(&table, file, columns, ARRAY_SIZE(columns));

    table.whole = all;
    for (size_t i = 0; i < shown && result == 0; i++) {
        const struct elapsed_row *row = &account->rows[i];
        char share[UNIT_SIZE + 1], time[UNIT_SIZE], count[UNIT_SIZE], thread[ELAPSED_THREAD_SIZE];
        char what[ELAPSED_TEXT_SIZE];
        share_text(row->time, account->time, share);
        show_duration(row->time, time);
        show_count(row->count, count);
        elapsed_thread_text(row, thread);
        elapsed_what(row, what);
        result = table_add(&table, (const char *[]){share, time, count, thread,
                                                    elapsed_kind_name(row->kind), what});
    }
    if (result == 0)
        result = table_print(&table, file);
    table_done(&table);
    print_rest(shown, account->row_count, file);
    return result;
}

static int print_account(const struct elapsed_account *account, FILE *file, bool all)
{
    int result = print_kinds(account, file);

    if (result == 0)
        fputc('\n', file);
    return result == 0 ? print_rows(account, file, all) : result;
}

/* ---- the run ---- */

/* Holders for less than this part of the elapsed time are left out. */
#define SHORT_HOLD 20u

static size_t holders_of(const struct elapsed *elapsed, bool all)
{
    size_t count = 0;

    while (count < elapsed->holder_count &&
           (all || elapsed->holders[count].did.time >= elapsed->run.time / SHORT_HOLD))
        count++;
    return count;
}

static int print_holders(const struct elapsed *elapsed, FILE *file, bool all)
{
    static const struct table_column columns[] = {
        {"SHARE", true},   {"TIME", true},        {"PROCESS", false},  {"SPENT ON", false},
        {"WAITING", true}, {"THREADS OF", false}, {"WAITED IN", false}};
    size_t shown = holders_of(elapsed, all);
    struct table table;

    if (shown == 0)
        return 0;
    fputs("\nMeanwhile other threads waited for a lock or a condition, or for a thread to end:\n\n",
          file);
    int result = table_init(&table, file, columns, ARRAY_SIZE(columns));
    table.whole = all;
    for (size_t i = 0; i < shown && result == 0; i++) {
        const struct elapsed_holder *holder = &elapsed->holders[i];
        char share[UNIT_SIZE + 1], time[UNIT_SIZE], thread[ELAPSED_THREAD_SIZE], count[UNIT_SIZE];
        char waiter[ELAPSED_THREAD_SIZE], what[ELAPSED_TEXT_SIZE];
        share_text(holder->did.time, elapsed->run.time, share);
        show_duration(holder->did.time, time);
        elapsed_thread_text(&holder->did, thread);
        show_count(holder->threads, count);
        elapsed_thread_text(&holder->waited, waiter);
        elapsed_what(&holder->waited, what);
        result = table_add(&table, (const char *[]){share, time, thread,
                                                    elapsed_kind_name(holder->did.kind), count,
                                                    waiter, what});
    }
    if (result == 0)
        result = table_print(&table, file);
    table_done(&table);
    return result;
}

#define FILES_FEW 10u

int elapsed_print_files(const struct elapsed *elapsed, FILE *file, bool all)
{
    static const struct table_column columns[] = {
        {"SHARE", true}, {"PROCESS", false}, {"READ BY", false}, {"BYTES", true}, {"FILE", false}};
    size_t shown = all || elapsed->file_count < FILES_FEW ? elapsed->file_count : FILES_FEW;
    struct table table;

    if (shown == 0)
        return 0;
    fputs("\nFiles that one of these processes wrote, and another one read later (inferred)\n",
          file);
    int result = table_init(&table, file, columns, ARRAY_SIZE(columns));
    table.whole = all;
    for (size_t i = 0; i < shown && result == 0; i++) {
        const struct elapsed_file *row = &elapsed->files[i];
        char share[UNIT_SIZE + 1], from[PLACED_PROCESS_SIZE], to[PLACED_PROCESS_SIZE];
        char bytes[UNIT_SIZE], name[ENDPOINT_SIZE + 1];
        share_text(row->time, elapsed->run.time, share);
        elapsed_process_text(&row->from, from);
        elapsed_process_text(&row->to, to);
        show_bytes(row->bytes, bytes);
        show_text(row->name, ENDPOINT_SIZE, name);
        result = table_add(&table, (const char *[]){share, from, to, bytes, name});
    }
    if (result == 0)
        result = table_print(&table, file);
    table_done(&table);
    print_rest(shown, elapsed->file_count, file);
    return result;
}

/* Whether the process that is named began later: another one, or a trace, was there before. */
static bool began_later(const struct elapsed *elapsed)
{
    return elapsed->run.by_kind[ELAPSED_NOT_STARTED] > 0;
}

static void print_run_heading(const struct elapsed *elapsed, FILE *file)
{
    char time[UNIT_SIZE], process[PROCESS_NAME_SIZE];

    show_duration(elapsed->run.time, time);
    if (elapsed->from_start) {
        show_process(elapsed->process, elapsed->pid, process);
        fprintf(file,
                elapsed->chosen || elapsed->commands > 1 || began_later(elapsed)
                    ? "%s passed from the first event of all to the last of %s. "
                      "Backwards from there, it was spent on:\n\n"
                    : "%s passed from the start of %s to its end. Backwards from the "
                      "end, it was spent on:\n\n",
                time, process);
    } else {
        fprintf(file,
                "%s passed from the first event to the last. Backwards from the last, it was "
                "spent on:\n\n",
                time);
    }
}

static int print_run(const struct elapsed *elapsed, FILE *file, bool all)
{
    struct folding folding;
    char text[COUNTED_SIZE];

    print_run_heading(elapsed, folding_begin(&folding, file));
    folding_end(&folding);
    int result = print_account(&elapsed->run, file, all);
    if (result == 0)
        result = print_holders(elapsed, file, all);
    if (result == 0)
        result = elapsed_print_files(elapsed, file, all);
    FILE *into = folding_begin(&folding, file);
    show_counted(elapsed->run.intervals, "interval", text);
    fprintf(into, "\nIt consists of %s. The parts add up to the elapsed time.\n", text);
    if (elapsed->requests.count > 0) {
        show_counted(elapsed->requests.count, "request", text);
        fprintf(into, "\n%s: see dpm why --requests.\n", text);
    }
    folding_end(&folding);
    return result;
}

/* ---- requests ---- */

static void print_requests_sums(const struct elapsed_requests *requests, FILE *file)
{
    char count[COUNTED_SIZE], time[UNIT_SIZE], median[UNIT_SIZE], p99[UNIT_SIZE], most[UNIT_SIZE];

    show_counted(requests->followed, "request", count);
    show_duration(requests->account.time, time);
    show_duration(requests->median, median);
    show_duration(requests->p99, p99);
    show_duration(requests->slowest.time, most);
    if (requests->followed == 1)
        fprintf(file, "%s took %s.", count, time);
    else
        fprintf(file, "%s took %s together (median %s, 99th percentile %s, slowest %s).", count,
                time, median, p99, most);
    if (requests->followed < requests->count) {
        show_counted(requests->count, "request", count);
        fprintf(file, " They stand for %s.", count);
    }
    if (requests->unanswered > 0) {
        show_counted(requests->unanswered, "question", count);
        fprintf(file, " %s had no answer.", count);
    }
    if (requests->unfinished > 0) {
        show_count(requests->unfinished, count);
        fprintf(file, " %s more %s in progress at the end.", count,
                requests->unfinished == 1 ? "was" : "were");
    }
}

static int print_two_requests(const struct elapsed_requests *requests, FILE *file, bool all)
{
    if (requests->followed == 1)
        return elapsed_print_request(&requests->slowest, "The request", file, all);
    int result = elapsed_print_request(&requests->typical, "A typical request", file, all);
    return result == 0 ? elapsed_print_request(&requests->slowest, "The slowest request", file, all)
                       : result;
}

static void print_no_answers(const struct elapsed_requests *requests, FILE *file)
{
    uint64_t unanswered = requests->unanswered, unfinished = requests->unfinished;
    char count[UNIT_SIZE];

    if (unanswered + unfinished == 0) {
        fputs("There are no requests.\n", file);
        return;
    }
    /* of a thread that has several at a time, `unfinished` is a part only */
    if (unanswered == 0) {
        fputs("No request was answered before the end of the recording.\n", file);
        return;
    }
    show_count(unanswered, count);
    fprintf(file, "No request had an answer: %s %s asked again or given up%s.\n", count,
            unanswered == 1 ? "was" : "were",
            unfinished > 0 ? ", others were in progress at the end" : "");
}

static int print_requests(const struct elapsed *elapsed, FILE *file, bool all)
{
    const struct elapsed_requests *requests = &elapsed->requests;
    struct folding folding;

    if (requests->count == 0) {
        print_no_answers(requests, file);
        return 0;
    }
    FILE *into = folding_begin(&folding, file);
    print_requests_sums(requests, into);
    fprintf(into, " Backwards from the last byte of %s answer, the time was spent on:\n\n",
            requests->followed == 1 ? "its" : "each");
    folding_end(&folding);
    int result = print_account(&requests->account, file, all);
    return result == 0 ? print_two_requests(requests, file, all) : result;
}

/* The same account, by process. */
static int print_path(const struct elapsed *elapsed, FILE *file, bool all)
{
    const struct elapsed_requests *requests = &elapsed->requests;
    struct folding folding;
    FILE *into = folding_begin(&folding, file);
    char recorded[UNIT_SIZE];

    show_duration(elapsed->run.time, recorded);
    fprintf(
        into,
        "No end that all work leads to was recorded in the %s from the first event to the last, "
        "so the critical path is that of requests. ",
        recorded);
    print_requests_sums(requests, into);
    if (requests->followed == 1)
        fputs(" Backwards from the last byte of its answer, the time was spent on:\n\n", into);
    else
        fputs(" Their times are added up, also where they overlap. Backwards from the last byte of "
              "each answer, they were spent on:\n\n",
              into);
    folding_end(&folding);
    int result = elapsed_print_path(requests, file, all);
    return result == 0 ? print_two_requests(requests, file, all) : result;
}

/* ---- waits ---- */

static void print_waits_heading(bool chosen, FILE *file)
{
    if (!chosen)
        fputs("There is neither a command from its start to its end, nor a request with an "
              "answer. ",
              file);
    fputs("Waits that had not ended, or began before the recording, are not listed. ", file);
    fputs("What threads waited for (waits of several threads overlap):\n\n", file);
}

static int print_waits(const struct elapsed *elapsed, bool chosen, FILE *file, bool all)
{
    static const struct table_column columns[] = {{"TIME", true},
                                                  {"TIMES", true, .rank = 1},
                                                  {"LONGEST", true, .rank = 2},
                                                  {"PROCESS", false},
                                                  {"WAITED FOR", false},
                                                  {"WHAT", false},
                                                  {"ENDED BY", false, .rank = 1}};
    size_t shown = shown_of(elapsed->wait_count, all);
    struct folding folding;
    struct table table;
    int result = table_init(&table, file, columns, ARRAY_SIZE(columns));

    print_waits_heading(chosen, folding_begin(&folding, file));
    folding_end(&folding);
    table.whole = all;
    for (size_t i = 0; i < shown && result == 0; i++) {
        const struct elapsed_wait *wait = &elapsed->waits[i];
        char time[UNIT_SIZE], count[UNIT_SIZE], longest[UNIT_SIZE], thread[ELAPSED_THREAD_SIZE];
        char what[ELAPSED_TEXT_SIZE], ender[PLACED_PROCESS_SIZE] = "-";
        show_duration(wait->what.time, time);
        show_count(wait->what.count, count);
        show_duration(wait->longest, longest);
        elapsed_thread_text(&wait->what, thread);
        elapsed_what(&wait->what, what);
        if (wait->ender[0] != '\0')
            show_placed_process(wait->ender, wait->ender_pid, "", wait->ender_machine, ender);
        result =
            table_add(&table, (const char *[]){time, count, longest, thread,
                                               elapsed_wait_name(wait->what.kind), what, ender});
    }
    if (result == 0)
        result = table_print(&table, file);
    table_done(&table);
    print_rest(shown, elapsed->wait_count, file);
    return result;
}

/* ---- what would tell more ---- */

#define VAGUE_PART 100u /* smaller parts of the account do not matter */

static bool matters(const struct elapsed_account *account, enum elapsed_kind kind)
{
    return account->by_kind[kind] > 0 && account->by_kind[kind] >= account->time / VAGUE_PART;
}

/* What the account leaves open, and how to record it. */
static void print_hints(const struct elapsed *elapsed, const struct elapsed_account *account,
                        FILE *file)
{
    char words[LEFT_OUT_TEXT_SIZE];
    struct folding folding;
    FILE *into = folding_begin(&folding, file);

    left_out_text(elapsed->flags_left_out, elapsed->kinds_left_out, words);
    if (elapsed->has_rules)
        fputs("\nSelection rules removed events: what ended a wait may be one of these, and then "
              "its time counts "
              "for something else. Only a recording without rules accounts for all of the time.\n",
              into);
    else if (words[0] != '\0')
        fprintf(
            into,
            "\nWhat ended a wait may be missing, because these were not metered: %s. --flags all "
            "and --kinds all record them (with the kernel meter).\n",
            words);
    else if (matters(account, ELAPSED_UNKNOWN))
        fputs("\nUnknown may be a wait whose end made no record (a timeout of a socket makes "
              "none) or lost it, a thread that ran later than records explain, or the time before "
              "a thread's first record. dpm why --waits lists waits.\n",
              into);
    if (matters(account, ELAPSED_OUTSIDE))
        fputs("\nTo know what an unmonitored peer did, meter it at the same time (dpm acquire "
              "--pid PID, on its machine), and give dpm why both traces.\n",
              into);
    if (matters(account, ELAPSED_NOT_FOUND))
        fputs(
            "\nA peer not found is unmonitored, or metered behind a translated address (NAT): see "
            "dpm-matching(7).\n",
            into);
    if (matters(account, ELAPSED_CHILD))
        fprintf(into,
                "\nA process closes its files after its last record, and may lack a CPU "
                "meanwhile.%s\n",
                elapsed->commands > 0 ? "" /* dpm run metered all descendants */
                                      : " To know what an unmonitored child did, meter it, too: "
                                        "dpm acquire --descendants, or dpm run.");
    folding_end(&folding);
}

/* ---- together ---- */

static void print_lost(const struct recorded *recorded, FILE *file)
{
    struct folding folding;
    char text[COUNTED_SIZE];

    if (recorded->lost == 0)
        return;
    show_counted(recorded->lost, "record", text);
    fprintf(folding_begin(&folding, file),
            "\n%s %s lost: what ended a wait may be missing, and the time before it counts "
            "for the wait.\n",
            text, recorded->lost == 1 ? "was" : "were");
    folding_end(&folding);
}

int show_elapsed(const struct elapsed *elapsed, const struct recorded *recorded, FILE *file,
                 const struct show_options *options, enum elapsed_view view)
{
    int result;

    if (options->json)
        return elapsed_print_json(elapsed, recorded, file);
    if (view == ELAPSED_VIEW_WAITS)
        result = print_waits(elapsed, true, file, options->all);
    else if (view == ELAPSED_VIEW_PATH)
        result = print_path(elapsed, file, options->all);
    else if (view == ELAPSED_VIEW_REQUESTS || (!elapsed->from_start && elapsed->requests.count > 0))
        result = print_requests(elapsed, file, options->all);
    else if (elapsed->from_start)
        result = print_run(elapsed, file, options->all);
    else
        result = print_waits(elapsed, false, file, options->all);
    print_lost(recorded, file);
    if (view != ELAPSED_VIEW_WAITS && result == 0)
        print_hints(elapsed,
                    view != ELAPSED_VIEW_REQUESTS && elapsed->from_start
                        ? &elapsed->run
                        : &elapsed->requests.account,
                    file);
    return result;
}
