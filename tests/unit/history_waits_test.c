/* SPDX-License-Identifier: MIT */
/*
 * history_waits_test.c: what ends a wait, other than bytes: a child, a wakeup, buffer space, a connection, the end of
 * file. One case each; history_text.h explains the notation. (Messages: history_cases_test.c.)
 */
#include "history_text.h"

#include "base/base.h"

/* Stream 1 waits for buffer space from 20 on, and again from 40 on; at 70 it merely left the CPU. */
#define WAITS_THAT_NO_MESSAGE_ENDS                                                                 \
    "@5      s1#1 CONNECT  p1\n"                                                                   \
    "@8      s2#1 ACCEPT   p2            <- s1#1 connection\n"                                     \
    "@10     s1#2 SEND     p1 [0,60)\n"                                                            \
    "@15     s2#2 RECEIVE  p2 [0,20)     <- s1#2:20\n"                                             \
    "@20     s1#3 SENDCALL p1 [60,60)\n"                                                           \
    "@30     s2#3 RECEIVE  p2 [20,40)    <- s1#2:20\n"                                             \
    "@40     s1#4 SENDCALL p1 [60,80)    <- s2#3 room\n"                                           \
    "@50     s2#4 RECEIVE  p2 [40,60)    <- s1#2:20\n"                                             \
    "@60     s1#5 SEND     p1 [60,100)   <- s2#4 room\n"                                           \
    "@70     s1#6 SENDCALL p1 [100,110) PREEMPTED\n"                                               \
    "@80     s2#5 RECEIVE  p2 [60,80)    <- s1#5:20\n"                                             \
    "@90     s1#7 SEND     p1 [100,140)\n"                                                         \
    "@91     s2#6 RECEIVE  p2 [80,140)   <- s1#5:20, s1#7:40\n"                                    \
    "@95     s1#8 EXEC\n"                                                                          \
    "@96     s1#9 TERMINATION\n"                                                                   \
    "@99     s2#7 RECEIVE  p2 [140,140) END_OF_FILE  <- s1#9 end\n"                                \
    "order s1#1 s2#1 s1#2 s2#2 s1#3 s2#3 s1#4 s2#4 s1#5 s1#6 s2#5 s1#7 s2#6 s1#8 s1#9 s2#7\n"

/* Stream 2 waits for the end of a file to which nothing was sent; 3 and 4 end meanwhile. */
#define SILENT_FILE(name, path, end)                                                               \
    "a file that was never written, " name "\n"                                                    \
    "STREAM s1\n"                                                                                  \
    "@1      s1#1 CREATEPROCESS s2\n"                                                              \
    "@2      s1#2 CREATEPROCESS s4\n"                                                              \
    "@3      s2#1 CREATEPROCESS s3  <- s1#1 creation\n"                                            \
    "@4      PATH p2 " path " to p1\n"                                                             \
    "@5      s2#2 RECEIVECALL p2\n"                                                                \
    "@10     s3#1 TERMINATION       <- s2#1 creation\n"                                            \
    "@20     s4#1 TERMINATION       <- s1#2 creation\n" end

static const char *const cases[] = {
    "waits that no message ends: for buffer space, for a connection, for the end of a file\n"
    "STREAM s1, s2 / PATH p1>p2 unix-stream\n" WAITS_THAT_NO_MESSAGE_ENDS,

    "waits for room are left out: without these edges all else is the same\n"
    "STREAM s1, s2 / PATH p1>p2 unix-stream / without rooms\n" WAITS_THAT_NO_MESSAGE_ENDS,

    "a wait for room is given up: a signal has ended the call, and the stream did something else\n"
    "STREAM s1, s2 / PATH p1>p2 unix-stream\n"
    "@10     s1#1 SEND     p1 [0,60)\n"
    "@20     s1#2 SENDCALL p1 [60,60)\n"
    "@30     s2#1 RECEIVE  p2 [0,60)   <- s1#1:60\n"
    "@35     s2#2 SEND     p2 [0,10)\n"
    "@40     s1#3 RECEIVE  p1 [0,10)   <- s2#2:10\n"
    "@50     s1#4 SEND     p1 [60,70)\n"
    "then 1 unmatched-sends\n",

    "a wait for room is given up, and another wait follows: the send after that did not wait\n"
    "STREAM s1, s2 / PATH p1>p2 unix-stream\n"
    "@10     s1#1 SEND     p1 [0,60)\n"
    "@20     s1#2 SENDCALL p1 [60,60)\n"
    "@60     s2#1 RECEIVE  p2 [0,60)   <- s1#1:60\n"
    "@30..90 s1#3 BLOCK    nanosleep\n"
    "@100    s1#4 SEND     p1 [60,70)\n"
    "then 1 unmatched-sends\n",

    "room in two recordings: of one machine, whose clock says what was received meanwhile\n"
    "not live / MACHINE B is A / PATH p1 tcp 1:4000 to 1:80 / PATH B.p1 tcp 1:80 to 1:4000\n"
    "@10     s1#1 SEND     p1 [0,20)\n"
    "@15   B.s1#1 RECEIVE  p1 [0,10)   <- s1#1:10\n"
    "@20     s1#2 SENDCALL p1 [20,20)\n"
    "@30     s1#3 SEND     p1 [20,30)\n" /* nothing was received meanwhile */
    "@40     s1#4 SENDCALL p1 [30,30)\n"
    "@45   B.s1#2 RECEIVE  p1 [10,20)  <- s1#1:10\n"
    "@50     s1#5 SEND     p1 [30,40)  <- B.s1#2 room\n"
    "then 2 unmatched-sends\n",

    "room where clocks are not comparable: the RECEIVE of one-way traffic may lie before the wait\n"
    "not live / MACHINE B / PATH p1 tcp 1:4000 to 2:80 / PATH B.p1 tcp 2:80 to 1:4000\n"
    "@10     s1#1 SEND     p1 [0,20)\n"
    "@20   B.s1#1 RECEIVE  p1 [0,10)  <- s1#1:10\n"
    "@1s     s1#2 SENDCALL p1 [20,20)\n"
    "@2s     s1#3 SEND     p1 [20,30)\n"
    "then 2 unmatched-sends\n",

    "parents and children: a child begins with its creation; its end ends its parent's wait\n"
    "STREAM s1\n"
    "@5      STREAM s2 created by s1\n"
    "@10     s1#1 CREATEPROCESS s2\n"
    "@20     s2#1 STARTPROCESS  <- s1#1 creation\n"
    "@30     s2#2 TERMINATION\n"
    "@15..40 s1#2 BLOCK wait4   <- s2#2 termination\n"
    "@45..50 s1#3 BLOCK wait4\n",

    "waits for children: one that ended before a wait has not ended it, but dying may take long\n"
    "STREAM s1\n"
    "@1                       s1#1 CREATEPROCESS s2\n"
    "@10                      s2#1 TERMINATION    <- s1#1 creation\n"
    "@20..110ms+20            s1#2 BLOCK wait4\n"
    "@1s                      s1#3 CREATEPROCESS s3\n"
    "@1s+10                   s3#1 TERMINATION    <- s1#3 creation\n"
    "@1s+20..1s+10ms          s1#4 BLOCK wait4    <- s3#1 termination\n"
    "@2s                      s1#5 CREATEPROCESS s4\n"
    "@2s+10                   s4#1 TERMINATION cpu 400ms  <- s1#5 creation\n"
    "@2s..2s+500ms            s1#6 BLOCK wait4    <- s4#1 termination\n"
    "@3s                      s1#7 CREATEPROCESS s5\n"
    "@3s+10                   s5#1 TERMINATION cpu 300ms  <- s1#7 creation\n"
    "@3s..3s+500ms            s1#8 BLOCK wait4\n",

    "a child wakes its parent: it is the one that ended the wait, however long it was dying\n"
    "STREAM s1\n"
    "@1          s1#1 CREATEPROCESS s2\n"
    "@2          s1#2 CREATEPROCESS s3\n"
    "@10         s2#1 TERMINATION    <- s1#1 creation\n"
    "@11         s3#1 TERMINATION    <- s1#2 creation\n"
    "@5s         kernel WAKEUP s1 by s2\n"
    "@5..5s+10   s1#3 BLOCK wait4    <- s2#1 termination, s2#1 wakeup\n"
    "@5s+20..5s+30 s1#4 BLOCK wait4\n",

    "a child signals its parent: the one that woke it has sent that, though another ended later\n"
    "STREAM s1\n"
    "@1          s1#1 CREATEPROCESS s2\n"
    "@2          s1#2 CREATEPROCESS s3\n"
    "@10ms       s2#1 TERMINATION      <- s1#1 creation\n"
    "@28ms       s3#1 TERMINATION      <- s1#2 creation\n"
    "@30ms       kernel WAKEUP s1 by s2\n"
    "@5..31ms    s1#3 BLOCK sigsuspend <- s2#1 termination, s2#1 wakeup\n"
    "@32ms       kernel WAKEUP s1 by s3\n"
    "@31ms..33ms s1#4 BLOCK sigsuspend <- s3#1 termination, s3#1 wakeup\n",

    "a child that is one of many: it woke its parent, and eight others have ended since it did\n"
    "STREAM s1\n"
    "@1      s1#1  CREATEPROCESS s2\n"
    "@2      s1#2  CREATEPROCESS s3\n"
    "@3      s1#3  CREATEPROCESS s4\n"
    "@4      s1#4  CREATEPROCESS s5\n"
    "@5      s1#5  CREATEPROCESS s6\n"
    "@6      s1#6  CREATEPROCESS s7\n"
    "@7      s1#7  CREATEPROCESS s8\n"
    "@8      s1#8  CREATEPROCESS s9\n"
    "@9      s1#9  CREATEPROCESS s10\n"
    "@11     s2#1  TERMINATION   <- s1#1 creation\n"
    "@12     s3#1  TERMINATION   <- s1#2 creation\n"
    "@13     s4#1  TERMINATION   <- s1#3 creation\n"
    "@14     s5#1  TERMINATION   <- s1#4 creation\n"
    "@15     s6#1  TERMINATION   <- s1#5 creation\n"
    "@16     s7#1  TERMINATION   <- s1#6 creation\n"
    "@17     s8#1  TERMINATION   <- s1#7 creation\n"
    "@18     s9#1  TERMINATION   <- s1#8 creation\n"
    "@19     s10#1 TERMINATION   <- s1#9 creation\n"
    "@30     kernel WAKEUP s1 by s2\n"
    "@10..31 s1#10 BLOCK wait4   <- s2#1 termination, s2#1 wakeup\n",

    "a child older than the recording: it woke its parent, and not the child that is known\n"
    "STREAM s1, s2\n"
    "@1      s1#1 CREATEPROCESS s3\n"
    "@10     s2#1 TERMINATION\n"
    "@11     s3#1 TERMINATION   <- s1#1 creation\n"
    "@20     kernel WAKEUP s1 by s2\n"
    "@5..21  s1#2 BLOCK wait4   <- s2#1 termination, s2#1 wakeup\n",

    "a parent that ends: a signal of its end has ended the wait for a child, and it is no child\n"
    "STREAM s1\n"
    "@1      s1#1 CREATEPROCESS s2\n"
    "@2      s2#1 CREATEPROCESS s3  <- s1#1 creation\n"
    "@10     s1#2 TERMINATION\n"
    "@11     kernel WAKEUP s2 by s1\n"
    "@5..12  s2#2 BLOCK wait4       <- s1#2 wakeup\n",

    "a parent that is met later: its child's STREAM shows that it is no child of that one\n"
    "STREAM s2 created by s1 / STREAM s1\n"
    "@10     s1#1 TERMINATION\n"
    "@11     kernel WAKEUP s2 by s1\n"
    "@5..12  s2#1 BLOCK wait4       <- s1#1 wakeup\n",

    "a child of two threads: the one that woke the parent ended first; they end one wait\n"
    "STREAM s1\n"
    "@1      s1#1 CREATEPROCESS s2\n"
    "@2      STREAM s3 of process s2 created by s2\n"
    "@2      s2#1 CREATEPROCESS s3    <- s1#1 creation\n"
    "@10     s2#2 TERMINATION thread\n"
    "@20     s3#1 TERMINATION         <- s2#1 creation\n"
    "@30     kernel WAKEUP s1 by s2\n"
    "@5..31  s1#2 BLOCK wait4         <- s2#2 termination, s2#2 wakeup\n"
    "@31..40 s1#3 BLOCK wait4\n",

    "a signal of a live thread: no child has ended the wait, though one ended just before\n"
    "STREAM s1, s9\n"
    "@1          s1#1 CREATEPROCESS s2\n"
    "@10         s2#1 TERMINATION       <- s1#1 creation\n"
    "@50ms       s9#1 WAKEUP s1\n"
    "@20ms..51ms s1#2 BLOCK sigsuspend  <- s9#1 wakeup\n",

    "the end of another process: what woke a wait for a signal by its end need not be a child\n"
    "STREAM s1, s9\n"
    "@1      s1#1 CREATEPROCESS s2\n"
    "@10     s2#1 TERMINATION       <- s1#1 creation\n"
    "@11     s9#1 TERMINATION\n"
    "@20     kernel WAKEUP s1 by s9\n"
    "@5..30  s1#2 BLOCK sigsuspend  <- s9#1 wakeup\n",

    "waits for orphans: an ancestor may wait for a child whose parent has ended\n"
    "STREAM s1, s9\n"
    "@1      s1#1 CREATEPROCESS s2\n"
    "@2      s2#1 CREATEPROCESS s3  <- s1#1 creation\n"
    "@3      s3#1 CREATEPROCESS s4  <- s2#1 creation\n"
    "@4      s4#1 CREATEPROCESS s5  <- s3#1 creation\n"
    "@10     s4#2 TERMINATION\n"
    "@6..11  s3#2 BLOCK wait4       <- s4#2 termination\n"
    "@20     s3#3 TERMINATION\n"
    "@25..30 s2#2 BLOCK wait4       <- s3#3 termination\n" /* which was dying */
    "@40     s5#1 TERMINATION       <- s4#1 creation\n"
    "@20..45 s9#1 BLOCK wait4\n" /* no ancestor */
    "@5..50  s1#2 BLOCK wait4       <- s5#1 termination\n"
    "@35..55 s2#3 BLOCK wait4\n", /* one end ends one wait */

    "no process is its own ancestor: a damaged trace has a process created by its descendant\n"
    "STREAM s1 / STREAM s2 created by s1 / STREAM s3 created by s2 / STREAM s1 created by s3\n"
    "@10     s1#1 SENDCALL p0 [0,0)\n"
    "@20     s2#1 TERMINATION\n"
    "@30     s3#1 TERMINATION\n"
    "@40     s1#2 TERMINATION\n",

    "waits for signals: the child that ended just before has sent it, and ends one wait only\n"
    "STREAM s1\n"
    "@0        s1#1  CREATEPROCESS s2\n"
    "@20       s2#1  TERMINATION         <- s1#1 creation\n"
    "@5..30    s1#2  BLOCK sigsuspend    <- s2#1 termination\n"
    "@35..40   s1#3  BLOCK sigsuspend\n" /* another signal */
    "@5..50    s1#4  BLOCK nanosleep\n"
    "@1s           s1#5  CREATEPROCESS s3\n"
    "@1s+20        s3#1  TERMINATION     <- s1#5 creation\n"
    "@1s+5..1s+30  s1#6  BLOCK pause     <- s3#1 termination\n"
    "@1s+35..1s+40 s1#7  BLOCK pause\n"
    "@1s+5..1s+50  s1#8  BLOCK nanosleep\n"
    "@2s           s1#9  CREATEPROCESS s4\n"
    "@2s+20        s4#1  TERMINATION         <- s1#9 creation\n"
    "@2s+5..2s+30  s1#10 BLOCK sigtimedwait  <- s4#1 termination\n"
    "@2s+35..2s+40 s1#11 BLOCK sigtimedwait\n"
    "@2s+5..2s+50  s1#12 BLOCK nanosleep\n"
    "@3s           s1#13 CREATEPROCESS s5\n"
    "@3s+20        s5#1  TERMINATION     <- s1#13 creation\n"
    "@3s+5..3s+30  s1#14 BLOCK read      <- s5#1 termination\n"
    "@3s+35..3s+40 s1#15 BLOCK read\n"
    "@3s+5..3s+50  s1#16 BLOCK nanosleep\n",

    "waits for other signals: the child ended long before; none ends a disk's read\n"
    "STREAM s1\n"
    "@10            s1#1 CREATEPROCESS s2\n"
    "@20            s2#1 TERMINATION  <- s1#1 creation\n"
    "@0..11ms       s1#2 BLOCK read\n"
    "@50ms..200ms   s1#3 BLOCK sigsuspend\n"
    "@210ms         s1#4 CREATEPROCESS s3\n"
    "@220ms         s3#1 TERMINATION  <- s1#4 creation\n"
    "@210ms..221ms  s1#5 BLOCK read uninterruptible\n",

    "a signal after a child: a wait that goes on after the child's end was for another signal\n"
    "STREAM s1\n"
    "@10            s1#1 CREATEPROCESS s2\n"
    "@4s            s2#1 TERMINATION cpu 1500ms  <- s1#1 creation\n"
    "@20..5s        s1#2 BLOCK pause\n",

    "wakeups: the next record of the woken stream has an edge, from the last of several WAKEUPs\n"
    "STREAM s1, s2 / PATH p1>p2 unix-stream\n"
    "@5      s2#1 EXEC\n"
    "@10     s1#1 WAKEUP s2\n"
    "@6..12  s2#2 BLOCK nanosleep  <- s1#1 wakeup\n"
    "@13     s2#3 EXEC\n"
    "@20     s1#2 WAKEUP s2\n"
    "@21     s1#3 WAKEUP s2\n"
    "@22     s1#4 WAKEUP s1\n"  /* damage: itself, */
    "@23     s1#5 WAKEUP s99\n" /* and no stream */
    "@24     s1#6 EXEC\n"
    "@25     s2#4 CREATEPATH p2    <- s1#3 wakeup\n",

    "a wakeup of the wait before: the poll made no record of its end, and a BLOCK follows\n"
    "STREAM s1, s2\n"
    "@10       s2#1 RECEIVECALL p0\n"
    "@20       s1#1 WAKEUP s2\n"
    "@1ms..6ms s2#2 BLOCK nanosleep  <- s1#1 wakeup earlier\n",

    "two wakeups, two waits: one ended the wait before, whose end made no record, one the BLOCK\n"
    "STREAM s1, s2\n"
    "@10     s2#1 RECEIVECALL p0\n"
    "@20     s1#1 WAKEUP s2\n"
    "@40     s1#2 WAKEUP s2\n"
    "@30..45 s2#2 BLOCK nanosleep  <- s1#1 wakeup earlier, s1#2 wakeup\n"
    "@50     s1#3 WAKEUP s2\n"
    "@60     s1#4 WAKEUP s2\n"
    "@70     s1#5 WAKEUP s2\n"
    "@65..75 s2#3 BLOCK nanosleep  <- s1#4 wakeup earlier, s1#5 wakeup\n"
    "@80     s1#6 WAKEUP s2\n"
    "@81     s1#7 WAKEUP s2\n"
    "@85..90 s2#4 BLOCK nanosleep  <- s1#7 wakeup earlier\n",

    "two wakeups, two waits, of a held stream: the woken stream comes out behind both\n"
    "STREAM s1, s2, s3 / PATH p1>p2 unix-stream\n"
    "@10     s2#1 RECEIVE p2 [0,60)   <- s1#1:60\n"
    "@11     s3#1 RECEIVE p2 [60,70)  <- s1#1:10\n"
    "@12     s3#2 RECEIVECALL p0\n"
    "@13     s2#2 WAKEUP s3\n"
    "@20     s2#3 WAKEUP s3\n"
    "@21     s2#4 WAKEUP s3\n"
    "@15..22 s3#3 BLOCK nanosleep     <- s2#2 wakeup earlier, s2#4 wakeup\n"
    "@5..40  s1#1 SEND    p1 [0,70)\n",

    "woken by a held stream: the woken stream comes out behind it, though it waits for a SEND\n"
    "STREAM s1, s2, s3 / PATH p1>p2 unix-stream\n"
    "@10     s2#1 RECEIVE p2 [0,60)  <- s1#1:60\n"
    "@12     s2#2 WAKEUP s3\n"
    "@8..14  s3#1 BLOCK nanosleep    <- s2#2 wakeup\n"
    "@15     s2#3 WAKEUP s3\n"
    "@15..16 s3#2 BLOCK nanosleep    <- s2#3 wakeup\n"
    "@17     s2#4 TERMINATION\n"
    "@18     kernel WAKEUP s3 by s2\n"
    "@18..19 s3#3 BLOCK nanosleep    <- s2#4 wakeup\n"
    "@5..40  s1#1 SEND    p1 [0,60)\n",

    "woken by a held stream, several: the last before its record counts, though all are held\n"
    "STREAM s1, s2, s3 / PATH p1>p2 unix-stream\n"
    "@10     s2#1 RECEIVE p2 [0,60)  <- s1#1:60\n"
    "@12     s2#2 WAKEUP s3\n"
    "@8..14  s3#1 BLOCK nanosleep    <- s2#2 wakeup\n"
    "@15     s2#3 WAKEUP s3\n"
    "@16     s2#4 WAKEUP s3\n"
    "@15..17 s3#2 BLOCK nanosleep    <- s2#4 wakeup\n"
    "@5..40  s1#1 SEND    p1 [0,60)\n",

    "woken after an end that is not recorded: the latest event stands for the TERMINATION\n"
    "MACHINE A without TERMINATION / STREAM s1 / STREAM s2 of process s1 created by s1\n"
    "@5      s2#1 EXEC\n"
    "@10     kernel WAKEUP s1 by s2\n"
    "@6..12  s1#1 BLOCK nanosleep  <- s2#1 wakeup\n"
    "@20     s3#1 EXEC\n"
    "order s1#1 s3#1\n",

    "wakeups in a circle: s3 may have sent to s2 and been woken by s2; messages keep their edges\n"
    "STREAM s1, s2 / PATH p1>p2 pipe\n"
    "@5      s1#1 EXEC\n"
    "@6      s3#1 EXEC\n"
    "@20     s2#1 RECEIVE p2 [0,10)   <- s3#3:10 ordered, s1#2:10 ordered\n"
    "@22     s2#2 WAKEUP s3\n"
    "@14..24 s3#2 BLOCK write\n"
    "@26     s3#3 SEND    p1 [0,10)\n"
    "@30     s1#2 SEND    p1 [10,20)\n"
    "@31     s1#3 EXEC\n"
    "then 1 unmatched-sends\n",

    "two wakeups, one in a circle: the other one, which is known, keeps its edge\n"
    "STREAM s1, s2, s4 / PATH p1>p2 pipe\n"
    "@5      s1#1 EXEC\n"
    "@6      s3#1 EXEC\n"
    "@8      s4#1 WAKEUP s3\n"
    "@20     s2#1 RECEIVE p2 [0,10)   <- s3#3:10 ordered, s1#2:10 ordered\n"
    "@22     s2#2 WAKEUP s3\n"
    "@14..24 s3#2 BLOCK write         <- s4#1 wakeup earlier\n"
    "@26     s3#3 SEND    p1 [0,10)\n"
    "@30     s1#2 SEND    p1 [10,20)\n"
    "@31     s1#3 EXEC\n"
    "then 1 unmatched-sends\n",

    "wakeups in a circle, for any: s3 waited for any of several paths, so it has sent after that\n"
    "STREAM s1, s2 / PATH p1>p2 pipe\n"
    "@5      s1#1 EXEC\n"
    "@6      s3#1 EXEC\n"
    "@10     s3#2 RECEIVECALL p0\n"
    "@20     s2#1 RECEIVE p2 [0,10)   <- s1#2:10 ordered\n"
    "@22     s2#2 WAKEUP s3\n"
    "@26     s3#3 SEND    p1 [0,10)   <- s2#2 wakeup\n"
    "@30     s1#2 SEND    p1 [10,20)\n"
    "@31     s1#3 EXEC\n"
    "then 1 unmatched-sends\n",

    "two wakeups after a wait for any: the first ended it, the second one the call that followed\n"
    "STREAM s1, s2, s4 / PATH p1>p2 pipe\n"
    "@5      s1#1 EXEC\n"
    "@6      s3#1 EXEC\n"
    "@10     s3#2 RECEIVECALL p0\n"
    "@15     s4#1 WAKEUP s3\n"
    "@20     s2#1 RECEIVE p2 [0,10)   <- s3#3:10 ordered, s1#2:10 ordered\n"
    "@22     s2#2 WAKEUP s3\n"
    "@26     s3#3 SEND    p1 [0,10)\n"
    "@30     s1#2 SEND    p1 [10,20)\n"
    "@31     s1#3 EXEC\n"
    "then 1 unmatched-sends\n",

    SILENT_FILE("pipe: the nearest relative that ended just before held the other end", "pipe",
                "@30     s2#3 RECEIVE p2 END_OF_FILE  <- s3#1 end\n"),

    SILENT_FILE("socket: the same of a pair of sockets, which has no name either", "unix-stream",
                "@30     s2#3 RECEIVE p2 END_OF_FILE  <- s3#1 end\n"),

    SILENT_FILE("FIFO: it has a name, so any process may have held it", "fifo",
                "@30     s2#3 RECEIVE p2 END_OF_FILE\n"),

    SILENT_FILE("late: the relatives ended long before", "pipe",
                "@200ms  s2#3 RECEIVE p2 END_OF_FILE\n"),

    SILENT_FILE("again: a second read does not wait; a third one does, until a sibling ends",
                "pipe",
                "@30     s2#3 RECEIVE p2 END_OF_FILE  <- s3#1 end\n"
                "@40     s2#4 RECEIVE p2 END_OF_FILE\n"
                "@105ms  s2#5 RECEIVECALL p2\n"
                "@106ms  s1#3 CREATEPROCESS s5\n"
                "@107ms  s5#1 TERMINATION             <- s1#3 creation\n"
                "@110ms  s2#6 RECEIVE p2 END_OF_FILE  <- s5#1 end\n"),

    "the last of several writers: the end of the file comes from the stream that sent last\n"
    "STREAM s1, s2, s3 / PATH p1>p2 pipe\n"
    "@10     s1#1 SEND    p1 [0,10)\n"
    "@11     s3#1 EXEC\n"
    "@12     s3#2 SEND    p1 [10,20)\n"
    "@13     s3#3 TERMINATION\n"
    "@14     s1#2 TERMINATION\n"
    "@20     s2#1 RECEIVE p2 [0,20)       <- s1#1:10, s3#2:10\n"
    "@30     s2#2 RECEIVE p2 END_OF_FILE  <- s3#3 end\n",

    "closed, then read to the end: the end of the file follows the bytes\n"
    "STREAM s1, s2 / PATH p1>p2 unix-stream\n"
    "@10     s1#1 SEND    p1 [0,10)\n"
    "@11     s1#2 EXEC\n"
    "@12     kernel DESTROYPATH p1\n"
    "@20     s2#1 RECEIVE p2 [0,10)       <- s1#1:10\n"
    "@30     s2#2 RECEIVE p2 [10,10) END_OF_FILE  <- s1#2 end\n",

    "closed, and the sender goes on: what it did after the RECEIVE of the end has not led there\n"
    "STREAM s1, s2 / PATH p1>p2 unix-stream / PATH p3 tcp 1:4000 to 1:80\n"
    "@5      s2#1 SEND    p1 [0,10)\n"
    "@6      s2#2 EXEC\n"
    "@10     s1#1 RECEIVE p3 [0,10)               <- 10 external\n"
    "@11     s1#2 RECEIVE p2 [0,10)               <- s2#1:10\n"
    "@12     s1#3 RECEIVE p2 [10,10) END_OF_FILE\n"
    "@900ms  s2#3 EXEC\n"
    "@2s     s2#4 EXEC\n"
    "then 1 external\n",

    "a thread ends: no wait for a child ends with it\n"
    "STREAM s1 / STREAM s2 of process s1 created by s1\n"
    "@10     s1#1 CREATEPROCESS s2\n"
    "@20     s2#1 TERMINATION thread  <- s1#1 creation\n"
    "@15..30 s1#2 BLOCK wait4\n",

    "a file that outlives its writer: a relative held the other end, too, and ended later\n"
    "STREAM s1\n"
    "@1      s1#1 CREATEPROCESS s2\n"
    "@2      s1#2 CREATEPROCESS s3\n"
    "@4      PATH p1>p2 pipe\n"
    "@5      s2#1 SEND    p1 [0,10) cpu 1ms  <- s1#1 creation\n"
    "@6      s1#3 RECEIVE p2 [0,10)       <- s2#1:10\n"
    "@7      s1#4 RECEIVECALL p2\n"
    "@8      s2#2 TERMINATION cpu 2ms\n"
    "@1s     s3#1 TERMINATION             <- s1#2 creation\n"
    "@1s+10  s1#5 RECEIVE p2 END_OF_FILE  <- s3#1 end\n",

    "a writer that frees much memory: it closes the file after that, though a relative has ended\n"
    "STREAM s1\n"
    "@1      s1#1 CREATEPROCESS s2\n"
    "@2      s1#2 CREATEPROCESS s3\n"
    "@4      PATH p1>p2 pipe\n"
    "@5      s2#1 SEND    p1 [0,10) cpu 1s   <- s1#1 creation\n"
    "@6      s1#3 RECEIVE p2 [0,10)          <- s2#1:10\n"
    "@7      s1#4 RECEIVECALL p2\n"
    "@8      s2#2 TERMINATION cpu 2s\n"
    "@100ms  s3#1 TERMINATION                <- s1#2 creation\n"
    "@150ms  s1#5 RECEIVE p2 END_OF_FILE     <- s2#2 end\n",

    "the end of a file after a poll: the relative whose end woke the reader closed it\n"
    "STREAM s1\n"
    "@1      s1#1 CREATEPROCESS s3\n"
    "@2      s1#2 CREATEPROCESS s4\n"
    "@4      PATH p1>p2 pipe\n"
    "@5      s1#3 RECEIVECALL p0\n"
    "@10     s3#1 TERMINATION             <- s1#1 creation\n"
    "@11     s4#1 TERMINATION             <- s1#2 creation\n"
    "@20     kernel WAKEUP s1 by s3\n"
    "@30     s1#4 RECEIVE p2 END_OF_FILE  <- s3#1 end, s3#1 wakeup\n",

    "a writer that frees much memory, and a poll: a relative whose end woke the reader closed it\n"
    "STREAM s1\n"
    "@1      s1#1 CREATEPROCESS s2\n"
    "@2      s1#2 CREATEPROCESS s3\n"
    "@4      PATH p1>p2 pipe\n"
    "@5      s2#1 SEND    p1 [0,10) cpu 1s   <- s1#1 creation\n"
    "@6      s1#3 RECEIVE p2 [0,10)          <- s2#1:10\n"
    "@7      s1#4 RECEIVECALL p0\n"
    "@8      s2#2 TERMINATION cpu 2s\n"
    "@100ms  s3#1 TERMINATION                <- s1#2 creation\n"
    "@149ms  kernel WAKEUP s1 by s3\n"
    "@150ms  s1#5 RECEIVE p2 END_OF_FILE     <- s3#1 end, s3#1 wakeup\n",

    "a writer that has computed for long: it frees its memory within seconds all the same\n"
    "STREAM s1\n"
    "@1      s1#1 CREATEPROCESS s2\n"
    "@2      s1#2 CREATEPROCESS s3\n"
    "@4      PATH p1>p2 pipe\n"
    "@5      s2#1 SEND    p1 [0,10) cpu 99s  <- s1#1 creation\n"
    "@6      s1#3 RECEIVE p2 [0,10)          <- s2#1:10\n"
    "@7      s1#4 RECEIVECALL p2\n"
    "@8      s2#2 TERMINATION cpu 100s\n"
    "@3s     s3#1 TERMINATION                <- s1#2 creation\n"
    "@3s+10  s1#5 RECEIVE p2 END_OF_FILE     <- s3#1 end\n",

    "a living thread ends a poll: no relative that ended meanwhile has closed the file\n"
    "STREAM s1\n"
    "@1      s1#1 CREATEPROCESS s3\n"
    "@2      s1#2 CREATEPROCESS s4\n"
    "@4      PATH p1>p2 pipe\n"
    "@5      s1#3 RECEIVECALL p0\n"
    "@10     s3#1 TERMINATION             <- s1#1 creation\n"
    "@19     s4#1 WAKEUP s1               <- s1#2 creation\n"
    "@20     s1#4 RECEIVE p2 END_OF_FILE  <- s4#1 wakeup\n",
};

/* Between machines, once messages have related their clocks: a sender waited for the RECEIVE that came meanwhile. */
static void room_on_another_machine(void **state)
{
    const unsigned rounds = 20, next = 2 * rounds;
    FILE *out = history_text_begin();

    (void)state;
    fprintf(out, "room on another machine:\nnot live / MACHINE B ahead 9900s\n"
                 "PATH p1 tcp 1:4000 to 2:80 / PATH B.p1 tcp 2:80 to 1:4000\n");
    for (unsigned i = 0; i < rounds; i++) {
        unsigned request = 2 * i, answer = 2 * i + 1, from = 10 * i, to = 10 * i + 10;
        fprintf(out, "@%u s1#%u SEND p1 [%u,%u)\n", 100 * i + 10, request, from, to);
        fprintf(out, "@%u B.s1#%u RECEIVE p1 [%u,%u) <- s1#%u:10\n", 100 * i + 20, request, from,
                to, request);
        fprintf(out, "@%u B.s1#%u SEND p1 [%u,%u)\n", 100 * i + 30, answer, from, to);
        fprintf(out, "@%u s1#%u RECEIVE p1 [%u,%u) <- B.s1#%u:10\n", 100 * i + 40, answer, from, to,
                answer);
    }
    fprintf(out,
            "@50000   s1#%u SENDCALL p1 [200,200)\n"
            "@60000   s1#%u SEND     p1 [200,220)\n" /* nothing was received meanwhile */
            "@60010 B.s1#%u RECEIVE  p1 [200,210) <- s1#%u:10\n"
            "@70000   s1#%u SENDCALL p1 [220,220)\n"
            "@75000 B.s1#%u RECEIVE  p1 [210,220) <- s1#%u:10\n"
            "@80000   s1#%u SEND     p1 [220,240) <- B.s1#%u room\n"
            "then 1 unmatched-sends\n",
            next, next + 1, next, next + 1, next + 2, next + 1, next + 1, next + 3, next + 1);
    history_text_end(out);
}

int main(void)
{
    struct CMUnitTest tests[1 + ARRAY_SIZE(cases)] = {cmocka_unit_test(room_on_another_machine)};

    history_text_tests(cases, ARRAY_SIZE(cases), &tests[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
