/* SPDX-License-Identifier: MIT */
/*
 * reader.c: reads one or more traces as one source.
 *
 *      origin (a trace):  control --+ earlier time, control first    --> head
 *                         data    --+ (END after all data)
 *      source:            heap of origins by their heads' wall-clock time, then by number
 *
 * stream_file.c reads the files.
 */
#include "trace/reader_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define ORIGINS_MOST 4096u

/* MACHINE as it was in format 2. */
struct machine_of_2 {
    struct record_header header;
    uint8_t machine_id[16];
    uint8_t boot_id[16];
    uint32_t meter_flags; /* bit 31: the PC */
    uint32_t kinds_left_out;
    uint32_t cpus;
    uint32_t meter;
    char name[MACHINE_NAME_SIZE];
    char system[MACHINE_NAME_SIZE];
    char addresses[MACHINE_ADDRESSES_SIZE];
};

/* ---- one trace ---- */

static unsigned record_id(const struct stream_file *file)
{
    return ((const struct record_header *)file->record)->id;
}

/* The file whose record is next; NULL: none is left. At equal times, control comes first, except END. */
static inline struct stream_file *earlier(struct origin *origin)
{
    struct stream_file *control = &origin->files[RING_CONTROL];
    struct stream_file *data = &origin->files[RING_DATA];

    if (control->record == NULL)
        return data->record == NULL ? NULL : data;
    if (data->record == NULL || control->time < data->time)
        return control;
    return control->time > data->time || record_id(control) == EVENT_END ? data : control;
}

/* Sets origin->head to the file whose record is next. */
static inline int choose_head(struct origin *origin, struct problem *problem)
{
    struct stream_file *head = origin->head = earlier(origin);

    if (head == NULL)
        return 0;
    if (origin->ended)
        return stream_file_damaged(head, stream_file_offset(head), "a record follows END", problem);
    origin->wall = (int64_t)(head->time + (uint64_t)head->wall_offset);
    return 0;
}

static uint64_t add_saturating(uint64_t one, uint64_t other)
{
    return one > UINT64_MAX - other ? UINT64_MAX : one + other;
}

static uint64_t subtract_saturating(uint64_t one, uint64_t other)
{
    return one > other ? one - other : 0;
}

/* Records of the recording so far, in removed files, too. */
static uint64_t counted(const struct origin *origin, const struct source_state *state)
{
    return add_saturating(origin->before, subtract_saturating(state->records, origin->repeated));
}

/* END counts all records. If there are fewer, a file was truncated after it was written, for example by a copy to a
 * full disk. Those records count as lost. */
static int note_end(struct origin *origin, struct source_state *state, struct problem *problem)
{
    uint64_t records = counted(origin, state) + 1; /* including END, which is returned next */
    const struct stream_file *control = &origin->files[RING_CONTROL];
    const struct end_record *end = (const struct end_record *)control->record;

    if (end->records < records || state->records + 1 < origin->repeated)
        return stream_file_damaged(control, stream_file_offset(control),
                                   "END counts fewer records than the file has", problem);
    if (end->reason < END_COMPLETE || end->reason > END_METER)
        return stream_file_damaged(control, stream_file_offset(control),
                                   "END has an unknown reason", problem);
    uint64_t missing = end->records - records;
    origin->ended = true;
    state->lost = add_saturating(subtract_saturating(end->lost, origin->lost),
                                 add_saturating(origin->missing, missing));
    /* what is missing in a copy is no sign that the recording did not end in order */
    state->complete = missing == 0 || state->missing_packets > 0;
    state->end_reason = state->complete ? end->reason : 0;
    return 0;
}

static int read_beginning(struct origin *origin, struct problem *problem)
{
    struct stream_file *control = &origin->files[RING_CONTROL];

    for (enum ring_id ring = 0; ring < RING_COUNT; ring++) {
        int result = stream_file_begin(&origin->files[ring], problem);
        if (result < 0)
            return result;
    }
    if (control->record == NULL)
        return problem_set(problem, -ENODATA, "%s: no complete packet: the trace is empty",
                           control->name);
    if (record_id(control) != EVENT_MACHINE)
        return stream_file_damaged(control, stream_file_offset(control),
                                   "the first record is not MACHINE", problem);
    return choose_head(origin, problem);
}

static int open_files(struct origin *origin, int directory, unsigned rings,
                      const uint8_t uuid[TRACE_UUID_SIZE], struct problem *problem)
{
    struct trace_numbers numbers;
    int result = trace_numbers_find(directory, origin->name, &numbers, problem);

    /* Control first: if the trace is being written, the data that it refers to are then already there. */
    for (enum ring_id ring = 0; ring < rings && result == 0; ring++)
        result = stream_file_open(&origin->files[ring], directory, origin->name, ring, &numbers,
                                  uuid, problem);
    return result;
}

static void close_files(struct origin *origin)
{
    for (enum ring_id ring = 0; ring < RING_COUNT; ring++) {
        const uint16_t *sizes = origin->files[ring].sizes;
        stream_file_close(&origin->files[ring]);
        origin->files[ring] = (struct stream_file){.sizes = sizes, .file = -1};
    }
}

static int open_origin(struct trace_source *traces, struct origin *origin, const char *path,
                       unsigned rings, struct problem *problem)
{
    uint8_t uuid[TRACE_UUID_SIZE];

    trace_name(path, origin->name);
    int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0)
        return problem_set(problem, -errno, "%s: cannot be opened: %s; a trace is a directory",
                           origin->name, strerror(errno));
    int result = trace_metadata_read(directory, origin->name, uuid, &origin->format, problem);
    for (enum ring_id ring = 0; ring < RING_COUNT && result == 0; ring++)
        origin->files[ring].sizes =
            origin->format == 2 ? traces->sizes_of_2[ring] : traces->sizes[ring];
    bool known = result == 0;
    for (int i = 0; known && (i == 0 || (i < OPEN_TRIES && result == -ENOENT)); i++) {
        close_files(origin);
        result = open_files(origin, directory, rings, uuid, problem);
    }
    close(directory);
    return result < 0 ? result : read_beginning(origin, problem);
}

/* The writer holds a lock while it writes (writer.c). */
bool reader_is_being_written(const struct origin *origin)
{
    const struct stream_file *control = &origin->files[RING_CONTROL];
    int file = control->files[control->count - 1];

    if (flock(file, LOCK_SH | LOCK_NB) == 0) {
        flock(file, LOCK_UN);
        return false;
    }
    return errno == EWOULDBLOCK;
}

/* ---- the source ---- */

/* The origins are in an array, in the order of their numbers. */
static inline bool is_before(const struct origin *one, const struct origin *other)
{
    return one->wall < other->wall || (one->wall == other->wall && one < other);
}

/* Restores the heap below `at`, whose origin may have become later. */
static void sift_down(struct trace_source *traces, uint32_t at)
{
    uint32_t *heap = traces->heap;

    for (;;) {
        uint32_t first = at;
        for (uint32_t child = 2 * at + 1; child <= 2 * at + 2; child++)
            if (child < traces->heap_count &&
                is_before(&traces->origins[heap[child]], &traces->origins[heap[first]]))
                first = child;
        if (first == at)
            return;
        uint32_t number = heap[at];
        heap[at] = heap[first];
        heap[first] = number;
        at = first;
    }
}

/* The earlier one of heap[0]'s children; NULL: it has none. */
static const struct origin *find_second(const struct trace_source *traces)
{
    const struct origin *second = NULL;

    for (uint32_t child = 1; child < 3 && child < traces->heap_count; child++) {
        const struct origin *origin = &traces->origins[traces->heap[child]];
        if (second == NULL || is_before(origin, second))
            second = origin;
    }
    return second;
}

/* Packets contain how many records were lost so far, and END contains the final number. Records of missing packets are
 * counted by the next BEGIN or by END. */
static void note_lost(struct trace_source *traces, uint32_t number)
{
    const struct origin *origin = &traces->origins[number];
    const struct stream_file *control = &origin->files[RING_CONTROL];
    const struct stream_file *data = &origin->files[RING_DATA];
    struct source_state *state = &traces->source.states[number];

    state->missing_packets = control->missing + data->missing;
    if (!origin->ended)
        state->lost = add_saturating(
            subtract_saturating(add_saturating(control->discarded, data->discarded), origin->lost),
            origin->missing);
}

/* The time before which data of `origin` come next, if its head is data; otherwise 0. At that time control comes
 * first, or another trace is earlier. */
static uint64_t data_until(const struct trace_source *traces, const struct origin *origin)
{
    const struct stream_file *control = &origin->files[RING_CONTROL];
    const struct stream_file *data = &origin->files[RING_DATA];
    uint64_t until = control->record == NULL ? UINT64_MAX : control->time;

    if (origin->head != data || origin->ended)
        return 0;
    if (traces->second == NULL)
        return until;
    uint64_t second = (uint64_t)traces->second->wall - (uint64_t)data->wall_offset;
    if ((int64_t)second <= 0)
        return 0;
    return second < until ? second : until;
}

/* Advances from the record returned last to the next one of its trace. Its file has already advanced. */
static int leave_record(struct trace_source *traces, uint64_t packets)
{
    uint32_t number = traces->heap[0];
    struct origin *origin = &traces->origins[number];
    bool entered = origin->head->packets != packets;
    int result = choose_head(origin, &traces->problem);

    if (result < 0)
        return result;
    if (entered)
        note_lost(traces, number);
    if (origin->head != NULL && (traces->second == NULL || is_before(origin, traces->second)))
        return 0;
    if (origin->head == NULL)
        traces->heap[0] = traces->heap[--traces->heap_count];
    if (traces->heap_count > 1)
        sift_down(traces, 0);
    traces->second = find_second(traces);
    return 0;
}

/* A sleep that began in a removed file: it is known from here on. */
static void clamp_sleep(const struct stream_file *file)
{
    /* the window is memory of our own */
    struct record *record = (struct record *)(uintptr_t)file->record;

    if (record->header.id == EVENT_BLOCK &&
        record->block.duration > record->header.time - file->least)
        record->block.duration = record->header.time - file->least;
}

static void give(struct event *ret_event, const struct stream_file *file, uint32_t number)
{
    if (file->least != 0)
        clamp_sleep(file);
    ret_event->header = (const struct record_header *)file->record;
    ret_event->origin = number;
    ret_event->wall_offset = file->wall_offset;
    ret_event->absent = file->absent;
}

/* Returns a MACHINE of format 2 in the layout of today. */
static const struct record_header *convert_machine(struct origin *origin)
{
    const struct machine_of_2 *from = (const struct machine_of_2 *)origin->head->record;
    struct machine_record *machine = &origin->machine;

    *machine = (struct machine_record){
        .header = from->header,
        .meter_flags =
            (from->meter_flags & ~(1u << 31)) | (from->meter_flags >> 31 != 0 ? METER_FLAG_PC : 0),
        .kinds_left_out = from->kinds_left_out,
        .cpus = from->cpus,
        .meter = from->meter,
    };
    memcpy(machine->machine_id, from->machine_id, sizeof(machine->machine_id));
    memcpy(machine->boot_id, from->boot_id, sizeof(machine->boot_id));
    memcpy(machine->name, from->name, sizeof(machine->name));
    memcpy(machine->system, from->system, sizeof(machine->system));
    memcpy(machine->addresses, from->addresses, sizeof(machine->addresses));
    return &machine->header;
}

/* Counts the hooks that the kernel skipped, from a LOST record. */
static void note_skipped(const struct stream_file *control, struct source_state *state)
{
    const struct record *record = (const struct record *)control->record;

    if (record->lost.reason == LOST_SKIPPED)
        state->skipped = add_saturating(state->skipped, record->lost.count);
}

/* There is a hole before this file: the trace is followed, and files were removed before they were read; or it is a copy
 * for which packets never came. MACHINE has been counted already. */
static void note_gap(struct origin *origin, struct source_state *state,
                     const struct begin_record *begin)
{
    uint64_t missing = subtract_saturating(begin->records, counted(origin, state) - 1);

    if (origin->overtaken) {
        state->overtaken = add_saturating(state->overtaken, missing);
    } else {
        state->lost = add_saturating(state->lost, missing);
        origin->missing = add_saturating(origin->missing, missing);
    }
    origin->overtaken = false;
    origin->before = begin->records;
    origin->repeated = state->records + 1 + begin->repeated;
}

/* The first file that is left begins: says what was removed. */
static int note_begin(struct trace_source *traces, uint32_t number)
{
    struct origin *origin = &traces->origins[number];
    struct source_state *state = &traces->source.states[number];
    const struct stream_file *control = &origin->files[RING_CONTROL];
    const struct begin_record *begin = (const struct begin_record *)control->record;

    if (control->hole && state->records > 1) {
        note_gap(origin, state, begin);
        return 0;
    }
    if (origin->has_begun || state->records != 1 || stream_file_has_all(control))
        return stream_file_damaged(control, stream_file_offset(control),
                                   "BEGIN is not the second record of a numbered file",
                                   &traces->problem);
    origin->has_begun = true;
    origin->before = state->removed = begin->records;
    state->removed_time = subtract_saturating(begin->header.time, begin->began);
    origin->repeated = 2 + (uint64_t)begin->repeated;
    origin->lost = add_saturating(begin->lost_control, begin->lost_data);
    origin->cpu = begin->cpu;
    origin->wakeups = begin->wakeups;
    origin->files[RING_DATA].least = begin->header.time;
    note_lost(traces, number);
    return 0;
}

/* A COST counts since the recording began: takes off what removed files have told. */
static void reduce_cost(const struct origin *origin)
{
    struct record *record = (struct record *)(uintptr_t)origin->files[RING_CONTROL].record;

    record->cost.cpu = subtract_saturating(record->cost.cpu, origin->cpu);
    record->cost.wakeups = (uint32_t)subtract_saturating(record->cost.wakeups, origin->wakeups);
}

/* What a control record says of the trace itself. Returns 0 or -EBADMSG. */
static int note_control(struct trace_source *traces, uint32_t number)
{
    struct origin *origin = &traces->origins[number];
    struct source_state *state = &traces->source.states[number];

    switch (record_id(origin->head)) {
    case EVENT_BEGIN:
        return note_begin(traces, number);
    case EVENT_END:
        return note_end(origin, state, &traces->problem);
    case EVENT_LOST:
        note_skipped(origin->head, state);
        return 0;
    case EVENT_FLAGS:
        origin->selects =
            origin->selects || ((const struct flags_record *)origin->head->record)->rules > 0;
        return 0;
    case EVENT_DISCARDED:
        if (origin->selects)
            state->unselected = add_saturating(
                state->unselected, ((const struct record *)origin->head->record)->lost.count);
        return 0;
    case EVENT_COST:
        if (origin->has_begun)
            reduce_cost(origin);
        return 0;
    default:
        return 0;
    }
}

/* Returns the record at the head of heap[0], and counts it. */
static int hand_out(struct trace_source *traces, struct event *ret_event)
{
    uint32_t number = traces->heap[0];
    struct origin *origin = &traces->origins[number];
    struct source_state *state = &traces->source.states[number];

    if (origin->head == &origin->files[RING_CONTROL]) {
        int result = note_control(traces, number);
        if (result < 0)
            return result;
    }
    state->records++;
    traces->handed = true;
    traces->until = data_until(traces, origin);
    give(ret_event, origin->head, number);
    if (origin->format == 2 && record_id(origin->head) == EVENT_MACHINE)
        ret_event->header = convert_machine(origin);
    return SOURCE_RECORD;
}

/* Returns the record after the last one if it is data of the same packet and nothing else can come before it, as is
 * nearly always the case. Otherwise returns 0, and the file is at its next record. */
static int hand_out_next(struct trace_source *traces, struct event *ret_event)
{
    uint32_t number = traces->heap[0];
    struct stream_file *file = traces->origins[number].head;
    uint64_t packets = file->packets;
    int result = stream_file_next(file, &traces->problem);

    if (result == 0 && file->record != NULL && file->time < traces->until &&
        file->packets == packets) {
        traces->source.states[number].records++;
        give(ret_event, file, number);
        return SOURCE_RECORD;
    }
    traces->handed = false;
    return result < 0 ? result : leave_record(traces, packets);
}

static int trace_next(struct source *source, struct event *ret_event, uint64_t *ret_complete,
                      struct problem *problem)
{
    struct trace_source *traces = (struct trace_source *)source;
    int result = traces->failed;

    if (result == 0 && traces->handed)
        result = hand_out_next(traces, ret_event);
    if (result == 0 && traces->heap_count == 0) {
        int more =
            traces->origins[0].directory < 0 ? SOURCE_END : follow_next(traces, &traces->problem);
        if (more == SOURCE_NONE_YET)
            follow_note_idle(&traces->origins[0]);
        *ret_complete = more == SOURCE_NONE_YET ? traces->origins[0].complete
                                                : traces->origins[0].files[RING_CONTROL].time;
        if (more == SOURCE_END || more == SOURCE_NONE_YET)
            return more;
        result = more < 0 ? more : 0;
    }
    if (result == 0)
        result = hand_out(traces, ret_event);
    if (result > 0)
        return result;
    traces->failed = result;
    return problem_set(problem, result, "%s", traces->problem.text);
}

static void fill_sizes(struct trace_source *traces)
{
    for (unsigned id = 0; id < RECORD_TYPES; id++) {
        const struct event_type *type = event_type(id);
        if (type == NULL || id == EVENT_CLASS) /* a CLASS is resolved by its file */
            continue;
        traces->sizes[type->ring][id] = type->size;
        if (id <= EVENT_WAKEUP)
            traces->sizes_of_2[type->ring][id] =
                id == EVENT_MACHINE ? sizeof(struct machine_of_2) : type->size;
    }
}

static struct trace_source *allocate_source(size_t count)
{
    struct trace_source *traces = calloc(1, sizeof(*traces));

    if (traces == NULL)
        return NULL;
    traces->source.next = trace_next;
    traces->source.states = calloc(count, sizeof(*traces->source.states));
    traces->origins = calloc(count, sizeof(*traces->origins));
    traces->heap = calloc(count, sizeof(*traces->heap));
    if (traces->source.states == NULL || traces->origins == NULL || traces->heap == NULL) {
        trace_close(&traces->source);
        return NULL;
    }
    traces->source.origins = (uint32_t)count;
    fill_sizes(traces);
    for (size_t number = 0; number < count; number++)
        traces->origins[number].directory = traces->origins[number].changes = -1;
    for (size_t number = 0; number < count; number++)
        for (enum ring_id ring = 0; ring < RING_COUNT; ring++)
            traces->origins[number].files[ring].file = -1;
    return traces;
}

static void make_heap(struct trace_source *traces)
{
    traces->heap_count = traces->source.origins;
    for (uint32_t number = 0; number < traces->heap_count; number++)
        traces->heap[number] = number;
    for (uint32_t at = traces->heap_count; at-- > 0;)
        sift_down(traces, at);
    traces->second = find_second(traces);
}

/* Requires that each trace is at its first record. */
static void begin(struct trace_source *traces)
{
    make_heap(traces);
    for (uint32_t number = 0; number < traces->source.origins; number++)
        note_lost(traces, number);
}

int reader_continue(struct trace_source *traces, struct problem *problem)
{
    struct origin *origin = &traces->origins[0];

    for (enum ring_id ring = 0; ring < RING_COUNT; ring++) {
        int result = stream_file_begin(&origin->files[ring], problem);
        if (result < 0)
            return result;
    }
    int result = choose_head(origin, problem);
    if (result < 0 || origin->head == NULL)
        return result;
    begin(traces);
    return 1;
}

int reader_open(const char *const *paths, size_t count, unsigned rings, struct source **ret_source,
                struct problem *problem)
{
    if (count == 0 || count > ORIGINS_MOST)
        return problem_set(problem, -EINVAL, "name 1 to %u traces, not %zu", ORIGINS_MOST, count);
    struct trace_source *traces = allocate_source(count);
    if (traces == NULL)
        return problem_set(problem, -ENOMEM, "%s: out of memory", paths[0]);
    for (uint32_t number = 0; number < count; number++) {
        int result = open_origin(traces, &traces->origins[number], paths[number], rings, problem);
        if (result < 0) {
            trace_close(&traces->source);
            return result;
        }
        traces->source.states[number].being_written =
            reader_is_being_written(&traces->origins[number]);
    }
    begin(traces);
    *ret_source = &traces->source;
    return 0;
}

int trace_open(const char *const *paths, size_t count, struct source **ret_source,
               struct problem *problem)
{
    return reader_open(paths, count, RING_COUNT, ret_source, problem);
}

int trace_open_control(const char *const *paths, size_t count, struct source **ret_source,
                       struct problem *problem)
{
    return reader_open(paths, count, RING_CONTROL + 1, ret_source, problem);
}

int trace_rewind(struct source *source, struct problem *problem)
{
    struct trace_source *traces = (struct trace_source *)source;

    traces->handed = false;
    traces->failed = 0;
    for (uint32_t number = 0; number < source->origins; number++) {
        struct origin *origin = &traces->origins[number];
        source->states[number] =
            (struct source_state){.being_written = source->states[number].being_written};
        origin->head = NULL;
        origin->ended = origin->has_begun = origin->selects = false;
        origin->before = origin->repeated = origin->lost = origin->cpu = origin->missing = 0;
        origin->wakeups = 0;
        for (enum ring_id ring = 0; ring < RING_COUNT; ring++)
            stream_file_rewind(&origin->files[ring]);
        int result = read_beginning(origin, problem);
        if (result < 0)
            return traces->failed = result;
    }
    begin(traces);
    return 0;
}

void trace_close(struct source *source)
{
    struct trace_source *traces = (struct trace_source *)source;

    if (traces == NULL)
        return;
    for (uint32_t number = 0; number < traces->source.origins; number++)
        for (enum ring_id ring = 0; ring < RING_COUNT; ring++)
            stream_file_close(&traces->origins[number].files[ring]);
    for (uint32_t number = 0; number < traces->source.origins && traces->origins != NULL;
         number++) {
        if (traces->origins[number].directory >= 0)
            close(traces->origins[number].directory);
        if (traces->origins[number].changes >= 0)
            close(traces->origins[number].changes);
    }
    free(traces->source.states);
    free(traces->origins);
    free(traces->heap);
    free(traces);
}

void trace_source_counts(const struct source *source, uint32_t origin, uint64_t *ret_records,
                         uint64_t *ret_lost)
{
    const struct origin *one = &((const struct trace_source *)source)->origins[origin];

    *ret_records = counted(one, &source->states[origin]);
    *ret_lost = add_saturating(source->states[origin].lost - one->missing, one->lost);
}

static void add_position(const struct stream_file *file, uint64_t *read, uint64_t *size)
{
    for (uint32_t i = 0; i < file->count; i++) {
        *size += file->sizes_of_files[i];
        if (file->record == NULL || i < file->at)
            *read += file->sizes_of_files[i];
        else if (i == file->at)
            *read += file->next;
    }
}

void trace_position(const struct source *source, uint64_t *ret_read, uint64_t *ret_size)
{
    const struct trace_source *traces = (const struct trace_source *)source;

    *ret_read = *ret_size = 0;
    for (uint32_t origin = 0; origin < source->origins; origin++)
        for (enum ring_id ring = 0; ring < RING_COUNT; ring++)
            add_position(&traces->origins[origin].files[ring], ret_read, ret_size);
}

uint64_t trace_partial_tail(const struct source *source, uint32_t origin)
{
    uint64_t partial = 0;

    for (enum ring_id ring = 0; ring < RING_COUNT; ring++)
        partial += trace_source_tail(source, origin, ring).partial;
    return partial;
}

struct trace_tail trace_source_tail(const struct source *source, uint32_t origin, enum ring_id ring)
{
    const struct trace_source *traces = (const struct trace_source *)source;
    const struct stream_file *file = &traces->origins[origin].files[ring];

    return (struct trace_tail){
        .end = file->next,
        .partial = file->partial,
        .packets = file->packets,
        .time = file->time,
        .discarded = file->discarded,
        .last = file->last,
        .wall_offset = file->wall_offset,
    };
}
