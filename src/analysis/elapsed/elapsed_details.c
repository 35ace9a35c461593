/* SPDX-License-Identifier: MIT */
/* elapsed_details.c: what a thread does or waits for. See elapsed_private.h. */
#include "analysis/elapsed/elapsed_private.h"

#include <errno.h>
#include <string.h>

static const struct {
    const char *name;
    const char *key;
} names[ELAPSED_KIND_COUNT] = {
    [ELAPSED_COMPUTES] = {"computing", "computing"},
    [ELAPSED_NO_CPU] = {"runnable, no CPU", "no_cpu"},
    [ELAPSED_IN_FLIGHT] = {"message in flight", "in_flight"},
    [ELAPSED_QUEUED] = {"message waiting for its receiver", "queued"},
    [ELAPSED_SPACE] = {"buffer space", "space"},
    [ELAPSED_OUTSIDE] = {"unmonitored peer", "outside"},
    [ELAPSED_DISK] = {"disk", "disk"},
    [ELAPSED_LOCK] = {"lock", "lock"},
    [ELAPSED_TIMER] = {"timer", "timer"},
    [ELAPSED_CHILD] = {"end of a process", "child"},
    [ELAPSED_STOPPED] = {"stopped by a signal", "stopped"},
    [ELAPSED_EVENT] = {"timeout or event", "event"},
    [ELAPSED_INPUT] = {"terminal or device", "input"},
    [ELAPSED_NOT_STARTED] = {"not started yet", "not_started"},
    [ELAPSED_UNKNOWN] = {"unknown", "unknown"},
};

const char *elapsed_kind_name(enum elapsed_kind kind)
{
    return kind < ELAPSED_KIND_COUNT ? names[kind].name : "unknown";
}

const char *elapsed_kind_key(enum elapsed_kind kind)
{
    return kind < ELAPSED_KIND_COUNT ? names[kind].key : "unknown";
}

/* ---- system calls: their numbers on x86-64 ---- */

#define TASK_UNINTERRUPTIBLE 2u

static bool is_any_of(uint32_t call, const uint16_t *calls, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (calls[i] == call)
            return true;
    return false;
}

#define IS_ANY_OF(call, calls) is_any_of(call, calls, ARRAY_SIZE(calls))

enum elapsed_kind kind_of_call(uint32_t call, uint32_t state)
{
    /* nanosleep pause clock_nanosleep rt_sigtimedwait rt_sigsuspend */
    static const uint16_t timers[] = {35, 34, 230, 128, 130};
    static const uint16_t locks[] = {202, 449, 65, 220}; /* futex futex_waitv semop semtimedop */
    static const uint16_t children[] = {61, 247};        /* wait4 waitid */
    /* poll select ppoll pselect6 epoll_wait epoll_pwait epoll_pwait2 io_getevents io_uring_enter accept accept4 */
    static const uint16_t events[] = {7, 23, 271, 270, 232, 281, 441, 208, 426, 43, 288};
    /* msync fsync fdatasync sync sync_file_range syncfs */
    static const uint16_t syncs[] = {26, 74, 75, 162, 277, 306};

    if (IS_ANY_OF(call, syncs))
        return ELAPSED_DISK;
    if (IS_ANY_OF(call, locks))
        return ELAPSED_LOCK;
    if (state & TASK_UNINTERRUPTIBLE)
        return ELAPSED_DISK;
    if (IS_ANY_OF(call, timers))
        return ELAPSED_TIMER;
    if (IS_ANY_OF(call, children))
        return ELAPSED_CHILD;
    if (IS_ANY_OF(call, events))
        return ELAPSED_EVENT;
    return call == NO_SYSTEM_CALL ? ELAPSED_UNKNOWN : ELAPSED_INPUT;
}

/* ---- details ---- */

static const char *keep_address(struct elapsed_analysis *analysis, const struct path_record *path)
{
    char text[ENDPOINT_SIZE];
    bool guessed;

    endpoint_remote(path, text);
    char *port = kind_is_internet(path->kind) && path_side(path, &guessed) == PATH_SIDE_SERVES
                     ? strrchr(text, ':')
                     : NULL;
    if (port != NULL)
        strcpy(port + 1, "*"); /* a client's port says nothing */
    size_t size = strlen(text) + 1;
    char *kept = arena_allocate(&analysis->texts, size);
    if (kept != NULL)
        memcpy(kept, text, size);
    return kept;
}

/* Returns 0, or -ENOMEM. */
static int describe(struct elapsed_analysis *analysis, struct detail *detail, uint32_t stream)
{
    const struct identities *identities = history_identities(analysis->history);
    const struct stream_record *identity = identities_stream(identities, detail->origin, stream);
    const struct path_record *path =
        detail->path == 0 ? NULL : identities_path(identities, detail->origin, detail->path);

    if (identity != NULL) {
        const struct stream_record *main =
            identities_stream(identities, detail->origin, identity->process);
        detail->process_number = identity->process;
        detail->pid = identity->pid;
        detail->tid = identity->tid;
        memcpy(detail->process, main == NULL ? identity->name : main->name, STREAM_NAME_SIZE);
        if (memcmp(detail->process, identity->name, STREAM_NAME_SIZE) != 0)
            memcpy(detail->thread, identity->name, STREAM_NAME_SIZE);
    }
    if (path != NULL) {
        detail->path_kind = path->kind;
        detail->address = keep_address(analysis, path);
    }
    return path != NULL && detail->address == NULL ? -ENOMEM : 0;
}

int64_t detail_of(struct elapsed_analysis *analysis, const struct history_event *event,
                  enum elapsed_kind kind, uint32_t call, uint32_t path)
{
    const struct record_header *header = event->event.header;
    uint32_t origin = event->event.origin;
    const struct stream_record *identity =
        identities_stream(history_identities(analysis->history), origin, header->stream);
    struct {
        uint64_t pc;
        uint32_t kind, origin, stream, image, call, path;
    } key = {
        /* that a library made the call says nothing of the program */
        .pc = analysis->detail_keys.count < DETAILS_MOST && !(header->flags & RECORD_LIBRARY)
                  ? record_pc(header)
                  : 0,
        .kind = kind,
        .origin = origin,
        .stream = header->stream,
        .image = identity == NULL ? 0 : identity->image,
        .call = call,
        .path = path,
    };
    uint32_t before = analysis->detail_keys.count;
    int64_t index = before < 2 * DETAILS_MOST
                        ? intern_add(&analysis->detail_keys, hash_bytes(0, &key, sizeof(key)))
                        : intern_find(&analysis->detail_keys, hash_bytes(0, &key, sizeof(key)));

    if (index == -ENOENT)
        return 0;
    if (index < 0 || array_reserve(&analysis->details, &analysis->detail_room, (size_t)index + 1,
                                   sizeof(*analysis->details)) < 0)
        return -ENOMEM;
    if (index == before) {
        struct detail *detail = &analysis->details[index];
        *detail = (struct detail){
            .kind = kind,
            .origin = origin,
            .stream = header->stream,
            .image = key.image,
            .call = call,
            .path = path,
            .pc = key.pc,
        };
        if (describe(analysis, detail, header->stream) < 0)
            return -ENOMEM;
    }
    return index + 1;
}
