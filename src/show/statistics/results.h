/* SPDX-License-Identifier: MIT */
/*
 * results.h: one table of results. Each figure of the statistics is one row of a table of columns, from which text
 * tables, CSV, JSON and the report derive. Private to show/.
 *
 *      communication.processes[7] --.
 *                                    >-- result_value() --> amount 48128 --+--> text   "47.0 KiB"
 *      column "sent.bytes", BYTES --'                                      +--> JSON   "sent": {"bytes": 48128}
 *                                                                          '--> CSV    sent_bytes ... 48128
 *
 * A text table names the keys of its columns in their order. A distribution (times, sizes) has parts, which tables name
 * as "size.p99"; JSON and CSV show all of them.
 */
#ifndef DPM_RESULTS_H
#define DPM_RESULTS_H

#include "show/show.h"
#include "show/statistics/statistics_words.h"
#include "show/text/json.h"
#include "show/text/table.h"

/* What a value is, which says how each face writes it. */
enum result_unit {
    RESULT_COUNT, /* 1,234 */
    RESULT_BYTES,
    RESULT_NS,
    RESULT_SIGNED,    /* ns, int64_t */
    RESULT_NUMBER,    /* names something, as a pid: no separators, and not known in CSV is empty */
    RESULT_RATE,      /* of `value`, in a second of the recording */
    RESULT_BYTE_RATE, /* the same of bytes */
    RESULT_SHARE,     /* value / whole: 0 to 1; people see % */
    RESULT_MEAN,      /* value / whole */
    RESULT_BOOL,
    RESULT_NAME,    /* char[], not always terminated */
    RESULT_TEXT,    /* const char *; NULL or empty: not known */
    RESULT_FILE,    /* the same, a path, of which people see the last part */
    RESULT_PROCESS, /* uint32_t: index into communication.processes, or NO_PROCESS */
    RESULT_PARTY,   /* struct party */
    RESULT_END,     /* const char *: an address; people see who used that end, too */
    RESULT_SIZES,   /* struct histogram, of bytes */
    RESULT_TIMES,   /* struct histogram, of ns */
    RESULT_SUM,     /* struct histogram, of ns, of which only the sum is shown */
    RESULT_JSON,    /* made for JSON alone */
};

/* What the row "others" shows of the rows that it stands for. */
enum result_sum { SUM_NONE, SUM_ADD, SUM_MAX };

/* Text tables leave out a column that has nothing to say. */
enum result_when {
    WHEN_ALWAYS,
    WHEN_KNOWN,     /* of some row */
    WHEN_SOME,      /* some row has more than 0 */
    WHEN_SEVERAL,   /* some row has more than 1 */
    WHEN_DIFFERENT, /* rows whose value is known do not all have the same */
    WHEN_MACHINES,  /* there are several, and rows are not machines */
};

enum result_flags {
    RESULT_NAMES = 1,     /* JSON: says which row it is, also beside its histograms */
    RESULT_PEOPLE = 2,    /* shown in text tables only */
    RESULT_CSV = 4,       /* shown in CSV and text tables only */
    RESULT_PROCESSES = 8, /* not of groups, in text and JSON */
    RESULT_GROUPS = 16,   /* text: always of groups */
};

/* A member of a row: an unsigned number of 1 to 8 bytes, or what the unit says. Size 0: none. */
struct result_field {
    uint16_t offset;
    uint16_t size;
};

struct result_value {
    bool known;
    uint64_t amount;
    uint64_t whole;       /* of which `amount` is a share */
    const char *text;     /* of at most `size` bytes */
    size_t size;          /* 0: up to its NUL */
    const void *object;   /* what the unit says */
    json_t *json;         /* RESULT_JSON, for the caller; NULL: out of memory */
    char made[NAME_SIZE]; /* where `text` points if it stands nowhere else */
};

struct result_column {
    const char *key; /* of JSON; "sent.bytes" is in the object "sent". CSV: "sent_bytes" */
    const char
        *heading; /* of text tables, in capitals; of times and sizes also what they are called */
    enum result_unit unit;
    struct result_field value;     /* in the row; then, or instead, `get` */
    struct result_field whole;     /* in the row, or ... */
    struct result_field of_all;    /* ... in struct communication */
    struct result_field known;     /* in the row: 0 says that the value is not known */
    struct result_field end_party; /* RESULT_END: struct party */
    void (*get)(const struct communication *all, const void *row, struct result_value *value);
    enum result_sum sum;
    enum result_when when;
    unsigned flags;  /* enum result_flags */
    const char *csv; /* if CSV calls it otherwise */
};

/* A table for people. */
struct result_table {
    const char *title; /* NULL: as rows are called */
    const char *keys;  /* of its columns, separated by blanks */
    const char *needs; /* rows are left out where all of these are 0 or not known; NULL: none is */
    const char *more;  /* report: the command that shows all of it */
    enum show_order order; /* report; else options say it */
    size_t most;           /* rows, unless all are asked for; 0: LARGEST */
    bool rates;            /* shown only where rates are asked for */
    bool times;            /* a line for each of the row's times */
    bool by_wait;          /* longest waits first, whatever order is asked for */
};

#define MOST_RESULT_TABLES 4

/* What is known of one kind of row. */
struct result_kind {
    const char *list;       /* JSON: its name */
    const char *histograms; /* JSON: the name of its histograms; NULL: there are none */
    const struct result_column *columns;
    size_t column_count;
    struct result_field rows; /* in struct communication: the array; size 0: that is the row */
    struct result_field count;
    size_t row_size;
    enum show_table table;
    struct result_table tables[MOST_RESULT_TABLES]; /* until one has no keys */
    struct result_table report;                     /* no keys: it is not there */
    const char *csv;                                /* keys, in the order of its columns */
    const char *order[ORDER_NAME + 1];              /* keys: what rows are sorted by */
};

enum result_kind_id {
    RESULTS_RECORDING, /* one row, all of it */
    RESULTS_MACHINES,
    RESULTS_PROCESSES, /* or groups */
    RESULTS_PAIRS,
    RESULTS_LATE, /* pairs, by who waited */
    RESULTS_PATHS,
    RESULTS_PROCEDURES,
    RESULTS_INTERVALS,
    RESULT_KINDS,
};

extern const struct result_kind result_kinds[RESULT_KINDS];

/* What a table that is shown alone has rows of; processes if all are shown. */
const struct result_kind *result_kind_of(enum show_table table);

/* ---- results.c ---- */

size_t result_rows(const struct result_kind *kind, const struct communication *all);
const void *result_row(const struct result_kind *kind, const struct communication *all,
                       size_t index);

/* The value that a row has in a column. It points into the row, and into itself. */
void result_value(const struct result_column *column, const struct communication *all,
                  const void *row, struct result_value *value);

/* NULL: there is none. */
const struct result_column *result_column(const struct result_kind *kind, const char *key,
                                          size_t length);

/* ---- result_cells.c: values as text, JSON and CSV ---- */

/* What is shown of a distribution. */
enum result_part {
    PART_COUNT,
    PART_MEAN,
    PART_MIN,
    PART_P50,
    PART_P90,
    PART_P99,
    PART_MAX,
    PART_SUM,
    PART_ALL, /* also of what is no distribution */
};

/* One column of a view: "size.p99" is the column "size" and the part PART_P99. */
struct result_cell {
    const struct result_column *column; /* NULL: no column has such a key */
    enum result_part part;
};

/* The cells that a list of keys names. Returns how many there are; at most `most` are stored. */
size_t result_cells(const struct result_kind *kind, const char *keys, struct result_cell *cells,
                    size_t most);

/* The value of a cell: of a part of a distribution that of the part. */
void result_cell_value(const struct result_cell *cell, const struct communication *all,
                       const void *row, struct result_value *value);

#define HEADING_SIZE 48

/* "SIZE P50"; behind a cell (or NULL) of the same distribution "P50". */
void result_heading(const struct result_cell *cell, const struct result_cell *before,
                    char heading[HEADING_SIZE]);

/* "receive-queue delay": what the times or sizes of a column are called. */
void result_words(const struct result_column *column, char words[HEADING_SIZE]);

#define CELL_SIZE END_TEXT_SIZE

/* As people read it; what is not known is "-". */
void result_text(const struct result_cell *cell, const struct communication *all, const void *row,
                 const struct result_value *value, char text[CELL_SIZE]);

/* Whether a column holds times or sizes, which have parts. */
bool result_is_distribution(const struct result_column *column);

/* All columns of a row as one object; or, for its histograms, its name and the bars of each distribution. NULL: out of
 * memory. */
json_t *result_json(const struct result_kind *kind, const struct communication *all,
                    const void *row, bool histograms);

/* ---- result_view.c: a table of cells, for text and the report ---- */

struct result_view {
    const void **rows; /* that have something to show, in order */
    size_t count;
    size_t columns;
    struct result_cell cells[MAX_TABLE_COLUMNS];
    struct table_column headings[MAX_TABLE_COLUMNS]; /* NULL: left out */
    char texts[MAX_TABLE_COLUMNS][HEADING_SIZE];     /* of headings */
    size_t leading;                                  /* columns that name a row; 0: see table.h */
};

struct result_line {
    const char *cells[MAX_TABLE_COLUMNS];
    char texts[MAX_TABLE_COLUMNS][CELL_SIZE];
};

/* Returns 0 or -ENOMEM; result_view_close either way. */
int result_view_open(struct result_view *view, const struct result_kind *kind,
                     const struct result_table *table, const struct communication *all,
                     enum show_order order);
void result_view_line(const struct result_view *view, const struct communication *all, size_t index,
                      struct result_line *line);

/* One line of all rows from this one on: "others (12)" and their sums. */
void result_view_others(const struct result_view *view, const struct communication *all,
                        size_t first, struct result_line *line);
void result_view_close(struct result_view *view);

/* What rows of processes are called: "Processes", "Users" ... */
const char *result_title(const struct communication *all, const struct result_table *table);

/* ---- distribution_table.c ---- */

/* A line for each time of each of so many rows; the first column of the view names the row. Nothing where there are
 * no times. Returns 0 or -ENOMEM. */
int print_times_table(const struct result_kind *kind, const struct result_view *view, size_t shown,
                      const char *title, const struct communication *communication, FILE *file);

/* ---- statistics_order.c ---- */

/* All rows in order, which the caller frees; NULL: out of memory. */
const void **result_order(const struct result_kind *kind, const struct communication *all,
                          enum show_order order);

#endif
