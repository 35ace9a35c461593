/* SPDX-License-Identifier: MIT */
/*
 * check.c: `dpm check`: shows what works on this machine for this user; what does not, why, and what to do. See
 * dpm-check(1). check/ finds out; this file prints it:
 *
 *      Privilege                                          the group
 *      missing  CAP_BPF     this process has it not ...   state, name, detail
 *               sudo dpm ...; or once ...                 advice
 */
#include "check/check.h"
#include "command/shared/command.h"
#include "event/event.h"
#include "show/show.h"
#include "show/text/json.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

struct findings {
    struct meter_check *list;
    size_t count;
    size_t capacity;
    uint64_t flags; /* supported by the kernel meter */
    bool by_dpmd;   /* ... which dpmd loads */
    bool ptrace;    /* the ptrace meter works */
    int error;
};

#define EXIT_PTRACE 3 /* the kernel meter lacks something, but the ptrace meter works */

static const struct {
    const char *name;
    const char *colour;
} states[] = {
    [METER_CHECK_OK] = {"ok", "\033[32m"},
    [METER_CHECK_LIMITED] = {"limited", "\033[33m"},
    [METER_CHECK_MISSING] = {"missing", "\033[31m"},
    [METER_CHECK_UNKNOWN] = {"unknown", ""},
};

/* Makes a text safe for terminals and JSON: paths and versions come from elsewhere. */
#define SAFE(text) make_safe(text, sizeof(text))

static void make_safe(char *text, size_t size)
{
    char from[sizeof(((struct meter_check *)NULL)->advice)];

    memcpy(from, text, size);
    show_text(from, size - 1, text);
}

static void add_finding(const struct meter_check *check, void *context)
{
    struct findings *findings = context;

    if (findings->error == 0)
        findings->error = array_reserve(&findings->list, &findings->capacity, findings->count + 1,
                                        sizeof(*findings->list));
    if (findings->error < 0)
        return;
    struct meter_check *own = &findings->list[findings->count++];
    *own = *check;
    SAFE(own->name);
    SAFE(own->detail);
    SAFE(own->advice);
}

/* ---- summary ---- */

#define SUMMARY_SIZE 1024

static void append(char text[SUMMARY_SIZE], const char *more)
{
    size_t length = strlen(text);

    snprintf(text + length, SUMMARY_SIZE - length, "%s", more);
}

/* Appends the names of everything that is missing. If the ptrace meter works, only the kernel meter lacks it. */
static void append_missing(const struct findings *findings, char text[SUMMARY_SIZE])
{
    const char *before = "";

    for (size_t i = 0; i < findings->count; i++) {
        const struct meter_check *check = &findings->list[i];
        if (check->state != METER_CHECK_MISSING ||
            (findings->ptrace && strcmp(check->group, PTRACE_CHECKS) == 0))
            continue;
        append(text, before);
        append(text, check->name);
        before = ", ";
    }
}

/* Whether dpm run takes the kernel meter for all flags. It does without SCHEDULE if the kernel does not count that. */
static bool runs_kernel_meter(const struct findings *findings)
{
    return (METER_ALL_FLAGS & ~findings->flags & ~EVENT_FLAG(EVENT_SCHEDULE)) == 0;
}

/* "dpm run and dpm acquire work here for ..." */
static void sum_up(const struct findings *findings, char text[SUMMARY_SIZE])
{
    char flags[METER_FLAGS_TEXT_SIZE], lost[METER_FLAGS_TEXT_SIZE];
    const char *limited = "";

    for (size_t i = 0; i < findings->count; i++)
        if (strcmp(findings->list[i].group, "Hooks") == 0 &&
            findings->list[i].state == METER_CHECK_LIMITED)
            limited = ", within the limits above";
    meter_flags_text(findings->flags, flags);
    meter_flags_text(METER_ALL_FLAGS & ~findings->flags, lost);
    if (findings->flags == METER_ALL_FLAGS) {
        snprintf(text, SUMMARY_SIZE, "dpm run and dpm acquire work here for all flags%s%s", limited,
                 findings->by_dpmd ? ": dpmd loads the meter" : "");
    } else if (findings->flags != 0) {
        snprintf(text, SUMMARY_SIZE,
                 "dpm run and dpm acquire work here for --flags %s, but not for %s%s%s", flags,
                 lost, limited,
                 findings->ptrace && !runs_kernel_meter(findings)
                     ? "; for these dpm run takes the ptrace meter (slower)"
                     : "");
    } else {
        snprintf(text, SUMMARY_SIZE, "%s; missing: ",
                 findings->ptrace ? "dpm run works here with the ptrace meter (slower); dpm "
                                    "acquire does not work: it needs the kernel meter"
                                  : "dpm run and dpm acquire do not work here");
        append_missing(findings, text);
    }
}

/* ---- text ---- */

static void print_check(const struct meter_check *check, int width)
{
    bool colours = show_has_colours(stdout);

    printf("%s%-7s%s  %-*s  ", colours ? states[check->state].colour : "",
           states[check->state].name, colours ? "\033[0m" : "", width, check->name);
    show_indented(stdout, strlen("missing") + 4 + (size_t)width, check->detail);
}

static void print_findings(const struct findings *findings)
{
    bool colours = show_has_colours(stdout);
    const char *group = "", *advice = "";
    char summary[SUMMARY_SIZE];
    int width = 0;

    for (size_t i = 0; i < findings->count; i++)
        if ((int)strlen(findings->list[i].name) > width)
            width = (int)strlen(findings->list[i].name);
    for (size_t i = 0; i < findings->count; i++) {
        const struct meter_check *check = &findings->list[i];
        if (strcmp(check->group, group) != 0)
            printf("%s%s%s%s\n", i == 0 ? "" : "\n", colours ? "\033[1m" : "", check->group,
                   colours ? "\033[0m" : "");
        group = check->group;
        print_check(check, width);
        /* checks in a row often share the advice: print it once; one line, so that it can be copied */
        if (check->advice[0] != '\0' && strcmp(check->advice, advice) != 0)
            printf("%9s%s\n", "", check->advice);
        if (check->advice[0] != '\0')
            advice = check->advice;
    }
    sum_up(findings, summary);
    putchar('\n');
    show_indented(stdout, 0, summary);
}

/* ---- JSON ---- */

/* Functions that make a value return NULL when out of memory, and jansson's setters refuse NULL. The results are added
 * up, so one check at the end is enough. */

static int add_flag_names(json_t *object, const char *key, uint64_t flags)
{
    json_t *names = json_array();
    char text[METER_FLAGS_TEXT_SIZE];
    int failed = 0;

    for (unsigned bit = 0; bit < 64; bit++) {
        meter_flags_text(flags & 1ull << bit, text);
        if (text[0] != '\0')
            failed |= json_array_append_new(names, json_string(text));
    }
    return json_object_set_new(object, key, names) | failed;
}

static json_t *json_of_check(const struct meter_check *check)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s?}", "group", check->group, "name", check->name,
                     "state", states[check->state].name, "detail", check->detail, "advice",
                     check->advice[0] == '\0' ? NULL : check->advice);
}

static int print_json(const struct findings *findings)
{
    json_t *object = json_object(), *list = json_array();
    char summary[SUMMARY_SIZE];
    bool works = findings->flags == METER_ALL_FLAGS;
    int failed = json_object_set_new(object, "works", json_boolean(works));

    failed |= json_object_set_new(object, "ptrace_works", json_boolean(findings->ptrace));
    failed |= json_object_set_new(object, "run_meter",
                                  runs_kernel_meter(findings) ? json_string("kernel")
                                  : findings->ptrace          ? json_string("ptrace")
                                                              : json_null());
    sum_up(findings, summary);
    failed |= json_object_set_new(object, "summary", json_string(summary));
    failed |= add_flag_names(object, "flags", findings->flags);
    failed |= add_flag_names(object, "lost_flags", METER_ALL_FLAGS & ~findings->flags);
    for (size_t i = 0; i < findings->count; i++)
        failed |= json_array_append_new(list, json_of_check(&findings->list[i]));
    failed |= json_object_set_new(object, "checks", list);
    if (failed != 0) {
        json_decref(object);
        return -ENOMEM;
    }
    int result = json_print(object, JSON_INDENT(1), stdout);
    putchar('\n');
    return result;
}

enum { OPTION_JSON };

static const struct command_option check_options[] = {
    {"json", OPTION_JSON, {0}, "print a JSON object"},
    {0},
};

static int command_check(int argc, char **argv)
{
    struct findings findings = {0};
    struct problem problem;
    bool json = false;
    int option;

    while ((option = command_next_option(&check_command, argc, argv)) != -1) {
        switch (option) {
        case OPTION_JSON:
            json = true;
            break;
        case OPTION_HELP:
            return command_help("check");
        default:
            return command_usage_error("check", NULL);
        }
    }
    if (optind != argc)
        return command_usage_error("check", "takes no argument, not '%s'", argv[optind]);
    findings.flags = check_kernel_meter(add_finding, &findings);
    uint64_t by_dpmd = check_service(findings.flags == 0, add_finding, &findings);
    findings.by_dpmd = by_dpmd != 0;
    findings.flags |= by_dpmd;
    findings.ptrace = check_ptrace_meter(add_finding, &findings);
    int result = findings.error;
    if (result == 0 && json)
        result = print_json(&findings);
    else if (result == 0)
        print_findings(&findings);
    free(findings.list);
    if (result < 0)
        return command_error("out of memory");
    if (command_flush_output(&problem) < 0)
        return command_error("%s", problem.text);
    return findings.flags == METER_ALL_FLAGS ? EXIT_SUCCESS
           : findings.ptrace                 ? EXIT_PTRACE
                                             : EXIT_FAILURE;
}

const struct command check_command = {
    .name = "check",
    .description = "check whether metering works here, what is missing, and what to do",
    .usage = "[OPTION]...",
    .function = command_check,
    .options = check_options,
};
