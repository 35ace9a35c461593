/* SPDX-License-Identifier: MIT */
/* rpc.h: bodies of control messages, JSON-RPC 2.0, made and taken apart; whatever they contain. Private to fabric/. */
#ifndef DPM_RPC_H
#define DPM_RPC_H

#include "fabric/fabric.h"

/* A request or, without an id, a notice. */
struct rpc_request {
    json_t *body; /* owns what follows */
    json_t *id;   /* NULL: a notice */
    const char *method;
    json_t *params; /* or NULL */
};

/* Returns 0: to be released with rpc_request_done; or a code, and a line in `problem` for the sender. Then *ret_id, of
 * which the caller owns a reference, is the id, or null. */
int rpc_parse_request(const char *bytes, size_t size, struct rpc_request *ret_request,
                      json_t **ret_id, struct problem *problem);
void rpc_request_done(struct rpc_request *request);

/* Returns 0, and the caller owns *ret_result; or -EREMOTEIO with *ret_code, -EPROTONOSUPPORT, -EPROTO. */
int rpc_parse_reply(const char *bytes, size_t size, uint64_t id, json_t **ret_result, int *ret_code,
                    struct problem *problem);

/* Each returns the text of a body, to be freed, and its size; or NULL. `id` 0: a notice. `params` may be NULL. */
char *rpc_request_text(uint64_t id, const char *method, json_t *params, size_t *ret_size);
char *rpc_result_text(json_t *id, json_t *result, size_t *ret_size);
char *rpc_error_text(json_t *id, int code, const char *text, size_t *ret_size);

#endif
