/* SPDX-License-Identifier: MIT */
/* top_screen.c: see top_screen.h. */
#include "command/live/top_screen.h"

#ifdef DPM_HAS_CURSES

#include "command/live/top_views.h"
#include "show/live/live_face.h"
#include "show/show.h"

#include <ctype.h>
#include <curses.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

bool top_screen_is_there(void)
{
    return true;
}

/* ---- begin and end ---- */

int top_screen_begin(struct top_screen *screen, struct live_feed *feed, const char *subject,
                     struct problem *problem)
{
    *screen = (struct top_screen){.feed = feed, .subject = subject, .changed = true};
    top_look_init(&screen->look);
    if (newterm(NULL, stdout, stdin) == NULL)
        return problem_set(problem, -ENOTTY,
                           "this terminal cannot be used: TERM names no known kind");
    cbreak();
    noecho();
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    set_escdelay(50);
    curs_set(0);
    screen->active = true;
    return 0;
}

void top_screen_end(struct top_screen *screen)
{
    if (screen->active)
        endwin();
    screen->active = false;
}

/* ---- drawing ---- */

static bool is_ready(void)
{
    struct pollfd terminal = {.fd = STDOUT_FILENO, .events = POLLOUT};

    return poll(&terminal, 1, 0) > 0 && (terminal.revents & POLLOUT) != 0;
}

static void put(int row, const char *text, attr_t attributes, size_t width)
{
    char line[TOP_LINE_SIZE];

    top_fit(text, width, true, line);
    attrset(attributes);
    mvaddstr(row, 0, line);
    attrset(A_NORMAL);
}

void top_screen_say(struct top_screen *screen, const char *text)
{
    (void)screen;
    erase();
    put(0, text, A_BOLD, (size_t)COLS);
    refresh();
}

static const char *const help[] = {
    "Tab, 1-8     processes, pairs, connections, requests, programs, containers, machines, views",
    "up, down     choose a row; PgUp, PgDn, Home, End",
    "F            follow the chosen row, wherever it goes",
    "/ or F4      show only rows whose name contains a text (empty: all)",
    "< >  or F6   sort by another column",
    "d            first derivative: how fast each rate changes",
    "c            values so far, not those of the last interval",
    "p or Z       hold; left, right: earlier pictures",
    "+ -          play a finished trace faster or slower (x1 to x100)",
    "q or F10     quit",
    "",
    "WAITED       time that others waited for it: 100% is one waiter all the time",
    "OPEN         requests in progress, on average, as far as their answers have come",
    "Q DELAY      time that messages waited in receive queues; QUEUE: how many do now",
    "LOCK, DISK   waits of threads, added up, of idle ones, too",
    "WAITS FOR    what its threads waited for most, in this interval",
    "silent       threads without a record: they compute, or wait and have not ended it",
    "views        . inactive  # active  + both  ! notified  ? unknown: an interval each.",
    "             They show the present, also while other rows are held",
    "[reading]    what was recorded before is still being read",
    "",
    "Any key: back.",
};

static void draw_help(void)
{
    erase();
    put(0, "dpm top: keys", A_BOLD, (size_t)COLS);
    for (size_t i = 0; i < ARRAY_SIZE(help) && (int)i + 2 < LINES; i++)
        put((int)i + 2, help[i], A_NORMAL, (size_t)COLS);
    refresh();
}

/* "processes pairs connections ...   changes /redis F" */
static void draw_views(const struct top_screen *screen, size_t width)
{
    const struct top_look *look = &screen->look;
    char text[TOP_LINE_SIZE], filter[LIVE_NAME_SIZE + 1];
    size_t at = 0;

    char warning[STRIPS_DETAILS_SIZE];
    bool has_monitors = live_views_warning(screen->views, warning) > 0;

    put(2, "", A_NORMAL, width);
    for (unsigned i = 0; i < TOP_VIEWS && at < width; i++) {
        if (i == TOP_STRIPS && !has_monitors && look->view != TOP_STRIPS)
            continue; /* the line is full without it */
        const char *name = top_view_name(i);
        attrset(i == look->view ? A_BOLD | A_UNDERLINE : A_NORMAL);
        mvaddnstr(2, (int)at, name, (int)(width - at));
        attrset(A_NORMAL);
        at += strlen(name) + 1;
    }
    show_text(look->filter, strnlen(look->filter, LIVE_NAME_SIZE - 1), filter);
    snprintf(text, sizeof(text), " %s%s%s%s",
             look->changes  ? "changes"
             : look->so_far ? "so far"
                            : "",
             filter[0] != '\0' ? " /" : "", filter, screen->follows ? " F" : "");
    if (at < width)
        mvaddnstr(2, (int)at, text, (int)(width - at));
}

/* Where the chosen row is now. */
static void find_chosen(struct top_screen *screen, const struct live_row *const *rows, size_t count,
                        bool others)
{
    for (size_t i = 0; rows != NULL && screen->follows && i < count; i++)
        if (rows[i]->key == screen->chosen)
            screen->at = i;
    if (screen->at >= count)
        screen->at = count == 0 ? 0 : count - 1;
    if (!screen->follows)
        screen->chosen = count == 0 || rows == NULL ? 0 : rows[screen->at]->key;
    if (screen->at < screen->first)
        screen->first = screen->at;
    if (screen->shown > 0 && screen->at >= screen->first + screen->shown)
        screen->first = screen->at - screen->shown + 1;
    if (others && screen->shown > 1 && screen->at + 1 == count &&
        count + 1 > screen->first + screen->shown)
        screen->first = count + 1 - screen->shown; /* what is below it can be seen, too */
}

static void state_of(const struct top_screen *screen, char state[64])
{
    const struct live_feed *feed = screen->feed;
    bool plays = feed->kind == FEED_FINISHED && !live_feed_records(feed) && !feed->ended;

    state[0] = '\0';
    if (feed->held && screen->look.view == TOP_STRIPS)
        snprintf(state, 64, "[held; views show the present]");
    else if (feed->held && screen->look.back > 0)
        snprintf(state, 64, "[held, %zu before]", screen->look.back);
    else if (feed->held)
        snprintf(state, 64, "[held]");
    else if (plays)
        snprintf(state, 64, "[x%g]", feed->options.pace);
    else if (feed->kind == FEED_GROWING && live_feed_catches_up(feed))
        snprintf(state, 64, "[reading]");
}

static void draw_lowest(const struct top_screen *screen, int row, size_t width)
{
    char text[TOP_LINE_SIZE], filter[LIVE_NAME_SIZE + 1];

    show_text(screen->look.filter, strnlen(screen->look.filter, LIVE_NAME_SIZE - 1), filter);
    if (screen->asks) {
        snprintf(text, sizeof(text), "Filter: %s_", filter);
        put(row, text, A_BOLD, width);
    } else {
        put(row,
            screen->said[0] != '\0' ? screen->said
                                    : "q quit  h help  Tab view  / filter  < > sort  F follow  d "
                                      "change  c so far  p hold",
            A_REVERSE, width);
    }
}

static void draw_rows(struct top_screen *screen, const struct live_snapshot *snapshot,
                      const struct live_snapshot *before, size_t width)
{
    const struct live_row *rows[LIVE_ROWS_MOST];
    size_t count = top_rows(&screen->look, snapshot, rows), sorted, columns;
    char line[TOP_LINE_SIZE];
    int lines = LINES > 6 ? LINES - 6 : 1; /* 3 of the head, the heading, details, keys */

    screen->shown = (size_t)lines;
    find_chosen(screen, rows, count, top_others(&screen->look, snapshot, width, line));
    top_heading(&screen->look, width, line);
    put(3, line, A_REVERSE, width);
    sorted = top_sorted_column(&screen->look, width, &columns);
    if (columns > 0)
        mvchgat(3, (int)sorted, (int)columns, A_BOLD | A_REVERSE | A_UNDERLINE, 0, NULL);
    for (int i = 0; i < lines; i++) {
        size_t index = screen->first + (size_t)i;
        line[0] = '\0';
        if (index < count)
            top_row(&screen->look, snapshot, before, rows[index], width, line);
        else if (index == count)
            top_others(&screen->look, snapshot, width, line);
        put(4 + i, line, index < count && index == screen->at ? A_BOLD | A_STANDOUT : A_NORMAL,
            width);
    }
    line[0] = '\0';
    if (screen->at < count && top_table_of(screen->look.view) != LIVE_PAIRS &&
        top_table_of(screen->look.view) != LIVE_CONNECTIONS)
        top_details(snapshot, rows[screen->at], width, line);
    put(LINES - 2, line, A_NORMAL, width);
}

/* Views are of now, whichever picture is looked at. */
static void draw_strips(struct top_screen *screen, size_t width)
{
    struct strip_cells cells;
    char line[TOP_LINE_SIZE], details[STRIPS_DETAILS_SIZE] = "";
    int lines = LINES > 6 ? LINES - 6 : 1;
    size_t count = 0, monitors = live_views_warning(screen->views, details);

    while (live_views_row(screen->views, count, &cells, NULL))
        count++;
    screen->shown = (size_t)lines;
    find_chosen(screen, NULL, count, false);
    top_views_heading(width, line);
    put(3, line, A_REVERSE, width);
    for (int i = 0; i < lines; i++) {
        size_t index = screen->first + (size_t)i;
        line[0] = '\0';
        if (index < count && live_views_row(screen->views, index, &cells, NULL))
            top_views_line(&cells, width, line);
        put(4 + i, line,
            (index < count && index == screen->at ? A_BOLD | A_STANDOUT : A_NORMAL) |
                (index < count && cells.is_active ? A_BOLD : 0),
            width);
    }
    if (monitors == 0)
        put(4, "No dpm view run of this user is running.", A_NORMAL, width);
    if (details[0] == '\0')
        (void)live_views_row(screen->views, screen->at, &cells, details);
    put(LINES - 2, details, A_NORMAL, width);
}

void top_screen_draw(struct top_screen *screen)
{
    const struct live *live = screen->feed->live;
    size_t back = screen->look.back + (top_is_rest(live) && screen->look.back == 0);
    const struct live_snapshot *snapshot = live_snapshot(live, back);
    const struct live_snapshot *before = live_snapshot(live, back + 1);
    size_t width = COLS < TOP_WIDTH_MOST ? (size_t)COLS : TOP_WIDTH_MOST;
    char line[TOP_LINE_SIZE], state[64];

    if (snapshot == NULL && !screen->helps)
        return;
    if (!is_ready()) /* the next picture will do */
        return;
    screen->changed = false;
    if (screen->helps) {
        draw_help();
        return;
    }
    erase();
    state_of(screen, state);
    top_head(snapshot, screen->subject, state, back != screen->look.back || snapshot->last, width,
             line);
    put(0, line, A_BOLD, width);
    top_costs(snapshot, live_feed_records(screen->feed), width, line);
    put(1, line, A_NORMAL, width);
    draw_views(screen, width);
    if (screen->look.view == TOP_STRIPS)
        draw_strips(screen, width);
    else
        draw_rows(screen, snapshot, before, width);
    if (top_mark(snapshot, width, line))
        put(LINES - 2, line, A_BOLD, width);
    draw_lowest(screen, LINES - 1, width);
    refresh();
}

/* ---- keys ---- */

static int choose(struct top_screen *screen)
{
    struct live_choice choice;

    top_choice(&screen->look, &choice);
    return live_choose(screen->feed->live, &choice);
}

static void move_by(struct top_screen *screen, long rows)
{
    long at = (long)screen->at + rows;

    screen->follows = false;
    screen->at = at < 0 ? 0 : (size_t)at; /* draw_rows limits it */
}

static void view(struct top_screen *screen, unsigned number)
{
    screen->look.view = number % TOP_VIEWS;
    screen->at = screen->first = 0;
    screen->follows = false;
}

/* Left and right go through the snapshots that are kept, and hold. */
static void step_back(struct top_screen *screen, int step)
{
    size_t kept = live_kept(screen->feed->live);

    if (step > 0 && screen->look.back + 1 < kept)
        screen->look.back++;
    else if (step < 0 && screen->look.back > 0)
        screen->look.back--;
    live_feed_hold(screen->feed, true);
}

static void hold(struct top_screen *screen)
{
    live_feed_hold(screen->feed, !screen->feed->held);
    if (!screen->feed->held)
        screen->look.back = 0;
}

static void change_pace(struct top_screen *screen, double factor)
{
    double pace = screen->feed->options.pace * factor;

    if (screen->feed->kind != FEED_FINISHED || live_feed_records(screen->feed)) {
        snprintf(screen->said, sizeof(screen->said), "Only a finished trace can be played faster.");
        return;
    }
    live_feed_set_pace(screen->feed, pace < 1 ? 1 : pace > 100 ? 100 : pace);
}

/* While a filter is typed. */
static int type_filter(struct top_screen *screen, int key)
{
    char *filter = screen->look.filter;
    size_t length = strlen(filter);

    if (key == '\n' || key == '\r' || key == KEY_ENTER) {
        screen->asks = false;
    } else if (key == 27) {
        screen->asks = false;
        filter[0] = '\0';
    } else if ((key == KEY_BACKSPACE || key == 127 || key == 8) && length > 0) {
        filter[length - 1] = '\0';
    } else if (key >= 32 && key < 256 && key != 127 && length + 1 < LIVE_NAME_SIZE) {
        filter[length] = (char)key;
        filter[length + 1] = '\0';
    }
    screen->at = screen->first = 0;
    return choose(screen);
}

static int sort_by(struct top_screen *screen, int step)
{
    top_sort_next(&screen->look, step);
    return choose(screen);
}

static int press(struct top_screen *screen, int key)
{
    long page = screen->shown > 1 ? (long)screen->shown - 1 : 1;

    switch (key) {
    case 'q':
    case KEY_F(10):
        screen->ends = true;
        return 0;
    case 'h':
    case '?':
    case KEY_F(1):
        screen->helps = true;
        return 0;
    case '\t':
    case 't':
        view(screen, screen->look.view + 1);
        return choose(screen);
    case KEY_BTAB:
        view(screen, screen->look.view + TOP_VIEWS - 1);
        return choose(screen);
    case '/':
    case '\\':
    case KEY_F(3):
    case KEY_F(4):
        screen->asks = true;
        return 0;
    case '>':
    case '.':
    case KEY_F(6):
        return sort_by(screen, 1);
    case '<':
    case ',':
        return sort_by(screen, -1);
    case 'd':
        screen->look.changes = !screen->look.changes;
        screen->look.so_far = false;
        return choose(screen);
    case 'c':
        screen->look.so_far = !screen->look.so_far;
        screen->look.changes = false;
        return choose(screen);
    case 'p':
    case 'Z':
        hold(screen);
        return 0;
    case KEY_LEFT:
        step_back(screen, 1);
        return 0;
    case KEY_RIGHT:
        step_back(screen, -1);
        return 0;
    case 'F':
        screen->follows = !screen->follows;
        return 0;
    case KEY_UP:
    case 'k':
        move_by(screen, -1);
        return 0;
    case KEY_DOWN:
    case 'j':
        move_by(screen, 1);
        return 0;
    case KEY_PPAGE:
        move_by(screen, -page);
        return 0;
    case KEY_NPAGE:
        move_by(screen, page);
        return 0;
    case KEY_HOME:
        move_by(screen, -(long)LIVE_ROWS_MOST);
        return 0;
    case KEY_END:
        move_by(screen, (long)LIVE_ROWS_MOST);
        return 0;
    case '+':
        change_pace(screen, 2);
        return 0;
    case '-':
        change_pace(screen, 0.5);
        return 0;
    default:
        if (key >= '1' && key < '1' + TOP_VIEWS) {
            view(screen, (unsigned)(key - '1'));
            return choose(screen);
        }
        return 0;
    }
}

int top_screen_keys(struct top_screen *screen)
{
    int key, result = 0;

    while (result == 0 && !screen->ends && (key = getch()) != ERR) {
        screen->changed = true;
        if (key == KEY_RESIZE)
            continue;
        screen->said[0] = '\0';
        if (screen->helps)
            screen->helps = false;
        else if (screen->asks)
            result = type_filter(screen, key);
        else
            result = press(screen, key);
    }
    return result;
}

#else /* without ncurses */

bool top_screen_is_there(void)
{
    return false;
}

int top_screen_begin(struct top_screen *screen, struct live_feed *feed, const char *subject,
                     struct problem *problem)
{
    *screen = (struct top_screen){.feed = feed, .subject = subject};
    return problem_set(problem, -38, "this dpm was built without ncurses");
}

void top_screen_say(struct top_screen *screen, const char *text)
{
    (void)screen, (void)text;
}

int top_screen_keys(struct top_screen *screen)
{
    (void)screen;
    return 0;
}

void top_screen_draw(struct top_screen *screen)
{
    (void)screen;
}

void top_screen_end(struct top_screen *screen)
{
    (void)screen;
}

#endif
