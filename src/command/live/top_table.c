/* SPDX-License-Identifier: MIT */
/* top_table.c: see top_table.h. */
#include "command/live/top_table.h"

#include "show/live/live_face.h"
#include "show/show.h"
#include "show/text/terminal.h"

#include <stdio.h>
#include <string.h>

struct column {
    unsigned value; /* enum live_value */
    unsigned width;
    const char *heading, *rate; /* as it is; as a rate */
};

#define NO_CPU (LIVE_WAITS + ELAPSED_NO_CPU)
#define DISK   (LIVE_WAITS + ELAPSED_DISK)
#define LOCK   (LIVE_WAITS + ELAPSED_LOCK)

static const struct column of_processes[] = {
    {LIVE_CPU, 6, "CPU", "CPU"},
    {LIVE_WAITED_FOR, 6, "WAITED", "WAITED"},
    {LIVE_REQUESTS, 6, "REQS", "REQ/S"},
    {LIVE_P99, 6, "P99", "P99"},
    {LIVE_SENT, 6, "SENT", "SENT/S"},
    {LIVE_RECEIVED, 6, "RECV", "RECV/S"},
    {NO_CPU, 6, "NO CPU", "NO CPU"},
    {LIVE_QUEUE, 6, "QUEUE", "QUEUE"},
    {LIVE_SENT_BYTES, 7, "SENT B", "B OUT/S"},
    {LIVE_RECEIVED_BYTES, 7, "RECV B", "B IN/S"},
    {DISK, 6, "DISK", "DISK"},
    {LOCK, 6, "LOCK", "LOCK"},
    {LIVE_MEDIAN, 6, "P50", "P50"},
    {LIVE_FAILED, 6, "FAILED", "FAIL/S"},
    {LIVE_THREADS, 7, "THREADS", "THREADS"},
};

static const struct column of_groups[] = {
    {LIVE_CPU, 6, "CPU", "CPU"},
    {LIVE_WAITED_FOR, 6, "WAITED", "WAITED"},
    {LIVE_REQUESTS, 6, "REQS", "REQ/S"},
    {LIVE_SENT, 6, "SENT", "SENT/S"},
    {LIVE_LIVING, 6, "LIVING", "LIVING"},
    {LIVE_RECEIVED, 6, "RECV", "RECV/S"},
    {NO_CPU, 6, "NO CPU", "NO CPU"},
    {LIVE_QUEUE, 6, "QUEUE", "QUEUE"},
    {LIVE_SENT_BYTES, 7, "SENT B", "B OUT/S"},
    {LIVE_RECEIVED_BYTES, 7, "RECV B", "B IN/S"},
    {LIVE_THREADS, 7, "THREADS", "THREADS"},
};

static const struct column of_pairs[] = {
    {LIVE_SENT, 7, "SENT", "SENT/S"},
    {LIVE_SENT_BYTES, 7, "SENT B", "BYTES/S"},
    {LIVE_RECEIVER_WAIT, 8, "RCV WAIT", "RCV WAIT"},
    {LIVE_QUEUE_DELAY, 7, "Q DELAY", "Q DELAY"},
    {LIVE_SEND_BLOCKED, 7, "BLOCKED", "BLOCKED"},
};

static const struct column of_connections[] = {
    {LIVE_SENT, 7, "SENT", "SENT/S"},
    {LIVE_RECEIVED, 7, "RECV", "RECV/S"},
    {LIVE_QUEUE, 6, "QUEUE", "QUEUE"},
    {LIVE_RECEIVED_BYTES, 7, "RECV B", "B IN/S"},
    {LIVE_SENT_BYTES, 7, "SENT B", "B OUT/S"},
    {LIVE_RETRANSMITS, 7, "RETRANS", "RETRA/S"},
    {LIVE_LIVING, 6, "LIVING", "LIVING"},
    {LIVE_QUEUE_DELAY, 7, "Q DELAY", "Q DELAY"},
    {LIVE_SEND_BLOCKED, 7, "BLOCKED", "BLOCKED"},
};

static const struct column of_requests[] = {
    {LIVE_REQUESTS, 7, "REQS", "REQ/S"},
    {LIVE_MEDIAN, 6, "P50", "P50"},
    {LIVE_P99, 6, "P99", "P99"},
    {LIVE_REQUEST_TIME, 6, "OPEN", "OPEN"},
    {LIVE_QUEUE_DELAY, 7, "Q DELAY", "Q DELAY"},
    {LIVE_QUEUE, 6, "QUEUE", "QUEUE"},
    {LIVE_LIVING, 6, "LIVING", "LIVING"},
};

static const struct {
    const char *name, *heading;
    enum live_table table;
    const struct column *columns;
    size_t count;
    unsigned sort; /* at first */
    bool waits;    /* rows say what they wait for */
} views[TOP_VIEWS] = {
    [TOP_PROCESSES] = {"processes", "PROCESS", LIVE_PROCESSES, of_processes,
                       ARRAY_SIZE(of_processes), LIVE_WAITED_FOR, true},
    [TOP_PAIRS] = {"pairs", "FROM > TO", LIVE_PAIRS, of_pairs, ARRAY_SIZE(of_pairs), LIVE_SENT,
                   false},
    [TOP_CONNECTIONS] = {"connections", "CONNECTION", LIVE_CONNECTIONS, of_connections,
                         ARRAY_SIZE(of_connections), LIVE_SENT, false},
    [TOP_REQUESTS] = {"requests", "CLIENT > SERVER", LIVE_CONNECTIONS, of_requests,
                      ARRAY_SIZE(of_requests), LIVE_REQUESTS, false},
    [TOP_PROGRAMS] = {"programs", "PROGRAM", LIVE_PROGRAMS, of_groups, ARRAY_SIZE(of_groups),
                      LIVE_WAITED_FOR, true},
    [TOP_CONTAINERS] = {"containers", "CONTAINER, UNIT", LIVE_CONTAINERS, of_groups,
                        ARRAY_SIZE(of_groups), LIVE_WAITED_FOR, true},
    [TOP_MACHINES] = {"machines", "MACHINE", LIVE_MACHINES, of_groups, ARRAY_SIZE(of_groups),
                      LIVE_WAITED_FOR, true},
    [TOP_STRIPS] = {"views", "VIEW", LIVE_PROCESSES, NULL, 0, LIVE_WAITED_FOR, false},
};

void top_look_init(struct top_look *look)
{
    *look = (struct top_look){0};
    for (unsigned i = 0; i < TOP_VIEWS; i++)
        look->sort[i] = views[i].sort;
}

const char *top_view_name(unsigned view)
{
    return view < TOP_VIEWS ? views[view].name : NULL;
}

enum live_table top_table_of(enum top_view view)
{
    return views[view].table;
}

void top_choice(const struct top_look *look, struct live_choice *choice)
{
    live_default_choice(choice);
    for (unsigned i = 0; i < TOP_VIEWS; i++)
        if (i != look->view)
            choice->sort[views[i].table] = look->sort[i];
    choice->sort[views[look->view].table] = look->sort[look->view];
    choice->so_far = look->so_far;
    memcpy(choice->filter, look->filter, sizeof(choice->filter));
}

void top_sort_next(struct top_look *look, int step)
{
    size_t count = views[look->view].count, at = 0;

    if (count == 0)
        return;
    while (at < count && views[look->view].columns[at].value != look->sort[look->view])
        at++;
    at = (at + count + (size_t)(step < 0 ? count - 1 : 1)) % count;
    look->sort[look->view] = views[look->view].columns[at].value;
}

/* What has ended is shown as long as it did something in the interval, and with what has been so far. */
static bool is_shown(const struct top_look *look, const struct live_row *row)
{
    if (look->view == TOP_REQUESTS)
        return row->so_far[LIVE_REQUESTS] > 0;
    return !row->ended || look->so_far || row->interval[LIVE_CPU] + row->interval[LIVE_SENT] > 0 ||
           row->interval[LIVE_RECEIVED] + row->interval[LIVE_WAITED_FOR] > 0;
}

size_t top_rows(const struct top_look *look, const struct live_snapshot *snapshot,
                const struct live_row *rows[LIVE_ROWS_MOST])
{
    const struct live_rows *of = &snapshot->tables[views[look->view].table];
    size_t count = 0;

    for (size_t i = 0; i < of->count; i++)
        if (is_shown(look, &of->at[i]))
            rows[count++] = &of->at[i];
    return count;
}

/* ---- lines ---- */

/* Bytes of a line without the blanks that fill it: characters may take many bytes and no column. */
#define BYTES_MOST (TOP_LINE_SIZE - 1 - TOP_WIDTH_MOST)

void top_fit(const char *text, size_t width, bool fill, char line[TOP_LINE_SIZE])
{
    size_t columns, size;

    if (width > TOP_WIDTH_MOST)
        width = TOP_WIDTH_MOST;
    size = text_fitting(text, width, &columns);
    if (size > BYTES_MOST)
        size = columns = 0;
    memcpy(line, text, size);
    for (; fill && columns < width; columns++)
        line[size++] = ' ';
    line[size] = '\0';
}

/* A line that is being made. */
struct line {
    char *text;
    size_t size;    /* bytes */
    size_t columns; /* used ... */
    size_t width;   /* ... of these */
};

static struct line line_begin(char text[TOP_LINE_SIZE], size_t width)
{
    text[0] = '\0';
    return (struct line){text, 0, 0, width < TOP_WIDTH_MOST ? width : TOP_WIDTH_MOST};
}

static void add(struct line *line, const char *text)
{
    size_t columns, size = text_fitting(text, line->width - line->columns, &columns);

    if (line->size + size > BYTES_MOST)
        return;
    memcpy(line->text + line->size, text, size);
    line->size += size;
    line->columns += columns;
    line->text[line->size] = '\0';
}

/* To the left, or to the right, of a column. */
static void add_cell(struct line *line, const char *text, size_t width, bool right)
{
    char cell[TOP_LINE_SIZE];
    size_t columns;

    (void)text_fitting(text, width, &columns);
    for (size_t i = columns; right && i < width; i++)
        add(line, " ");
    top_fit(text, width, !right, cell);
    add(line, cell);
}

#define NAME_LEAST  20
#define WAITS_LEAST 24
#define NAME_MOST   48

/* How many columns there is space for, and how wide names are. */
static size_t fit_columns(const struct top_look *look, size_t width, size_t *ret_name)
{
    size_t least = views[look->view].waits ? NAME_LEAST : 2 * NAME_LEAST - 6;
    size_t used = least + (views[look->view].waits ? 1 + WAITS_LEAST : 0), count = 0;

    while (count < views[look->view].count &&
           used + 1 + views[look->view].columns[count].width <= width)
        used += 1 + views[look->view].columns[count++].width;
    size_t spare = width > used ? width - used : 0;
    size_t most = views[look->view].waits ? NAME_MOST : 2 * NAME_MOST;
    *ret_name = least + (views[look->view].waits ? spare / 2 : spare);
    if (*ret_name > most)
        *ret_name = most;
    if (*ret_name > width)
        *ret_name = width;
    return count;
}

size_t top_sorted_column(const struct top_look *look, size_t width, size_t *ret_columns)
{
    size_t name, count = fit_columns(look, width, &name), at = name;

    *ret_columns = 0;
    for (size_t i = 0; i < count; i++) {
        const struct column *column = &views[look->view].columns[i];
        if (column->value == look->sort[look->view]) {
            *ret_columns = column->width;
            return at + 1;
        }
        at += 1 + column->width;
    }
    return 0;
}

void top_heading(const struct top_look *look, size_t width, char text[TOP_LINE_SIZE])
{
    struct line line = line_begin(text, width);
    size_t name, count = fit_columns(look, width, &name);

    add_cell(&line, views[look->view].heading, name, false);
    for (size_t i = 0; i < count; i++) {
        const struct column *column = &views[look->view].columns[i];
        add(&line, " ");
        add_cell(&line, look->so_far ? column->heading : column->rate, column->width, true);
    }
    if (views[look->view].waits)
        add(&line, look->so_far ? " WAITS FOR (now)" : " WAITS FOR");
}

static void name_row(enum top_view view, const struct live_row *row, size_t width,
                     char text[TOP_LINE_SIZE])
{
    char one[LIVE_NAME_SIZE], other[LIVE_NAME_SIZE], address[LIVE_NAME_SIZE];
    struct line line = line_begin(text, width);
    bool ends = view == TOP_PAIRS || view == TOP_CONNECTIONS || view == TOP_REQUESTS;

    if (!ends) {
        show_live_name(row->name, width, one);
        add(&line, one);
        return;
    }
    size_t part = width > 3 ? (width - 3) / 2 : 1;
    show_live_name(row->name, part, one);
    show_live_name(row->other, width > 3 + text_width(one) ? width - 3 - text_width(one) : 1,
                   other);
    add(&line, one);
    add(&line, " > ");
    add(&line, other);
    if (view == TOP_PAIRS || row->address[0] == '\0' || strcmp(row->address, row->other) == 0 ||
        line.columns + 8 > width)
        return;
    show_live_name(row->address, width - line.columns - 1, address);
    add(&line, " ");
    add(&line, address);
}

/* The change of a rate since the snapshot before, per second. */
static void change_text(unsigned value, const struct live_snapshot *snapshot,
                        const struct live_snapshot *before, const struct live_row *row,
                        enum live_table table, char text[LIVE_CELL_SIZE])
{
    const struct live_row *was = NULL;
    bool moment = live_value_kind(value)->is_moment;
    bool is_quantile = value == LIVE_MEDIAN || value == LIVE_P99;

    for (size_t i = 0; before != NULL && i < before->tables[table].count; i++)
        if (before->tables[table].at[i].key == row->key)
            was = &before->tables[table].at[i];
    if (was == NULL || snapshot->length == 0 || before->length == 0 ||
        (is_quantile && was->interval[value] == 0)) { /* there was none */
        strcpy(text, "-");
        return;
    }
    double scale = moment ? 1 : 1e9;
    double now =
        (double)live_row_value(row, value, false) * scale / (moment ? 1 : (double)snapshot->length);
    double then =
        (double)live_row_value(was, value, false) * scale / (moment ? 1 : (double)before->length);
    show_live_change(value, (now - then) / ((double)snapshot->length / 1e9), text);
}

static void cell_text(const struct top_look *look, unsigned value,
                      const struct live_snapshot *snapshot, const struct live_snapshot *before,
                      const struct live_row *row, char text[LIVE_CELL_SIZE])
{
    enum live_table table = views[look->view].table;
    bool is_quantile = value == LIVE_MEDIAN || value == LIVE_P99;
    uint64_t amount = live_row_value(row, value, look->so_far);

    if (!live_row_knows(row, value) || (is_quantile && (row->rows != 1 || amount == 0)))
        strcpy(text, "-");
    else if (look->changes)
        change_text(value, snapshot, before, row, table, text);
    else
        show_live_value(value, amount, look->so_far ? 0 : snapshot->length, text);
}

/* Whether CPUs of the row's machine worked for longer than rows say; of any machine, if the row has several. */
static bool hides_cpu(const struct live_snapshot *snapshot, const struct live_row *row)
{
    bool hides = snapshot->machine_count == 0;

    if (row->key != 0 && row->machine < snapshot->machine_count)
        return snapshot->machines[row->machine].hides_cpu;
    for (size_t i = 0; i < snapshot->machine_count; i++)
        hides = hides || snapshot->machines[i].hides_cpu;
    return hides;
}

/* Threads may compute without a record: for at least half of the interval, added up. In an idle machine they sleep. */
static bool has_silent_threads(const struct live_snapshot *snapshot, const struct live_row *row)
{
    return snapshot->length > 0 && row->interval[LIVE_SILENT] >= snapshot->length / 2 &&
           hides_cpu(snapshot, row);
}

/* What is not known of an interval is not shown as 0: "-", and "38%+" for CPU time of which more is to come. */
static void qualify(const struct top_look *look, unsigned value,
                    const struct live_snapshot *snapshot, const struct live_snapshot *before,
                    const struct live_row *row, char text[LIVE_CELL_SIZE])
{
    const struct live_value_kind *kind = live_value_kind(value);
    bool stands = snapshot->stands || (look->changes && before != NULL && before->stands);

    if (look->so_far || !live_row_knows(row, value))
        return;
    if (stands && kind->unit == LIVE_NS && !kind->is_moment)
        strcpy(text, "-");
    else if (value == LIVE_CPU && !look->changes && has_silent_threads(snapshot, row))
        strcat(text, "+");
}

static void wait_text(const struct live_snapshot *snapshot, const struct live_row *row,
                      char text[LIVE_WAIT_SIZE])
{
    struct live_wait wait = row->wait;

    wait.is_silent = live_is_silent(row, snapshot->length);
    show_live_wait(&wait, text);
    if (row->ended) {
        strcpy(text, "(ended)");
    } else if (!wait.is_silent && has_silent_threads(snapshot, row)) {
        size_t size = strcmp(text, "-") == 0 ? 0 : strlen(text);
        snprintf(text + size, LIVE_WAIT_SIZE - size, "%ssilent threads", size == 0 ? "" : ", ");
    }
}

static void make_row(const struct top_look *look, const struct live_snapshot *snapshot,
                     const struct live_snapshot *before, const struct live_row *row,
                     const char *named, size_t width, char text[TOP_LINE_SIZE])
{
    struct line line = line_begin(text, width);
    size_t name, count = fit_columns(look, width, &name);
    char cell[TOP_LINE_SIZE], value[LIVE_CELL_SIZE], wait[LIVE_WAIT_SIZE];

    if (named == NULL)
        name_row(look->view, row, name, cell);
    add_cell(&line, named != NULL ? named : cell, name, false);
    for (size_t i = 0; i < count; i++) {
        const struct column *column = &views[look->view].columns[i];
        cell_text(look, column->value, snapshot, before, row, value);
        qualify(look, column->value, snapshot, before, row, value);
        add(&line, " ");
        add_cell(&line, value, column->width, true);
    }
    if (!views[look->view].waits || named != NULL)
        return;
    wait_text(snapshot, row, wait);
    add(&line, " ");
    add(&line, wait);
}

void top_row(const struct top_look *look, const struct live_snapshot *snapshot,
             const struct live_snapshot *before, const struct live_row *row, size_t width,
             char line[TOP_LINE_SIZE])
{
    make_row(look, snapshot, before, row, NULL, width, line);
}

bool top_others(const struct top_look *look, const struct live_snapshot *snapshot, size_t width,
                char line[TOP_LINE_SIZE])
{
    const struct live_rows *rows = &snapshot->tables[views[look->view].table];
    const struct live_row *others = &rows->others;
    uint32_t ended = look->view == TOP_PROCESSES ? rows->others_ended : 0;
    char named[LIVE_NAME_SIZE];

    if (others->rows == 0 || look->view == TOP_REQUESTS)
        return false;
    if (ended == others->rows)
        snprintf(named, sizeof(named), "others (%u ended)", ended);
    else
        snprintf(named, sizeof(named), "others (%u)", others->rows - ended);
    make_row(look, snapshot, NULL, others, named, width, line);
    return true;
}

/* ---- the head ---- */

bool top_is_rest(const struct live *live)
{
    const struct live_snapshot *last = live_snapshot(live, 0), *before = live_snapshot(live, 1);

    return before != NULL && last->last && last->length < before->length / 10;
}

void top_head(const struct live_snapshot *snapshot, const char *subject, const char *state,
              bool ended, size_t width, char text[TOP_LINE_SIZE])
{
    char made[400], safe[200], time[UNIT_SIZE], rate[LIVE_CELL_SIZE], lost[UNIT_SIZE];
    char processes[COUNTED_SIZE];

    show_text(subject, strnlen(subject, sizeof(safe) - 1), safe);
    show_duration(snapshot->time, time);
    show_live_value(LIVE_SENT, snapshot->records, snapshot->length, rate);
    show_count(snapshot->lost, lost);
    show_counted(snapshot->tables[LIVE_PROCESSES].total.so_far[LIVE_LIVING], "process", processes);
    snprintf(made, sizeof(made), "dpm top  %s%s%s  %s  %s  %s records/s  %s lost%s", safe,
             state[0] == '\0' ? "" : "  ", state, time, processes, rate, lost,
             ended ? "  (ended)" : "");
    top_fit(made, width, false, text);
}

static void add_cost(struct line *line, const char *before, uint64_t ns, uint64_t of)
{
    char cost[LIVE_CELL_SIZE];

    show_live_value(LIVE_CPU, ns, of == 0 ? 1 : of, cost);
    add(line, before);
    add(line, cost);
}

#define SECOND 1000000000u /* ns */

/* A recorder of a machine where nothing happens writes each 14 s. */
#define SILENCE 20000000000u /* ns */

static void add_machine(struct line *line, const struct live_machine *machine, bool last)
{
    char share[UNIT_SIZE], made[160], name[sizeof(machine->name) + 1], ago[UNIT_SIZE];

    show_text(machine->name, sizeof(machine->name), name);
    if (machine->cpu != NOT_KNOWN && machine->cpus > 0 && machine->elapsed > 0) {
        show_percent(machine->cpu, machine->elapsed * machine->cpus, share);
        snprintf(made, sizeof(made), "   %s: CPU %s%% of %u", name, share, (unsigned)machine->cpus);
        add(line, made);
    }
    if (machine->ended && !machine->complete) {
        snprintf(made, sizeof(made), "   %s: gone", name);
        add(line, made);
    } else if (machine->ended && !last) {
        snprintf(made, sizeof(made), "   %s: ended", name);
        add(line, made);
    } else if (!machine->ended && machine->last != UINT64_MAX && machine->last > SILENCE) {
        show_duration(machine->last, ago);
        snprintf(made, sizeof(made), "   %s: no records for %s", name, ago);
        add(line, made);
    }
}

void top_costs(const struct live_snapshot *snapshot, bool records, size_t width,
               char text[TOP_LINE_SIZE])
{
    struct line line = line_begin(text, width);

    add_cost(&line, records ? "DPM itself: " : "dpm top: ", snapshot->reader_new, snapshot->real);
    add(&line, " of a CPU");
    if (!records && snapshot->own_rate != NOT_KNOWN)
        add_cost(&line, ", recorder ", snapshot->own_rate, SECOND);
    if (snapshot->hook_rate != NOT_KNOWN)
        add_cost(&line, ", hooks ", snapshot->hook_rate, SECOND);
    for (size_t i = 0; i < snapshot->machine_count; i++)
        add_machine(&line, &snapshot->machines[i], snapshot->last);
}

#define MARK_STAYS 10000000000u /* ns */

bool top_mark(const struct live_snapshot *snapshot, size_t width, char text[TOP_LINE_SIZE])
{
    struct line line = line_begin(text, width);
    char decision[DECISION_LINE_SIZE];

    if (snapshot->decision.record.outcome == 0 ||
        snapshot->time > snapshot->decision.time + MARK_STAYS)
        return false;
    show_decision(&snapshot->decision.record, decision);
    add(&line, "dpm steer: ");
    add(&line, decision);
    return true;
}

void top_details(const struct live_snapshot *snapshot, const struct live_row *row, size_t width,
                 char text[TOP_LINE_SIZE])
{
    struct line line = line_begin(text, width);
    bool told[ELAPSED_KIND_COUNT] = {false};
    char name[LIVE_NAME_SIZE], share[LIVE_CELL_SIZE];

    show_live_name(row->name, 40, name);
    add(&line, name);
    add(&line, ":");
    for (size_t shown = 0; shown < 8; shown++) {
        unsigned most = ELAPSED_KIND_COUNT;
        for (unsigned kind = 0; kind < ELAPSED_KIND_COUNT; kind++)
            if (!told[kind] && row->interval[LIVE_WAITS + kind] > 0 &&
                (most == ELAPSED_KIND_COUNT ||
                 row->interval[LIVE_WAITS + kind] > row->interval[LIVE_WAITS + most]))
                most = kind;
        if (most == ELAPSED_KIND_COUNT)
            break;
        told[most] = true;
        const struct live_wait wait = {
            .kind = (enum elapsed_kind)most, .time = UINT64_MAX, .call = NO_SYSTEM_CALL};
        char named[LIVE_WAIT_SIZE];
        show_live_wait(&wait, named);
        show_live_value(LIVE_WAITS + most, row->interval[LIVE_WAITS + most], snapshot->length,
                        share);
        add(&line, shown == 0 ? " " : ", ");
        add(&line, named);
        add(&line, " ");
        add(&line, share);
    }
    if (row->interval[LIVE_SILENT] > 0) {
        show_live_value(LIVE_SILENT, row->interval[LIVE_SILENT], snapshot->length, share);
        add(&line, text[strlen(text) - 1] == ':' ? " " : ", ");
        add(&line, "silent threads ");
        add(&line, share);
    }
}
