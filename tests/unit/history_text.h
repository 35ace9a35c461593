/* SPDX-License-Identifier: MIT */
/*
 * history_text.h: test cases for the history, as an executable text.
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
 * an edge of 10 bytes from each SEND. The calls overlap, so their order is unknown: the edges are "ordered". 5 bytes
 * have no edge, since no record says which stream sent them. At the end the history must have counted one such RECEIVE.
 *
 * What the text does not mention must not exist: a record without "<-" has no edge, and a count that is not named is 0.
 * Some checks apply to every case: each record comes out once and after its causes; an edge describes its sender as the
 * sender's own record does; edges add up to the counts; live sources, which have no record now and then, give the same
 * edges; and what is read of them is out or counted as held.
 *
 * Statements are on separate lines, or separated by " / ":
 *
 *      name: what the case shows               the first line
 *
 *      @30 s1#2 TYPE ...                       a record of stream 1, sequence number 2, made 30 ns after the start
 *      @25..30 s1#2 TYPE ...                   ... of an event that began at 25: a message, a sleep (BLOCK)
 *      @2s+5ms+30 B.s1#2 TYPE ...              ... of machine B (A. is left out); numbers are a machine's own
 *      @30 kernel TYPE ...                     ... of no stream
 *          SEND p1 [0,10)                      10 bytes from position 0 on; -5 is 2^32 - 5
 *          SENDCALL p1 [0,10)                  ... have been sent so far; the call continues
 *          RECEIVE p2 d3:10                    datagram number 3, of 10 bytes
 *          RECEIVE p2 END_OF_FILE              flags of the record follow: CONTINUED, CONCURRENT,
 *                                              OLDER, PREEMPTED, CALL_IMPLIED, SAME_CALL, WHOLE_CALL
 *          RECEIVECALL p0                      the stream waits for any of several paths
 *          MESSAGEQUEUED, CONNECT, ACCEPT, CONNECTFAILED, CREATEPATH, DESTROYPATH p1
 *          BLOCK wait4 [uninterruptible]       a sleep in this system call; read, write, pause, nanosleep, futex,
 *                                              sigtimedwait, sigsuspend
 *          CREATEPROCESS s2 [without STREAM]   its STREAM is announced, too
 *          TERMINATION [thread] [cpu 5ms]      of the process, or of one thread; its CPU time
 *          WAKEUP s2 [by s1]                   by a stream that has ended: a record of the kernel
 *          LOST 4 ring-full|skipped            a record of the kernel
 *          EXEC, STARTPROCESS, STOPPROCESS
 *      @30 LOST 1 before s1#2                  the record before s1#2 is lost; DISCARDED: removed by a selection
 *
 *      [@0] STREAM s2 [of process s1] [created by s1]
 *      [@0] PATH p1>p2 KIND                    both ends; a name of path_kind_name: pipe, unix-stream, tcp ...
 *      [@0] PATH p1 KIND to p2                 one end, as the meter announces it; also "PATH B.p1"
 *      [@0] PATH p1 tcp 1:4000 to 2:80         from 10.0.0.1, port 4000, which is machine A, to 10.0.0.2
 *          [out 5] [in 9] [OLDER] [PACKETS] [MANY]   first positions of both directions; flags
 *      no PATH p1                              p1 is used, but was never announced
 *      MACHINE B [ahead 9900s] [is A] [without TYPE] [ptrace]
 *                                              its clock is ahead of A's; it is a second recording of A; it does not
 *                                              record this type; the ptrace meter records it. Default: MACHINE A is 10.0.0.1, B 10.0.0.2
 *
 *      ... <- s1#1:10 [exact|ordered|inferred]   an edge of a message: its record, bytes, kind
 *      ... <- s1#1 creation|termination|room|connection|end|wakeup
 *      ... <- s1#1 wakeup earlier              it ended the wait before the BLOCK
 *      ... <- 5 external|unselected|unmatched    bytes without an edge, after the edges
 *      order s1#1 kernel@20 B.s1#1             these come out in this order (not checked for live sources)
 *      then 1 lost, 2 unmatched-sends          counts at the end
 *      clock B within 5s                       largest error of the clock difference
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

/* Returns NULL if the case holds. Otherwise a text for the caller to free: where the case is malformed; or the
 * expected and the actual result, in the same notation. */
char *history_text_check(const char *text);

/* A test for each case, named by the text before its first colon. */
void history_text_tests(const char *const *cases, size_t count, struct CMUnitTest *ret_tests);

/* A test whose state is a case. */
void history_text_holds(void **state);

/* The same for a generated case: the first returns a file to write it to, the second checks it. */
FILE *history_text_begin(void);
void history_text_end(FILE *out);

#endif
