/* SPDX-License-Identifier: MIT */
/*
 * trial.c: tries whether this kernel accepts the meter: first all of it, then, if the kernel refuses, each of its
 * programs alone. See probe.h.
 */
#include "check/probe.h"

#include "meter/load/hooks.h"
#include "meter/load/meter.h"
#include "meter/load/programs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOG_SIZE (1u << 20) /* of the verifier's log, which ends with the reason */

int trial_whole(uint64_t flags, uint64_t *ret_unknown, char ret_left_out[TRIAL_REASON_SIZE],
                struct problem *problem)
{
    const struct meter_options options = {.flags = flags};
    struct meter_interface *meter;
    int result = meter_open(&options, &meter, problem);

    ret_left_out[0] = '\0';
    *ret_unknown = 0;
    if (result < 0)
        return result;
    *ret_unknown = meter->unknown_flags;
    if (meter->left_out != NULL)
        snprintf(ret_left_out, TRIAL_REASON_SIZE, "%s", meter->left_out);
    result = programs_try_iterators(meter, problem);
    meter->close(meter);
    return result;
}

/* ---- each program ---- */

static enum answer answer(bool yes)
{
    return yes ? ANSWER_YES : ANSWER_NO;
}

void trial_kernel(struct probe *probe)
{
    bool may_try = checks_allow_trial(probe);
    struct offers offers;

    if (probe->bpf == PROBE_KILLED || probe->types != 0)
        return;
    if (offers_look(&offers, may_try) == 0) {
        probe->casts = answer(offers.casts);
        if (may_try)
            probe->trampolines = answer(offers.trampolines);
    }
    offers_done(&offers);
}

static const struct hook *find_hook(const char *program, size_t *ret_place)
{
    for (size_t i = 0; i < hook_count; i++)
        if (strcmp(hooks[i].program, program) == 0) {
            *ret_place = i;
            return &hooks[i];
        }
    return NULL;
}

/* For programs that are not in the table of hooks: iterators, and programs that are attached to nothing. */
static enum answer is_offered(const struct kernel_types *types, const char *section)
{
    if (strncmp(section, "iter/", 5) == 0)
        return iterator_exists(types, section + 5) ? ANSWER_YES : ANSWER_NO;
    return ANSWER_UNKNOWN;
}

struct trial_list {
    struct trial_program *list;
    size_t count;
    size_t capacity;
};

static int add_program(struct trial_list *programs, const char *name, const char *section,
                       enum answer offered)
{
    int result = array_reserve(&programs->list, &programs->capacity, programs->count + 1,
                               sizeof(*programs->list));

    if (result < 0)
        return result;
    struct trial_program *line = &programs->list[programs->count++];
    *line = (struct trial_program){.offered = offered};
    snprintf(line->name, sizeof(line->name), "%s", name);
    snprintf(line->section, sizeof(line->section), "%s", section);
    return 0;
}

struct listing {
    struct trial_list programs;
    struct offers offers;
    enum hook_choice choices[HOOKS_MOST]; /* valid if offers.types is set */
};

/* Adds a program that a recording with all flags would load here, or whose hook is missing. */
static int list_program(const char *name, const char *section, void *context)
{
    struct listing *listing = context;
    enum answer offered = ANSWER_UNKNOWN;
    size_t place;

    if (listing->offers.types != NULL && find_hook(name, &place) != NULL) {
        if (listing->choices[place] == HOOK_UNUSED)
            return 0;
        offered = answer(listing->choices[place] == HOOK_CHOSEN);
    } else if (listing->offers.types != NULL) {
        offered = is_offered(listing->offers.types, section);
    }
    return add_program(&listing->programs, name, section, offered);
}

int trial_programs(bool may_try, struct trial_program **ret_list)
{
    struct listing listing = {0};

    (void)offers_look(&listing.offers, may_try); /* without the types everything stays unknown */
    if (listing.offers.types != NULL)
        hooks_choose(&listing.offers, METER_ALL_FLAGS, METER_EVERY_KIND, listing.choices);
    int result = programs_each(list_program, &listing);
    offers_done(&listing.offers);
    if (result < 0) {
        free(listing.programs.list);
        return result;
    }
    *ret_list = listing.programs.list;
    return (int)listing.programs.count;
}

/* The log ends with the reason, followed by statistics of the verifier. libbpf adds lines about members of kernel types
 * that are missing. */
void trial_reason(const char *log, char ret_reason[TRIAL_REASON_SIZE])
{
    static const char *const figures[] = {"processed ", "verification time ", "stack depth ", "--",
                                          "max_states"};
    size_t length;

    ret_reason[0] = '\0';
    for (const char *line = log; *line != '\0'; line += length + (line[length] == '\n')) {
        length = strcspn(line, "\n");
        bool figure = length == 0;
        for (size_t i = 0; i < ARRAY_SIZE(figures); i++)
            figure = figure || strncmp(line, figures[i], strlen(figures[i])) == 0;
        if (!figure)
            snprintf(ret_reason, TRIAL_REASON_SIZE, "%.*s", (int)length, line);
    }
}

int trial_one(const char *name, char ret_reason[TRIAL_REASON_SIZE])
{
    char *log = calloc(1, LOG_SIZE);

    if (log == NULL)
        return -ENOMEM;
    int result = program_try(name, log, LOG_SIZE);
    if (result < 0)
        trial_reason(log, ret_reason);
    if (result < 0 && ret_reason[0] == '\0')
        snprintf(ret_reason, TRIAL_REASON_SIZE, "%s", strerror(-result));
    free(log);
    return result;
}
