/* SPDX-License-Identifier: MIT */
/*
 * pauses.h: when processes did not answer: they computed at a stretch while messages waited for them, a call blocked the
 * only thread that serves all their connections, or a signal had stopped them.
 *
 *      thread   RECEIVE ====== 80 ms of CPU time ====== SEND, RECEIVE         one interval
 *      queue              o   o o     o    oo                                 6 messages came meanwhile
 *
 *      loop     epoll_wait, RECEIVE o - - nanosleep 150 ms - - o SEND         one block
 *      queue                              o   o     o                         3 messages came meanwhile
 *
 *      process  STOPPROCESS - - - - 2 s - - - - STARTPROCESS                  by the sender of the SIGNAL
 *
 *      JVM      SENSOR gc__begin - - 25 ms - - gc__end                        by its own probes, where they were recorded
 *      queue                         o   o                                    2 messages came meanwhile
 */
#ifndef DPM_PAUSES_H
#define DPM_PAUSES_H

#include "analysis/analysis.h"

#define PAUSE_LONG     10000000u /* ns of CPU time: shorter intervals do not count ... */
#define PAUSE_MESSAGES 2u        /* ... nor those while fewer messages came */

/* A thread is an event loop if it has received from so many ends, and waited so often for any of several. */
#define LOOP_ENDS  2u
#define LOOP_WAITS 3u

/* Stops of all threads that a JVM reports. */
struct pause_stops {
    uint64_t count;
    uint64_t time, longest; /* ns */
    uint64_t messages;      /* the most that came in one of them */
};

struct pause_row {
    uint32_t origin;
    uint32_t stream; /* number of its first stream, and thus of the process */
    uint32_t pid;
    uint64_t bursts; /* intervals ... */
    uint64_t cpu;    /* ... of so much CPU time in all, ns ... */
    uint64_t longest;
    uint64_t messages; /* ... and the most messages that came in one of them */
    uint64_t
        longest_away; /* ns from the beginning to the end of one, with waits for a CPU; 0: not known */
    uint64_t delayed; /* messages that came in all of them ... */
    uint64_t delay;   /* ... and waited there until the interval ended: sum, ns */
    /* the procedure up to whose call it computed in the longest; "": not known */
    char procedure[PROCEDURE_NAME_SIZE + 1];
    uint64_t blocks; /* of its event loop, by PAUSE_LONG or more, while so many messages came ... */
    uint64_t blocked; /* ... for so long in all, ns */
    uint64_t longest_block;
    uint64_t block_messages; /* the most that came in one of them */
    uint32_t block_call;     /* system call of the longest; NO_SYSTEM_CALL: not known ... */
    char block_procedure[PROCEDURE_NAME_SIZE + 1]; /* ... and the procedure that made it */
    uint64_t stops;                                /* by signals ... */
    uint64_t stopped;                              /* ... for so long, ns */
    uint8_t signal;                    /* the latest that stopped it; 0: not known ... */
    uint32_t sender_pid;               /* ... and its sender; 0: the kernel, or not known */
    char sender[STREAM_NAME_SIZE + 1]; /* "": not metered, or not known */
    struct pause_stops collections;    /* of a JVM, to collect garbage ... */
    struct pause_stops
        safepoints; /* ... for any reason, with the time until all threads had stopped */
};

struct pauses {
    struct pause_row *rows; /* of processes with any of both, in the order in which they appeared */
    size_t count;
};

struct pauses_analysis;

/* Returns 0 or -ENOMEM, as the other functions. Call it before anything is read from the history. */
int pauses_new(struct history *history, struct pauses_analysis **ret_analysis);
void pauses_analysis_free(struct pauses_analysis *analysis);
struct analysis pauses_analysis(struct pauses_analysis *analysis);

/* After the last event. Free the result with pauses_free. */
int pauses_finish(struct pauses_analysis *analysis, struct pauses **ret_pauses);
void pauses_free(struct pauses *pauses);

#endif
