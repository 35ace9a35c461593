/* SPDX-License-Identifier: MIT */
/*
 * said_fuzz.c: the input is what an agent answers or reports to its controller, as JSON: in front of it, up to a
 * newline, the method of a notice. It is read, or refused with one line; what is read is in its bounds.
 */
#include "conduct/notices.h"
#include "fuzz.h"

#include <errno.h>
#include <string.h>

static void check_end(const struct process_end *end)
{
    PROMISE(end->by_signal ? end->number >= 1 && end->number <= 64
                           : end->number >= 0 && end->number <= 255);
}

static void check_refusal(int result, const struct problem *problem)
{
    PROMISE(result == 0 || result == -EPROTO);
    PROMISE(result == 0 || (problem->text[0] != '\0' && strchr(problem->text, '\n') == NULL));
}

static void try_listed(json_t *said)
{
    struct listed_process listed;
    struct problem problem = {""};
    int result = notice_listed(said, &listed, &problem);

    check_refusal(result, &problem);
    if (result < 0)
        return;
    PROMISE(listed.pid >= 1 && listed.recording != NULL);
    PROMISE(strlen(listed.name) < LISTED_NAME_SIZE && strpbrk(listed.name, "\n\r\033") == NULL);
    if (listed.state == PROCESS_KILLED)
        check_end(&listed.end);
}

static void try_notice(const char *method, json_t *said)
{
    struct conduct_notice notice;
    struct problem problem = {""};
    int result = notice_read(method, said, &notice, &problem);

    check_refusal(result, &problem);
    if (result < 0)
        return;
    if (notice.kind == NOTICE_ENDED)
        check_end(&notice.end);
    if (notice.kind == NOTICE_ENDED || notice.kind == NOTICE_STOPPED ||
        notice.kind == NOTICE_CONTINUED)
        PROMISE(notice.pid >= 1);
    if (notice.kind == NOTICE_NOTE || notice.kind == NOTICE_RECORDING_ENDED)
        PROMISE(notice.text != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const uint8_t *newline = size == 0 ? NULL : memchr(bytes, '\n', size);
    char method[64];
    pid_t pid;
    struct problem problem = {""};

    if (newline == NULL || newline - bytes >= (ptrdiff_t)sizeof(method))
        return 0;
    snprintf(method, sizeof(method), "%.*s", (int)(newline - bytes), (const char *)bytes);
    json_t *said = json_loadb((const char *)newline + 1, size - (size_t)(newline + 1 - bytes),
                              JSON_DECODE_ANY, NULL);
    int result = notice_pid(said, &pid, &problem); /* NULL: as an answer without any */
    check_refusal(result, &problem);
    PROMISE(result < 0 || pid >= 1);
    try_listed(said);
    try_notice(method, said);
    json_decref(said);
    return 0;
}

size_t fuzz_example(uint8_t *bytes, size_t room)
{
    static const char example[] =
        "process.ended\n{\"pid\": 812, \"recording\": \"f1-sort\", \"command\": \"./sort\", "
        "\"state\": "
        "\"ended\", \"signal\": 9, \"status\": 3, \"text\": \"note\", \"message\": \"why\"}";

    return fuzz_text(bytes, room, example);
}
