/* SPDX-License-Identifier: MIT */
/* system_call.c: names of system calls, by their numbers on x86-64, of what they wait for, and of signals. */
#include "show/text/system_call.h"

#include <inttypes.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>

void system_call_text(uint32_t call, char text[UNIT_SIZE])
{
    char *name = call == NO_SYSTEM_CALL || call == MPI_ANY_CALL
                     ? NULL
                     : seccomp_syscall_resolve_num_arch(SCMP_ARCH_X86_64, (int)call);

    if (name != NULL)
        snprintf(text, UNIT_SIZE, "%s", name);
    else if (call == NO_SYSTEM_CALL)
        snprintf(text, UNIT_SIZE, "no system call");
    else if (call == MPI_ANY_CALL)
        snprintf(text, UNIT_SIZE, "MPI");
    else
        snprintf(text, UNIT_SIZE, "system call %" PRIu32, call);
    free(name);
}

/* "[timerfd]" and "anon_inode:inotify" -> "timerfd", "inotify". */
static void anonymous_text(const char *name, char text[OBJECT_TEXT_SIZE])
{
    const char *colon = strchr(name, ':');
    const char *begin = colon == NULL ? name : colon + 1;

    begin += *begin == '[';
    snprintf(text, OBJECT_TEXT_SIZE, "%.*s", (int)strcspn(begin, "]"), begin);
}

void object_text(enum wait_object kind, const char *name, char text[OBJECT_TEXT_SIZE])
{
    static const char *const kinds[WAIT_ON_END] = {
        [WAIT_ON_FILE] = "a file",          [WAIT_ON_DEVICE] = "a device",
        [WAIT_ON_PIPE] = "a pipe",          [WAIT_ON_SOCKET] = "a socket",
        [WAIT_ON_QUEUE] = "message queue ", [WAIT_ON_SEMAPHORE] = "semaphore ",
        [WAIT_ON_LOCK] = "lock ",
    };
    char shown[NAME_SIZE + 1];

    text[0] = '\0';
    if (kind == WAIT_ON_NOT_KNOWN || kind >= WAIT_ON_END)
        return;
    show_text(name == NULL ? "" : name, NAME_SIZE, shown);
    if (kind == WAIT_ON_ANONYMOUS)
        anonymous_text(shown, text);
    else if (kind == WAIT_ON_QUEUE || kind == WAIT_ON_SEMAPHORE || kind == WAIT_ON_LOCK)
        snprintf(text, OBJECT_TEXT_SIZE, "%s%s", kinds[kind], shown);
    else
        snprintf(text, OBJECT_TEXT_SIZE, "%s",
                 shown[0] != '\0'      ? shown
                 : kinds[kind] != NULL ? kinds[kind]
                                       : "");
}

void signal_text(unsigned number, char text[UNIT_SIZE])
{
    const char *name = sigabbrev_np((int)number);

    if (name != NULL)
        snprintf(text, UNIT_SIZE, "SIG%s", name);
    else
        snprintf(text, UNIT_SIZE, "signal %u", number);
}
