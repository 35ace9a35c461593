/* SPDX-License-Identifier: MIT */
/* hosts_parts.c: input and output of processes on several machines. See hosts_parts.h. */
#include "command/hosts/hosts_parts.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
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

void parts_output(struct running *running, const struct part *part,
                  const struct conduct_event *event)
{
    FILE *file = event->err ? stderr : stdout;

    progress_clear(&running->hosts->progress);
    fputs(part->label, file);
    fwrite(event->text, 1, event->length, file);
    if (part->label[0] != '\0')
        fputc('\n', file);
    fflush(file);
}

/* ---- input ---- */

#define AGAIN_AFTER 200000000ULL /* ns: the process has not read what it has */

bool parts_has_input(void)
{
    return !isatty(STDIN_FILENO) || tcgetpgrp(STDIN_FILENO) == getpgrp();
}

static void take_answer(struct part_input *input)
{
    input->waiting = false;
    input->again = input->answer.error == 0 ? 0 : clock_now(CLOCK_MONOTONIC) + AGAIN_AFTER;
    if (input->answer.error == 0) {
        input->size = 0;
        input->open = !input->reached;
    }
    conduct_answers_done(&input->answer, 1);
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
    struct conduct_process *process = running->list[0].process;

    if (input->waiting && input->answer.came)
        take_answer(input);
    if (!input->open || input->waiting || process->state == PROCESS_KILLED)
        return;
    read_input(input);
    if ((input->size == 0 && !input->reached) || clock_now(CLOCK_MONOTONIC) < input->again)
        return;
    input->waiting = true;
    conduct_input_later(process, input->bytes, input->size, input->reached, &input->answer);
}
