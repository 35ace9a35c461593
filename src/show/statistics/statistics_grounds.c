/* SPDX-License-Identifier: MIT */
/* statistics_grounds.c: text on what was recorded, and on what the communication statistics are based. See
 * statistics_face.h. */
#include "analysis/statistics/statistics_figures.h"
#include "show/show.h"
#include "show/statistics/statistics_face.h"
#include "show/statistics/statistics_words.h"
#include "show/text/matching_face.h"
#include "show/text/terminal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- the heading ---- */

void print_statistics_heading(const struct communication *communication, FILE *file,
                              const struct show_options *options)
{
    struct folding folding;
    FILE *into = folding_begin(&folding, file);
    char machine[MACHINE_TEXT_SIZE];
    char text[3][UNIT_SIZE], events[COUNTED_SIZE];

    show_duration(communication->duration, text[0]);
    show_counted(communication->events, "event", events);
    show_count(communication->lost, text[1]);
    fprintf(into, "%u %s, machine%s", communication->traces,
            communication->traces == 1 ? "trace" : "traces",
            communication->machine_count == 1 ? "" : "s");
    for (uint32_t i = 0; i < communication->machine_count; i++) {
        machine_text(communication, i, machine);
        fprintf(into, "%s %s", i == 0 ? "" : ",", machine);
    }
    show_count(communication->not_known_yet, text[2]);
    fprintf(into, ", %s, %s", text[0], events);
    if (communication->not_known_yet > 0)
        fprintf(into, " (%s not known yet)", text[2]);
    fprintf(into, ", %s lost%s\n", text[1],
            options->live             ? ", so far"
            : communication->complete ? ""
                                      : ", not complete");
    folding_end(&folding);
}

/* ---- grounds ---- */

static void print_where(const struct communication *communication, FILE *file)
{
    char messages[2][COUNTED_SIZE], bytes[2][UNIT_SIZE];

    if (communication->remote.messages == 0)
        return;
    show_counted(communication->local.messages, "message", messages[0]);
    show_bytes(communication->local.bytes, bytes[0]);
    show_counted(communication->remote.messages, "message", messages[1]);
    show_bytes(communication->remote.bytes, bytes[1]);
    if (communication->sizes_unknown)
        fprintf(file, "\nLocal: %s; remote: %s.\n", messages[0], messages[1]);
    else
        fprintf(file, "\nLocal: %s, %s; remote: %s, %s.\n", messages[0], bytes[0], messages[1],
                bytes[1]);
}

/* A row may stand for many connections, and ended connections look like open ones. */
static void print_connections(const struct communication *communication, FILE *file)
{
    char all[COUNTED_SIZE], ended[UNIT_SIZE], unused[UNIT_SIZE];
    bool some_unused = communication->unused > 0 && knows_unused(communication);

    if (!knows_ended(communication) || (communication->ended == 0 && !some_unused))
        return;
    show_counted(communication->connections, "connection", all);
    show_count(communication->ended, ended);
    show_count(communication->unused, unused);
    if (communication->connections == 1)
        fprintf(file, "\n%s, which %s%s%s.\n", all, communication->ended > 0 ? "ended" : "",
                communication->ended > 0 && some_unused ? " and " : "",
                some_unused ? "was never used" : "");
    else
        fprintf(file, "\n%s, %s of them ended%s%s%s.\n", all, ended, some_unused ? ", " : "",
                some_unused ? unused : "", some_unused ? " of them never used" : "");
}

/* "2 messages of streams ..."; nothing if the count is 0. */
static void print_counted(FILE *file, uint64_t count, const char *word, const char *what)
{
    char text[COUNTED_SIZE];

    if (count == 0)
        return;
    show_counted(count, word, text);
    fprintf(file, "\n%s %s.\n", text, what);
}

/* Bytes that no hook has seen. */
static void print_unseen(FILE *file, uint64_t bytes, const char *what)
{
    char text[UNIT_SIZE];

    if (bytes == 0)
        return;
    show_bytes(bytes, text);
    fprintf(file, "\n%s were %s.\n", text, what);
}

/* What to call the kinds in a list like "a, b". */
static const char *these_kinds(const char *list)
{
    return strchr(list, ',') == NULL ? "this kind" : "these kinds";
}

static void print_left_out(const struct communication *communication, const char *what,
                           const char *how, uint64_t flags, uint32_t kinds, FILE *file)
{
    char words[LEFT_OUT_TEXT_SIZE];

    left_out_text(flags, kinds, words);
    if (words[0] != '\0')
        fprintf(file, "\n%s of %s were %s%s: %s.\n", what, these_kinds(words), how,
                communication->traces > 1 ? " in some of the traces" : "", words);
}

/* Without this, "none" would mean that the processes did not communicate. */
static void print_unmetered(const struct communication *communication, FILE *file)
{
    uint32_t sockets = communication->unmetered & ~(1u << UNMETERED_PROCESS_VM);
    char kinds[UNMETERED_TEXT_SIZE];

    /* each getaddrinfo(3) asks the kernel on a netlink socket: that hides no other process */
    unmetered_text(sockets == 1u << UNMETERED_NETLINK ? 0 : sockets, kinds);
    if (kinds[0] != '\0')
        fprintf(file, "\nMessages on sockets of %s are not recorded, by any meter: %s.\n",
                these_kinds(kinds), kinds);
    if ((communication->unmetered >> UNMETERED_PROCESS_VM & 1) && !communication->mpi_recorded)
        fputs("\nA process has copied from or to another process' memory (process_vm_readv, "
              "process_vm_writev); that is not recorded.\n",
              file);
}

static void print_other_systems(const struct communication *communication, FILE *file)
{
    if (communication->traces_of_others > 0)
        fprintf(file,
                "\n%s of another system: positions of messages are counted, so a record that is "
                "missing there shifts what is matched.\n",
                communication->traces_of_others < communication->traces ? "Some traces are"
                                                                        : "Records");
    if (communication->cpu_unknown)
        fputs("\nCPU times are unknown (-): records do not have them.\n", file);
    if (communication->sizes_unknown)
        fputs("\nSizes of messages are unknown (-): records do not have them.\n", file);
}

/* The ptrace meter does not record everything; a missing record is no evidence that nothing happened. */
static void print_meter(const struct communication *communication, FILE *file)
{
    if (communication->traces_of_ptrace > 0)
        fprintf(file, "\n%setered with ptrace: delivery times, wakeups and io_uring are unknown.\n",
                communication->traces_of_ptrace < communication->traces ? "Some traces were m"
                                                                        : "M");
}

/* Offset of a machine's clock from the first machine's. */
static void print_clock(const struct communication *communication, uint32_t index, FILE *file)
{
    const struct communication_machine *machine = &communication->machines[index];
    uint64_t apart = machine->clock_ahead < 0 ? 0 - (uint64_t)machine->clock_ahead
                                              : (uint64_t)machine->clock_ahead;
    char text[2][UNIT_SIZE];

    char names[2][sizeof(machine->name) * 4];

    show_text(machine->name, strlen(machine->name), names[0]);
    show_text(communication->machines[0].name, strlen(communication->machines[0].name), names[1]);
    if (machine->clock_error == UINT64_MAX) {
        fprintf(file, "The clock offset of %s to %s is unknown: no messages show it.\n", names[0],
                names[1]);
        return;
    }
    show_duration(apart, text[0]);
    show_duration(machine->clock_error, text[1]);
    fprintf(file, "The clock of %s is %s %s that of %s, to within %s.\n", names[0], text[0],
            machine->clock_ahead < 0 ? "behind" : "ahead of", names[1], text[1]);
}

static void print_clocks(const struct communication *communication, FILE *file)
{
    if (communication->machine_count > 1)
        fputc('\n', file);
    for (uint32_t i = 1; i < communication->machine_count; i++)
        print_clock(communication, i, file);
}

static bool launches_mpi(const char name[STREAM_NAME_SIZE])
{
    static const char *const names[] = {"hydra_pmi_proxy", "orted",  "prted",
                                        "prterun",         "mpirun", "mpiexec"};

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (strncmp(name, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* Messages through shared memory leave no trace, so nothing follows from their absence. */
static void print_mpi(const struct communication *communication, FILE *file)
{
    size_t launcher = 0;

    while (launcher < communication->process_count &&
           !launches_mpi(communication->processes[launcher].name))
        launcher++;
    if (launcher == communication->process_count)
        return;
    for (size_t i = 0; i < communication->path_count; i++)
        if (communication->paths[i].kind == PATH_MPI)
            return;
    if (communication->mpi_recorded) {
        fputs("\nThis is a job of MPI, and no message between its ranks was recorded, although "
              "--kinds mpi was given: MPI in dpm-meter(7) says of which none are.\n",
              file);
        return;
    }
    fputs("\nThis is a job of MPI. Messages between ranks on one machine go through shared memory, "
          "and are not recorded: --kinds all,mpi records them (with the kernel meter).\n",
          file);
}

static void print_below_mpi(const struct communication *communication, FILE *file)
{
    uint64_t messages = messages_below_mpi(communication);
    char count[COUNTED_SIZE];

    if (messages == 0)
        return;
    show_counted(messages, "message", count);
    fprintf(file,
            "\n%s over TCP between ranks of MPI most likely carried messages of MPI, which are "
            "counted, too: with "
            "--kinds mpi alone each counts once.\n",
            count);
}

#define SHARING_NAMED 2 /* processes */

/* "a[1], b[2] and 3 others" */
static void print_sharers(const struct communication *communication,
                          const struct communication_shared *shared, FILE *file)
{
    char process[PROCESS_TEXT_SIZE];

    for (uint32_t i = 0; i < shared->count && i < SHARING_NAMED; i++) {
        process_text(communication, shared->processes[i], process);
        fprintf(file, "%s%s",
                i == 0                           ? ""
                : shared->count == SHARING_NAMED ? " and "
                                                 : ", ",
                process);
    }
    if (shared->count > SHARING_NAMED)
        fprintf(file, " and %" PRIu32 " other%s", shared->count - SHARING_NAMED,
                shared->count == SHARING_NAMED + 1 ? "" : "s");
}

/* The row of most processes. What passes there leaves no record. */
static void print_shared(const struct communication *communication, FILE *file)
{
    const struct communication_shared *most = NULL;
    char name[NAME_SIZE + 1], others[COUNTED_SIZE];

    for (size_t i = 0; i < communication->shared_count; i++)
        if (most == NULL || communication->shared[i].count > most->count)
            most = &communication->shared[i];
    if (most == NULL)
        return;
    show_text(most->name, strlen(most->name), name);
    fputs("\n", file);
    print_sharers(communication, most, file);
    fprintf(file, " share memory that they may write to (%s)", name);
    if (communication->shared_count > 1) {
        show_counted(communication->shared_count - 1, "other group", others);
        fprintf(file, "; the same holds for %s of processes", others);
    }
    fputs(". What passes there is not recorded.\n", file);
}

void print_statistics_grounds(const struct communication *communication, FILE *file)
{
    struct folding folding;
    FILE *into = folding_begin(&folding, file);

    print_where(communication, into);
    print_connections(communication, into);
    if (communication->matched)
        print_matching(&communication->matching, into);
    if (communication->matched)
        print_clocks(communication, into);
    print_counted(into, communication->dropped, "datagram", "dropped: receiver queue full");
    print_counted(into, communication->refused, "datagram",
                  "refused by the receiver's socket filter, or damaged");
    print_counted(into, communication->duplicates, "datagram",
                  "received twice: duplicated by the network");
    print_counted(into, communication->unknown_streams, "message",
                  "of threads whose identity was lost: counted for processes named unknown");
    print_counted(into, communication->left, "process",
                  "executed a program that gains privilege, which is not metered: when it ended is "
                  "not known");
    print_counted(into, communication->unknown_paths, "message",
                  "of connections whose identity was lost: counted for the processes only");
    print_unseen(
        into, communication->unseen_bytes,
        "received unseen (splice(2) from UNIX sockets; io_uring(7) or an unmonitored process from "
        "pipes): they count as received by no process");
    print_unseen(
        into, communication->unseen_sent_bytes,
        "written into pipes unseen (by io_uring(7) or an unmonitored process): they count as sent "
        "by no process");
    print_counted(into, communication->cgroups_left_out, "record",
                  "of cgroups left out: only the first 4,096 cgroups have rows");
    print_counted(into, communication->decisions_left_out, "decision",
                  "of dpm steer left out: only the first 4,096 have rows");
    print_left_out(communication, "Connections", "not metered", 0,
                   communication->kinds_left_out & ~communication->kinds_partly, into);
    print_left_out(communication, "Connections", "metered only for a time, or for some processes",
                   0, communication->kinds_partly, into);
    print_left_out(communication, "Events", "not metered",
                   communication->flags_left_out & ~communication->flags_partly, 0, into);
    print_left_out(communication, "Events", "metered only for a time, or for some processes",
                   communication->flags_partly, 0, into);
    print_unmetered(communication, into);
    print_mpi(communication, into);
    print_below_mpi(communication, into);
    print_shared(communication, into);
    print_meter(communication, into);
    print_other_systems(communication, into);
    print_own_cost(&communication->matching.own_cost, communication->duration, into);
    folding_end(&folding);
}
