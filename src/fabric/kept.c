/* SPDX-License-Identifier: MIT */
/*
 * kept.c: the state of a controller, which the next one reads: JSON values by key, in the bucket dpm-SESSION-kept of the
 * server's key-value store.
 */
#include "fabric/fabric_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int open_bucket(struct fabric *fabric, kvStore **ret_bucket, struct problem *problem)
{
    char name[FABRIC_NAME_MOST + 16];
    union nats_bucket bucket;

    snprintf(name, sizeof(name), "dpm-%s-kept", fabric->session);
    natsStatus status = js_KeyValue(ret_bucket, fabric->jetstream, name);
    if (status == NATS_NOT_FOUND) {
        kvConfig_Init(&bucket.config);
        bucket.config.Bucket = name;
        bucket.config.History = 1;
        bucket.config.StorageType = js_FileStorage;
        status = js_CreateKeyValue(ret_bucket, fabric->jetstream, &bucket.config);
    }
    return status == NATS_OK ? 0 : fabric_problem(problem, fabric_errno(status), name, status);
}

int fabric_keep(struct fabric *fabric, const char *key, json_t *value, struct problem *problem)
{
    char *text = value == NULL ? NULL : json_dumps(value, JSON_COMPACT);
    kvStore *bucket = NULL;
    int result = value != NULL && text == NULL ? problem_set(problem, -ENOMEM, "out of memory")
                                               : open_bucket(fabric, &bucket, problem);

    if (result == 0) {
        natsStatus status =
            text == NULL ? kvStore_Delete(bucket, key) : kvStore_PutString(NULL, bucket, key, text);
        if (status != NATS_OK)
            result = fabric_problem(problem, fabric_errno(status), key, status);
    }
    kvStore_Destroy(bucket);
    free(text);
    return result;
}

/* Parses one value. Skips one that is not JSON: no controller wrote it. */
static void take_entry(json_t *all, const char *key, kvEntry *entry)
{
    json_t *value =
        json_loadb(kvEntry_Value(entry), (size_t)kvEntry_ValueLen(entry), JSON_DECODE_ANY, NULL);

    if (value != NULL)
        json_object_set_new(all, key, value);
}

int fabric_kept(struct fabric *fabric, json_t **ret_all, struct problem *problem)
{
    kvStore *bucket = NULL;
    kvKeysList keys = {0};
    int result = open_bucket(fabric, &bucket, problem);

    if (result < 0)
        return result;
    json_t *all = json_object();
    natsStatus status = kvStore_Keys(&keys, bucket, NULL);
    for (int i = 0; status == NATS_OK && i < keys.Count; i++) {
        kvEntry *entry = NULL;
        if (kvStore_Get(&entry, bucket, keys.Keys[i]) == NATS_OK)
            take_entry(all, keys.Keys[i], entry);
        kvEntry_Destroy(entry);
    }
    kvKeysList_Destroy(&keys);
    kvStore_Destroy(bucket);
    if (status != NATS_OK && status != NATS_NOT_FOUND) {
        json_decref(all);
        return fabric_problem(problem, fabric_errno(status), "what a controller has kept", status);
    }
    *ret_all = all;
    return 0;
}
