/* SPDX-License-Identifier: MIT */
/* steer_hands.c: does what was decided; how it was before is in the journal first. See steer.h. */
#include "base/process.h"
#include "steer/steer_private.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define COMPACT_LEAST (1 << 20) /* bytes of a journal */

#define NICE_STEP 1.25 /* a nice value less is that many times the weight (sched(7)) */

/* ---- threads ---- */

struct changing {
    struct steer_journal *journal;
    uint32_t act;
    const struct in_effect *effect;
    const struct steer_member *member;
    bool
        only_new; /* threads that came since; others may have changed themselves, which is their affair */
    const struct entry
        *inherited; /* from that of a thread which came before; NULL: there is none */
    struct problem *problem;
};

/* One that came since may be in a container with other CPUs: it stays as it is, and the others keep what they have. */
static int refuse(const struct changing *changing, int error)
{
    char shown[PROCESS_SHOWN_SIZE];

    process_shown(changing->member->pid, shown);
    problem_set(changing->problem, error, "%s: %s: %s", shown,
                changing->effect->kind == ENTRY_CPUS ? "its CPUs cannot be set"
                                                     : "its nice value cannot be set",
                strerror(-error));
    return changing->only_new ? 0 : error;
}

/* How it is before the act. A thread that came since has inherited the act, and what was before it. */
static int read_thread(const struct changing *changing, pid_t tid, struct entry *entry)
{
    const struct in_effect *effect = changing->effect;
    int result = thread_read(tid, effect->kind, entry);

    if (result == 0 && changing->inherited != NULL && entry->tid_start >= effect->since &&
        entry_is_ours(changing->journal, changing->inherited, entry)) {
        entry->cpus = changing->inherited->cpus;
        entry->nice = changing->inherited->nice;
    }
    return result;
}

static int set_thread(const struct changing *changing, pid_t tid, const struct entry *entry)
{
    const struct in_effect *effect = changing->effect;

    if (effect->kind == ENTRY_CPUS)
        return sched_setaffinity(tid, sizeof(effect->cpus), &effect->cpus) < 0 ? -errno : 0;
    return setpriority(PRIO_PROCESS, (id_t)tid, effect_nice(effect, entry->nice)) < 0 ? -errno : 0;
}

/* Whether a thread that the act has changed before is as that has made it: else others have changed it since, and it is theirs. */
static bool is_still_ours(const struct changing *changing, pid_t tid, const struct entry *entry)
{
    struct entry now;

    return thread_read(tid, entry->kind, &now) == 0 &&
           entry_is_ours(changing->journal, entry, &now);
}

static int change_thread(pid_t pid, pid_t tid, void *context)
{
    struct changing *changing = context;
    struct entry new = {.kind = changing->effect->kind,
                        .act = changing->act,
                        .pid = pid,
                        .tid = tid,
                        .start = changing->member->start,
                        .tid_start = thread_started(pid, tid)};
    const struct entry *entry =
        journal_thread(changing->journal, changing->act, tid, new.tid_start);
    int result = 0;

    if (new.tid_start == 0 ||
        (entry != NULL && (changing->only_new || !is_still_ours(changing, tid, entry))))
        return 0;
    if (entry == NULL) {
        result = read_thread(changing, tid, &new);
        if (result < 0)
            return result == -ESRCH ? 0 : refuse(changing, result);
        result = journal_add(changing->journal, &new, changing->problem);
        if (result < 0)
            return result;
        entry = &new;
    }
    result = set_thread(changing, tid, entry);
    return result < 0 && result != -ESRCH ? refuse(changing, result) : 0;
}

/* The entry of the group's first thread: what new ones have inherited from. */
static const struct entry *first_entry(const struct steer_journal *journal, uint32_t act)
{
    for (size_t i = 0; i < journal->count; i++)
        if (journal->entries[i].act == act && !journal->entries[i].restored)
            return &journal->entries[i];
    return NULL;
}

static int change_process(struct changing *changing)
{
    const struct steer_member *member = changing->member;
    bool is = thread_started(member->pid, member->pid) == member->start;

    return is && !steer_is_spared(member->pid) ? thread_each(member->pid, change_thread, changing)
                                               : 0;
}

static bool is_of_act(const struct steer_act *act, uint32_t group)
{
    for (size_t i = 0; i < act->group_count; i++)
        if (act->groups[i] == group)
            return true;
    return false;
}

static int change_all(struct steer_journal *journal, uint32_t index, const struct steer_act *act,
                      const struct in_effect *effect, const struct steer_members *members,
                      bool only_new, struct problem *problem)
{
    int result = 0;

    for (size_t i = 0; result == 0 && i < members->count; i++) {
        if (!is_of_act(act, members->at[i].group))
            continue;
        const struct entry *first = journal_above(journal, index, members->at[i].pid);
        if (first == NULL) /* its parent has ended */
            first = first_entry(journal, index);
        const struct entry inherited = first == NULL ? (struct entry){0} : *first;
        struct changing changing = {.journal = journal,
                                    .act = index,
                                    .effect = effect,
                                    .member = &members->at[i],
                                    .only_new = only_new,
                                    .inherited = first == NULL ? NULL : &inherited,
                                    .problem = problem};
        result = change_process(&changing);
    }
    return result;
}

static int change_threads(struct steer_journal *journal, uint32_t index,
                          const struct steer_act *act, const struct in_effect *effect,
                          const struct steer_members *members, struct problem *problem)
{
    int result = journal_note_effect(journal, index, effect, problem);

    if (result < 0)
        return result;
    const struct in_effect noted = journal->acts[index]; /* with its beginning */
    return change_all(journal, index, act, &noted, members, false, problem);
}

/* ---- cgroups ---- */

static bool has_entry(const struct steer_journal *journal, uint32_t act)
{
    return first_entry(journal, act) != NULL;
}

static int find_weight(const char *folder, char file[PATH_MAX], unsigned *ret_most)
{
    static const char *const names[] = {"cpu.weight", "cpu.shares"};
    static const unsigned most[] = {10000, 262144};

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        snprintf(file, PATH_MAX, "%.3000s/%s", folder, names[i]);
        *ret_most = most[i];
        if (cgroup_read(file) != 0)
            return 0;
    }
    return -ENOENT;
}

/* What is in the cgroup, or below it, that must not be changed; 0: nothing is. */
static pid_t spared_in(const char *folder, unsigned depth)
{
    char path[PATH_MAX];
    struct dirent *entry;
    int pid, spared = 0;

    snprintf(path, sizeof(path), "%.4000s/cgroup.procs", folder);
    FILE *file = fopen(path, "re");
    while (spared == 0 && file != NULL && fscanf(file, "%d", &pid) == 1)
        spared = steer_is_spared(pid) ? pid : 0;
    if (file != NULL)
        fclose(file);
    DIR *list = depth == 0 ? NULL : opendir(folder);
    while (spared == 0 && list != NULL && (entry = readdir(list)) != NULL)
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.') {
            snprintf(path, sizeof(path), "%.3800s/%.255s", folder, entry->d_name);
            spared = spared_in(path, depth - 1);
        }
    if (list != NULL)
        closedir(list);
    return spared;
}

#define DEPTH_MOST 16 /* of cgroups */

static int check_folder(const char *folder, struct problem *problem)
{
    char shown[PROCESS_SHOWN_SIZE];
    pid_t spared = spared_in(folder, DEPTH_MOST);

    if (spared == 0)
        return 0;
    process_shown(spared, shown);
    return problem_set(problem, -EPERM,
                       "%.300s: holds %s, which is spared: process 1, dpm, and what has started it",
                       folder, shown);
}

static int note_weight(struct steer_journal *journal, uint32_t index, const char *file,
                       struct problem *problem)
{
    struct entry entry = {.kind = ENTRY_FILE, .act = index, .file = strdup(file)};

    if (asprintf(&entry.value, "%lu", cgroup_read(file)) < 0)
        entry.value = NULL;
    if (entry.file != NULL && entry.value != NULL)
        return journal_add(journal, &entry, problem);
    free(entry.file);
    free(entry.value);
    return problem_set(problem, -ENOMEM, "out of memory");
}

/* It is theirs: the next try begins with what it has then. A service that starts again has a new cgroup, too. */
static int give_up(struct steer_journal *journal, uint32_t index, const char *file,
                   struct problem *problem)
{
    for (size_t i = 0; i < journal->count; i++) {
        if (journal->entries[i].act != index || journal->entries[i].restored)
            continue;
        journal_note_changed(journal, &journal->entries[i]);
        journal_note_restored(journal, i);
    }
    journal->acts[index].is = journal->earlier[index].is = false;
    return problem_set(problem, -ESTALE,
                       "%.300s: it was changed by others meanwhile: left as it is", file);
}

static int change_weight(struct steer_journal *journal, uint32_t index, const struct steer_act *act,
                         uint32_t times, struct problem *problem)
{
    char file[PATH_MAX], value[32];
    unsigned most;
    int result = check_folder(act->cgroup, problem);

    if (result < 0)
        return result;
    if (find_weight(act->cgroup, file, &most) < 0)
        return problem_set(problem, -ENOENT,
                           "%.300s: has neither cpu.weight nor cpu.shares: is it a cgroup with the "
                           "controller cpu?",
                           act->cgroup);
    if (!has_entry(journal, index))
        result = note_weight(journal, index, file, problem);
    else if (!file_is_ours(journal, first_entry(journal, index), cgroup_read(file)))
        result = give_up(journal, index, file, problem);
    if (result < 0)
        return result;
    unsigned long weight = strtoul(first_entry(journal, index)->value, NULL, 10) * times;
    const struct in_effect effect = {.kind = ENTRY_FILE, .value = weight < most ? weight : most};
    result = journal_note_effect(journal, index, &effect, problem);
    if (result < 0)
        return result;
    snprintf(value, sizeof(value), "%lu", effect.value);
    result = cgroup_write(file, value);
    return result == 0 ? 0
                       : problem_set(problem, result, "%.300s: cannot be written: %s", file,
                                     strerror(-result));
}

/* ---- commands ---- */

static void words_free(char **words)
{
    for (size_t i = 0; words != NULL && words[i] != NULL; i++)
        free(words[i]);
    free(words);
}

/* "{}" becomes the number, or a word for each of several. NULL: out of memory. */
static char **words_with(const struct steer_act *act, const struct steer_setting *setting)
{
    size_t most = act->word_count * STEER_NUMBERS_MOST + 1, count = 0;
    char **words = calloc(most, sizeof(*words));
    bool failed = words == NULL;

    for (size_t i = 0; !failed && i < act->word_count; i++) {
        bool place = strcmp(act->words[i], "{}") == 0;
        size_t numbers = !place ? 1 : act->kind == STEER_SHARES ? act->group_count : 1;
        for (size_t j = 0; !failed && j < numbers; j++) {
            failed = place ? asprintf(&words[count], "%u", setting->numbers[j]) < 0
                           : (words[count] = strdup(act->words[i])) == NULL;
            count += !failed;
        }
    }
    if (!failed)
        return words;
    if (words != NULL)
        words[count] = NULL;
    words_free(words);
    return NULL;
}

static int change_by_command(struct steer_journal *journal, uint32_t index,
                             const struct steer_act *act, const struct steer_setting *to,
                             struct problem *problem)
{
    const struct steer_setting before = steer_setting_at_first(act);
    char **words = words_with(act, to);
    int result = words == NULL ? problem_set(problem, -ENOMEM, "out of memory") : 0;

    if (result == 0 && !has_entry(journal, index)) {
        struct entry entry = {
            .kind = ENTRY_COMMAND, .act = index, .words = words_with(act, &before)};
        result = entry.words == NULL ? problem_set(problem, -ENOMEM, "out of memory")
                                     : journal_add(journal, &entry, problem);
    }
    if (result == 0)
        result = command_run(words, problem);
    words_free(words);
    return result;
}

/* ---- all ---- */

static void make_effect(const struct steer_machine *machine, const struct steer_act *act,
                        const struct steer_setting *to, struct in_effect *effect)
{
    *effect =
        (struct in_effect){.is = true, .kind = act->kind == STEER_CPUS ? ENTRY_CPUS : ENTRY_NICE};
    if (act->kind == STEER_CPUS)
        effect->cpus = machine->sets[to->numbers[0] - 1].set;
    else
        effect->less = (int)lround(log(to->numbers[0]) / log(NICE_STEP));
}

static int restore(struct steer_journal *journal, uint32_t act, struct problem *problem)
{
    int result = journal_restore(journal, act, NULL, problem);

    if (result == 0)
        journal_forget(journal);
    return result;
}

/* A step of an act has failed: back to how it was before the first one, which the reason says. */
static int go_back(struct steer_journal *journal, const struct steer_act *act, uint32_t index,
                   bool stood, int result, struct problem *problem)
{
    const struct steer_setting first = steer_setting_at_first(act);
    const struct problem reason = *problem;
    struct problem why = {""};
    char text[STEER_TEXT_SIZE];

    if (restore(journal, index, &why) < 0)
        return problem_set(problem, -ENOTRECOVERABLE, "%.220s; the way back failed, too: %.220s",
                           reason.text, why.text);
    if (!stood)
        return result;
    steer_setting_text(NULL, act, &first, text);
    return problem_set(problem, result, "%.280s; back to %.100s", reason.text, text);
}

static int change(struct steer_journal *journal, const struct steer_policy *policy,
                  const struct steer_machine *machine, const struct steer_members *members,
                  const struct steer_act *act, const struct steer_setting *to,
                  struct problem *problem)
{
    uint32_t index = (uint32_t)(act - policy->acts);
    struct in_effect effect;

    if (act->kind == STEER_WORKERS || act->kind == STEER_SHARES)
        return change_by_command(journal, index, act, to, problem);
    if (act->kind == STEER_WEIGHT && act->cgroup != NULL)
        return change_weight(journal, index, act, to->numbers[0], problem);
    make_effect(machine, act, to, &effect);
    return change_threads(journal, index, act, &effect, members, problem);
}

int steer_hands_act(struct steer_journal *journal, const struct steer_policy *policy,
                    const struct steer_machine *machine, const struct steer_members *members,
                    const struct steer_act *act, const struct steer_setting *to,
                    struct problem *problem)
{
    const struct steer_setting before = steer_setting_at_first(act);
    uint32_t index = (uint32_t)(act - policy->acts);
    bool stood = has_entry(journal, index);

    if (memcmp(&before, to, sizeof(before)) == 0)
        return restore(journal, index, problem);
    int result = change(journal, policy, machine, members, act, to, problem);
    if (result >= 0 || result == -ESTALE)
        return result;
    return go_back(journal, act, index, stood, result, problem);
}

int steer_hands_tend(struct steer_journal *journal, const struct steer_policy *policy,
                     const struct steer_members *members, struct problem *problem)
{
    int result = 0;

    problem->text[0] = '\0';
    for (uint32_t i = 0; result == 0 && i < policy->act_count; i++) {
        const struct in_effect effect = journal->acts[i];
        if (effect.is && effect.kind != ENTRY_FILE)
            result = change_all(journal, i, &policy->acts[i], &effect, members, true, problem);
    }
    journal_compact(journal, COMPACT_LEAST);
    return result;
}
