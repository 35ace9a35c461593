/* SPDX-License-Identifier: MIT */
/* hooks.h: which kernel programs each flag and kind of path needs, and which of them this kernel supports. */
#ifndef DPM_HOOKS_H
#define DPM_HOOKS_H

#include "event/event.h"

/* The purpose of hooks for which there are several ways. */
enum hook_duty {
    DUTY_OWN,          /* there is only one way */
    DUTY_TCP_POSITION, /* where in its stream a TCP send begins and continues */
    DUTY_QUEUED,       /* data has entered a socket's queue */
    DUTY_SENT,         /* a send ends, with its result */
    DUTY_RECEIVED,     /* a receive ends */
    DUTY_UDP,          /* datagrams leave and arrive; their sockets are created and closed */
    DUTY_UDP_DROPPED,  /* a datagram finds the queue full */
    DUTY_PIPE_WRITES,  /* a write into a pipe begins */
    DUTY_COUNT,
};

/* In order of preference. */
enum hook_way {
    WAY_TRACEPOINT,
    WAY_TRAMPOLINE, /* BPF trampoline: at the entry or exit of a kernel function */
    WAY_CGROUP,     /* of the root control group: needs CAP_NET_ADMIN */
    WAY_NONE,
};

struct hook {
    const char *program; /* name of the kernel program */
    enum hook_way way;
    const char *target; /* the tracepoint or kernel function */
    unsigned arguments; /* the tracepoint must have at least this many */
    const char *since;  /* first kernel that has the target */
    uint64_t flags;     /* attached if any of these is enabled; 0 = always */
    uint32_t kinds;     /* ... and if any of these is metered; 0 = for all kinds */
    /* also attached for MESSAGEQUEUED of these kinds, which needs what the program finds out, whatever records it makes
     * itself */
    uint32_t queue_kinds;
    enum hook_duty duty;
    const char *before; /* first kernel that lacks the function, and needs no hook; else NULL */
    bool
        optional; /* the kernel may lack it, or skip it: records then say less, but nothing is lost */
};

#define HOOKS_MOST 64

extern const struct hook hooks[];
extern const size_t hook_count;

static inline bool hook_needed(const struct hook *hook, uint64_t flags, uint32_t kinds)
{
    if ((flags & EVENT_FLAG(EVENT_MESSAGEQUEUED)) != 0 && (hook->queue_kinds & kinds) != 0)
        return true;
    return (hook->flags == 0 || (hook->flags & flags) != 0) &&
           (hook->kinds == 0 || (hook->kinds & kinds) != 0);
}

/* Whether it counts something that must be counted without a gap: it stays attached as long as its flags may be
 * recorded. The others only see what happens at the moment. */
static inline bool hook_counts(const struct hook *hook)
{
    /* a position in a file is the call's own */
    const uint64_t moments = EVENT_FLAG(EVENT_BLOCK) | EVENT_FLAG(EVENT_SCHEDULE) |
                             EVENT_FLAG(EVENT_WAKEUP) | EVENT_FLAG(EVENT_SIGNAL);

    return (hook->flags & moments) == 0 && hook->kinds != METER_FILE;
}

struct kernel_types;

/* What this kernel supports. */
struct offers {
    struct kernel_types *types;
    bool trampolines; /* trampolines are allowed */
    bool cgroups;     /* control group programs can find out which task makes a call */
    /* the kernel can cast pointers (6.2); otherwise libbpf searches modules, which needs CAP_SYS_ADMIN */
    bool casts;
};

/* Reads the kernel's types, and tests what they do not show. Without `try` it assumes that the kernel allows those, and
 * does not call bpf(). Returns 0, or a negative errno if the types cannot be read (hooks_explain_no_types). */
int offers_look(struct offers *ret_offers, bool try);
void offers_done(struct offers *offers);

enum hook_choice {
    HOOK_UNUSED, /* not needed, or another way is chosen */
    HOOK_CHOSEN,
    HOOK_MISSING, /* needed, but the kernel supports neither this way nor another */
};

/* Chooses hooks for these flags and kinds; ret_choices has the indexes of `hooks`. */
void hooks_choose(const struct offers *offers, uint64_t flags, uint32_t kinds,
                  enum hook_choice ret_choices[HOOKS_MOST]);

/* The way that serves this duty; WAY_NONE: no way does. */
enum hook_way hook_way_of(const struct offers *offers, enum hook_duty duty, uint64_t flags,
                          uint32_t kinds);

/* Returns 0, or -ENOTSUP with a line in `problem` if any hook is missing. */
int hooks_missing(const struct offers *offers, const enum hook_choice choices[HOOKS_MOST],
                  struct problem *problem);

/* Reports why the kernel's types cannot be read; libbpf does not. */
int hooks_explain_no_types(struct problem *problem);

/* Number of arguments of a tracepoint in these types; -1: there is no tracepoint of this name. */
int tracepoint_arguments(const struct kernel_types *types, const char *name);

/* Whether these types have a struct with this member. */
bool type_has_member(const struct kernel_types *types, const char *type, const char *member);

/* Whether the kernel has a function, or an iterator, of this name. */
bool function_exists(const struct kernel_types *types, const char *name);
bool iterator_exists(const struct kernel_types *types, const char *name);

#endif
