/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* survey.h: the lines of fixed size that the meter's iterators write for the program that reads them. */
#ifndef DPM_SURVEY_H
#define DPM_SURVEY_H

#include "event/record.h"

/* A live metered stream. */
struct survey_stream {
    struct stream_record identity; /* current values, with the CPU time used so far */
    uint64_t lost[2];  /* records lost since the stream's last LOST record, by enum ring_id */
    uint32_t sequence; /* of its next record */
    uint32_t silent;   /* marked, but metering has not begun */
    uint64_t load;     /* address of the program's text */
    uint64_t inode;    /* of the program's file */
    uint32_t device;
    uint32_t unused;
    /* as in SCHEDULE */
    uint64_t runnable;
    uint32_t voluntary;
    uint32_t involuntary;
};

/* A live UNIX socket that the meter knows. */
struct survey_socket {
    uint64_t cookie;
};

/* A stream whose flags or kinds have changed. */
struct survey_change {
    uint64_t told; /* flags from now on */
    uint32_t stream;
    uint32_t process;
    uint32_t sequence; /* of its next record */
    uint32_t kinds;    /* from now on */
    uint64_t lost[2];  /* records lost since the stream's last LOST record, by enum ring_id */
};

/* The first members of a UDP path in the meter's map. */
struct survey_path {
    uint32_t number;
    uint32_t dropped;
    uint32_t told;
    uint32_t refused;
};

#endif
