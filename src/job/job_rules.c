/* SPDX-License-Identifier: MIT */
/* job_rules.c: which action is possible in which state: appendix A of Macrander's paper. See job.h. */
#include "job/job.h"

const char *job_state_word(enum job_state state)
{
    static const char *const words[JOB_STATES] = {
        [JOB_NEW] = "new",
        [JOB_RUNNING] = "running",
        [JOB_STOPPED] = "stopped",
        [JOB_KILLED] = "killed",
        [JOB_ACQUIRED] = "acquired",
    };

    return words[state];
}

static const struct {
    enum job_verdict verdict;
    const char *says;
} rules[JOB_ACTIONS][JOB_STATES] = {
    [JOB_START] =
        {
            [JOB_NEW] = {JOB_DOES, "started"},
            [JOB_RUNNING] = {JOB_PASSES, "runs already"},
            [JOB_STOPPED] = {JOB_DOES, "continues"},
            [JOB_KILLED] = {JOB_PASSES, "has ended: it cannot be started again"},
            [JOB_ACQUIRED] = {JOB_PASSES, "is acquired: it is metered only, never started"},
        },
    [JOB_STOP] =
        {
            [JOB_NEW] = {JOB_DOES, "stopped before its first instruction"},
            [JOB_RUNNING] = {JOB_DOES, "stopped"},
            [JOB_STOPPED] = {JOB_PASSES, "is stopped already"},
            [JOB_KILLED] = {JOB_PASSES, "has ended"},
            [JOB_ACQUIRED] = {JOB_PASSES, "is acquired: it is metered only, never stopped"},
        },
    [JOB_REMOVE] =
        {
            [JOB_NEW] = {JOB_REFUSES, "is new: stopjob first"},
            [JOB_RUNNING] = {JOB_REFUSES, "runs: stopjob first"},
            [JOB_STOPPED] = {JOB_DOES, "killed and removed"},
            [JOB_KILLED] = {JOB_DOES, "removed"},
            [JOB_ACQUIRED] = {JOB_DOES, "is not metered any more, and lives on"},
        },
    [JOB_SET_FLAGS] =
        {
            [JOB_NEW] = {JOB_DOES, "flags set"},
            [JOB_RUNNING] = {JOB_DOES, "flags set"},
            [JOB_STOPPED] = {JOB_DOES, "flags set"},
            [JOB_KILLED] = {JOB_PASSES, "has ended"},
            [JOB_ACQUIRED] = {JOB_DOES, "flags set"},
        },
    [JOB_GIVE_INPUT] =
        {
            [JOB_NEW] = {JOB_DOES, NULL},
            [JOB_RUNNING] = {JOB_DOES, NULL},
            [JOB_STOPPED] = {JOB_DOES, NULL},
            [JOB_KILLED] = {JOB_REFUSES, "has ended: it reads nothing"},
            [JOB_ACQUIRED] = {JOB_REFUSES, "is acquired: its input is its own"},
        },
};

enum job_verdict job_rule(enum job_action action, enum job_state state, const char **ret_says)
{
    if (ret_says != NULL)
        *ret_says = rules[action][state].says;
    return rules[action][state].verdict;
}
