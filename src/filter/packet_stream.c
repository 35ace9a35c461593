/* SPDX-License-Identifier: MIT */
/* packet_stream.c: see packet_stream.h. The public header does the work, as in any custom filter. */
#include "filter/packet_stream.h"

#include <dpm/stream.h>

struct packet_stream {
    struct dpm_stream stream;
};

int packet_stream_new(int file, struct packet_stream **ret_stream)
{
    struct packet_stream *stream = calloc(1, sizeof(*stream));

    if (stream == NULL)
        return -ENOMEM;
    stream->stream.file = file;
    *ret_stream = stream;
    return 0;
}

void packet_stream_free(struct packet_stream *stream)
{
    if (stream != NULL)
        dpm_done(&stream->stream);
    free(stream);
}

int packet_stream_next(struct packet_stream *stream, struct event *ret_event,
                       struct problem *problem)
{
    const struct record_header *header = dpm_next(&stream->stream);

    if (header == NULL)
        return stream->stream.error == NULL
                   ? 0
                   : problem_set(problem, -EBADMSG, "%s", stream->stream.error);
    *ret_event = (struct event){header, stream->stream.origin, stream->stream.wall_offset,
                                stream->stream.absent};
    return 1;
}

uint64_t packet_stream_missed(const struct packet_stream *stream)
{
    return stream->stream.missed;
}
