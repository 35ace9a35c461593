/* SPDX-License-Identifier: MIT */
/* interrupt.c: what signals end is ended cleanly. See interrupt.h. */
#include "command/shared/interrupt.h"

#include "base/base.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

static const char *_Atomic line_to_print, *_Atomic file_to_remove;
static atomic_bool has_progress;
static bool watched[ARRAY_SIZE(signals)];

static void print(const char *text)
{
    ssize_t written = write(STDERR_FILENO, text, strlen(text));

    (void)written;
}

/* Calls only what a signal handler may call. */
static void end(int signal)
{
    const char *line = line_to_print, *file = file_to_remove;

    if (has_progress)
        print("\r\033[K");
    if (file != NULL)
        unlink(file);
    if (line != NULL) {
        print(line);
        print("\n");
    }
    raise(signal); /* by default, as the handler is reset: once this function has returned */
}

void interrupt_begin(const char *line, const char *file)
{
    struct sigaction action = {.sa_handler = end, .sa_flags = (int)SA_RESETHAND}, before;

    sigfillset(&action.sa_mask);
    line_to_print = line;
    file_to_remove = file;
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
        watched[i] = sigaction(signals[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL &&
                     sigaction(signals[i], &action, NULL) == 0;
}

void interrupt_end(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
        if (watched[i])
            signal(signals[i], SIG_DFL);
    line_to_print = file_to_remove = NULL;
}

void interrupt_note_progress(bool shown)
{
    has_progress = shown;
}
