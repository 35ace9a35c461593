/* SPDX-License-Identifier: MIT */
/*
 * steer_fuzz.c: the input is a policy of dpm steer, which is accepted, or refused with one line that says where; and a journal, of which only
 * what can be restored is taken.
 */
#include "fuzz.h"
#include "steer/steer_private.h"

#include <errno.h>
#include <string.h>

static void check_act(const struct steer_policy *policy, const struct steer_act *act)
{
    char text[STEER_TEXT_SIZE];

    PROMISE(act->group_count >= 1 && act->group_count <= STEER_NUMBERS_MOST);
    for (size_t i = 0; i < act->group_count; i++)
        PROMISE(act->groups[i] < policy->group_count);
    PROMISE((act->words != NULL) == (act->kind == STEER_WORKERS || act->kind == STEER_SHARES));
    PROMISE(act->words == NULL || (act->words[0][0] == '/' && act->words[act->word_count] == NULL));
    PROMISE(act->kind != STEER_WORKERS || act->from < act->to);
    PROMISE(act->cgroup == NULL || act->cgroup[0] == '/');
    steer_act_text(policy, act, text);
}

static void check_policy(const char *text, size_t size)
{
    struct steer_policy *policy = NULL;
    struct problem problem = {""};
    int result = steer_policy_parse("input", text, size, &policy, &problem);

    if (result < 0) {
        PROMISE(result == -EINVAL || result == -EFBIG);
        PROMISE(strncmp(problem.text, "input:", 6) == 0);
        PROMISE(strchr(problem.text, '\n') == NULL);
        return;
    }
    PROMISE(policy->goal < policy->group_count && policy->act_count > 0);
    for (size_t i = 0; i < policy->act_count; i++)
        check_act(policy, &policy->acts[i]);
    steer_policy_free(policy);
}

/* Nothing but a weight is ever written, and no process below 2 is meant. */
static void check_entry(const struct entry *entry)
{
    if (entry->restored)
        return;
    if (entry->kind == ENTRY_FILE)
        PROMISE(strlen(entry->file) > 11 &&
                (strcmp(entry->file + strlen(entry->file) - 11, "/cpu.weight") == 0 ||
                 strcmp(entry->file + strlen(entry->file) - 11, "/cpu.shares") == 0));
    else if (entry->kind == ENTRY_COMMAND)
        PROMISE(entry->words[0][0] == '/');
    else
        PROMISE(entry->pid >= 2 && entry->tid >= 2 && entry->start > 0 && entry->tid_start > 0);
    PROMISE(entry->kind != ENTRY_NICE || (entry->nice >= -20 && entry->nice <= 19));
    PROMISE(entry->kind != ENTRY_CPUS || CPU_COUNT(&entry->cpus) > 0);
    PROMISE(entry->act < STEER_ACTS_MOST);
}

static void check_journal(const char *text, size_t size)
{
    struct steer_journal *journal = calloc(1, sizeof(*journal));

    if (journal == NULL)
        abort();
    journal->file = -1;
    journal_parse(journal, text, size);
    for (size_t i = 0; i < journal->count; i++)
        check_entry(&journal->entries[i]);
    journal_done(journal);
    free(journal);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const char *text = (const char *)bytes;
    const char *second = size == 0 ? NULL : memchr(text, '%', size);
    size_t first = second == NULL ? size : (size_t)(second - text);

    check_policy(text, first);
    if (second != NULL)
        check_journal(second + 1, size - first - 1);
    return 0;
}

size_t fuzz_example(uint8_t *bytes, size_t room)
{
    static const char example[] =
        "group a is name x name \"y z\"\ngroup b is pid 7 cgroup /c unit u # comment\n"
        "goal latency p50 of a\nwindow 5s\nsettle 0ms\nlimit 1m\ncpus of a b\n"
        "weight of a up to 8 in /sys/fs/cgroup/cpu/a\nworkers of b from 1 to 8 by /bin/w {}\n"
        "shares of a b by /bin/s {} x\n%"
        "{\"policy\":\"p\",\"pid\":4,\"start\":5,\"groups\":[\"name x\"]}\n"
        "{\"act\":0,\"pid\":7,\"start\":8,\"tid\":9,\"tid_start\":8,\"cpus\":\"0-3,5\"}\n"
        "{\"effect\":0,\"cpus\":\"1\"}\n{\"effect\":1,\"less\":6}\n"
        "{\"act\":1,\"pid\":7,\"start\":8,\"tid\":9,\"tid_start\":8,\"nice\":-3}\n"
        "{\"act\":2,\"file\":\"/a/cpu.weight\",\"value\":\"100\"}\n"
        "{\"act\":3,\"command\":[\"/bin/w\",\"1\"]}\n{\"restored\":2}\n";

    return fuzz_text(bytes, room, example);
}
