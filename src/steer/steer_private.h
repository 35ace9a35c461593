/* SPDX-License-Identifier: MIT */
/* steer_private.h: the journal, and what restores its entries. Private to steer/. */
#ifndef DPM_STEER_PRIVATE_H
#define DPM_STEER_PRIVATE_H

#include "steer/steer.h"

#include <jansson.h>
#include <limits.h>

enum entry_kind {
    ENTRY_CPUS,    /* of a thread */
    ENTRY_NICE,    /* ... */
    ENTRY_FILE,    /* of a cgroup, and its value */
    ENTRY_COMMAND, /* the way back */
};

/* How something was before an act. */
struct entry {
    enum entry_kind kind;
    uint32_t act; /* index */
    bool restored;
    pid_t pid, tid;
    uint64_t start, tid_start;
    cpu_set_t cpus;
    int nice;
    char *file, *value;
    char **words; /* NULL at its end */
};

/* How the threads of an act, or its cgroup, are now. */
struct in_effect {
    bool is;
    enum entry_kind kind;
    uint64_t since; /* as PROCESS_START: what has begun before has not inherited it */
    cpu_set_t cpus;
    int less;            /* by how much nice values are smaller than before */
    unsigned long value; /* of the cgroup's file */
};

#define JOURNAL_UNFINISHED ".new" /* behind a journal's name, while it is written anew */

#define CPUS_TEXT_SIZE (5 * CPU_SETSIZE + 1) /* "1023," ... */

struct steer_journal {
    char path[PATH_MAX];
    int file;
    off_t head; /* bytes of its first line */
    bool
        ended; /* its loop has, in order: what is not restored is left to the next one, and to --undo */
    struct entry *entries; /* their numbers: index + 1 */
    size_t count, room;
    struct intern threads; /* key_of_thread --> index of an entry */
    size_t *thread_entries;
    size_t thread_room;
    struct in_effect acts[STEER_ACTS_MOST];
    struct in_effect
        earlier[STEER_ACTS_MOST]; /* the one before it, until all threads have the new one */
    uint64_t less
        [STEER_ACTS_MOST]; /* 1 << each `less` that was in effect since `since`: heirs have any of these */
    size_t changed;        /* entries that others have changed since: left as they are ... */
    char first_changed[STEER_TEXT_SIZE]; /* ... the first of them */
    off_t compacted;                     /* bytes that were left when it was last written anew */
};

/* ---- steer_words.c ---- */

/* Reads a policy, line by line. The functions below read the words of a line from `at` on. */
struct policy_reader {
    struct steer_policy *policy;
    const char *file;
    unsigned line;
    char **words; /* of this line ... */
    size_t count, room;
    size_t at; /* ... up to which they are read */
    bool has_goal;
    struct problem *problem;
};

/* Returns -EINVAL with a line in reader->problem: where, what stands there, and what is expected; or -ENOMEM. */
int words_refuse(const struct policy_reader *reader, const char *expected);
int words_no_memory(const struct policy_reader *reader);

/* Takes the words of a line, which ends before `end`. -EINVAL, -ENOMEM. */
int words_split(struct policy_reader *reader, const char *at, const char *end);
void words_forget(struct policy_reader *reader);

/* Whether this word comes next; then it is read. */
bool words_next_is(struct policy_reader *reader, const char *word);

/* Read what must come next: this word, a number in this range, the name of a group. -EINVAL: it does not. */
int words_expect(struct policy_reader *reader, const char *word);
int words_expect_number(struct policy_reader *reader, uint32_t least, uint32_t most,
                        uint32_t *ret_number);
int words_expect_group(struct policy_reader *reader, uint32_t *ret_group);

/* ---- steer_policy.c ---- */

#define POLICY_SIZE_MOST 65536 /* bytes */

extern const char *const steer_word_names[STEER_WORD_KINDS];

/* "cpus", "weight" ... */
extern const char *const steer_act_names[STEER_ACT_KINDS];

/* Reads the words of a goal: "latency p50". */
int policy_read_measure(struct policy_reader *reader, enum steer_measure *ret_measure);

/* ---- steer_rules.c ---- */

/* Reads a line that begins with `when`. Errors: -EINVAL, -ENOMEM, with a line in reader->problem. */
int policy_read_rule(struct policy_reader *reader);

/* ---- steer_groups.c ---- */

/* Adds the processes that a word names. Errors: as of process_choice_pid ... */
int word_choose(enum steer_word_kind by, const char *text, struct process_choice *choice,
                struct problem *problem);

/* ---- steer_windows.c ---- */

/* Slices, added up. */
struct window {
    struct steer_slice sum;
    unsigned slices, values;
    double total, squares; /* of the goal, by slices */
};

#define MEANS_MOST    8
#define WINDOW_EVENTS 100 /* that a full one has at least: the loop is never faster than these */

/* The goal's mean values in windows, the latest first. */
struct means {
    double at[MEANS_MOST];
    unsigned count;
};

void means_note(struct means *means, double value);

void window_add(const struct steer_policy *policy, struct window *window,
                const struct steer_slice *slice);

/* Requests or messages that the goal counts. */
double window_events(const struct steer_policy *policy, const struct window *window);

/* Whether it is as long as the policy asks; and has enough events, too. */
bool window_is_long(const struct steer_policy *policy, const struct window *window);
bool window_is_full(const struct steer_policy *policy, const struct window *window);

/* By how much the goal may differ between two windows without any reason, as a gain: from how it varies within them, and from one to
 * the next. */
double window_noise(const struct means *means, const struct window *before,
                    const struct window *after);
/* The same of one window, by how it varies within. */
double window_noise_within(const struct window *window);

/* ---- steer_journal.c ---- */

/* CPUS or NICE. */
bool entry_is_of_thread(const struct entry *entry);

/* Takes the strings of `entry`, and has them on disk when it returns. Errors: -ENOMEM, -EIO ..., with a line in `problem`. */
int journal_add(struct steer_journal *journal, struct entry *entry, struct problem *problem);
int journal_note_effect(struct steer_journal *journal, uint32_t act, const struct in_effect *effect,
                        struct problem *problem);
void journal_note_restored(struct steer_journal *journal, size_t index);

/* Others have changed it since. */
void journal_note_changed(struct steer_journal *journal, const struct entry *entry);

/* When all entries are restored, the file forgets them, so that it does not grow without end. */
void journal_forget(struct steer_journal *journal);

/* Does the same with entries of threads that have ended, once there are many: writes another file, and puts it in the place of the
 * first. If that fails, all stays as it is. */
void journal_compact(struct steer_journal *journal, off_t least);

/* The entry of a thread that has not been restored; NULL: there is none. */
struct entry *journal_thread(const struct steer_journal *journal, uint32_t act, pid_t tid,
                             uint64_t tid_start);

/* Writes a line, and frees it. NULL: out of memory. */
int journal_put(struct steer_journal *journal, json_t *line, struct problem *problem);

/* Adds what was restored of a journal. */
void journal_sum(const struct steer_journal *journal, size_t restored, struct steer_restored *sum);

/* The whole file, and 0; NULL: out of memory, or it is not ours. The caller frees it. */
char *journal_read(int file, size_t *ret_size);

/* What a file says. Bytes that are no journal are left out. */
void journal_parse(struct steer_journal *journal, const char *text, size_t size);
void journal_done(struct steer_journal *journal);

/* ---- steer_restore.c ---- */

#define ALL_ACTS UINT32_MAX

/* Restores entries, the latest first, as far as they are as the act has made them. What has gone is done with, and not counted; what others
 * have changed since is left as it is, and counted in journal->changed. Returns the first error. */
int journal_restore(struct steer_journal *journal, uint32_t act, size_t *ret_restored,
                    struct problem *problem);

/* The entry of the first thread of a process, or else of an ancestor; NULL: there is none. */
const struct entry *journal_above(const struct steer_journal *journal, uint32_t act, pid_t pid);

/* The nice value of a thread that had this one before. */
int effect_nice(const struct in_effect *effect, int before);

/* Now, as PROCESS_START. */
uint64_t ticks_now(void);

/* How a thread is now: its CPUs, or its nice value. Returns 0 or a negative errno. */
int thread_read(pid_t tid, enum entry_kind kind, struct entry *ret_now);

/* Whether that is what the act has made of what it was before. */
bool effect_is(const struct in_effect *effect, const struct entry *before, const struct entry *now);

/* Whether it is what any step of the act has made of it. Where no line says what it made, each is. */
bool entry_is_ours(const struct steer_journal *journal, const struct entry *before,
                   const struct entry *now);

/* The weight that a cgroup's file has; 0: it cannot be read. */
unsigned long cgroup_read(const char *file);

/* Whether a cgroup's file that has the weight `now` (0: it cannot be read) is as the act has made it. */
bool file_is_ours(const struct steer_journal *journal, const struct entry *entry,
                  unsigned long now);

/* Start of a thread; 0: it has gone. */
uint64_t thread_started(pid_t pid, pid_t tid);

/* Calls `found` for each thread of a process, until it returns a negative errno; returns that or 0. */
int thread_each(pid_t pid, int (*found)(pid_t pid, pid_t tid, void *context), void *context);

/* Writes a value to a file of a cgroup. Returns 0 or a negative errno. */
int cgroup_write(const char *file, const char *value);

/* Runs a command, and waits for its end. Its output goes to standard error. Errors: a line in `problem`. */
int command_run(char *const *words, struct problem *problem);

#endif
