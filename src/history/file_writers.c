/* SPDX-License-Identifier: MIT */
/*
 * file_writers.c: who wrote what another process reads from a file later.
 *
 *      file: machine, device, inode, generation
 *
 *      position   |---- WRITE 4 of a ----|-- WRITE 9 of b --|------ WRITE 5 of a ------|     pieces: the latest writer
 *                       |------------------- READ of c -------------------|
 *                       edge from WRITE 5 of a: the latest of that thread; and from WRITE 9 of b
 *
 * A piece belongs to the WRITE that has written it last, in the order in which calls ended. Files are known by device and
 * inode, so renaming one changes nothing. What a READ finds is looked up when it is read from the source; it is handed out
 * once these WRITEs were, which may be held with their streams.
 *
 * Nothing says that no other process has written to the file in between, or through mmap(2): edges are inferred. An edge is
 * doubtful if the two calls overlap in time, or if one of them is a mapping, which says only what may be used later.
 */
#include "history/file_writers.h"

#include "history/holding.h"
#include "history/receiving.h"
#include "history/values.h"
#include "meter/shared/message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PIECES_FEW  64u   /* of a file: beyond, adjacent ones of one thread become one */
#define PIECES_MOST 4096u /* of a file: beyond, the one that was written first is forgotten */
#define PIECES_ALL                                                                                 \
    131072u /* beyond, the file that was written to the longest time ago is forgotten */
#define EDGES_MOST 1024u /* of one READ */

/* A WRITE, as long as something refers to it: pieces, READs that were not handed out, its own record that was not. */
struct write {
    struct beginning begins; /* number NO_NUMBER: not handed out yet */
    struct stream *waiters;  /* streams whose READ waits for it */
    uint32_t origin;
    uint32_t path;
    uint32_t process; /* number of its first stream */
    uint32_t references;
    bool mapped;
};

struct piece {
    uint64_t from, to;
    uint32_t write; /* index in the pool */
};

struct written_file {
    uint64_t key;
    uint64_t inode;
    uint32_t machine, device, generation;
    uint32_t count;
    struct piece *pieces; /* [count], by position, without overlap */
    size_t capacity;
    uint64_t mapped_from;  /* a writable mapping was made of this part of it: */
    uint64_t mapped_to;    /* what is found there may come from the mapping */
    uint64_t read;         /* end of the latest READ so far ... */
    uint32_t read_by;      /* ... by this process ... */
    uint32_t read_from;    /* ... of this origin */
    uint32_t older, newer; /* in the order of their latest WRITEs: index + 1, 0: none */
};

struct found {
    uint32_t write;
    bool doubtful; /* others may have written there since, through a mapping */
    uint64_t bytes;
};

/* A READ that has found something and was not handed out yet. */
struct pending_read {
    struct found *found; /* [count] */
    uint32_t count;
    bool gives_up;
};

struct file_writers {
    struct lookup file_keys;
    struct lookup unhanded; /* call_key of a WRITE -> its index */
    struct lookup pending;  /* call_key of a READ -> its index */
    struct pool files;
    struct pool writes;
    struct pool reads;
    uint32_t oldest, newest; /* files: index + 1 */
    uint32_t pieces;         /* of all files */
    struct found *found;     /* by the READ that is being noted */
    size_t capacity;
    uint32_t count;
};

/* ---- WRITEs ---- */

static struct write *write_at(const struct file_writers *writers, uint32_t index)
{
    return pool_at(&writers->writes, index);
}

static void let_go(struct history *history, uint32_t index)
{
    struct file_writers *writers = history->writers;
    struct write *write = write_at(writers, index);

    if (--write->references > 0)
        return;
    values_spend(history, &write->begins.value);
    pool_give(&writers->writes, index);
}

static uint64_t call_key(const struct stream *stream, const struct record *record)
{
    const uint64_t parts[] = {number_key(stream->origin, stream->number), record->header.sequence};

    return hash_bytes(0, parts, sizeof(parts));
}

static uint32_t process_of(const struct stream *stream)
{
    return stream->process == NULL ? stream->number : stream->process->number;
}

/* ---- files ---- */

static struct written_file *file_at(const struct file_writers *writers, uint32_t index_and_1)
{
    return index_and_1 == 0 ? NULL : pool_at(&writers->files, index_and_1 - 1);
}

static void leave_line(struct file_writers *writers, const struct written_file *file)
{
    struct written_file *older = file_at(writers, file->older);
    struct written_file *newer = file_at(writers, file->newer);

    *(older == NULL ? &writers->oldest : &older->newer) = file->newer;
    *(newer == NULL ? &writers->newest : &newer->older) = file->older;
}

static void join_line(struct file_writers *writers, uint32_t index)
{
    struct written_file *file = file_at(writers, index + 1);

    file->older = writers->newest;
    file->newer = 0;
    *(writers->newest == 0 ? &writers->oldest : &file_at(writers, writers->newest)->newer) =
        index + 1;
    writers->newest = index + 1;
}

static void remove_pieces(struct history *history, struct written_file *file, uint32_t from,
                          uint32_t to)
{
    if (from == to) /* perhaps there is no array yet */
        return;
    for (uint32_t i = from; i < to; i++)
        let_go(history, file->pieces[i].write);
    memmove(&file->pieces[from], &file->pieces[to], (file->count - to) * sizeof(*file->pieces));
    file->count -= to - from;
    history->writers->pieces -= to - from;
}

static void forget_file(struct history *history, uint32_t index)
{
    struct file_writers *writers = history->writers;
    struct written_file *file = file_at(writers, index + 1);

    remove_pieces(history, file, 0, file->count);
    leave_line(writers, file);
    lookup_remove(&writers->file_keys, file->key);
    free(file->pieces);
    pool_give(&writers->files, index);
}

static struct written_file identity_of(const struct history *history, uint32_t origin,
                                       const struct path_record *path)
{
    struct written_file file = {
        .machine = history->origins[origin].machine,
        .device = path->network,
        .inode = path->inode,
        .generation = path->start_in,
    };
    const uint64_t parts[] = {file.machine, (uint64_t)file.device << 32 | file.generation,
                              file.inode};

    file.key = hash_bytes(0, parts, sizeof(parts));
    return file;
}

/* Index of a file that has been written to; LOOKUP_NONE: it has not. */
static uint32_t find_file(struct history *history, const struct written_file *like)
{
    const struct written_file *file;
    uint32_t index = lookup_find(&history->writers->file_keys, like->key);

    if (index == LOOKUP_NONE)
        return index;
    file = file_at(history->writers, index + 1);
    if (file->inode == like->inode && file->device == like->device &&
        file->generation == like->generation && file->machine == like->machine)
        return index;
    forget_file(history, index); /* another file with the same hash */
    return LOOKUP_NONE;
}

static int64_t add_file(struct history *history, const struct written_file *like)
{
    struct file_writers *writers = history->writers;
    int64_t index = pool_take(&writers->files);

    if (index < 0)
        return -ENOMEM;
    if (lookup_set(&writers->file_keys, like->key, (uint32_t)index) < 0) {
        pool_give(&writers->files, (uint32_t)index);
        return -ENOMEM;
    }
    *file_at(writers, (uint32_t)index + 1) = *like;
    join_line(writers, (uint32_t)index);
    return index;
}

/* ---- pieces ---- */

/* Index of the first piece that ends behind `position`. */
static uint32_t first_behind(const struct written_file *file, uint64_t position)
{
    uint32_t low = 0, high = file->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (file->pieces[middle].to <= position)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int insert_piece(struct history *history, struct written_file *file, uint32_t at,
                        struct piece piece)
{
    if (array_reserve(&file->pieces, &file->capacity, file->count + 1UL, sizeof(*file->pieces)) < 0)
        return -ENOMEM;
    memmove(&file->pieces[at + 1], &file->pieces[at], (file->count - at) * sizeof(*file->pieces));
    file->pieces[at] = piece;
    file->count++;
    history->writers->pieces++;
    write_at(history->writers, piece.write)->references++;
    return 0;
}

/* Empties [from, to). Returns the index at which a piece there belongs, or -ENOMEM. */
static int64_t cut_out(struct history *history, struct written_file *file, uint64_t from,
                       uint64_t to)
{
    uint32_t first = first_behind(file, from), end = first;
    struct piece *pieces = file->pieces;

    if (first < file->count && pieces[first].from < from && pieces[first].to > to) {
        const struct piece rest = {to, pieces[first].to, pieces[first].write};
        if (insert_piece(history, file, first + 1, rest) < 0)
            return -ENOMEM;
        file->pieces[first].to = from;
        return first + 1;
    }
    if (first < file->count && pieces[first].from < from) {
        pieces[first].to = from;
        end = ++first;
    }
    while (end < file->count && pieces[end].to <= to)
        end++;
    if (end < file->count && pieces[end].from < to)
        pieces[end].from = to;
    remove_pieces(history, file, first, end);
    return first;
}

static bool is_same_thread(const struct write *a, const struct write *b)
{
    return a->origin == b->origin && a->begins.stream == b->begins.stream;
}

static void forget_oldest_piece(struct history *history, struct written_file *file)
{
    uint32_t oldest = 0;

    for (uint32_t i = 1; i < file->count; i++)
        if (write_at(history->writers, file->pieces[i].write)->begins.time <
            write_at(history->writers, file->pieces[oldest].write)->begins.time)
            oldest = i;
    remove_pieces(history, file, oldest, oldest + 1);
    history->counts.forgotten_pieces++;
}

static int add_piece(struct history *history, struct written_file *file, struct piece piece)
{
    struct file_writers *writers = history->writers;
    int64_t at = cut_out(history, file, piece.from, piece.to);

    if (at < 0)
        return -ENOMEM;
    struct piece *before = at > 0 ? &file->pieces[at - 1] : NULL;
    if (file->count > PIECES_FEW && before != NULL && before->to == piece.from &&
        is_same_thread(write_at(writers, before->write), write_at(writers, piece.write))) {
        write_at(writers, piece.write)->references++;
        let_go(history, before->write);
        before->to = piece.to;
        before->write = piece.write;
        return 0;
    }
    if (insert_piece(history, file, (uint32_t)at, piece) < 0)
        return -ENOMEM;
    if (file->count > PIECES_MOST)
        forget_oldest_piece(history, file);
    return 0;
}

static void forget_oldest_file(struct history *history)
{
    history->counts.forgotten_pieces += file_at(history->writers, history->writers->oldest)->count;
    forget_file(history, history->writers->oldest - 1);
}

/* ---- noting ---- */

static uint64_t began(const struct record *record)
{
    uint64_t span = message_span(record);

    return record->header.time > span ? record->header.time - span : 0;
}

/* A WRITE that began before a READ of another process had ended: the READ, which is over, may have found some of it. */
static void note_overlap(struct history *history, const struct written_file *file,
                         const struct stream *stream, const struct record *record)
{
    history->counts.overlapping_writes +=
        file->read > began(record) &&
        (file->read_by != process_of(stream) || file->read_from != stream->origin);
}

static int64_t add_write(struct history *history, const struct stream *stream,
                         const struct record *record)
{
    struct file_writers *writers = history->writers;
    int64_t index = pool_take(&writers->writes);

    if (index < 0 || lookup_set(&writers->unhanded, call_key(stream, record), (uint32_t)index) < 0)
        return -ENOMEM;
    *write_at(writers, (uint32_t)index) = (struct write){
        .begins = {.number = NO_NUMBER,
                   .time = record->header.time,
                   .stream = stream->number,
                   .sequence = record->header.sequence,
                   .id = EVENT_WRITE},
        .origin = stream->origin,
        .path = record->message.path,
        .process = process_of(stream),
        .references = 1, /* in `unhanded` */
        .mapped = (record->header.flags & RECORD_MAPPED) != 0,
    };
    return index;
}

/* It may be written to there at any time from now on: no record shows when the mapping ends. */
static void note_mapping(struct written_file *file, const struct piece *piece)
{
    if (file->mapped_to == 0 || piece->from < file->mapped_from)
        file->mapped_from = piece->from;
    if (piece->to > file->mapped_to)
        file->mapped_to = piece->to;
}

static int note_write(struct history *history, const struct stream *stream,
                      const struct written_file *like, const struct record *record)
{
    struct file_writers *writers = history->writers;
    uint64_t from = record->message.offset;
    int64_t index = find_file(history, like);

    if (record->message.bytes == 0)
        return 0;
    if (index == LOOKUP_NONE)
        index = add_file(history, like);
    int64_t write = index < 0 ? -ENOMEM : add_write(history, stream, record);
    if (write < 0)
        return -ENOMEM;
    struct written_file *file = file_at(writers, (uint32_t)index + 1);
    note_overlap(history, file, stream, record);
    leave_line(writers, file);
    join_line(writers, (uint32_t)index);
    const struct piece piece = {from, from + record->message.bytes, (uint32_t)write};
    if (record->header.flags & RECORD_MAPPED)
        note_mapping(file, &piece);
    if (add_piece(history, file, piece) < 0)
        return -ENOMEM;
    while (writers->pieces > PIECES_ALL)
        forget_oldest_file(history);
    return 0;
}

/* The file has `length` bytes now. */
static int note_length(struct history *history, const struct written_file *like, uint64_t length)
{
    uint32_t index = find_file(history, like);

    if (index == LOOKUP_NONE)
        return 0;
    struct written_file *file = file_at(history->writers, index + 1);
    if (cut_out(history, file, length, UINT64_MAX) < 0)
        return -ENOMEM;
    if (file->count == 0)
        forget_file(history, index);
    return 0;
}

/* Adds to what the READ has found: of each thread its latest WRITE. */
static int add_found(struct history *history, const struct written_file *file, uint32_t index,
                     uint64_t begin, uint64_t end)
{
    bool doubtful = begin < file->mapped_to && end > file->mapped_from;
    uint64_t bytes = end - begin;
    struct file_writers *writers = history->writers;
    const struct write *write = write_at(writers, index);

    for (uint32_t i = writers->count; i-- > 0;) {
        struct found *found = &writers->found[i];
        const struct write *other = write_at(writers, found->write);
        if (!is_same_thread(other, write))
            continue;
        if (write->begins.time > other->begins.time)
            found->write = index;
        found->bytes += bytes;
        found->doubtful |= doubtful;
        return 0;
    }
    if (writers->count == EDGES_MOST) {
        history->counts.forgotten_pieces++;
        return 0;
    }
    if (array_reserve(&writers->found, &writers->capacity, writers->count + 1UL,
                      sizeof(*writers->found)) < 0)
        return -ENOMEM;
    writers->found[writers->count++] = (struct found){index, doubtful, bytes};
    return 0;
}

static int find_writers(struct history *history, const struct stream *stream,
                        const struct written_file *file, const struct record *record)
{
    struct file_writers *writers = history->writers;
    uint64_t from = record->message.offset, to = from + record->message.bytes;

    writers->count = 0;
    for (uint32_t i = first_behind(file, from); i < file->count && file->pieces[i].from < to; i++) {
        const struct piece *piece = &file->pieces[i];
        const struct write *write = write_at(writers, piece->write);
        uint64_t begin = piece->from > from ? piece->from : from;
        uint64_t end = piece->to < to ? piece->to : to;
        if (write->process == process_of(stream) && write->origin == stream->origin)
            continue;
        if (add_found(history, file, piece->write, begin, end) < 0)
            return -ENOMEM;
    }
    return 0;
}

/* Keeps what a READ has found, until it is handed out. */
static int keep_found(struct history *history, const struct stream *stream,
                      const struct record *record)
{
    struct file_writers *writers = history->writers;
    struct found *found = malloc(writers->count * sizeof(*found));
    int64_t index = found == NULL ? -ENOMEM : pool_take(&writers->reads);

    if (index < 0 || lookup_set(&writers->pending, call_key(stream, record), (uint32_t)index) < 0) {
        free(found);
        return -ENOMEM;
    }
    memcpy(found, writers->found, writers->count * sizeof(*found));
    *(struct pending_read *)pool_at(&writers->reads, (uint32_t)index) =
        (struct pending_read){.found = found, .count = writers->count};
    for (uint32_t i = 0; i < writers->count; i++)
        write_at(writers, found[i].write)->references++;
    return 0;
}

static int note_read(struct history *history, const struct stream *stream,
                     const struct written_file *like, const struct record *record)
{
    uint32_t index = find_file(history, like);

    if (index == LOOKUP_NONE || record->message.bytes == 0)
        return 0;
    struct written_file *file = file_at(history->writers, index + 1);
    if (find_writers(history, stream, file, record) < 0)
        return -ENOMEM;
    if (record->header.time > file->read) {
        file->read = record->header.time;
        file->read_by = process_of(stream);
        file->read_from = stream->origin;
    }
    return history->writers->count == 0 ? 0 : keep_found(history, stream, record);
}

static struct file_writers *writers_new(void)
{
    struct file_writers *writers = calloc(1, sizeof(*writers));

    if (writers == NULL)
        return NULL;
    writers->files.size = sizeof(struct written_file);
    writers->writes.size = sizeof(struct write);
    writers->reads.size = sizeof(struct pending_read);
    return writers;
}

/* What is read there, the kernel makes. */
static bool is_of_kernel(const struct path_record *path)
{
    return strncmp(path->name, "/proc/", 6) == 0 || strncmp(path->name, "/sys/", 5) == 0;
}

int file_writers_note(struct history *history, const struct stream *stream,
                      const struct record *record)
{
    const struct path_record *path =
        identities_path(history->identities, stream->origin, record->message.path);
    bool shortens = (record->header.flags & RECORD_TRUNCATED) != 0;

    if (path == NULL || path->kind != PATH_FILE || is_of_kernel(path))
        return 0;
    if (history->writers == NULL && (history->writers = writers_new()) == NULL)
        return -ENOMEM;
    const struct written_file file = identity_of(history, stream->origin, path);
    switch (record->header.id) {
    case EVENT_READ:
        return note_read(history, stream, &file, record);
    case EVENT_WRITE:
        return shortens ? note_length(history, &file, record->message.offset)
                        : note_write(history, stream, &file, record);
    default:
        return shortens ? note_length(history, &file, 0) : 0;
    }
}

/* ---- handing out ---- */

static struct pending_read *find_pending(const struct history *history, const struct stream *stream,
                                         const struct record *record, uint32_t *ret_index)
{
    if (history->writers == NULL || history->writers->pending.count == 0 ||
        record->header.id != EVENT_READ)
        return NULL;
    *ret_index = lookup_find(&history->writers->pending, call_key(stream, record));
    return *ret_index == LOOKUP_NONE ? NULL : pool_at(&history->writers->reads, *ret_index);
}

bool file_writers_wait(struct history *history, const struct stream *stream,
                       const struct record *record, struct stream ***ret_waiters)
{
    uint32_t index;
    const struct pending_read *read = find_pending(history, stream, record, &index);

    for (uint32_t i = 0; read != NULL && !read->gives_up && i < read->count; i++) {
        struct write *write = write_at(history->writers, read->found[i].write);
        if (write->begins.number != NO_NUMBER)
            continue;
        *ret_waiters = &write->waiters;
        return true;
    }
    return false;
}

bool file_writers_give_up(struct history *history, const struct stream *stream,
                          const struct record *record)
{
    uint32_t index;
    struct pending_read *read = find_pending(history, stream, record, &index);

    if (read == NULL)
        return false;
    read->gives_up = true;
    return true;
}

int file_writers_hand_out_write(struct history *history, const struct stream *stream,
                                const struct record *record, struct history_event *event)
{
    if (history->writers == NULL || history->writers->unhanded.count == 0)
        return 0;
    uint64_t key = call_key(stream, record);
    uint32_t index = lookup_find(&history->writers->unhanded, key);
    if (index == LOOKUP_NONE)
        return 0;
    struct write *write = write_at(history->writers, index);
    int result = values_begin_at(history, &write->begins, event);
    holding_wake_all(history, &write->waiters);
    lookup_remove(&history->writers->unhanded, key);
    let_go(history, index);
    return result;
}

static int add_edge(struct history *history, const struct record *record, const struct found *found)
{
    const struct write *write = write_at(history->writers, found->write);

    if (write->begins.number == NO_NUMBER)
        return 0;
    if (history_add_edge_from(history, EDGE_FILE, write->origin, write->path, &write->begins) < 0)
        return -ENOMEM;
    struct history_edge *edge = &history->edges[history->edge_count - 1];
    edge->bytes = found->bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)found->bytes;
    edge->doubtful = write->mapped || found->doubtful || (record->header.flags & RECORD_MAPPED) ||
                     write->begins.time > began(record);
    history->counts.file_edges++;
    history->counts.doubtful_file_edges += edge->doubtful;
    return 0;
}

int file_writers_hand_out_read(struct history *history, const struct stream *stream,
                               const struct record *record)
{
    uint32_t index;
    struct pending_read *read = find_pending(history, stream, record, &index);
    int result = 0;

    if (read == NULL)
        return 0;
    for (uint32_t i = 0; i < read->count; i++) {
        if (result == 0)
            result = add_edge(history, record, &read->found[i]);
        let_go(history, read->found[i].write);
    }
    free(read->found);
    lookup_remove(&history->writers->pending, call_key(stream, record));
    pool_give(&history->writers->reads, index);
    return result;
}

void file_writers_free(struct file_writers *writers)
{
    if (writers == NULL)
        return;
    for (uint32_t i = 0; i < writers->files.used; i++)
        free(((struct written_file *)pool_at(&writers->files, i))->pieces);
    for (uint32_t i = 0; i < writers->reads.used; i++)
        free(((struct pending_read *)pool_at(&writers->reads, i))->found);
    lookup_done(&writers->file_keys);
    lookup_done(&writers->unhanded);
    lookup_done(&writers->pending);
    pool_done(&writers->files);
    pool_done(&writers->writes);
    pool_done(&writers->reads);
    free(writers->found);
    free(writers);
}
