/* SPDX-License-Identifier: MIT */
/*
 * kept.c: the state of a controller, which the next one reads: JSON values by key, in a stream that has the last message of each
 * subject.
 *
 *      dpm-SESSION-kept      dpm.SESSION.controller.kept.session   {"next_job": 3, ...}
 *                            dpm.SESSION.controller.kept.job.1     {"number": 1, ...}
 */
#include "fabric/fabric_internal.h"

#include "base/base64.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void name_subject(const struct fabric *fabric, const char *key,
                         char subject[FABRIC_SUBJECT_SIZE])
{
    snprintf(subject, FABRIC_SUBJECT_SIZE, KEPT_SUBJECT "%.100s", fabric->session, key);
}

static int ask(struct fabric *fabric, const char *what, const char *key, const char *verb,
               const char *member, json_t **ret_answer, struct problem *problem)
{
    char of[FABRIC_SUBJECT_SIZE], subject[FABRIC_SUBJECT_SIZE], body[FABRIC_SUBJECT_SIZE + 32];

    name_subject(fabric, key, of);
    snprintf(subject, sizeof(subject), "$JS.API.STREAM.%s.%s", verb, fabric->streams[STREAM_KEPT]);
    snprintf(body, sizeof(body), "{\"%s\":\"%s\"}", member, of);
    return fabric_ask(fabric, what, subject, body, ret_answer, problem);
}

static int store(struct fabric *fabric, const char *key, json_t *value, json_t **ret_answer,
                 struct problem *problem)
{
    char subject[FABRIC_SUBJECT_SIZE];
    char *text = json_dumps(value, JSON_COMPACT);

    name_subject(fabric, key, subject);
    int result = text == NULL ? problem_set(problem, -ENOMEM, "out of memory")
                              : fabric_ask(fabric, key, subject, text, ret_answer, problem);
    free(text);
    return result;
}

int fabric_keep(struct fabric *fabric, const char *key, json_t *value, struct problem *problem)
{
    json_t *answer = NULL;
    int result = value == NULL ? ask(fabric, key, key, "PURGE", "filter", &answer, problem)
                               : store(fabric, key, value, &answer, problem);

    json_decref(answer);
    return result;
}

/* NULL: it is not JSON: no controller wrote it. */
static json_t *value_of(json_t *answer)
{
    const char *text =
        json_string_value(json_object_get(json_object_get(answer, "message"), "data"));
    size_t length = text == NULL ? 0 : strlen(text);
    char *bytes = malloc(length + 1);
    int64_t size = bytes == NULL ? -1 : base64_decode(text == NULL ? "" : text, length, bytes);
    json_t *value = size < 0 ? NULL : json_loadb(bytes, (size_t)size, JSON_DECODE_ANY, NULL);

    free(bytes);
    return value;
}

static int take_value(struct fabric *fabric, const char *key, json_t *all, struct problem *problem)
{
    json_t *answer = NULL;
    int result = ask(fabric, key, key, "MSG.GET", "last_by_subj", &answer, problem);
    json_t *value = result == 0 ? value_of(answer) : NULL;

    json_decref(answer);
    if (value != NULL)
        json_object_set_new(all, key, value);
    return result;
}

int fabric_kept(struct fabric *fabric, json_t **ret_all, struct problem *problem)
{
    char prefix[FABRIC_SUBJECT_SIZE];
    const char *subject;
    json_t *info = NULL, *count, *all = json_object();
    int result =
        ask(fabric, "what a controller has kept", ">", "INFO", "subjects_filter", &info, problem);

    name_subject(fabric, "", prefix);
    json_object_foreach(json_object_get(json_object_get(info, "state"), "subjects"), subject, count)
    {
        if (result == 0 && strncmp(subject, prefix, strlen(prefix)) == 0)
            result = take_value(fabric, subject + strlen(prefix), all, problem);
    }
    json_decref(info);
    if (result < 0 && result != -ENOENT) { /* there is no such stream: nothing was kept */
        json_decref(all);
        return result;
    }
    *ret_all = all;
    return 0;
}
