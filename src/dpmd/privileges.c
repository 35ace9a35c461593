/* SPDX-License-Identifier: MIT */
/* privileges.c: gives up what dpmd does not need. See privileges.h. */
#include "dpmd/privileges.h"

#include "meter/load/hooks.h"

#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BIT(capability) (1ULL << (capability))

/* What this kernel asks for. */
static uint64_t needed(void)
{
    uint64_t capabilities = BIT(CAP_BPF) | BIT(CAP_PERFMON) | BIT(CAP_NET_ADMIN);
    struct offers offers;

    if (offers_look(&offers, false) < 0)
        return capabilities;
    if (!offers.casts)
        capabilities |= BIT(CAP_SYS_ADMIN);
    offers_done(&offers);
    return capabilities;
}

int privileges_keep_needed(struct problem *problem)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {0};
    uint64_t keep = needed();

    if (syscall(SYS_capget, &header, data) < 0)
        return problem_set(problem, -errno, "cannot read our capabilities: %s", strerror(errno));
    keep &= data[0].permitted | (uint64_t)data[1].permitted << 32;
    if ((keep & BIT(CAP_BPF)) == 0 || (keep & BIT(CAP_PERFMON)) == 0)
        return problem_set(
            problem, -EPERM,
            "needs CAP_BPF and CAP_PERFMON: start it as root, or by its systemd unit");
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    for (int capability = 0; prctl(PR_CAPBSET_READ, capability) >= 0; capability++)
        prctl(PR_CAPBSET_DROP, capability); /* fails without CAP_SETPCAP: then systemd has set it */
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    for (unsigned i = 0; i < 2; i++) {
        data[i].permitted = data[i].effective = (uint32_t)(keep >> 32 * i);
        data[i].inheritable = 0;
    }
    return syscall(SYS_capset, &header, data) == 0
               ? 0
               : problem_set(problem, -errno, "cannot give up capabilities: %s", strerror(errno));
}
