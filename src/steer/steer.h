/* SPDX-License-Identifier: MIT */
/*
 * steer.h: feedback scheduling: what is measured changes how it runs (thesis, 6.2.8).
 *
 *      snapshot --groups--> slice, slice ... --> window --model--> candidates --> act --settle--> window --> kept or undone
 *                                                                              |                               |
 *                                          journal, written before it <--------'---------> guardian     decision: a line
 *
 * A policy is a file that names groups of processes, one goal, and the acts that are allowed:
 *
 *      group load is name wrk
 *      group app is name gunicorn
 *      goal requests/s of load
 *      workers of app from 2 to 16 by /usr/local/bin/app-workers {}
 *
 * One act is tried at a time. It is kept if the goal got better by more than the noise, and else undone. Nothing else than what the
 * policy names is changed; never process 1, DPM, or the processes that have started it.
 */
#ifndef DPM_STEER_H
#define DPM_STEER_H

#include "base/base.h"
#include "live/live.h"
#include "recorder/process_choice.h"

#include <sched.h>

/* ---- policies ---- */

#define STEER_GROUPS_MOST  16
#define STEER_ACTS_MOST    16
#define STEER_NUMBERS_MOST 8 /* servers that share requests */
#define STEER_RULES_MOST   64
#define STEER_COMMAND_MOST 64 /* words of a command */
#define STEER_WORKERS_MOST 10000
#define STEER_WEIGHT_MOST  64 /* times as much as before */

struct steer_group {
    char *name;
    struct steer_word {
        enum steer_word_kind {
            STEER_BY_NAME,
            STEER_BY_CGROUP,
            STEER_BY_UNIT,
            STEER_BY_PID,
            STEER_WORD_KINDS,
        } by;
        char *text;
        char *machine; /* BY_NAME, in a session: only there; NULL: on any */
    } * words;
    size_t word_count;
    unsigned line;
};

enum steer_measure {
    STEER_REQUESTS,     /* answered a second; by a group that answers none: answers that it got */
    STEER_RECEIVED,     /* messages a second */
    STEER_LATENCY_MEAN, /* ns, of the same requests ... */
    STEER_LATENCY_P50,  /* ... mean of the medians of all slices */
    STEER_LATENCY_P99,
    STEER_MEASURES,
};

enum steer_act_kind {
    STEER_CPUS,    /* its processes run on CPUs that share a cache */
    STEER_WEIGHT,  /* they get up to `to` times as large a part of the CPUs as others */
    STEER_WORKERS, /* `from` (now) to `to` of them */
    STEER_SHARES,  /* of requests, in per cent */
    STEER_ACT_KINDS,
};

struct steer_act {
    enum steer_act_kind kind;
    uint32_t groups[STEER_NUMBERS_MOST]; /* indexes */
    size_t group_count;
    uint32_t from, to;
    char *cgroup; /* WEIGHT: its folder; NULL: nice values of its threads */
    char **words; /* WORKERS, SHARES: the command, NULL at its end; "{}" stands for the numbers */
    size_t word_count;
    bool has_rules; /* these set it; no gain is predicted */
    unsigned line;
};

/* How an act stands: CPUS: index of the set + 1, 0: as before. WEIGHT: times. WORKERS: how many. SHARES: per cent, by server. */
struct steer_setting {
    uint32_t numbers[STEER_NUMBERS_MOST];
};

/* What a rule looks at: a measure of any group, or one of these. */
enum steer_figure {
    STEER_TRAFFIC = STEER_MEASURES, /* messages a second that one group sends to another */
    STEER_CPU,                      /* per cent of a CPU */
    STEER_RUN_QUEUE,                /* threads that wait for a CPU: mean number */
    STEER_QUEUE,                    /* messages that wait until the group takes them: mean number */
    STEER_MEMORY,                   /* bytes, of this machine's processes only */
    STEER_PAGING,                   /* major page faults a second, the same */
    STEER_FIGURES,
};

/* when queue of app above 10 set workers of app to 8 */
struct steer_rule {
    unsigned figure;          /* enum steer_measure or steer_figure */
    uint32_t group, receiver; /* indexes; receiver: of TRAFFIC */
    bool above;
    double bound;
    size_t act; /* index */
    struct steer_setting to;
    bool always; /* it is kept, also if the goal gets worse */
    char *text;  /* "queue of app above 10" */
    unsigned line;
};

struct steer_policy {
    char *file;
    struct steer_group *groups;
    size_t group_count, group_room;
    struct steer_act *acts;
    size_t act_count, act_room;
    struct steer_rule *rules;
    size_t rule_count, rule_room;
    enum steer_measure measure;
    uint32_t goal;   /* index of the group */
    uint64_t window; /* ns that are measured before and after an act */
    uint64_t settle; /* ns after it that are not measured */
    uint64_t limit;  /* ns between two acts, at least */
    double cost;     /* of the machine's CPUs, that measuring may take on average: 0.02 is 2 % */
};

/* Reads a policy that only its user, or root, can write, as the commands that it names. Errors: -EACCES, -EINVAL ..., with a line
 * "FILE:LINE: ..." in `problem`. */
int steer_policy_read(const char *file, struct steer_policy **ret_policy, struct problem *problem);

/* The text of a policy. Checks nothing outside of it. */
int steer_policy_parse(const char *file, const char *text, size_t size,
                       struct steer_policy **ret_policy, struct problem *problem);
void steer_policy_free(struct steer_policy *policy); /* NULL is allowed */

/* "requests/s", "latency p50" ... */
const char *steer_measure_name(enum steer_measure measure);
bool steer_is_latency(enum steer_measure measure);

/* "workers of app", "shares of one two" */
#define STEER_TEXT_SIZE 320
void steer_act_text(const struct steer_policy *policy, const struct steer_act *act,
                    char text[STEER_TEXT_SIZE]);

/* ---- processes of groups ---- */

struct steer_member {
    pid_t pid;
    uint64_t start; /* PROCESS_START: with the pid, unique */
    uint32_t group; /* the first of the policy that it is in */
    uint64_t
        faults; /* major ones, up to the latest steer_slice_add_memory; NOT_KNOWN: there was none */
};

struct steer_members {
    struct process_choice choices[STEER_GROUPS_MOST];
    struct steer_member *at; /* by pid */
    size_t count, room;
    size_t ended; /* of a group that was named by pid: its index + 1; 0: none */
    /* of a session: processes of several machines, by their names in a snapshot ... */
    const struct steer_policy *policy; /* NULL: those of this machine */
    const char *session;               /* ... and what was named */
};

/* Reads which processes groups have. Errors: -ESRCH (no process has this pid) ..., with a line in `problem`. Call
 * steer_members_done in any case. */
int steer_members_begin(struct steer_members *members, const struct steer_policy *policy,
                        struct problem *problem);
/* The same in a session, or folder of traces, that has this name. Refuses groups that are chosen otherwise than by name, and acts
 * that no command does. */
int steer_members_of_session(struct steer_members *members, const struct steer_policy *policy,
                             const char *session, struct problem *problem);

/* Again. */
int steer_members_find(struct steer_members *members, const struct steer_policy *policy,
                       struct problem *problem);
void steer_members_done(struct steer_members *members);

/* All of them, as one choice. */
int steer_members_choose(const struct steer_policy *policy, struct process_choice *choice,
                         struct problem *problem);

/* Whether no act may change this process: process 1, DPM itself, what has started it, a thread of the kernel. */
bool steer_is_spared(pid_t pid);

/* ---- what is measured ---- */

struct steer_figures {
    double processes, threads; /* of the moment ... */
    double memory;             /* ... bytes that are resident; shared pages count in each process */
    double major_faults;
    double cpu, no_cpu; /* ns */
    double requests, request_time;
    double asked, asked_time;
    double received;
    double waits_for_messages;      /* ns, of its threads */
    double queue_delay;             /* ns that messages waited until it took them */
    double blocked;                 /* ns that senders waited for buffer space at it */
    double median, p99;             /* ns, times requests ... */
    double asked_median, asked_p99; /* ... times asked, of processes that answer none */
};

/* What one group sent to another. */
struct steer_talk {
    double messages;
    double time; /* ns in flight */
};

/* The processes of a group that run: when they began, as PROCESS_START. */
struct steer_ages {
    uint64_t oldest, youngest;
    size_t count; /* 0: none runs, or it is not known, as in a session */
};

struct steer_slice {
    double length; /* ns, of what happened; 0: nothing is known of this time yet */
    double real;   /* ns that passed meanwhile: more, if records are read late */
    double late;   /* ns since the end of what happened; 0: not known */
    double lost;   /* records: then what is here is not all, and is not measured */
    double cpus;   /* of the machine; 0: not known */
    double busy;   /* ns that these worked, all together */
    struct steer_figures groups[STEER_GROUPS_MOST];
    struct steer_talk talk[STEER_GROUPS_MOST][STEER_GROUPS_MOST];
    struct steer_ages ages[STEER_GROUPS_MOST];
};

/* The interval of a snapshot, which must be the latest. `cpus` and `busy` stay 0, except in a session. */
void steer_slice_make(const struct live_snapshot *snapshot, const struct steer_members *members,
                      struct steer_slice *ret_slice);

/* Adds the memory of these processes, and their major page faults since the last call, if the policy has a rule that looks at them.
 * Call it before steer_members_find. */
void steer_slice_add_memory(const struct steer_policy *policy, struct steer_members *members,
                            struct steer_slice *slice);

/* The value of a measure of a group; NAN: nothing happened that has one. */
double steer_value(enum steer_measure measure, const struct steer_figures *group, double length);

/* The value of the goal; NAN: the same. */
double steer_goal(const struct steer_policy *policy, const struct steer_slice *slice);

/* ---- the machine ---- */

#define STEER_SETS_MOST 64

/* CPUs that share a cache, the largest sets first; not all CPUs that we may use. */
struct steer_machine {
    struct steer_cpus {
        cpu_set_t set;
        unsigned count;
        char text[64]; /* "0-3" */
    } sets[STEER_SETS_MOST];
    size_t set_count;
};

/* `root`: the directory that has sys, "" for "/". */
void steer_machine_read(const char *root, struct steer_machine *ret_machine);

/* "0-3,8"; false: it is none. */
bool steer_cpus_parse(const char *text, cpu_set_t *ret_set);
void steer_cpus_text(const cpu_set_t *set, char *text, size_t size);

/* ---- decisions ---- */

/* Before any act. */
struct steer_setting steer_setting_at_first(const struct steer_act *act);

struct steer_candidate {
    struct steer_setting to;
    double gain; /* of the goal: 0.1 is 10 % more requests, or a latency that is divided by 1.1 */
    bool
        is_rough; /* all that could be saved, as far as the meter sees it: it may be less, or more */
    const struct steer_rule *rule; /* that asks for it, whatever it gains (NAN); NULL: the model */
    char reason[STEER_TEXT_SIZE];
};

/* Whether a rule holds in this window, and the candidate that it asks for, also if its act stands so. */
bool steer_rule_holds(const struct steer_rule *rule, const struct steer_slice *window,
                      struct steer_candidate *ret_candidate);

/* What the model says of an act that stands at `now`. Returns whether there is anything to try. */
bool steer_model(const struct steer_policy *policy, const struct steer_machine *machine,
                 const struct steer_act *act, const struct steer_setting *now,
                 const struct steer_slice *window, struct steer_candidate *ret_candidate);

struct steer_decision {
    enum decision_outcome outcome;
    uint64_t number;             /* of the act that was tried: 1, 2 ... */
    uint64_t time;               /* ns since the beginning */
    const struct steer_act *act; /* NULL: NOTHING */
    struct steer_setting from, to;
    double before, after;               /* values of the goal; NAN: not known */
    double before_length, after_length; /* ns that these were measured */
    double noise;                       /* as a gain */
    const struct steer_rule *rule;      /* that asks for it; NULL: the model does */
    double predicted;                   /* NAN: by a rule */
    bool is_rough;
    double measured;
    char reason[STEER_TEXT_SIZE];
};

/* What it stands at: "4", "60% 40%", "CPUs 0-3", "2 times", "any CPU". */
void steer_setting_text(const struct steer_machine *machine, const struct steer_act *act,
                        const struct steer_setting *setting, char text[STEER_TEXT_SIZE]);

struct steer_calls {
    void *context;
    /* Makes it so; *ret_took: for how many ns nothing was read meanwhile. Returns 0, or a negative errno with a line in `problem`: then it
     * stands as at first. But -ESTALE: others have changed what it has, which is left as it is. -ENOTRECOVERABLE: the way back failed, too. */
    int (*act)(void *context, const struct steer_act *act, const struct steer_setting *to,
               uint64_t *ret_took, struct problem *problem);
    void (*decided)(void *context, const struct steer_decision *decision);
};

struct steer;

/* What the arguments refer to must outlive it. `dry`: nothing is done. Returns 0 or -ENOMEM. */
int steer_new(const struct steer_policy *policy, const struct steer_machine *machine,
              const struct steer_calls *calls, bool dry, struct steer **ret_steer);
void steer_free(struct steer *steer); /* NULL is allowed */

/* How long nothing is to be measured now, ns, since nothing is to be done, and measuring took `cost` of the machine's CPUs, more than the
 * policy allows; 0: the next slice is wanted. *ret_average: what it takes then on average, the rest included. */
uint64_t steer_rest(const struct steer *steer, double cost, double *ret_average);
/* So many ns have passed that were not measured. */
void steer_rested(struct steer *steer, double time);

/* The next slice was measured. Calls what there is to call. Errors: -EIO, with a line in `problem`: an act that did not help, or failed, could
 * not be undone. */
int steer_add(struct steer *steer, const struct steer_slice *slice, struct problem *problem);

/* ---- acts, and the way back ---- */

/*
 * A journal is a file in a folder of the user's, held under a lock by the loop and its guardian. What is to be restored is there,
 * on disk, before anything is changed:
 *
 *      {"policy": "/etc/web.steer", "boot": "5f0c...", "pid": 4711, "start": 90210, "groups": ["name nginx"]}
 *      {"act": 0, "file": "/sys/fs/cgroup/cpu/web/cpu.shares", "value": "1024"}
 *      {"restored": 1}                                              the first of them
 *      {"ended": true}                                              in order, but not everything could be restored
 */
struct steer_journal;

struct steer_restored {
    size_t count;
    size_t changed;                      /* by others since: left as it is ... */
    char first_changed[STEER_TEXT_SIZE]; /* ... the first: "nginx[812]", a file */
};

/* Restores what earlier loops have left, which have ended, and begins a journal. `members`: refuses processes that another loop steers.
 * `ret_restored`: of what earlier ones had left. Returns 0, with a line in `problem` if some of these could not be restored, else "".
 * Errors, with a line in `problem`: -EBUSY, -EACCES ... */
int steer_journal_begin(const struct steer_policy *policy, const struct steer_members *members,
                        struct steer_journal **ret_journal, struct steer_restored *ret_restored,
                        struct problem *problem);

/* Restores what ended loops have left. Returns 0, or a negative errno with a line in `problem`: -EBUSY: another loop still runs. */
int steer_journal_undo(struct steer_restored *ret_restored, struct problem *problem);

/* Makes an act stand so. As calls.act. */
int steer_hands_act(struct steer_journal *journal, const struct steer_policy *policy,
                    const struct steer_machine *machine, const struct steer_members *members,
                    const struct steer_act *act, const struct steer_setting *to,
                    struct problem *problem);

/* Processes and threads that have come since get what their group has. Returns 0, with a line in `problem` if one of these cannot, which
 * is left as it is, else ""; or a negative errno. */
int steer_hands_tend(struct steer_journal *journal, const struct steer_policy *policy,
                     const struct steer_members *members, struct problem *problem);

/* Restores all, and removes the file. Returns 0, or the first error, with a line in `problem`. NULL is allowed. */
int steer_journal_end(struct steer_journal *journal, struct steer_restored *ret_restored,
                      struct problem *problem);

/* What is given to others must not be taken from the loop, which may have to take it back: it gets a smaller nice value, if it has the right
 * to. Its commands keep what we have now. */
void steer_prefer_loop(void);

/* Forks the guardian, which restores everything as soon as we have ended, and then calls done(changes, what
 * could not be restored, or NULL). Not if we have ended in order. Call it before anything else
 * that must not be shared is open. Returns a pidfd of it, or a negative errno. */
int steer_guardian_begin(struct steer_journal *journal,
                         void (*done)(const struct steer_restored *restored,
                                      const struct problem *not_restored));

#endif
