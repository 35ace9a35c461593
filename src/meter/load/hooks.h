/* SPDX-License-Identifier: MIT */
/* hooks.h: which kernel programs are needed for which flags and kinds of paths, and which this kernel can have. */
#ifndef DPM_HOOKS_H
#define DPM_HOOKS_H

#include "event/event.h"

/* What hooks are for, where there are several ways. */
enum hook_duty {
    DUTY_OWN,          /* there is one way only */
    DUTY_TCP_POSITION, /* where in its stream a send on TCP begins, and goes on */
    DUTY_QUEUED,       /* something has entered a socket's queue */
    DUTY_SENT,         /* a send ends: its result */
    DUTY_RECEIVED,     /* a receive ends */
    DUTY_UDP,          /* datagrams leave and come; their sockets begin and end */
    DUTY_UDP_DROPPED,  /* a datagram finds the queue full */
    DUTY_COUNT,
};

/* The first is tried first. */
enum hook_way {
    WAY_TRACEPOINT,
    WAY_TRAMPOLINE, /* BPF trampoline: at the entry or exit of one of the kernel's functions */
    WAY_CGROUP,     /* of the root of the control groups: needs CAP_NET_ADMIN */
    WAY_NONE,
};

struct hook {
    const char *program; /* its name on the kernel side */
    enum hook_way way;
    const char *target;   /* the tracepoint, or the kernel's function */
    unsigned arguments;   /* ... of the tracepoint: so many at least */
    const char *since;    /* first kernel that has it */
    uint32_t flags;       /* attached if any of these is in force; 0 = always */
    uint32_t kinds;       /* ... and any of these is metered; 0 = whatever is */
    uint32_t queue_kinds; /* also attached for MESSAGEQUEUED of these kinds: it rests on what the
                             program finds out, whatever that tells itself */
    enum hook_duty duty;
    const char *before; /* the first kernel without this function, which needs none; else NULL */
};

#define HOOKS_MOST 64

extern const struct hook hooks[];
extern const size_t hook_count;

static inline bool hook_needed(const struct hook *hook, uint32_t flags, uint32_t kinds)
{
    if ((flags & EVENT_FLAG(EVENT_MESSAGEQUEUED)) != 0 && (hook->queue_kinds & kinds) != 0)
        return true;
    return (hook->flags == 0 || (hook->flags & flags) != 0) &&
           (hook->kinds == 0 || (hook->kinds & kinds) != 0);
}

struct btf;

/* What this kernel has. */
struct offers {
    struct btf *types;
    bool trampolines; /* are allowed */
    bool cgroups;     /* programs of control groups may ask whose call it is */
    /* pointers can be cast (6.2); if not, libbpf searches modules, which needs CAP_SYS_ADMIN */
    bool casts;
};

/* Looks at the kernel's types, and tries what they do not tell; not `try`: that is taken to be offered, and bpf() is not
 * called. Returns 0, or a negative errno: the types cannot be read (hooks_explain_no_types). */
int offers_look(struct offers *ret_offers, bool try);
void offers_done(struct offers *offers);

enum hook_choice {
    HOOK_UNUSED, /* not needed, or another way is taken */
    HOOK_CHOSEN,
    HOOK_MISSING, /* needed, and the kernel offers neither it nor another way */
};

/* Chooses among the hooks, by their places in the table, for these flags and kinds. */
void hooks_choose(const struct offers *offers, uint32_t flags, uint32_t kinds,
                  enum hook_choice ret_choices[HOOKS_MOST]);

/* The way in which a duty is done; WAY_NONE: in none. */
enum hook_way hook_way_of(const struct offers *offers, enum hook_duty duty, uint32_t flags,
                          uint32_t kinds);

/* 0; or -ENOTSUP and a line in `problem`, if any is missing. */
int hooks_missing(const struct offers *offers, const enum hook_choice choices[HOOKS_MOST],
                  struct problem *problem);

/* Says why the kernel's types cannot be read, which libbpf does not. */
int hooks_explain_no_types(struct problem *problem);

/* How many arguments a tracepoint of the kernel with these types has; -1: there is none of this name. */
int tracepoint_arguments(const struct btf *types, const char *name);

/* Whether it has an iterator of this name. */
bool iterator_exists(const struct btf *types, const char *name);

#endif
