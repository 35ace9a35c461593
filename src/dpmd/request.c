/* SPDX-License-Identifier: MIT */
/* request.c: checks requests. See request.h. */
#include "dpmd/request.h"

#include "meter/load/meter.h"

#include <errno.h>
#include <inttypes.h>

static int check_open(const struct session_request *request, uint32_t ring_most,
                      struct problem *problem)
{
    uint64_t flags = request->open.flags | request->open.later_flags;
    uint32_t kinds = request->open.kinds | request->open.later_kinds;
    uint32_t sizes[RING_COUNT];

    if ((flags & ~METER_ALL_FLAGS) != 0)
        return problem_set(problem, -EINVAL, "dpmd does not know all of these flags: %#" PRIx64,
                           flags);
    if ((kinds & ~METER_EVERY_KIND) != 0)
        return problem_set(problem, -EINVAL, "dpmd does not know all of these kinds: %#" PRIx32,
                           kinds);
    meter_ring_sizes(request->open.ring_size, sizes);
    if (request->open.ring_size != 0 && sizes[RING_DATA] > ring_most)
        return problem_set(problem, -EINVAL,
                           "dpmd gives a user rings of at most %" PRIu32
                           " MiB (dpmd --ring): ask for less with --ring",
                           ring_most >> 20);
    return 0;
}

static int check_content(const struct session_request *request, size_t descriptors,
                         uint32_t ring_most, struct problem *problem)
{
    size_t wanted =
        request->operation == SESSION_MARK ||
        ((request->operation == SESSION_ACQUIRE || request->operation == SESSION_CHANGE) &&
         request->of.all == 0);

    if (descriptors != wanted)
        return problem_set(problem, -EPROTO, "%zu descriptors came with the request instead of %zu",
                           descriptors, wanted);
    if (request->operation == SESSION_OPEN)
        return check_open(request, ring_most, problem);
    if (request->operation == SESSION_NOTE && request->note.count > SESSION_SOCKETS_MOST)
        return problem_set(problem, -EPROTO, "too many sockets in one request");
    return 0;
}

static bool fits_state(uint32_t operation, enum session_state state)
{
    switch (state) {
    case SESSION_NEW:
        return operation == SESSION_OPEN;
    case SESSION_OPENED:
        return operation != SESSION_OPEN && operation != SESSION_LAST;
    default:
        return operation == SESSION_LAST || operation == SESSION_PROCESSES ||
               operation == SESSION_REPORT;
    }
}

int request_check(const struct session_request *request, size_t size, size_t descriptors,
                  enum session_state state, uint32_t ring_most, struct problem *problem)
{
    if (size != sizeof(*request))
        return problem_set(problem, -EPROTO, "not a request: %zu bytes instead of %zu", size,
                           sizeof(*request));
    if (request->version != SESSION_VERSION)
        return problem_set(problem, -EPROTO,
                           "dpm is of another version than dpmd: install the same of both");
    if (request->operation == 0 || request->operation >= SESSION_OPERATIONS)
        return problem_set(problem, -EPROTO, "no such operation: %" PRIu32, request->operation);
    if (!fits_state(request->operation, state))
        return problem_set(problem, -EPERM, "the session is not in a state for operation %" PRIu32,
                           request->operation);
    return check_content(request, descriptors, ring_most, problem);
}
