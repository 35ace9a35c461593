/* SPDX-License-Identifier: MIT */
/* top_command.c: `dpm top`: what processes do and wait for, now. See dpm-top(1). */
#include "command/live/live_operand.h"
#include "command/live/top_screen.h"
#include "command/live/top_views.h"
#include "show/show.h"
#include "show/text/terminal.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define DEFAULT_INTERVAL 1000000000u /* ns */
#define TEXT_ROWS        20          /* without a terminal */

struct top_options {
    struct live_operand operand;
    uint64_t interval; /* ns */
    double pace;
    uint64_t count; /* snapshots; 0: any */
    unsigned view;
    const char *monitor; /* whose views are shown; NULL: those of this user */
};

static void say_nothing(const char *line, void *context)
{
    (void)line, (void)context;
}

static void say_below(const char *line, void *context)
{
    struct top_screen *screen = context;

    snprintf(screen->said, sizeof(screen->said), "%.*s", (int)sizeof(screen->said) - 1, line);
    screen->changed = true;
}

#define LATER_MOST 8

/* Lines for when the screen is gone. */
struct later {
    char lines[LATER_MOST][256];
    size_t count;
};

static void say_later(const char *line, void *context)
{
    struct later *later = context;

    if (later->count < LATER_MOST)
        snprintf(later->lines[later->count++], sizeof(later->lines[0]), "%s", line);
}

static void say_line(const char *line, void *context)
{
    (void)context;
    command_say("%s", line);
}

static bool told_to_end(int signals)
{
    struct signalfd_siginfo info;

    return read(signals, &info, sizeof(info)) == sizeof(info) && info.ssi_signo != SIGCHLD;
}

/* Views are of now: none are shown beside a trace that is played. */
static int open_views(const struct top_options *options, const struct live_feed *feed,
                      struct live_views **ret_views, struct problem *problem)
{
    bool plays = feed->kind == FEED_FINISHED && !live_feed_records(feed);

    return live_views_new(plays ? "none" : options->monitor, options->interval, ret_views, problem);
}

/* ---- on a terminal ---- */

static bool is_gone(const struct pollfd *terminal)
{
    return (terminal->revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
}

static int show(struct top_screen *screen, struct live_feed *feed, int signals,
                struct problem *problem)
{
    struct pollfd files[] = {{.fd = signals, .events = POLLIN},
                             {.fd = STDIN_FILENO, .events = POLLIN},
                             {.fd = live_views_descriptor(screen->views), .events = POLLIN}};

    while (!screen->ends) {
        live_feed_wait(feed, files, ARRAY_SIZE(files), UINT64_MAX);
        if (((files[0].revents & POLLIN) != 0 && told_to_end(signals)) || is_gone(&files[1]))
            return 0;
        int result = live_feed_step(feed, problem);
        if (result < 0)
            return result;
        live_views_step(screen->views);
        if (result > 0)
            live_views_tick(screen->views);
        screen->changed |= result > 0 && screen->look.back == 0;
        if (top_screen_keys(screen) < 0)
            return problem_set(problem, -ENOMEM, "out of memory");
        if (screen->changed)
            top_screen_draw(screen);
    }
    return 0;
}

static int top_on_terminal(struct top_options *options, int signals)
{
    struct live_feed_options wish = {
        .interval = options->interval, .pace = options->pace, .stop = signals, .hides = true};
    struct live_feed feed = {0};
    struct later later = {0};
    struct top_screen screen;
    struct problem problem;
    int result = top_screen_begin(&screen, &feed, options->operand.subject, &problem);

    if (result < 0)
        return command_error("%s", problem.text);
    screen.look.view = options->view;
    top_screen_say(&screen, options->operand.reads_traces ? "dpm top: waiting for records ..."
                                                          : "dpm top: loading the meter ...");
    live_operand_feed(&options->operand, &wish);
    wish.acquiring.say = say_nothing;
    wish.say = say_below;
    wish.say_context = &screen;
    result = live_feed_open(&feed, &wish, &problem);
    if (result >= 0)
        result = open_views(options, &feed, &screen.views, &problem);
    if (result >= 0)
        result = show(&screen, &feed, signals, &problem);
    feed.options.say = say_later;
    feed.options.say_context = &later;
    live_feed_close(&feed); /* first of all: nothing stays attached */
    live_views_free(screen.views);
    top_screen_end(&screen);
    for (size_t i = 0; i < later.count; i++)
        command_say("%s", later.lines[i]);
    return result < 0 ? command_error("%s", problem.text) : EXIT_SUCCESS;
}

/* ---- without one ---- */

static size_t width_of_text(void)
{
    size_t width = terminal_width(stdout);

    return width == 0 ? 80 : width < TOP_WIDTH_MOST ? width : TOP_WIDTH_MOST;
}

/* `rows`: of the table, but not printed. Of requests it is not known how many of the other connections have some. */
static void print_rest(const struct top_look *look, const struct live_snapshot *snapshot,
                       const struct live_row *const *rows, size_t count)
{
    const struct live_rows *of = &snapshot->tables[top_table_of(look->view)];
    bool has_others = of->others.rows > 0, counts = look->view != TOP_REQUESTS;
    size_t all = count + (counts ? of->others.rows : 0), ended = of->others_ended;
    char more[UNIT_SIZE], gone[UNIT_SIZE];

    if (all == 0)
        return;
    for (size_t i = 0; i < count; i++)
        ended += rows[i]->ended;
    show_count(all, more);
    show_count(ended, gone);
    printf("and %s%s more", !counts && has_others ? "at least " : "", more);
    if (look->view == TOP_PROCESSES && ended == all)
        printf(", which %s ended", all == 1 ? "has" : "have");
    else if (look->view == TOP_PROCESSES && ended > 0)
        printf(", of which %s %s ended", gone, ended == 1 ? "has" : "have");
    putchar('\n');
}

static void print_views(const struct live_views *views, size_t width)
{
    struct strip_cells cells;
    char line[TOP_LINE_SIZE], warning[STRIPS_DETAILS_SIZE];

    top_views_heading(width, line);
    puts(line);
    for (size_t i = 0; i < TEXT_ROWS && live_views_row(views, i, &cells, NULL); i++) {
        top_views_line(&cells, width, line);
        puts(line);
    }
    (void)live_views_warning(views, warning);
    if (warning[0] != '\0')
        puts(warning);
    putchar('\n');
}

static void print(const struct live_feed *feed, const struct top_look *look, const char *subject,
                  const struct live_views *seen)
{
    const struct live_snapshot *snapshot = live_snapshot(feed->live, 0);
    const struct live_snapshot *before = live_snapshot(feed->live, 1);
    const struct live_row *rows[LIVE_ROWS_MOST];
    size_t count = top_rows(look, snapshot, rows), width = width_of_text();
    char line[TOP_LINE_SIZE];

    top_head(snapshot, subject, "", snapshot->last, width, line);
    puts(line);
    top_costs(snapshot, live_feed_records(feed), width, line);
    puts(line);
    if (snapshot->new_decisions > 0 && top_mark(snapshot, width, line))
        puts(line);
    if (look->view == TOP_STRIPS) {
        print_views(seen, width);
        return;
    }
    top_heading(look, width, line);
    puts(line);
    for (size_t i = 0; i < count && i < TEXT_ROWS; i++) {
        top_row(look, snapshot, before, rows[i], width, line);
        puts(line);
    }
    size_t printed = count < TEXT_ROWS ? count : TEXT_ROWS;
    print_rest(look, snapshot, rows + printed, count - printed);
    putchar('\n');
}

static int print_all(struct live_feed *feed, const struct top_options *options, int signals,
                     struct live_views *views, struct problem *problem)
{
    struct pollfd files[] = {{.fd = signals, .events = POLLIN},
                             {.fd = live_views_descriptor(views), .events = POLLIN}};
    struct top_look look;
    struct live_choice choice;
    uint64_t printed = 0;

    top_look_init(&look);
    look.view = options->view;
    top_choice(&look, &choice);
    if (live_choose(feed->live, &choice) < 0)
        return problem_set(problem, -ENOMEM, "out of memory");
    while (!feed->ended && (options->count == 0 || printed < options->count)) {
        live_feed_wait(feed, files, ARRAY_SIZE(files), UINT64_MAX);
        if ((files[0].revents & POLLIN) != 0 && told_to_end(signals))
            return 0;
        int result = live_feed_step(feed, problem);
        if (result < 0)
            return result;
        live_views_step(views);
        if (result > 0)
            live_views_tick(views);
        if (result > 0 && !top_is_rest(feed->live))
            print(feed, &look, options->operand.subject, views);
        printed += result > 0;
        result = result > 0 ? command_flush_output(problem) : 0;
        if (result < 0)
            return result == -EPIPE ? 0 : result; /* the reader has gone */
    }
    return 0;
}

/* Nobody watches a finished trace being played: a picture for each interval of its time. */
static int top_as_text(struct top_options *options, int signals)
{
    struct live_feed_options wish = {
        .interval = options->interval, .stop = signals, .hides = true, .say = say_line};
    struct live_feed feed;
    struct live_views *views = NULL;
    struct problem problem;

    live_operand_feed(&options->operand, &wish);
    wish.acquiring.say = say_line;
    int result = live_feed_open(&feed, &wish, &problem);
    if (result >= 0)
        result = open_views(options, &feed, &views, &problem);
    if (result >= 0)
        result = print_all(&feed, options, signals, views, &problem);
    live_views_free(views);
    live_feed_close(&feed);
    return result < 0 ? command_error("%s", problem.text) : EXIT_SUCCESS;
}

/* ---- options ---- */

static const char *view_word(size_t index)
{
    return top_view_name((unsigned)index);
}

enum {
    OPTION_NAME = OPTION_HELP + 1,
    OPTION_INTERVAL,
    OPTION_KINDS,
    OPTION_MONITOR,
    OPTION_PACE,
    OPTION_VIEW
};

static const struct command_option top_options[] = {
    {"pid", 'p', {"PID", ARGUMENT_PID}, "this process; -p and --name are repeatable"},
    {"name", OPTION_NAME, {"NAME", ARGUMENT_PROCESS}, "processes with this name"},
    {"kinds",
     OPTION_KINDS,
     {"LIST", ARGUMENT_LIST, meter_kind_word},
     "connections of processes to record, as of dpm acquire (all,-pipe,-mq)"},
    {"view",
     OPTION_VIEW,
     {"WHAT", ARGUMENT_WORD, view_word},
     "rows at first: processes (default), pairs, connections, requests, programs,\ncontainers, "
     "machines, views"},
    {"monitor",
     OPTION_MONITOR,
     {"SOCKET", ARGUMENT_FILE},
     "show the views of this dpm view run --control SOCKET; none (all of this user)"},
    {"interval", OPTION_INTERVAL, {"TIME"}, "a new picture every TIME, at least 10ms (1s)"},
    {"pace", OPTION_PACE, {"N"}, "play a finished trace N times as fast, 1 to 100 (1)"},
    {"count", 'n', {"N"}, "without a terminal: end after N pictures"},
    {0},
};

static int read_interval(struct top_options *options)
{
    if (parse_duration(optarg, &options->interval) == 0 && options->interval >= 10000000u)
        return -1;
    return command_usage_error("top", "--interval '%s': give a time of at least 10ms, e.g. 2s",
                               optarg);
}

static int take_option(int option, struct top_options *options)
{
    uint64_t number = 0;
    size_t word = 0;
    int status;

    switch (option) {
    case 'p':
        return live_operand_take("top", false, &options->operand);
    case OPTION_NAME:
        return live_operand_take("top", true, &options->operand);
    case 'n':
        return option_number("top", "count", 1, UINT32_MAX, &options->count);
    case OPTION_PACE:
        status = option_number("top", "pace", 1, 100, &number);
        options->pace = (double)number;
        return status;
    case OPTION_KINDS:
        return live_operand_kinds("top", &options->operand);
    case OPTION_VIEW:
        status = option_word("top", "view", view_word, &word);
        options->view = (unsigned)word;
        return status;
    case OPTION_MONITOR:
        options->monitor = optarg;
        return -1;
    case OPTION_INTERVAL:
        return read_interval(options);
    case OPTION_HELP:
        return command_help("top");
    default:
        return command_usage_error("top", NULL);
    }
}

static int command_top(int argc, char **argv)
{
    struct top_options options = {.interval = DEFAULT_INTERVAL, .pace = 1};
    sigset_t old_mask;
    int option, status = -1;

    while (status < 0 && (option = command_next_option(&top_command, argc, argv)) != -1)
        status = take_option(option, &options);
    if (status < 0)
        status = live_operand_done("top", argc, argv, optind, &options.operand);
    if (status < 0) {
        bool terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && top_screen_is_there();
        int signals = recording_signals(&old_mask);
        if (terminal)
            signal(SIGPIPE, SIG_IGN);
        if (signals < 0)
            status = command_error("cannot watch signals: %s", strerror(-signals));
        else
            status = terminal ? top_on_terminal(&options, signals) : top_as_text(&options, signals);
        close(signals);
    }
    live_operand_free(&options.operand);
    return status;
}

const struct command top_command = {
    .name = "top",
    .description = "what processes do and wait for, while they run",
    .usage = "[OPTION]... [TRACE... | FOLDER | SESSION | JOB]",
    .function = command_top,
    .operand = {"TRACE", ARGUMENT_TRACE},
    .options = top_options,
};
