/* SPDX-License-Identifier: MIT */
/*
 * results.h: one table of all results. Each figure of the statistics is one row of a table of columns; text tables,
 * CSV, JSON and the report derive from it. Private to show/.
 *
 *      communication.processes[7] --.
 *                                    >-- result_value() --> amount 48128 --+--> text   "47.0 KiB"
 *      column "sent.bytes", BYTES --'                                      +--> JSON   "sent": {"bytes": 48128}
 *                                                                          '--> CSV    sent_bytes ... 48128
 *
 * A text table lists the keys of its columns in order. A distribution (times, sizes) has parts; a table names one as
 * "size.p99". JSON and CSV show all of them.
 */
#ifndef DPM_RESULTS_H
#define DPM_RESULTS_H

#include "show/show.h"
#include "show/statistics/statistics_words.h"
#include "show/text/json.h"
#include "show/text/table.h"

/* What a value is; decides how text, JSON and CSV write it. */
enum result_unit {
    RESULT_COUNT, /* 1,234 */
    RESULT_BYTES,
    RESULT_NS,
    RESULT_SIGNED,    /* ns, int64_t */
    RESULT_NUMBER,    /* an identifier such as a pid: no separators */
    RESULT_RATE,      /* `value` per second of `whole`; ns: else of the recording */
    RESULT_BYTE_RATE, /* bytes per second */
    RESULT_SHARE,     /* value / whole: 0 to 1; text shows % */
    RESULT_MEAN,      /* value / whole */
    RESULT_BOOL,
    RESULT_NAME,    /* char[], not always terminated */
    RESULT_TEXT,    /* const char *; NULL or empty: not known */
    RESULT_FILE,    /* const char *: a path name; text shows its last part */
    RESULT_PROCESS, /* uint32_t: index into communication.processes, or NO_PROCESS */
    RESULT_PARTY,   /* struct party */
    RESULT_END,     /* const char *: an address; text adds the processes at that end */
    RESULT_SIZES,   /* struct histogram, of bytes */
    RESULT_TIMES,   /* struct histogram, of ns */
    RESULT_SUM,     /* struct histogram, of ns; only the sum is shown */
    RESULT_JSON,    /* made for JSON alone */
};

/* How the row "others" combines the rows that it stands for. */
enum result_sum { SUM_NONE, SUM_ADD, SUM_MAX };

/* When a text table shows a column. */
enum result_when {
    WHEN_ALWAYS,
    WHEN_KNOWN,     /* the value is known in some row */
    WHEN_SOME,      /* some row has more than 0 */
    WHEN_SEVERAL,   /* some row has more than 1 */
    WHEN_DIFFERENT, /* known values differ between rows */
    WHEN_MACHINES,  /* several machines, and rows are not machines */
};

enum result_flags {
    RESULT_NAMES = 1,     /* JSON: identifies the row, so its histograms repeat it */
    RESULT_PEOPLE = 2,    /* text tables only */
    RESULT_CSV = 4,       /* text tables and CSV only */
    RESULT_PROCESSES = 8, /* text and JSON: not for groups */
    RESULT_GROUPS = 16,   /* text: always for groups */
    RESULT_REPEATS = 64,  /* text: not if its times are those of the column before */
    RESULT_LACKS = 32,    /* the value may be NOT_KNOWN */
    RESULT_AT = 128,      /* text: when it was, and so in seconds however late */
};

/* A member of a row: an unsigned number of 1 to 8 bytes, or the type that the unit names. Size 0: none. */
struct result_field {
    uint16_t offset;
    uint16_t size;
};

struct result_value {
    bool known;
    uint64_t amount;
    uint64_t whole;       /* `amount` is a share of it */
    const char *text;     /* at most `size` bytes */
    size_t size;          /* SIZE_MAX: up to the NUL */
    const void *object;   /* the type that the unit names */
    json_t *json;         /* RESULT_JSON: the caller owns it; NULL: out of memory */
    char made[NAME_SIZE]; /* buffer for a `text` that is stored nowhere else */
};

struct result_column {
    const char *key; /* JSON key; "sent.bytes" is in the object "sent". CSV: "sent_bytes" */
    /* Of text tables, in capitals. For times and sizes, also the metric's name. */
    const char *heading;
    enum result_unit unit;
    struct result_field value;     /* in the row; then, or instead, `get` */
    struct result_field whole;     /* in the row, or ... */
    struct result_field of_all;    /* ... in struct communication */
    struct result_field known;     /* in the row; 0: the value is not known */
    struct result_field end_party; /* RESULT_END: struct party */
    void (*get)(const struct communication *all, const void *row, struct result_value *value);
    enum result_sum sum;
    enum result_when when;
    unsigned char rank; /* of a table_column */
    bool detail;        /* likewise */
    unsigned flags;     /* enum result_flags */
    const char *csv;    /* name in CSV, if it differs */
};

/* A text table. */
struct result_table {
    const char *title; /* NULL: what the rows are called */
    const char *keys;  /* columns, separated by blanks */
    /* Keys; rows where all of these are 0 or unknown are left out. NULL: keep all. */
    const char *needs;
    const char *more;      /* report: the command that shows the whole table */
    enum show_order order; /* report only; elsewhere options decide */
    size_t most;           /* rows, unless all are requested; 0: LARGEST */
    bool rates;            /* shown only if rates are requested */
    bool times;            /* a line for each of the row's times */
    bool by_wait;          /* longest waits first, whatever order is requested */
};

#define MOST_RESULT_TABLES 6

/* Everything about one kind of row. */
struct result_kind {
    const char *list;       /* JSON: name of the list */
    const char *histograms; /* JSON: name of the histograms; NULL: none */
    const struct result_column *columns;
    size_t column_count;
    struct result_field rows; /* array in struct communication; size 0: that struct is the row */
    struct result_field count;
    size_t row_size;
    enum show_table table;
    struct result_table tables[MOST_RESULT_TABLES]; /* ends with one without keys */
    struct result_table report;                     /* without keys: not in the report */
    const char *csv;                                /* keys, in the order of the CSV columns */
    const char *order[ORDER_NAME + 1];              /* keys: what rows are sorted by */
};

enum result_kind_id {
    RESULTS_RECORDING, /* one row for the whole recording */
    RESULTS_MACHINES,
    RESULTS_PROCESSES, /* or groups */
    RESULTS_PAIRS,
    RESULTS_LATE, /* pairs, longest wait first */
    RESULTS_PATHS,
    RESULTS_FAILURES,
    RESULTS_PROCEDURES,
    RESULTS_FILES,
    RESULTS_INPUTS, /* what processes read that others wrote */
    RESULTS_INTERVALS,
    RESULTS_LOADS, /* what machines did, and how long tasks waited there */
    RESULTS_CGROUPS,
    RESULTS_DECISIONS, /* of dpm steer */
    RESULT_KINDS,
};

extern const struct result_kind result_kinds[RESULT_KINDS];

/* The rows of a table that is shown alone; processes if all tables are shown. */
const struct result_kind *result_kind_of(enum show_table table);

/* ---- results.c ---- */

size_t result_rows(const struct result_kind *kind, const struct communication *all);
const void *result_row(const struct result_kind *kind, const struct communication *all,
                       size_t index);

/* The value of a row in a column. It may point into the row and into itself. */
void result_value(const struct result_column *column, const struct communication *all,
                  const void *row, struct result_value *value);

/* The column with this key; NULL: none. */
const struct result_column *result_column(const struct result_kind *kind, const char *key,
                                          size_t length);

/* ---- result_cells.c: values as text, JSON and CSV ---- */

/* Which part of a distribution to show. */
enum result_part {
    PART_COUNT,
    PART_MEAN,
    PART_MIN,
    PART_P50,
    PART_P90,
    PART_P99,
    PART_MAX,
    PART_SUM,
    PART_ALL, /* the whole value; also for values that are no distribution */
};

/* One column of a view: "size.p99" is the column "size" and the part PART_P99. */
struct result_cell {
    const struct result_column *column; /* NULL: no column has this key */
    enum result_part part;
};

/* Parses a list of keys. Returns how many there are; stores at most `most` cells. */
size_t result_cells(const struct result_kind *kind, const char *keys, struct result_cell *cells,
                    size_t most);

/* The value of a cell; for one part of a distribution, the value of that part. */
void result_cell_value(const struct result_cell *cell, const struct communication *all,
                       const void *row, struct result_value *value);

#define HEADING_SIZE 48

/* How useful the column is, as in struct table_column: of a distribution, some parts more than others. */
unsigned char result_rank(const struct result_cell *cell);

/* "SIZE P50"; only "P50" if the cell before it (or NULL) has the same distribution. */
void result_heading(const struct result_cell *cell, const struct result_cell *before,
                    char heading[HEADING_SIZE]);

/* "receive-queue delay": name of the times or sizes in a column. */
void result_words(const struct result_column *column, char words[HEADING_SIZE]);

#define CELL_SIZE END_TEXT_SIZE

/* The value as text; "-" if it is not known. */
void result_text(const struct result_cell *cell, const struct communication *all, const void *row,
                 const struct result_value *value, char text[CELL_SIZE]);

/* Whether a column holds times or sizes, which have parts. */
bool result_is_distribution(const struct result_column *column);

/* All columns of a row as one object. `histograms`: only its name and the bars of each distribution. NULL: out of
 * memory. */
json_t *result_json(const struct result_kind *kind, const struct communication *all,
                    const void *row, bool histograms);

/* ---- result_view.c: a table of cells, for text and the report ---- */

struct result_view {
    const void **rows; /* rows to show, in order */
    size_t count;
    size_t columns;
    struct result_cell cells[MAX_TABLE_COLUMNS];
    struct table_column headings[MAX_TABLE_COLUMNS]; /* heading NULL: column left out */
    char texts[MAX_TABLE_COLUMNS][HEADING_SIZE];     /* of headings */
    size_t leading; /* number of columns that name a row; 0: see table.h */
};

struct result_line {
    const char *cells[MAX_TABLE_COLUMNS];
    char texts[MAX_TABLE_COLUMNS][CELL_SIZE];
};

/* Returns 0 or -ENOMEM. Call result_view_close in any case. */
int result_view_open(struct result_view *view, const struct result_kind *kind,
                     const struct result_table *table, const struct communication *all,
                     enum show_order order);
void result_view_line(const struct result_view *view, const struct communication *all, size_t index,
                      struct result_line *line);

/* One line for all rows from `first` on: "others (12)" and their sums. */
void result_view_others(const struct result_view *view, const struct communication *all,
                        size_t first, struct result_line *line);
void result_view_close(struct result_view *view);

/* What the rows are called: "Processes", "Users" ... */
const char *result_title(const struct communication *all, const struct result_table *table);

/* ---- distribution_table.c ---- */

/* Prints one line per time of each of the first `shown` rows; the first column of the view names the row. `all`: all
 * columns. Prints nothing if there are no times. Returns 0 or -ENOMEM. */
int print_times_table(const struct result_kind *kind, const struct result_view *view, size_t shown,
                      const char *title, const struct communication *communication, FILE *file,
                      bool all);

/* ---- statistics_order.c ---- */

/* All rows in order, without processes that are not chosen, and their number; the caller frees the array. NULL: out of
 * memory. */
const void **result_order(const struct result_kind *kind, const struct communication *all,
                          enum show_order order, size_t *ret_count);

#endif
