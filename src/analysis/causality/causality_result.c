/* SPDX-License-Identifier: MIT */
/*
 * causality_result.c: processes with their letters, the strings with their latencies, the slowest requests.
 *
 *      tree of strings --> the leaves, as text, sorted --> paths
 */
#include "analysis/causality/causality_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- letters ---- */

#define ALPHABET 52u

static const char alphabet[ALPHABET + 1] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/* Returns its length. Called very often, mostly for a single character. */
static size_t write_letter(uint16_t letter, char text[LETTER_SIZE])
{
    if (letter < ALPHABET) {
        text[0] = alphabet[letter];
        text[1] = '\0';
        return 1;
    }
    if (letter == LETTER_OTHERS)
        strcpy(text, "*");
    else if (letter == LETTER_REQUESTOR)
        strcpy(text, "requestor");
    else if (letter == LETTER_NOBODY)
        strcpy(text, "nobody");
    else
        snprintf(text, LETTER_SIZE, "%c%u", alphabet[letter % ALPHABET], letter / ALPHABET);
    return strlen(text);
}

void letter_text(uint16_t letter, char text[LETTER_SIZE])
{
    write_letter(letter, text);
}

const char *letters_text(struct arena *arena, const uint16_t *letters, unsigned count, bool cut)
{
    char text[CAUSALITY_STRING_MOST * LETTER_SIZE + LETTER_SIZE] = "...";
    size_t used = cut ? 3 : 0;

    for (unsigned i = 0; i < count; i++)
        used += write_letter(letters[i], text + used);
    char *kept = arena_allocate(arena, used + 1);
    if (kept != NULL) {
        memcpy(kept, text, used);
        kept[used] = '\0';
    }
    return kept;
}

static const char *string_text(const struct causality_analysis *analysis, struct arena *arena,
                               uint32_t string)
{
    uint16_t letters[CAUSALITY_STRING_MOST];
    unsigned count = strings_letters(&analysis->strings, string, CAUSALITY_STRING_MOST, letters);

    return letters_text(arena, letters, count, analysis->strings.at[string].cut);
}

/* ---- processes ---- */

static int compare_processes(const void *left, const void *right)
{
    const struct member *a = *(const struct member *const *)left;
    const struct member *b = *(const struct member *const *)right;
    bool a_serves = a->role == ROLE_SERVER;
    bool b_serves = b->role == ROLE_SERVER;

    if (a_serves != b_serves)
        return a_serves ? -1 : 1;
    if (a_serves && a->letter != b->letter)
        return a->letter < b->letter ? -1 : 1;
    return a < b ? -1 : a > b;
}

static void describe_process(const struct member *member, struct causality_process *process)
{
    process->role = member->role;
    process->origin = member->origin;
    process->pid = member->pid;
    process->requests = member->requests;
    memcpy(process->name, member->name, sizeof(member->name));
    if (member->role == ROLE_SERVER)
        letter_text(member->letter, process->letter);
}

/* Its command line, kept with the result. */
static int keep_command(const struct causality_analysis *analysis, const struct member *member,
                        struct causality *result, struct causality_process *process)
{
    const char *command =
        identities_command(history_identities(analysis->history), member->origin, member->number);
    char *kept = command == NULL ? NULL : arena_allocate(&result->memory, strlen(command) + 1);

    if (command != NULL && kept == NULL)
        return -ENOMEM;
    process->command = command == NULL ? NULL : strcpy(kept, command);
    return 0;
}

static int find_alike(struct causality *result)
{
    struct named_process *list = calloc(result->process_count + 1, sizeof(*list));
    int found;

    if (list == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < result->process_count; i++)
        list[i] = (struct named_process){.name = result->processes[i].name,
                                         .command = result->processes[i].command};
    found = processes_find_alike(list, result->process_count);
    for (size_t i = 0; found == 0 && i < result->process_count; i++)
        result->processes[i].named_alike = list[i].alike;
    free(list);
    return found;
}

static int build_processes(const struct causality_analysis *analysis, struct causality *result)
{
    const struct member **rows = calloc(analysis->member_count + 1UL, sizeof(struct member *));

    result->processes = calloc(analysis->member_count + 1UL, sizeof(*result->processes));
    if (rows == NULL || result->processes == NULL) {
        free(rows);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < analysis->member_count; i++)
        rows[i] = &analysis->members[i];
    qsort(rows, analysis->member_count, sizeof(struct member *), compare_processes);
    int kept = 0;
    for (uint32_t i = 0; kept == 0 && i < analysis->member_count; i++) {
        struct causality_process *process = &result->processes[result->process_count++];
        describe_process(rows[i], process);
        kept = keep_command(analysis, rows[i], result, process);
    }
    free(rows);
    return kept < 0 ? kept : find_alike(result);
}

/* ---- paths ---- */

static int compare_paths(const void *left, const void *right)
{
    return strcmp(((const struct causality_path *)left)->string,
                  ((const struct causality_path *)right)->string);
}

static int build_paths(struct causality_analysis *analysis, struct causality *result)
{
    struct strings *strings = &analysis->strings;
    size_t capacity = 0;

    for (uint32_t i = 0; i < strings->count; i++) {
        struct string *string = &strings->at[i];
        if (string->leaves == 0)
            continue;
        if (array_reserve(&result->paths, &capacity, result->path_count + 1,
                          sizeof(*result->paths)) < 0)
            return -ENOMEM;
        struct causality_path *path = &result->paths[result->path_count];
        path->string = string_text(analysis, &result->memory, i);
        if (path->string == NULL)
            return -ENOMEM;
        result->path_count++;
        path->count = string->leaves;
        path->answered = strings_is_answered(strings, i);
        result->long_strings += string->cut ? string->leaves : 0;
        if (string->latency != NULL) { /* now owned by the result */
            path->latency = *string->latency;
            *string->latency = (struct histogram){0};
        }
    }
    if (result->path_count > 0)
        qsort(result->paths, result->path_count, sizeof(*result->paths), compare_paths);
    result->other_strings = strings->others;
    return 0;
}

/* ---- servers that receive requests ---- */

static int add_moments(const struct causality_analysis *analysis, const uint32_t *entry_of,
                       struct causality *result)
{
    const uint32_t *counts;

    if (moments_of(analysis, &result->memory, entry_of, false, (uint32_t)result->entry_count,
                   &counts) < 0)
        return -ENOMEM;
    for (size_t i = 0; counts != NULL && i < result->entry_count; i++)
        result->entries[i].moments = counts + i * CAUSALITY_MOMENTS;
    return 0;
}

/* `entry_of`: of each string its entry + 1. */
static int list_entries(const struct causality_analysis *analysis, uint32_t *entry_of,
                        struct causality *result)
{
    const struct strings *strings = &analysis->strings;
    size_t capacity = 0;

    for (uint32_t i = 0; i < strings->count; i++) {
        const struct string *string = &strings->at[i];
        const uint16_t letters[] = {LETTER_REQUESTOR, string->letter};
        if (string->depth != 1 || string->cut || string->of_nobody)
            continue;
        if (array_reserve(&result->entries, &capacity, result->entry_count + 1,
                          sizeof(*result->entries)) < 0)
            return -ENOMEM;
        const char **context = arena_allocate(&result->memory, 2 * sizeof(*context));
        for (int k = 0; context != NULL && k < 2; k++) {
            context[k] = letters_text(&result->memory, &letters[k], 1, false);
            if (context[k] == NULL)
                return -ENOMEM;
        }
        if (context == NULL)
            return -ENOMEM;
        result->entries[result->entry_count++] =
            (struct causality_entry){context, string->arrivals, NULL};
        entry_of[i] = (uint32_t)result->entry_count;
    }
    return 0;
}

static int build_entries(const struct causality_analysis *analysis, struct causality *result)
{
    uint32_t *entry_of = calloc(analysis->strings.count + 1UL, sizeof(*entry_of));
    int done = entry_of == NULL || list_entries(analysis, entry_of, result) < 0 ||
                       add_moments(analysis, entry_of, result) < 0
                   ? -ENOMEM
                   : 0;

    free(entry_of);
    return done;
}

/* ---- the slowest ---- */

static int compare_requests(const void *left, const void *right)
{
    const struct slow_request *a = left;
    const struct slow_request *b = right;

    if (a->request.duration != b->request.duration)
        return a->request.duration > b->request.duration ? -1 : 1;
    return a->request.begun < b->request.begun ? -1 : a->request.begun > b->request.begun;
}

static const char *requestor_text(const struct causality_analysis *analysis,
                                  struct causality *result, const struct slow_request *slow)
{
    char text[STREAM_NAME_SIZE + ENDPOINT_SIZE + 32] = "";
    const struct member *member =
        slow->requestor == 0 || slow->requestor - 1 >= analysis->member_count
            ? NULL
            : &analysis->members[slow->requestor - 1];

    if (member != NULL)
        snprintf(text, sizeof(text), "%.*s[%u]", STREAM_NAME_SIZE, member->name, member->pid);
    else
        snprintf(text, sizeof(text), "%s", slow->address);
    char *kept = arena_allocate(&result->memory, strlen(text) + 1);
    return kept == NULL ? NULL : strcpy(kept, text);
}

static int build_steps(const struct slow_request *slow, struct causality *result,
                       struct causality_request *request)
{
    size_t size = (slow->request.step_count + 1UL) * sizeof(struct causality_step);
    struct causality_step *steps = arena_allocate(&result->memory, size);

    if (steps == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < slow->request.step_count; i++) {
        uint16_t from = slow->letters[2 * i + 1];
        steps[i] = slow->steps[i];
        steps[i].letter = letters_text(&result->memory, &slow->letters[2 * i], 1, false);
        steps[i].from = letters_text(&result->memory, &from, 1, false);
        if (steps[i].letter == NULL || steps[i].from == NULL)
            return -ENOMEM;
    }
    request->steps = steps;
    return 0;
}

static int build_slowest(struct causality_analysis *analysis, struct causality *result)
{
    result->slowest = calloc(analysis->slow_count + 1UL, sizeof(*result->slowest));
    if (result->slowest == NULL)
        return -ENOMEM;
    qsort(analysis->slow, analysis->slow_count, sizeof(*analysis->slow), compare_requests);
    for (uint32_t i = 0; i < analysis->slow_count; i++) {
        const struct slow_request *slow = &analysis->slow[i];
        struct causality_request *request = &result->slowest[i];
        *request = slow->request;
        request->string = string_text(analysis, &result->memory, slow->string);
        request->requestor = requestor_text(analysis, result, slow);
        if (request->string == NULL || request->requestor == NULL ||
            build_steps(slow, result, request) < 0)
            return -ENOMEM;
        result->slowest_count++;
    }
    return 0;
}

int causality_build(struct causality_analysis *analysis, struct causality *result)
{
    return build_processes(analysis, result) < 0 || build_paths(analysis, result) < 0 ||
                   build_entries(analysis, result) < 0 || build_slowest(analysis, result) < 0 ||
                   pools_build(analysis, result) < 0
               ? -ENOMEM
               : 0;
}

/* ---- names ---- */

const char *attribution_name(enum attribution attribution)
{
    static const char *const names[] = {
        [ATTRIBUTION_PATH] = "path",         [ATTRIBUTION_ALONE] = "alone",
        [ATTRIBUTION_CREATION] = "creation", [ATTRIBUTION_THREAD] = "thread",
        [ATTRIBUTION_LATEST] = "latest",     [ATTRIBUTION_OVERLAP] = "overlap",
        [ATTRIBUTION_WAITING] = "waiting",
    };

    return attribution < ATTRIBUTION_COUNT ? names[attribution] : "unknown";
}

bool attribution_is_proved(enum attribution attribution)
{
    return attribution <= ATTRIBUTION_CREATION;
}

const char *causality_role_name(enum causality_role role)
{
    static const char *const names[] = {
        [ROLE_REQUESTOR] = "requestor", [ROLE_SERVER] = "server", [ROLE_SYSTEM] = "system"};

    return role <= ROLE_SYSTEM ? names[role] : "unknown";
}

/* ---- the most common ---- */

static int by_count(const void *left, const void *right)
{
    const struct causality_path *const *a = left, *const *b = right;

    if ((*a)->count != (*b)->count)
        return (*a)->count > (*b)->count ? -1 : 1;
    return strcmp((*a)->string, (*b)->string);
}

const struct causality_path **causality_answered(const struct causality *causality,
                                                 size_t *ret_count)
{
    const struct causality_path **rows = calloc(causality->path_count + 1, sizeof(*rows));
    size_t count = 0;

    if (rows == NULL)
        return NULL;
    for (size_t i = 0; i < causality->path_count; i++)
        if (causality->paths[i].answered)
            rows[count++] = &causality->paths[i];
    qsort(rows, count, sizeof(*rows), by_count);
    *ret_count = count;
    return rows;
}
