/* SPDX-License-Identifier: MIT */
/*
 * trial.c: whether this kernel takes the meter, found out by trying: the whole of it, and each of
 * its programs alone where the whole is refused. See probe.h.
 */
#include "meter/load/meter_private.h"
#include "meter/load/probe.h"

#include "meter.skel.h"

#include <bpf/btf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOG_SIZE (1u << 20) /* of the verifier: the reason is at its end */

static bool is_iterator(struct bpf_program *program)
{
    return bpf_program__expected_attach_type(program) == BPF_TRACE_ITER;
}

/* Opens an iterator, and reads nothing: that would run it. */
static int try_iterator(struct bpf_program *program)
{
    struct bpf_link *link = bpf_program__attach_iter(program, NULL);

    if (link == NULL)
        return -errno;
    int fd = bpf_iter_create(bpf_link__fd(link));
    int result = fd < 0 ? -errno : 0;
    if (fd >= 0)
        close(fd);
    bpf_link__destroy(link);
    return result;
}

int trial_whole(uint32_t flags, char ret_left_out[TRIAL_REASON_SIZE], struct problem *problem)
{
    const struct meter_options options = {.flags = flags};
    struct bpf_program *program;
    struct meter_interface *meter;
    int result = meter_open(&options, &meter, problem);

    ret_left_out[0] = '\0';
    if (result < 0)
        return result;
    if (meter->left_out != NULL)
        snprintf(ret_left_out, TRIAL_REASON_SIZE, "%s", meter->left_out);
    bpf_object__for_each_program(program, meter_of(meter)->kernel->obj)
    {
        if (result < 0 || !is_iterator(program))
            continue;
        result = try_iterator(program);
        if (result < 0)
            problem_set(problem, result, "cannot open the iterator %s: %s",
                        bpf_program__name(program), strerror(-result));
    }
    meter->close(meter);
    return result;
}

/* ---- each program ---- */

static enum answer answer(bool yes)
{
    return yes ? ANSWER_YES : ANSWER_NO;
}

void trial_kernel(struct probe *probe)
{
    bool may_try = checks_allow_trial(probe);
    struct offers offers;

    if (probe->bpf == PROBE_KILLED || probe->types != 0)
        return;
    quiet_libbpf();
    if (offers_look(&offers, may_try) == 0) {
        probe->casts = answer(offers.casts);
        if (may_try)
            probe->trampolines = answer(offers.trampolines);
    }
    offers_done(&offers);
}

static const struct hook *find_hook(const char *program, size_t *ret_place)
{
    for (size_t i = 0; i < hook_count; i++)
        if (strcmp(hooks[i].program, program) == 0) {
            *ret_place = i;
            return &hooks[i];
        }
    return NULL;
}

/* What the table of hooks does not have: iterators, and programs that are attached to nothing. */
static enum answer is_offered(const struct btf *types, const char *section)
{
    if (strncmp(section, "iter/", 5) == 0)
        return iterator_exists(types, section + 5) ? ANSWER_YES : ANSWER_NO;
    return ANSWER_UNKNOWN;
}

struct trial_list {
    struct trial_program *list;
    size_t count;
    size_t capacity;
};

static int add_program(struct trial_list *programs, const struct bpf_program *program,
                       enum answer offered)
{
    int result = array_reserve(&programs->list, &programs->capacity, programs->count + 1,
                               sizeof(*programs->list));

    if (result < 0)
        return result;
    struct trial_program *line = &programs->list[programs->count++];
    *line = (struct trial_program){.offered = offered};
    snprintf(line->name, sizeof(line->name), "%s", bpf_program__name(program));
    snprintf(line->section, sizeof(line->section), "%s", bpf_program__section_name(program));
    return 0;
}

/* Those that a recording with all flags takes here, and those that are missing for it. */
static int list_programs(struct meter_bpf *kernel, const struct offers *offers,
                         struct trial_list *programs)
{
    enum hook_choice choices[HOOKS_MOST];
    struct bpf_program *program;
    size_t place;

    if (offers->types != NULL)
        hooks_choose(offers, METER_ALL_FLAGS, METER_ALL_KINDS, choices);
    bpf_object__for_each_program(program, kernel->obj)
    {
        const struct hook *hook = find_hook(bpf_program__name(program), &place);
        enum answer offered = ANSWER_UNKNOWN;
        if (offers->types != NULL && hook != NULL && choices[place] == HOOK_UNUSED)
            continue;
        if (offers->types != NULL && hook != NULL)
            offered = choices[place] == HOOK_CHOSEN ? ANSWER_YES : ANSWER_NO;
        else if (offers->types != NULL)
            offered = is_offered(offers->types, bpf_program__section_name(program));
        int result = add_program(programs, program, offered);
        if (result < 0)
            return result;
    }
    return 0;
}

int trial_programs(bool may_try, struct trial_program **ret_list)
{
    struct trial_list programs = {0};
    struct offers offers;

    quiet_libbpf();
    struct meter_bpf *kernel = meter_bpf__open();
    if (kernel == NULL)
        return -errno;
    (void)offers_look(&offers, may_try); /* without the types nothing is known */
    int result = list_programs(kernel, &offers, &programs);
    offers_done(&offers);
    meter_bpf__destroy(kernel);
    if (result < 0) {
        free(programs.list);
        return result;
    }
    *ret_list = programs.list;
    return (int)programs.count;
}

/* The log ends with the reason and with figures of what the verifier did; libbpf adds lines about
 * members of kernel types that are missing. */
void trial_reason(const char *log, char ret_reason[TRIAL_REASON_SIZE])
{
    static const char *const figures[] = {"processed ", "verification time ", "stack depth ", "--",
                                          "max_states"};
    size_t length;

    ret_reason[0] = '\0';
    for (const char *line = log; *line != '\0'; line += length + (line[length] == '\n')) {
        length = strcspn(line, "\n");
        bool figure = length == 0;
        for (size_t i = 0; i < ARRAY_SIZE(figures); i++)
            figure = figure || strncmp(line, figures[i], strlen(figures[i])) == 0;
        if (!figure)
            snprintf(ret_reason, TRIAL_REASON_SIZE, "%.*s", (int)length, line);
    }
}

/* Loads and attaches the one program of `kernel` that is to be loaded. */
static int load_one(struct meter_bpf *kernel, struct bpf_program *program)
{
    int result = meter_bpf__load(kernel);

    if (result < 0)
        return result;
    if (is_iterator(program))
        return try_iterator(program);
    if (bpf_program__type(program) != BPF_PROG_TYPE_TRACING)
        return 0; /* is attached to something of the user's: a control group, a program */
    struct bpf_link *link = bpf_program__attach(program);
    if (link == NULL)
        return -errno;
    bpf_link__destroy(link);
    return 0;
}

/* As choose_hooks() in meter.c finds out. */
static bool exit_tells_last(void)
{
    struct btf *types = btf__load_vmlinux_btf();
    bool tells = types != NULL && tracepoint_arguments(types, "sched_process_exit") > 1;

    btf__free(types);
    return tells;
}

int trial_one(const char *name, char ret_reason[TRIAL_REASON_SIZE])
{
    char *log = calloc(1, LOG_SIZE);
    LIBBPF_OPTS(bpf_object_open_opts, options, .kernel_log_buf = log, .kernel_log_size = LOG_SIZE,
                .btf_custom_path = types_to_read());
    struct bpf_program *program;

    if (log == NULL)
        return -ENOMEM;
    quiet_libbpf();
    struct meter_bpf *kernel = meter_bpf__open_opts(&options);
    int result = kernel == NULL ? -errno : 0;
    if (result == 0) {
        kernel->rodata->flags_in_force = METER_ALL_FLAGS;
        kernel->rodata->kinds_in_force = METER_ALL_KINDS;
        kernel->rodata->exit_tells_last = exit_tells_last();
        bpf_map__set_max_entries(kernel->maps.data_ring, (uint32_t)sysconf(_SC_PAGESIZE));
        bpf_map__set_max_entries(kernel->maps.control_ring, (uint32_t)sysconf(_SC_PAGESIZE));
        bpf_object__for_each_program(program, kernel->obj)
            bpf_program__set_autoload(program, strcmp(bpf_program__name(program), name) == 0);
        program = bpf_object__find_program_by_name(kernel->obj, name);
        result = program == NULL ? -ENOENT : load_one(kernel, program);
    }
    meter_bpf__destroy(kernel);
    if (result < 0)
        trial_reason(log, ret_reason);
    if (result < 0 && ret_reason[0] == '\0')
        snprintf(ret_reason, TRIAL_REASON_SIZE, "%s", strerror(-result));
    free(log);
    return result;
}
