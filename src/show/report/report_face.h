/* SPDX-License-Identifier: MIT */
/*
 * report_face.h: the content of a report, before it is printed or drawn. Private to show/.
 *
 *      struct report --> report_content --+--> findings   topic, sentence
 *                                         '--> tables     title, command, headings, the first rows
 *
 * All text is valid UTF-8 without control characters; still to be escaped.
 */
#ifndef DPM_REPORT_FACE_H
#define DPM_REPORT_FACE_H

#include "analysis/findings/findings.h"
#include "show/show.h"
#include "show/text/table.h"

#define FOUND_NOTHING "Nothing" /* topic of the finding that there is none */

struct report_values {
    const char *key; /* "critical" ... */
    bool aside;      /* shown only with all */
    bool acts;       /* says what a person can act on */
    struct finding_values of;
};

struct report_finding {
    const char *topic;                  /* "Load"; consecutive findings may share it */
    const char *text;                   /* one sentence */
    const struct report_values *values; /* NULL: none */
};

struct report_row {
    const char *const *cells; /* as many as the table has columns */
};

/* Which analysis a table belongs to. */
enum report_part { REPORT_COMMUNICATION, REPORT_PARALLELISM, REPORT_PATH, REPORT_REQUESTS };

struct report_table {
    enum report_part part;
    const char *title;
    const char *command;                /* shows the whole table; without trace names */
    const struct table_column *columns; /* columns without a heading are left out */
    size_t column_count;
    struct report_row *rows;
    size_t row_count;
    size_t row_capacity;
    size_t left_out; /* number of rows */
};

#define REPORT_TABLES 16
#define REPORT_ROWS   10 /* rows of a table in text ... */
#define REPORT_LONG   40 /* ... and on the HTML page */

struct report_content {
    struct report_finding *findings;
    size_t finding_count;
    size_t finding_capacity;
    size_t aside;                        /* findings that explain nothing */
    const struct report_values *finding; /* of the next sentence */
    struct report_table tables[REPORT_TABLES];
    size_t table_count;
    size_t most;         /* rows per table; set it before report_tabulate */
    struct arena memory; /* holds texts and cells */
    bool failed;         /* out of memory */
};

/* Both add to a content, all zero at first, and return 0 or -ENOMEM. Call report_content_done in any case. */
int report_find(const struct report *report, struct report_content *content);
int report_tabulate(const struct report *report, struct report_content *content);
/* Only processes, and who sent to whom. */
int report_tabulate_heaviest(const struct report *report, struct report_content *content);
void report_content_done(struct report_content *content);

/* Adds a sentence. */
void report_say(struct report_content *content, const char *topic, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* What this time is a part of when a sentence says "of the elapsed time": that of the command, as where the time went has it; else
 * that of the recording, which began before, and may end later. */
uint64_t report_elapsed_of(const struct report *report, uint64_t time);

/* ---- sentences, by what they are on ---- */

typedef void report_say_function(const struct report *report, const struct finding *finding,
                                 struct report_content *content);

/* report_elapsed_findings.c */
report_say_function report_say_elapsed, report_say_lock, report_say_item;

/* report_change_findings.c */
report_say_function report_say_change;

/* report_message_findings.c */
report_say_function report_say_wait, report_say_queue, report_say_answers, report_say_requests,
    report_say_unanswered, report_say_retransmits, report_say_dropped, report_say_failed,
    report_say_files;

/* report_path_findings.c */
report_say_function report_say_critical, report_say_path_flights;

/* report_pause_findings.c */
report_say_function report_say_busy, report_say_blocked, report_say_stopped;

/* report_pattern_findings.c: ways to use processes that cost time */
report_say_function report_say_round_trips, report_say_one_by_one, report_say_resent,
    report_say_workers, report_say_polling;

/* report_runtime_findings.c */
report_say_function report_say_interpreter, report_say_jvm_stop, report_say_collections;

/* report_machine_findings.c: what the machine was short of */
report_say_function report_say_cpu_wait, report_say_throttled, report_say_stolen, report_say_memory,
    report_say_disk, report_say_oom, report_say_steered;

/* report_connection_findings.c: how programs use connections */
report_say_function report_say_nagle, report_say_own_connections, report_say_pool;

/* The end at this address, with the process that answers `asker` there, or how many do, as far as they are metered. `asker`:
 * index of a process, or NO_PROCESS: any. `text` has END_TEXT_SIZE bytes. */
void report_back_end(const struct communication *communication, uint32_t asker, const char *address,
                     char *text);

/* The process whose pool of connections it is, with its machine, if there are several. `text` has PROCESS_TEXT_SIZE bytes. */
void report_pool_process(const struct communication *communication,
                         const struct causality_pool *pool, char *text);

/* Whether a row adds information. Without delays, step delay equals step max, and max is the same for every
 * assignment. */
bool report_tells_row(const struct parallelism *parallelism, size_t row);

/* "A = nginx[1], C = nginx[2]": the processes behind the letters of a request signature; as many as fit into `text`. */
#define REPORT_LETTERS_SIZE 1024
void report_letters(const struct causality *causality, const char *string, char *text, size_t size);

#endif
