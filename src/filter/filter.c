/* SPDX-License-Identifier: MIT */
/* filter.c: takes the packets of a session, and stores them. See filter.h. */
#include "filter/filter.h"
#include "filter/filter_copies.h"
#include "filter/filter_selected.h"

#include "base/folder.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* How long packets without metadata are sent back: what was not acknowledged has come again by then. And how often at least: the
 * filter may have done nothing meanwhile, as on a full disk. */
#define SENT_BACK_FOR   (3 * FILTER_AGAIN_MS * 1000000ull) /* ns */
#define SENT_BACK_LEAST 5u

struct received {
    struct fabric_consumer *consumer;
    struct fabric_packet packet;
};

struct expected {
    char machine[FABRIC_NAME_MOST + 1], recording[FABRIC_NAME_MOST + 1];
};

/* Packets that came before the metadata of their trace. */
struct sent_back {
    uint64_t first; /* when; 0: none */
    unsigned count;
};

struct filter {
    struct filter_copies copies;
    char packets[PATH_MAX]; /* with rules: the folder of the copies */
    struct filter_selected selected;
    struct fabric_consumer **consumers;
    size_t consumer_count, next;
    struct received waiting; /* could not be stored, and is tried again; machine NULL: none */
    struct expected *expected;
    size_t expected_count, expected_capacity;
    struct intern early; /* traces; for each: */
    struct sent_back *sent_back;
    size_t sent_back_capacity;
};

void filter_name(const char *folder, char ret_name[FILTER_NAME_SIZE])
{
    char path[PATH_MAX], host[HOST_NAME_MAX + 1] = "";
    uint64_t hash;

    gethostname(host, sizeof(host) - 1);
    if (folder == NULL)
        hash = hash_bytes(clock_now(CLOCK_REALTIME), &(pid_t){getpid()}, sizeof(pid_t));
    else if (realpath(folder, path) == NULL)
        hash = hash_bytes(0, folder, strlen(folder));
    else
        hash = hash_bytes(0, path, strlen(path));
    hash = hash_bytes(hash, host, strlen(host));
    snprintf(ret_name, FILTER_NAME_SIZE, "filter-%016" PRIx64, hash);
}

void filter_name_there(const char *host, const char *folder, char ret_name[FILTER_NAME_SIZE])
{
    uint64_t hash = hash_bytes(0, host, strlen(host) + 1);

    snprintf(ret_name, FILTER_NAME_SIZE, "filter-%016" PRIx64,
             hash_bytes(hash, folder, strlen(folder)));
}

/* ---- begin ---- */

static enum fabric_part part_of(enum ring_id ring)
{
    return ring == RING_CONTROL ? FABRIC_CONTROL : FABRIC_DATA;
}

/* Says what an earlier run has stored. */
static void say_stored(struct filter *filter, struct fabric_consumer *consumer)
{
    for (size_t i = 0; i < filter->copies.count; i++) {
        const struct copy *copy = filter->copies.list[i];
        for (enum ring_id ring = 0; ring < RING_COUNT; ring++) {
            struct trace_position position = trace_copy_position(copy->trace, ring);
            struct fabric_place place = {.file = position.file, .number = position.number};
            memcpy(place.uuid, copy->uuid, sizeof(place.uuid));
            if (position.known)
                fabric_consumer_has(consumer, copy->machine, copy->recording, part_of(ring),
                                    &place);
        }
    }
}

static int begin(struct filter *filter, struct fabric *fabric, const struct filter_options *options,
                 struct problem *problem)
{
    size_t count = options->machine_count == 0 ? 1 : options->machine_count;
    char durable[2 * FABRIC_NAME_MOST + 2];
    int result = filter_copies_resume(&filter->copies, problem);

    filter->consumers = calloc(count, sizeof(struct fabric_consumer *));
    if (filter->consumers == NULL)
        return problem_set(problem, -ENOMEM, "out of memory");
    for (size_t i = 0; result == 0 && i < count; i++) {
        const char *machine = options->machine_count == 0 ? NULL : options->machines[i];
        /* each machine has a consumer of its own: their names are told apart by a hash of the machine's */
        uint64_t hash = machine == NULL ? 0 : hash_bytes(0, machine, strlen(machine)) >> 32;
        snprintf(durable, sizeof(durable), machine == NULL ? "%s" : "%s-%08" PRIx64,
                 options->durable, hash);
        result = fabric_consumer_new(fabric, machine, durable, FILTER_AGAIN_MS,
                                     &filter->consumers[i], problem);
        if (result < 0)
            break;
        filter->consumer_count++;
        say_stored(filter, filter->consumers[i]);
    }
    return result;
}

/* The copies go into a folder of their own. */
static void select_from_copies(struct filter *filter, const struct filter_options *options)
{
    snprintf(filter->packets, sizeof(filter->packets), "%.*s/" FILTER_PACKETS,
             (int)sizeof(filter->packets) - 20, options->folder);
    filter->copies.folder = filter->packets;
    filter->selected = (struct filter_selected){.folder = options->folder, .rules = options->rules};
    mkdir(options->folder, 0700); /* errors show with the folder in it */
}

int filter_new(struct fabric *fabric, const struct filter_options *options,
               struct filter **ret_filter, struct problem *problem)
{
    struct filter *filter = calloc(1, sizeof(*filter));

    if (filter == NULL)
        return problem_set(problem, -ENOMEM, "out of memory");
    filter->copies.folder = options->folder;
    if (options->rules != NULL && options->folder != NULL)
        select_from_copies(filter, options);
    filter->copies.prefix = options->prefix;
    filter->copies.limits = options->limits;
    int result = begin(filter, fabric, options, problem);
    if (result < 0) {
        filter_close(filter, false, NULL);
        return result;
    }
    *ret_filter = filter;
    return 0;
}

/* ---- packets ---- */

/* What will not be any better when it is tried again: the packet is counted, and not asked for again. */
static bool is_final(int error)
{
    return error == -EBADMSG || error == -ENODATA || error == -EFBIG;
}

/* The copy has checked the packet. Its bytes are in a message, anywhere. */
static void note_newest(struct copy *copy, const struct fabric_packet *packet)
{
    struct trace_packet_context context;

    if (packet->part == FABRIC_METADATA ||
        packet->size < sizeof(struct trace_packet_header) + sizeof(context))
        return;
    memcpy(&context, (const char *)packet->bytes + sizeof(struct trace_packet_header),
           sizeof(context));
    if (context.timestamp_end > copy->newest)
        copy->newest = context.timestamp_end;
}

static int store(struct filter *filter, struct copy *copy, const struct fabric_packet *packet,
                 struct problem *problem)
{
    int result = 1;

    if (copy->rejected) {
        copy->refused++;
        return 0;
    }
    if (filter->copies.folder != NULL && packet->part == FABRIC_METADATA)
        result = trace_copy_metadata(copy->trace, packet->bytes, packet->size, problem);
    else if (filter->copies.folder != NULL)
        result =
            trace_copy_add(copy->trace, packet->part == FABRIC_CONTROL ? RING_CONTROL : RING_DATA,
                           packet->place.file, packet->bytes, packet->size, problem);
    if (result > 0) {
        copy->packets += packet->part != FABRIC_METADATA;
        copy->bytes += packet->size;
        note_newest(copy, packet);
    }
    if (!is_final(result))
        return result;
    copy->refused++;
    copy->full |= result == -EFBIG;
    snprintf(copy->why, sizeof(copy->why), "%.299s", problem->text);
    return 0;
}

static void give_back(struct received *received, bool stored)
{
    fabric_consumer_done(received->consumer, &received->packet, stored);
    received->packet.machine = NULL;
}

/* NULL: out of memory. There are no more of these than a consumer knows parts of traces. */
static struct sent_back *sent_back_of(struct filter *filter, const struct fabric_packet *packet)
{
    uint64_t key = hash_bytes(0, packet->machine, strlen(packet->machine));
    int64_t index = intern_add(&filter->early, hash_bytes(key, packet->place.uuid, 16));

    if (index < 0 || array_reserve(&filter->sent_back, &filter->sent_back_capacity,
                                   (size_t)index + 1, sizeof(*filter->sent_back)) < 0)
        return NULL;
    return &filter->sent_back[index];
}

/* The server sends no more than so many packets that were not acknowledged, of all machines: a trace whose metadata never come must
 * not take the place of the others. */
static bool may_come_again(struct filter *filter, const struct fabric_packet *packet)
{
    struct sent_back *sent_back = sent_back_of(filter, packet);
    uint64_t now = clock_now(CLOCK_MONOTONIC);

    if (sent_back == NULL)
        return true;
    if (sent_back->first == 0)
        sent_back->first = now;
    sent_back->count++;
    return sent_back->count <= SENT_BACK_LEAST || now - sent_back->first < SENT_BACK_FOR;
}

/* Whether this trace is the reason, or how many there are, and the others can go on: a machine that sends anything must not end the
 * filter. Metadata that are none, or those of another version of dpm, do not get better when they come again. */
static bool rejects(int error)
{
    return error == -EBADMSG || error == -EFBIG || error == -EEXIST || error == -EMFILE;
}

/* Finds the copy for a packet, or begins it with its metadata; one that cannot be begun is rejected. Returns 1; 0: the packet is to
 * come again; or a negative errno. */
static int find_copy(struct filter *filter, const struct fabric_packet *packet,
                     struct copy **ret_copy, struct problem *problem)
{
    int result;

    *ret_copy = filter_copies_find(&filter->copies, packet);
    if (*ret_copy != NULL)
        return 1;
    if (packet->part == FABRIC_METADATA)
        result = filter_copies_create(&filter->copies, packet, ret_copy, problem);
    else if (may_come_again(filter, packet))
        return 0;
    else
        result = problem_set(problem, -EBADMSG, "the metadata of the trace have not come");
    if (!rejects(result))
        return result < 0 ? result : 1;
    *ret_copy = filter_copies_reject(&filter->copies, packet, problem->text);
    return *ret_copy == NULL ? problem_set(problem, -ENOMEM, "out of memory") : 1;
}

/* Packets of different parts may come in any order: one that comes before the metadata of its trace comes again. */
static int take(struct filter *filter, struct received *received, struct problem *problem)
{
    struct copy *copy;

    if (!filter_copies_wants(&filter->copies, received->packet.recording)) {
        give_back(received, true);
        return 0;
    }
    int result = find_copy(filter, &received->packet, &copy, problem);
    if (result == 0) {
        give_back(received, false);
        return 0;
    }
    if (result > 0)
        result = store(filter, copy, &received->packet, problem);
    if (result < 0) {
        filter->waiting = *received;
        return result;
    }
    give_back(received, true);
    return 0;
}

static int try_again(struct filter *filter, struct problem *problem)
{
    struct received received = filter->waiting;

    filter->waiting.packet.machine = NULL;
    return received.packet.machine == NULL ? 0 : take(filter, &received, problem);
}

#define AT_ONCE 1000 /* packets in a step */

int filter_step(struct filter *filter, int timeout_ms, struct problem *problem)
{
    size_t consumers = filter->consumer_count;
    int count = 0, result = try_again(filter, problem), quiet = 0;

    /* waits for the first one only, shared by all consumers */
    for (int wait_ms = timeout_ms / (int)consumers + 1;
         result >= 0 && count < AT_ONCE && quiet < (int)consumers;) {
        struct received received = {.consumer = filter->consumers[filter->next]};
        result = fabric_consumer_next(received.consumer, count == 0 ? wait_ms : 0, &received.packet,
                                      problem);
        if (result == 0) {
            quiet++;
            filter->next = (filter->next + 1) % consumers;
        }
        if (result > 0) {
            quiet = 0;
            count++;
            result = take(filter, &received, problem);
        }
    }
    /* a trace that could not be written lacks records, whatever comes later: the next filter selects again */
    if (result >= 0 && filter_selected_step(&filter->selected, &filter->copies, problem) < 0)
        result = -ECANCELED;
    return result < 0 ? result : count;
}

int filter_select(struct filter *filter, const struct rules *rules, struct problem *problem)
{
    return filter_selected_change(&filter->selected, &filter->copies, rules, problem);
}

void filter_mark(struct filter *filter)
{
    filter_selected_mark(&filter->selected, &filter->copies);
}

int filter_reached_mark(struct filter *filter, struct problem *problem)
{
    return filter_selected_reached_mark(&filter->selected, problem);
}

/* ---- the end ---- */

int filter_expect(struct filter *filter, const char *machine, const char *recording)
{
    if (!filter_copies_wants(&filter->copies, recording))
        return 0;
    if (array_reserve(&filter->expected, &filter->expected_capacity, filter->expected_count + 1,
                      sizeof(*filter->expected)) < 0)
        return -ENOMEM;
    struct expected *expected = &filter->expected[filter->expected_count++];
    snprintf(expected->machine, sizeof(expected->machine), "%s", machine);
    snprintf(expected->recording, sizeof(expected->recording), "%s", recording);
    return 0;
}

static bool is_selected(const struct filter *filter, const struct copy *copy)
{
    const struct selection *selection = filter_selected_find(&filter->selected, copy);

    return filter->selected.rules == NULL || copy->rejected ||
           (selection != NULL && selection->ended);
}

static bool has_all(const struct filter *filter, const struct copy *copy)
{
    if (copy->trace == NULL || copy->full)
        return true; /* nothing more is stored */
    return trace_copy_ended(copy->trace) && is_selected(filter, copy);
}

static const char *name_of(const struct filter *filter, const char *recording)
{
    return filter_recording_name(filter->copies.prefix, recording);
}

/* A copy that keeps only the newest records loses nothing when older ones go. */
static bool is_whole(const struct filter *filter, const struct copy *copy)
{
    return !copy->full && !copy->rejected && (copy->refused == 0 || filter->copies.limits.newest);
}

static bool is_stored(const struct filter *filter, const struct expected *expected, bool whole)
{
    for (size_t i = 0; i < filter->copies.count; i++) {
        const struct copy *copy = filter->copies.list[i];
        if (strcmp(copy->machine, expected->machine) == 0 &&
            strcmp(name_of(filter, copy->recording), name_of(filter, expected->recording)) == 0 &&
            has_all(filter, copy) && (!whole || is_whole(filter, copy)))
            return true;
    }
    return false;
}

static bool are_stored(const struct filter *filter, bool whole)
{
    for (size_t i = 0; i < filter->expected_count; i++)
        if (!is_stored(filter, &filter->expected[i], whole))
            return false;
    return true;
}

bool filter_complete(const struct filter *filter)
{
    return are_stored(filter, false);
}

bool filter_whole(const struct filter *filter)
{
    return are_stored(filter, true);
}

int64_t filter_left(struct filter *filter, struct problem *problem)
{
    int64_t all = 0;

    for (size_t i = 0; i < filter->consumer_count; i++) {
        int64_t left = fabric_consumer_left(filter->consumers[i], problem);
        if (left < 0)
            return left;
        all += left;
    }
    return all;
}

uint64_t filter_malformed(const struct filter *filter, char why[FILTER_WHY_SIZE])
{
    struct fabric_consumer_state state;
    uint64_t count = 0;

    why[0] = '\0';
    for (size_t i = 0; i < filter->consumer_count; i++) {
        fabric_consumer_look(filter->consumers[i], &state);
        count += state.malformed;
        if (state.malformed > 0)
            snprintf(why, FILTER_WHY_SIZE, "%s", state.reason);
    }
    return count;
}

size_t filter_count(const struct filter *filter)
{
    return filter->copies.count;
}

void filter_look(const struct filter *filter, size_t index, struct filter_copy *ret_copy)
{
    const struct copy *copy = filter->copies.list[index];
    struct trace_copy_counts counts = {0};

    if (copy->trace != NULL)
        counts = trace_copy_counts(copy->trace);
    *ret_copy = (struct filter_copy){
        .machine = copy->machine,
        .recording = copy->recording,
        .path = copy->trace == NULL ? NULL : copy->path,
        .ended = copy->trace != NULL && trace_copy_ended(copy->trace),
        .packets = copy->packets,
        .bytes = copy->bytes,
        .full = copy->full,
        .rejected = copy->rejected,
        .doubles = counts.doubles,
        .missing = counts.missing,
        .until = counts.until,
        .refused = copy->refused,
        .why = copy->why,
    };
    const struct selection *selection = filter_selected_find(&filter->selected, copy);
    if (filter->selected.rules != NULL && selection == NULL)
        ret_copy->path = NULL; /* nothing is selected of it yet */
    if (selection != NULL) {
        ret_copy->path = selection->path;
        ret_copy->ended = selection->ended;
        ret_copy->counts = selection->counts;
    }
}

static bool is_all_selected(const struct filter *filter)
{
    for (size_t i = 0; i < filter->copies.count; i++)
        if (!is_selected(filter, filter->copies.list[i]))
            return false;
    return true;
}

int filter_close(struct filter *filter, bool forget, struct problem *problem)
{
    struct problem ignored;

    if (filter == NULL)
        return 0;
    bool all_selected = is_all_selected(filter);
    if (filter->waiting.packet.machine != NULL)
        give_back(&filter->waiting, false);
    for (size_t i = 0; i < filter->consumer_count; i++) {
        if (forget)
            fabric_consumer_remove(filter->consumers[i], &ignored);
        fabric_consumer_free(filter->consumers[i]);
    }
    int result = filter_copies_close(&filter->copies, problem);
    int closed = filter_selected_close(&filter->selected, result == 0 ? problem : NULL);
    result = result == 0 ? closed : result;
    if (forget && filter->selected.rules != NULL && all_selected && result == 0)
        folder_remove(filter->packets);
    free(filter->consumers);
    free(filter->expected);
    intern_done(&filter->early);
    free(filter->sent_back);
    free(filter);
    return result;
}
