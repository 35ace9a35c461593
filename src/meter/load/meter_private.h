/* SPDX-License-Identifier: MIT */
/* meter_private.h: what the files of meter/ share. */
#ifndef DPM_METER_PRIVATE_H
#define DPM_METER_PRIVATE_H

#include "event/record_queue.h"
#include "meter/load/hooks.h"
#include "meter/load/meter.h"
#include "meter/rings/ring.h"
#include "meter/shared/survey.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

/* ---- iterate.c: running a kernel iterator and reading what it lists ---- */

/* Runs `program` over all tasks, or over the threads of `pid` if it is not 0, and calls `line`
 * with each line of `size` bytes it writes. Returns 0 or a negative errno (line's, if negative). */
int iterate(const struct bpf_program *program, pid_t pid, size_t size,
            int (*line)(const void *line, void *context), void *context);

/* Runs a program that is attached to nothing. Returns 0 or a negative errno. */
int run_once(const struct bpf_program *program);

/* ---- sockets.c: UNIX sockets the trace speaks of, until they are closed ---- */

struct open_socket {
    uint32_t path;
    uint64_t cookie;
    uint64_t peer;
    uint64_t inode;
    bool datagram;
    bool ended; /* its end was told */
};

struct open_sockets {
    struct open_socket *list;
    size_t count;
    size_t capacity;
    struct intern places; /* in the list, by number of the path */
    uint32_t network; /* inode of our network namespace: the only one whose sockets can be listed */
};

void open_sockets_init(struct open_sockets *sockets);
void open_sockets_done(struct open_sockets *sockets);

/* Notes a PATH record of a UNIX socket. Returns 0 or -ENOMEM. */
int open_sockets_add(struct open_sockets *sockets, const struct path_record *path);

/* Notes that a path's end was told by the kernel side. */
void open_sockets_end(struct open_sockets *sockets, uint32_t path);

/* ---- the meter itself ---- */

struct meter;
struct meter_bpf;

/* The most processes of which the files are looked at one by one, not those of the whole machine. */
#define FEW_PROCESSES 16

#define LEFT_OUT_SIZE 128

/* cost.c: what the programs cost while the kernel counted. */
struct meter_cost {
    int counting;  /* the kernel counts as long as this is open; -1: it does not */
    uint64_t next; /* when to begin or end; 0: not begun yet */
    uint64_t time_before, records_before;
    uint64_t time, records; /* of all moments */
};

void meter_cost_close(struct meter_cost *cost);

/* What the kernel says of a program; false: it is not loaded. */
bool program_info(const struct bpf_program *program, struct bpf_prog_info *ret_info);

/* skipped.c: hooks that the kernel skipped. */
struct skipped_hooks {
    uint64_t before;   /* counted before the first; for tests */
    uint64_t reported; /* in LOST records */
    uint64_t next;     /* when to look again */
    /* of the last count of living streams, if any was skipped: */
    uint64_t next_count;
    uint32_t live; /* what the hooks had counted then ... */
    bool all_dead; /* ... and none was alive */
};

/* Adds what the kernel has skipped since the last look to the reader's own records; does nothing if that was a moment
 * ago, unless the meter is detached. To be called before the rings are read: a record that it adds is no newer than they
 * are complete for. Returns 0 or -ENOMEM. */
int skipped_look(struct meter *meter);

/* Whether the hooks count living streams though all have ended: hooks at their ends were skipped. */
bool skipped_ends(const struct meter *meter);

struct meter {
    struct meter_interface interface; /* first: it is cast, and so is its source */
    struct meter_bpf *kernel;
    enum hook_choice choices[HOOKS_MOST];
    struct bpf_link *links[HOOKS_MOST];
    size_t link_count;
    struct ring rings[RING_COUNT];
    /* that the reader makes itself, in order of time: DESTROYPATH of UNIX sockets, LOST, what was acquired, and at the end
     * STREAM of those that live on */
    struct record_queue own;
    struct meter_cost cost;
    struct skipped_hooks skipped;
    struct open_sockets sockets;
    pid_t acquired[FEW_PROCESSES];
    size_t acquired_count;
    uint32_t generation;            /* of the marks that have not begun yet */
    uint64_t told_lost[RING_COUNT]; /* by the LOST records handed out, of full rings */
    int64_t wall_offset;
    uint32_t flags;
    int cgroup; /* the root of the hierarchy; negative: no hook of it is needed, or allowed */
    bool exit_tells_last; /* the hook of a thread's end says whether it is its process's last */
    char left_out[LEFT_OUT_SIZE]; /* what is not metered, and why; empty: nothing */
    bool collected;               /* since next() last said "none yet" */
    bool detached;
    bool finished; /* after detaching: the last records have been made */
};

static inline struct meter *meter_of(const struct meter_interface *interface)
{
    return (struct meter *)(uintptr_t)interface;
}

/* ---- what the interface needs of each file ---- */

int meter_mark(struct meter_interface *interface, pid_t pid, struct problem *problem);
int meter_acquire(struct meter_interface *interface, pid_t pid, struct problem *problem);
int meter_begin(struct meter_interface *interface, struct meter_begun *ret_begun,
                struct problem *problem);
int meter_sweep(struct meter_interface *interface, struct problem *problem);
void meter_measure(struct meter_interface *interface, uint64_t now);
uint32_t meter_time_per_record(const struct meter_interface *interface);
uint64_t meter_lost(const struct meter_interface *interface, enum ring_id ring);

/* Records that found this ring full so far. */
uint64_t ring_lost(const struct meter *meter, enum ring_id ring);

/* Has libbpf print nothing, unless DPM_DEBUG is set. */
void quiet_libbpf(void);

/* Whether this process has a capability (a number of linux/capability.h). */
bool have_capability(unsigned capability);

/* Where libbpf is to look for the kernel's types: NULL, wherever it likes; without CAP_SYS_ADMIN it must not look into
 * modules, for a type that the kernel itself lacks. */
const char *types_to_read(void);

/* ---- source.c ---- */

int meter_next(struct source *source, struct event *ret_event, uint64_t *ret_complete,
               struct problem *problem);

#endif
