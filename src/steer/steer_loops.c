/* SPDX-License-Identifier: MIT */
/*
 * steer_loops.c: which loops there are, or were: the folder of their journals. See steer.h.
 *
 *      /run/user/1000/dpm-steer/            mode 0700, ours
 *          lock                             held while a loop begins
 *          4711-90210.journal               held by its loop and guardian as long as one of them lives
 */
#include "base/process.h"
#include "steer/steer_private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX ".journal"

/* The whole file, and 0; NULL: out of memory, or it is not ours. The caller frees it. */
char *journal_read(int file, size_t *ret_size)
{
    struct stat status;

    if (fstat(file, &status) < 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid() ||
        (status.st_mode & 077) != 0)
        return NULL;
    char *text = malloc((size_t)status.st_size + 1);
    ssize_t got = text == NULL ? -1 : pread(file, text, (size_t)status.st_size, 0);
    if (got < 0) {
        free(text);
        return NULL;
    }
    text[got] = '\0';
    *ret_size = (size_t)got;
    return text;
}

void journal_sum(const struct steer_journal *journal, size_t restored, struct steer_restored *sum)
{
    sum->count += restored;
    if (sum->changed == 0)
        memcpy(sum->first_changed, journal->first_changed, sizeof(sum->first_changed));
    sum->changed += journal->changed;
}

/* ---- the folder ---- */

static int open_folder(char path[PATH_MAX], struct problem *problem)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    struct stat status;

    /* All loops of root see each other, by sudo, from a login or a service; and a logout removes that of a login. */
    if (geteuid() == 0 && runtime != NULL && strncmp(runtime, "/run/user/", 10) == 0)
        runtime = NULL;
    if (runtime != NULL && runtime[0] == '/')
        snprintf(path, PATH_MAX, "%.3000s/dpm-steer", runtime);
    else if (geteuid() == 0)
        strcpy(path, "/run/dpm-steer");
    else
        snprintf(path, PATH_MAX, "/tmp/dpm-steer-%u", geteuid());
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return problem_set(problem, -errno, "%.300s: cannot be made: %s", path, strerror(errno));
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0 || fstat(folder, &status) < 0) {
        int error = -errno;
        if (folder >= 0)
            close(folder);
        return problem_set(problem, error, "%.300s: cannot be opened: %s", path, strerror(-error));
    }
    if (status.st_uid == geteuid() && (status.st_mode & 077) == 0)
        return folder;
    close(folder);
    return problem_set(problem, -EACCES,
                       "%.300s: must be a folder of yours with mode 0700: others could write it",
                       path);
}

#define RESTORES_MS 30000 /* a guardian has restored by then: each command has 10 s */
#define LOOKS_MS    60000

/* Who holds the lock may have been stopped. */
static bool lock_within(int file, unsigned milliseconds)
{
    for (unsigned waited = 0; flock(file, LOCK_EX | LOCK_NB) < 0; waited += 20) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return false;
        if (waited >= milliseconds) {
            errno = ETIMEDOUT;
            return false;
        }
        poll(NULL, 0, 20);
    }
    return true;
}

/* One loop begins, or looks, at a time. */
static int lock_folder(int folder, const char *path, struct problem *problem)
{
    int lock = openat(folder, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (lock >= 0 && lock_within(lock, LOOKS_MS))
        return lock;
    int error = -errno;
    if (lock >= 0)
        close(lock);
    return problem_set(problem, error, "cannot lock the folder of journals, %.300s: %s", path,
                       strerror(-error));
}

/* ---- loops that there are, or were ---- */

struct looking {
    int folder;
    const char *path;
    const struct steer_policy *policy;   /* of the loop that begins; NULL: none does ... */
    const struct steer_members *members; /* ... */
    struct steer_restored restored;
    struct problem *problem; /* why it cannot begin; else, what cannot be restored */
    int left;                /* error of that; 0: none */
};

/* Its first line. */
static json_t *head_of(const char *text, size_t size)
{
    const char *end = memchr(text, '\n', size);

    return end == NULL ? NULL : json_loadb(text, (size_t)(end - text), 0, NULL);
}

#define BOOT_SIZE 40

/* Which run of the kernel this is; "": not known. */
static void read_boot(char boot[BOOT_SIZE])
{
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

    if (file == NULL || fgets(boot, BOOT_SIZE, file) == NULL)
        boot[0] = '\0';
    boot[strcspn(boot, "\n")] = '\0';
    if (file != NULL)
        fclose(file);
}

/* Whether the machine has started again since. Then no process, and no cgroup, is what it was. */
static bool is_of_other_boot(const char *text, size_t size)
{
    json_t *head = head_of(text, size);
    const char *other = json_string_value(json_object_get(head, "boot"));
    char boot[BOOT_SIZE];

    read_boot(boot);
    bool is = other != NULL && strcmp(other, boot) != 0;
    json_decref(head);
    return is;
}

static int note_pid(pid_t pid, void *context)
{
    return intern_add(context, (uint64_t)pid) < 0 ? -ENOMEM : 0;
}

/* Whether it may name a process of this machine. */
static bool is_here(const struct steer_word *word)
{
    char name[256] = "";

    return word->machine == NULL || gethostname(name, sizeof(name) - 1) < 0 ||
           strcmp(word->machine, name) == 0;
}

/* "name nginx" */
static json_t *word_json(const struct steer_word *word)
{
    return json_sprintf("%s %s", steer_word_names[word->by], word->text);
}

static bool has_text(const json_t *list, const char *text)
{
    size_t i;
    json_t *item;

    json_array_foreach(list, i, item)
    {
        const char *other = json_string_value(item);
        if (other != NULL && strcmp(text, other) == 0)
            return true;
    }
    return false;
}

/* The processes that another loop steers, now. */
static int pids_of(const json_t *head, struct intern *pids)
{
    struct process_choice choice = {0};
    struct problem ignored;
    size_t i;
    json_t *item;
    int result = 0;

    json_array_foreach(json_object_get(head, "groups"), i, item)
    {
        const char *word = json_string_value(item);
        for (unsigned by = 0; word != NULL && by < STEER_WORD_KINDS; by++) {
            size_t length = strlen(steer_word_names[by]);
            if (strncmp(word, steer_word_names[by], length) == 0 && word[length] == ' ')
                (void)word_choose((enum steer_word_kind)by, word + length + 1, &choice, &ignored);
        }
    }
    result = process_choice_find(&choice, note_pid, pids, NULL);
    process_choice_done(&choice);
    return result;
}

/* A folder has many names: traces, ./traces/. */
static bool is_same_place(const char *one, const char *other)
{
    struct stat first, second;

    return strcmp(one, other) == 0 ||
           (stat(one, &first) == 0 && stat(other, &second) == 0 && first.st_dev == second.st_dev &&
            first.st_ino == second.st_ino);
}

/* lab/3 is a job of the session lab. */
static bool is_within(const char *one, const char *other)
{
    size_t length = strlen(other);

    return strncmp(one, other, length) == 0 && one[length] == '/';
}

/* That of a journal begins with '/' if it is a folder. */
static bool share_sessions(const char *ours, const char *journals)
{
    return is_same_place(ours, journals) ||
           (journals[0] != '/' && (is_within(ours, journals) || is_within(journals, ours)));
}

static bool has_place(const json_t *list, const char *place)
{
    size_t i;
    json_t *item;

    json_array_foreach(list, i, item)
    {
        const char *other = json_string_value(item);
        if (place != NULL && other != NULL && is_same_place(place, other))
            return true;
    }
    return false;
}

/* Whether a word of a group, or the folder of a weight, is in the head of another loop. Then both would get the same processes, also those
 * that begin later. Returns that text, or NULL; the caller frees it. */
static char *find_shared(const json_t *head, const struct steer_policy *policy)
{
    char *shared = NULL;

    for (size_t i = 0; shared == NULL && i < policy->group_count; i++)
        for (size_t j = 0; shared == NULL && j < policy->groups[i].word_count; j++) {
            json_t *word = word_json(&policy->groups[i].words[j]);
            const char *text =
                is_here(&policy->groups[i].words[j]) ? json_string_value(word) : NULL;
            if (text != NULL && has_text(json_object_get(head, "groups"), text))
                shared = strdup(text);
            json_decref(word);
        }
    for (size_t i = 0; shared == NULL && i < policy->act_count; i++)
        if (has_place(json_object_get(head, "folders"), policy->acts[i].cgroup))
            shared = strdup(policy->acts[i].cgroup);
    return shared;
}

/* Returns -EBUSY. */
static int refuse_second(const struct looking *looking, const json_t *head, const char *what)
{
    const char *policy = json_string_value(json_object_get(head, "policy"));

    return problem_set(
        looking->problem, -EBUSY,
        "%.200s is steered by dpm[%d] already, by %.200s: two loops would disturb each other", what,
        (int)json_integer_value(json_object_get(head, "pid")), policy == NULL ? "?" : policy);
}

/* Whether both loops steer a process of this machine. */
static int check_processes(const struct looking *looking, const json_t *head)
{
    struct intern pids = {0};
    char shown[PROCESS_SHOWN_SIZE];
    char *shared = find_shared(head, looking->policy);
    int result = shared != NULL ? refuse_second(looking, head, shared) : pids_of(head, &pids);

    for (size_t i = 0; result == 0 && i < looking->members->count; i++) {
        pid_t other = looking->members->at[i].pid;
        if (intern_find(&pids, (uint64_t)other) < 0)
            continue;
        process_shown(other, shown);
        result = refuse_second(looking, head, shown);
    }
    free(shared);
    intern_done(&pids);
    return result;
}

/* A loop that runs. */
static int check_running(const struct looking *looking, const char *text, size_t size)
{
    json_t *head = head_of(text, size);
    const char *policy = json_string_value(json_object_get(head, "policy")),
               *session = json_string_value(json_object_get(head, "session")),
               *ours = looking->members == NULL ? NULL : looking->members->session;
    int result = 0;

    if (looking->policy == NULL)
        result = problem_set(looking->problem, -EBUSY,
                             "dpm[%d] still steers, by %.200s: end it, and it restores everything",
                             (int)json_integer_value(json_object_get(head, "pid")),
                             policy == NULL ? "?" : policy);
    else if (ours == NULL || session == NULL) /* a session may have processes of this machine */
        result = check_processes(looking, head);
    else if (share_sessions(ours, session))
        result = refuse_second(looking, head, ours);
    json_decref(head);
    return result;
}

static int restore_left(struct looking *looking, int file, const char *name, const char *text,
                        size_t size)
{
    struct steer_journal left = {.file = file};
    size_t restored = 0;

    snprintf(left.path, sizeof(left.path), "%.3000s/%.255s", looking->path, name);
    journal_parse(&left, text, size);
    lseek(file, 0, SEEK_END);
    struct problem why;
    int result = journal_restore(&left, ALL_ACTS, &restored, &why);
    if (result == 0)
        unlinkat(looking->folder, name, 0);
    else
        looking->left =
            problem_set(looking->problem, result, "%.250s (if that is as it should be: rm %.200s)",
                        why.text, left.path);
    journal_sum(&left, restored, &looking->restored);
    left.file = -1;
    journal_done(&left);
    return 0;
}

/* Whether the loop itself has. */
static bool has_ended(const char *text, size_t size)
{
    json_t *head = head_of(text, size);
    pid_t pid = (pid_t)json_integer_value(json_object_get(head, "pid"));
    uint64_t start = (uint64_t)json_integer_value(json_object_get(head, "start"));

    json_decref(head);
    return process_started(pid) != start;
}

static int look_at(struct looking *looking, const char *name)
{
    int file = openat(looking->folder, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW), result = 0;
    size_t size = 0;

    if (file < 0)
        return 0;
    bool left = flock(file, LOCK_EX | LOCK_NB) == 0;
    char *text = journal_read(file, &size);
    if (text != NULL && !left &&
        has_ended(text, size)) { /* its guardian restores, which does not take long */
        left = lock_within(file, RESTORES_MS);
        free(text);
        if (!left) {
            close(file);
            return problem_set(
                looking->problem, -ETIMEDOUT,
                "%.250s/%.200s: its guardian, which restores, does not end: end that "
                "process, then dpm steer --undo",
                looking->path, name);
        }
        text = journal_read(file, &size);
    }
    if (text == NULL)
        looking->left = problem_set(
            looking->problem, -EACCES,
            "%.250s/%.200s: no journal of yours that can be read: remove it", looking->path, name);
    else if (is_of_other_boot(text, size))
        unlinkat(looking->folder, name, 0);
    else
        result = left ? restore_left(looking, file, name, text, size)
                      : check_running(looking, text, size);
    free(text);
    close(file);
    return result;
}

/* A loop that was killed while it wrote its journal anew has left this; one that writes holds its lock. */
static void remove_unfinished(const struct looking *looking, const char *name)
{
    int file = openat(looking->folder, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);

    if (file < 0)
        return;
    if (flock(file, LOCK_EX | LOCK_NB) == 0)
        unlinkat(looking->folder, name, 0);
    close(file);
}

static bool ends_with(const char *name, const char *end)
{
    size_t length = strlen(name);

    return length > strlen(end) && strcmp(name + length - strlen(end), end) == 0;
}

static int look_at_all(struct looking *looking)
{
    struct dirent **list;
    int count = scandir(looking->path, &list, NULL, alphasort), result = 0;

    for (int i = 0; i < count; i++) {
        if (ends_with(list[i]->d_name, SUFFIX)) {
            int one = look_at(looking, list[i]->d_name);
            result = result < 0 ? result : one;
        } else if (ends_with(list[i]->d_name, SUFFIX JOURNAL_UNFINISHED)) {
            remove_unfinished(looking, list[i]->d_name);
        }
        free(list[i]);
    }
    if (count >= 0)
        free(list);
    return result;
}

/* ---- a loop's own ---- */

static int put_head(struct steer_journal *journal, const struct steer_policy *policy,
                    const char *session, struct problem *problem)
{
    json_t *groups = json_array(), *folders = json_array();
    char boot[BOOT_SIZE], path[PATH_MAX];

    read_boot(boot);
    if (session != NULL && realpath(session, path) != NULL) /* else it is no folder */
        session = path;
    for (size_t i = 0; i < policy->group_count; i++)
        for (size_t j = 0; j < policy->groups[i].word_count; j++)
            if (is_here(&policy->groups[i].words[j]))
                json_array_append_new(groups, word_json(&policy->groups[i].words[j]));
    for (size_t i = 0; i < policy->act_count; i++)
        if (policy->acts[i].cgroup != NULL)
            json_array_append_new(folders, json_string(policy->acts[i].cgroup));
    return journal_put(journal,
                       json_pack("{s:s, s:s, s:i, s:I, s:o, s:o, s:s?}", "policy", policy->file,
                                 "boot", boot, "pid", (int)getpid(), "start",
                                 (json_int_t)process_started(getpid()), "groups", groups, "folders",
                                 folders, "session", session),
                       problem);
}

static int make_journal(int folder, const char *path, const struct steer_policy *policy,
                        const char *session, struct steer_journal **ret_journal,
                        struct problem *problem)
{
    struct steer_journal *journal = calloc(1, sizeof(*journal));
    char name[64];

    if (journal == NULL)
        return problem_set(problem, -ENOMEM, "out of memory");
    snprintf(name, sizeof(name), "%d-%llu" SUFFIX, getpid(),
             (unsigned long long)process_started(getpid()));
    snprintf(journal->path, sizeof(journal->path), "%.3000s/%s", path, name);
    journal->file =
        openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
    int result = journal->file < 0 || flock(journal->file, LOCK_EX | LOCK_NB) < 0
                     ? problem_set(problem, -errno, "%.300s: cannot be made: %s", journal->path,
                                   strerror(errno))
                     : put_head(journal, policy, session, problem);
    if (result == 0)
        journal->head = lseek(journal->file, 0, SEEK_END);
    if (result < 0) {
        journal_done(journal);
        free(journal);
        return result;
    }
    *ret_journal = journal;
    return 0;
}

/* Both begin with what ended loops have left. */
static int look(const struct steer_policy *policy, const struct steer_members *members,
                struct steer_journal **ret_journal, struct steer_restored *ret_restored,
                int *ret_left, struct problem *problem)
{
    char path[PATH_MAX];
    int folder = open_folder(path, problem);
    int lock = folder < 0 ? folder : lock_folder(folder, path, problem);
    struct looking looking = {
        .folder = folder, .path = path, .policy = policy, .members = members, .problem = problem};
    int result = lock < 0 ? lock : look_at_all(&looking);

    if (result == 0 && policy != NULL)
        result = make_journal(folder, path, policy, members->session, ret_journal, problem);
    *ret_restored = looking.restored;
    if (lock >= 0)
        close(lock);
    if (folder >= 0)
        close(folder);
    *ret_left = looking.left;
    return result;
}

int steer_journal_begin(const struct steer_policy *policy, const struct steer_members *members,
                        struct steer_journal **ret_journal, struct steer_restored *ret_restored,
                        struct problem *problem)
{
    int left;

    problem->text[0] = '\0';
    return look(policy, members, ret_journal, ret_restored, &left, problem);
}

int steer_journal_undo(struct steer_restored *ret_restored, struct problem *problem)
{
    int left, result = look(NULL, NULL, NULL, ret_restored, &left, problem);

    return result < 0 ? result : left;
}

int steer_journal_end(struct steer_journal *journal, struct steer_restored *ret_restored,
                      struct problem *problem)
{
    size_t restored = 0;

    *ret_restored = (struct steer_restored){0};
    if (journal == NULL)
        return 0;
    int result = journal_restore(journal, ALL_ACTS, &restored, problem);
    if (result == 0) /* else the next start, or --undo, tries again */
        unlink(journal->path);
    else
        (void)journal_put(journal, json_pack("{s:b}", "ended", 1), NULL);
    journal_sum(journal, restored, ret_restored);
    journal_done(journal);
    free(journal);
    return result;
}
