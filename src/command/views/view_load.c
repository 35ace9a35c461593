/* SPDX-License-Identifier: MIT */
/*
 * view_load.c: `dpm view load`: a table of all machines and subnets, from the summaries that agents send as services
 * (`dpm agent --service`).
 *
 *      agents --a summary each interval--> NATS server --> the latest of each machine --> a table every few seconds
 *
 * So what comes here grows with the number of machines and their interval, not with what happens on them.
 */
#include "command/views/view_load.h"

#include "fabric/fabric.h"
#include "show/show.h"
#include "view/figures.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define CONNECT_MS    10000
#define SESSION       "machines"
#define MACHINES_MOST 10000
#define SUBNETS_MOST  256 /* of a machine */

struct shown_subnet {
    char name[VIEW_SUBNET_SIZE];
    double sent, received; /* bytes per second */
    unsigned machines;     /* in a sum ... */
    uint64_t came;         /* ... the oldest of their summaries: CLOCK_MONOTONIC, ns */
};

struct shown_machine {
    char name[FABRIC_NAME_MOST + 1]; /* in the session */
    uint64_t time;                   /* of its summary, wall clock there, ns */
    uint64_t came;                   /* CLOCK_MONOTONIC, ns */
    bool knows_load;                 /* else the agent does not record the machine's state */
    double job_load, cpu, processors;
    size_t processes;
    double sent, received; /* bytes per second, of its processes */
    bool partly;           /* the summary was too long: its tables are not complete */
    struct shown_subnet *subnets;
    size_t subnet_count, subnet_capacity;
};

struct load {
    const struct view_load_options *options;
    struct fabric *fabric;
    struct shown_machine *list;
    size_t count, capacity;
    struct shown_subnet *sums;
    size_t sum_count, sum_capacity;
    uint64_t summaries, bytes; /* that came since the last table */
    uint64_t refused;          /* machines: there are too many */
    uint64_t begun;            /* CLOCK_MONOTONIC, ns: of this interval */
    int signals;
    bool stopped, no_memory;
};

/* ---- summaries ---- */

static double number_at(json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static struct shown_machine *machine_of(struct load *load, const char *name)
{
    for (size_t i = 0; i < load->count; i++)
        if (strcmp(load->list[i].name, name) == 0)
            return &load->list[i];
    if (load->count == MACHINES_MOST) {
        load->refused++;
        return NULL;
    }
    if (array_reserve(&load->list, &load->capacity, load->count + 1, sizeof(*load->list)) < 0) {
        load->no_memory = true;
        return NULL;
    }
    struct shown_machine *machine = &load->list[load->count++];
    snprintf(machine->name, sizeof(machine->name), "%s", name);
    return machine;
}

/* Adds to a list of subnets; what does not fit is left out, and returns false. */
static bool add_subnet(struct shown_subnet **list, size_t *count, size_t *capacity, size_t most,
                       const struct shown_subnet *add)
{
    size_t i = 0;

    while (i < *count && strcmp((*list)[i].name, add->name) != 0)
        i++;
    if (i == *count) {
        if (i == most || array_reserve(list, capacity, i + 1, sizeof(**list)) < 0)
            return false;
        snprintf((*list)[i].name, VIEW_SUBNET_SIZE, "%s", add->name);
        (*list)[i].sent = (*list)[i].received = 0;
        (*list)[i].machines = 0;
        (*list)[i].came = UINT64_MAX;
        (*count)++;
    }
    (*list)[i].sent += add->sent;
    (*list)[i].received += add->received;
    (*list)[i].machines++;
    if (add->came < (*list)[i].came)
        (*list)[i].came = add->came;
    return true;
}

static void take_processes(struct shown_machine *machine, json_t *processes)
{
    json_t *process;
    size_t i;

    machine->processes = 0;
    machine->sent = machine->received = 0;
    json_array_foreach(processes, i, process)
    {
        if (json_is_true(json_object_get(process, "peer_only")))
            continue;
        machine->processes += !json_is_true(json_object_get(process, "ended"));
        machine->sent += number_at(process, "sent_bytes_per_s");
        machine->received += number_at(process, "received_bytes_per_s");
    }
}

/* Each machine counts what its own processes send and receive, at the address of its own end. */
static void take_paths(struct shown_machine *machine, json_t *paths)
{
    json_t *path;
    size_t i;

    machine->subnet_count = 0;
    json_array_foreach(paths, i, path)
    {
        struct shown_subnet subnet = {.sent = number_at(path, "sent_bytes_per_s"),
                                      .received = number_at(path, "received_bytes_per_s")};
        if (view_subnet_of(json_string_value(json_object_get(path, "local")), subnet.name) &&
            !add_subnet(&machine->subnets, &machine->subnet_count, &machine->subnet_capacity,
                        SUBNETS_MOST, &subnet))
            machine->partly = true;
    }
}

static void take_summary(struct load *load, const struct fabric_message *message)
{
    json_t *statistics = json_object_get(message->params, "statistics");
    json_t *state = json_array_get(json_object_get(statistics, "loads"), 0);
    json_t *cpu = json_object_get(state, "cpu");
    struct shown_machine *machine = machine_of(load, message->machine);

    load->summaries++;
    load->bytes += message->size;
    if (machine == NULL)
        return;
    machine->time = (uint64_t)json_integer_value(json_object_get(message->params, "time"));
    machine->came = clock_now(CLOCK_MONOTONIC);
    machine->knows_load =
        json_is_number(json_object_get(cpu, "user")) &&
        json_is_number(json_object_get(json_object_get(state, "runnable"), "mean"));
    machine->processors = number_at(state, "cpus");
    machine->job_load = number_at(json_object_get(state, "runnable"), "mean");
    machine->cpu = (number_at(cpu, "user") + number_at(cpu, "system")) * machine->processors;
    machine->partly = json_object_get(statistics, "processes_left_out") != NULL ||
                      json_object_get(statistics, "paths_left_out") != NULL;
    take_processes(machine, json_object_get(statistics, "processes"));
    take_paths(machine, json_object_get(statistics, "paths"));
}

static void take_messages(struct load *load)
{
    struct fabric_message message;

    while (fabric_next(load->fabric, &message) == 1) {
        if (message.kind == FABRIC_NOTICE && strcmp(message.method, "summary") == 0)
            take_summary(load, &message);
        else if (message.kind == FABRIC_TROUBLE ||
                 (message.kind == FABRIC_STATE && !fabric_connected(load->fabric)))
            command_say("%s", message.text);
        fabric_message_done(&message);
    }
}

/* ---- tables ---- */

static int compare_machines(const void *one, const void *other)
{
    return strcmp(((const struct shown_machine *)one)->name,
                  ((const struct shown_machine *)other)->name);
}

static int compare_subnets(const void *one, const void *other)
{
    return strcmp(((const struct shown_subnet *)one)->name,
                  ((const struct shown_subnet *)other)->name);
}

static void sum_subnets(struct load *load)
{
    load->sum_count = 0;
    for (size_t i = 0; i < load->count; i++)
        for (size_t k = 0; k < load->list[i].subnet_count; k++) {
            struct shown_subnet add = load->list[i].subnets[k];
            add.came = load->list[i].came;
            if (!add_subnet(&load->sums, &load->sum_count, &load->sum_capacity, MACHINES_MOST * 10,
                            &add))
                load->no_memory = true;
        }
    if (load->sum_count > 1)
        qsort(load->sums, load->sum_count, sizeof(*load->sums), compare_subnets);
    if (load->count > 1)
        qsort(load->list, load->count, sizeof(*load->list), compare_machines);
}

static void print_tables(const struct load *load, double seconds)
{
    char machines[COUNTED_SIZE], subnets[COUNTED_SIZE], summaries[COUNTED_SIZE];
    uint64_t now = clock_now(CLOCK_MONOTONIC);

    if (isatty(STDOUT_FILENO))
        fputs("\033[H\033[J", stdout);
    printf("%-24s %8s %8s %9s %12s %12s %8s\n", "MACHINE", "LOAD", "CPU", "PROCESSES", "SENT B/s",
           "RECEIVED B/s", "AGE s");
    for (size_t i = 0; i < load->count; i++) {
        const struct shown_machine *machine = &load->list[i];
        char state[40] = "       -        -";
        if (machine->knows_load)
            snprintf(state, sizeof(state), "%8.2f %8.2f", machine->job_load, machine->cpu);
        printf("%-24s %s %8zu%s %12.0f %12.0f %8.1f\n", machine->name, state, machine->processes,
               machine->partly ? "+" : " ", machine->sent, machine->received,
               (double)(now - machine->came) / 1e9);
    }
    printf("\n%-24s %8s %12s %12s %8s\n", "SUBNET", "MACHINES", "SENT B/s", "RECEIVED B/s",
           "AGE s");
    for (size_t i = 0; i < load->sum_count; i++)
        printf("%-24s %8u %12.0f %12.0f %8.1f\n", load->sums[i].name, load->sums[i].machines,
               load->sums[i].sent, load->sums[i].received,
               (double)(now - load->sums[i].came) / 1e9);
    show_counted(load->count, "machine", machines);
    show_counted(load->sum_count, "subnet", subnets);
    show_counted(load->summaries, "summary", summaries);
    printf("\n%s, %s; %s came, %.0f B/s\n\n", machines, subnets, summaries,
           (double)load->bytes / seconds);
}

static json_t *json_of_machine(const struct shown_machine *machine, uint64_t now)
{
    json_t *object =
        json_pack("{s:s, s:I, s:f, s:I, s:f, s:f, s:b}", "machine", machine->name, "time",
                  (json_int_t)machine->time, "age_s", (double)(now - machine->came) / 1e9,
                  "processes", (json_int_t)machine->processes, "sent_bytes_per_s", machine->sent,
                  "received_bytes_per_s", machine->received, "partly", machine->partly);

    if (machine->knows_load) {
        json_object_set_new(object, "job_load", json_real(machine->job_load));
        json_object_set_new(object, "cpu", json_real(machine->cpu));
        json_object_set_new(object, "processors", json_real(machine->processors));
    }
    return object;
}

static int print_json(const struct load *load, double seconds)
{
    json_t *machines = json_array(), *subnets = json_array();
    uint64_t now = clock_now(CLOCK_MONOTONIC);

    for (size_t i = 0; i < load->count; i++)
        json_array_append_new(machines, json_of_machine(&load->list[i], now));
    for (size_t i = 0; i < load->sum_count; i++)
        json_array_append_new(
            subnets, json_pack("{s:s, s:i, s:f, s:f, s:f}", "subnet", load->sums[i].name,
                               "machines", (int)load->sums[i].machines, "sent_bytes_per_s",
                               load->sums[i].sent, "received_bytes_per_s", load->sums[i].received,
                               "age_s", (double)(now - load->sums[i].came) / 1e9));
    json_t *line =
        json_pack("{s:I, s:f, s:I, s:I, s:o, s:o}", "time", (json_int_t)clock_now(CLOCK_REALTIME),
                  "interval_s", seconds, "summaries", (json_int_t)load->summaries, "bytes",
                  (json_int_t)load->bytes, "machines", machines, "subnets", subnets);
    int result = line == NULL || json_dumpf(line, stdout, JSON_COMPACT) < 0 ? -ENOMEM : 0;
    putchar('\n');
    json_decref(line);
    return result;
}

static void show_interval(struct load *load, uint64_t now)
{
    double seconds = (double)(now - load->begun) / 1e9;

    sum_subnets(load);
    if (!load->options->json)
        print_tables(load, seconds);
    else if (print_json(load, seconds) < 0)
        load->no_memory = true;
    fflush(stdout);
    load->summaries = load->bytes = 0;
    load->begun = now;
}

/* ---- the loop ---- */

static int connect_it(struct load *load, struct problem *problem)
{
    const struct hosts_options *site = load->options->site;
    char authorities[FABRIC_AUTHORITIES_SIZE];
    const struct fabric_options options = {
        .url = site->fabric,
        .credentials = site->credentials,
        .session = site->session == NULL ? SESSION : site->session,
        .authorities = site->authorities == NULL ? NULL : authorities};
    int result = site->authorities == NULL
                     ? 0
                     : fabric_read_authorities(site->authorities, authorities, problem);

    if (result == 0)
        result = fabric_open(&options, CONNECT_MS, &load->fabric, problem);
    if (result == 0 && (result = fabric_has_said(load->fabric, problem)) == 0)
        result =
            fabric_create_streams(load->fabric, NULL, problem); /* no agent has sent anything yet */
    return result < 0 ? result : fabric_listen(load->fabric, 0, problem);
}

static int loop(struct load *load, struct problem *problem)
{
    uint64_t now = clock_now(CLOCK_MONOTONIC), begun = now;
    uint64_t limit = load->options->limit;
    struct signalfd_siginfo info;
    char refused[COUNTED_SIZE];

    load->begun = now;
    while (!load->stopped && !load->no_memory && !ferror(stdout)) {
        struct pollfd ready[] = {{fabric_descriptor(load->fabric), POLLIN, 0},
                                 {load->signals, POLLIN, 0}};
        uint64_t until = load->begun + load->options->every;
        if (limit != 0 && begun + limit < until)
            until = begun + limit;
        poll(ready, ARRAY_SIZE(ready), poll_timeout(until, now));
        take_messages(load);
        now = clock_now(CLOCK_MONOTONIC);
        load->stopped = read(load->signals, &info, sizeof(info)) == sizeof(info) ||
                        (limit != 0 && now - begun >= limit);
        if (now - load->begun >= load->options->every || load->stopped)
            show_interval(load, now);
    }
    show_counted(load->refused, "summary", refused);
    if (load->refused > 0)
        command_say("more than %d machines: %s of others %s left out", MACHINES_MOST, refused,
                    load->refused == 1 ? "was" : "were");
    return load->no_memory ? problem_set(problem, -ENOMEM, "out of memory") : 0;
}

int view_load(const struct view_load_options *options)
{
    struct load load = {.options = options};
    struct problem problem = {""};
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL); /* before there are threads */
    load.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    int result = load.signals < 0 ? problem_set(&problem, -errno, "signalfd: %s", strerror(errno))
                                  : connect_it(&load, &problem);
    if (result == 0)
        result = loop(&load, &problem);
    if (result == 0)
        result = command_flush_output(&problem);
    fabric_close(load.fabric);
    for (size_t i = 0; i < load.count; i++)
        free(load.list[i].subnets);
    free(load.list);
    free(load.sums);
    if (load.signals >= 0)
        close(load.signals);
    return result < 0 ? command_error("%s", problem.text) : EXIT_SUCCESS;
}
