/* SPDX-License-Identifier: MIT */
/* process_tree.c: which processes descend from which. See process_tree.h. */
#include "recorder/process_tree.h"

#include "base/process.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- reading ---- */

static int by_pid(const void *one, const void *other)
{
    pid_t pid = ((const struct tree_process *)one)->pid;
    pid_t other_pid = ((const struct tree_process *)other)->pid;

    return (pid > other_pid) - (pid < other_pid);
}

/* NULL: there is none. */
static const struct tree_process *find(const struct process_tree *tree, pid_t pid)
{
    const struct tree_process wanted = {.pid = pid};

    return tree->count == 0 ? NULL
                            : bsearch(&wanted, tree->list, tree->count, sizeof(wanted), by_pid);
}

static struct program_file file_of(pid_t pid)
{
    char path[64];
    struct stat status;

    snprintf(path, sizeof(path), "/proc/%d/exe", pid);
    return stat(path, &status) < 0 ? (struct program_file){0}
                                   : (struct program_file){status.st_dev, status.st_ino};
}

static void read_names(struct tree_process *process)
{
    char path[PATH_MAX];
    const char *slash = process_program(process->pid, path, sizeof(path)) ? strrchr(path, '/') : "";

    snprintf(process->program, sizeof(process->program), "%s", *slash == '\0' ? "" : slash + 1);
    process_name(process->pid, process->name, sizeof(process->name));
}

static int add(pid_t pid, void *context)
{
    struct process_tree *tree = context;
    pid_t parent = process_parent(pid);

    if (parent == 0) /* it has ended, or has no parent */
        return 0;
    if (array_reserve(&tree->list, &tree->room, tree->count + 1, sizeof(*tree->list)) < 0)
        return -ENOMEM;
    struct tree_process *process = &tree->list[tree->count++];
    *process = (struct tree_process){.pid = pid, .parent = parent, .file = file_of(pid)};
    read_names(process);
    return 0;
}

int process_tree_read(struct process_tree *tree, struct problem *problem)
{
    tree->count = 0;
    tree->self = getpid();
    tree->file = file_of(tree->self);
    int result = process_each(add, tree, problem);
    if (tree->count > 0)
        qsort(tree->list, tree->count, sizeof(*tree->list), by_pid);
    return result == -ENOMEM ? problem_set(problem, result, "out of memory") : result;
}

void process_tree_done(struct process_tree *tree)
{
    free(tree->list);
    *tree = (struct process_tree){0};
}

static bool same_file(const struct program_file *one, const struct program_file *other)
{
    return one->inode != 0 && one->inode == other->inode && one->device == other->device;
}

/* ---- masters ---- */

/* Programs that run the same program below them, but for others: */
static const char *const not_masters[] = {
    /* shells, whose subshells they are */
    "ash",
    "bash",
    "busybox",
    "csh",
    "dash",
    "elvish",
    "fish",
    "ksh",
    "ksh93",
    "mksh",
    "nu",
    "rc",
    "sh",
    "tcsh",
    "xonsh",
    "yash",
    "zsh",
    /* what begins sessions or changes users */
    "doas",
    "dropbear",
    "login",
    "runuser",
    "sshd",
    "sshd-auth",
    "sshd-session",
    "su",
    "sudo",
    /* terminals */
    "dtach",
    "mosh-server",
    "script",
    "screen",
    "tmux",
    "zellij",
    /* what starts services and jobs */
    "atd",
    "cron",
    "crond",
    "init",
    "runsv",
    "runsvdir",
    "s6-supervise",
    "s6-svscan",
    "systemd",
    "tini",
    "dumb-init",
};

static bool starts_others(const struct tree_process *process)
{
    if (process->pid == 1)
        return true;
    for (size_t i = 0; i < ARRAY_SIZE(not_masters); i++)
        if (strcmp(process->program, not_masters[i]) == 0)
            return true;
    return false;
}

bool process_tree_is_master(const struct process_tree *tree, pid_t pid)
{
    const struct tree_process *process = find(tree, pid);

    if (process == NULL || starts_others(process))
        return false;
    for (size_t i = 0; i < tree->count; i++)
        if (tree->list[i].parent == pid && same_file(&tree->list[i].file, &process->file))
            return true;
    return false;
}

/* ---- DPM's own ---- */

static bool is_supervisor(const struct tree_process *process)
{
    return process != NULL && strcmp(process->name, "dpm-supervisor") == 0;
}

static bool is_dpm(const struct process_tree *tree, pid_t pid)
{
    const struct tree_process *process = find(tree, pid);

    return pid == tree->self || (process != NULL && same_file(&process->file, &tree->file));
}

/* The remote shell in which `front` runs. What accepts remote shells, the last before process 1, serves others, too. What
 * started the dpm of this session is the user's. */
static int add_remote_shell(const struct process_tree *tree, pid_t front, struct intern *ret_pids)
{
    const struct tree_process *process = find(tree, front);

    for (size_t i = 0; process != NULL && i < tree->count; i++) {
        if (process->pid != front && process->parent <= 1)
            return 0;
        if (intern_add(ret_pids, (uint64_t)process->pid) < 0)
            return -ENOMEM;
        if (process->pid != front && is_dpm(tree, process->pid))
            return 0;
        process = find(tree, process->parent);
    }
    return 0;
}

int process_tree_own(const struct process_tree *tree, pid_t front, struct intern *ret_pids)
{
    for (size_t i = 0; i < tree->count; i++) {
        const struct tree_process *process = &tree->list[i];
        bool own = is_supervisor(process) || is_supervisor(find(tree, process->parent)) ||
                   (strcmp(process->program, "ssh") == 0 && is_dpm(tree, process->parent));
        if (own && intern_add(ret_pids, (uint64_t)process->pid) < 0)
            return -ENOMEM;
    }
    return add_remote_shell(tree, front, ret_pids);
}

/* ---- descendants ---- */

/* Adds to a set of pids those of all their descendants. */
static int add_descendants(const struct process_tree *tree, struct intern *pids)
{
    uint32_t before;

    /* /proc lists by pid, and parents mostly have the smaller one: nearly always two rounds */
    do {
        before = pids->count;
        for (size_t i = 0; i < tree->count; i++)
            if (intern_find(pids, (uint64_t)tree->list[i].parent) >= 0 &&
                intern_add(pids, (uint64_t)tree->list[i].pid) < 0)
                return -ENOMEM;
    } while (pids->count != before);
    return 0;
}

static int add_wanted(const struct process_tree *tree, const struct intern *all,
                      const struct intern *pids, const struct intern *own, struct intern *ret_pids)
{
    for (uint32_t i = 0; i < all->count; i++) {
        uint64_t pid = all->keys[i];
        if (intern_find(pids, pid) < 0 && intern_find(own, pid) < 0 && !is_dpm(tree, (pid_t)pid) &&
            intern_add(ret_pids, pid) < 0)
            return -ENOMEM;
    }
    return 0;
}

int process_tree_below(const struct process_tree *tree, const struct intern *pids,
                       enum process_below which, const struct intern *own, struct intern *ret_pids)
{
    struct intern all = {0};
    int result = 0;

    for (uint32_t i = 0; i < pids->count && which != BELOW_NONE && result >= 0; i++)
        if (which == BELOW_ALL || process_tree_is_master(tree, (pid_t)pids->keys[i]))
            result = intern_add(&all, pids->keys[i]) < 0 ? -ENOMEM : 0;
    if (result == 0)
        result = add_descendants(tree, &all);
    if (result == 0)
        result = add_wanted(tree, &all, pids, own, ret_pids);
    intern_done(&all);
    return result;
}

pid_t process_tree_ancestor(const struct process_tree *tree, pid_t pid, const struct intern *pids)
{
    const struct tree_process *process = find(tree, pid);

    /* read while pids are used again, parents may even form a circle */
    for (size_t i = 0; process != NULL && i < tree->count; i++) {
        if (intern_find(pids, (uint64_t)process->parent) >= 0)
            return process->parent;
        process = find(tree, process->parent);
    }
    return 0;
}

bool process_tree_is_child(const struct process_tree *tree, pid_t pid, pid_t parent)
{
    const struct tree_process *process = find(tree, pid);

    return process != NULL && process->parent == parent;
}
