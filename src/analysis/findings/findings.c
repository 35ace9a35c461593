/* SPDX-License-Identifier: MIT */
/* findings.c: collects the findings of all analyses, topic by topic. See findings.h. */
#include "analysis/findings/findings_private.h"

#include <errno.h>
#include <stdlib.h>

double findings_share(uint64_t part, uint64_t whole)
{
    return whole == 0 ? 0 : part > whole ? 1 : (double)part / (double)whole;
}

struct finding *findings_add(struct findings *findings, enum finding_kind kind, double weight)
{
    if (array_reserve(&findings->list, &findings->capacity, findings->count + 1,
                      sizeof(*findings->list)) < 0)
        return NULL;
    struct finding *finding = &findings->list[findings->count++];
    *finding = (struct finding){.kind = kind, .weight = weight};
    return finding;
}

bool findings_have(const struct findings *findings, enum finding_kind kind)
{
    for (size_t i = 0; i < findings->count; i++)
        if (findings->list[i].kind == kind)
            return true;
    return false;
}

#define ELAPSED_SMALL 0.05
#define ELAPSED_MOST  4

/* Whether a CPU limit may be why the process of a row had no CPU. If it has no row of its own in the statistics: any limit. */
static bool may_be_throttled(const struct communication *communication,
                             const struct elapsed_row *row)
{
    for (uint32_t i = 0; i < communication->process_count; i++)
        if (communication->processes[i].origin == row->origin &&
            communication->processes[i].pid == row->pid)
            return findings_may_be_throttled(communication, &communication->processes[i]);
    for (uint32_t i = 0; i < communication->machine_count; i++)
        if (findings_throttled(communication, i))
            return true;
    return false;
}

static int add_elapsed(const struct findings_from *from, const struct elapsed_account *account,
                       struct findings *findings)
{
    struct elapsed_group *groups = NULL;
    size_t count = 0;
    int result = elapsed_groups(account, &groups, &count);

    for (size_t i = 0; i < count && i < ELAPSED_MOST && result == 0; i++) {
        double share = findings_share(groups[i].time, account->time);
        if (share < ELAPSED_SMALL)
            break;
        struct finding *finding = findings_add(findings, FINDING_ELAPSED, share);
        if (finding == NULL) {
            result = -ENOMEM;
            break;
        }
        finding->elapsed.group = groups[i];
        finding->elapsed.of = account->time;
        finding->elapsed.of_requests = !from->elapsed->from_start;
        finding->elapsed.first = i == 0;
        finding->elapsed.small = !findings_account_matters(from);
        finding->elapsed.throttled = may_be_throttled(from->communication, groups[i].leader);
    }
    free(groups);
    return result;
}

#define ITEM_SMALL 0.2

static int add_item(const struct elapsed *elapsed, struct findings *findings)
{
    double share = findings_share(elapsed->item.time, elapsed->run.time);

    if (share < ITEM_SMALL)
        return 0;
    struct finding *finding = findings_add(findings, FINDING_ITEM, share);
    if (finding == NULL)
        return -ENOMEM;
    finding->item = &elapsed->item;
    return 0;
}

const struct elapsed_account *findings_account(const struct elapsed *elapsed)
{
    const struct elapsed_account *account;

    if (elapsed == NULL)
        return NULL;
    account = elapsed->from_start ? &elapsed->run : &elapsed->requests.account;
    return account->time == 0 ? NULL : account;
}

bool findings_account_matters(const struct findings_from *from)
{
    const struct elapsed_account *account = findings_account(from->elapsed);

    if (account == NULL)
        return false;
    uint64_t time = account == &from->elapsed->run
                        ? account->time
                        : elapsed_of_all_requests(&from->elapsed->requests, account->time);
    return (double)time >= FINDING_SMALL * (double)from->communication->duration;
}

int findings_of_elapsed(const struct findings_from *from, struct findings *findings)
{
    const struct elapsed_account *account = findings_account(from->elapsed);
    int result = account == NULL ? 0 : add_elapsed(from, account, findings);

    return result < 0 || from->elapsed == NULL || !from->elapsed->from_start
               ? result
               : add_item(from->elapsed, findings);
}

double finding_share(const struct finding *finding)
{
    if (finding->kind == FINDING_REQUESTS || finding->kind == FINDING_QUEUE)
        return 0; /* a share of something else */
    return finding->weight > 1 ? 1 : finding->weight;
}

bool finding_is_to_act_on(const struct finding *finding)
{
    enum finding_order order = finding_order_of(finding);

    return order != ORDER_ACCOUNT && order < ORDER_EXPLAINS;
}

/* Those of `ELAPSED` keep their order: they are an account. */
static bool comes_before(const struct finding *one, const struct finding *other)
{
    enum finding_order order = finding_order_of(one);

    if (order != finding_order_of(other))
        return order < finding_order_of(other);
    return order != ORDER_ACCOUNT && order != ORDER_SMALL_ACCOUNT &&
           finding_share(one) > finding_share(other);
}

/* Insertion sort: it is stable, and there are few. */
static void sort(struct findings *findings)
{
    for (size_t i = 1; i < findings->count; i++) {
        struct finding finding = findings->list[i];
        size_t at = i;
        for (; at > 0 && comes_before(&finding, &findings->list[at - 1]); at--)
            findings->list[at] = findings->list[at - 1];
        findings->list[at] = finding;
    }
}

int findings_find(const struct findings_from *from, struct findings *findings)
{
    /* changes look at what was found before */
    static int (*const topics[])(const struct findings_from *from, struct findings *findings) = {
        findings_of_elapsed, findings_of_connections, findings_of_work,     findings_of_time,
        findings_of_path,    findings_of_patterns,    findings_of_changes,  findings_of_runtimes,
        findings_of_pauses,  findings_of_messages,    findings_of_requests, findings_of_network,
        findings_of_files,   findings_of_machines,    findings_of_waits,
    };
    struct findings_from all = *from;
    int result = 0;

    *findings = (struct findings){0};
    if (all.communication->has_rules) {
        /* a wait for a message that rules removed looks like one that no message explains */
        all.elapsed = NULL;
        all.path = NULL;
        all.parallelism = NULL;
        all.causality = NULL;
        all.pauses = NULL;
        all.patterns = NULL;
        all.changes = NULL;
    }
    if (all.path != NULL) /* equal to from->parallelism, and always there */
        all.parallelism = all.path->parallelism;
    for (size_t i = 0; i < ARRAY_SIZE(topics) && result == 0; i++)
        result = topics[i](&all, findings);
    if (result == 0)
        findings_put_aside(&all, findings);
    if (result == 0)
        sort(findings);
    return result;
}

void findings_done(struct findings *findings)
{
    free(findings->list);
    arena_done(&findings->memory);
    *findings = (struct findings){0};
}
