/* SPDX-License-Identifier: MIT */
/*
 * requests_fuzz.c: the input is a byte for the session's state and the number of descriptors, and then a message to dpmd. Any
 * message is accepted, or refused with one line. One that is accepted has valid fields only, fits the state, and is accepted
 * in no other state, except for those that two states have.
 */
#include "dpmd/request.h"
#include "fuzz.h"
#include "meter/load/meter.h"

#include <errno.h>
#include <string.h>

#define RING_MOST (64u << 20)

static bool needs_descriptor(const struct session_request *request)
{
    return request->operation == SESSION_MARK ||
           ((request->operation == SESSION_ACQUIRE || request->operation == SESSION_CHANGE) &&
            request->of.all == 0);
}

static void check_accepted(const struct session_request *request, size_t size, size_t descriptors,
                           enum session_state state)
{
    uint32_t sizes[RING_COUNT];

    PROMISE(size == sizeof(*request));
    PROMISE(request->version == SESSION_VERSION);
    PROMISE(request->operation >= SESSION_OPEN && request->operation < SESSION_OPERATIONS);
    PROMISE((state == SESSION_NEW) == (request->operation == SESSION_OPEN));
    PROMISE(descriptors == needs_descriptor(request));
    if (request->operation == SESSION_NOTE)
        PROMISE(request->note.count <= ARRAY_SIZE(request->note.sockets));
    if (request->operation != SESSION_OPEN)
        return;
    PROMISE((request->open.flags & ~(uint64_t)METER_ALL_FLAGS) == 0);
    PROMISE((request->open.later_flags & ~(uint64_t)METER_ALL_FLAGS) == 0);
    PROMISE((request->open.kinds & ~METER_EVERY_KIND) == 0);
    PROMISE((request->open.later_kinds & ~METER_EVERY_KIND) == 0);
    meter_ring_sizes(request->open.ring_size, sizes);
    PROMISE(sizes[RING_DATA] <= RING_MOST);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct problem problem = {""};

    if (size == 0)
        return 0;
    enum session_state state = (enum session_state)(bytes[0] % (SESSION_DETACHED + 1));
    size_t descriptors = bytes[0] / 4 % 3;
    struct session_request *message = malloc(size); /* aligned, as dpmd receives it */
    if (message == NULL)
        abort();
    memcpy(message, bytes + 1, size - 1);
    int result = request_check(message, size - 1, descriptors, state, RING_MOST, &problem);
    if (result == 0) {
        check_accepted(message, size - 1, descriptors, state);
    } else {
        PROMISE(result == -EPROTO || result == -EINVAL || result == -EPERM);
        PROMISE(problem.text[0] != '\0' && strchr(problem.text, '\n') == NULL);
    }
    free(message);
    return 0;
}

size_t fuzz_example(uint8_t *bytes, size_t room)
{
    const struct session_request example = {
        .version = SESSION_VERSION,
        .operation = SESSION_OPEN,
        .open = {.flags = METER_ALL_FLAGS, .kinds = METER_TCP, .ring_size = 1u << 20},
    };

    if (room < 1 + sizeof(example))
        return 0;
    bytes[0] = SESSION_NEW;
    memcpy(bytes + 1, &example, sizeof(example));
    return 1 + sizeof(example);
}
