/* SPDX-License-Identifier: MIT */
/* filter_options.h: the options of `dpm filter`. Private to command/. */
#ifndef DPM_FILTER_OPTIONS_H
#define DPM_FILTER_OPTIONS_H

#include "command/filters/filter_elsewhere.h"
#include "command/shared/command.h"

#include "filter/filter.h"

#define FILTER_PROGRAM_WORDS 16

/* What the user has asked for; all zero except `stores`: nothing yet. */
struct filter_asked {
    const char *from, *folder, *url, *credentials, *authorities, *prefix, *rules_file;
    struct rules *rules; /* with --from: what is stored; NULL: everything */
    const char **machines;
    size_t machine_count, machine_capacity;
    uint64_t interval; /* ns; 0: no reports */
    bool stores;
    struct trace_copy_limits limits; /* `newest`: of --store newest */
    bool bounded;                    /* --max-files or --max-age was given */
    struct filter_place place;
    const char *custom; /* a shell command: a custom filter */
    /* the same as a program and its arguments, NULL at the end */
    const char *program[FILTER_PROGRAM_WORDS + 1];
    size_t program_words; /* 0: none */
    bool to_json;
    bool json;                /* lines of what is stored */
    const char *descriptions; /* file; of the raw records of another system */
    uint32_t given;           /* bit N: the option in row N of filter_option_rows */
};

extern const struct command_option filter_option_rows[];

/* Handles one of them. Returns as option_number does. */
int filter_take_option(int option, struct filter_asked *asked);

/* Whether the options belong to one use of the command. Returns as the next one does. */
int filter_options_check_kind(const struct filter_asked *asked);

/* After the last one, without traces as operands. Returns -1, or the exit status after a usage error. */
int filter_options_check(const struct filter_asked *asked);

#endif
