/* SPDX-License-Identifier: MIT */
/* recording_options.h: options that `dpm run` and `dpm acquire` share. Private to command/. */
#ifndef DPM_RECORDING_OPTIONS_H
#define DPM_RECORDING_OPTIONS_H

#include "command/shared/command.h"
#include "recorder/recorder.h"

struct recording_command_options {
    struct recording_options recording;
    const char *report;     /* file; NULL: standard error */
    const char *rules_file; /* where the rules are from; NULL: there are none */
    const char *flags;
    const char *kinds;
    const char *html; /* file of the page with drawings; NULL: none */
    unsigned parts;   /* of the report (whole_report.h); 0: what the size of the recording allows */
    bool store_given; /* --store */
    bool bounded;     /* one of --max-size, --max-files, --max-age */
    uint64_t interval;  /* ns between interval reports; 0: none */
    bool json;          /* these are lines of JSON */
    const char *filter; /* command that gets the packets of the trace; NULL: none */
    const char *views;  /* file of views, which interval reports evaluate; NULL: they are tables */
};

enum recording_option_value {
    RECORDING_FLAGS = OPTION_HELP + 1,
    RECORDING_KINDS,
    RECORDING_REPORT,
    RECORDING_ANALYSES,
    RECORDING_HTML,
    RECORDING_RING,
    RECORDING_MAX_SIZE,
    RECORDING_MAX_FILES,
    RECORDING_MAX_AGE,
    RECORDING_STORE,
    RECORDING_INTERVAL_OPTION,
    RECORDING_JSON,
    RECORDING_CPU_TIME,
    RECORDING_LATENCY,
    RECORDING_VIEWS,
    RECORDING_FILTER,
    RECORDING_SENSORS,
    RECORDING_OPTION_END, /* a command's own options begin here */
};

extern const struct command_option recording_options[];

/* Sets the defaults: every flag, a trace of at most 4 GiB, the kernel meter. */
void recording_options_init(struct recording_command_options *options);

/* Handles an option from command_next_option (argument in optarg). Returns -1; or the exit status after printing help
 * or a usage error. */
int recording_option(const char *command, int option, struct recording_command_options *options);

/* Call after the last option: parses the flags. Returns as recording_option. */
int recording_options_done(const char *command, struct recording_command_options *options);

/* The parts of the report that are asked for (whole_report.h), by --analyses or with --html; 0: none in particular. */
unsigned recording_parts_asked(const struct recording_command_options *options);

/* The words of --meter, in the order of enum meter_wish; NULL after the last. */
const char *meter_wish_word(size_t index);

#endif
