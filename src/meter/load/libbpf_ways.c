/* SPDX-License-Identifier: MIT */
/* libbpf_ways.c: what libbpf may read and print. See libbpf_ways.h. */
#include "meter/load/libbpf_ways.h"

#include <bpf/libbpf.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* libbpf reports errors on standard error, but libraries must not print. DPM_DEBUG=1 shows them. */
static int print_libbpf(enum libbpf_print_level level, const char *format, va_list arguments)
{
    if (level == LIBBPF_DEBUG || getenv("DPM_DEBUG") == NULL)
        return 0;
    return vfprintf(stderr, format, arguments);
}

void quiet_libbpf(void)
{
    libbpf_set_print(print_libbpf);
}

bool have_capability(unsigned capability)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {0};

    if (syscall(SYS_capget, &header, data) < 0)
        return false;
    return (data[capability / 32].effective & 1u << capability % 32) != 0;
}

uint64_t permitted_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {0};

    if (syscall(SYS_capget, &header, data) < 0)
        return 0;
    return data[0].permitted | (uint64_t)data[1].permitted << 32;
}

const char *types_to_read(void)
{
    return have_capability(CAP_SYS_ADMIN) ? NULL : "/sys/kernel/btf/vmlinux";
}
