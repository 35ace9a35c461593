/* SPDX-License-Identifier: MIT */
/* unmetered.c: kinds of sockets whose messages no meter records. See event.h. */
#include "event/event.h"

#include <string.h>

static const char names[UNMETERED_END][12] = {
    [UNMETERED_MPTCP] = "MPTCP", [UNMETERED_SCTP] = "SCTP",
    [UNMETERED_DCCP] = "DCCP",   [UNMETERED_UDP_LITE] = "UDP-Lite",
    [UNMETERED_RAW] = "raw IP",  [UNMETERED_PACKET] = "packet",
    [UNMETERED_VSOCK] = "vsock", [UNMETERED_NETLINK] = "netlink",
    [UNMETERED_OTHER] = "other", [UNMETERED_PROCESS_VM] = "process_vm",
};

void unmetered_fill(struct name_record *ret_record, enum unmetered_kind kind, uint64_t time)
{
    *ret_record = (struct name_record){
        .header = {.time = time, .id = EVENT_NAME, .flags = RECORD_NO_STREAM},
        .number = kind,
        .kind = NAME_UNMETERED,
    };
    memcpy(ret_record->name, names[kind], sizeof(names[kind]));
}

void unmetered_text(uint32_t kinds, char text[UNMETERED_TEXT_SIZE])
{
    char *end = text;

    *text = '\0';
    for (unsigned kind = 1; kind < UNMETERED_END; kind++)
        if ((kinds >> kind & 1) && kind != UNMETERED_PROCESS_VM)
            end = stpcpy(stpcpy(end, end == text ? "" : ", "), names[kind]);
}
