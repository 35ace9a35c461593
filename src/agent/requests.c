/* SPDX-License-Identifier: MIT */
/* requests.c: what a controller can ask of an agent. See docs/control-protocol.md. */
#include "agent/agent_private.h"

#include <errno.h>
#include <pwd.h>
#include <string.h>
#include <unistd.h>

static void name_user(char *name, size_t size)
{
    const struct passwd *user = getpwuid(geteuid());

    snprintf(name, size, "%s", user == NULL ? "?" : user->pw_name);
}

static void hexadecimal(const uint8_t *bytes, size_t size, char *text)
{
    for (size_t i = 0; i < size; i++)
        sprintf(text + 2 * i, "%02x", bytes[i]);
}

static int serve_hello(struct agent *agent, json_t *params, json_t **ret_result,
                       struct problem *problem)
{
    struct machine_record machine;
    char user[64], machine_id[33], boot_id[33];

    (void)agent;
    (void)params;
    (void)problem;
    machine_describe(&machine);
    name_user(user, sizeof(user));
    hexadecimal(machine.machine_id, sizeof(machine.machine_id), machine_id);
    hexadecimal(machine.boot_id, sizeof(machine.boot_id), boot_id);
    *ret_result = json_pack("{s:s#, s:s, s:s, s:s, s:s, s:i}", "host", machine.name,
                            (int)strnlen(machine.name, sizeof(machine.name)), "machine_id",
                            machine_id, "boot_id", boot_id, "user", user, "version", DPM_VERSION,
                            "processors", (int)sysconf(_SC_NPROCESSORS_ONLN));
    return 0;
}

static int serve_end(struct agent *agent, json_t *params, json_t **ret_result,
                     struct problem *problem)
{
    (void)params;
    (void)ret_result;
    (void)problem;
    agent->ends = true;
    return 0;
}

static const struct method {
    const char *name;
    int (*serve)(struct agent *agent, json_t *params, json_t **ret_result, struct problem *problem);
} methods[] = {
    {"hello", serve_hello},
    {"recording.open", recordings_open},
    {"recording.acquire", recordings_acquire},
    {"recording.flags", recordings_flags},
    {"recording.rules", recordings_rules},
    {"recording.end", recordings_end},
    {"recording.state", recordings_state},
    {"recording.flush", recordings_flush},
    {"process.create", created_create},
    {"process.start", created_start},
    {"process.signal", created_signal},
    {"process.input", created_input},
    {"process.list", created_list},
    {"program.find", programs_find},
    {"program.has", programs_has},
    {"program.put", programs_put},
    {"view.begin", agent_views_begin},
    {"view.end", agent_views_end},
    {"view.time", agent_views_time},
    {"view.steps", agent_views_steps},
    {"agent.end", serve_end},
};

static const struct method *find_method(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
        if (strcmp(methods[i].name, name) == 0)
            return &methods[i];
    return NULL;
}

static int serve(struct agent *agent, const struct fabric_message *message, json_t **ret_result,
                 int *ret_code, struct problem *problem)
{
    const struct method *method = find_method(message->method);
    json_t *params = message->params == NULL ? json_object() : json_incref(message->params);
    int result;

    *ret_code = FABRIC_NO_METHOD;
    if (method == NULL) {
        result = problem_set(problem, -ENOSYS, "this agent (dpm %s) knows no method '%s'",
                             DPM_VERSION, message->method);
    } else if (!json_is_object(params)) {
        *ret_code = FABRIC_INVALID_PARAMS;
        result = problem_set(problem, -EINVAL, "%s: params must be an object", message->method);
    } else {
        result = method->serve(agent, params, ret_result, problem);
        *ret_code = result == -EINVAL  ? FABRIC_INVALID_PARAMS
                    : result == -ESRCH ? FABRIC_NONE
                                       : FABRIC_FAILED;
    }
    json_decref(params);
    return result;
}

void requests_serve(struct agent *agent, struct fabric_message *message)
{
    json_t *result = NULL;
    struct problem problem;
    int code;

    if (serve(agent, message, &result, &code, &problem) < 0)
        fabric_refuse(message->request, code, problem.text);
    else
        fabric_answer(message->request, result);
}
