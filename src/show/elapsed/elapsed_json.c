/* SPDX-License-Identifier: MIT */
/* elapsed_json.c: where the elapsed time went, as JSON. See elapsed_face.h. */
#include "show/elapsed/elapsed_face.h"
#include "show/text/json.h"
#include "show/text/system_call.h"

#include <errno.h>

json_t *elapsed_machine_json(const char *machine)
{
    return machine[0] == '\0' ? json_null() : json_text(machine, MACHINE_NAME_SIZE);
}

static json_t *json_of_row(const struct elapsed_row *row, uint64_t of)
{
    char call[UNIT_SIZE], object[OBJECT_TEXT_SIZE];

    system_call_text(row->call, call);
    object_text(row->object, row->object_name, object);
    return json_pack(
        "{s:s, s:o, s:o, s:f, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
        "s:o, s:o, s:o, s:o}",
        "spent_on", elapsed_kind_key(row->kind), "time_ns", json_count(row->time), "count",
        json_count(row->count), "share", show_share(row->time, of), "name",
        json_text(row->process, STREAM_NAME_SIZE), "label",
        row->label[0] == '\0' ? json_null() : json_text(row->label, PROCESS_LABEL_SIZE - 1),
        "machine", elapsed_machine_json(row->machine), "pid", json_count(row->pid), "tid",
        json_count(row->tid), "thread",
        row->thread[0] == '\0' ? json_null() : json_text(row->thread, STREAM_NAME_SIZE),
        "procedure", json_text(row->procedure, PROCEDURE_NAME_SIZE), "module",
        json_text(row->module, MODULE_NAME_SIZE), "system_call",
        row->call == NO_SYSTEM_CALL ? json_null() : json_string(call), "waited_on",
        object[0] == '\0' ? json_null() : json_text(object, sizeof(object) - 1), "signal",
        row->signal == 0 ? json_null() : json_count(row->signal), "sender_pid",
        row->signal == 0 || row->sender == SENDER_UNKNOWN ? json_null() : json_count(row->sender),
        "peer", row->peer[0] == '\0' ? json_null() : json_text(row->peer, STREAM_NAME_SIZE),
        "peer_pid", row->peer[0] == '\0' ? json_null() : json_count(row->peer_pid), "peer_machine",
        elapsed_machine_json(row->peer_machine), "kind",
        row->path_kind == 0 ? json_null() : json_string(path_kind_name(row->path_kind)), "address",
        row->path_kind == 0 ? json_null() : json_text(row->address, ENDPOINT_SIZE));
}

static json_t *row_json(const void *context, size_t index)
{
    const struct elapsed_account *account = context;

    return json_of_row(&account->rows[index], account->time);
}

static json_t *kinds_json(const struct elapsed_account *account)
{
    json_t *kinds = json_object();

    for (unsigned kind = 0; kind < ELAPSED_KIND_COUNT && kinds != NULL; kind++)
        if (json_object_set_new(kinds, elapsed_kind_key(kind), json_count(account->by_kind[kind])) <
            0) {
            json_decref(kinds);
            kinds = NULL;
        }
    return kinds;
}

static json_t *hop_json(const void *context, size_t index)
{
    const struct elapsed_request *request = context;
    const struct elapsed_hop *hop = &request->hops[index];
    json_t *json = json_of_row(&hop->part, request->time);

    if (json != NULL && json_object_set_new(json, "begin_ns", json_count(hop->begin)) < 0) {
        json_decref(json);
        return NULL;
    }
    return json;
}

static json_t *request_json(const struct elapsed_request *request)
{
    return json_pack("{s:o, s:o, s:b, s:o}", "begin_ns", json_count(request->begin), "time_ns",
                     json_count(request->time), "cut", request->cut, "hops",
                     json_array_of(request, request->hop_count, hop_json));
}

static json_t *requests_json(const struct elapsed_requests *requests)
{
    const struct elapsed_account *account = &requests->account;

    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "count",
        json_count(requests->count), "unanswered", json_count(requests->unanswered), "unfinished",
        json_count(requests->unfinished), "retried", json_count(requests->retried), "connects",
        json_count(requests->connects), "followed", json_count(requests->followed), "time_ns",
        json_count(account->time), "median_ns", json_count(requests->median), "p99_ns",
        json_count(requests->p99), "spent_on_ns", kinds_json(account), "rows",
        json_array_of(account, account->row_count, row_json), "typical",
        requests->count == 0 ? json_null() : request_json(&requests->typical), "slowest",
        requests->count == 0 ? json_null() : request_json(&requests->slowest));
}

static json_t *wait_json(const void *context, size_t index)
{
    const struct elapsed *elapsed = context;
    const struct elapsed_wait *wait = &elapsed->waits[index];
    json_t *json = json_of_row(&wait->what, 0);

    if (json == NULL)
        return NULL;
    json_object_del(json, "share"); /* waits overlap */
    json_object_del(json, "spent_on");
    if (json_object_set_new(json, "waited_for",
                            json_string(wait->what.kind == ELAPSED_IN_FLIGHT
                                            ? "message"
                                            : elapsed_kind_key(wait->what.kind))) < 0 ||
        json_object_set_new(json, "longest_ns", json_count(wait->longest)) < 0 ||
        json_object_set_new(
            json, "ended_by",
            wait->ender[0] == '\0' ? json_null() : json_text(wait->ender, STREAM_NAME_SIZE)) < 0 ||
        json_object_set_new(json, "ended_by_pid",
                            wait->ender[0] == '\0' ? json_null() : json_count(wait->ender_pid)) <
            0 ||
        json_object_set_new(json, "ended_by_machine", elapsed_machine_json(wait->ender_machine)) <
            0) {
        json_decref(json);
        return NULL;
    }
    return json;
}

/* The keys of a wait, each after "waiter_". */
static int add_waiter(json_t *json, const struct elapsed_row *waited)
{
    static const char *const keys[] = {"name",   "label",     "machine", "pid",        "tid",
                                       "thread", "procedure", "module",  "system_call"};
    json_t *of = json_of_row(waited, 0);
    char key[40];
    int result = of == NULL ? -1 : 0;

    for (size_t i = 0; i < ARRAY_SIZE(keys) && result == 0; i++) {
        snprintf(key, sizeof(key), "waiter_%s", keys[i]);
        result = json_object_set(json, key, json_object_get(of, keys[i]));
    }
    json_decref(of);
    return result;
}

static json_t *holder_json(const void *context, size_t index)
{
    const struct elapsed *elapsed = context;
    const struct elapsed_holder *holder = &elapsed->holders[index];
    json_t *json = json_of_row(&holder->did, elapsed->run.time);

    if (json == NULL || add_waiter(json, &holder->waited) < 0 ||
        json_object_set_new(json, "waiting_threads", json_count(holder->threads)) < 0) {
        json_decref(json);
        return NULL;
    }
    return json;
}

static json_t *lock_json(const void *context, size_t index)
{
    const struct elapsed *elapsed = context;
    const struct elapsed_lock *lock = &elapsed->locks[index];
    bool has_holder = lock->holder.pid != 0;
    char object[OBJECT_TEXT_SIZE];

    object_text(lock->what.object, lock->what.object_name, object);
    return json_pack(
        "{s:o, s:o, s:f, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "waited_on",
        json_text(object, sizeof(object) - 1), "time_ns", json_count(lock->time), "share",
        show_share(lock->time, elapsed->run.time), "followed_ns", json_count(lock->followed),
        "waits", json_count(lock->waits), "waiting_threads", json_count(lock->threads),
        "waiting_processes", json_count(lock->processes), "most_at_once", json_count(lock->most),
        "holder_name", has_holder ? json_text(lock->holder.process, STREAM_NAME_SIZE) : json_null(),
        "holder_pid", has_holder ? json_count(lock->holder.pid) : json_null(), "holder_tid",
        has_holder ? json_count(lock->holder.tid) : json_null(), "holder_machine",
        elapsed_machine_json(lock->holder.machine), "holder_share",
        has_holder ? json_real(show_share(lock->holder_time, lock->held)) : json_null());
}

static json_t *file_json(const void *context, size_t index)
{
    const struct elapsed *elapsed = context;
    const struct elapsed_file *file = &elapsed->files[index];

    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:f, s:o, s:o, s:o}", "from_name",
        json_text(file->from.process, STREAM_NAME_SIZE), "from_pid", json_count(file->from.pid),
        "from_machine", elapsed_machine_json(file->from.machine), "to_name",
        json_text(file->to.process, STREAM_NAME_SIZE), "to_pid", json_count(file->to.pid),
        "to_machine", elapsed_machine_json(file->to.machine), "share",
        show_share(file->time, elapsed->run.time), "bytes", json_count(file->bytes), "reads",
        json_count(file->reads), "file", json_text(file->name, ENDPOINT_SIZE));
}

json_t *elapsed_files_json(const struct elapsed *elapsed)
{
    return json_array_of(elapsed, elapsed->file_count, file_json);
}

json_t *elapsed_json(const struct elapsed *elapsed)
{
    const struct elapsed_account *run = &elapsed->run;

    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "elapsed_ns", json_count(run->time),
        "process",
        elapsed->from_start ? json_text(elapsed->process, STREAM_NAME_SIZE) : json_null(), "pid",
        elapsed->from_start ? json_count(elapsed->pid) : json_null(), "spent_on_ns",
        kinds_json(run), "rows", json_array_of(run, run->row_count, row_json), "holders",
        json_array_of(elapsed, elapsed->holder_count, holder_json), "locks",
        json_array_of(elapsed, elapsed->lock_count, lock_json), "files",
        elapsed_files_json(elapsed), "requests", requests_json(&elapsed->requests), "waits",
        json_array_of(elapsed, elapsed->wait_count, wait_json));
}

int elapsed_print_json(const struct elapsed *elapsed, const struct recorded *recorded, FILE *file)
{
    json_t *all = elapsed_json(elapsed);
    json_t *trace = json_pack("{s:o, s:b, s:b}", "lost", json_count(recorded->lost), "complete",
                              recorded->complete, "rules", elapsed->has_rules);

    if (all != NULL && json_object_set_new(all, "trace", trace) < 0) {
        json_decref(all);
        all = NULL;
    }
    int result = json_print(all, JSON_INDENT(1), file);
    fputc('\n', file);
    return result;
}
