/* SPDX-License-Identifier: MIT */
#include "fabric/rpc.h"

#include <errno.h>
#include <string.h>

#define OTHER_VERSION                                                                              \
    "the other side speaks version %lld of dpm's control protocol, this one version %u: install "  \
    "the same version of dpm on both machines"

/* ---- reading ---- */

/* NULL: not JSON, or too large. */
static json_t *load(const char *bytes, size_t size, json_error_t *error)
{
    if (size > FABRIC_BODY_MOST) {
        snprintf(error->text, sizeof(error->text), "larger than %u bytes", FABRIC_BODY_MOST);
        return NULL;
    }
    return json_loadb(bytes, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, error);
}

static bool is_rpc(const json_t *body)
{
    const char *version = json_string_value(json_object_get(body, "jsonrpc"));

    return version != NULL && strcmp(version, "2.0") == 0;
}

/* An id may be a string or a number; null is discouraged by JSON-RPC and is refused. */
static bool is_id(const json_t *id)
{
    return json_is_string(id) || json_is_number(id);
}

static bool is_params(const json_t *params)
{
    return params == NULL || json_is_object(params) || json_is_array(params);
}

static int check_request(const json_t *body, struct problem *problem)
{
    const json_t *version = json_object_get(body, "dpm");
    const char *wrong = NULL;

    if (!json_is_object(body))
        wrong = "it is not an object (batches are not supported)";
    else if (!is_rpc(body))
        wrong = "\"jsonrpc\" is not \"2.0\"";
    else if (!json_is_integer(version))
        wrong = "\"dpm\", the version of the protocol, is missing";
    if (wrong == NULL && json_integer_value(version) != FABRIC_VERSION) {
        problem_set(problem, 0, OTHER_VERSION, (long long)json_integer_value(version),
                    FABRIC_VERSION);
        return FABRIC_OTHER_VERSION;
    }
    if (wrong == NULL && json_object_get(body, "id") != NULL && !is_id(json_object_get(body, "id")))
        wrong = "\"id\" is neither a number nor a string";
    else if (wrong == NULL && !json_is_string(json_object_get(body, "method")))
        wrong = "\"method\" is not a string";
    else if (wrong == NULL && !is_params(json_object_get(body, "params")))
        wrong = "\"params\" is neither an object nor an array";
    if (wrong == NULL)
        return 0;
    problem_set(problem, 0, "not a valid request: %s", wrong);
    return FABRIC_INVALID_REQUEST;
}

int rpc_parse_request(const char *bytes, size_t size, struct rpc_request *ret_request,
                      json_t **ret_id, struct problem *problem)
{
    json_error_t error;
    json_t *body = load(bytes, size, &error);

    if (body == NULL) {
        *ret_id = json_null();
        problem_set(problem, 0, "not valid JSON: %s", error.text);
        return size > FABRIC_BODY_MOST ? FABRIC_INVALID_REQUEST : FABRIC_PARSE_ERROR;
    }
    json_t *id = json_object_get(body, "id");
    int code = check_request(body, problem);
    if (code != 0) {
        *ret_id = is_id(id) ? json_incref(id) : json_null();
        json_decref(body);
        return code;
    }
    *ret_request = (struct rpc_request){
        .body = body,
        .id = id,
        .method = json_string_value(json_object_get(body, "method")),
        .params = json_object_get(body, "params"),
    };
    return 0;
}

void rpc_request_done(struct rpc_request *request)
{
    json_decref(request->body);
    *request = (struct rpc_request){NULL};
}

static int reply_error(const json_t *error, int *ret_code, struct problem *problem)
{
    const json_t *code = json_object_get(error, "code");
    const char *text = json_string_value(json_object_get(error, "message"));

    if (!json_is_integer(code) || text == NULL)
        return problem_set(problem, -EPROTO,
                           "the reply is not a valid one: \"error\" has no code "
                           "or no message");
    json_int_t value = json_integer_value(code);
    if (value == FABRIC_OTHER_VERSION)
        return problem_set(problem, -EPROTONOSUPPORT, "%s", text);
    *ret_code = value >= INT32_MIN && value <= INT32_MAX ? (int)value : FABRIC_INTERNAL_ERROR;
    return problem_set(problem, -EREMOTEIO, "%s", text);
}

static int check_reply(const json_t *body, uint64_t id, struct problem *problem)
{
    const json_t *version = json_object_get(body, "dpm");
    const json_t *its_id = json_object_get(body, "id");
    bool has_error = json_object_get(body, "error") != NULL;

    if (!json_is_object(body) || !is_rpc(body) || !json_is_integer(version))
        return problem_set(problem, -EPROTO, "the reply is not one of dpm's control protocol");
    /* An error that answers what could not be read has the id null. */
    if (json_integer_value(version) != FABRIC_VERSION &&
        json_integer_value(json_object_get(json_object_get(body, "error"), "code")) !=
            FABRIC_OTHER_VERSION)
        return problem_set(problem, -EPROTONOSUPPORT, OTHER_VERSION,
                           (long long)json_integer_value(version), FABRIC_VERSION);
    if (!(json_is_integer(its_id) && json_integer_value(its_id) == (json_int_t)id) &&
        !(has_error && json_is_null(its_id)))
        return problem_set(problem, -EPROTO, "the reply is to another request");
    if (has_error == (json_object_get(body, "result") != NULL))
        return problem_set(problem, -EPROTO,
                           "the reply has neither a result nor an error, or both");
    return 0;
}

int rpc_parse_reply(const char *bytes, size_t size, uint64_t id, json_t **ret_result, int *ret_code,
                    struct problem *problem)
{
    json_error_t error;
    json_t *body = load(bytes, size, &error);

    if (body == NULL)
        return problem_set(problem, -EPROTO, "the reply is not valid JSON: %s", error.text);
    int result = check_reply(body, id, problem);
    if (result == 0 && json_object_get(body, "error") != NULL)
        result = reply_error(json_object_get(body, "error"), ret_code, problem);
    if (result == 0)
        *ret_result = json_incref(json_object_get(body, "result"));
    json_decref(body);
    return result;
}

/* ---- writing ---- */

/* Takes over `body`. */
static char *dump(json_t *body, size_t *ret_size)
{
    char *text = body == NULL ? NULL : json_dumps(body, JSON_COMPACT);

    json_decref(body);
    if (text != NULL)
        *ret_size = strlen(text);
    return text;
}

static json_t *envelope(void)
{
    return json_pack("{ss, si}", "jsonrpc", "2.0", "dpm", (int)FABRIC_VERSION);
}

char *rpc_request_text(uint64_t id, const char *method, json_t *params, size_t *ret_size)
{
    json_t *body = envelope();

    if (id != 0)
        json_object_set_new(body, "id", json_integer((json_int_t)id));
    json_object_set_new(body, "method", json_string(method));
    if (params != NULL)
        json_object_set(body, "params", params);
    return dump(body, ret_size);
}

char *rpc_result_text(json_t *id, json_t *result, size_t *ret_size)
{
    json_t *body = envelope();

    json_object_set(body, "id", id);
    json_object_set(body, "result", result);
    return dump(body, ret_size);
}

char *rpc_error_text(json_t *id, int code, const char *text, size_t *ret_size)
{
    json_t *body = envelope();
    json_t *message = json_string(text);

    json_object_set(body, "id", id);
    if (message == NULL) /* not UTF-8 */
        message = json_string("failed; the reason is not valid UTF-8");
    json_object_set_new(body, "error", json_pack("{si, so}", "code", code, "message", message));
    return dump(body, ret_size);
}
