/* SPDX-License-Identifier: MIT */
/* copies.c: messages that several sockets receive. See copies.h. */
#include "history/copies.h"

#include "history/ends.h"
#include "history/flows.h"
#include "history/holding.h"
#include "history/positions.h"
#include "history/values.h"

#include "ends/joining.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_many(const uint8_t address[16])
{
    static const uint8_t of_ipv4[12] = {[10] = 0xff, [11] = 0xff};

    if (memcmp(address, of_ipv4, sizeof(of_ipv4)) != 0)
        return address[0] == 0xff;
    return (address[12] & 0xf0) == 0xe0 || memcmp(address + 12, "\xff\xff\xff\xff", 4) == 0;
}

bool copies_may_exist(const struct end *end)
{
    uint8_t address[16];

    if (end->kind != PATH_UDP || end->record == NULL)
        return false;
    long_address(end->record->family, end->record->remote, address);
    return (end->record->header.flags & RECORD_MANY) || is_many(address);
}

struct end *copies_original(struct end *end)
{
    return end->is_copy ? end->sharing->original : end;
}

static int copy_sends(struct history *history, const struct end *end, struct end *copy)
{
    for (uint32_t i = end->sends.first; i < end->sends.end; i++) {
        struct sent sent = end->sends.at[i];
        sent.left = sent_length(end, &sent);
        sent.come = 0;
        if (values_share(history, sent.value) < 0 || flows_keep_copy(history, copy, &sent) < 0)
            return -1;
    }
    return 0;
}

struct end *copies_add(struct history *history, struct end *end)
{
    int64_t index = pool_take(&history->ends);
    struct sharing *of_end = sharing_of(end);

    if (index < 0)
        return NULL;
    struct end *copy = pool_at(&history->ends, (uint32_t)index);
    copy->origin = end->origin;
    copy->number = end->number;
    copy->index = (uint32_t)index;
    copy->kind = end->kind;
    copy->counted = end->counted;
    copy->counted_in = end->counted_in;
    copy->may_doubt = end->may_doubt;
    copy->packets = end->packets;
    copy->has_sent = end->has_sent;
    copy->repeats = end->repeats;
    copy->destroyed = end->destroyed;
    copy->sender = end->sender;
    copy->sender_number = end->sender_number;
    copy->out_start = end->out_start;
    copy->out_last = end->out_last;
    copy->out_end = end->out_end;
    copy->out_time = end->out_time;
    copy->forgotten = end->forgotten;
    struct sharing *sharing = sharing_of(copy);
    if (of_end == NULL || sharing == NULL)
        return NULL;
    copy->is_copy = true;
    sharing->record = malloc(sizeof(*sharing->record));
    if (sharing->record == NULL)
        return NULL;
    memcpy(sharing->record, end->record, offsetof(struct path_record, name)); /* UDP has no name */
    copy->record = sharing->record;
    sharing->original = end;
    sharing->next_copy = of_end->next_copy;
    of_end->next_copy = copy;
    return copy_sends(history, end, copy) < 0 ? NULL : copy;
}

static struct end *next_copy(const struct end *end)
{
    return end->sharing == NULL ? NULL : end->sharing->next_copy;
}

int copies_note_send(struct history *history, struct end *end, struct stream *stream,
                     const struct record *record)
{
    int result = 0;

    for (struct end *copy = next_copy(end); copy != NULL && result == 0; copy = next_copy(copy))
        result = flows_note_send(history, copy, stream, record);
    return result;
}

int copies_hand_out_send(struct history *history, struct end *end, const struct record *record,
                         uint32_t value, struct history_event *event)
{
    for (struct end *copy = next_copy(end); copy != NULL; copy = next_copy(copy)) {
        struct sent *sent = flows_find_noted(copy, record);
        if (sent == NULL)
            continue;
        sent->number = event->number;
        sent->when = event->when;
        sent->proc_time = event->proc_time;
        sent->value = value;
        if (value == 0 && values_take(history, &sent->value, event) < 0)
            return -ENOMEM;
        if (value != 0 && values_share(history, value) < 0)
            return -ENOMEM;
        value = sent->value;
    }
    copies_wake(history, end);
    return 0;
}

void copies_wake(struct history *history, struct end *end)
{
    for (struct end *copy = next_copy(end); copy != NULL; copy = next_copy(copy))
        if (copy->partner != NULL)
            holding_wake_all(history, &copy->partner->waiters);
}

void copies_note_destroyed(struct history *history, struct end *end)
{
    struct end *next;

    for (struct end *copy = next_copy(end); copy != NULL; copy = next) {
        next = next_copy(copy); /* settling may forget the copy */
        if (!copy->destroyed) {
            ends_note_destroyed(history, copy);
            ends_settle(history, copy);
        }
    }
}

void copies_forget(struct end *end)
{
    if (end->sharing == NULL)
        return;
    if (end->is_copy) {
        struct end *original = end->sharing->original;
        for (struct end *at = original; at != NULL; at = next_copy(at))
            if (next_copy(at) == end)
                at->sharing->next_copy = end->sharing->next_copy;
        return;
    }
    for (struct end *copy = next_copy(end), *next; copy != NULL; copy = next) {
        next = next_copy(copy);
        copy->sharing->original = NULL;
        copy->sharing->next_copy = NULL;
    }
}
