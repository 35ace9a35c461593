/* SPDX-License-Identifier: MIT */
/* count_sends.c: a custom filter: counts messages and their bytes.   dpm run --filter ./count_sends -- COMMAND */
#include <dpm/stream.h>

#include <inttypes.h>
#include <stdio.h>

int main(void)
{
    struct dpm_stream stream = {0};
    const struct record_header *header;
    uint64_t messages = 0, bytes = 0;

    while ((header = dpm_next(&stream)) != NULL)
        if (header->id == EVENT_SEND) {
            messages += !(header->flags & RECORD_CONTINUED); /* a call's pieces are one message */
            bytes += ((const struct record *)header)->message.bytes;
        }
    printf("%" PRIu64 " messages, %" PRIu64 " bytes\n", messages, bytes);
    printf("%" PRIu64 " packets, %" PRIu64 " records, %" PRIu64 " packets missed\n", stream.packets,
           stream.records, stream.missed);
    if (stream.error != NULL)
        fprintf(stderr, "count_sends: %s\n", stream.error);
    int status = stream.error == NULL ? 0 : 1;
    dpm_done(&stream);
    return status;
}
