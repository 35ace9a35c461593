/* SPDX-License-Identifier: MIT */
/* job_rules.c: which action is possible in which state: appendix A of Macrander's paper. See job.h. */
#include "job/job.h"

static const struct {
    enum job_verdict verdict;
    const char *says;
} rules[JOB_ACTIONS][PROCESS_STATES] = {
    [JOB_START] =
        {
            [PROCESS_NEW] = {JOB_DOES, "started"},
            [PROCESS_RUNNING] = {JOB_PASSES, "runs already"},
            [PROCESS_STOPPED] = {JOB_DOES, "continues"},
            [PROCESS_KILLED] = {JOB_PASSES, "has ended: it cannot be started again"},
            [PROCESS_ACQUIRED] = {JOB_PASSES, "is acquired: it is metered only, never started"},
        },
    [JOB_STOP] =
        {
            [PROCESS_NEW] = {JOB_DOES, "stopped before its first instruction"},
            [PROCESS_RUNNING] = {JOB_DOES, "stopped"},
            [PROCESS_STOPPED] = {JOB_PASSES, "is stopped already"},
            [PROCESS_KILLED] = {JOB_PASSES, "has ended"},
            [PROCESS_ACQUIRED] = {JOB_PASSES, "is acquired: it is metered only, never stopped"},
        },
    [JOB_REMOVE] =
        {
            [PROCESS_NEW] = {JOB_REFUSES, "is new: stopjob first"},
            [PROCESS_RUNNING] = {JOB_REFUSES, "runs: stopjob first"},
            [PROCESS_STOPPED] = {JOB_DOES, "killed and removed"},
            [PROCESS_KILLED] = {JOB_DOES, "removed"},
            [PROCESS_ACQUIRED] = {JOB_DOES, "is not metered any more, and lives on"},
        },
    [JOB_SET_FLAGS] =
        {
            [PROCESS_NEW] = {JOB_DOES, "flags set"},
            [PROCESS_RUNNING] = {JOB_DOES, "flags set"},
            [PROCESS_STOPPED] = {JOB_DOES, "flags set"},
            [PROCESS_KILLED] = {JOB_PASSES, "has ended"},
            [PROCESS_ACQUIRED] = {JOB_DOES, "flags set"},
        },
    [JOB_GIVE_INPUT] =
        {
            [PROCESS_NEW] = {JOB_DOES, NULL},
            [PROCESS_RUNNING] = {JOB_DOES, NULL},
            [PROCESS_STOPPED] = {JOB_DOES, NULL},
            [PROCESS_KILLED] = {JOB_REFUSES, "has ended: it reads nothing"},
            [PROCESS_ACQUIRED] = {JOB_REFUSES, "is acquired: its input is its own"},
        },
};

enum job_verdict job_rule(enum job_action action, enum process_state state, const char **ret_says)
{
    if (ret_says != NULL)
        *ret_says = rules[action][state].says;
    return rules[action][state].verdict;
}

enum job_verdict job_rule_of(enum job_action action, const struct conduct_process *process,
                             const char **ret_says)
{
    enum job_verdict verdict = job_rule(action, process->state, ret_says);

    if (process->lost && action != JOB_REMOVE && ret_says != NULL)
        *ret_says = "is lost: its agent ended";
    return verdict;
}
