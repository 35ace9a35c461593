/* SPDX-License-Identifier: MIT */
/*
 * computations.h: computations to be analysed, recorded as a trace, and the length of their critical path (the thesis:
 * longest path) by definition.
 *
 *      steps of each chain  --+--> tape --> history --> an analysis
 *                             '--> longest_path()
 *
 * A chain runs one thing at a time: a stream, or (whole_processes) all streams of a process.
 */
#ifndef DPM_COMPUTATIONS_H
#define DPM_COMPUTATIONS_H

#include "analysis/parallelism/parallelism.h"

#include "tapes.h"

#include <math.h>

#define ALL     UINT32_MAX
#define T0      1000000000u
#define STREAMS 6
#define STEPS   100 /* of a chain, at most */
#define SENDERS 6   /* that one RECEIVE takes from, and other arcs to it, at most */
#define NOBODY  UINT32_MAX

/* ---- a computation ---- */

/* How long an arc is. */
enum arc {
    ARC_MESSAGE, /* as long as a message of `weight` bytes */
    ARC_SIGNAL,  /* as long as a message of no bytes: buffer space, a connection */
    ARC_ORDER,   /* no time: a creation, an end */
    ARC_SINCE,   /* ends `weight` ns later */
};

struct place_of_step {
    uint32_t chain, step;
};

struct step {
    uint64_t cpu;
    uint64_t time; /* of its record, */
    uint32_t path; /* whose path, or other number, is this, */
    uint8_t id;    /* and whose type is this; 0: no record */
    bool slept;    /* its CPU time comes after the wait */
    uint32_t source_count;
    struct {
        uint32_t chain, step;
        enum arc arc;
        uint64_t weight;
    } sources[SENDERS];
};

/* What a stream waits for: nothing, or an event that ends a wait which began at a step. */
struct sleeper {
    bool asleep;
    bool for_any; /* for any of several paths */
    bool met;     /* it saw a new path: it is awake since then, whatever woke it ... */
    uint64_t met_time;
    uint64_t time; /* when it fell asleep ... */
    struct place_of_step at;
};

struct a_stream {
    uint32_t process;
    bool exists, ended;
    bool waits_for_creator;        /* its first event is still to come */
    struct place_of_step created;  /* the step that created it */
    struct place_of_step ended_at; /* TERMINATION */
    uint64_t cpu;
    uint64_t latest_time; /* of its latest event */
    uint32_t sequence;
    struct sleeper sleeper;
    bool woken; /* by this one, and has recorded nothing since ... */
    struct place_of_step woken_by;
    uint64_t woken_time;
    bool woken_twice; /* ... and by this one before */
    struct place_of_step woken_by_first;
    bool woken_before; /* a BLOCK, if that comes next, begins after it was woken, not before */
    bool explained;    /* ... or it was, and what it records now has ended its wait */
    uint32_t sends_to; /* stream: a send is in progress; NOBODY: none is */
    uint32_t send_bytes, send_out;
};

struct a_process {
    uint32_t parent; /* NOBODY: not created here */
    bool ended, reaped;
    uint64_t ended_time;
    struct place_of_step ended_at;
    uint32_t sent, received; /* positions of its path to outside */
    bool has_asked;
    uint64_t asked_time;
    uint64_t heard_time;        /* of its latest piece; 0: not answered yet */
    struct place_of_step asked; /* the latest SEND to outside */
};

/* Data in flight from one stream to another. */
struct channel {
    uint32_t sent, received; /* positions */
    struct {
        uint32_t chain, step, bytes;
    } queue[STREAMS * STEPS];
    uint32_t first, last;
    bool has_sent, closed;
    bool has_connected, accepted;
    struct place_of_step connected;
    uint64_t took_time; /* the latest RECEIVE; 0: none ... */
    struct place_of_step took;
};

struct computation {
    struct tape tape;
    bool whole_processes; /* each process is a chain */
    bool tells_wakeups;
    uint32_t streams, processes, chains;
    struct a_stream stream[STREAMS];
    struct a_process process[STREAMS];
    struct step steps[STREAMS][STEPS]; /* of chains */
    uint32_t count[STREAMS];
    uint32_t process_of[STREAMS]; /* of chains */
    bool is_created[STREAMS];     /* chains: they begin when they are created */
    struct place_of_step creator[STREAMS];
    struct place_of_step order[STREAMS * STEPS]; /* of all steps */
    uint32_t step_count;
    uint64_t now;
    struct channel channels[STREAMS][STREAMS];
    /* the counts that the analysis should have */
    uint64_t messages, other_arcs, outside_count, outside_time, asleep_count, asleep_time, locks;
};

static inline uint32_t path_of(uint32_t from, uint32_t to, bool receiver)
{
    return 1 + (from * STREAMS + to) * 2 + receiver;
}

/* The path from a process to outside. */
static inline uint32_t path_outside(uint32_t process)
{
    return 1000 + process;
}

static inline uint32_t chain_of(const struct computation *computation, uint32_t stream)
{
    return computation->whole_processes ? computation->stream[stream].process : stream;
}

static inline struct place_of_step latest_step(const struct computation *computation,
                                               uint32_t stream)
{
    uint32_t chain = chain_of(computation, stream);

    return (struct place_of_step){chain, computation->count[chain] - 1};
}

static inline void add_outside(struct computation *computation, uint32_t process)
{
    struct path_record path = {.header = {.time = computation->now, .id = EVENT_PATH, .flags = 16},
                               .path = path_outside(process),
                               .kind = PATH_TCP,
                               .family = AF_INET,
                               .local = {10, 0, 0, 1},
                               .remote = {192, 0, 2, 9},
                               .local_port = (uint16_t)(1 + process),
                               .remote_port = 80};

    tape_add(&computation->tape, &path);
}

/* A stream, of an existing process or of the next one, whose name is "A", "B" ... */
static inline void add_member(struct computation *computation, uint32_t stream, uint32_t process,
                              uint32_t parent)
{
    bool first = process == computation->processes;
    uint32_t number = stream + 1;

    for (uint32_t i = 0; i < stream && !first; i++)
        if (computation->stream[i].process == process && computation->stream[i].exists) {
            number = i + 1;
            break;
        }
    struct stream_record record = {
        .header = {.time = computation->now, .id = EVENT_STREAM, .flags = 16, .stream = stream + 1},
        .process = number,
        .pid = 101 + process,
        .parent = parent == NOBODY ? 0 : parent + 1,
        .name = {(char)('A' + process)}};
    tape_add(&computation->tape, &record);
    computation->stream[stream] =
        (struct a_stream){.process = process, .exists = true, .sends_to = NOBODY};
    if (first) {
        computation->process[process].parent =
            parent == NOBODY ? NOBODY : computation->stream[parent].process;
        computation->processes++;
    }
    uint32_t chain = chain_of(computation, stream);
    computation->process_of[chain] = process;
    if (chain >= computation->chains)
        computation->chains = chain + 1;
}

/* This many streams; as many exist at first as `processes` names, and each name is the process of one stream. */
static inline void begin_threads(struct computation *computation, uint32_t streams, uint32_t made,
                                 const uint32_t *processes, bool whole_processes)
{
    memset(computation, 0, sizeof(*computation));
    tape_init(&computation->tape);
    computation->whole_processes = whole_processes;
    computation->streams = streams;
    computation->now = T0;
    add_machine(&computation->tape, T0, 1, ALL);
    for (uint32_t i = 0; i < made; i++)
        add_member(computation, i, processes[i], NOBODY);
    for (uint32_t i = 0; i < streams; i++)
        for (uint32_t k = 0; k < streams; k++) {
            uint32_t from = path_of(i, k, false), to = path_of(i, k, true);
            if (i == k)
                continue;
            add_unix(&computation->tape, T0, from, PATH_UNIX_STREAM, from, to);
            add_unix(&computation->tape, T0, to, PATH_UNIX_STREAM, to, from);
        }
    for (uint32_t i = 0; i < streams; i++)
        add_outside(computation, i);
    for (uint32_t i = 0; i < made; i++) /* from here on CPU time counts */
        add_event(&computation->tape, ++computation->now, EVENT_EXEC, i + 1,
                  computation->stream[i].sequence++)
            ->header.proc_time_and_pc = 0;
}

/* Leaves out this type: it is not metered. */
static inline void leave_out(struct computation *computation, enum event_id id)
{
    ((struct machine_record *)computation->tape.records[0])->meter_flags &= ~EVENT_FLAG(id);
}

/* Each stream is a process. */
static inline void begin(struct computation *computation, uint32_t streams)
{
    const uint32_t processes[STREAMS] = {0, 1, 2, 3, 4, 5};

    begin_threads(computation, streams, streams, processes, false);
}

/* A test whose state is a computation, still to be begun. */
#define COMPUTATION_TEST(name)                                                                     \
    cmocka_unit_test_setup_teardown(name, new_computation, free_computation)

static inline int new_computation(void **state)
{
    *state = calloc(1, sizeof(struct computation));
    return *state == NULL;
}

static inline int free_computation(void **state)
{
    tape_done(&((struct computation *)*state)->tape);
    free(*state);
    return 0;
}

/* ---- steps ---- */

static inline struct step *add_step(struct computation *computation, uint32_t stream, uint64_t cpu)
{
    uint32_t chain = chain_of(computation, stream), index = computation->count[chain]++;
    struct step *step = &computation->steps[chain][index];
    struct a_stream *is = &computation->stream[stream];

    assert_true(computation->count[chain] <= STEPS);
    *step = (struct step){.cpu = cpu, .slept = is->sleeper.asleep};
    computation->order[computation->step_count++] = (struct place_of_step){chain, index};
    is->cpu += cpu;
    if (is->waits_for_creator) {
        computation->other_arcs++;
        if (index == 0) {
            computation->is_created[chain] = true;
            computation->creator[chain] = is->created;
        }
    }
    is->waits_for_creator = false;
    return step;
}

static inline void add_source(struct step *step, struct place_of_step from, enum arc arc,
                              uint64_t weight)
{
    uint32_t i = step->source_count++;

    assert_true(step->source_count <= SENDERS);
    step->sources[i].chain = from.chain;
    step->sources[i].step = from.step;
    step->sources[i].arc = arc;
    step->sources[i].weight = weight;
}

static inline struct record *tell(struct computation *computation, uint32_t stream,
                                  enum event_id id, uint32_t path, uint32_t offset, uint32_t bytes)
{
    struct a_stream *is = &computation->stream[stream];
    struct record *record = add_message(&computation->tape, ++computation->now, id, stream + 1,
                                        is->sequence++, path, offset, bytes);

    record->header.proc_time_and_pc = is->cpu;
    is->latest_time = computation->now;
    struct place_of_step at = latest_step(computation, stream);
    if (computation->count[at.chain] > 0) {
        computation->steps[at.chain][at.step].id = (uint8_t)id;
        computation->steps[at.chain][at.step].path = path;
    }
    if (is->woken) {
        add_source(&computation->steps[at.chain][at.step], is->woken_by, ARC_ORDER, 0);
        computation->other_arcs++;
        is->explained = is->sleeper.asleep;
        is->woken = is->woken_twice = false;
    }
    return record;
}

static inline void fall_asleep(struct computation *computation, uint32_t stream, bool for_any)
{
    computation->stream[stream].sleeper = (struct sleeper){.asleep = true,
                                                           .for_any = for_any,
                                                           .time = computation->now,
                                                           .at = latest_step(computation, stream)};
}

#define SOON_ENOUGH 1000000 /* ns: an older event did not end a wait for any of several paths */

/* Whether an event elsewhere at `time` can have ended its wait, if there was one. */
static inline bool may_end_wait(const struct computation *computation, uint32_t stream,
                                uint64_t time)
{
    const struct sleeper *sleeper = &computation->stream[stream].sleeper;

    return !sleeper->asleep || !sleeper->for_any || time + SOON_ENOUGH >= sleeper->time;
}

/* If nothing woke a step, its arcs belong to a new step after it. Returns the first of the two. */
static inline struct step *come_later(struct computation *computation, uint32_t stream,
                                      struct step *step)
{
    struct step *behind = add_step(computation, stream, 0);

    memcpy(behind->sources, step->sources, sizeof(step->sources));
    behind->source_count = step->source_count;
    behind->id = step->id;
    behind->path = step->path;
    behind->time = step->time;
    behind->slept = false;
    step->source_count = 0;
    return step;
}

/* Its wait, if there was one, ended at `end`; without an explanation, that much time has passed. */
static inline void wake(struct computation *computation, uint32_t stream, struct step *step,
                        bool explained, uint64_t end)
{
    struct sleeper *sleeper = &computation->stream[stream].sleeper;
    uint64_t begin = sleeper->time + step->cpu;

    step->time = computation->now;
    explained = explained || computation->stream[stream].explained;
    computation->stream[stream].explained = false;
    if (sleeper->asleep && !explained) {
        if (sleeper->met) {
            begin = sleeper->time;
            end = sleeper->met_time;
        }
        uint64_t time = end > begin ? end - begin : 0;
        if (step->source_count > 0)
            step = come_later(computation, stream, step);
        add_source(step, sleeper->at, ARC_SINCE, time);
        computation->asleep_count++;
        computation->asleep_time += time;
    }
    sleeper->asleep = false;
}

static inline void run_on(struct computation *computation, uint32_t stream, uint64_t cpu)
{
    struct step *step = add_step(computation, stream, cpu);

    tell(computation, stream, EVENT_EXEC, 0, 0, 0);
    wake(computation, stream, step, false, computation->now);
}

/* ---- messages ---- */

/* The last entry of the queue is a piece of the message that is being sent. */
static inline void put_into(struct computation *computation, uint32_t from, uint32_t to,
                            uint32_t bytes, bool goes_on)
{
    struct channel *channel = &computation->channels[from][to];
    struct place_of_step at = latest_step(computation, from);

    if (!goes_on || channel->last == channel->first)
        channel->queue[channel->last++].bytes = 0;
    channel->queue[channel->last - 1].chain = at.chain;
    channel->queue[channel->last - 1].step = at.step;
    channel->queue[channel->last - 1].bytes += bytes;
    if (channel->queue[channel->last - 1].bytes == 0)
        channel->last--;
    channel->sent += bytes;
    channel->has_sent = channel->has_sent || bytes > 0;
}

static inline void send_to(struct computation *computation, uint32_t from, uint32_t to,
                           uint64_t cpu, uint32_t bytes)
{
    struct step *step = add_step(computation, from, cpu);
    uint32_t position = computation->channels[from][to].sent;

    put_into(computation, from, to, bytes, false);
    tell(computation, from, EVENT_SEND, path_of(from, to, false), position, bytes);
    wake(computation, from, step, false, computation->now);
}

/* The sender's wait for buffer space ends here, or ends for a moment, because of data taken meanwhile, if the sender
 * was in that call already. */
static inline void find_room(struct computation *computation, uint32_t from, uint32_t to,
                             bool goes_on, struct step *step)
{
    const struct channel *channel = &computation->channels[from][to];
    const struct sleeper *sleeper = &computation->stream[from].sleeper;
    bool made = goes_on && channel->took_time >= sleeper->time && channel->took_time != 0;

    if (made) {
        add_source(step, channel->took, ARC_SIGNAL, 0);
        computation->other_arcs++;
    }
    wake(computation, from, step, made, computation->now);
}

/* The buffer is full when `out` more bytes of the message have been sent. */
static inline void send_waits(struct computation *computation, uint32_t from, uint32_t to,
                              uint64_t cpu, uint32_t bytes, uint32_t out)
{
    struct a_stream *is = &computation->stream[from];
    bool goes_on = is->sends_to == to;
    struct step *step = add_step(computation, from, cpu);

    if (!goes_on) {
        is->sends_to = to;
        is->send_bytes = bytes;
        is->send_out = 0;
    }
    put_into(computation, from, to, out, goes_on && is->send_out > 0);
    is->send_out += out;
    tell(computation, from, EVENT_SENDCALL, path_of(from, to, false),
         computation->channels[from][to].sent, is->send_out);
    find_room(computation, from, to, goes_on, step);
    fall_asleep(computation, from, false);
}

static inline void send_ends(struct computation *computation, uint32_t from, uint64_t cpu)
{
    struct a_stream *is = &computation->stream[from];
    uint32_t to = is->sends_to, position = computation->channels[from][to].sent - is->send_out;
    struct step *step = add_step(computation, from, cpu);

    put_into(computation, from, to, is->send_bytes - is->send_out, is->send_out > 0);
    is->sends_to = NOBODY;
    tell(computation, from, EVENT_SEND, path_of(from, to, false), position, is->send_bytes);
    find_room(computation, from, to, true, step);
}

static inline uint32_t waiting(const struct computation *computation, uint32_t from, uint32_t to)
{
    return computation->channels[from][to].sent - computation->channels[from][to].received;
}

/* It asks to receive and has to wait, from one stream or (from == NOBODY) from any. */
static inline void wait_for(struct computation *computation, uint32_t to, uint32_t from,
                            uint64_t cpu)
{
    struct step *step = add_step(computation, to, cpu);

    if (from == NOBODY)
        tell(computation, to, EVENT_RECEIVECALL, 0, 7, 0); /* poll */
    else
        tell(computation, to, EVENT_RECEIVECALL, path_of(from, to, true), 0, 0);
    wake(computation, to, step, false, computation->now);
    fall_asleep(computation, to, from == NOBODY);
}

/* Takes this many bytes from the queue. `waits`: it falls asleep first, with `cpu` used on each side. */
static inline void receive(struct computation *computation, uint32_t to, uint32_t from,
                           uint64_t cpu, uint32_t bytes, bool waits)
{
    struct channel *channel = &computation->channels[from][to];

    if (waits)
        wait_for(computation, to, from, cpu);
    bool call_told = computation->stream[to].sleeper.asleep, explained = false;
    struct step *step = add_step(computation, to, cpu);
    uint32_t left = bytes;
    while (left > 0) {
        uint32_t first = channel->first;
        uint32_t *queued = &channel->queue[first].bytes;
        uint32_t part = *queued < left ? *queued : left;
        struct place_of_step source = {channel->queue[first].chain, channel->queue[first].step};
        add_source(step, source, ARC_MESSAGE, part);
        uint64_t time = computation->steps[source.chain][source.step].time;
        explained = explained || may_end_wait(computation, to, time);
        *queued -= part;
        left -= part;
        channel->first += *queued == 0;
        computation->messages++;
    }
    tell(computation, to, EVENT_RECEIVE, path_of(from, to, true), channel->received, bytes)
        ->header.flags = call_told ? 0 : RECORD_CALL_IMPLIED;
    channel->received += bytes;
    wake(computation, to, step, explained, computation->now);
    channel->took_time = computation->now;
    channel->took = latest_step(computation, to);
}

/* How many streams of a process have recorded anything so far. */
static inline uint32_t threads_seen(const struct computation *computation, uint32_t process)
{
    uint32_t seen = 0;

    for (uint32_t i = 0; i < computation->streams; i++)
        seen += computation->stream[i].process == process && computation->stream[i].sequence > 0;
    return seen;
}

/* The end of file: an arc from the sender's latest event; a sleeping receiver has waited for everything in between. */
static inline void receive_end(struct computation *computation, uint32_t to, uint32_t from,
                               uint64_t cpu)
{
    struct channel *channel = &computation->channels[from][to];
    const struct a_stream *sender = &computation->stream[from];
    struct place_of_step source = sender->ended ? sender->ended_at : latest_step(computation, from);
    struct step *step = add_step(computation, to, cpu);

    bool alone = !computation->whole_processes || threads_seen(computation, sender->process) == 1;
    bool woken = may_end_wait(computation, to, sender->latest_time);
    uint64_t since = step->slept && woken && alone && !sender->ended && from != to &&
                             !computation->stream[to].woken
                         ? computation->now + 1 - sender->latest_time
                         : 0;

    channel->closed = true;
    if (channel->has_sent) {
        add_source(step, source, since > 0 ? ARC_SINCE : ARC_ORDER, since);
        computation->other_arcs++;
        computation->asleep_count += since > 0;
        computation->asleep_time += since;
    }
    tell(computation, to, EVENT_RECEIVE, path_of(from, to, true), channel->received, 0)
        ->header.flags = RECORD_END_OF_FILE | RECORD_CALL_IMPLIED;
    wake(computation, to, step, channel->has_sent && woken, computation->now);
}

/* Its path is used for the first time. That alone does not end a wait: the wait goes on. */
static inline struct step *add_step_of_path(struct computation *computation, uint32_t stream,
                                            uint64_t cpu, bool explained)
{
    struct a_stream *is = &computation->stream[stream];
    bool stays = is->sleeper.asleep && !explained && !is->woken;
    struct step *step = add_step(computation, stream, stays ? 0 : cpu);

    struct sleeper *sleeper = &is->sleeper;

    step->time = computation->now + 1;
    if (stays && !sleeper->met)
        sleeper->met_time = step->time;
    sleeper->met = stays;
    sleeper->asleep = stays;
    return step;
}

static inline void connect_to(struct computation *computation, uint32_t from, uint32_t to,
                              uint64_t cpu)
{
    struct channel *channel = &computation->channels[from][to];

    add_step_of_path(computation, from, cpu, false);
    tell(computation, from, EVENT_CONNECT, path_of(from, to, false), 0, 0);
    channel->has_connected = true;
    channel->connected = latest_step(computation, from);
}

static inline void accept_from(struct computation *computation, uint32_t to, uint32_t from,
                               uint64_t cpu)
{
    struct channel *channel = &computation->channels[from][to];
    uint64_t time = computation->steps[channel->connected.chain][channel->connected.step].time;
    struct step *step = add_step_of_path(computation, to, cpu, may_end_wait(computation, to, time));

    add_source(step, channel->connected, ARC_SIGNAL, 0);
    computation->other_arcs++;
    tell(computation, to, EVENT_ACCEPT, path_of(from, to, true), 0, 0);
    channel->accepted = true;
}

/* ---- outside, and sleep ---- */

static inline void ask_outside(struct computation *computation, uint32_t stream, uint64_t cpu,
                               uint32_t bytes)
{
    uint32_t process = computation->stream[stream].process;
    struct a_process *is = &computation->process[process];
    struct step *step = add_step(computation, stream, cpu);

    tell(computation, stream, EVENT_SEND, path_outside(process), is->sent, bytes);
    wake(computation, stream, step, false, computation->now);
    is->sent += bytes;
    is->has_asked = true;
    is->asked_time = computation->now;
    is->heard_time = 0;
    is->asked = latest_step(computation, stream);
}

static inline void hear_outside(struct computation *computation, uint32_t stream, uint64_t cpu,
                                uint32_t bytes)
{
    uint32_t process = computation->stream[stream].process;
    struct a_process *is = &computation->process[process];
    struct step *step = add_step(computation, stream, cpu);

    tell(computation, stream, EVENT_RECEIVE, path_outside(process), is->received, bytes);
    is->received += bytes;
    if (is->has_asked) {
        uint64_t since = computation->now - is->asked_time, awake = step->slept ? cpu : 0;
        since -= awake < since ? awake : since;
        add_source(step, is->asked, ARC_SINCE, since);
        uint64_t since_heard = computation->now - is->heard_time; /* pieces of an answer */
        computation->outside_count += is->heard_time == 0;
        computation->outside_time += since < since_heard ? since : since_heard;
        is->heard_time = computation->now;
    }
    wake(computation, stream, step, is->has_asked, computation->now);
}

enum { CALL_SLEEP = 230, CALL_LOCK = 202, CALL_WAIT = 61 };

/* Asleep for this long: for a timer, for a lock, for a child's end. */
static inline void block_in(struct computation *computation, uint32_t stream, uint64_t cpu,
                            uint32_t call, uint64_t duration)
{
    uint32_t process = computation->stream[stream].process;
    struct a_process *child = NULL;
    struct step *step = add_step(computation, stream, cpu);

    for (uint32_t i = 0; i < computation->processes && call == CALL_WAIT; i++) {
        struct a_process *is = &computation->process[i];
        if (is->parent == process && is->ended && !is->reaped &&
            (child == NULL || is->ended_time > child->ended_time))
            child = is;
    }
    struct a_stream *is = &computation->stream[stream];
    /* else the WAKEUP ended the wait before. (Whether a child has woken it is no question here: history_waits_test.) */
    bool woken = is->woken && !is->woken_before && call != CALL_WAIT;
    bool woken_twice = woken && is->woken_twice;
    computation->now += woken && duration > 0 ? duration - 1 : duration;
    struct record *record = tell(computation, stream, EVENT_BLOCK, 0, 0, 0);
    if (woken && computation->now - is->woken_time > duration)
        duration = computation->now - is->woken_time;
    record->block.system_call = call;
    record->block.state = 1;
    record->block.duration = duration;
    is->woken_before = false;
    if (woken_twice) {
        add_source(step, is->woken_by_first, ARC_ORDER, 0);
        computation->other_arcs++;
    }
    if (child != NULL) {
        add_source(step, child->ended_at, ARC_ORDER, 0);
        computation->other_arcs++;
        child->reaped = true;
    }
    bool explained = child != NULL && may_end_wait(computation, stream, child->ended_time);
    wake(computation, stream, step, explained, computation->now - duration);
    if (explained || woken)
        return;
    bool lock =
        call == CALL_LOCK && threads_seen(computation, process) > 1 && !computation->tells_wakeups;
    computation->locks += lock;
    if (lock)
        return;
    struct place_of_step fell = latest_step(computation, stream);
    step = add_step(computation, stream, 0);
    step->slept = true;
    step->time = computation->now;
    add_source(step, fell, ARC_SINCE, duration);
    computation->asleep_count++;
    computation->asleep_time += duration;
}

/* It ended another stream's sleep, whatever that slept for; `after_end`: it had recorded its own end before. */
static inline void wake_another(struct computation *computation, uint32_t stream, uint32_t other,
                                bool after_end)
{
    struct record *record =
        after_end ? add_event(&computation->tape, ++computation->now, EVENT_WAKEUP, 0, 0)
                  : tell(computation, stream, EVENT_WAKEUP, 0, 0, 0);

    record->header.flags = after_end ? RECORD_NO_STREAM : 0;
    record->wakeup.woken = other + 1;
    record->wakeup.waker = after_end ? stream + 1 : 0;
    struct a_stream *woken = &computation->stream[other];
    woken->woken_twice = woken->woken;
    woken->woken_by_first = woken->woken_by;
    woken->woken = true;
    woken->woken_time = computation->now;
    woken->woken_by =
        after_end ? computation->stream[stream].ended_at : latest_step(computation, stream);
}

static inline void wake_up(struct computation *computation, uint32_t stream, uint32_t other,
                           uint64_t cpu)
{
    struct step *step = add_step(computation, stream, cpu);

    wake_another(computation, stream, other, false);
    wake(computation, stream, step, false, computation->now);
}

/* Stopped by a signal for this long, and continued. */
static inline void stop_for(struct computation *computation, uint32_t stream, uint64_t cpu,
                            uint64_t duration)
{
    struct step *step = add_step(computation, stream, cpu);

    tell(computation, stream, EVENT_STOPPROCESS, 0, 0, 0);
    step->time = computation->now;
    struct place_of_step stopped = latest_step(computation, stream);
    computation->now += duration;
    step = add_step(computation, stream, 0);
    tell(computation, stream, EVENT_STARTPROCESS, 0, 0, 0);
    step->slept = true;
    step->time = computation->now;
    add_source(step, stopped, ARC_SINCE, duration + 1);
    computation->asleep_count++;
    computation->asleep_time += duration + 1;
}

/* ---- creation and end ---- */

static inline void create(struct computation *computation, uint32_t by, uint32_t stream,
                          bool thread, uint64_t cpu)
{
    uint32_t process = thread ? computation->stream[by].process : computation->processes;
    struct step *step = add_step(computation, by, cpu);

    add_member(computation, stream, process, by);
    tell(computation, by, EVENT_CREATEPROCESS, stream + 1, thread, 0);
    wake(computation, by, step, false, computation->now);
    computation->stream[stream].waits_for_creator = true;
    computation->stream[stream].created = latest_step(computation, by);
}

static inline void terminate(struct computation *computation, uint32_t stream, uint64_t cpu)
{
    struct a_stream *is = &computation->stream[stream];
    struct a_process *process = &computation->process[is->process];
    struct step *step = add_step(computation, stream, cpu);
    bool last = true;

    is->ended = true;
    for (uint32_t i = 0; i < computation->streams; i++)
        last = last && (!computation->stream[i].exists || computation->stream[i].ended ||
                        computation->stream[i].process != is->process);
    tell(computation, stream, EVENT_TERMINATION, 0, 0, 0)->termination.last = last;
    wake(computation, stream, step, false, computation->now);
    is->ended_at = latest_step(computation, stream);
    process->ended = last;
    process->ended_time = computation->now;
    process->ended_at = is->ended_at;
}

/* ---- naive: the critical path ---- */

struct world {
    const struct computation *computation;
    const struct delays *delays;
    uint32_t machine[STREAMS]; /* of each process */
    double cores[STREAMS];
    double speed[STREAMS];
    bool free;          /* messages take no time */
    bool messages_only; /* no other arcs */
};

static inline uint32_t machine_of(const struct world *world, uint32_t chain)
{
    return world->machine[world->computation->process_of[chain]];
}

/* The delay of an arc to a chain; < 0: this world has no such arc. */
static inline double delay_of_arc(const struct world *world, const struct step *step,
                                  uint32_t source, uint32_t to)
{
    const struct delays *delays = world->delays;
    enum arc arc = step->sources[source].arc;
    uint64_t weight = step->sources[source].weight;

    if (world->messages_only && arc != ARC_MESSAGE)
        return -1;
    if (arc == ARC_SINCE)
        return (double)weight;
    if (arc == ARC_ORDER || world->free)
        return 0;
    bool local = machine_of(world, step->sources[source].chain) == machine_of(world, to);
    return (double)delay_of(local ? &delays->local : &delays->remote,
                            arc == ARC_MESSAGE ? weight : 0);
}

static inline bool begins_at_creation(const struct world *world, uint32_t chain)
{
    return world->computation->is_created[chain] && !world->messages_only;
}

/* Where a chain begins, for paths from the beginning of `process` (ALL: of any); -INFINITY: no path leads there. */
static inline double beginning_of(const struct world *world, uint32_t chain, uint32_t process,
                                  double ends[STREAMS][STEPS])
{
    const struct computation *computation = world->computation;
    const struct place_of_step *creator = &computation->creator[chain];
    bool begins = process == ALL || process == computation->process_of[chain];
    double at = begins_at_creation(world, chain) ? ends[creator->chain][creator->step] : -INFINITY;

    return begins && at < 0 ? 0 : at;
}

/* When each step ends, in the order in which they happened: by definition. Only paths from the beginning of `process`
 * count; ALL: of any. */
static inline double longest_path_of(const struct world *world, uint32_t process)
{
    const struct computation *computation = world->computation;
    double ends[STREAMS][STEPS], longest = 0;

    for (uint32_t k = 0; k < computation->step_count; k++) {
        uint32_t chain = computation->order[k].chain, index = computation->order[k].step;
        const struct step *step = &computation->steps[chain][index];
        double own, arrive = -INFINITY;
        double speed = world->free ? 1 : world->speed[machine_of(world, chain)];
        double cpu = floor((double)step->cpu / speed);

        own = index > 0 ? ends[chain][index - 1] : beginning_of(world, chain, process, ends);
        for (uint32_t i = 0; i < step->source_count; i++) {
            double delay = delay_of_arc(world, step, i, chain);
            double length = ends[step->sources[i].chain][step->sources[i].step] + delay;
            arrive = delay >= 0 && length > arrive ? length : arrive;
        }
        if (step->slept)
            ends[chain][index] = (own > arrive ? own : arrive) + cpu;
        else
            ends[chain][index] = own + cpu > arrive ? own + cpu : arrive;
        longest = ends[chain][index] > longest ? ends[chain][index] : longest;
    }
    return longest;
}

static inline double longest_path(const struct world *world)
{
    return longest_path_of(world, ALL);
}

/* Prints what failed, a line for each step. */
static inline void print_steps(const struct computation *computation)
{
    static const char *const arcs[] = {"message", "signal", "order", "since"};

    for (uint32_t k = 0; k < computation->step_count; k++) {
        uint32_t chain = computation->order[k].chain, index = computation->order[k].step;
        const struct step *step = &computation->steps[chain][index];
        fprintf(stderr, "# chain %u (process %u) step %u: %s %u, cpu %" PRIu64 "%s", chain,
                computation->process_of[chain], index,
                step->id == 0 ? "asleep" : event_type(step->id)->name, step->path, step->cpu,
                step->slept ? " slept" : "");
        if (index == 0 && computation->is_created[chain])
            fprintf(stderr, ", created by %u.%u", computation->creator[chain].chain,
                    computation->creator[chain].step);
        for (uint32_t i = 0; i < step->source_count; i++)
            fprintf(stderr, ", %s %" PRIu64 " from %u.%u", arcs[step->sources[i].arc],
                    step->sources[i].weight, step->sources[i].chain, step->sources[i].step);
        fputc('\n', stderr);
    }
}

/* ---- random computations ---- */

/* Only CPU time and messages, of processes that exist from the beginning. */
static inline void make_plain(struct computation *computation, uint64_t *seed)
{
    begin(computation, 1 + (uint32_t)random_below(seed, STREAMS));
    uint32_t streams = computation->streams;
    uint64_t most = random_below(seed, 2) == 0 ? 10 : 100000;
    uint32_t steps = (uint32_t)random_below(seed, streams * 12) + 1;

    for (uint32_t i = 0; i < steps; i++) {
        uint32_t stream = (uint32_t)random_below(seed, streams);
        uint32_t other = (uint32_t)random_below(seed, streams);
        uint64_t cpu = random_below(seed, 4) == 0 ? 0 : random_below(seed, most);
        if (computation->count[stream] + 2 >= STEPS)
            continue;
        uint32_t there = stream == other ? 0 : waiting(computation, other, stream);
        if (stream == other)
            run_on(computation, stream, cpu);
        else if (there == 0)
            send_to(computation, stream, other, cpu, 1 + (uint32_t)random_below(seed, 100));
        else
            receive(computation, stream, other, cpu,
                    1 + (uint32_t)random_below(seed, there < 3 ? there : 3),
                    random_below(seed, 2) == 0);
    }
}

static inline bool may_be_woken(const struct computation *computation, uint32_t stream)
{
    const struct a_stream *is = &computation->stream[stream];

    return is->exists && !is->ended && !is->waits_for_creator;
}

/* With another stream: anything that can happen between the two. */
static inline void do_with(struct computation *computation, uint32_t stream, uint32_t other,
                           uint64_t cpu, uint64_t *seed)
{
    const struct channel *in = &computation->channels[other][stream];
    const struct channel *out = &computation->channels[stream][other];
    bool asleep = computation->stream[stream].sleeper.asleep;
    bool sends = computation->stream[other].sends_to == stream;
    uint32_t there = waiting(computation, other, stream);
    uint32_t bytes = 1 + (uint32_t)random_below(seed, 100);

    if (computation->tells_wakeups && may_be_woken(computation, other) &&
        (!asleep || computation->stream[stream].woken) && random_below(seed, 4) == 0)
        wake_up(computation, stream, other, cpu);
    else if (in->has_connected && !in->accepted && random_below(seed, 2) == 0)
        accept_from(computation, stream, other, cpu);
    else if (there > 0)
        receive(computation, stream, other, cpu,
                random_below(seed, 2) == 0
                    ? in->queue[in->first].bytes
                    : 1 + (uint32_t)random_below(seed, there < 3 ? there : 3),
                !asleep && random_below(seed, 2) == 0);
    else if (in->has_sent && !in->closed && !sends && random_below(seed, 4) == 0)
        receive_end(computation, stream, other, cpu);
    else if (out->closed)
        run_on(computation, stream, cpu);
    else if (!out->has_connected && random_below(seed, 4) == 0)
        connect_to(computation, stream, other, cpu);
    else if (random_below(seed, 3) == 0)
        send_waits(computation, stream, other, cpu, bytes, (uint32_t)random_below(seed, bytes + 1));
    else
        send_to(computation, stream, other, cpu, bytes);
}

/* Alone, with outside, or with a child. */
static inline void do_alone(struct computation *computation, uint32_t stream, uint64_t cpu,
                            uint64_t *seed)
{
    static const uint32_t calls[] = {CALL_SLEEP, CALL_LOCK, CALL_WAIT};
    uint32_t next = 0, bytes = 1 + (uint32_t)random_below(seed, 100);

    while (next < computation->streams && computation->stream[next].exists)
        next++;
    switch (random_below(seed, 9)) {
    case 8:
        if (!computation->stream[stream].sleeper.asleep) {
            stop_for(computation, stream, cpu, random_below(seed, 5000));
            break;
        }
        __attribute__((fallthrough));
    case 0:
        computation->stream[stream].woken_before = random_below(seed, 2) == 0;
        block_in(computation, stream, cpu, calls[random_below(seed, 3)], random_below(seed, 5000));
        break;
    case 1:
        if (next < computation->streams)
            create(computation, stream, next, random_below(seed, 2) == 0, cpu);
        else
            block_in(computation, stream, cpu, CALL_WAIT, random_below(seed, 100));
        break;
    case 2:
        ask_outside(computation, stream, cpu, bytes);
        break;
    case 3:
        hear_outside(computation, stream, cpu, bytes);
        break;
    case 4:
        wait_for(computation, stream, NOBODY, cpu);
        break;
    case 5:
        if (random_below(seed, 3) == 0) {
            terminate(computation, stream, cpu);
            next = (uint32_t)random_below(seed, computation->streams);
            if (computation->tells_wakeups && may_be_woken(computation, next))
                wake_another(computation, stream, next, true);
            break;
        }
        __attribute__((fallthrough));
    default:
        run_on(computation, stream, cpu);
    }
}

/* Continues a stream whose send is in progress. */
static inline void go_on_sending(struct computation *computation, uint32_t stream, uint64_t cpu,
                                 uint64_t *seed)
{
    const struct a_stream *is = &computation->stream[stream];
    uint32_t left = is->send_bytes - is->send_out;

    if (random_below(seed, 3) == 0)
        send_waits(computation, stream, is->sends_to, cpu, 0,
                   (uint32_t)random_below(seed, left + 1));
    else
        send_ends(computation, stream, cpu);
}

static inline bool is_full(const struct computation *computation, uint32_t stream)
{
    return computation->count[chain_of(computation, stream)] + 4 >= STEPS;
}

/* Everything: threads, creation and end, blocked sends, timers, locks, connections, ends of files, outside. */
static inline void make(struct computation *computation, bool whole_processes, uint64_t *seed)
{
    uint32_t streams = 1 + (uint32_t)random_below(seed, STREAMS), processes[STREAMS] = {0};
    uint32_t made = 1 + (uint32_t)random_below(seed, streams), last = 0;

    for (uint32_t i = 1; i < made; i++) /* threads of one process need not be adjacent */
        processes[i] = random_below(seed, 3) == 0 ? (uint32_t)random_below(seed, last + 1) : ++last;
    begin_threads(computation, streams, made, processes, whole_processes);
    computation->tells_wakeups = random_below(seed, 2) == 0;
    if (!computation->tells_wakeups)
        leave_out(computation, EVENT_WAKEUP);
    uint64_t most = random_below(seed, 2) == 0 ? 10 : 100000;
    uint32_t steps = (uint32_t)random_below(seed, streams * 12) + 1;

    for (uint32_t i = 0; i < steps; i++) {
        uint32_t stream = (uint32_t)random_below(seed, streams);
        uint32_t other = (uint32_t)random_below(seed, streams);
        uint64_t cpu = random_below(seed, 4) == 0 ? 0 : random_below(seed, most);
        const struct a_stream *is = &computation->stream[stream];
        uint64_t pause = random_below(seed, 4) == 0 ? random_below(seed, 3000) : 0;
        computation->now += random_below(seed, 50) == 0 ? 2 * SOON_ENOUGH : pause;
        if (!is->exists || is->ended || is_full(computation, stream))
            continue;
        if (is->sends_to != NOBODY)
            go_on_sending(computation, stream, cpu, seed);
        else if (stream == other || !computation->stream[other].exists)
            do_alone(computation, stream, cpu, seed);
        else
            do_with(computation, stream, other, cpu, seed);
    }
}

#endif
