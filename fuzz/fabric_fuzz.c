/* SPDX-License-Identifier: MIT */
/*
 * fabric_fuzz.c: the input is a byte that says what it is, and then what another machine may send: a control message, or
 * the subject or a header of a stored message. Anything is accepted, or refused with one line. What is accepted means the
 * same when it is written and read again.
 */
#include "fabric/fabric_names.h"
#include "fabric/rpc.h"
#include "fuzz.h"

#include <errno.h>
#include <string.h>

static void try_request(const char *bytes, size_t size)
{
    struct problem problem = {""};
    struct rpc_request request, again;
    json_t *id = NULL;
    size_t text_size = 0;
    int code = rpc_parse_request(bytes, size, &request, &id, &problem);

    if (code != 0) {
        PROMISE(code == FABRIC_PARSE_ERROR || code == FABRIC_INVALID_REQUEST ||
                code == FABRIC_OTHER_VERSION);
        PROMISE(problem.text[0] != '\0' && strchr(problem.text, '\n') == NULL);
        char *text = rpc_error_text(id, code, problem.text, &text_size);
        PROMISE(text != NULL);
        free(text);
        json_decref(id);
        return;
    }
    PROMISE(request.method != NULL);
    char *text = rpc_request_text(7, request.method, request.params, &text_size);
    PROMISE(text != NULL);
    PROMISE(rpc_parse_request(text, text_size, &again, &id, &problem) == 0);
    PROMISE(strcmp(again.method, request.method) == 0);
    PROMISE(request.params == NULL || json_equal(again.params, request.params));
    rpc_request_done(&again);
    rpc_request_done(&request);
    free(text);
}

static void try_reply(const char *bytes, size_t size)
{
    struct problem problem = {""};
    json_t *result = NULL;
    int code = 0;
    int error = rpc_parse_reply(bytes, size, 1, &result, &code, &problem);

    PROMISE(error == 0 || error == -EPROTO || error == -EREMOTEIO || error == -EPROTONOSUPPORT);
    PROMISE((error == 0) == (result != NULL));
    PROMISE(error == 0 || strchr(problem.text, '\n') == NULL);
    json_decref(result);
}

static void try_subject(const char *text)
{
    struct address address;

    if (address_parse(text, "tsp", &address) != 0)
        return;
    PROMISE(strncmp(text, "dpm.tsp.", 8) == 0);
    PROMISE(fabric_name_valid(address.machine));
    if (address.kind == ADDRESS_PACKETS)
        PROMISE(fabric_name_valid(address.recording) && address.part < FABRIC_PARTS);
    if (address.kind == ADDRESS_OUTPUT)
        PROMISE(address.pid >= 0);
}

static void try_place(const char *text)
{
    struct fabric_place place = {{0}}, again = {{0}};
    enum fabric_part part, part_again;
    char written[PLACE_ID_SIZE];

    if (place_id_parse(text, &place, &part) == 0) {
        place_id_text(&place, part, written);
        PROMISE(place_id_parse(written, &again, &part_again) == 0);
        PROMISE(part == part_again && memcmp(&place, &again, sizeof(place)) == 0);
    }
    if (place_parse(text, &place) == 1) {
        place_text(&place, written);
        PROMISE(place_parse(written, &again) == 1 && fabric_place_compare(&place, &again) == 0);
    }
}

static void try_name(const char *text)
{
    char name[FABRIC_NAME_MOST + 1];

    fabric_name_make(text, name);
    PROMISE(fabric_name_valid(name));
    if (fabric_name_valid(text))
        PROMISE(strcmp(name, text) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size == 0)
        return 0;
    char *text = malloc(size); /* ends with a 0 */
    if (text == NULL)
        abort();
    memcpy(text, bytes + 1, size - 1);
    text[size - 1] = '\0';
    switch (bytes[0] % 5) {
    case 0:
        try_request(text, size - 1);
        break;
    case 1:
        try_reply(text, size - 1);
        break;
    case 2:
        try_subject(text);
        break;
    case 3:
        try_place(text);
        break;
    default:
        try_name(text);
    }
    free(text);
    return 0;
}

/* A request; mutations of the first byte try it as the others. */
size_t fuzz_example(uint8_t *bytes, size_t room)
{
    static const char example[] =
        "{\"jsonrpc\":\"2.0\",\"dpm\":1,\"id\":1,\"method\":\"start\",\"params\":{\"name\":\"a\"}}";

    if (room < sizeof(example))
        return 0;
    bytes[0] = 0;
    memcpy(bytes + 1, example, sizeof(example) - 1);
    return sizeof(example);
}
