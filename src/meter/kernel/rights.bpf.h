/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * rights.bpf.h: which tasks a user who is not root may meter: those that ptrace(2) would let the user trace ("Ptrace
 * access mode checking"). The meter is loaded with capabilities that the user has for this only (setcap), so the kernel
 * does not ask.
 *
 *      the user's own:     all user and group IDs are the user's, and no capability is beyond the user's;
 *                          or it lies in a user namespace that the user has made
 *      and dumpable:       it has not gained or dropped privilege since it executed its program: set-user-ID,
 *                          set-group-ID, file capabilities, an unreadable program, prctl()
 */
#ifndef DPM_RIGHTS_BPF_H
#define DPM_RIGHTS_BPF_H

#include "meter/kernel/kernel.bpf.h"

/* Set before loading: the user, if only that user's processes may be metered. */
const volatile bool own_only = false;
/* The meter is loaded for another process, who might name any for the command that it is about to execute. */
const volatile bool for_others = false;
const volatile uint32_t own_user = 0;
const volatile uint32_t own_group = 0;
const volatile uint64_t own_capabilities = 0; /* permitted */

/* Processes that were left because they had executed a program that gains privilege, and the first one's name. */
uint32_t gained;
char gained_name[16];
/* Processes that the iterator did not mark because the user may not meter them. */
uint32_t refused;
uint32_t last_refused;

#define NAMESPACES_MOST 32 /* one in the other; the kernel allows as many */

/* Whether it lies in a user namespace that the user has made, where the user may do everything. */
static __always_inline bool is_in_own_namespace(struct user_namespace *namespace)
{
    int level = BPF_CORE_READ(namespace, level);

    if (level == 0)
        return false;
    for (uint32_t i = 0; i < NAMESPACES_MOST && level > 1; i++) {
        namespace = BPF_CORE_READ(namespace, parent);
        level = BPF_CORE_READ(namespace, level);
    }
    return level == 1 && BPF_CORE_READ(namespace, owner.val) == own_user;
}

static __always_inline bool has_own_rights(struct cred *cred)
{
    uint64_t capabilities = ~0ULL;

    bpf_core_read(&capabilities, sizeof(capabilities), &cred->cap_permitted);
    return BPF_CORE_READ(cred, uid.val) == own_user && BPF_CORE_READ(cred, euid.val) == own_user &&
           BPF_CORE_READ(cred, suid.val) == own_user && BPF_CORE_READ(cred, gid.val) == own_group &&
           BPF_CORE_READ(cred, egid.val) == own_group &&
           BPF_CORE_READ(cred, sgid.val) == own_group && (capabilities & ~own_capabilities) == 0;
}

#define DUMPABLE_BITS 3
#define DUMPABLE      1

static __always_inline bool is_dumpable(struct mm_struct *memory)
{
    uint64_t flags = 0;

    if (bpf_core_field_exists(((struct mm_struct___flags *)memory)->flags))
        bpf_core_read(&flags, sizeof(flags), &((struct mm_struct___flags *)memory)->flags);
    else if (bpf_core_field_exists(((struct mm_struct___word *)memory)->flags))
        bpf_core_read(&flags, sizeof(flags), &((struct mm_struct___word *)memory)->flags);
    return (flags & DUMPABLE_BITS) == DUMPABLE;
}

static __noinline int may_meter(struct task_struct *task)
{
    struct cred *cred = (struct cred *)BPF_CORE_READ(task, real_cred);
    struct mm_struct *memory = BPF_CORE_READ(task, mm);

    if (!own_only)
        return true;
    if (memory == NULL)
        return false;
    return (has_own_rights(cred) || is_in_own_namespace(BPF_CORE_READ(cred, user_ns))) &&
           (is_dumpable(memory) || is_in_own_namespace(BPF_CORE_READ(memory, user_ns)));
}

#endif
