/* SPDX-License-Identifier: MIT */
/* agent_requests.c: see agent_requests.h. */
#include "conduct/agent_requests.h"

#include "base/base64.h"
#include "event/event.h"

#include <stdlib.h>

json_t *request_process(pid_t pid)
{
    return json_pack("{s:i}", "pid", (int)pid);
}

json_t *request_signal(pid_t pid, const char *signal)
{
    return json_pack("{s:i, s:s}", "pid", (int)pid, "signal", signal);
}

json_t *request_input(pid_t pid, const void *bytes, size_t size, bool end)
{
    char *text = malloc(BASE64_LENGTH(size) + 1);
    json_t *params = NULL;

    if (text != NULL) {
        base64_encode(bytes, size, text);
        params = json_pack("{s:i, s:s, s:b}", "pid", (int)pid, "data", text, "end", end);
    }
    free(text);
    return params;
}

json_t *request_recording(const char *recording)
{
    return json_pack("{s:s}", "recording", recording);
}

json_t *request_flags(const char *recording, uint64_t flags)
{
    char text[METER_FLAGS_TEXT_SIZE];

    meter_flags_text(flags, text);
    return json_pack("{s:s, s:s}", "recording", recording, "flags", text);
}
