/* SPDX-License-Identifier: MIT */
/*
 * report_face.h: what a report says, before it is printed or drawn. Private to show/.
 *
 *      struct report --> report_content --+--> findings   topic, sentence
 *                                         '--> tables     title, command, headings, the first rows
 *
 * Its text is valid UTF-8 without control characters; still to be escaped.
 */
#ifndef DPM_REPORT_FACE_H
#define DPM_REPORT_FACE_H

#include "show/show.h"
#include "show/text/table.h"

#define FOUND_NOTHING "Nothing" /* the topic of the only finding then */

struct report_finding {
    const char *topic; /* "Load"; several in a row may have the same */
    const char *text;  /* a sentence */
};

struct report_row {
    const char *const *cells; /* as many as the table has columns */
};

/* Of which analysis. */
enum report_part { REPORT_COMMUNICATION, REPORT_PARALLELISM, REPORT_PATH, REPORT_REQUESTS };

struct report_table {
    enum report_part part;
    const char *title;
    const char *command;                /* that shows all of it, without its traces */
    const struct table_column *columns; /* those whose heading is NULL are left out */
    size_t column_count;
    struct report_row *rows;
    size_t row_count;
    size_t row_capacity;
    size_t left_out; /* rows */
};

#define REPORT_TABLES 8
#define REPORT_ROWS   10 /* of a table of the text ... */
#define REPORT_LONG   40 /* ... and of the page */

struct report_content {
    struct report_finding *findings;
    size_t finding_count;
    size_t finding_capacity;
    struct report_table tables[REPORT_TABLES];
    size_t table_count;
    size_t most;         /* rows of a table: to be set before report_tabulate */
    struct arena memory; /* of texts and cells */
    bool failed;         /* out of memory */
};

/* Both add to an all-zero content, and return 0 or -ENOMEM; report_content_done either way. */
int report_find(const struct report *report, struct report_content *content);
int report_tabulate(const struct report *report, struct report_content *content);
void report_content_done(struct report_content *content);

/* ---- drawings ---- */

/* 0 to 1: how dark or wide it is drawn, by the root of its share, so that little is still seen. */
double traffic_weight(uint64_t part, uint64_t most);

/* ---- the page: XML that is HTML, too; each of these returns 0 or -ENOMEM ---- */

int html_matrix(const struct report *report, FILE *file);
int html_process_graph(const struct report *report, FILE *file);
void html_parallelism(const struct parallelism_runs *runs, FILE *file);

/* Whether a row tells something: without delays step delay is step max, and step max is that of any assignment. */
bool report_tells_row(const struct parallelism *parallelism, size_t row);

/* "A = nginx[1], C = nginx[2]": who has the letters of a string; as many as have room. */
#define REPORT_LETTERS_SIZE 1024
void report_letters(const struct causality *causality, const char *string, char *text, size_t size);

#endif
