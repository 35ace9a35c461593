/* SPDX-License-Identifier: MIT */
/*
 * whatif_requests.c: recorded requests as steps of processes and threads, and the clients that send them, one after the other.
 * See whatif.h.
 */
#include "analysis/whatif/whatif_private.h"

#include "base/lookup.h"
#include "event/event.h"
#include "event/system_calls.h"

#include <errno.h>
#include <string.h>

struct building {
    struct whatif_model *model;
    struct elapsed_analysis *analysis;
    struct lookup of_detail; /* detail -> party */
    struct lookup of_process;
    struct lookup thread_of_detail; /* detail -> thread + 1 */
    struct lookup of_thread;
    size_t steps_most;
};

/* ---- who ---- */

/* The script's, if there is one: "worker.py" says more than "python3". */
void whatif_name_for_changes(struct whatif_party *party)
{
    const char *script;
    size_t length = elapsed_script(party->label, &script);

    memcpy(party->asked, script, length);
    party->asked[length] = '\0';
    if (length == 0 || !process_is_named(party->asked, party->pid, party->name, party->label))
        memcpy(party->asked, party->name, sizeof(party->name));
}

static int64_t add_party(struct building *building, const struct elapsed_row *row)
{
    struct whatif_model *model = building->model;

    if (array_reserve(&model->parties, &model->party_room, model->party_count + 1,
                      sizeof(*model->parties)) < 0)
        return -ENOMEM;
    struct whatif_party *party = &model->parties[model->party_count];
    *party = (struct whatif_party){.origin = row->origin, .pid = row->pid};
    memcpy(party->name, row->process, sizeof(party->name));
    memcpy(party->label, row->label, sizeof(party->label));
    whatif_name_for_changes(party);
    if (row->origin >= model->machines)
        model->machines = row->origin + 1;
    return (int64_t)model->party_count++;
}

/* Index of the process that the detail is of; 0: not known. */
static int64_t party_of(struct building *building, uint32_t detail)
{
    uint32_t found = lookup_find(&building->of_detail, detail);

    if (found != LOOKUP_NONE)
        return found;
    const struct elapsed_row row = elapsed_step_row(building->analysis, detail);
    uint64_t key = (uint64_t)row.origin << 32 | row.pid;
    found = lookup_find(&building->of_process, key);
    int64_t party = found != LOOKUP_NONE ? found : add_party(building, &row);
    if (party < 0 || lookup_set(&building->of_process, key, (uint32_t)party) < 0 ||
        lookup_set(&building->of_detail, detail, (uint32_t)party) < 0)
        return -ENOMEM;
    return party;
}

/* "worker" for "worker-12": threads of one kind share a queue. The first thread of a process does other things than those
 * that have its name from it. */
static void kind_of_thread(const struct elapsed_row *row, char kind[STREAM_NAME_SIZE + 1])
{
    size_t length = strlen(row->thread);

    while (length > 0 && strchr("0123456789-#*:", row->thread[length - 1]) != NULL)
        length--;
    memcpy(kind, row->thread, length);
    kind[length] = '\0';
    if (length == 0 && row->tid != row->pid)
        memcpy(kind, "threads", sizeof("threads"));
}

static int add_thread(struct building *building, const struct elapsed_row *row, uint32_t party,
                      uint32_t detail)
{
    struct whatif_model *model = building->model;
    uint32_t received, beside;

    if (array_reserve(&model->threads, &model->thread_room, model->thread_count + 1,
                      sizeof(*model->threads)) < 0)
        return -ENOMEM;
    struct whatif_thread *thread = &model->threads[model->thread_count++];
    *thread = (struct whatif_thread){.party = party};
    kind_of_thread(row, thread->kind);
    elapsed_step_received(building->analysis, detail, &received, &beside);
    thread->is_loop = (double)beside > WHATIF_OVERLAPS * (double)received;
    thread->in_turn = received > 0 && !thread->is_loop;
    return 0;
}

/* The thread that the detail is of: index + 1; 0: not known. */
static int64_t thread_of(struct building *building, uint32_t detail)
{
    uint32_t found = lookup_find(&building->thread_of_detail, detail);

    if (detail == 0 || found != LOOKUP_NONE)
        return detail == 0 ? 0 : found;
    const struct elapsed_row row = elapsed_step_row(building->analysis, detail);
    uint64_t key = (uint64_t)row.origin << 32 | row.tid;
    int64_t party = party_of(building, detail);
    found = lookup_find(&building->of_thread, key);
    if (party >= 0 && found == LOOKUP_NONE && row.tid != 0) {
        if (add_thread(building, &row, (uint32_t)party, detail) < 0)
            return -ENOMEM;
        found = (uint32_t)building->model->thread_count;
    }
    if (found == LOOKUP_NONE)
        found = 0;
    if (party < 0 || lookup_set(&building->of_thread, key, found) < 0 ||
        lookup_set(&building->thread_of_detail, detail, found) < 0)
        return -ENOMEM;
    return found;
}

/* ---- requests, as recorded ---- */

/* On the way to a thread, which does something else, or nothing. */
static bool is_on_the_way(unsigned kind)
{
    return kind == ELAPSED_IN_FLIGHT || kind == ELAPSED_QUEUED;
}

static uint32_t address_of(const struct building *building, const struct elapsed_step *step)
{
    bool has_one = step->kind == ELAPSED_IN_FLIGHT || step->kind == ELAPSED_CONNECT ||
                   step->kind == ELAPSED_RESENT_SYN;
    const char *address = has_one ? elapsed_step_address(building->analysis, step->detail) : NULL;

    return address == NULL ? 0 : (uint32_t)hash_bytes(0, address, strlen(address)) | 1;
}

static int add_step(struct building *building, const struct elapsed_step *step)
{
    struct whatif_model *model = building->model;
    int64_t party = party_of(building, step->detail);
    int64_t thread = is_on_the_way(step->kind) ? 0 : thread_of(building, step->detail);

    if (party < 0 || thread < 0)
        return -ENOMEM;
    model->steps[model->step_count++] = (struct whatif_step){
        .time = step->end - step->begin,
        .party = (uint32_t)party,
        .thread = (uint32_t)thread,
        .kind = (uint8_t)step->kind,
        .polls = step->kind == ELAPSED_TIMER &&
                 call_waits_for_any(elapsed_step_row(building->analysis, step->detail).call),
        .address = address_of(building, step),
    };
    return 0;
}

static int add_steps(struct building *building, const struct elapsed_followed *followed)
{
    struct whatif_model *model = building->model;
    size_t count = followed->step_count;
    int result = 0;

    if (array_reserve(&model->steps, &model->step_room, model->step_count + count,
                      sizeof(*model->steps)) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < count && result == 0; i++)
        result = add_step(building, &followed->steps[i]);
    return result;
}

/* ---- clients ---- */

#define STEPS_OF_EACH                                                                              \
    100u /* on average, at most: 50,000 requests take 160 MB, and their ops half of that */

/* The slot of this client that has been free for the shortest time. A new one, if all have a request in progress. */
static int64_t slot_for(struct whatif_model *model, uint32_t client, uint64_t begin)
{
    int64_t best = -1;
    uint64_t latest = 0;

    for (size_t i = 0; i < model->slot_count; i++) {
        const struct whatif_slot *slot = &model->slots[i];
        uint64_t free = model->requests[slot->last - 1].end;
        if (slot->client == client && free <= begin && (best < 0 || free > latest)) {
            best = (int64_t)i;
            latest = free;
        }
    }
    if (best >= 0)
        return best;
    if (array_reserve(&model->slots, &model->slot_room, model->slot_count + 1,
                      sizeof(*model->slots)) < 0)
        return -ENOMEM;
    model->slots[model->slot_count] = (struct whatif_slot){.client = client};
    return (int64_t)model->slot_count++;
}

static int take_request(void *context, const struct elapsed_followed *followed)
{
    struct building *building = context;
    struct whatif_model *model = building->model;
    struct whatif_request request = {
        .begin = followed->begin, .end = followed->end, .first_step = (uint32_t)model->step_count};

    if (model->left_out > 0 || followed->step_count > building->steps_most - model->step_count) {
        model->left_out++; /* and all later ones, which may be their clients' next */
        return 0;
    }
    int64_t client = party_of(building, followed->client);
    if (client < 0 || add_steps(building, followed) < 0)
        return -ENOMEM;
    int64_t at = slot_for(model, (uint32_t)client, request.begin);
    if (at < 0 || array_reserve(&model->requests, &model->request_room, model->request_count + 1,
                                sizeof(*model->requests)) < 0)
        return -ENOMEM;
    struct whatif_slot *slot = &model->slots[at];
    request.client = (uint32_t)client;
    request.step_count = (uint32_t)model->step_count - request.first_step;
    uint32_t number = (uint32_t)model->request_count + 1;
    if (slot->last == 0) {
        slot->first = number;
    } else {
        struct whatif_request *before = &model->requests[slot->last - 1];
        request.think = request.begin - before->end;
        before->next = number;
    }
    slot->last = number;
    model->requests[model->request_count++] = request;
    return 0;
}

static bool are_of_one_program(const struct whatif_model *model, uint32_t one, uint32_t other)
{
    const struct whatif_party *a = &model->parties[one], *b = &model->parties[other];

    return a->origin == b->origin && a->asked[0] != '\0' && strcmp(a->asked, b->asked) == 0;
}

/* Among the first `count` slots of the same program: the one whose last request was the latest to end before this one began. */
static struct whatif_slot *slot_before(const struct whatif_model *model, size_t count,
                                       const struct whatif_slot *slot)
{
    uint64_t begin = model->requests[slot->first - 1].begin, latest = 0;
    struct whatif_slot *found = NULL;

    for (size_t i = 0; i < count; i++) {
        struct whatif_slot *before = &model->slots[i];
        uint64_t end = model->requests[before->last - 1].end;
        if (end <= begin && end >= latest &&
            are_of_one_program(model, before->client, slot->client)) {
            found = before;
            latest = end;
        }
    }
    return found;
}

/* A loop of `curl` is one client, though each is a process of its own: after an answer, the next one asks. */
static void join_slots(struct whatif_model *model)
{
    size_t kept = 0;

    for (size_t i = 0; i < model->slot_count; i++) {
        const struct whatif_slot slot = model->slots[i];
        struct whatif_slot *before = slot_before(model, kept, &slot);
        if (before == NULL) {
            model->slots[kept++] = slot;
            continue;
        }
        struct whatif_request *first = &model->requests[slot.first - 1];
        struct whatif_request *last = &model->requests[before->last - 1];
        last->next = slot.first;
        first->think = first->begin - last->end;
        before->last = slot.last;
    }
    model->slot_count = kept;
}

int whatif_take_requests(struct whatif_model *model, struct elapsed_analysis *analysis,
                         uint32_t most)
{
    struct building building = {
        .model = model, .analysis = analysis, .steps_most = (size_t)most * STEPS_OF_EACH};
    const struct elapsed_row nobody = {0};
    uint64_t count = 0;
    int64_t first = add_party(&building, &nobody);
    int result = first < 0 || lookup_set(&building.of_detail, 0, 0) < 0 ? -ENOMEM : 0;

    if (result == 0)
        result = elapsed_each_request(analysis, most, take_request, &building, &count);
    if (result == 0)
        join_slots(model);
    if (count > most)
        model->left_out += count - most;
    lookup_done(&building.of_detail);
    lookup_done(&building.of_process);
    lookup_done(&building.of_thread);
    lookup_done(&building.thread_of_detail);
    return result;
}

/* ---- the first ones ---- */

/* How many: they are in order of their beginnings. */
static uint32_t count_early(const struct whatif_model *model)
{
    uint64_t first_end = UINT64_MAX;
    uint32_t count = 0;

    for (size_t i = 0; i < model->request_count; i++)
        if (model->requests[i].end < first_end)
            first_end = model->requests[i].end;
    while (count < model->request_count && model->requests[count].begin < first_end)
        count++;
    return count;
}

/* Index + 1 after `count` requests are gone; 0: it is one of them, or none. */
static uint32_t moved(uint32_t number, uint32_t count)
{
    return number > count ? number - count : 0;
}

void whatif_drop_early(struct whatif_model *model)
{
    uint32_t early = count_early(model);
    size_t kept = 0;

    model->early_stay = early > model->request_count / 2;
    if (early == 0 || model->early_stay)
        return; /* none, or too few would be left */
    for (size_t i = 0; i < model->slot_count; i++) {
        struct whatif_slot slot = model->slots[i];
        while (slot.first != 0 && slot.first <= early)
            slot.first = model->requests[slot.first - 1].next;
        slot.first = moved(slot.first, early);
        slot.last = moved(slot.last, early);
        if (slot.first != 0)
            model->slots[kept++] = slot;
    }
    model->slot_count = kept;
    model->request_count -= early;
    memmove(model->requests, model->requests + early,
            model->request_count * sizeof(*model->requests));
    for (size_t i = 0; i < model->request_count; i++)
        model->requests[i].next = moved(model->requests[i].next, early);
    model->early = early;
}
