/* SPDX-License-Identifier: MIT */
/* figures.c: figures of the last interval. See figures.h. */
#include "view/figures.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOTALS 4 /* kept for a row, to get the difference */

struct totals {
    double of[TOTALS];
    int64_t instance;
    double traffic; /* sum over the paths of a subnet, while they are read */
    bool ended;     /* it stays in its set for this last interval ... */
    bool left;      /* ... and then leaves */
};

struct view_figures {
    struct view_model *model;
    struct intern keys;
    struct totals *totals; /* by index in `keys` */
    size_t capacity;
    const struct communication *communication; /* the rest: during a call */
    uint64_t time;
    double seconds; /* of the interval */
    struct problem *problem;
};

struct view_figures *view_figures_new(struct view_model *model)
{
    struct view_figures *figures = calloc(1, sizeof(*figures));

    if (figures != NULL)
        figures->model = model;
    return figures;
}

void view_figures_free(struct view_figures *figures)
{
    if (figures == NULL)
        return;
    intern_done(&figures->keys);
    free(figures->totals);
    free(figures);
}

/* NULL: out of memory. Valid until the next call. */
static struct totals *totals_of(struct view_figures *figures, uint64_t key)
{
    int64_t index = intern_add(&figures->keys, key);

    if (index < 0 || array_reserve(&figures->totals, &figures->capacity, (size_t)index + 1,
                                   sizeof(*figures->totals)) < 0) {
        problem_set(figures->problem, -ENOMEM, "out of memory for the figures of views");
        return NULL;
    }
    return &figures->totals[index];
}

/* The growth of a total since the last call, per second. */
static double rate(const struct view_figures *figures, struct totals *totals, size_t which,
                   double total)
{
    double grown = total - totals->of[which];

    totals->of[which] = total;
    return grown > 0 && figures->seconds > 0 ? grown / figures->seconds : 0;
}

struct figure {
    const char *attribute;
    double number;
    bool unknown;
};

static int set(struct view_figures *figures, int64_t instance, const struct figure *figure,
               const struct view_place *place)
{
    const struct view_value value = {.kind = figure->unknown ? VIEW_UNKNOWN : VIEW_IS_NUMBER,
                                     .number = figure->number};

    return view_model_set(figures->model, instance, figure->attribute, &value, figures->time, place,
                          figures->problem);
}

static int set_text(struct view_figures *figures, int64_t instance, const char *attribute,
                    const char *text, const struct view_place *place)
{
    const struct view_value value = {.kind = VIEW_IS_TEXT, .text = text};

    return view_model_set(figures->model, instance, attribute, &value, figures->time, place,
                          figures->problem);
}

static int set_all(struct view_figures *figures, int64_t instance, const struct figure *list,
                   size_t count, const struct view_place *place)
{
    int result = 0;

    for (size_t i = 0; i < count && result == 0; i++)
        result = set(figures, instance, &list[i], place);
    return result;
}

/* What has ended in an earlier interval is no longer in its set. */
static int leave(struct view_figures *figures, struct totals *totals)
{
    int result =
        totals->left ? 0 : view_model_end(figures->model, totals->instance, true, figures->problem);

    totals->left = true;
    return result;
}

/* Exec changes the name of a process: it is another instance then, as are its relationships, and the old one leaves the
 * set. */
static int enter(struct view_figures *figures, struct totals *totals, int64_t instance)
{
    int64_t before = totals->instance;
    int result = 0;

    totals->instance = instance;
    if (before == instance)
        return 0;
    if (before != 0)
        result = view_model_end(figures->model, before, true, figures->problem);
    /* a process with the same id and name had ended */
    return result < 0 ? result : view_model_end(figures->model, instance, false, figures->problem);
}

/* ---- processes ---- */

static uint64_t process_key(const struct communication_process *process)
{
    const uint32_t key[] = {1, process->origin, process->stream};

    return hash_bytes(0, key, sizeof(key));
}

static struct view_place place_of(const struct view_figures *figures,
                                  const struct communication_process *process)
{
    return (struct view_place){figures->communication->machines[process->machine].name,
                               process->pid};
}

static int64_t process_instance(struct view_figures *figures,
                                const struct communication_process *process)
{
    const struct view_place place = place_of(figures, process);
    char name[STREAM_NAME_SIZE + 1] = "";

    memcpy(name, process->name, STREAM_NAME_SIZE);
    return view_model_instance(figures->model, "process", process->pid, name, &place,
                               figures->problem);
}

static int store_process(struct view_figures *figures, const struct communication_process *process)
{
    struct totals *totals = totals_of(figures, process_key(process));
    const struct view_place place = place_of(figures, process);

    if (totals == NULL)
        return -ENOMEM;
    if (totals->ended)
        return leave(figures, totals);
    int64_t instance = process_instance(figures, process);
    int result = instance < 0 ? (int)instance : enter(figures, totals, instance);
    if (result < 0)
        return result;
    totals->ended = process->ended;
    bool no_cpu = figures->communication->cpu_unknown;
    bool no_sizes = figures->communication->sizes_unknown;
    const struct figure list[] = {
        {"Process-Id", process->pid, false},
        {"cpu", rate(figures, totals, 0, (double)process->cpu / 1e9), no_cpu},
        {"sent", rate(figures, totals, 1, (double)process->sent.bytes), no_sizes},
        {"received", rate(figures, totals, 2, (double)process->received.bytes), no_sizes},
        {"frequency", rate(figures, totals, 3, (double)process->sent.messages), false},
        {"queue", process->queue.messages, process->queue.unknown},
    };
    result = set_all(figures, instance, list, ARRAY_SIZE(list), &place);
    if (result == 0)
        result = set_text(figures, instance, "machine", place.machine, &place);
    return result < 0
               ? result
               : set_text(figures, instance, "state", process->ended ? "ended" : "running", &place);
}

static int store_processes(struct view_figures *figures)
{
    const struct communication *communication = figures->communication;
    int result = 0;

    for (size_t i = 0; i < communication->process_count && result == 0; i++)
        if (communication->processes[i].pid != 0)
            result = store_process(figures, &communication->processes[i]);
    return result;
}

/* ---- relationships ---- */

/* Messages in the queues between two processes. */
static double queue_between(const struct communication *communication, uint32_t from, uint32_t to)
{
    double sum = 0;

    for (size_t i = 0; i < communication->path_count; i++) {
        const struct party *ends = communication->paths[i].ends;
        if (ends[0].count == 1 && ends[1].count == 1 &&
            ((ends[0].processes[0] == from && ends[1].processes[0] == to) ||
             (ends[0].processes[0] == to && ends[1].processes[0] == from)))
            sum += communication->paths[i].queue.messages;
    }
    return sum;
}

static int store_pair(struct view_figures *figures, const struct communication_pair *pair)
{
    const struct communication *communication = figures->communication;
    const struct communication_process *from = &communication->processes[pair->from.processes[0]];
    const struct communication_process *to = &communication->processes[pair->to.processes[0]];
    const uint64_t key[] = {2, process_key(from), process_key(to)};
    const struct view_place place = place_of(figures, from);
    struct totals *totals;

    if (from->pid == 0 || to->pid == 0)
        return 0;
    int64_t one = process_instance(figures, from), other = process_instance(figures, to);
    int64_t instance = one < 0 || other < 0 ? (one < 0 ? one : other)
                                            : view_model_relate(figures->model, "Communicates-With",
                                                                one, other, figures->problem);
    if (instance < 0)
        return (int)instance;
    if ((totals = totals_of(figures, hash_bytes(0, key, sizeof(key)))) == NULL)
        return -ENOMEM;
    if (totals->ended)
        return leave(figures, totals);
    int result = enter(figures, totals, instance);
    if (result < 0)
        return result;
    const struct figure list[] = {
        {"frequency", rate(figures, totals, 0, (double)pair->sent.messages), false},
        {"bytes", rate(figures, totals, 1, (double)pair->sent.bytes), communication->sizes_unknown},
        {"queue", queue_between(communication, pair->from.processes[0], pair->to.processes[0]),
         from->queue.unknown || to->queue.unknown},
    };
    totals->ended = from->ended || to->ended;
    return set_all(figures, instance, list, ARRAY_SIZE(list), &place);
}

static int store_pairs(struct view_figures *figures)
{
    const struct communication *communication = figures->communication;
    int result = 0;

    for (size_t i = 0; i < communication->pair_count && result == 0; i++)
        if (communication->pairs[i].from.count == 1 && communication->pairs[i].to.count == 1)
            result = store_pair(figures, &communication->pairs[i]);
    return result;
}

/* ---- machines ---- */

static int store_machine(struct view_figures *figures, size_t index)
{
    const struct communication_machine *machine = &figures->communication->machines[index];
    const struct machine_load *load = &machine->load;
    const struct view_place place = {.machine = machine->name};
    const uint64_t key[] = {3, index};
    size_t processes = 0;
    int64_t instance =
        view_model_instance(figures->model, "machine", 0, machine->name, &place, figures->problem);

    if (instance < 0)
        return (int)instance;
    struct totals *totals = totals_of(figures, hash_bytes(0, key, sizeof(key)));
    if (totals == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < figures->communication->process_count; i++)
        processes += figures->communication->processes[i].machine == index &&
                     !figures->communication->processes[i].ended;
    int result =
        set(figures, instance,
            &(struct figure){.attribute = "processes", .number = (double)processes}, &place);
    /* from one SUMMARY to another, which is not the interval */
    double elapsed = ((double)load->elapsed - totals->of[3]) / 1e9;
    if (result == 0 && elapsed > 0 && load->cpu_all != NOT_KNOWN && load->cpu_idle != NOT_KNOWN) {
        double used = (double)(load->cpu_all - load->cpu_idle) / 1e9;
        result =
            set(figures, instance,
                &(struct figure){.attribute = "cpu", .number = (used - totals->of[0]) / elapsed},
                &place);
        totals->of[0] = used;
        totals->of[3] = (double)load->elapsed;
    }
    double count = (double)load->runnable_count - totals->of[1];
    double sum = (double)load->runnable_sum - totals->of[2];
    if (result == 0 && load->elapsed > 0 && load->runnable_sum != NOT_KNOWN && count > 0) {
        totals->of[1] += count;
        totals->of[2] += sum;
        result = set(figures, instance,
                     &(struct figure){.attribute = "job-load", .number = sum / count}, &place);
    }
    return result;
}

/* ---- subnets ---- */

_Static_assert(VIEW_SUBNET_SIZE >= INET6_ADDRSTRLEN + 8, "an address and its width");

bool view_subnet_of(const char *address, char subnet[VIEW_SUBNET_SIZE])
{
    char host[INET6_ADDRSTRLEN + 1] = "", text[INET6_ADDRSTRLEN];
    struct in6_addr six = {0};
    struct in_addr four;
    bool brackets = address != NULL && address[0] == '[';
    size_t size = address == NULL ? 0 : strcspn(address + brackets, brackets ? "]" : ":");

    if (size == 0 || size >= sizeof(host))
        return false;
    memcpy(host, address + brackets, size);
    if (inet_pton(AF_INET, host, &four) == 1) {
        bool loop = ntohl(four.s_addr) >> 24 == 127;
        four.s_addr &= htonl(loop ? 0xff000000u : 0xffffff00u);
        snprintf(subnet, VIEW_SUBNET_SIZE, "%s/%d", inet_ntop(AF_INET, &four, text, sizeof(text)),
                 loop ? 8 : 24);
        return true;
    }
    if (inet_pton(AF_INET6, host, &six) != 1)
        return false;
    if (IN6_IS_ADDR_LOOPBACK(&six)) {
        snprintf(subnet, VIEW_SUBNET_SIZE, "::1/128");
        return true;
    }
    memset(six.s6_addr + 8, 0, 8);
    snprintf(subnet, VIEW_SUBNET_SIZE, "%s/64", inet_ntop(AF_INET6, &six, text, sizeof(text)));
    return true;
}

static struct totals *subnet_totals(struct view_figures *figures, const char *subnet)
{
    return totals_of(figures, hash_bytes(4, subnet, strlen(subnet)));
}

static int add_traffic(struct view_figures *figures, const char *subnet, double bytes)
{
    struct totals *totals = subnet_totals(figures, subnet);

    if (totals == NULL)
        return -ENOMEM;
    if (totals->instance == 0)
        totals->instance =
            view_model_instance(figures->model, "subnet", 0, subnet, NULL, figures->problem);
    totals->traffic += bytes;
    return totals->instance < 0 ? (int)totals->instance : 0;
}

static int store_subnet(struct view_figures *figures, const char *subnet)
{
    struct totals *totals = subnet_totals(figures, subnet);

    if (totals == NULL)
        return -ENOMEM;
    if (totals->traffic < 0)
        return 0; /* stored already */
    const struct figure traffic = {"traffic", rate(figures, totals, 0, totals->traffic),
                                   figures->communication->sizes_unknown};
    totals->traffic = -1;
    return set(figures, totals->instance, &traffic, NULL);
}

typedef int for_subnet(struct view_figures *figures, const char *subnet, double bytes);

static int each_subnet(struct view_figures *figures, for_subnet *visit)
{
    const struct communication *communication = figures->communication;
    char one[VIEW_SUBNET_SIZE], other[VIEW_SUBNET_SIZE];
    int result = 0;

    for (size_t i = 0; i < communication->path_count && result == 0; i++) {
        const struct communication_path *path = &communication->paths[i];
        double bytes = (double)(path->sent.bytes + path->received.bytes);
        bool local = view_subnet_of(path->local, one), remote = view_subnet_of(path->remote, other);
        if (local)
            result = visit(figures, one, bytes);
        if (result == 0 && remote && !(local && strcmp(one, other) == 0))
            result = visit(figures, other, bytes);
    }
    return result;
}

static int begin_sum(struct view_figures *figures, const char *subnet, double bytes)
{
    struct totals *totals = subnet_totals(figures, subnet);

    (void)bytes;
    if (totals != NULL)
        totals->traffic = 0;
    return totals == NULL ? -ENOMEM : 0;
}

static int finish_sum(struct view_figures *figures, const char *subnet, double bytes)
{
    (void)bytes;
    return store_subnet(figures, subnet);
}

static int store_subnets(struct view_figures *figures)
{
    int result = each_subnet(figures, begin_sum);

    if (result == 0)
        result = each_subnet(figures, add_traffic);
    return result < 0 ? result : each_subnet(figures, finish_sum);
}

int view_figures_store(struct view_figures *figures, const struct communication *communication,
                       uint64_t time, uint64_t elapsed, struct problem *problem)
{
    figures->communication = communication;
    figures->time = time;
    figures->seconds = (double)elapsed / 1e9;
    figures->problem = problem;
    int result = view_model_begin(figures->model, problem);
    if (result < 0)
        return result;
    result = store_processes(figures);
    if (result == 0)
        result = store_pairs(figures);
    for (size_t i = 0; i < communication->machine_count && result == 0; i++)
        result = store_machine(figures, i);
    if (result == 0)
        result = store_subnets(figures);
    int committed = view_model_commit(figures->model, problem);
    return result < 0 ? result : committed;
}
