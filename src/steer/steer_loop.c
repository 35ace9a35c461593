/* SPDX-License-Identifier: MIT */
/*
 * steer_loop.c: when to act, and what to keep. See steer.h.
 *
 *      LEARNS --window is full, an act promises enough--> act --> SETTLES --> TRIES --window is full--> kept, undone
 *        ^  '-- unsteady: one more window                                     '-- within the noise: once more as long
 *        '-----------------------------------------------------------------------'
 *
 * What an act has to gain is more than the noise: some two standard errors of the difference between the two windows, from how the
 * slices within them, and the windows before, differ. That is looked at twice, no more often: a loop that looks each second finds noise
 * that seems to be a gain, sooner or later. An act that was undone is left alone for a time that doubles each time.
 */
#include "steer/steer_private.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORTH 0.05 /* a smaller gain is not worth an act: hysteresis */
#define UNSTEADY                                                                                   \
    0.5 /* noise of a window in which the load may have changed: the next one is waited for */
#define FEW_AFTER    20e9 /* ns at least, before too few events are reported */
#define SETTLES_LESS 1e8  /* ns: for so little, no other slice is left out */
#define BACK_OFF                                                                                   \
    6 /* an act is left alone for at most 2 to the power of this times the limit, the window and the settling */

enum state { LEARNS, SETTLES, TRIES };

struct act_state {
    struct steer_setting now;
    unsigned failures;      /* in a row */
    uint64_t free_at;       /* ns: not before */
    struct steer_ages pool; /* WORKERS: its processes when it was kept */
};

struct steer {
    const struct steer_policy *policy;
    const struct steer_machine *machine;
    struct steer_calls calls;
    bool dry, said_nothing, said_few;
    const char *said_missing; /* the group without a process that was named last; NULL: none */
    bool looks_back;          /* the latest trial was undone; the next window shows what that did */
    bool waits;               /* an act has enough to gain, but the window was unsteady */
    enum state state, next;   /* after settling */
    uint64_t time, since, number;
    double waited;   /* ns since then, however late records are read ... */
    double measured; /* ... since the meter rested, too */
    uint64_t took;   /* ns: the latest act, or its way back */
    double late;     /* ns: the latest slice */
    double settles;  /* ns after `since` that are not measured */
    bool looked;     /* at this trial, and its window is to be twice as long */
    uint64_t acted;  /* ns: the latest act; 0: none */
    struct window window, before;
    struct window
        recent; /* a window as long as the policy says, also where the goal's takes longer: for rules */
    struct steer_ages ages[STEER_GROUPS_MOST]; /* in the latest slice */
    struct means means;                        /* of windows with nothing changed */
    struct act_state acts[STEER_ACTS_MOST];
    size_t tried; /* index of the act */
    struct steer_decision trial;
};

/* ---- states ---- */

static double gain_of(const struct steer *steer, double before, double after)
{
    return (steer_is_latency(steer->policy->measure) ? before / after : after / before) - 1;
}

static void begin(struct steer *steer, enum state state)
{
    steer->state = state;
    steer->since = steer->time;
    steer->waited = steer->measured = 0;
    steer->window = steer->recent = (struct window){.slices = 0};
}

/* What comes next is older than the end of the act: the meter was not read meanwhile, and records come late. */
static void settle(struct steer *steer, enum state next)
{
    begin(steer, SETTLES);
    steer->settles = (double)(steer->policy->settle + steer->took) + steer->late;
    steer->next = next;
}

/* ---- acts ---- */

static void leave_alone(struct steer *steer, size_t act)
{
    struct act_state *state = &steer->acts[act];
    const struct steer_policy *policy = steer->policy;

    if (state->failures < BACK_OFF)
        state->failures++;
    state->free_at =
        steer->time + ((policy->limit + policy->window + policy->settle) << state->failures);
}

static void decide(struct steer *steer, enum decision_outcome outcome)
{
    steer->trial.outcome = outcome;
    steer->trial.time = steer->time;
    steer->calls.decided(steer->calls.context, &steer->trial);
}

/* Of what could be saved, half is expected. */
static double expected_of(const struct steer_candidate *candidate)
{
    return candidate->is_rough ? candidate->gain / 2 : candidate->gain;
}

/* The one that promises most, and more than the noise. */
static bool choose(struct steer *steer, size_t *ret_act, struct steer_candidate *ret_best)
{
    double least = fmax(WORTH, window_noise_within(&steer->before));
    double most = 0;
    bool any = false;

    for (size_t i = 0; i < steer->policy->act_count; i++) {
        struct steer_candidate candidate;
        if (steer->policy->acts[i].has_rules || steer->acts[i].free_at > steer->time ||
            !steer_model(steer->policy, steer->machine, &steer->policy->acts[i],
                         &steer->acts[i].now, &steer->before.sum, &candidate) ||
            !(expected_of(&candidate) > least))
            continue;
        double gain = expected_of(&candidate);
        if (any && gain <= most)
            continue;
        most = gain;
        *ret_best = candidate;
        *ret_act = i;
        any = true;
    }
    return any;
}

/* What the first rule asks for that holds, if it is not so already. Of an act, only the first one that holds decides. */
static bool follow_rules(const struct steer *steer, const struct steer_slice *window,
                         size_t *ret_act, struct steer_candidate *ret_candidate)
{
    const struct steer_policy *policy = steer->policy;
    bool decided[STEER_ACTS_MOST] = {false};

    for (size_t i = 0; i < policy->rule_count; i++) {
        size_t act = policy->rules[i].act;
        if (decided[act] || !steer_rule_holds(&policy->rules[i], window, ret_candidate))
            continue;
        decided[act] = true;
        *ret_act = act;
        if (steer->acts[act].free_at <= steer->time &&
            memcmp(&ret_candidate->to, &steer->acts[act].now, sizeof(ret_candidate->to)) != 0)
            return true;
    }
    return false;
}

/* How many acts are left alone, whatever they promise. */
static unsigned left_alone(const struct steer *steer)
{
    unsigned count = 0;

    for (size_t i = 0; i < steer->policy->act_count; i++)
        count += steer->acts[i].free_at > steer->time;
    return count;
}

/* Whether there is an act without rules. */
static bool predicts(const struct steer_policy *policy)
{
    for (size_t i = 0; i < policy->act_count; i++)
        if (!policy->acts[i].has_rules)
            return true;
    return false;
}

/* The first group, of the goal or of an act, that has no process; NULL: each has, or it is not known. */
static const char *missing_in(const struct steer *steer, const struct window *window)
{
    const struct steer_policy *policy = steer->policy;
    const struct steer_figures *groups = window->sum.groups;

    if (window->slices == 0)
        return NULL;
    if (groups[policy->goal].processes == 0)
        return policy->groups[policy->goal].name;
    for (size_t i = 0; i < policy->act_count; i++)
        for (size_t j = 0; j < policy->acts[i].group_count; j++)
            if (groups[policy->acts[i].groups[j]].processes == 0)
                return policy->groups[policy->acts[i].groups[j]].name;
    return NULL;
}

static void say_nothing_to_do(struct steer *steer)
{
    unsigned alone = left_alone(steer);
    const char *missing = missing_in(steer, &steer->before);

    if (steer->said_nothing && (missing == NULL || missing == steer->said_missing))
        return;
    steer->said_nothing = true;
    steer->said_missing = missing;
    steer->trial = (struct steer_decision){.number = steer->number,
                                           .before = steer_goal(steer->policy, &steer->before.sum),
                                           .before_length = steer->before.sum.length,
                                           .after = NAN,
                                           .noise = window_noise_within(&steer->before)};
    bool predicted = predicts(steer->policy), has_rules = steer->policy->rule_count > 0;
    int length = snprintf(steer->trial.reason, sizeof(steer->trial.reason), "%s%s%s",
                          !has_rules   ? ""
                          : alone == 0 ? "no rule asks for a change"
                                       : "no other rule asks for a change",
                          has_rules && predicted ? ", and " : "",
                          !predicted   ? ""
                          : alone == 0 ? "no predicted gain is above 5% and above the noise"
                                       : "no other predicted gain is above 5% and above the noise");
    if (alone > 0)
        length +=
            snprintf(steer->trial.reason + length, sizeof(steer->trial.reason) - (size_t)length,
                     "; left alone for now: %u", alone);
    if (missing != NULL)
        snprintf(steer->trial.reason + length, sizeof(steer->trial.reason) - (size_t)length,
                 "; group %.100s has no process that is metered", missing);
    decide(steer, DECISION_NOTHING);
}

/* Once, as long as they stay so few. The latest trial is still to be looked back at. */
static void say_too_few(struct steer *steer)
{
    const struct window *window = &steer->window;
    const char *missing = missing_in(steer, window);
    double events = window_events(steer->policy, window);
    struct steer_decision few = {.outcome = DECISION_NOTHING,
                                 .number = steer->number,
                                 .time = steer->time,
                                 .before = steer_goal(steer->policy, &window->sum),
                                 .before_length = window->sum.length,
                                 .after = NAN,
                                 .noise = NAN};

    if (steer->said_few)
        return;
    steer->said_few = true;
    if (missing != NULL)
        snprintf(few.reason, sizeof(few.reason), "group %.100s has no process that is metered",
                 missing);
    else if (events < WINDOW_EVENTS)
        snprintf(few.reason, sizeof(few.reason), "%ld %s%s in %.0f s: a decision needs %d",
                 lround(events), steer->policy->measure == STEER_RECEIVED ? "message" : "request",
                 lround(events) == 1 ? "" : "s", steer->waited / 1e9, WINDOW_EVENTS);
    else
        snprintf(few.reason, sizeof(few.reason), "of %.0f s, only %.1f s could be measured",
                 steer->waited / 1e9, window->sum.length / 1e9);
    steer->calls.decided(steer->calls.context, &few);
}

/* It could not be done. If it could not be undone either, its way back is that of all acts, at the end. */
static int note_failure(struct steer *steer, size_t index, int error, const struct problem *why,
                        struct problem *problem)
{
    memcpy(steer->trial.reason, why->text, sizeof(steer->trial.reason) - 1);
    steer->trial.reason[sizeof(steer->trial.reason) - 1] = '\0';
    decide(steer, DECISION_FAILED);
    steer->acts[index].now = steer_setting_at_first(steer->trial.act);
    leave_alone(steer, index);
    settle(steer, LEARNS);
    return error == -ENOTRECOVERABLE ? problem_set(problem, -EIO, "%.480s", why->text) : 0;
}

static int call_act(struct steer *steer, const struct steer_act *act,
                    const struct steer_setting *to, struct problem *problem)
{
    steer->took = 0;
    return steer->calls.act(steer->calls.context, act, to, &steer->took, problem);
}

static int try_act(struct steer *steer, size_t index, const struct steer_candidate *best,
                   struct problem *problem)
{
    const struct steer_act *act = &steer->policy->acts[index];
    struct problem why = {""};

    steer->tried = index;
    steer->said_nothing = false;
    steer->trial = (struct steer_decision){.number = ++steer->number,
                                           .act = act,
                                           .from = steer->acts[index].now,
                                           .to = best->to,
                                           .before = steer_goal(steer->policy, &steer->before.sum),
                                           .before_length = steer->before.sum.length,
                                           .after = NAN,
                                           .noise = window_noise_within(&steer->before),
                                           .rule = best->rule,
                                           .predicted = best->gain,
                                           .is_rough = best->is_rough};
    memcpy(steer->trial.reason, best->reason, sizeof(best->reason));
    if (steer->dry) {
        decide(steer, DECISION_WOULD);
        leave_alone(steer, index);
        return 0;
    }
    decide(steer, DECISION_TRIES); /* before it: whatever it does, this was said */
    steer->acted = steer->time;
    int result = call_act(steer, act, &best->to, &why);
    if (result < 0)
        return note_failure(steer, index, result, &why, problem);
    steer->acts[index].now = best->to;
    steer->looked = false;
    settle(steer, TRIES);
    return 0;
}

/* What was worse, was undone and stayed as bad, was not the act's fault; what is worse since it was undone has helped: the load has changed
 * in the window before it, or in its own. It may be tried again. */
static void look_back(struct steer *steer)
{
    struct act_state *state = &steer->acts[steer->tried];
    double now = steer_goal(steer->policy, &steer->before.sum);

    if (!steer->looks_back)
        return;
    steer->looks_back = false;
    double least = steer->trial.measured < 0 ? -steer->trial.measured / 2
                                             : -fmax(WORTH, window_noise_within(&steer->before));
    if (isfinite(steer->trial.measured) && gain_of(steer, steer->trial.after, now) < least) {
        state->failures--;
        state->free_at = steer->time;
    }
}

static bool may_act(const struct steer *steer)
{
    return steer->acted == 0 || steer->time >= steer->acted + steer->policy->limit;
}

/* A pool that was started again has as many workers as at first: fewer, and none of those that it had. Where one process has all of them,
 * that is another one. But if as many were replaced, one by one, it stands as it did. */
static bool was_restarted(const struct steer_ages *before, const struct steer_ages *now)
{
    return before->count > 0 && now->count > 0 && now->oldest > before->youngest &&
           (now->count < before->count || now->count == 1);
}

static void look_for_restarts(struct steer *steer)
{
    for (size_t i = 0; i < steer->policy->act_count; i++) {
        const struct steer_act *act = &steer->policy->acts[i];
        struct act_state *state = &steer->acts[i];
        const struct steer_ages *ages = &steer->ages[act->groups[0]];
        if (!was_restarted(&state->pool, ages)) {
            if (state->pool.count > 0 && ages->count >= state->pool.count)
                state->pool = *ages; /* some may have been replaced */
            continue;
        }
        state->now = steer_setting_at_first(act);
        state->pool = (struct steer_ages){.count = 0};
        steer->said_nothing = false;
    }
}

/* What a rule asks for is tried, also where too little happens to know the goal well. Returns 1, 0: nothing is asked for, or an error. */
static int look_at_rules(struct steer *steer, struct problem *problem)
{
    struct steer_candidate asked;
    size_t act;

    if (!window_is_long(steer->policy, &steer->recent))
        return 0;
    look_for_restarts(steer);
    if (may_act(steer) && follow_rules(steer, &steer->recent.sum, &act, &asked)) {
        steer->before = steer->recent;
        steer->looks_back = false;
        begin(steer, LEARNS);
        int result = try_act(steer, act, &asked, problem);
        return result < 0 ? result : 1;
    }
    steer->recent = (struct window){.slices = 0};
    return 0;
}

/* ns: how long a window is waited for. */
static double patience_of(const struct steer *steer)
{
    return fmax(FEW_AFTER, 4 * (double)steer->policy->window);
}

static int learn(struct steer *steer, struct problem *problem)
{
    struct steer_candidate best;
    size_t act;

    bool late = steer->waited > patience_of(steer);
    int result = look_at_rules(steer, problem);
    if (result != 0)
        return result < 0 ? result : 0;
    if (!window_is_full(steer->policy, &steer->window)) {
        if (late && predicts(steer->policy))
            say_too_few(steer);
        return 0;
    }
    steer->said_few = steer->said_few && late;
    steer->before = steer->window;
    look_back(steer);
    means_note(&steer->means, steer_goal(steer->policy, &steer->before.sum));
    begin(steer, LEARNS);
    if (!may_act(steer))
        return 0;
    bool any = choose(steer, &act, &best);
    steer->waits = any && !steer->waits && window_noise_within(&steer->before) > UNSTEADY;
    if (steer->waits)
        return 0;
    if (any)
        return try_act(steer, act, &best, problem);
    say_nothing_to_do(steer);
    return 0;
}

static int undo(struct steer *steer, struct problem *problem)
{
    struct act_state *state = &steer->acts[steer->tried];
    struct problem why = {""};
    int result = call_act(steer, steer->trial.act, &steer->trial.from, &why);

    if (result == -ESTALE)
        return note_failure(steer, steer->tried, result, &why, problem);
    if (result < 0)
        return problem_set(problem, -EIO, "what did not help cannot be undone: %.400s", why.text);
    state->now = steer->trial.from;
    decide(steer, DECISION_UNDONE);
    leave_alone(steer, steer->tried);
    steer->looks_back = true;
    settle(steer, LEARNS);
    return 0;
}

/* How long a window of a trial is: where events are few, the one before it took longer than the policy asks. */
static double length_of_trial(const struct steer *steer)
{
    return fmax((double)steer->policy->window, steer->before.sum.length);
}

static void keep(struct steer *steer)
{
    decide(steer, DECISION_KEPT);
    steer->acts[steer->tried].failures = 0;
    if (steer->trial.act->kind == STEER_WORKERS)
        steer->acts[steer->tried].pool = steer->ages[steer->trial.act->groups[0]];
    steer->means.count = 0;
    begin(steer, LEARNS);
}

static void measure_trial(struct steer *steer)
{
    struct steer_decision *trial = &steer->trial;

    trial->after_length = steer->window.sum.length;
    trial->after = steer_goal(steer->policy, &steer->window.sum);
    trial->measured = gain_of(steer, trial->before, trial->after);
    trial->noise = window_noise(&steer->means, &steer->before, &steer->window);
}

/* What a rule asks for is kept unless the goal gets worse by more than the noise. */
static int judge_rule(struct steer *steer, struct problem *problem)
{
    const struct steer_decision *trial = &steer->trial;
    bool overdue = steer->waited > 4 * length_of_trial(steer);
    bool whole = overdue || steer->window.sum.length >= 1.9 * length_of_trial(steer);

    if (!overdue && !window_is_long(steer->policy, &steer->window))
        return 0;
    measure_trial(steer);
    bool known = window_is_full(steer->policy, &steer->before);
    bool is_worse = known && ((isnan(trial->after) && !isnan(trial->before)) ||
                              trial->measured < 1 / (1 + trial->noise) - 1);
    if (is_worse && !trial->rule->always)
        return undo(steer, problem);
    if (trial->rule->always || whole || !known || !(trial->measured < 0))
        keep(steer);
    return 0;
}

static int judge(struct steer *steer, struct problem *problem)
{
    struct steer_decision *trial = &steer->trial;

    if (trial->rule != NULL)
        return judge_rule(steer, problem);

    /* a goal of which nothing is left is worse, too; so is an act that keeps us from measuring it */
    trial->after_length = steer->window.sum.length;
    bool overdue = steer->waited > 4 * length_of_trial(steer);
    if (!overdue && !window_is_full(steer->policy, &steer->window))
        return 0;
    if (overdue && !window_is_full(steer->policy, &steer->window)) {
        trial->after = steer_goal(steer->policy, &steer->window.sum);
        trial->measured = NAN;
        return undo(steer, problem);
    }
    measure_trial(steer);
    bool whole = overdue || steer->window.sum.length >= 1.9 * length_of_trial(steer);
    bool looks = whole || !steer->looked; /* what is worse ends at any time */
    steer->looked = true;
    if (looks && trial->measured > trial->noise) {
        keep(steer);
        return 0;
    }
    /* within the noise: as long again */
    bool is_worse = trial->measured < 1 / (1 + trial->noise) - 1;
    return whole || is_worse ? undo(steer, problem) : 0;
}

int steer_add(struct steer *steer, const struct steer_slice *slice, struct problem *problem)
{
    steer->time += (uint64_t)slice->length;
    steer->waited += fmax(slice->length, slice->real);
    steer->measured += fmax(slice->length, slice->real);
    steer->late = slice->late;
    memcpy(steer->ages, slice->ages, sizeof(steer->ages));
    if (steer->state == SETTLES) {
        /* if nothing comes any more, it is the trial that ends */
        if ((double)(steer->time - steer->since) >= steer->settles - SETTLES_LESS ||
            steer->waited > steer->settles + 4 * length_of_trial(steer))
            begin(steer, steer->next);
        return 0;
    }
    if (slice->length > 0 && slice->lost == 0) { /* fewer requests would be the act's effect */
        window_add(steer->policy, &steer->window, slice);
        window_add(steer->policy, &steer->recent, slice);
    }
    if (steer->state == TRIES)
        return judge(steer, problem);
    return learn(steer, problem);
}

/* ---- rest ---- */

#define REST_LEAST 5e8  /* ns: a shorter one takes a second, too */
#define REST_MOST  60e9 /* ns */

/* Only between two windows: what has changed meanwhile shows in the next one. And where there was none for so long, as records were
 * lost in each second. */
uint64_t steer_rest(const struct steer *steer, double cost, double *ret_average)
{
    double most = steer->policy->cost;
    bool late = steer->measured > patience_of(steer);

    if (steer->state != LEARNS || steer->waits || !(cost > most) ||
        (!late && (steer->waited > 0 || !steer->said_nothing)))
        return 0;
    double measured = late ? steer->measured : steer->before.sum.length;
    double rest = fmin(REST_MOST, measured * (cost / most - 1));
    *ret_average = cost * measured / (measured + rest);
    return rest < REST_LEAST ? 0 : (uint64_t)rest;
}

void steer_rested(struct steer *steer, double time)
{
    steer->time += (uint64_t)time;
    if (steer->measured > patience_of(steer))
        steer->recent = (struct window){.slices = 0};
    steer->measured = 0;
}

/* ---- begin and end ---- */

int steer_new(const struct steer_policy *policy, const struct steer_machine *machine,
              const struct steer_calls *calls, bool dry, struct steer **ret_steer)
{
    struct steer *steer = calloc(1, sizeof(*steer));

    if (steer == NULL)
        return -ENOMEM;
    steer->policy = policy;
    steer->machine = machine;
    steer->calls = *calls;
    steer->dry = dry;
    for (size_t i = 0; i < policy->act_count; i++)
        steer->acts[i].now = steer_setting_at_first(&policy->acts[i]);
    *ret_steer = steer;
    return 0;
}

void steer_free(struct steer *steer)
{
    free(steer);
}
