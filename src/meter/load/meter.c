/* SPDX-License-Identifier: MIT */
/* meter.c: loads the kernel meter, attaches its hooks, and lists what is metered. See meter.h. */
#include "meter/load/meter.h"

#include "meter/load/change.h"
#include "meter/load/iterate.h"
#include "meter/load/last_records.h"
#include "meter/load/libbpf_ways.h"
#include "meter/load/mark.h"
#include "meter/load/meter_types.h"
#include "meter/rings/selection_memory.h"
#include "meter/shared/survey.h"

#include "meter.skel.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define DEFAULT_RING_SIZE       (16u << 20)
#define LEAST_CONTROL_RING_SIZE (1u << 20)
#define LEAST_ENTRIES           (1u << 16)
#define MOST_ENTRIES            (1u << 20)

/* The size of a BPF ring is a power of two and at least a page. */
static uint32_t ring_size(uint32_t asked)
{
    uint32_t size = (uint32_t)sysconf(_SC_PAGESIZE);

    while (size < asked && size < 1u << 30)
        size *= 2;
    return size;
}

/* Bytes by which a ring may grow before the reader is woken. A small part of it: the reader may have to wait for a
 * CPU. But no few records, even in the smallest ring. */
#define WAKE_PART  16
#define WAKE_LEAST 2048

static uint32_t wake_every(uint32_t size)
{
    return size / WAKE_PART < WAKE_LEAST ? WAKE_LEAST : size / WAKE_PART;
}

void meter_ring_sizes(uint32_t asked, uint32_t ret_sizes[RING_COUNT])
{
    uint32_t data = ring_size(asked == 0 ? DEFAULT_RING_SIZE : asked);

    ret_sizes[RING_DATA] = data;
    ret_sizes[RING_CONTROL] =
        data / 4 < LEAST_CONTROL_RING_SIZE ? LEAST_CONTROL_RING_SIZE : data / 4;
}

uint64_t meter_default_rings(void)
{
    uint32_t sizes[RING_COUNT];
    uint64_t all = 0;

    meter_ring_sizes(0, sizes);
    for (size_t i = 0; i < RING_COUNT; i++)
        all += sizes[i];
    return all;
}

static bool may_load(void)
{
    return have_capability(CAP_SYS_ADMIN) ||
           (have_capability(CAP_BPF) && have_capability(CAP_PERFMON));
}

static int cannot_load(int error, struct problem *problem)
{
    /* without privilege either error occurs; with it, EACCES is the verifier's */
    if (error == -EPERM ||
        (error == -EACCES && !have_capability(CAP_BPF) && !have_capability(CAP_SYS_ADMIN)))
        return problem_set(problem, -EPERM, "the kernel meter needs CAP_BPF and CAP_PERFMON%s",
                           privilege_advice());
    return problem_set(
        problem, error,
        "the kernel refused the meter: %s; DPM_DEBUG=1 shows its reasons (see dpm check)",
        strerror(-error));
}

static struct bpf_program *program_of(const struct meter *meter, const struct hook *hook)
{
    return bpf_object__find_program_by_name(meter->kernel->obj, hook->program);
}

static int attach_hook(struct meter *meter, size_t i, struct problem *problem)
{
    struct bpf_program *program = program_of(meter, &hooks[i]);
    struct bpf_link *link = hooks[i].way == WAY_CGROUP
                                ? bpf_program__attach_cgroup(program, meter->cgroup)
                                : bpf_program__attach(program);
    if (link == NULL)
        return problem_set(problem, -errno, "cannot attach to the hook %s: %s (see dpm check)",
                           hooks[i].program, strerror(errno));
    meter->links[i] = link;
    return 0;
}

int meter_attach(struct meter *meter, uint64_t told, uint32_t kinds, struct problem *problem)
{
    int result = 0;

    for (size_t i = 0; i < hook_count && result == 0; i++) {
        bool needed = meter->choices[i] == HOOK_CHOSEN &&
                      (hook_counts(&hooks[i]) || hook_needed(&hooks[i], told, kinds));
        if (needed && meter->links[i] == NULL)
            result = attach_hook(meter, i, problem);
        if (!needed && meter->links[i] != NULL) {
            bpf_link__destroy(meter->links[i]);
            meter->links[i] = NULL;
        }
    }
    return result;
}

/* ---- choice of hooks ---- */

static void leave_out_udp(struct meter *meter, const char *need, const char *why)
{
    meter->kinds &= ~METER_UDP;
    snprintf(meter->left_out, sizeof(meter->left_out), "UDP is not metered: its hooks need %s%s",
             need, why);
}

/* UDP may need control group hooks, which need more privilege than the rest of the meter. */
static void open_cgroup(struct meter *meter)
{
    if (!have_capability(CAP_NET_ADMIN)) {
        leave_out_udp(meter, "CAP_NET_ADMIN", "");
        return;
    }
    meter->cgroup = cgroup_root_open();
    if (meter->cgroup < 0)
        leave_out_udp(meter, "the cgroup2 hierarchy: ", strerror(-meter->cgroup));
    else if (!cgroup_is_machine_root(meter->cgroup)) {
        meter->cgroup_is_part = true;
        snprintf(meter->left_out, sizeof(meter->left_out),
                 "UDP is metered only for processes in this container: its hooks see no other "
                 "cgroups from here; start the container with the host's cgroup namespace "
                 "(docker run --cgroupns=host)");
    }
}

static bool needs_udp(const struct meter *meter)
{
    bool needed = false;

    for (size_t i = 0; i < hook_count; i++)
        needed = needed ||
                 (hooks[i].duty == DUTY_UDP && hook_needed(&hooks[i], meter->flags, meter->kinds));
    return needed;
}

/* Flags of events that this kernel cannot report: it may be built without CONFIG_SCHED_INFO. */
static uint64_t unknown_flags(const struct offers *offers)
{
    return type_has_member(offers->types, "sched_info", "run_delay") ? 0
                                                                     : EVENT_FLAG(EVENT_SCHEDULE);
}

/* Chooses the hooks, and what to leave out. */
static int choose_hooks(struct meter *meter, const struct meter_options *options,
                        struct problem *problem)
{
    struct offers offers;

    if (!may_load())
        return cannot_load(-EPERM, problem);
    if (offers_look(&offers, true) < 0)
        return hooks_explain_no_types(problem);
    if (!offers.casts && !have_capability(CAP_SYS_ADMIN)) {
        offers_done(&offers);
        return problem_set(problem, -EPERM,
                           "before Linux 6.2 the kernel meter needs CAP_SYS_ADMIN%s",
                           privilege_advice());
    }
    if (needs_udp(meter)) {
        enum hook_way way = hook_way_of(&offers, DUTY_UDP, meter->flags, meter->kinds);
        if (way == WAY_CGROUP)
            open_cgroup(meter);
        else if (way == WAY_NONE)
            leave_out_udp(meter, "BPF trampolines, or Linux 6.16", "");
    }
    hooks_choose(&offers, meter->flags, meter->kinds, meter->choices);
    int result = hooks_missing(&offers, meter->choices, problem);
    meter->exit_tells_last = tracepoint_arguments(offers.types, "sched_process_exit") > 1;
    meter->probes_at_once = function_exists(offers.types, "bpf_uprobe_multi_link_attach");
    meter->interface.unknown_flags = unknown_flags(&offers);
    if ((meter->flags & meter->interface.unknown_flags) != 0 && meter->left_out[0] == '\0')
        snprintf(meter->left_out, sizeof(meter->left_out),
                 "SCHEDULE is not recorded: this kernel is built without CONFIG_SCHED_INFO");
    meter->flags &= ~meter->interface.unknown_flags;
    meter->told &= meter->flags;
    meter->kinds_told &= meter->kinds;
    meter->interface.kinds = meter->kinds_told;
    meter->interface.later_kinds = options->later_kinds == 0 ? 0 : meter->kinds;
    offers_done(&offers);
    if (result == 0 && meter->kinds_told == 0)
        return problem_set(problem, -EPERM, "%s, and --kinds asks for nothing else",
                           meter->left_out);
    return result;
}

/* ---- loading ---- */

int meter_ring(const struct meter_interface *interface, enum ring_id ring, uint32_t *ret_size)
{
    const struct meter_bpf *kernel = meter_of(interface)->kernel;
    const struct bpf_map *map =
        ring == RING_CONTROL ? kernel->maps.control_ring : kernel->maps.data_ring;

    *ret_size = bpf_map__max_entries(map);
    return bpf_map__fd(map);
}

static int open_rings(struct meter *meter)
{
    int result = 0;

    for (size_t i = 0; i < RING_COUNT && result == 0; i++) {
        uint32_t size;
        int descriptor = meter_ring(&meter->interface, (enum ring_id)i, &size);
        result = ring_reader_open(&meter->reader, (enum ring_id)i, descriptor, size);
        if (result == 0)
            result = ring_reader_watch(&meter->reader, descriptor);
    }
    return result;
}

/* How many paths, sockets, pipes ... of each kind can be in use at a time: a power of two, one for each 256 KiB of the
 * machine's memory. The kernel allocates tables of that size, which is a quarter of the time that loading takes. */
static uint32_t table_entries(void)
{
    const uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    uint32_t entries = LEAST_ENTRIES;

    while (entries < MOST_ENTRIES && (uint64_t)entries * 2 * 256 * 1024 <= memory)
        entries *= 2;
    return entries;
}

/* Maps for kinds of paths that are not metered stay empty. */
static void size_maps(struct meter_bpf *kernel, uint32_t kinds)
{
    const struct {
        struct bpf_map *map;
        uint32_t kinds;
    } sized[] = {
        {kernel->maps.pairs, METER_UNIX},
        {kernel->maps.incoming, METER_UNIX},
        {kernel->maps.pipes, METER_PIPE},
        {kernel->maps.udp_paths, METER_UDP},
        {kernel->maps.files, METER_FILE},
        {kernel->maps.queues, METER_MQ},
        {kernel->maps.udp_peers, METER_UDP},
        {kernel->maps.inbox, METER_UDP},
        {kernel->maps.accepted, METER_TCP},
        {kernel->maps.connectors, METER_TCP},
        {kernel->maps.outcomes, METER_TCP},
        {kernel->maps.path_of_inode, UINT32_MAX},
        {kernel->maps.made_sockets, METER_TCP | METER_UDP | METER_UNIX},
        {kernel->maps.mpi_paths, METER_MPI},
        {kernel->maps.mpi_processes, METER_MPI},
        {kernel->maps.mpi_requests, METER_MPI},
        {kernel->maps.mpi_communicators, METER_MPI},
    };
    const uint32_t entries = table_entries();

    for (size_t i = 0; i < ARRAY_SIZE(sized); i++)
        bpf_map__set_max_entries(sized[i].map, (kinds & sized[i].kinds) != 0 ? entries : 1);
    kernel->rodata->most_udp_paths = entries;
}

static void choose_mpi(struct meter_bpf *kernel, bool chosen)
{
    bpf_program__set_autoload(kernel->progs.mpi_begins, chosen);
    bpf_program__set_autoload(kernel->progs.mpi_ends, chosen);
    bpf_program__set_autoload(kernel->progs.mpi_request_begins, chosen);
    bpf_program__set_autoload(kernel->progs.mpi_making_begins, chosen);
    bpf_program__set_autoload(kernel->progs.mpi_making_ends, chosen);
}

/* Whether the end of each system call is hooked. */
static bool sees_calls_end(const struct meter *meter)
{
    for (size_t i = 0; i < hook_count; i++)
        if (strcmp(hooks[i].program, "sys_exit") == 0)
            return meter->choices[i] == HOOK_CHOSEN;
    return false;
}

/* A user who is not root may meter what that user may trace, rights.bpf.h. */
static void limit_to_user(struct meter_bpf *kernel, const struct meter_options *options)
{
    const struct meter_user own = {getuid(), getgid(), permitted_capabilities()};
    const struct meter_user *user = options->user;

    kernel->rodata->for_others = options->served;
    if (!options->served && getuid() != 0 && !have_capability(CAP_SYS_PTRACE))
        user = &own;
    if (user == NULL)
        return;
    kernel->rodata->own_only = true;
    kernel->rodata->own_user = user->user;
    kernel->rodata->own_group = user->group;
    kernel->rodata->own_capabilities = user->capabilities;
}

static int load(struct meter *meter, const struct meter_options *options, struct problem *problem)
{
    LIBBPF_OPTS(bpf_object_open_opts, opening, .btf_custom_path = types_to_read());
    uint32_t sizes[RING_COUNT];

    meter->kernel = meter_bpf__open_opts(&opening);
    if (meter->kernel == NULL)
        return cannot_load(-errno, problem);
    meter->generation = meter->kernel->bss->mark_generation = meter->kernel->bss->begun = 1;
    meter->kernel->rodata->flags_in_force = meter->flags;
    meter->kernel->bss->told_now = meter->told;
    meter->kernel->bss->kinds_now = meter->kinds_told;
    meter->kernel->rodata->kinds_change = options->later_kinds != 0;
    meter->kernel->rodata->selects = options->selects;
    bpf_map__set_autocreate(meter->kernel->maps.selections, options->selects);
    meter->kernel->rodata->coarse_time = options->coarse_time;
    meter->kernel->rodata->first_sequence = options->first_sequence;
    meter->kernel->rodata->first_lost = options->first_lost;
    meter->kernel->bss->last_path = options->first_path;
    meter->kernel->rodata->own_network = meter->sockets.network;
    meter_ring_sizes(options->ring_size, sizes);
    meter->kernel->rodata->wake_every = wake_every(sizes[RING_DATA]);
    bpf_map__set_max_entries(meter->kernel->maps.data_ring, sizes[RING_DATA]);
    bpf_map__set_max_entries(meter->kernel->maps.control_ring, sizes[RING_CONTROL]);
    meter->kernel->rodata->kinds_in_force =
        needs_udp(meter) ? meter->kinds : meter->kinds & ~METER_UDP;
    meter->kernel->rodata->exit_tells_last = meter->exit_tells_last;
    meter->kernel->rodata->calls_end = sees_calls_end(meter);
    limit_to_user(meter->kernel, options);
    size_maps(meter->kernel, meter->kernel->rodata->kinds_in_force);
    for (size_t i = 0; i < hook_count; i++)
        bpf_program__set_autoload(program_of(meter, &hooks[i]), meter->choices[i] == HOOK_CHOSEN);
    bpf_program__set_autoload(meter->kernel->progs.library_sensor, options->libraries);
    choose_mpi(meter->kernel, (meter->kinds & METER_MPI) != 0);
    meter_probes_choose(meter);
    int result = meter_bpf__load(meter->kernel);
    if (result < 0)
        return cannot_load(result, problem);
    result = options->served ? 0 : open_rings(meter);
    if (result < 0)
        return problem_set(problem, result, "cannot map the meter's rings: %s", strerror(-result));
    if (options->selects && !options->served)
        result = selection_map(meter_selection(&meter->interface), &meter->interface.selection);
    if (result < 0)
        return problem_set(problem, result, "cannot map the meter's rules: %s", strerror(-result));
    return 0;
}

int meter_selection(const struct meter_interface *interface)
{
    const struct meter *meter = meter_of(interface);

    return meter->kernel->rodata->selects ? bpf_map__fd(meter->kernel->maps.selections) : -ENOENT;
}

uint64_t ring_lost(const struct meter *meter, enum ring_id ring)
{
    return __atomic_load_n(&meter->kernel->bss->lost[ring], __ATOMIC_RELAXED);
}

static uint64_t meter_lost(const struct meter_interface *interface, enum ring_id ring)
{
    const struct meter *meter = meter_of(interface);

    return ring_lost(meter, ring) +
           (ring == RING_DATA ? meter->skipped.reported + meter->skipped.pathless : 0);
}

/* ---- live processes ---- */

struct process_list {
    struct meter_process *list;
    size_t count;
    size_t capacity;
    struct intern seen;
};

static int add_process(const void *line, void *context)
{
    const struct survey_stream *stream = line;
    struct process_list *processes = context;
    int64_t index = intern_add(&processes->seen, stream->identity.pid);

    if (index < 0)
        return (int)index;
    if ((size_t)index < processes->count)
        return 0;
    int result = array_reserve(&processes->list, &processes->capacity, processes->count + 1,
                               sizeof(*processes->list));
    if (result < 0)
        return result;
    struct meter_process *process = &processes->list[processes->count++];
    process->pid = (pid_t)stream->identity.pid;
    memcpy(process->name, stream->identity.name, sizeof(process->name));
    process->name[sizeof(process->name) - 1] = '\0';
    return 0;
}

static uint32_t live(const struct meter_interface *interface)
{
    const struct meter *meter = meter_of(interface);

    return skipped_ends(meter) ? 0 : meter->kernel->bss->live;
}

static int list_processes(struct meter_interface *interface, struct meter_process **ret_list,
                          size_t *ret_count, struct problem *problem)
{
    struct process_list processes = {0};
    int result = iterate(meter_of(interface)->kernel->progs.survey_streams, 0,
                         sizeof(struct survey_stream), add_process, &processes);

    intern_done(&processes.seen);
    if (result < 0) {
        free(processes.list);
        return problem_set(problem, result, "cannot list the metered processes: %s",
                           strerror(-result));
    }
    *ret_list = processes.list;
    *ret_count = processes.count;
    return 0;
}

/* ---- the end ---- */

static void detach(struct meter_interface *interface)
{
    struct meter *meter = meter_of(interface);

    if (meter->detached)
        return;
    /* Silences all streams first. Hooks are detached one after the other, some milliseconds each, and the remaining
     * ones would record events incompletely. */
    __atomic_store_n(&meter->kernel->bss->begun, 0, __ATOMIC_SEQ_CST);
    for (size_t i = 0; i < hook_count; i++) {
        bpf_link__destroy(meter->links[i]);
        meter->links[i] = NULL;
    }
    meter_probes_done(meter);
    meter->detached = true;
    if (meter->kinds & METER_FILE) {
        meter->kernel->bss->metering_ends = 1;
        run_once(meter->kernel->progs.sweep_files);
    }
    ring_reader_end(&meter->reader);
    /* lets a program that is running on another CPU finish its record */
    usleep(2000);
}

static void close_meter(struct meter_interface *interface)
{
    struct meter *meter = meter_of(interface);

    if (meter->kernel != NULL) {
        detach(interface);
        ring_reader_close(&meter->reader);
        selection_unmap(meter->interface.selection);
        meter_bpf__destroy(meter->kernel);
    }
    if (meter->cgroup >= 0)
        close(meter->cgroup);
    meter_cost_close(&meter->cost);
    open_sockets_done(&meter->sockets);
    free(meter);
}

/* ---- what was not recorded ---- */

/* Reports the count in one line unless it is 0. */
static void report_count(uint64_t count, const char *what,
                         void (*line)(const char *sentence, void *context), void *context)
{
    char text[256];

    if (count == 0)
        return;
    snprintf(text, sizeof(text), "%" PRIu64 " %s", count, what);
    line(text, context);
}

void meter_full_text(uint32_t size, char ret_text[METER_FULL_TEXT_SIZE])
{
    const unsigned mib = size >> 20, larger = mib == 0 ? 1 : mib >= 256 ? 1024 : mib * 4;
    int length = snprintf(ret_text, METER_FULL_TEXT_SIZE,
                          "a buffer was full: record less (processes, flags, kinds, rules)");
    if (mib < 1024)
        snprintf(ret_text + length, METER_FULL_TEXT_SIZE - (size_t)length,
                 "; dpm run and dpm acquire can use a larger one, e.g. --ring %uM", larger);
}

/* The same with the number last: the words fit one and many. */
static void report_number(uint64_t count, const char *what,
                          void (*line)(const char *sentence, void *context), void *context)
{
    char text[256];

    if (count == 0)
        return;
    snprintf(text, sizeof(text), "%s: %" PRIu64, what, count);
    line(text, context);
}

/* Reports the processes that were left when they gained privilege. */
static void report_gained(const struct meter *meter,
                          void (*line)(const char *sentence, void *context), void *context)
{
    const struct meter_bpf__bss *bss = meter->kernel->bss;
    uint32_t count = __atomic_load_n(&bss->gained, __ATOMIC_RELAXED);
    char text[256];

    if (count == 0)
        return;
    snprintf(text, sizeof(text),
             "%" PRIu32 " process%s executed a program that gains privilege (%s%.16s), and %s not "
             "metered from there on; run dpm as root to meter %s",
             count, count == 1 ? "" : "es", count == 1 ? "" : "the first: ", bss->gained_name,
             count == 1 ? "is" : "are", count == 1 ? "it" : "them");
    line(text, context);
}

static void report(const struct meter_interface *interface,
                   void (*line)(const char *sentence, void *context), void *context)
{
    const struct meter *meter = meter_of(interface);
    const struct meter_bpf__bss *counts = meter->kernel->bss;
    uint64_t pathless = __atomic_load_n(&counts->pathless, __ATOMIC_RELAXED);
    uint64_t lost_paths = __atomic_load_n(&counts->lost_paths, __ATOMIC_RELAXED);
    char text[METER_FULL_TEXT_SIZE];

    if (__atomic_load_n(&counts->numbers_ended, __ATOMIC_RELAXED) != 0) {
        line("the numbers of connections and files are used up: begin a new recording", context);
    } else if (ring_lost(meter, RING_CONTROL) + ring_lost(meter, RING_DATA) > 0) {
        meter_full_text(bpf_map__max_entries(meter->kernel->maps.data_ring), text);
        line(text, context);
    }
    report_gained(meter, line, context);
    report_count(pathless,
                 pathless == 1
                     ? "message or use of a file is lost: there was no memory for its connection "
                       "or file, or there were too many; how this begins and ends may be missing, "
                       "too"
                     : "messages or uses of files are lost: there was no memory for their "
                       "connections or files, or there were too many; how these begin and end may "
                       "be missing, too",
                 line, context);
    report_count(pathless > 0 ? 0 : lost_paths,
                 lost_paths == 1
                     ? "time there was no memory for what is known of a connection or file, or "
                       "there were too many: how this begins or ends may be missing"
                     : "times there was no memory for what is known of a connection or file, or "
                       "there were too many: how these begin or end may be missing",
                 line, context);
    report_number(
        __atomic_load_n(&counts->resettled, __ATOMIC_RELAXED),
        "older UNIX sockets whose first offsets are too large (several threads were sending "
        "when the recording began)",
        line, context);
    report_number(__atomic_load_n(&counts->mpi_other_communicators, __ATOMIC_RELAXED),
                  "MPI calls that are not recorded (how their communicator was made, or the rank "
                  "in it, is not known)",
                  line, context);
    report_number(__atomic_load_n(&counts->mpi_unknown_sources, __ATOMIC_RELAXED),
                  "messages from MPI_ANY_SOURCE that are not recorded (without a status their "
                  "sender is not known)",
                  line, context);
    report_number(__atomic_load_n(&counts->lost_datagrams, __ATOMIC_RELAXED),
                  "received UDP datagrams without a known sender (several threads received from a "
                  "socket at once, or memory was short)",
                  line, context);
}

/* ---- its records ---- */

int meter_look(struct meter_interface *interface)
{
    return skipped_look(meter_of(interface));
}

/* Notes the sockets that the sweep looks for. */
int meter_note(struct meter_interface *interface, const struct record_header *record)
{
    struct open_sockets *sockets = &meter_of(interface)->sockets;

    if (record->id == EVENT_PATH)
        return open_sockets_add(sockets, (const struct path_record *)record);
    if (record->id == EVENT_DESTROYPATH)
        open_sockets_end(sockets, ((const struct record *)record)->message.path);
    return 0;
}

int meter_last_records(struct meter_interface *interface, uint64_t time,
                       const uint64_t told_lost[RING_COUNT])
{
    return last_records_add(meter_of(interface), time, told_lost);
}

uint64_t meter_skipped(const struct meter_interface *interface)
{
    return meter_of(interface)->skipped.reported;
}

struct record_queue *meter_added(struct meter_interface *interface)
{
    return &meter_of(interface)->reader.own;
}

/* ring_extra's functions, for our own reader. */
static int look(void *loader)
{
    return meter_look(loader);
}

static int note(void *loader, const struct record_header *record)
{
    return meter_note(loader, record);
}

static int last_records(void *loader, uint64_t time, const uint64_t told_lost[RING_COUNT])
{
    return meter_last_records(loader, time, told_lost);
}

static int next_record(struct source *source, struct event *ret_event, uint64_t *ret_complete,
                       struct problem *problem)
{
    struct meter *meter = (struct meter *)source;
    const struct meter_interface *interface = &meter->interface;
    int result = ring_reader_next(&meter->reader, ret_event, ret_complete, problem);

    ring_reader_describe(&meter->reader, result, meter->skipped.reported,
                         meter_lost(interface, RING_CONTROL) + meter_lost(interface, RING_DATA),
                         &meter->interface.state);
    return result;
}

static uint64_t look_until(const struct meter_interface *interface)
{
    return meter_of(interface)->skipped.next;
}

static int descriptor(const struct source *source)
{
    return ring_reader_descriptor(&((const struct meter *)source)->reader);
}

/* ---- everything ---- */

static const struct meter_interface kernel_meter = {
    .kind = METER_KERNEL,
    .descriptor = -1,
    .mark = meter_mark,
    .acquire = meter_acquire,
    .begin = meter_begin,
    .change = meter_change,
    .live = live,
    .processes = list_processes,
    .sweep = meter_sweep,
    .look_until = look_until,
    .measure = meter_measure,
    .time_per_record = meter_time_per_record,
    .lost = meter_lost,
    .stop = detach,
    .detach = detach,
    .report = report,
    .close = close_meter,
};

int meter_open(const struct meter_options *options, struct meter_interface **ret_meter,
               struct problem *problem)
{
    struct meter *meter = calloc(1, sizeof(*meter));

    if (meter == NULL)
        return problem_set(problem, -ENOMEM, "out of memory");
    meter->cost.counting = -1;
    meter->skipped.before = options->first_skipped;
    meter->flags = options->flags | options->later_flags;
    meter->told = options->flags;
    meter->interface = kernel_meter;
    meter->interface.source = (struct source){next_record, 1, &meter->interface.state, descriptor};
    meter->kinds_told = options->kinds == 0 ? METER_ALL_KINDS : options->kinds;
    meter->kinds = meter->kinds_told | options->later_kinds;
    meter->interface.probe =
        options->libraries || (meter->kinds & METER_MPI) != 0 ? meter_probe : NULL;
    meter->reader.extra = (struct ring_extra){meter, look, note, last_records};
    open_sockets_init(&meter->sockets);
    meter->cgroup = -1;
    quiet_libbpf();
    int result = choose_hooks(meter, options, problem);
    if (result == 0)
        result = load(meter, options, problem);
    if (result == 0)
        result = meter_attach(meter, meter->told, meter->kinds_told, problem);
    if (result == 0 && meter_note_own(&meter->interface, getpid()) < 0)
        result = problem_set(problem, -EIO, "cannot find our own program file in the kernel");
    if (result < 0) {
        close_meter(&meter->interface);
        return result;
    }
    meter->interface.left_out = meter->left_out[0] == '\0' ? NULL : meter->left_out;
    *ret_meter = &meter->interface;
    return 0;
}
