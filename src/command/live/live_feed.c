/* SPDX-License-Identifier: MIT */
/* live_feed.c: see live_feed.h. */
#include "command/live/live_feed.h"

#include "analysis/analysis.h"
#include "filter/filter.h"
#include "show/show.h"
#include "trace/trace.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECOND       1000000000u
#define STEP_MOST    100000000u  /* ns that one step takes, about */
#define SLICE        250000000u  /* ns of a trace that are read at a time while it catches up */
#define SLICE_LIVE   20000000u   /* the same, when it has caught up */
#define LOOK_EACH    100000000u  /* ns: how often a trace that grows is looked at */
#define HELD_LITTLE  20          /* a snapshot may lack one in so many events of its interval ... */
#define SETTLES_MOST 2000000000u /* ... or any, after ns (`settles_most`) */
#define LATER_PART   10 /* a snapshot is later than the one before by this part of the interval */
#define KNOWN_MOST   (2 * (int64_t)PATIENCE + SLICE)
#define CURRENT      10000000000u /* ns */
#define LAGS_MOST    3
#define LAG_EACH     10000000000u /* ns */
#define PATIENCE     3000000000u  /* ns, with a machine of which nothing comes */
#define FIRST_SOON   300000000u   /* ns until the first snapshot of processes */

static void say(const struct live_feed *feed, const char *what, const char *why)
{
    char line[sizeof(struct problem) + 80];

    snprintf(line, sizeof(line), "%s%s", what, why);
    if (feed->options.say != NULL)
        feed->options.say(line, feed->options.say_context);
}

/* ---- processes ---- */

static int open_meter(struct live_feed *feed, struct problem *problem)
{
    struct recording_options *options = &feed->recording_options;

    *options = (struct recording_options){
        .store = feed->options.stored != NULL ? STORE_NEWEST : STORE_NONE,
        .trace = feed->options.stored,
        .max_size = feed->options.max_size,
        .meter = {.wish = WISH_KERNEL,
                  .options = {.flags = METER_ALL_FLAGS & ~METER_FLAG_PC,
                              .kinds = feed->options.kinds}},
    };
    feed->recording.options = options;
    feed->origins = 1;
    feed->looks = true;
    int result = recording_open(&feed->recording, "top", getpid(), problem);
    if (result == 0)
        result = recording_follow(&feed->recording, &feed->history, problem);
    if (result == 0)
        result = live_new(feed->history, &feed->live);
    if (result == 0)
        result =
            acquiring_begin(&feed->options.acquiring, feed->recording.meter, &feed->begun, problem);
    if (result < 0)
        return result;
    if (feed->recording.meter->live(feed->recording.meter) == 0)
        say(feed, "waiting: ", problem->text);
    recording_begin(&feed->recording);
    feed->due = clock_now(CLOCK_MONOTONIC) + FIRST_SOON;
    return 0;
}

int live_feed_add(struct live_feed *feed, const struct record_header *record)
{
    return feed->recording.active ? recording_add(&feed->recording, record) : 0;
}

static void close_meter(struct live_feed *feed)
{
    struct problem problem;

    if (feed->recording.options == NULL)
        return;
    if (feed->recording.active) {
        const struct meter_interface *meter = feed->recording.meter;
        (void)recording_end(&feed->recording, &problem);
        if (feed->options.say != NULL) /* what was not recorded */
            meter->report(meter, feed->options.say, feed->options.say_context);
    } else {
        recording_discard(&feed->recording);
    }
    recording_unfollow(&feed->recording);
    acquiring_done(&feed->options.acquiring);
    recording_close(&feed->recording);
}

/* ---- traces ---- */

static bool is_being_recorded(const char *name, struct problem *problem, int *ret_error)
{
    struct source *source = NULL;

    *ret_error = trace_open(&name, 1, &source, problem);
    bool written = *ret_error == 0 && source->states[0].being_written;
    trace_close(source);
    return written;
}

/* Opens the next trace, as the next origin. */
static int open_trace(struct live_feed *feed, const char *name, struct problem *problem)
{
    size_t count = feed->origins;
    struct source **sources = realloc(feed->sources, (count + 1) * sizeof(*sources));

    if (sources != NULL)
        feed->sources = sources;
    struct gate **gates = realloc(feed->gates, (count + 1) * sizeof(*gates));
    if (gates != NULL)
        feed->gates = gates;
    char **names = realloc(feed->names, (count + 1) * sizeof(*names));
    if (names != NULL)
        feed->names = names;
    struct gate *gate = calloc(1, sizeof(*gate));
    char *copy = strdup(name);
    if (sources == NULL || gates == NULL || names == NULL || gate == NULL || copy == NULL) {
        free(gate);
        free(copy);
        return problem_set(problem, -ENOMEM, "out of memory");
    }
    bool copied = feed->options.folder != NULL || feed->options.trace_count > 1;
    int result = feed->kind == FEED_FINISHED ? trace_open(&name, 1, &sources[count], problem)
                 : copied                    ? trace_follow_copy(name, &sources[count], problem)
                                             : trace_follow(name, &sources[count], problem);
    if (result < 0) {
        free(gate);
        free(copy);
        return result;
    }
    gate_init(gate, sources[count]);
    gates[count] = gate;
    names[count] = copy;
    feed->origins++;
    return 0;
}

/* One that is still recorded is followed, and then all are. Copies may come packet by packet. */
static int open_traces(struct live_feed *feed, struct problem *problem)
{
    size_t count = feed->options.trace_count;
    const char *const *traces = feed->options.traces;
    bool grows = count == 0, joins = feed->options.folder != NULL;
    int result = 0;

    for (size_t i = 0; result == 0 && i < count; i++)
        if (joins && !trace_has_records(traces[i]))
            grows = true; /* it has just begun, and joins later */
        else
            grows |= is_being_recorded(traces[i], problem, &result);
    feed->kind = grows ? FEED_GROWING : FEED_FINISHED;
    for (size_t i = 0; result == 0 && i < count; i++)
        if (!joins || trace_has_records(traces[i]))
            result = open_trace(feed, traces[i], problem);
    return result;
}

/* ---- machines that join later ---- */

static bool is_open(const struct live_feed *feed, const char *path)
{
    for (uint32_t i = 0; i < feed->origins; i++)
        if (strcmp(feed->names[i], path) == 0)
            return true;
    return false;
}

bool live_feed_takes(const char *trace, const char *job)
{
    return trace[0] != '.' && (job == NULL || filter_is_copy_of(trace, job));
}

/* Opens the copies in the folder that have begun since. With a history, they become origins of it. *ret_listed: whether it
 * could be listed; if not, a line is in `problem`. */
static int look_for_others(struct live_feed *feed, bool *ret_listed, struct problem *problem)
{
    struct dirent **list;
    char path[PATH_MAX];
    int count = scandir(feed->options.folder, &list, NULL, alphasort), result = 0;

    *ret_listed = count >= 0;
    if (count < 0)
        problem_set(problem, -errno, "%s: cannot be listed: %s", feed->options.folder,
                    strerror(errno));
    feed->looked = clock_now(CLOCK_MONOTONIC);
    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof(path), "%.*s/%.255s", PATH_MAX - 300, feed->options.folder,
                 list[i]->d_name);
        if (result == 0 && live_feed_takes(list[i]->d_name, feed->options.job) &&
            trace_has_records(path) && !is_open(feed, path)) {
            result = open_trace(feed, path, problem);
            feed->joined = feed->looked;
            /* its earlier records are read at once: no one opens the gate for a time that has passed */
            if (result == 0 && feed->history != NULL)
                gate_open(feed->gates[feed->origins - 1], feed->position);
            if (result == 0 && feed->history != NULL)
                result =
                    history_add(feed->history, &feed->gates[feed->origins - 1]->source, problem);
        }
        free(list[i]);
    }
    if (count >= 0)
        free(list);
    return result;
}

#define FIRST_MOST 30000000000u /* ns */

/* Until the first of them has begun. */
static int wait_for_first(struct live_feed *feed, struct problem *problem)
{
    struct pollfd file = {.fd = feed->options.stop, .events = POLLIN};
    uint64_t end = clock_now(CLOCK_MONOTONIC) + FIRST_MOST;
    int result = 0;

    feed->looks = true;
    while (result == 0 && feed->origins == 0) {
        bool listed;
        result = look_for_others(feed, &listed, problem);
        if (!listed)
            return -ENOENT;
        if (result == 0 && feed->origins == 0 && poll(&file, 1, 200) > 0)
            return problem_set(problem, -EINTR, "ended before anything was recorded");
        if (feed->origins == 0 && clock_now(CLOCK_MONOTONIC) > end)
            return problem_set(problem, -ENOENT,
                               "%s: has no traces; name a trace, or a folder that holds some",
                               feed->options.folder);
    }
    return result;
}

static int find_begin(struct live_feed *feed, struct problem *problem)
{
    int result = 0;

    feed->begin = INT64_MAX;
    for (uint32_t i = 0; result == 0 && i < feed->origins; i++) {
        int64_t time;
        result = gate_next_time(feed->gates[i], &time, problem);
        if (result == 0 && time < feed->begin)
            feed->begin = time;
    }
    if (feed->begin == INT64_MAX)
        feed->begin = 0;
    feed->position = feed->begin - 1;
    return result;
}

static int begin_history(struct live_feed *feed, struct problem *problem)
{
    struct source **gated = calloc(feed->origins, sizeof(*gated));

    for (uint32_t i = 0; gated != NULL && i < feed->origins; i++)
        gated[i] = &feed->gates[i]->source;
    int result = gated == NULL ? problem_set(problem, -ENOMEM, "out of memory")
                               : history_new(gated, feed->origins, &feed->history, problem);
    free(gated);
    if (result == 0 && feed->kind == FEED_GROWING)
        history_be_patient(feed->history, PATIENCE, clock_now);
    if (result == 0 && feed->kind == FEED_GROWING && feed->options.folder != NULL)
        history_expect_more(feed->history, true);
    return result;
}

static int open_feed_of_traces(struct live_feed *feed, struct problem *problem)
{
    int result = open_traces(feed, problem);

    if (result == 0 && feed->options.folder != NULL)
        result = wait_for_first(feed, problem);
    if (result == 0)
        result = find_begin(feed, problem);
    feed->catches_up = true;
    return result == 0 ? begin_history(feed, problem) : result;
}

static bool reads_traces(const struct live_feed *feed)
{
    return feed->options.trace_count > 0 || feed->options.folder != NULL;
}

static void open_gates(struct live_feed *feed, int64_t position)
{
    feed->position = position;
    for (uint32_t i = 0; i < feed->origins; i++)
        gate_open(feed->gates[i], position);
}

/* ---- reading ---- */

int live_feed_open(struct live_feed *feed, const struct live_feed_options *options,
                   struct problem *problem)
{
    *feed = (struct live_feed){.options = *options};
    feed->moved = clock_now(CLOCK_MONOTONIC);
    feed->due = feed->moved;
    int result =
        reads_traces(feed) ? open_feed_of_traces(feed, problem) : open_meter(feed, problem);
    if (result == 0 && feed->live == NULL && live_new(feed->history, &feed->live) < 0)
        result = problem_set(problem, -ENOMEM, "out of memory");
    if (result == 0 && options->hides)
        identities_hide_secrets(history_share_identities(feed->history));
    if (result == 0 && options->counts)
        live_count(feed->live, show_text);
    return result;
}

/* Also of a recorder that was killed, whose trace has no END. */
static void note_ended(struct live_feed *feed)
{
    for (uint32_t i = 0; reads_traces(feed) && i < feed->origins; i++)
        if (feed->gates[i]->ended)
            live_end_origin(feed->live, i);
}

static int take_at(struct live_feed *feed, uint64_t time, bool last, struct problem *problem)
{
    note_ended(feed);
    int result = live_take(feed->live, feed->origins, time, last);

    if (result < 0)
        return problem_set(problem, result, "out of memory for snapshots");
    feed->ended = last;
    return 1;
}

static int take(struct live_feed *feed, int64_t wall, bool last, struct problem *problem)
{
    int64_t offset = history_wall_offset(feed->history, 0); /* 0: it has no record yet */
    bool is_known = wall != INT64_MAX && !last && offset != 0;

    return take_at(feed, is_known ? (uint64_t)(wall - offset) : 0, last, problem);
}

static int take_last(struct live_feed *feed, struct problem *problem)
{
    history_finish(feed->history);
    return take(feed, INT64_MAX, true, problem);
}

/* Whether there is something new in the trace, of a later time (a machine that joins has earlier records, too), and nearly all
 * that was read is counted: the rest waits for other records. If that takes long, it is as it is. */
static bool is_settled(struct live_feed *feed, uint64_t now)
{
    struct history_counts counts;

    history_counts(feed->history, &counts);
    uint64_t fresh = counts.events + counts.held - feed->counted;
    bool begins = feed->position - feed->begin < (int64_t)feed->options.interval;
    uint64_t time = live_time(feed->live);
    bool later = fresh > 0 && time >= feed->shown + feed->options.interval / LATER_PART;
    bool settled =
        counts.held * HELD_LITTLE <= fresh && (!reads_traces(feed) || (later && !begins));
    uint64_t most = feed->options.settles_most > 0 ? feed->options.settles_most : SETTLES_MOST;
    if (!settled && now - feed->due < most)
        return false;
    feed->counted = counts.events + counts.held;
    feed->shown = time;
    return true;
}

static bool is_due(struct live_feed *feed, uint64_t now)
{
    if (feed->held || now < feed->due || !is_settled(feed, now))
        return false;
    feed->due += feed->options.interval;
    if (feed->due <= now)
        feed->due = now + feed->options.interval;
    return true;
}

static int take_of_meter(struct live_feed *feed, struct problem *problem)
{
    uint64_t analysed = recording_analysed(&feed->recording);

    return take_at(feed, live_analysed(feed->live, analysed, &feed->analysed), false, problem);
}

static int step_meter(struct live_feed *feed, struct problem *problem)
{
    const struct analysis analysis = live_analysis(feed->live);
    int result = recording_step(&feed->recording, problem);

    if (result < 0)
        return result;
    if (feed->looks && acquiring_step(&feed->options.acquiring, problem) < 0) {
        say(feed, "processes that start from now on are not metered: ", problem->text);
        feed->looks = false;
    }
    result = recording_analyse(&feed->recording, &analysis, 1, problem);
    if (result < 0)
        return result;
    return is_due(feed, clock_now(CLOCK_MONOTONIC)) ? take_of_meter(feed, problem) : 0;
}

/* Gates go by wall clocks, as --to of other commands does; those of a trace that grows only until messages have told how far these
 * are apart, since it would be waited for. */
static void correct_gates(struct live_feed *feed)
{
    for (uint32_t i = 0; i < feed->origins && feed->kind == FEED_GROWING; i++) {
        struct gate *gate = feed->gates[i];
        int64_t offset;
        uint64_t error;
        if (!gate->holds ||
            history_clock(feed->history, i, gate->held.header->time, &offset, &error) == i)
            continue;
        gate_set_ahead(gate,
                       gate->held.wall_offset - offset - history_wall_offset(feed->history, 0));
    }
}

/* Reads up to the gates. Returns as analyses_read does. */
static int read_on(struct live_feed *feed, struct problem *problem)
{
    const struct analysis analysis = live_analysis(feed->live);

    correct_gates(feed);
    return analyses_read(feed->history, &analysis, 1, problem);
}

/* The time of the next record, wherever it is; INT64_MAX: there is none now. */
static int next_time(struct live_feed *feed, int64_t *ret_time, struct problem *problem)
{
    int result = 0;

    *ret_time = INT64_MAX;
    for (uint32_t i = 0; result == 0 && i < feed->origins; i++) {
        int64_t time;
        result = gate_next_time(feed->gates[i], &time, problem);
        if (result == 0 && time < *ret_time)
            *ret_time = time;
    }
    return result;
}

#define JOINING 5000000000u /* ns: after the last one has ended, others may still join */

static bool have_ended(const struct live_feed *feed)
{
    for (uint32_t i = 0; i < feed->origins; i++)
        if (!feed->gates[i]->ended)
            return false;
    return true;
}

static int look_on(struct live_feed *feed, uint64_t now, struct problem *problem)
{
    bool listed;
    int result = look_for_others(feed, &listed, problem);

    if (!listed) {
        say(feed, "machines that join from now on are not seen: ", problem->text);
        feed->looks = false;
    }
    if (!listed || (have_ended(feed) && now - feed->joined > JOINING))
        history_expect_more(feed->history, false);
    return result;
}

static void say_overtaken(struct live_feed *feed)
{
    char text[REMOVED_TEXT_SIZE];

    if (command_overtaken_text(feed->sources, feed->origins, &feed->overtaken, text))
        say(feed, text, "");
}

/* Who reads more slowly than is recorded never catches up: its figures are shown although they are late. */
static void note_lag(struct live_feed *feed, uint64_t now)
{
    if (feed->caught_up || now - feed->lag_at < LAG_EACH)
        return;
    int64_t lag = (int64_t)clock_now(CLOCK_REALTIME) - feed->position;
    feed->lags = feed->lag != 0 && lag >= feed->lag ? feed->lags + 1 : 0;
    if (feed->lags == LAGS_MOST) {
        feed->caught_up = true;
        say(feed, "records come faster than they can be read: the figures are late", "");
    }
    feed->lag = lag;
    feed->lag_at = now;
}

/* ---- a trace that grows ---- */

/* Whether nothing more of this origin is to come before its gate, now that all that could be read was: a record is there which
 * the gate, or another origin, keeps from being read; or none has come for long. */
static bool has_passed(const struct gate *gate, uint64_t now)
{
    return gate->ended || gate->holds || now - gate->heard > PATIENCE;
}

/* Moves the gates on, if all origins have passed them: what comes of one machine waits until the others are as far, or a
 * snapshot would have half of their messages. *ret_moved: whether they are open further. */
static int move_on(struct live_feed *feed, uint64_t now, bool *ret_moved, struct problem *problem)
{
    int64_t next;
    int result = next_time(feed, &next, problem);

    *ret_moved = result == 0 && next != INT64_MAX;
    for (uint32_t i = 0; i < feed->origins; i++)
        *ret_moved = *ret_moved && has_passed(feed->gates[i], now);
    if (!*ret_moved)
        return result;
    int64_t behind = (int64_t)clock_now(CLOCK_REALTIME) - next;
    int64_t slice = behind > 2 * (int64_t)SECOND ? SLICE : SLICE_LIVE;
    int64_t position = (next > feed->position ? next : feed->position) + slice;
    /* the history may want to know more of the others before it takes it, but not any amount */
    *ret_moved = position <= next + KNOWN_MOST;
    if (*ret_moved)
        open_gates(feed, position);
    return 0;
}

/* Reads on as far as all machines are, as long as one step may take. */
static int read_growing(struct live_feed *feed, struct problem *problem)
{
    uint64_t begin = clock_now(CLOCK_MONOTONIC), now = begin;
    bool moved = true;
    int result = read_on(feed, problem);

    while (result == SOURCE_NONE_YET && moved && now - begin < STEP_MOST) {
        result = move_on(feed, now, &moved, problem);
        if (result == 0)
            result = read_on(feed, problem);
        now = clock_now(CLOCK_MONOTONIC);
    }
    feed->catches_up = moved;
    /* a record that waits although all that comes is read is of a machine whose clock is ahead */
    for (uint32_t i = 0; i < feed->origins && !moved; i++)
        if (feed->gates[i]->holds && now - feed->gates[i]->held_for > PATIENCE)
            gate_let_pass(feed->gates[i]);
    return result;
}

/* Whether the latest that was recorded is read, about. */
static bool is_at_end(struct live_feed *feed)
{
    for (uint32_t i = 0; i < feed->origins; i++)
        if (feed->gates[i]->holds)
            return (int64_t)clock_now(CLOCK_REALTIME) - feed->position < (int64_t)CURRENT;
    return !feed->catches_up;
}

/* Slice by slice, as long as one step may take; then whatever comes. */
static int step_growing(struct live_feed *feed, struct problem *problem)
{
    uint64_t now = clock_now(CLOCK_MONOTONIC);
    int result = 0;

    if (feed->looks && now - feed->looked >= SECOND)
        result = look_on(feed, now, problem);
    if (result == 0)
        result = read_growing(feed, problem);
    say_overtaken(feed);
    feed->caught_up |= is_at_end(feed);
    if (result < 0)
        return result;
    if (result == SOURCE_END)
        return take_last(feed, problem);
    now = clock_now(CLOCK_MONOTONIC);
    note_lag(feed, now);
    return is_due(feed, now) && live_time(feed->live) > 0 ? take(feed, INT64_MAX, false, problem)
                                                          : 0;
}

/* As fast as it can be read: a snapshot for each interval of the trace's time. */
static int step_at_once(struct live_feed *feed, struct problem *problem)
{
    open_gates(feed, feed->position + (int64_t)feed->options.interval);
    int result = read_on(feed, problem);
    if (result < 0)
        return result;
    return result == SOURCE_END ? take_last(feed, problem)
                                : take(feed, feed->position, false, problem);
}

static int step_playback(struct live_feed *feed, struct problem *problem)
{
    uint64_t now = clock_now(CLOCK_MONOTONIC);
    double passed = feed->held ? 0 : (double)(now - feed->moved) * feed->options.pace;

    feed->moved = now;
    open_gates(feed, feed->position + (int64_t)passed);
    int result = feed->held ? SOURCE_NONE_YET : read_on(feed, problem);
    if (result < 0)
        return result;
    if (result == SOURCE_END)
        return take_last(feed, problem);
    return is_due(feed, now) && live_time(feed->live) > 0
               ? take(feed, feed->position, false, problem)
               : 0;
}

int live_feed_step(struct live_feed *feed, struct problem *problem)
{
    if (feed->ended)
        return 0;
    if (!reads_traces(feed))
        return step_meter(feed, problem);
    if (feed->kind == FEED_GROWING)
        return step_growing(feed, problem);
    return feed->options.pace == 0 ? step_at_once(feed, problem) : step_playback(feed, problem);
}

void live_feed_wait(struct live_feed *feed, struct pollfd *files, size_t count, uint64_t until)
{
    uint64_t now = clock_now(CLOCK_MONOTONIC);
    uint64_t look = feed->ended                                      ? UINT64_MAX
                    : feed->catches_up && feed->kind == FEED_GROWING ? now
                                                                     : now + LOOK_EACH;

    if (!reads_traces(feed) && !feed->ended) {
        /* due already: held, or it waits for records */
        uint64_t due = feed->due > now ? feed->due : now + LOOK_EACH;
        if (due < until && !feed->held)
            until = due;
        (void)recording_wait(&feed->recording, files, count, until);
        return;
    }
    if (feed->options.pace == 0 && feed->kind == FEED_FINISHED && !feed->ended)
        look = now;
    if (look < until)
        until = look;
    for (size_t i = 0; i < count; i++)
        files[i].revents = 0;
    (void)poll(files, (nfds_t)count, poll_timeout(until, now));
}

void live_feed_hold(struct live_feed *feed, bool held)
{
    feed->held = held;
    feed->moved = clock_now(CLOCK_MONOTONIC);
}

int live_feed_rest(struct live_feed *feed, bool rests, struct problem *problem)
{
    struct meter_interface *meter = feed->recording.meter;

    if (feed->kind != FEED_METER || meter->change == NULL)
        return -ENOTSUP;
    uint64_t flags = feed->recording_options.meter.options.flags & ~meter->unknown_flags;
    if (rests)
        flags &= EVENT_FLAG(EVENT_TERMINATION);
    const struct meter_change change = meter_change_flags(flags);
    int result = meter->change(meter, 0, &change, problem);
    return result < 0 ? result : 0;
}

void live_feed_set_pace(struct live_feed *feed, double pace)
{
    feed->options.pace = pace;
}

bool live_feed_catches_up(const struct live_feed *feed)
{
    return reads_traces(feed) && feed->kind == FEED_GROWING && !feed->ended && feed->catches_up;
}

bool live_feed_is_current(const struct live_feed *feed)
{
    return !reads_traces(feed) || feed->kind != FEED_GROWING || feed->ended || feed->caught_up;
}

bool live_feed_records(const struct live_feed *feed)
{
    return !reads_traces(feed);
}

void live_feed_close(struct live_feed *feed)
{
    live_free(feed->live);
    if (!reads_traces(feed)) {
        close_meter(feed); /* with its history */
        return;
    }
    history_free(feed->history);
    for (uint32_t i = 0; i < feed->origins; i++) {
        trace_close(feed->sources[i]);
        free(feed->gates[i]);
        free(feed->names[i]);
    }
    free(feed->sources);
    free(feed->gates);
    free(feed->names);
}
