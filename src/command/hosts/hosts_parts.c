/* SPDX-License-Identifier: MIT */
/* hosts_parts.c: input and output of processes on several machines. See hosts_parts.h. */
#include "command/hosts/hosts_parts.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- output ---- */

/* The host's name; with a number if it has several parts. */
void parts_label(struct running *running)
{
    for (size_t i = 0; running->count > 1 && i < running->count; i++) {
        struct part *part = &running->list[i];
        const char *name = part->host->remote->name;
        size_t before = 0, alike = 0;
        for (size_t j = 0; j < running->count; j++) {
            alike += running->list[j].host == part->host;
            before += running->list[j].host == part->host && j < i;
        }
        if (alike == 1)
            snprintf(part->label, sizeof(part->label), "%.120s: ", name);
        else
            snprintf(part->label, sizeof(part->label), "%.120s[%zu]: ", name, before + 1);
    }
}

static FILE *file_of(bool err)
{
    return err ? stderr : stdout;
}

struct writing {
    struct part *part;
    bool err;
};

static void write_line(void *context, const char *text, size_t length)
{
    const struct writing *writing = context;
    FILE *file = file_of(writing->err);

    progress_clear(&writing->part->running->hosts->progress);
    fputs(writing->part->label, file);
    fwrite(text, 1, length, file);
    fputc('\n', file);
}

/* Without a label, bytes go through as they are. */
void parts_output(struct running *running, struct part *part, bool err, const void *bytes,
                  size_t size)
{
    struct writing writing = {part, err};

    if (size == 0)
        part->closed[err] = true;
    if (part->label[0] == '\0') {
        progress_clear(&running->hosts->progress);
        fwrite(bytes, 1, size, file_of(err));
    } else {
        conduct_line_add(&part->lines[err], bytes, size, write_line, &writing);
    }
    fflush(file_of(err));
}

void parts_flush(struct running *running)
{
    for (size_t i = 0; i < running->count; i++)
        for (int err = 0; err < 2; err++) {
            struct writing writing = {&running->list[i], err == 1};
            conduct_line_add(&running->list[i].lines[err], NULL, 0, write_line, &writing);
            fflush(file_of(err));
        }
}

/* ---- input ---- */

#define AGAIN_AFTER 200000000ULL /* ns: the process has not read what it has */

bool parts_has_input(void)
{
    return !isatty(STDIN_FILENO) || tcgetpgrp(STDIN_FILENO) == getpgrp();
}

static void sent(void *context, struct remote_host *host, const struct remote_reply *reply)
{
    struct part_input *input = context;

    (void)host;
    input->waiting = false;
    input->again = reply->error == 0 ? 0 : clock_now(CLOCK_MONOTONIC) + AGAIN_AFTER;
    if (reply->error == 0) {
        input->size = 0;
        input->open = !input->reached;
    }
}

static void read_input(struct part_input *input)
{
    struct pollfd file = {.fd = STDIN_FILENO, .events = POLLIN};

    if (input->size > 0 || input->reached || poll(&file, 1, 0) <= 0)
        return;
    ssize_t got = read(STDIN_FILENO, input->bytes, sizeof(input->bytes));
    if (got > 0)
        input->size = (size_t)got;
    else if (got == 0 || errno != EINTR)
        input->reached = true;
}

void parts_input(struct running *running)
{
    struct part_input *input = &running->input;
    struct part *part = &running->list[0];

    if (!input->open || input->waiting || part->ended)
        return;
    read_input(input);
    if ((input->size == 0 && !input->reached) || clock_now(CLOCK_MONOTONIC) < input->again)
        return;
    json_t *params = request_input(part->pid, input->bytes, input->size, input->reached);
    if (params == NULL)
        return;
    input->waiting = true;
    remote_call(conduct_remote(running->hosts->conduct), part->host->remote, "process.input",
                params, CONDUCT_CALL_MS, sent, input);
}
