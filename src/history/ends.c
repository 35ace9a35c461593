/* SPDX-License-Identifier: MIT */
/*
 * ends.c: the ends of paths: which two belong together, on which machine the other end must be, and when both can
 * be forgotten.
 *
 *      PATH ........ first met; perhaps again, when more is known
 *        |  joined with its partner, or waits for it (joining.c)
 *      DESTROYPATH . nothing more will be sent or received
 *        |  while held records refer to it, or what it sent may still be received
 *      forgotten ... both ends at once
 *
 * An end without a partner keeps what it sends, since its partner may be met later, on a machine whose trace is read
 * a little later. The SENDs kept are limited, for one end and for all. A closed end with such SENDs is an orphan; the
 * number of orphans is limited, too.
 */
#include "history/ends.h"

#include "history/clock_origins.h"
#include "history/copies.h"
#include "history/flows.h"
#include "history/holding.h"
#include "history/positions.h"
#include "history/room.h"
#include "history/unpaired.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_POSITION (1ULL << 40) /* leaves space for smaller positions */

struct end *ends_find(struct history *history, uint32_t origin, uint32_t number)
{
    struct end **recent = &history->recent_ends[place_of_recent(origin, number)];

    if (*recent != NULL && (*recent)->number == number && (*recent)->origin == origin)
        return *recent;
    uint32_t found = lookup_find(&history->end_numbers, number_key(origin, number));
    return found == LOOKUP_NONE ? NULL : (*recent = pool_at(&history->ends, found));
}

/* ---- machines ---- */

static bool same_machine(const struct machine *machine, const struct machine_record *record)
{
    static const uint8_t none[16];
    bool anonymous = memcmp(record->machine_id, none, sizeof(none)) == 0 &&
                     memcmp(record->boot_id, none, sizeof(none)) == 0;

    return memcmp(machine->machine_id, record->machine_id, sizeof(none)) == 0 &&
           memcmp(machine->boot_id, record->boot_id, sizeof(none)) == 0 &&
           (!anonymous || memcmp(machine->name, record->name, sizeof(machine->name)) == 0);
}

static uint64_t address_key(const uint8_t address[16])
{
    return hash_bytes(0, address, 16);
}

static int add_address(struct history *history, const char *text, uint32_t machine)
{
    uint8_t bytes[16];
    uint8_t address[16];
    unsigned family = strchr(text, ':') != NULL ? AF_INET6 : AF_INET;

    if (inet_pton((int)family, text, bytes) != 1)
        return 0;
    long_address(family, bytes, address);
    return lookup_set(&history->addresses, address_key(address), machine);
}

/* A list that nearly fills its field may have been truncated, so it does not count as complete. */
static int add_addresses(struct history *history, const struct machine_record *record,
                         uint32_t machine)
{
    char list[MACHINE_ADDRESSES_SIZE + 1];
    char *rest = list;
    int result = 0;

    memcpy(list, record->addresses, MACHINE_ADDRESSES_SIZE);
    list[MACHINE_ADDRESSES_SIZE] = '\0';
    if (list[0] != '\0' && strlen(list) < MACHINE_ADDRESSES_SIZE - INET6_ADDRSTRLEN)
        history->machines[machine].knows_addresses = true;
    for (char *word; result == 0 && (word = strsep(&rest, " ")) != NULL;)
        result = add_address(history, word, machine);
    return result;
}

void ends_note_flags(struct history *history, uint32_t origin, const struct record_header *record)
{
    struct origin *of = &history->origins[origin];

    recorded_note(&of->recorded, record);
    of->kinds_partly = recorded_kinds_partly(&of->recorded);
    /* a datagram does not wait in its call */
    of->tells = recorded_always(&of->recorded, EVENT_SENDCALL) &&
                (of->kinds_partly & METER_ALL_KINDS & ~METER_UDP) == 0;
    of->receives_partly = recorded_partly(&of->recorded, EVENT_RECEIVE);
    of->sends_partly = recorded_partly(&of->recorded, EVENT_SEND);
    of->leaves_out_receives =
        recorded_leaves_out(&of->recorded, EVENT_RECEIVE) && !of->receives_partly;
    of->discards = of->discards || of->recorded.rules > 0;
    of->leaves_out_sends =
        of->recorded.known &&
        (of->recorded.ever & (EVENT_FLAG(EVENT_SEND) | EVENT_FLAG(EVENT_SENDCALL))) == 0;
    of->leaves_out_terminations =
        recorded_leaves_out(&of->recorded, EVENT_TERMINATION) || of->recorded.rules > 0;
}

int ends_note_machine(struct history *history, uint32_t origin, const struct machine_record *record)
{
    struct origin *of = &history->origins[origin];
    uint32_t machine = 0;

    if (of->machine != NO_MACHINE)
        return 0;
    of->meter = record->meter == METER_PTRACE ? METER_PTRACE : METER_KERNEL;
    ends_note_flags(history, origin, &record->header);
    while (machine < history->machine_count && !same_machine(&history->machines[machine], record))
        machine++;
    of->machine = machine;
    history->silent_origins--;
    history_clock_share(history, origin);
    /* other addresses of the machine, from another network namespace */
    if (machine < history->machine_count)
        return add_addresses(history, record, machine);
    struct machine *added = &history->machines[history->machine_count++];
    memcpy(added->machine_id, record->machine_id, sizeof(added->machine_id));
    memcpy(added->boot_id, record->boot_id, sizeof(added->boot_id));
    memcpy(added->name, record->name, sizeof(added->name));
    return add_addresses(history, record, machine);
}

/* For the joiner. An origin that has not reported its machine counts as a machine of its own. */
static uint32_t machine_number(const struct history *history, uint32_t origin)
{
    uint32_t machine = history->origins[origin].machine;

    return machine != NO_MACHINE ? machine : 0x40000000u + origin;
}

static bool is_link_local(const uint8_t address[16])
{
    return address[0] == 0xfe && (address[1] & 0xc0) == 0x80;
}

static void other_address(const struct end *end, uint8_t address[16])
{
    long_address(end->record->family, end->record->remote, address);
}

bool end_is_local(struct history *history, const struct end *end, uint32_t *ret_machine)
{
    uint8_t address[16];
    uint8_t own[16];

    *ret_machine = NO_MACHINE;
    if (end->kind == PATH_MPI) /* the other rank may be anywhere */
        return false;
    if (!kind_is_internet(end->kind))
        return true;
    other_address(end, address);
    long_address(end->record->family, end->record->local, own);
    if (is_loopback(address) || is_loopback(own))
        return true;
    *ret_machine = lookup_find(&history->addresses, address_key(address));
    return *ret_machine != NO_MACHINE && *ret_machine == history->origins[end->origin].machine;
}

/* Whether its own address is known from a recording. If not, it is in another network namespace, usually a container's,
 * whose neighbours are not listed anywhere. */
static bool has_known_address(const struct history *history, const struct end *end)
{
    uint8_t own[16];

    long_address(end->record->family, end->record->local, own);
    return lookup_find(&history->addresses, address_key(own)) != NO_MACHINE;
}

bool end_may_be_translated(const struct history *history, const struct end *end)
{
    return history->origin_count > 1 && !end->external && joiner_knows_starts(end->record);
}

bool end_has_foreign_peer(struct history *history, const struct end *end)
{
    uint8_t address[16];
    uint32_t machine;

    if (end->kind == PATH_UDP && end->record->remote_port == 0)
        return true;
    if (copies_may_exist(end) || end->kind == PATH_MPI) /* receivers may be anywhere */
        return false;
    if (history->silent_origins > 0 || end_is_local(history, end, &machine) ||
        machine != NO_MACHINE || !has_known_address(history, end))
        return false;
    for (uint32_t i = 0; i < history->machine_count; i++)
        if (!history->machines[i].knows_addresses)
            return false;
    other_address(end, address);
    return !is_link_local(address);
}

bool end_leads_away(struct history *history, const struct end *end)
{
    return !end_may_be_translated(history, end) && end_has_foreign_peer(history, end);
}

/* ---- joining ---- */

/* Whether the two ends number positions independently: different origins, and at least one of their meters counts from
 * a start of its own. */
static bool have_own_numbers(const struct end *end, const struct end *from)
{
    return end->kind == PATH_TCP && end->origin != from->origin &&
           ((end->record->header.flags | from->record->header.flags) & RECORD_COUNTED);
}

/* Whether the two begin where the kernel's numbers were when each was met, and are read in the order of time. Gigabytes may
 * have passed in between. Another machine may be read much later than it recorded, so only the starts are near each other. */
static bool begin_when_met(const struct history *history, const struct end *end,
                           const struct end *from)
{
    unsigned flags = end->record->header.flags | from->record->header.flags;

    return end->kind == PATH_TCP && (flags & RECORD_OLDER) && !(flags & RECORD_COUNTED) &&
           history_have_one_clock(history, end->origin, from->origin);
}

/* Finds the shift from positions that an end receives to positions that its partner sends: both are unwrapped, from
 * different starts. */
static void align(const struct history *history, struct end *end)
{
    const struct end *from = end->partner;

    if (from == NULL || end->aligned)
        return;
    if (have_own_numbers(end, from)) {
        end->in_shift = from->out_start - end->in_start;
        end->doubtful = (end->record->header.flags | from->record->header.flags) & RECORD_OLDER;
    } else if (begin_when_met(history, end, from)) {
        /* what is in flight is less than half of the range of 32 bits: so both are near each other now */
        end->in_shift = unwrap(from->out_last, (uint32_t)end->in_last) - end->in_last;
        end->aligned = from->has_sent && end->has_received; /* then no description changes them */
    } else {
        end->in_shift = unwrap(from->out_start, (uint32_t)end->in_start) - end->in_start;
    }
}

static void begin_positions(struct end *end)
{
    if (!end->has_sent)
        end->out_start = end->out_last = end->out_end = FIRST_POSITION + end->record->start_out;
    if (!end->has_received)
        end->in_start = end->in_last = end->in_handed = FIRST_POSITION + end->record->start_in;
}

static void forget_end(struct history *history, struct end *end);

/* What a closed socket has sent may still be received when another one has its address. Identifications of IPv4 go on. */
static void inherit(const struct history *history, struct end *end, struct end *former)
{
    const struct sends none = end->sends;

    if (history->origins[end->origin].meter != METER_KERNEL || end->record->family != AF_INET ||
        end->has_sent || !former->has_sent)
        return;
    end->sends = former->sends;
    former->sends = none;
    end->has_sent = true;
    end->repeats = former->repeats;
    end->out_last = former->out_last;
    end->out_end = former->out_end;
    end->out_time = former->out_time;
}

/* Nothing refers to it any more but its partner. */
static bool is_over(const struct end *end)
{
    return end->destroyed && end->held + end->kept + end->formers == 0;
}

/* Another socket has the address of a closed one (UDP), whose partner becomes its own. */
static void succeed(struct history *history, struct end *end, struct end *partner)
{
    struct end *former = partner->partner;

    partner->aligned = false;
    if (!is_over(former)) { /* it still needs its partner, which no longer needs it */
        partner->formers++;
        return;
    }
    inherit(history, end, former);
    forget_end(history, former);
}

/* A former partner has no other one: the joiner does not offer it again. */
static bool can_succeed(const struct end *end, const struct end *partner)
{
    const struct end *former = partner->partner;

    return end->partner == NULL && end != former && partner != former && former->destroyed &&
           former->partner == partner;
}

static void join(struct history *history, struct end *end, struct end *partner)
{
    struct end *both[2] = {end, partner};

    if (partner->partner != NULL && !can_succeed(end, partner))
        return;
    if (partner->partner != NULL)
        succeed(history, end, partner);

    unpaired_joined(history, end);
    unpaired_joined(history, partner);
    end->partner = partner;
    partner->partner = end;
    for (int i = 0; i < (end == partner ? 1 : 2); i++) {
        both[i]->external = false;
        align(history, both[i]);
        ends_unlist_unjoined(history, both[i]);
        if (both[i]->counted) /* needed only from now on */
            sends_compare_all(both[i], &both[i]->sends);
        if (end->origin != partner->origin)
            history->origins[both[i]->origin].in_flight += sends_count(&both[i]->sends);
        holding_wake_all(history, &both[i]->waiters);
    }
    ends_settle(history, end);
}

/* Both ends have just been joined. If one is a sender to several receivers, others are looked for, and a copy waits for
 * later ones. Returns 0 or -ENOMEM. */
static int join_further(struct history *history, struct end *end, struct end *partner)
{
    struct end *sender = copies_may_exist(end)       ? copies_original(end)
                         : copies_may_exist(partner) ? copies_original(partner)
                                                     : NULL;
    uint32_t receiver = 0;

    while (sender != NULL && !sender->destroyed && receiver != NO_END) {
        struct end *copy = copies_add(history, sender);
        if (copy == NULL)
            return -ENOMEM;
        int result = joiner_add(&history->joiner, copy->index, copy->record,
                                machine_number(history, copy->origin), copy->origin);
        if (result < 0)
            return result;
        receiver = joiner_end(&history->joiner, copy->index).partner;
        if (receiver != NO_END)
            join(history, copy, pool_at(&history->ends, receiver));
    }
    return 0;
}

static struct end *add_end(struct history *history, uint32_t origin, uint32_t number)
{
    int64_t index = pool_take(&history->ends);

    if (index < 0)
        return NULL;
    if (lookup_set(&history->end_numbers, number_key(origin, number), (uint32_t)index) < 0) {
        pool_give(&history->ends, (uint32_t)index);
        return NULL;
    }
    struct end *end = pool_at(&history->ends, (uint32_t)index);
    end->origin = origin;
    end->number = number;
    end->index = (uint32_t)index;
    return end;
}

int ends_note_path(struct history *history, uint32_t origin, const struct path_record *told)
{
    struct end *end = ends_find(history, origin, told->path);

    if (told->kind == PATH_FILE)
        return 0; /* nothing passes through it from one process to another */
    if (told->header.flags & RECORD_UNUSED)
        return 0; /* it has no end yet that could be looked for */
    if (end == NULL)
        end = add_end(history, origin, told->path);
    if (end == NULL)
        return -ENOMEM;
    if (end->record == NULL) {
        end->kind = told->kind;
        end->counted = is_counted(told->kind, history->origins[origin].meter);
        end->may_doubt = (told->kind != PATH_TCP && told->kind != PATH_UDP) ||
                         history->origins[origin].meter == METER_PTRACE;
        end->counted_in = is_counted_in(told->kind, history->origins[origin].meter);
    }
    end->packets = (told->header.flags & RECORD_PACKETS) || end->disordered;
    end->record = identities_path(history->identities, origin, told->path);
    begin_positions(end);
    if (end->partner != NULL) {
        align(history, end);
        align(history, end->partner);
        return 0;
    }
    if (told->role == PATH_ROLE_LISTENS)
        return 0; /* it has no other end */
    int result = joiner_add(&history->joiner, end->index, end->record,
                            machine_number(history, origin), origin);
    uint32_t partner = joiner_end(&history->joiner, end->index).partner;
    if (result < 0 || partner == NO_END) {
        unpaired_note_connection(history, end);
        return result;
    }
    join(history, end, pool_at(&history->ends, partner));
    return join_further(history, end, pool_at(&history->ends, partner));
}

/* ---- lists of ends ---- */

/* `index_and_1`: from a list or a link. NULL: none. */
static struct end *end_at(const struct history *history, uint32_t index_and_1)
{
    return index_and_1 == 0 ? NULL : pool_at(&history->ends, index_and_1 - 1);
}

struct end *ends_first(const struct history *history, enum end_list list)
{
    return end_at(history, history->end_lines[list].first);
}

static void add_last(struct history *history, enum end_list list, struct end *end)
{
    struct end_line *line = &history->end_lines[list];
    struct end *before = end_at(history, line->last);

    end->links[list] = (struct end_links){.previous = line->last};
    *(before == NULL ? &line->first : &before->links[list].next) = end->index + 1;
    line->last = end->index + 1;
}

static void take_out(struct history *history, enum end_list list, struct end *end)
{
    struct end_line *line = &history->end_lines[list];
    struct end *before = end_at(history, end->links[list].previous);
    struct end *after = end_at(history, end->links[list].next);

    *(before == NULL ? &line->first : &before->links[list].next) = end->links[list].next;
    *(after == NULL ? &line->last : &after->links[list].previous) = end->links[list].previous;
    end->links[list] = (struct end_links){0};
}

/* ---- SENDs of ends without a partner ---- */

void ends_list_unjoined(struct history *history, struct end *end)
{
    if (end->is_unjoined)
        return;
    end->is_unjoined = true;
    history->unjoined_sends += sends_count(&end->sends);
    add_last(history, ENDS_UNJOINED, end);
}

static void unlist_orphan(struct history *history, struct end *end)
{
    if (!end->is_orphan)
        return;
    take_out(history, ENDS_ORPHANED, end);
    end->is_orphan = false;
    history->orphan_count--;
}

static void unlist_idle(struct history *history, struct end *end)
{
    if (!end->is_idle)
        return;
    take_out(history, ENDS_IDLE, end);
    end->is_idle = false;
    history->idle_count--;
}

void ends_unlist_unjoined(struct history *history, struct end *end)
{
    unlist_orphan(history, end);
    unlist_idle(history, end);
    if (!end->is_unjoined)
        return;
    end->is_unjoined = false;
    history->unjoined_sends -= sends_count(&end->sends);
    take_out(history, ENDS_UNJOINED, end);
}

/* ---- forgetting ---- */

static void forget_end(struct history *history, struct end *end)
{
    flows_drop_all(history, end);
    ends_unlist_unjoined(history, end);
    while (end->opens != NULL)
        flows_close_call(history, end->opens);
    room_forget(history, end);
    holding_wake_all(history, &end->waiters);
    joiner_forget(&history->joiner, end->index);
    copies_forget(end);
    if (!end->is_copy) {
        lookup_remove(&history->end_numbers, number_key(end->origin, end->number));
        struct end **recent = &history->recent_ends[place_of_recent(end->origin, end->number)];
        if (*recent == end)
            *recent = NULL;
        identities_fade_path(history->identities, end->origin, end->number);
    }
    end_done(end);
    pool_give(&history->ends, end->index);
}

static void list_orphan(struct history *history, struct end *end)
{
    if (end->is_orphan)
        return;
    end->is_orphan = true;
    add_last(history, ENDS_ORPHANED, end);
    if (++history->orphan_count > ORPHANS_MOST)
        forget_end(history, ends_first(history, ENDS_ORPHANED));
}

/* The metered other end may accept late. */
static void list_idle(struct history *history, struct end *end)
{
    if (end->is_idle)
        return;
    end->is_idle = true;
    add_last(history, ENDS_IDLE, end);
    if (++history->idle_count > IDLE_MOST)
        forget_end(history, ends_first(history, ENDS_IDLE));
}

static void settle_alone(struct history *history, struct end *end)
{
    if (end->is_copy) {
        forget_end(history, end);
        return;
    }
    if (sends_count(&end->sends) > 0) {
        list_orphan(history, end);
    } else if (end->record == NULL || end_leads_away(history, end)) {
        forget_end(history, end);
    } else {
        unlist_orphan(history, end);
        list_idle(history, end);
    }
}

/* Forgets an end that is over and has a successor. Returns its partner, which may have waited for this; or NULL. */
static struct end *settle_former(struct history *history, struct end *end)
{
    struct end *partner = end->partner;

    if (!is_over(end) || partner == NULL || partner->partner == end)
        return NULL;
    partner->formers--;
    forget_end(history, end);
    return partner;
}

void ends_settle(struct history *history, struct end *end)
{
    for (struct end *next = end; next != NULL; next = settle_former(history, end))
        end = next;
    if (!is_over(end))
        return;
    struct end *partner = end->partner;
    if (partner == NULL) {
        settle_alone(history, end);
        return;
    }
    if (!is_over(partner))
        return;
    flows_drop_all(history, end);
    flows_drop_all(history, partner);
    if (partner != end)
        forget_end(history, partner);
    forget_end(history, end);
}

void ends_note_destroyed(struct history *history, struct end *end)
{
    end->destroyed = true;
    joiner_destroyed(&history->joiner, end->index);
    if (end->partner != NULL)
        holding_wake_all(history, &end->partner->waiters);
    if (end->sharing != NULL && !end->is_copy)
        copies_note_destroyed(history, end);
}

struct beginning *history_fade(struct history *history, uint32_t origin, uint32_t stream)
{
    struct fading *place = &history->fading[history->fading_next];

    if (place->any)
        lookup_remove(&history->faded, number_key(place->origin, place->number));
    *place = (struct fading){.any = true, .origin = origin, .number = stream};
    /* on -ENOMEM its last event will just not be found */
    lookup_set(&history->faded, number_key(origin, stream), history->fading_next);
    history->fading_next = (history->fading_next + 1) % FADING_MOST;
    identities_fade_stream(history->identities, origin, stream);
    return &place->latest;
}

const struct beginning *history_faded(const struct history *history, uint32_t origin,
                                      uint32_t stream)
{
    uint32_t place = lookup_find(&history->faded, number_key(origin, stream));

    return place == LOOKUP_NONE ? NULL : &history->fading[place].latest;
}

void ends_finish(struct history *history)
{
    for (uint32_t i = 0; i < history->ends.used; i++) {
        struct end *end = pool_at(&history->ends, i);
        if (end->record != NULL)
            flows_drop_all(history, end);
    }
}
