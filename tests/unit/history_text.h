/* SPDX-License-Identifier: MIT */
/*
 * history_text.h: what the history makes of a few records, as a text that is run.
 *
 *      time  10         20         30         40         50
 *      s1    SEND            (----------------SEND
 *              \                                 \
 *      s2       '-------RECEIVE                   '------RECEIVE
 *                                                      /
 *      s3                          (---------------SEND
 *
 *      A pipe is written at its end p1 and read at p2; "(" is where a call begins.
 *
 *      "the example: two writers, whose calls overlap, of one pipe\n"
 *      "STREAM s1, s2, s3 / PATH p1>p2 pipe\n"
 *      "@10      s1#1 SEND    p1 [0,10)\n"
 *      "@20      s2#1 RECEIVE p2 [0,10)   <- s1#1:10\n"
 *      "@25..40  s1#2 SEND    p1 [10,20)\n"
 *      "@30..45  s3#1 SEND    p1 [20,30)\n"
 *      "@50      s2#2 RECEIVE p2 [10,35)  <- s1#2:10 ordered, s3#1:10 ordered, 5 unmatched\n"
 *      "then 1 unmatched-receives\n"
 *
 * At 50 the second record of stream s2 is made: a RECEIVE of the bytes at positions 10 to 34. The history must give it
 * an edge from each SEND, of 10 bytes. The calls overlap, so which came first is unknown: the edges are "ordered". 5
 * bytes have no edge, as no record says who sent them. At the end the history must have counted one such RECEIVE.
 *
 * What is not written must not be there: a record without "<-" has no edge, and a count that is not named is 0. Each
 * case is also held to what is always true: each record comes out once and behind its causes; an edge says of its
 * sender what that said of itself; edges add up to the counts; and live sources, which have no record now and then,
 * give the same edges.
 *
 * Statements stand on lines of their own, or between " / ":
 *
 *      name: what the case shows               the first line
 *
 *      @30 s1#2 TYPE ...                       a record of stream 1, sequence number 2, made 30 ns after the start
 *      @25..30 s1#2 TYPE ...                   ... of what began at 25: a message, a sleep (BLOCK)
 *      @2s+5ms+30 B.s1#2 TYPE ...              ... of machine B (A. is left out); numbers are a machine's own
 *      @30 kernel TYPE ...                     ... of no stream
 *          SEND p1 [0,10)                      10 bytes from position 0 on; -5 is 2^32 - 5
 *          SENDCALL p1 [0,10)                  ... have been put into the path; the call goes on
 *          RECEIVE p2 d3:10                    the datagram number 3, of 10 bytes
 *          RECEIVE p2 END_OF_FILE              flags of the record follow: CONTINUED, CONCURRENT,
 *                                              OLDER, PREEMPTED, CALL_IMPLIED, SAME_CALL
 *          RECEIVECALL p0                      it waits for any of several paths
 *          MESSAGEQUEUED, CONNECT, ACCEPT, CREATEPATH, DESTROYPATH p1
 *          BLOCK wait4 [uninterruptible]       a sleep in this system call; read, write, pause, nanosleep, futex,
 *                                              sigtimedwait, sigsuspend
 *          CREATEPROCESS s2 [without STREAM]   its STREAM is announced, too
 *          TERMINATION [thread] [cpu 5ms]      of the process, or of one thread; CPU time it has used
 *          WAKEUP s2 [by s1]                   by a stream that has ended: of the kernel's records
 *          LOST 4 ring-full|skipped            of the kernel's records
 *          EXEC, STARTPROCESS, STOPPROCESS
 *      @30 LOST 1 before s1#2                  the record before s1#2 is lost; DISCARDED: removed by a selection
 *
 *      [@0] STREAM s2 [of process s1] [created by s1]
 *      [@0] PATH p1>p2 KIND                    both ends; a name of path_kind_name: pipe, unix-stream, tcp ...
 *      [@0] PATH p1 KIND to p2                 one end, as the meter announces it; also "PATH B.p1"
 *      [@0] PATH p1 tcp 1:4000 to 2:80         from 10.0.0.1, port 4000, which is machine A, to 10.0.0.2
 *          [out 5] [in 9] [OLDER] [PACKETS]    first positions of both directions; flags
 *      no PATH p1                              it is used, but was never announced
 *      MACHINE B [ahead 9900s] [is A] [without TYPE]
 *                                              its clock is ahead of A's; it is a second recording of A; it records no
 *                                              such events. Without this: MACHINE A is 10.0.0.1, B 10.0.0.2
 *
 *      ... <- s1#1:10 [exact|ordered|inferred]   an edge of a message: from which record, bytes, kind
 *      ... <- s1#1 creation|termination|room|connection|end|wakeup
 *      ... <- 5 external|unselected|unmatched    bytes without an edge, behind the edges
 *      order s1#1 kernel@20 B.s1#1             these come out in this order (not asked of live sources)
 *      then 1 lost, 2 unmatched-sends          counts at the end
 *      clock B within 5s                       so little may the difference of the clocks be wrong
 *      without rooms                           no history_find_rooms: no edges "room" or "connection"
 *      not live                                no second run
 */
#ifndef DPM_HISTORY_TEXT_H
#define DPM_HISTORY_TEXT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

/* NULL: the case holds. Else a text for the caller to free: where it is malformed; or what is expected and what was
 * found, in the same language. */
char *history_text_check(const char *text);

/* A test for each case, named by what is before its first colon. */
void history_text_tests(const char *const *cases, size_t count, struct CMUnitTest *ret_tests);

/* A test whose state is a case. */
void history_text_holds(void **state);

/* The same of a case that is made: written into what the first returns, checked by the second. */
FILE *history_text_begin(void);
void history_text_end(FILE *out);

#endif
