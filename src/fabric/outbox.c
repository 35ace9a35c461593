/* SPDX-License-Identifier: MIT */
#include "fabric/outbox.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* TCP loses nothing while a connection stands, so this is for what no reply ever answers: a refused subject. It is long, for a
 * slow link needs its time for what is under way, and still longer if it is sent again. Over a link of less than 16 kB/s, a
 * megabyte would take longer than the answer to a ping may take. */
#define AGAIN_AFTER (20000 * MILLISECONDS)
#define SLOWEST     62500u                /* ns for each byte */
#define FULL_AFTER  (1000 * MILLISECONDS) /* a full stream is tried again */
#define SOON        (250 * MILLISECONDS)  /* a stream that is not there yet, after a restart */

/* Under way at the same time, at most: with more, a slow link would take longer than the answer to a ping may take. */
#define SENT_BYTES_MOST (1u << 20)

enum entry_state { ENTRY_WAITING, ENTRY_SENT, ENTRY_STORED };

struct entry {
    natsMsg *message;
    enum entry_state state;
    bool sent_before, refused;
    unsigned lane;
    struct fabric_place place;
    bool has_place;
};

struct lane {
    bool open, has_stored;
    struct fabric_place stored;
};

struct outbox {
    struct outbox *next;
    struct fabric *fabric;
    const char *stream;
    uint32_t id;
    bool opens;
    unsigned window, count;
    uint64_t first; /* number of the oldest entry */
    struct entry *entries;
    struct lane lanes[OUTBOX_LANES];
    uint64_t
        progress; /* when the last reply came, or something was sent while nothing was under way */
    uint64_t not_before;
    unsigned sent;     /* entries that are SENT */
    size_t sent_bytes; /* of these */
    uint64_t stored, resent;
    unsigned
        refused; /* entries that were refused, and are not stored yet: a smaller one may be stored meanwhile */
    bool full;
    char reason[256];
};

static struct entry *entry_at(const struct outbox *outbox, uint64_t number)
{
    return &outbox->entries[number % outbox->window];
}

int outbox_new(struct fabric *fabric, const char *stream, unsigned window, bool opens,
               struct outbox **ret_outbox)
{
    struct outbox *outbox = calloc(1, sizeof(*outbox));

    if (outbox == NULL)
        return -ENOMEM;
    *outbox = (struct outbox){.fabric = fabric,
                              .stream = stream,
                              .window = window,
                              .opens = opens,
                              .id = ++fabric->outbox_number};
    outbox->entries = calloc(window, sizeof(*outbox->entries));
    if (outbox->entries == NULL) {
        free(outbox);
        return -ENOMEM;
    }
    outbox->next = fabric->outboxes;
    fabric->outboxes = outbox;
    *ret_outbox = outbox;
    return 0;
}

void outbox_free(struct outbox *outbox)
{
    if (outbox == NULL)
        return;
    struct outbox **link = &outbox->fabric->outboxes;
    while (*link != outbox)
        link = &(*link)->next;
    *link = outbox->next;
    for (unsigned i = 0; i < outbox->count; i++)
        natsMsg_Destroy(entry_at(outbox, outbox->first + i)->message);
    free(outbox->entries);
    free(outbox);
}

struct outbox *outbox_find(struct fabric *fabric, uint64_t id)
{
    struct outbox *outbox = fabric->outboxes;

    while (outbox != NULL && outbox->id != id)
        outbox = outbox->next;
    return outbox;
}

struct outbox *outbox_next(const struct outbox *outbox)
{
    return outbox->next;
}

bool outbox_has_space(const struct outbox *outbox)
{
    return outbox->count < outbox->window;
}

natsMsg *outbox_message(struct outbox *outbox, const char *subject, const void *bytes, size_t size)
{
    char reply[FABRIC_SUBJECT_SIZE];
    natsMsg *message = NULL;

    snprintf(reply, sizeof(reply), "%s.o.%" PRIu32 ".%" PRIu64, outbox->fabric->inbox, outbox->id,
             outbox->first + outbox->count);
    if (natsMsg_Create(&message, subject, reply, bytes, (int)size) != NATS_OK)
        return NULL;
    return message;
}

void outbox_push(struct outbox *outbox, natsMsg *message, unsigned lane,
                 const struct fabric_place *place)
{
    struct entry *entry = entry_at(outbox, outbox->first + outbox->count);

    *entry = (struct entry){.message = message, .lane = lane, .has_place = place != NULL};
    if (place != NULL)
        entry->place = *place;
    outbox->count++;
    outbox_pump(outbox, clock_now(CLOCK_MONOTONIC));
    fabric_arm(outbox->fabric);
}

/* ---- sending ---- */

static size_t size_of(const struct entry *entry)
{
    return (size_t)natsMsg_GetDataLength(entry->message);
}

/* Returns false if no more can be sent now. */
static bool send_entry(struct outbox *outbox, struct entry *entry, uint64_t now)
{
    if (outbox->sent > 0 && outbox->sent_bytes + size_of(entry) > SENT_BYTES_MOST)
        return false;
    if (natsConnection_PublishMsg(outbox->fabric->connection, entry->message) != NATS_OK)
        return false; /* no connection now */
    if (outbox->sent == 0)
        outbox->progress = now;
    outbox->sent++;
    outbox->sent_bytes += size_of(entry);
    outbox->resent += entry->sent_before;
    entry->sent_before = true;
    entry->state = ENTRY_SENT;
    return true;
}

/* When what is under way counts as lost. */
static uint64_t again_at(const struct outbox *outbox)
{
    return outbox->progress + AGAIN_AFTER + outbox->sent_bytes * SLOWEST;
}

void outbox_pump(struct outbox *outbox, uint64_t now)
{
    bool seen[OUTBOX_LANES] = {false};

    if (outbox->sent > 0 && now >= again_at(outbox))
        outbox_go_back(outbox);
    if (now < outbox->not_before)
        return;
    for (unsigned i = 0; i < outbox->count; i++) {
        struct entry *entry = entry_at(outbox, outbox->first + i);
        bool may = !seen[entry->lane] || outbox->lanes[entry->lane].open;
        if (entry->state == ENTRY_STORED)
            continue;
        seen[entry->lane] = true;
        if (entry->state == ENTRY_WAITING && !may && outbox->opens)
            return; /* nothing overtakes it: packets of data come after what they refer to */
        if (may && entry->state == ENTRY_WAITING && !send_entry(outbox, entry, now))
            return;
    }
}

void outbox_go_back(struct outbox *outbox)
{
    for (unsigned i = 0; i < outbox->count; i++) {
        struct entry *entry = entry_at(outbox, outbox->first + i);
        if (entry->state == ENTRY_SENT)
            entry->state = ENTRY_WAITING;
    }
    outbox->sent = 0;
    outbox->sent_bytes = 0;
    outbox->not_before = 0;
}

uint64_t outbox_due(const struct outbox *outbox)
{
    uint64_t due = outbox->sent > 0 ? again_at(outbox) : UINT64_MAX;

    if (outbox->sent < outbox->count && outbox->not_before != 0 && outbox->not_before < due)
        due = outbox->not_before;
    return due;
}

/* ---- replies ---- */

/* What the lane's entries tell of what is stored without a gap. */
static void advance_lane(struct outbox *outbox, unsigned number)
{
    struct lane *lane = &outbox->lanes[number];

    for (unsigned i = 0; i < outbox->count; i++) {
        struct entry *entry = entry_at(outbox, outbox->first + i);
        if (entry->lane != number)
            continue;
        if (entry->state != ENTRY_STORED)
            return;
        if (entry->has_place) {
            lane->stored = entry->place;
            lane->has_stored = true;
        }
    }
}

static void store_entry(struct outbox *outbox, struct entry *entry)
{
    entry->state = ENTRY_STORED;
    outbox->stored++;
    outbox->refused -= entry->refused;
    if (outbox->refused == 0) {
        outbox->full = false;
        outbox->reason[0] = '\0';
    }
    outbox->lanes[entry->lane].open = outbox->opens;
    advance_lane(outbox, entry->lane);
    while (outbox->count > 0 && entry_at(outbox, outbox->first)->state == ENTRY_STORED) {
        natsMsg_Destroy(entry_at(outbox, outbox->first)->message);
        outbox->first++;
        outbox->count--;
    }
}

/* JetStream's error_code: the stream has its maximum, or the account, or the server. */
static bool means_full(json_int_t code, const char *text)
{
    return code == JSStorageResourcesExceededErr || code == JSInsufficientResourcesErr ||
           code == JSAccountResourcesExceededErr ||
           (code == JSStreamStoreFailedErr && strstr(text, "maximum") != NULL);
}

/* Why the message was not stored; false: it was. */
static bool reply_reason(struct outbox *outbox, natsMsg *reply, char reason[256], bool *ret_full)
{
    int status = fabric_status_of(reply);

    *ret_full = false;
    if (status != 0) {
        snprintf(reason, 256, "nothing at the server takes it (status %d): is there a stream %s?",
                 status, outbox->stream);
        return true;
    }
    json_t *body =
        json_loadb(natsMsg_GetData(reply), (size_t)natsMsg_GetDataLength(reply), 0, NULL);
    const json_t *error = json_object_get(body, "error");
    bool stored = error == NULL && json_is_integer(json_object_get(body, "seq"));
    if (!stored) {
        const char *text = json_string_value(json_object_get(error, "description"));
        json_int_t code = json_integer_value(json_object_get(error, "err_code"));
        snprintf(reason, 256, "%s", text != NULL ? text : "the server's reply is not valid");
        *ret_full = means_full(code, reason);
    }
    json_decref(body);
    return !stored;
}

int outbox_reply(struct outbox *outbox, uint64_t number, natsMsg *reply, char text[512])
{
    char reason[256];
    bool full;

    /* Of an earlier time: it was sent again meanwhile, and the other reply came first. */
    if (number < outbox->first || number >= outbox->first + outbox->count)
        return 0;
    struct entry *entry = entry_at(outbox, number);
    uint64_t now = clock_now(CLOCK_MONOTONIC);
    bool refused = reply_reason(outbox, reply, reason, &full);
    if (entry->state == ENTRY_STORED || (refused && entry->state != ENTRY_SENT))
        return 0;
    if (entry->state == ENTRY_SENT) {
        outbox->sent--;
        outbox->sent_bytes -= size_of(entry);
    }
    outbox->progress = now;
    if (!refused) {
        store_entry(outbox, entry);
        return 0;
    }
    bool new_reason = strcmp(reason, outbox->reason) != 0;
    entry->state = ENTRY_WAITING;
    outbox->refused += !entry->refused;
    entry->refused = true;
    outbox->full |= full;
    snprintf(outbox->reason, sizeof(outbox->reason), "%s", reason);
    outbox->not_before = now + (full ? FULL_AFTER : SOON);
    if (new_reason)
        snprintf(text, 512, "the stream %s does not store what is sent: %s%s", outbox->stream,
                 reason, full ? "; give it more space, or end recordings" : "");
    return new_reason;
}

bool outbox_begin_lane(struct outbox *outbox, unsigned lane)
{
    for (unsigned i = 0; i < outbox->count; i++) {
        const struct entry *entry = entry_at(outbox, outbox->first + i);
        if (entry->lane == lane && entry->state != ENTRY_STORED)
            return false;
    }
    outbox->lanes[lane].open = false;
    return true;
}

void outbox_set_stored(struct outbox *outbox, unsigned lane, const struct fabric_place *place)
{
    outbox->lanes[lane].stored = *place;
    outbox->lanes[lane].has_stored = true;
}

const struct fabric_place *outbox_stored(const struct outbox *outbox, unsigned lane)
{
    return outbox->lanes[lane].has_stored ? &outbox->lanes[lane].stored : NULL;
}

unsigned outbox_pending(const struct outbox *outbox, unsigned lane)
{
    unsigned pending = 0;

    for (unsigned i = 0; i < outbox->count; i++) {
        const struct entry *entry = entry_at(outbox, outbox->first + i);
        pending += entry->lane == lane && entry->state != ENTRY_STORED;
    }
    return pending;
}

void outbox_look(const struct outbox *outbox, struct fabric_publisher_state *ret_state)
{
    unsigned pending = 0;

    for (unsigned i = 0; i < outbox->count; i++)
        pending += entry_at(outbox, outbox->first + i)->state != ENTRY_STORED;
    *ret_state = (struct fabric_publisher_state){.pending = pending,
                                                 .stored = outbox->stored,
                                                 .resent = outbox->resent,
                                                 .full = outbox->full};
    snprintf(ret_state->reason, sizeof(ret_state->reason), "%s", outbox->reason);
}
