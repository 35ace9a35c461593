/* SPDX-License-Identifier: MIT */
/* remote_calls.c: requests and replies of the control protocol, on both sides. */
#include "fabric/fabric_internal.h"
#include "fabric/rpc.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fabric_request {
    struct fabric *fabric;
    struct rpc_request rpc;
    char *reply; /* or NULL */
};

/* ---- the agent's side ---- */

static void send_text(struct fabric *fabric, const char *reply, char *text, size_t size)
{
    if (text != NULL && reply != NULL)
        natsConnection_Publish(fabric->connection, reply, text, (int)size);
    free(text);
}

static void send_error(struct fabric *fabric, const char *reply, json_t *id, int code,
                       const char *why)
{
    size_t size = 0;
    char *text = rpc_error_text(id, code, why, &size);

    send_text(fabric, reply, text, size);
}

int calls_request(struct fabric *fabric, struct arrival *arrival,
                  struct fabric_message *ret_message)
{
    natsMsg *message = arrival->message;
    const char *reply = natsMsg_GetReply(message);
    struct rpc_request rpc;
    struct problem problem;
    json_t *id;
    int code = rpc_parse_request(natsMsg_GetData(message), (size_t)natsMsg_GetDataLength(message),
                                 &rpc, &id, &problem);

    if (code != 0) {
        send_error(fabric, reply, id, code, problem.text);
        json_decref(id);
        return 0;
    }
    struct fabric_request *request = calloc(1, sizeof(*request));
    char *copy = reply == NULL || rpc.id == NULL ? NULL : strdup(reply);
    if (request == NULL || (copy == NULL && reply != NULL && rpc.id != NULL)) {
        send_error(fabric, reply, rpc.id, FABRIC_INTERNAL_ERROR, "out of memory");
        rpc_request_done(&rpc);
        free(request);
        free(copy);
        return 0;
    }
    *request = (struct fabric_request){.fabric = fabric, .rpc = rpc, .reply = copy};
    ret_message->kind = FABRIC_REQUEST;
    ret_message->method = rpc.method;
    ret_message->params = rpc.params;
    ret_message->request = request;
    return 1;
}

static void free_request(struct fabric_request *request)
{
    rpc_request_done(&request->rpc);
    free(request->reply);
    free(request);
}

void fabric_answer(struct fabric_request *request, json_t *result)
{
    size_t size = 0;
    char *text = rpc_result_text(request->rpc.id, result != NULL ? result : json_null(), &size);

    json_decref(result);
    if (text != NULL && size <= FABRIC_BODY_MOST) {
        send_text(request->fabric, request->reply, text, size);
    } else {
        free(text);
        send_error(request->fabric, request->reply, request->rpc.id, FABRIC_INTERNAL_ERROR,
                   "the answer is too large for one message");
    }
    free_request(request);
}

void fabric_refuse(struct fabric_request *request, int code, const char *text)
{
    send_error(request->fabric, request->reply, request->rpc.id, code, text);
    free_request(request);
}

/* ---- the controller's side ---- */

/* PREFIX.TOKEN.c.MACHINE.NUMBER: the reply's subject says what is answered. */
static void reply_subject(const struct fabric *fabric, const char *machine, uint64_t number,
                          char subject[FABRIC_SUBJECT_SIZE])
{
    snprintf(subject, FABRIC_SUBJECT_SIZE, "%s.c.%s.%" PRIu64, fabric->inbox, machine, number);
}

/* A request that took too long to write shows a connection that is about to be lost. */
static int not_asked(const struct fabric *fabric, const char *machine, natsStatus status,
                     struct problem *problem)
{
    int error = fabric_errno(status);

    if (error != -ENOTCONN && error != -ETIMEDOUT)
        return fabric_problem(problem, error, machine, status);
    return problem_set(problem, -ENOTCONN,
                       "%s cannot be asked now: no connection with the server at %s", machine,
                       fabric->where);
}

int64_t fabric_call_begin(struct fabric *fabric, const char *machine, const char *method,
                          json_t *params, struct problem *problem)
{
    char subject[FABRIC_SUBJECT_SIZE], reply[FABRIC_SUBJECT_SIZE];
    uint64_t number = ++fabric->call_number;
    size_t size = 0;

    if (!fabric_name_valid(machine))
        return problem_set(problem, -EINVAL, "%s: not the name of a machine", machine);
    char *text = rpc_request_text(number, method, params, &size);
    if (text == NULL)
        return problem_set(problem, -ENOMEM, "%s: the request cannot be written as JSON", method);
    if (size > FABRIC_BODY_MOST) {
        free(text);
        return problem_set(problem, -E2BIG, "%s: the request has %zu bytes, more than %u", method,
                           size, FABRIC_BODY_MOST);
    }
    snprintf(subject, sizeof(subject), "dpm.%s.%s.control", fabric->session, machine);
    reply_subject(fabric, machine, number, reply);
    natsStatus status =
        natsConnection_PublishRequest(fabric->connection, subject, reply, text, (int)size);
    free(text);
    return status == NATS_OK ? (int64_t)number : not_asked(fabric, machine, status, problem);
}

/* Takes the reply apart: as fabric_call. */
static int read_reply(const char *machine, uint64_t number, natsMsg *reply, json_t **ret_result,
                      int *ret_code, struct problem *problem)
{
    struct problem why;

    if (fabric_status_of(reply) != 0)
        return problem_set(problem, -EHOSTUNREACH, "%s: no agent of this name is connected",
                           machine);
    int error = rpc_parse_reply(natsMsg_GetData(reply), (size_t)natsMsg_GetDataLength(reply),
                                number, ret_result, ret_code, &why);
    return error == 0 ? 0 : problem_set(problem, error, "%s: %s", machine, why.text);
}

int calls_reply(const char *machine, uint64_t number, struct arrival *arrival,
                struct fabric_message *ret_message)
{
    struct problem problem = {""};
    json_t *result = NULL;
    int error =
        read_reply(machine, number, arrival->message, &result, &ret_message->code, &problem);
    struct held *held = fabric_hold(ret_message, arrival, machine);
    if (held == NULL) {
        json_decref(result);
        return 0; /* it takes too long, then */
    }
    held->body = result;
    ret_message->result = result;
    ret_message->kind = FABRIC_REPLY;
    ret_message->call = number;
    ret_message->error = error;
    if (error != 0)
        snprintf(ret_message->text, sizeof(ret_message->text), "%s", problem.text);
    return 1;
}

static bool has_subject(const struct arrival *arrival, const void *subject)
{
    return arrival->kind == ARRIVAL_REPLY &&
           strcmp(natsMsg_GetSubject(arrival->message), subject) == 0;
}

int fabric_call(struct fabric *fabric, const char *machine, const char *method, json_t *params,
                int timeout_ms, json_t **ret_result, int *ret_code, struct problem *problem)
{
    char subject[FABRIC_SUBJECT_SIZE];
    int code = 0;
    int64_t number = fabric_call_begin(fabric, machine, method, params, problem);

    if (number < 0)
        return (int)number;
    reply_subject(fabric, machine, (uint64_t)number, subject);
    struct arrival *arrival = fabric_take(fabric, has_subject, subject, timeout_ms);
    int error =
        arrival == NULL
            ? problem_set(problem, -ETIMEDOUT, "%s: the agent did not answer in time", machine)
            : read_reply(machine, (uint64_t)number, arrival->message, ret_result, &code, problem);
    if (ret_code != NULL)
        *ret_code = code;
    fabric_arrival_free(arrival);
    fabric_wake(fabric); /* other things may have come */
    return error;
}
