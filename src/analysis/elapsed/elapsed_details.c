/* SPDX-License-Identifier: MIT */
/* elapsed_details.c: what a thread does or waits for. See elapsed_private.h. */
#include "analysis/elapsed/elapsed_private.h"

#include "event/system_calls.h"

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
    [ELAPSED_NOT_FOUND] = {"peer not found", "not_found"},
    [ELAPSED_DISK] = {"disk", "disk"},
    [ELAPSED_LOCK] = {"lock or condition", "lock"},
    [ELAPSED_INTERPRETER] = {"interpreter lock", "interpreter_lock"},
    [ELAPSED_VM_STOP] = {"stopped by the JVM", "vm_stop"},
    [ELAPSED_IDLE] = {"work (idle thread)", "idle"},
    [ELAPSED_LIMIT] = {"time limit of a wait", "time_limit"},
    [ELAPSED_FILE_LOCK] = {"file lock", "file_lock"},
    [ELAPSED_TIMER] = {"timer", "timer"},
    [ELAPSED_SIGNAL] = {"signal", "signal"},
    [ELAPSED_NOTICE] = {"notification", "notification"},
    [ELAPSED_MESSAGE_QUEUE] = {"message queue", "message_queue"},
    [ELAPSED_MPI] = {"MPI, for other ranks", "mpi"},
    [ELAPSED_OPEN] = {"opening", "open"},
    [ELAPSED_CONNECT] = {"connecting", "connect"},
    [ELAPSED_NO_ANSWER] = {"answer that did not come", "no_answer"},
    [ELAPSED_CLIENT] = {"holder that waits for its client", "client"},
    [ELAPSED_OTHER_CONNECTION] = {"another connection, or a time limit", "other_connection"},
    [ELAPSED_CHILD] = {"end of a process", "child"},
    [ELAPSED_STOPPED] = {"stopped by a signal", "stopped"},
    [ELAPSED_EVENT] = {"timeout or event", "event"},
    [ELAPSED_INPUT] = {"input or output", "input"},
    [ELAPSED_RESENT_SYN] = {"SYN sent again", "resent_syn"},
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

enum elapsed_kind kind_of_call(uint32_t call, uint32_t state)
{
    static const struct {
        enum elapsed_kind kind;
        uint16_t calls[12];
        bool whatever_state; /* else a wait that no signal interrupts is for the disk */
    } kinds[] = {
        /* msync fsync fdatasync sync sync_file_range syncfs */
        {ELAPSED_DISK, {26, 74, 75, 162, 277, 306}, true},
        {ELAPSED_LOCK, {202, 449, 65, 220}, true}, /* futex futex_waitv semop semtimedop */
        {ELAPSED_FILE_LOCK, {73, 72}, true},       /* flock fcntl */
        {ELAPSED_CHILD, {58, 56, 435, 57}, true},  /* vfork clone clone3 fork: until it executes */
        {ELAPSED_CHILD, {61, 247}, false},         /* wait4 waitid */
        {ELAPSED_TIMER, {35, 230}, false},         /* nanosleep clock_nanosleep */
        {ELAPSED_SIGNAL, {34, 128, 130}, false},   /* pause rt_sigtimedwait rt_sigsuspend */
        /* poll select ppoll pselect6 epoll_wait epoll_pwait epoll_pwait2 io_getevents io_uring_enter accept accept4 */
        {ELAPSED_EVENT, {7, 23, 271, 270, 232, 281, 441, 208, 426, 43, 288}, false},
        {ELAPSED_MESSAGE_QUEUE,
         {69, 70, 242, 243},
         false},                                  /* msgsnd msgrcv mq_timedsend mq_timedreceive */
        {ELAPSED_OPEN, {2, 85, 257, 437}, false}, /* open creat openat openat2 */
        {ELAPSED_CONNECT, {42}, false},
        {ELAPSED_UNKNOWN, {219}, false}, /* restart_syscall: any that was stopped, mostly a sleep */
        {ELAPSED_UNKNOWN, {272, 308, 321, 324}, true}, /* unshare setns bpf membarrier: no file */
    };

    if (call == MPI_ANY_CALL)
        return ELAPSED_MPI;
    if (call == NO_SYSTEM_CALL)
        return state & TASK_UNINTERRUPTIBLE ? ELAPSED_DISK : ELAPSED_UNKNOWN;
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        for (size_t k = 0; k < ARRAY_SIZE(kinds[i].calls) && kinds[i].calls[k] != 0; k++)
            if (kinds[i].calls[k] == call)
                return kinds[i].whatever_state || !(state & TASK_UNINTERRUPTIBLE) ? kinds[i].kind
                                                                                  : ELAPSED_DISK;
    return state & TASK_UNINTERRUPTIBLE ? ELAPSED_DISK : ELAPSED_INPUT;
}

/* ---- objects ---- */

static enum elapsed_kind kind_of_anonymous(const char *name)
{
    return strstr(name, "timerfd") != NULL    ? ELAPSED_TIMER
           : strstr(name, "signalfd") != NULL ? ELAPSED_SIGNAL
                                              : ELAPSED_NOTICE;
}

/* Files that the kernel makes up when they are read, on no disk. */
static bool is_of_kernel(const char *file)
{
    return strncmp(file, "/proc/", 6) == 0 || strncmp(file, "/sys/", 5) == 0;
}

/* A socket, a pipe and the like have no disk: there it is mostly a lock of the kernel's. */
static enum elapsed_kind kind_of_uninterruptible(enum wait_object on, const char *name)
{
    switch (on) {
    case WAIT_ON_SOCKET:
    case WAIT_ON_PIPE:
    case WAIT_ON_ANONYMOUS:
    case WAIT_ON_QUEUE:
        return ELAPSED_UNKNOWN;
    case WAIT_ON_FILE:
        return name != NULL && is_of_kernel(name) ? ELAPSED_INPUT : ELAPSED_DISK;
    default:
        return ELAPSED_DISK;
    }
}

/* socket ... getsockopt accept4 recvmmsg sendmmsg: no record has their object. */
static bool is_of_sockets(uint32_t call)
{
    return (call >= 41 && call <= 55) || call == 288 || call == 299 || call == 307;
}

enum elapsed_kind elapsed_kind_of_block(const struct history *history,
                                        const struct recorded_types *recorded,
                                        const struct history_event *event)
{
    const struct record *record = (const struct record *)event->event.header;
    enum elapsed_kind kind = kind_of_call(record->block.system_call, record->block.state);
    const char *name;

    if (kind == ELAPSED_EVENT && call_is_poll(record->block.system_call) &&
        recorded_always(recorded, EVENT_RECEIVECALL))
        return ELAPSED_TIMER; /* of no descriptor: else it is a RECEIVECALL */
    if (kind != ELAPSED_INPUT && kind != ELAPSED_DISK)
        return kind;
    enum wait_object on = identities_object(history_identities(history), event->event.origin,
                                            record->block.object, &name);
    if (kind == ELAPSED_DISK)
        return is_of_sockets(record->block.system_call) ? ELAPSED_UNKNOWN
                                                        : kind_of_uninterruptible(on, name);
    switch (on) {
    case WAIT_ON_ANONYMOUS:
        return kind_of_anonymous(name == NULL ? "" : name);
    case WAIT_ON_QUEUE: /* read as a file */
        return ELAPSED_MESSAGE_QUEUE;
    case WAIT_ON_PIPE:
    case WAIT_ON_SOCKET: /* of a kind that is not recorded */
        return ELAPSED_OUTSIDE;
    default:
        return ELAPSED_INPUT;
    }
}

enum elapsed_kind kind_of_block(const struct elapsed_analysis *analysis,
                                const struct history_event *event)
{
    return elapsed_kind_of_block(analysis->history, &analysis->recorded, event);
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

int64_t detail_of_computing(struct elapsed_analysis *analysis, const struct history_event *event)
{
    return detail_of(analysis, event,
                     &(struct waited){.kind = ELAPSED_COMPUTES, .call = NO_SYSTEM_CALL});
}

uint64_t elapsed_pc_of(const struct record_header *header)
{
    return header->flags & RECORD_LIBRARY ? 0 : record_pc(header);
}

int64_t detail_of(struct elapsed_analysis *analysis, const struct history_event *event,
                  const struct waited *waited)
{
    const struct record_header *header = event->event.header;
    uint32_t origin = event->event.origin;
    const struct stream_record *identity =
        identities_stream(history_identities(analysis->history), origin, header->stream);
    struct {
        uint64_t pc;
        uint32_t kind, origin, stream, image, call, path, object, signal, sender, unused;
    } key = {
        .pc = analysis->detail_keys.count >= DETAILS_MOST ? 0
              : waited->has_pc                            ? waited->pc
                                                          : elapsed_pc_of(header),
        .kind = waited->kind,
        .origin = origin,
        .stream = header->stream,
        .image = identity == NULL ? 0 : identity->image,
        .call = waited->call,
        .path = waited->path,
        .object = waited->object,
        .signal = waited->signal,
        .sender = waited->sender,
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
            .kind = waited->kind,
            .origin = origin,
            .stream = header->stream,
            .image = key.image,
            .call = waited->call,
            .path = waited->path,
            .object = waited->object,
            .signal = waited->signal,
            .sender = waited->sender,
            .pc = key.pc,
        };
        if (key.pc == 0 && elapsed_is_python(analysis, origin, key.image))
            detail->runtime = RUNTIME_PYTHON_PROCESS;
        if (describe(analysis, detail, header->stream) < 0)
            return -ENOMEM;
    }
    return index + 1;
}
