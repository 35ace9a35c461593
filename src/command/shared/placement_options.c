/* SPDX-License-Identifier: MIT */
/* placement_options.c: shared options: where processes run, and how long messages take. See placement_options.h. */
#include "command/shared/placement_options.h"

#include <getopt.h>
#include <string.h>

enum {
    OPTION_AS_RECORDED = OPTION_SHARED,
    OPTION_ONE_MACHINE,
    OPTION_ASSIGN,
    OPTION_LOCAL_DELAY,
    OPTION_REMOTE_DELAY,
    OPTION_DELAYS,
    OPTION_EDGES,
    OPTION_WITHOUT,
};

static const char *edges_word(size_t index)
{
    static const char *const words[] = {"all", "messages"};

    return index < ARRAY_SIZE(words) ? words[index] : NULL;
}

const struct command_option placement_options[] = {
    {"as-recorded", OPTION_AS_RECORDED, {0}, "processes on the machines where they ran"},
    {"one-machine", OPTION_ONE_MACHINE, {0}, "all processes on one machine"},
    {"assign", OPTION_ASSIGN, {"FILE", ARGUMENT_FILE}, "processes on machines as in FILE"},
    {"local-delay",
     OPTION_LOCAL_DELAY,
     {"DELAY"},
     "message delay in a machine: 10us, 10us+1ns/B, 1:4ms,1000:12ms (0)"},
    {"remote-delay", OPTION_REMOTE_DELAY, {"DELAY"}, "message delay between machines (0)"},
    {"delays", OPTION_DELAYS, {"FILE", ARGUMENT_FILE}, "read delays from FILE (see dpm calibrate)"},
    {"edges",
     OPTION_EDGES,
     {"WHICH", ARGUMENT_WORD, edges_word},
     "edges to follow: all, or messages (as in Miller's thesis) (all)"},
    {"without",
     OPTION_WITHOUT,
     {"NAME|PID", ARGUMENT_OTHER, NULL},
     "ignore this process; repeatable"},
    {0},
};

static int add(struct placements *placements, const char *name, enum assignment_kind kind)
{
    return placements_add(placements, name, kind, 0) < 0 ? command_error("out of memory") : -1;
}

static int read_file(struct placements *placements,
                     int (*read)(struct placements *placements, const char *file,
                                 struct problem *problem))
{
    struct problem problem;

    return read(placements, optarg, &problem) < 0 ? command_error("%s", problem.text) : -1;
}

static int take_delay(const char *command, const char *option, struct delay *ret_delay)
{
    return delay_parse(optarg, ret_delay) == 0
               ? -1
               : command_usage_error(
                     command,
                     "--%s '%s': give a delay, e.g. 13ms, 13ms+22us/B or 1:4.2ms,1000:12.8ms",
                     option, optarg);
}

static int take_edges(const char *command, struct placements *placements)
{
    size_t word = 0;
    int status = option_word(command, "edges", edges_word, &word);

    placements->messages_only = word == 1;
    return status;
}

static int add_without(struct placements *placements)
{
    if (array_reserve(&placements->without, &placements->without_room,
                      placements->without_count + 1, sizeof(*placements->without)) < 0)
        return command_error("out of memory");
    placements->without[placements->without_count++] = optarg;
    return -1;
}

/* Called for each stream. Threads of a process come one after the other, or nearly so; comparing with the last entry
 * avoids most duplicates. */
static void note_left_out(struct placements *placements, const struct stream_record *stream)
{
    struct left_out *last = placements->left_out + placements->left_out_count;

    if (placements->left_out_count > 0 && last[-1].pid == stream->pid &&
        memcmp(last[-1].name, stream->name, sizeof(last->name)) == 0)
        return;
    if (array_reserve(&placements->left_out, &placements->left_out_room,
                      placements->left_out_count + 1, sizeof(*placements->left_out)) < 0) {
        placements->forgotten = true;
        return;
    }
    last = &placements->left_out[placements->left_out_count++];
    last->pid = stream->pid;
    memcpy(last->name, stream->name, sizeof(last->name));
}

static bool is_left_out(void *context, uint32_t origin, const struct stream_record *stream)
{
    struct placements *placements = context;

    (void)origin;
    for (size_t i = 0; i < placements->without_count; i++) {
        if (!process_is_meant(placements->without[i], stream->pid, stream->name))
            continue;
        note_left_out(placements, stream);
        return true;
    }
    return false;
}

void placements_leave_out(struct placements *placements, struct parallelism_options *options)
{
    if (placements->without_count == 0)
        return;
    options->leaves_out = is_left_out;
    options->context = placements;
}

int placements_take(const char *command, int option, struct placements *placements)
{
    switch (option) {
    case OPTION_AS_RECORDED:
        return add(placements, "as-recorded", AS_RECORDED);
    case OPTION_ONE_MACHINE:
        return add(placements, "one-machine", ONE_MACHINE);
    case OPTION_ASSIGN:
        return read_file(placements, placements_read);
    case OPTION_LOCAL_DELAY:
        return take_delay(command, "local-delay", &placements->delays.local);
    case OPTION_REMOTE_DELAY:
        return take_delay(command, "remote-delay", &placements->delays.remote);
    case OPTION_DELAYS:
        return read_file(placements, placements_read_delays);
    case OPTION_EDGES:
        return take_edges(command, placements);
    case OPTION_WITHOUT:
        return add_without(placements);
    default:
        return option == OPTION_HELP ? command_help(command) : command_usage_error(command, NULL);
    }
}

/* ---- names that match nothing ---- */

static bool was_left_out(const struct placements *placements, const char *who)
{
    for (size_t i = 0; i < placements->left_out_count; i++)
        if (process_is_meant(who, placements->left_out[i].pid, placements->left_out[i].name))
            return true;
    return placements->forgotten;
}

static bool is_in(const struct parallelism *parallelism, const char *who)
{
    for (size_t i = 0; i < parallelism->process_count; i++) {
        const struct parallelism_process *process = &parallelism->processes[i];
        if (process_is_meant(who, process->pid, process->name))
            return true;
    }
    return false;
}

static void note_assigned(const struct placements *placements, const struct assignment *assignment,
                          const struct parallelism_run *runs, size_t count)
{
    for (size_t i = 0; i < assignment->process_count; i++) {
        const char *who = assignment->processes[i].who;
        bool found = strcmp(who, "*") == 0 || was_left_out(placements, who);
        for (size_t run = 0; run < count && !found; run++)
            found = is_in(runs[run].threads, who);
        if (!found)
            command_note_nobody("assign", who);
    }
}

void placements_note_nobody(const struct placements *placements, const struct parallelism_run *runs,
                            size_t count)
{
    for (size_t i = 0; i < placements->without_count; i++)
        if (!was_left_out(placements, placements->without[i]))
            command_note_nobody("without", placements->without[i]);
    for (size_t i = 0; i < placements->count; i++)
        note_assigned(placements, &placements->assignments[i], runs, count);
    for (size_t i = 0; i < placements->delays.between_count; i++)
        if (!placements->met[i])
            command_say("note: --delays: no machines %s and %s in the traces",
                        placements->between[i].from, placements->between[i].to);
}
