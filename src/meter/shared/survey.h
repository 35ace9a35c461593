/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * survey.h: what the meter's iterators hand to the program that reads them: fixed-size lines.
 */
#ifndef DPM_SURVEY_H
#define DPM_SURVEY_H

#include "event/record.h"

/* One metered stream that is alive. */
struct survey_stream {
    struct stream_record identity; /* as it is now, with the CPU time used so far */
    uint64_t lost[2];  /* records lost since the stream's last LOST record, by enum ring_id */
    uint32_t sequence; /* of its next record */
    uint32_t silent;   /* marked, but not begun yet */
    uint64_t load;     /* address of the program's text */
    uint64_t inode;    /* of the program's file */
    uint32_t device;
    uint32_t unused;
};

/* One UNIX socket that is alive and known to the meter. */
struct survey_socket {
    uint64_t cookie;
};

/* What a UDP path in the meter's map begins with. */
struct survey_path {
    uint32_t number;
    uint32_t dropped;
    uint32_t told;
};

#endif
