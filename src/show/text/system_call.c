/* SPDX-License-Identifier: MIT */
/* system_call.c: names of system calls, by their numbers on x86-64. */
#include "show/text/system_call.h"

#include <inttypes.h>
#include <seccomp.h>
#include <stdlib.h>

void system_call_text(uint32_t call, char text[UNIT_SIZE])
{
    char *name = call == NO_SYSTEM_CALL
                     ? NULL
                     : seccomp_syscall_resolve_num_arch(SCMP_ARCH_X86_64, (int)call);

    if (name != NULL)
        snprintf(text, UNIT_SIZE, "%s", name);
    else if (call == NO_SYSTEM_CALL)
        snprintf(text, UNIT_SIZE, "no system call");
    else
        snprintf(text, UNIT_SIZE, "system call %" PRIu32, call);
    free(name);
}
