/* SPDX-License-Identifier: MIT */
/*
 * halves.c: connections that are counted as two, each with somebody who is not metered. See statistics_private.h.
 *
 *      machine A, read by its clock of the day:  PATH ... DESTROYPATH    leaves alone, and its hash is noted
 *      machine B, an hour behind:                        PATH ...        its mirrored hash was noted: split
 *
 * A history reads machines side by side, as their messages ask for it; without one, only clocks of the day tell which
 * record is next. If they are far apart, an end may have left long before the other is told of. Who asks is told how many.
 */
#include "analysis/statistics/statistics_private.h"

/* What a hash is made of: ends that know their starting positions are joined by these, or by addresses to one that does
 * not, as it is older than its recording (joining.c). */
enum hash_of { BY_STARTS, BY_ADDRESSES_ALONE, BY_ADDRESSES };

/* Of this end; or, as it would be, of its other end. */
static uint64_t hash_end(const struct path_record *record, enum hash_of of, bool other_end)
{
    const uint32_t starts[] = {record->start_out, record->start_in};
    uint8_t addresses[2][16];
    const uint16_t ports[] = {record->local_port, record->remote_port};
    uint64_t hash = of;

    if (of == BY_STARTS) {
        hash = hash_bytes(hash, &starts[other_end], sizeof(starts[0]));
        return hash_bytes(hash, &starts[!other_end], sizeof(starts[0]));
    }
    long_address(record->family, record->local, addresses[0]);
    long_address(record->family, record->remote, addresses[1]);
    hash = hash_bytes(hash, addresses[other_end], sizeof(addresses[0]));
    hash = hash_bytes(hash, addresses[!other_end], sizeof(addresses[0]));
    hash = hash_bytes(hash, &ports[other_end], sizeof(ports[0]));
    return hash_bytes(hash, &ports[!other_end], sizeof(ports[0]));
}

/* Ends of other kinds, and those of one recording, are told of while both live. */
static bool may_be_half(const struct statistics *statistics, const struct path_record *record)
{
    return statistics->counts_only && statistics->origin_count > 1 &&
           kind_is_internet(record->kind) && record->remote_port != 0;
}

int halves_left(struct statistics *statistics, const struct path_record *record)
{
    if (record == NULL || !may_be_half(statistics, record))
        return 0;
    bool starts = joiner_knows_starts(record);
    int result =
        starts ? addresses_note(&statistics->halves.ends, hash_end(record, BY_STARTS, false)) : 0;
    if (result >= 0)
        result =
            addresses_note(&statistics->halves.ends,
                           hash_end(record, starts ? BY_ADDRESSES : BY_ADDRESSES_ALONE, false));
    return result < 0 ? result : 0;
}

static bool has_left(const struct statistics *statistics, const struct path_record *record,
                     enum hash_of of)
{
    return addresses_are_noted(&statistics->halves.ends, hash_end(record, of, true));
}

void halves_came(struct statistics *statistics, const struct path_record *record)
{
    if (statistics->halves.ends.latest.count == 0 || !may_be_half(statistics, record))
        return;
    statistics->halves.split +=
        has_left(statistics, record, BY_ADDRESSES_ALONE) ||
        has_left(statistics, record, joiner_knows_starts(record) ? BY_STARTS : BY_ADDRESSES);
}
