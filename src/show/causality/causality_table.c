/* SPDX-License-Identifier: MIT */
/*
 * causality_table.c: request paths as text tables. See show.h.
 *
 *      processes and their letters; request signatures with latencies; substrings; transitions;
 *      the slowest requests; how reliable the result is
 */
#include "show/causality/causality_face.h"
#include "show/statistics/statistics_words.h"
#include "show/text/matching_face.h"
#include "show/text/table.h"
#include "show/text/terminal.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- choosing rows: the largest, in their original order ---- */

static int compare_counts(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;

    return a > b ? -1 : a < b;
}

/* The least count among the `most` largest, and how many rows of exactly that count belong to them. Counts 9 7 7 7 2
 * and most 3: least 7, 2 equal. */
static int find_least(const uint64_t *counts, size_t count, size_t most, uint64_t *ret_least,
                      size_t *ret_equal)
{
    *ret_least = 0;
    *ret_equal = SIZE_MAX;
    if (count <= most)
        return 0;
    uint64_t *sorted = malloc(count * sizeof(*sorted));
    if (sorted == NULL)
        return -ENOMEM;
    memcpy(sorted, counts, count * sizeof(*sorted));
    qsort(sorted, count, sizeof(*sorted), compare_counts);
    *ret_least = sorted[most - 1];
    *ret_equal = 0;
    for (size_t i = most; i > 0 && sorted[i - 1] == *ret_least; i--)
        ++*ret_equal;
    free(sorted);
    return 0;
}

/* Rows; only the largest are shown. */
struct listing {
    size_t count;
    /* the sort key of a row, and the count that the row "others" adds up */
    uint64_t (*rank_of)(const struct causality *causality, size_t index);
    uint64_t (*count_of)(const struct causality *causality, size_t index);
    int (*add)(struct table *table, const struct causality *causality, size_t index);
    int (*add_others)(struct table *table, uint64_t rows, uint64_t count);
};

static int add_rows(struct table *table, const struct causality *causality,
                    const struct listing *listing, const uint64_t *ranks, size_t most)
{
    uint64_t least, other_rows = 0, others = 0;
    size_t equal;
    int result = find_least(ranks, listing->count, most, &least, &equal);

    for (size_t i = 0; i < listing->count && result == 0; i++) {
        bool shown = ranks[i] > least || (ranks[i] == least && equal > 0);
        if (shown && ranks[i] == least)
            equal--;
        if (shown) {
            result = listing->add(table, causality, i);
        } else {
            other_rows++;
            others += listing->count_of(causality, i);
        }
    }
    return result == 0 && other_rows > 0 ? listing->add_others(table, other_rows, others) : result;
}

static int print_listing(const struct causality *causality, const struct listing *listing,
                         const struct table_column *columns, size_t column_count, bool all,
                         FILE *file)
{
    uint64_t *ranks = malloc((listing->count + 1) * sizeof(*ranks));
    struct table table;
    int result = table_init(&table, file, columns, column_count);

    table.whole = all;
    if (ranks == NULL)
        result = -ENOMEM;
    for (size_t i = 0; result == 0 && i < listing->count; i++)
        ranks[i] = listing->rank_of(causality, i);
    if (result == 0)
        result = add_rows(&table, causality, listing, ranks, all ? SIZE_MAX : LARGEST);
    if (result == 0)
        result = table_print(&table, file);
    table_done(&table);
    free(ranks);
    return result;
}

static void share_text(uint64_t count, uint64_t of, char text[UNIT_SIZE])
{
    show_percent(count, of, text);
}

/* ---- processes ---- */

static uint64_t requests_of(const struct causality *causality, size_t index)
{
    return causality->processes[index].requests;
}

/* Server processes first: the signatures refer to them. */
static uint64_t process_rank(const struct causality *causality, size_t index)
{
    return causality->processes[index].role == ROLE_SERVER ? UINT64_MAX
                                                           : requests_of(causality, index);
}

static int add_process(struct table *table, const struct causality *causality, size_t index)
{
    const struct causality_process *process = &causality->processes[index];
    char label[PROCESS_LABEL_SIZE], name[PROCESS_LABEL_SIZE], pid[UNIT_SIZE] = "-",
                                                              requests[UNIT_SIZE], trace[UNIT_SIZE];

    process_label(process->name, process->named_alike ? process->command : NULL, label);
    show_text(label, PROCESS_LABEL_SIZE - 1, name);
    if (process->pid != 0)
        snprintf(pid, sizeof(pid), "%u", process->pid);
    show_count(process->requests, requests);
    snprintf(trace, sizeof(trace), "%u", process->origin + 1);
    return table_add(table,
                     (const char *[]){process->letter[0] == '\0' ? "-" : process->letter,
                                      causality_role_name(process->role),
                                      process->pid == 0 ? "unknown" : name, pid, trace, requests});
}

static int add_other_processes(struct table *table, uint64_t rows, uint64_t count)
{
    char requests[UNIT_SIZE], others[UNIT_SIZE];

    show_count(count, requests);
    others_text(rows, others);
    return table_add(table, (const char *[]){"-", "", others, "", "", requests});
}

static int print_processes(const struct causality *causality, FILE *file, bool all)
{
    const struct table_column columns[] = {
        {"LETTER", false},
        {"ROLE", false},
        {"PROCESS", false},
        {"PID", true},
        {causality->traces > 1 ? "TRACE" : NULL, true},
        {"REQUESTS MADE", true},
    };
    const struct listing listing = {causality->process_count, process_rank, requests_of,
                                    add_process, add_other_processes};

    print_title(file, "Processes");
    return print_listing(causality, &listing, columns, ARRAY_SIZE(columns), all, file);
}

/* ---- paths ---- */

static uint64_t path_count_of(const struct causality *causality, size_t index)
{
    return causality->paths[index].count;
}

static uint64_t all_paths(const struct causality *causality)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < causality->path_count; i++)
        sum += causality->paths[i].count;
    return sum;
}

static int add_path(struct table *table, const struct causality *causality, size_t index)
{
    const struct causality_path *path = &causality->paths[index];
    uint64_t values = histogram_count(&path->latency);
    char count[UNIT_SIZE], share[UNIT_SIZE], times[4][UNIT_SIZE] = {"-", "-", "-", "-"};

    show_count(path->count, count);
    share_text(path->count, all_paths(causality), share);
    if (values > 0) {
        show_duration(histogram_sum(&path->latency) / values, times[0]);
        show_duration(histogram_quantile(&path->latency, 0.5), times[1]);
        show_duration(histogram_quantile(&path->latency, 0.99), times[2]);
        show_duration(histogram_max(&path->latency), times[3]);
    }
    return table_add(table, (const char *[]){path->string, count, share, times[0], times[1],
                                             times[2], times[3]});
}

static int add_other_paths(struct table *table, uint64_t rows, uint64_t count)
{
    char counted[UNIT_SIZE], others[UNIT_SIZE];

    show_count(count, counted);
    others_text(rows, others);
    return table_add(table, (const char *[]){others, counted, "", "", "", "", ""});
}

static int print_paths(const struct causality *causality, FILE *file, bool all)
{
    static const struct table_column columns[] = {
        {"STRING", false},
        {"COUNT", true},
        {"%", true, .rank = 1, .detail = true},
        {"LATENCY", true},
        {"P50", true, .detail = true},
        {"P99", true, .rank = 1, .detail = true},
        {"MAX", true, .rank = 1, .detail = true},
    };
    const struct listing listing = {causality->path_count, path_count_of, path_count_of, add_path,
                                    add_other_paths};

    print_title(file, "Paths of requests");
    return print_listing(causality, &listing, columns, ARRAY_SIZE(columns), all, file);
}

/* ---- substrings ---- */

static uint64_t substring_count_of(const struct causality *causality, size_t index)
{
    return causality->substrings[index].count;
}

static int add_substring(struct table *table, const struct causality *causality, size_t index)
{
    char count[UNIT_SIZE];

    show_count(causality->substrings[index].count, count);
    return table_add(table, (const char *[]){causality->substrings[index].string, count});
}

static int add_other_substrings(struct table *table, uint64_t rows, uint64_t count)
{
    char counted[UNIT_SIZE], others[UNIT_SIZE];

    show_count(count, counted);
    others_text(rows, others);
    return table_add(table, (const char *[]){others, counted});
}

static int print_substrings(const struct causality *causality, FILE *file, bool all)
{
    static const struct table_column columns[] = {{"SUBSTRING", false}, {"COUNT", true}};
    const struct listing listing = {causality->substring_count, substring_count_of,
                                    substring_count_of, add_substring, add_other_substrings};

    print_title(file, "Message sequences");
    return print_listing(causality, &listing, columns, ARRAY_SIZE(columns), all, file);
}

/* ---- transitions ---- */

static uint64_t transition_count_of(const struct causality *causality, size_t index)
{
    return causality->transitions[index].count;
}

/* Whether the text is a letter, and not a word for a process without one. */
static bool is_letter(const char *text)
{
    return strcmp(text, "requestor") != 0 && strcmp(text, "nobody") != 0;
}

static int add_transition(struct table *table, const struct causality *causality, size_t index)
{
    const struct causality_transition *row = &causality->transitions[index];
    char from[STATE_TEXT_SIZE] = "", count[UNIT_SIZE], share[UNIT_SIZE] = "-";
    size_t used = 0;

    for (unsigned i = 0; i + 1 < row->length; i++)
        used += (size_t)snprintf(from + used, sizeof(from) - used, "%s%s", row->context[i],
                                 !is_letter(row->context[i]) && i + 2 < row->length ? " " : "");
    show_count(row->count, count);
    if (row->next != NULL)
        share_text(row->count, row->of, share);
    return table_add(table,
                     (const char *[]){row->context[row->length - 1], from,
                                      row->next == NULL ? "reply" : row->next, count, share});
}

static int add_other_transitions(struct table *table, uint64_t rows, uint64_t count)
{
    char counted[UNIT_SIZE], others[UNIT_SIZE];

    show_count(count, counted);
    others_text(rows, others);
    return table_add(table, (const char *[]){others, "", "", counted, ""});
}

static int print_transitions(const struct causality *causality, FILE *file, bool all)
{
    const struct table_column columns[] = {
        {"AT", false},
        {causality->context > 1 ? "HAVING RECEIVED FROM" : NULL, false},
        {"NEXT SENT TO", false},
        {"COUNT", true},
        {"%", true},
    };
    const struct listing listing = {causality->transition_count, transition_count_of,
                                    transition_count_of, add_transition, add_other_transitions};

    print_title(file, "Who sends to whom next");
    return print_listing(causality, &listing, columns, ARRAY_SIZE(columns), all, file);
}

/* ---- the slowest requests ---- */

static int print_request(const struct causality_request *request, FILE *file)
{
    static const struct table_column columns[] = {
        {"RECEIVED AFTER", true}, {"BY", false}, {"FROM", false}, {"LAST SENT AFTER", true}};
    char duration[UNIT_SIZE], requestor[ENDPOINT_SIZE + STREAM_NAME_SIZE + 32];
    struct folding folding;
    struct table table;

    show_duration(request->duration, duration);
    show_text(request->requestor, strlen(request->requestor), requestor);
    fprintf(folding_begin(&folding, file), "\n%s  %s%s%s\n", duration, request->string,
            requestor[0] == '\0' ? "" : ", requested by ", requestor);
    folding_end(&folding);
    int result = table_init(&table, file, columns, ARRAY_SIZE(columns));
    for (uint32_t i = 0; result == 0 && i < request->step_count; i++) {
        char when[UNIT_SIZE] = "-", last[UNIT_SIZE] = "-";
        if (request->steps[i].when != TIME_UNKNOWN)
            show_duration(request->steps[i].when, when);
        if (request->steps[i].last > request->steps[i].when)
            show_duration(request->steps[i].last, last);
        result = table_add(
            &table, (const char *[]){when, request->steps[i].letter, request->steps[i].from, last});
    }
    if (result == 0)
        result = table_print(&table, file);
    table_done(&table);
    if (request->more)
        fputs("(it has more)\n", file);
    return result;
}

static int print_slowest(const struct causality *causality, FILE *file)
{
    int result = 0;

    if (causality->slowest_count > 0)
        print_title(file, "The slowest requests");
    for (size_t i = 0; result == 0 && i < causality->slowest_count && !ferror(file); i++)
        result = print_request(&causality->slowest[i], file);
    return result;
}

/* ---- how reliable the result is ---- */

static void print_head(const struct causality *causality, FILE *file)
{
    char duration[UNIT_SIZE], lost[UNIT_SIZE], text[6][COUNTED_SIZE];
    size_t servers = 0;

    for (size_t i = 0; i < causality->process_count; i++)
        servers += causality->processes[i].role == ROLE_SERVER;
    show_duration(causality->duration, duration);
    show_count(causality->lost, lost);
    show_counted(causality->traces, "trace", text[0]);
    show_counted(causality->events, "event", text[1]);
    show_counted(servers, "server process", text[2]);
    show_counted(causality->requests, "request", text[3]);
    show_counted(causality->replies, "reply", text[4]);
    show_counted(causality->arcs, "message", text[5]);
    fprintf(file, "%s, %s, %s, %s lost%s\n", text[0], duration, text[1], lost,
            causality->complete ? "" : ", not complete");
    fprintf(file, "%s, %s, %s, %s between server processes\n", text[2], text[3], text[4], text[5]);
}

static void print_attribution(const struct causality *causality, FILE *file)
{
    static const char *const words[] = {
        [ATTRIBUTION_PATH] = "by the connection that they answer",
        [ATTRIBUTION_ALONE] = "as the only request open in the process",
        [ATTRIBUTION_CREATION] = "by the creation of the process",
        [ATTRIBUTION_THREAD] = "as the only request open in the thread",
        [ATTRIBUTION_LATEST] = "to what the thread had received last",
        [ATTRIBUTION_OVERLAP] = "to the latest of several open on one connection",
        [ATTRIBUTION_WAITING] = "to the request that had waited longest for a call",
    };
    uint64_t proved = 0;
    char text[UNIT_SIZE], share[UNIT_SIZE];

    if (causality->arcs == 0)
        return;
    for (int i = 0; i < ATTRIBUTION_COUNT; i++)
        proved += attribution_is_proved((enum attribution)i) ? causality->attributed[i] : 0;
    show_count(proved, text);
    show_percent(proved, causality->arcs, share);
    fprintf(file, "\nMessages were attributed to requests: proved %s (%s %%), assumed ", text,
            share);
    show_count(causality->arcs - proved, text);
    fprintf(file, "%s.\n", text);
    for (int i = 0; i < ATTRIBUTION_COUNT; i++) {
        if (causality->attributed[i] == 0)
            continue;
        show_count(causality->attributed[i], text);
        fprintf(file, "  %s: %s %s\n",
                attribution_is_proved((enum attribution)i) ? "proved " : "assumed", text, words[i]);
    }
}

/* Limitations that a reader must know of, printed if their count is not 0. */
static const struct note {
    size_t at;                           /* its count in struct causality */
    const char *word, *of_one, *of_more; /* of_one NULL: origin_text */
} notes[] = {
#define NOTE(count, word, of_one, of_more)                                                         \
    {                                                                                              \
        offsetof(struct causality, count), word, of_one, of_more                                   \
    }
    NOTE(requests_of_strangers, "request", NULL, NULL),
    NOTE(requests_of_later_servers, "request",
         "came from a process that became a server process later (name it with --server)",
         "came from processes that became server processes later (name them with --server)"),
    NOTE(without_request, "message", "between server processes belongs to no request",
         "between server processes belong to no request"),
    NOTE(late, "message", "belongs to a request that was over too long ago",
         "belong to requests that were over too long ago"),
    NOTE(unmatched, "receive", "of a server process has no known sender",
         "of server processes have no known sender"),
    NOTE(unselected, "receive", "of a server process was sent by an event that was not selected",
         "of server processes were sent by events that were not selected"),
    NOTE(contradicted, "answer", "belongs to another request than the one received last",
         "belong to other requests than the one received last"),
    NOTE(ambiguous, "message", "may have been received instead of another",
         "may have been received instead of others"),
    NOTE(system_receives, "receive", "from a system process was ignored",
         "from system processes were ignored"),
    NOTE(joined, "call", "sent or received more of the same message",
         "sent or received more of the same message"),
    NOTE(assumed_sides, "end", "of a connection was assumed to be the server or the client",
         "of connections were assumed to be servers or clients"),
    NOTE(unknown_connections, "connection", "was made for a request that is no longer known",
         "were made for requests that are no longer known"),
    NOTE(unknown_paths, "message", "belongs to a connection whose identity was lost",
         "belong to connections whose identity was lost"),
    NOTE(unknown_clocks, "path",
         "ended on a machine whose clock is not known: no latency counts it",
         "ended on machines whose clocks are not known: no latency counts them"),
    NOTE(without_send, "request", "caused no send (not answered, or one-way): no latency counts it",
         "caused no send (not answered, or one-way): no latency counts them"),
    NOTE(unanswered, "path",
         "belongs to a request that was not answered, while others like it were: no latency counts "
         "it",
         "belong to requests that were not answered, while others like them were: no latency "
         "counts them"),
    NOTE(long_strings, "string", "is longer than 64 letters: the last ones are shown",
         "are longer than 64 letters: the last ones are shown"),
    NOTE(cut_requests, "request", "has too many messages: the first ones were dropped",
         "have too many messages: the first ones were dropped"),
    NOTE(other_strings, "message",
         "was dropped from the table of request paths (full): counted by its last two letters",
         "were dropped from the table of request paths (full): counted by their last two letters"),
    NOTE(other_substrings, "occurrence", "of a substring was not counted: the table is full",
         "of substrings were not counted: the table is full"),
    NOTE(other_transitions, "message", "is missing in who sends to whom next: the table is full",
         "are missing in who sends to whom next: the table is full"),
#undef NOTE
};

static const char *origin_text(const struct causality *causality, uint64_t count)
{
    if (causality->matching.not_found > 0)
        return count == 1 ? "came from a requestor that is unmonitored or was not found"
                          : "came from requestors that are unmonitored or were not found";
    return count == 1 ? "came from an unmonitored requestor" : "came from unmonitored requestors";
}

static void print_notes(const struct causality *causality, FILE *file)
{
    char counted[COUNTED_SIZE];
    const char *before = "\n";

    for (size_t i = 0; i < ARRAY_SIZE(notes); i++) {
        uint64_t count = *(const uint64_t *)((const char *)causality + notes[i].at);
        if (count == 0)
            continue;
        show_counted(count, notes[i].word, counted);
        fprintf(file, "%s%s %s.\n", before, counted,
                notes[i].of_one == NULL ? origin_text(causality, count)
                : count == 1            ? notes[i].of_one
                                        : notes[i].of_more);
        before = "";
    }
}

static void print_grounds(const struct causality *causality, FILE *file)
{
    struct folding folding;
    FILE *into = folding_begin(&folding, file);

    print_attribution(causality, into);
    print_matching(&causality->matching, into);
    print_selection(
        &causality->matching,
        "a request whose messages they removed is missing, ends early, or counts as several.",
        into);
    print_notes(causality, into);
    print_own_cost(&causality->matching.own_cost, causality->duration, into);
    folding_end(&folding);
}

int show_causality_tables(const struct causality *causality, FILE *file,
                          const struct causality_face *face)
{
    struct folding folding;

    print_head(causality, folding_begin(&folding, file));
    folding_end(&folding);
    int result = print_processes(causality, file, face->all);
    if (result == 0 && !ferror(file))
        result = print_paths(causality, file, face->all);
    if (result == 0 && !ferror(file) && face->substrings)
        result = print_substrings(causality, file, face->all);
    if (result == 0 && !ferror(file))
        result = print_transitions(causality, file, face->all);
    if (result == 0 && !ferror(file))
        result = print_slowest(causality, file);
    if (result == 0 && !ferror(file))
        print_grounds(causality, file);
    return result;
}
