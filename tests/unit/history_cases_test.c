/* SPDX-License-Identifier: MIT */
/*
 * history_cases_test.c: the history of a few message records, one case each. history_text.h explains the notation.
 * (Waits: history_waits_test.c. Random histories: history_test.c.)
 */
#include "history_text.h"

#include "base/base.h"
#include "history/history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const cases[] = {
    "the example: two writers, whose calls overlap, of one pipe\n"
    "STREAM s1, s2, s3 / PATH p1>p2 pipe\n"
    "@10      s1#1 SEND    p1 [0,10)\n"
    "@20      s2#1 RECEIVE p2 [0,10)   <- s1#1:10\n"
    "@25..40  s1#2 SEND    p1 [10,20)\n"
    "@30..45  s3#1 SEND    p1 [20,30)\n"
    "@50      s2#2 RECEIVE p2 [10,35)  <- s1#2:10 ordered, s3#1:10 ordered, 5 unmatched\n"
    "then 1 unmatched-receives\n",

    "writers take turns: the meter has seen when each call began, long after the stream's last "
    "record\n"
    "STREAM s1, s2, s3, s4 / PATH p1>p2 pipe\n"
    "@5       s1#1 EXEC\n"
    "@6       s3#1 EXEC\n"
    "@7       s4#1 EXEC\n"
    "@30..31  s1#2 SEND    p1 [0,10) WHOLE_CALL\n"
    "@40..41  s3#2 SEND    p1 [10,20) WHOLE_CALL\n"
    "@45      s2#1 RECEIVE p2 [0,4)    <- s1#2:4\n"
    "@46      s2#2 RECEIVE p2 [4,10)   <- s1#2:6\n"
    "@47      s2#3 RECEIVE p2 [10,20)  <- s3#2:10\n"
    "@90..91  s4#2 SEND    p1 [20,30) WHOLE_CALL\n"
    "@92      s2#4 RECEIVE p2 [20,30)  <- s4#2:10\n",

    "writers overlap: that the meter has seen when each call began says so\n"
    "STREAM s1, s2, s3 / PATH p1>p2 pipe\n"
    "@30..40  s1#1 SEND    p1 [0,10) WHOLE_CALL\n"
    "@35..45  s3#1 SEND    p1 [10,20) WHOLE_CALL\n"
    "@50      s2#1 RECEIVE p2 [0,10)   <- s1#1:10 ordered, s3#1:10 ordered\n"
    "@51      s2#2 RECEIVE p2 [10,20)  <- s1#1:10 ordered, s3#1:10 ordered\n",

    "writers whose calls are seen at their ends only: each may have been writing since its last "
    "record\n"
    "STREAM s1, s2, s3 / PATH p1>p2 pipe\n"
    "@5       s1#1 EXEC\n"
    "@6       s3#1 EXEC\n"
    "@30..31  s1#2 SEND    p1 [0,10)\n"
    "@40..41  s3#2 SEND    p1 [10,20)\n"
    "@45      s2#1 RECEIVE p2 [0,10)   <- s1#2:10 ordered, s3#2:10 ordered\n"
    "then 1 unmatched-sends\n",

    "receive waits for send: a RECEIVE recorded before its SEND waits; other streams go on\n"
    "STREAM s1, s2 / PATH p1>p2 unix-stream\n"
    "@10     s2#1 RECEIVE p2 [0,60)    <- s1#1:60\n"
    "@20     s2#2 EXEC\n"
    "@30     s3#1 EXEC\n"
    "@5..40  s1#1 SEND    p1 [0,100)\n"
    "@50     s2#3 RECEIVE p2 [60,100)  <- s1#1:40\n"
    "order s3#1 s1#1 s2#1 s2#2\n",

    "failed connection: what its stream has before it waits, and the end of its path waits for "
    "both\n"
    "STREAM s1, s2 / PATH p1>p2 unix-stream / PATH p3 tcp 1:4000 to 2:80\n"
    "@10     s2#1 RECEIVE       p2 [0,60)    <- s1#1:60\n"
    "@20     s2#2 CONNECTFAILED p3\n"
    "@21     kernel DESTROYPATH p3\n"
    "@30     s3#1 EXEC\n"
    "@5..40  s1#1 SEND          p1 [0,100)\n"
    "order s3#1 s1#1 s2#1 s2#2 kernel@21\n"
    "then 1 unmatched-sends\n",

    "moment is a proof: bytes that no SEND reports within a second have an unmetered sender\n"
    "STREAM s1, s2 / PATH p1>p2 unix-stream\n"
    "@5      s1#1 SEND    p1 [0,10)\n"
    "@10     s2#1 RECEIVE p2 [0,30)    <- s1#1:10, 20 unmatched\n"
    "@1s     s3#1 EXEC\n"
    "@1s+20  s3#2 EXEC\n"
    "@1s+30  s3#3 EXEC\n"
    "order s3#1 s2#1 s3#3\n"
    "then 1 unmatched-receives\n",

    "sendcall is not recorded: silence is no proof, but a sender is announced within a second, or "
    "is not metered\n"
    "MACHINE A without SENDCALL / STREAM s1\n"
    "PATH p1 tcp 1:80 to 1:4000\n"
    "@10     s1#1 RECEIVE p1 [0,10)   <- 10 external\n"
    "@11     s1#2 SEND    p1 [0,5)\n"
    "@1s     s2#1 EXEC\n"
    "@1s+20  s2#2 EXEC\n"
    "@1s+30  s2#3 EXEC\n"
    "@1s+40  s1#3 RECEIVE p1 [10,30)  <- 20 external\n" /* known now, so it waits for nothing */
    "@1s+50  s2#4 EXEC\n"
    "order s2#1 s1#1 s1#2 s2#3 s1#3 s2#4\n"
    "then 3 external\n",

    "sendcall is not recorded: a sender that is announced within a second is waited for\n"
    "MACHINE A without SENDCALL / STREAM s1, s3\n"
    "PATH p1 tcp 1:80 to 1:4000\n"
    "@10     s1#1 RECEIVE p1 [0,10)   <- s3#1:10\n"
    "@1s     PATH p2 tcp 1:4000 to 1:80\n"
    "@2s     s2#1 EXEC\n"
    "@5..3s  s3#1 SEND    p2 [0,10)\n"
    "@3s+10  s2#2 EXEC\n"
    "order s2#1 s3#1 s1#1\n",

    "sendcall is not recorded: what a sender announced later sends from then on is matched\n"
    "MACHINE A without SENDCALL / STREAM s1, s3\n"
    "PATH p1 tcp 1:80 to 1:4000\n"
    "@10     s1#1 RECEIVE p1 [0,10)   <- 10 external\n"
    "@2s     s2#1 EXEC\n"
    "@3s     PATH p2 tcp 1:4000 to 1:80\n"
    "@5..3s  s3#1 SEND    p2 [0,10)\n"
    "@3s+20  s1#2 RECEIVE p1 [10,20)  <- s3#2:10\n"
    "@3s+15..3s+30 s3#2 SEND p2 [10,20)\n"
    "order s2#1 s1#1 s3#1\n"
    "then 1 external, 1 unmatched-sends\n",

    "sends are not recorded: no receive waits for one\n"
    "MACHINE A without SEND without SENDCALL / STREAM s1 / PATH p1>p2 unix-stream\n"
    "@10     s1#1 RECEIVE p2 [0,10)  <- 10 external\n"
    "@20     s2#1 EXEC\n"
    "@30     s2#2 EXEC\n"
    "order s1#1 s2#1\n"
    "then 1 external\n",

    "nothing received, end of file: it is no message\n"
    "STREAM s1, s2 / PATH p1>p2 unix-stream\n"
    "@10     s2#1 RECEIVE p2 END_OF_FILE\n",

    "nothing received, datagrams: an empty one is a message; a truncated one leaves no rest\n"
    "STREAM s1, s2 / PATH p1>p2 unix-datagram\n"
    "@10     s1#1 SEND    p1 d0:0\n"
    "@11     s1#2 SEND    p1 d1:500\n"
    "@12     s2#1 RECEIVE p2 d0:0      <- s1#1:0\n"
    "@13     s2#2 RECEIVE p2 d1:100    <- s1#2:100\n",

    "blocked send: a reader has an edge from what SENDCALL reported; later readers from the SEND\n"
    "STREAM s1, s2 / PATH p1>p2 unix-stream\n"
    "@10     s1#1 SENDCALL p1 [0,200)\n"
    "@20     s2#1 RECEIVE  p2 [0,150)    <- s1#1:150\n"
    "@30     s1#2 SEND     p1 [0,300)    <- s2#1 room\n"
    "@40     s2#2 RECEIVE  p2 [150,300)  <- s1#2:150\n",

    "blocked twice: each call has a SENDCALL of its own\n"
    "STREAM s1, s2 / PATH p1>p2 unix-stream\n"
    "@10     s1#1 SENDCALL p1 [0,50)\n"
    "@20     s2#1 RECEIVE  p2 [0,50)   <- s1#1:50\n"
    "@30     s1#2 SEND     p1 [0,60)   <- s2#1 room\n"
    "@40     s1#3 SENDCALL p1 [60,100)\n"
    "@50     s2#2 RECEIVE  p2 [50,90)  <- s1#2:10, s1#3:30\n"
    "@60     s1#4 SEND     p1 [60,110) <- s2#2 room\n"
    "then 1 unmatched-sends\n",

    "concurrent senders: two calls overlap in time; which wrote its bytes first is unknown\n"
    "STREAM s1, s2 / PATH p1>p2 pipe\n"
    "@10     s1#1  SEND    p1 [0,10)\n"
    "@11     s3#0  EXEC\n"
    "@20     s3#1  SEND    p1 [10,20)\n"
    "@21     s1#11 EXEC\n"
    "@30     s2#1  RECEIVE p2 [0,20)   <- s1#1:10, s3#1:10\n"
    "@40     s1#12 SEND    p1 [20,30)\n"
    "@50     s3#2  SEND    p1 [30,40)\n" /* it began at 20 or later */
    "@60     s2#2  RECEIVE p2 [20,30)  <- s1#12:10 ordered, s3#2:10 ordered\n"
    "@70     s2#3  RECEIVE p2 [30,40)  <- s1#12:10 ordered, s3#2:10 ordered\n",

    "blocked and overtaken: SENDCALL reports bytes of its own call, though others ended meanwhile\n"
    "STREAM s1, s2 / PATH p1>p2 unix-stream\n"
    "@10     s1#1 SEND     p1 [0,10)\n"
    "@20     s3#1 SEND     p1 [10,20)\n"
    "@40     s3#2 SEND     p1 [20,30)\n"
    "@50     s1#2 SENDCALL p1 [20,50)\n" /* it began when 20 bytes were counted */
    "@70     s3#3 SEND     p1 [30,40)\n"
    "@80     s2#1 RECEIVE  p2 [20,60)  "
    "<- s3#1:10 ordered, s3#2:10 ordered, s3#3:10 ordered, s1#2:30 ordered\n"
    "@90     s2#2 RECEIVE  p2 [60,70)  <- s3#3:10 ordered, s1#2:10 ordered\n"
    "@3s     s4#1 EXEC\n"
    "@4s     s1#3 SEND     p1 [40,70)  <- s2#2 room\n"
    "then 2 unmatched-sends\n",

    "long call begun later: it is no cause of a RECEIVE before, however long it lasts\n"
    "STREAM s1, s2 / PATH p1>p2 unix-stream\n"
    "@10     s1#1 SEND     p1 [0,10)\n"
    "@20     s3#1 SEND     p1 [10,20)\n"
    "@21     s1#2 EXEC\n"
    "@25     s1#3 SENDCALL p1 [20,30)\n"
    "@30     s2#1 RECEIVE  p2 [20,30)  <- s1#4:10 ordered\n"
    "@40     s3#2 EXEC\n"
    "@50     s3#3 SENDCALL p1 [20,20)\n"
    "@6s     s3#4 SEND     p1 [20,30)\n"
    "@7s     s1#4 SEND     p1 [30,40)\n"
    "then 3 unmatched-sends\n",

    "call in progress begun later: the same, but the later call has put bytes and goes on\n"
    "STREAM s1, s2 / PATH p1>p2 unix-stream\n"
    "@10     s1#1 SEND     p1 [0,10)\n"
    "@20     s3#1 SEND     p1 [10,20)\n"
    "@21     s1#2 EXEC\n"
    "@25     s1#3 SENDCALL p1 [20,30)\n"
    "@30     s2#1 RECEIVE  p2 [20,30)  <- s1#3:10 ordered\n"
    "@40     s3#2 EXEC\n"
    "@50     s3#3 SENDCALL p1 [20,25)\n"
    "@3s     s4#1 EXEC\n"
    "then 2 unmatched-sends\n",

    "blocked in a pipe: SENDCALL also counts bytes of a call that ended while it slept\n"
    "STREAM s1, s2 / PATH p1>p2 pipe\n"
    "@10     s3#1 SEND     p1 [0,40)\n"
    "@20     s1#1 SENDCALL p1 [40,40)\n"
    "@30     s2#1 RECEIVE  p2 [0,40)   <- s3#1:40\n"
    "@40     s3#2 SEND     p1 [40,50)\n"
    "@50     s1#2 SENDCALL p1 [40,55)  <- s2#1 room\n" /* 5 of these are its own */
    "@60     s2#2 RECEIVE  p2 [40,55)  <- s3#2:10 ordered, s1#2:5 ordered\n"
    "@3s     s4#1 EXEC\n"
    "@4s     s1#3 SEND     p1 [50,70)  <- s2#2 room\n"
    "then 1 unmatched-sends\n",

    "one edge for a call: bytes of a call in progress lie in two places and are one edge\n"
    "STREAM s1, s2 / PATH p1>p2 pipe\n"
    "@1      s3#1 SEND     p1 [0,100)\n"
    "@2      s1#1 SEND     p1 [100,150)\n"
    "@3      s2#1 RECEIVE  p2 [0,150)    <- s3#1:100 ordered, s1#1:50 ordered\n"
    "@4      s1#2 SENDCALL p1 [150,200)\n"
    "@5      s2#2 RECEIVE  p2 [150,250)  <- s1#2:100 ordered\n"
    "@5s     s4#1 EXEC\n"
    "@6s     s4#2 EXEC\n",

    "more than was reported: bytes behind those of a SENDCALL are likely its call's, not "
    "certainly\n"
    "STREAM s1, s2 / PATH p1>p2 unix-stream\n"
    "@10     s1#1 SENDCALL p1 [0,50)\n"
    "@20     s2#1 RECEIVE  p2 [0,40)   <- s1#1:40\n"
    "@30     s2#2 RECEIVE  p2 [40,80)  <- s1#1:40 ordered\n"
    "@3s     s4#1 EXEC\n",

    "not sent before birth: what a process sends first, it began after it was created\n"
    "STREAM s1, s2 / PATH p1>p2 pipe\n"
    "@1      s1#1 SEND    p1 [0,10)\n"
    "@2      s3#1 EXEC\n"
    "@3      s2#1 RECEIVE p2 [0,10)   <- s1#1:10\n"
    "@4      s3#2 CREATEPROCESS s4 without STREAM\n"
    "@5      s4#1 SEND    p1 [10,20)  <- s3#2 creation\n"
    "@6      s2#2 RECEIVE p2 [10,20)  <- s4#1:10\n",

    "not sent before birth, in flight: what was sent before is still there\n"
    "STREAM s1, s2, s3 / PATH p1>p2 pipe\n"
    "@1      s1#1 SEND    p1 [0,10)\n"
    "@2      s3#1 CREATEPROCESS s4\n"
    "@3      s4#1 SEND    p1 [10,20)  <- s3#1 creation\n"
    "@4      s2#1 RECEIVE p2 [0,10)   <- s1#1:10\n"
    "@5      s2#2 RECEIVE p2 [10,20)  <- s4#1:10\n",

    /* ---- senders and receivers ---- */

    "several receivers of one send: each has an edge of the bytes that it took\n"
    "STREAM s1, s2, s3 / PATH p1>p2 unix-stream\n"
    "@10     s1#1 SEND    p1 [0,30)\n"
    "@20     s2#1 RECEIVE p2 [0,10)   <- s1#1:10\n"
    "@30     s3#1 RECEIVE p2 [10,15)  <- s1#1:5\n"
    "@40     s2#2 RECEIVE p2 [15,30)  <- s1#1:15\n",

    "several receivers of a pipe: if calls overlap, each may have taken the other's bytes\n"
    "STREAM s1, s2, s3, s4 / PATH p1>p2 pipe\n"
    "@10     s1#1 SEND    p1 [0,20)\n"
    "@20     s2#1 RECEIVE p2 [0,10)   <- s1#1:10\n"
    "@21     s3#1 EXEC\n"
    "@30     s3#2 RECEIVE p2 [10,20)  <- s1#1:10\n"
    "@31     s2#2 EXEC / @31 s3#3 EXEC\n"
    "@32     s1#2 SEND    p1 [20,30)\n"
    "@33     s4#1 EXEC\n"
    "@34     s4#2 SEND    p1 [30,40)\n"
    "@40     s2#3 RECEIVE p2 [20,30)  <- s1#2:10 ordered, s4#2:10 ordered\n"
    "@50     s3#4 RECEIVE p2 [30,40)  <- s1#2:10 ordered, s4#2:10 ordered\n",

    "a receiver before: a pipe's other receiver took what comes before, and is recorded later\n"
    "STREAM s1, s2, s3 / PATH p1>p2 pipe\n"
    "@10     s1#1 SEND    p1 [0,10)\n"
    "@12     s1#2 SEND    p1 [10,20)\n"
    "@20     s2#1 RECEIVE p2 [10,20)  <- s1#1:10 ordered, s1#2:10 ordered\n"
    "@30     s3#1 RECEIVE p2 [0,10)   <- s1#1:10 ordered, s1#2:10 ordered\n",

    "datagrams of several: an edge has no more bytes than were received\n"
    "STREAM s1, s2, s3 / PATH p1>p2 unix-datagram\n"
    "@5      s1#1 EXEC / @6 s3#1 EXEC\n"
    "@7..10  s1#2 SEND    p1 d0:500\n"
    "@7..11  s3#2 SEND    p1 d1:600 CONCURRENT\n"
    "@20     s2#1 RECEIVE p2 d0:100  <- s1#2:100 ordered, s3#2:100 ordered\n"
    "@30     s2#2 RECEIVE p2 d1:600  <- s1#2:500 ordered, s3#2:600 ordered\n",

    "marked as concurrent: the meter has seen the calls overlap\n"
    "STREAM s1, s2, s3 / PATH p1>p2 unix-stream\n"
    "@5      s1#1 EXEC / @6 s3#1 EXEC\n"
    "@7..10  s1#2 SEND    p1 [0,8)\n"
    "@7..11  s3#2 SEND    p1 [8,20) CONCURRENT\n"
    "@20     s2#1 RECEIVE p2 [0,8)   <- s1#2:8 ordered, s3#2:8 ordered\n"
    "@30     s2#2 RECEIVE p2 [8,20)  <- s1#2:8 ordered, s3#2:12 ordered\n",

    "pieces of a call: each has its edge\n"
    "STREAM s1, s2 / PATH p1>p2 unix-stream\n"
    "@10     s1#1 SEND    p1 [0,10)\n"
    "@11     s1#2 SEND    p1 [10,20) CONTINUED\n"
    "@20     s2#1 RECEIVE p2 [0,15)   <- s1#1:10, s1#2:5\n"
    "@30     s2#2 RECEIVE p2 [15,20)  <- s1#2:5\n",

    "both directions: each has positions of its own\n"
    "STREAM s1, s2 / PATH p1>p2 unix-seqpacket\n"
    "@10     s1#1 SEND    p1 d0:10\n"
    "@20     s2#1 RECEIVE p2 d0:10  <- s1#1:10\n"
    "@30     s2#2 SEND    p2 d0:5\n"
    "@40     s1#2 RECEIVE p1 d0:5   <- s2#2:5\n",

    "closed before it is received: what was sent is still there\n"
    "STREAM s1, s2 / PATH p1>p2 unix-stream\n"
    "@10     s1#1 SEND    p1 [0,10)\n"
    "@11     kernel DESTROYPATH p1\n"
    "@20     s2#1 RECEIVE p2 [0,10)  <- s1#1:10\n",

    "a number used again: another path has the number of one that was closed\n"
    "STREAM s1, s2 / PATH p1>p2 unix-stream\n"
    "@10     s1#1 SEND    p1 [0,10)\n"
    "@20     s2#1 RECEIVE p2 [0,10)  <- s1#1:10\n"
    "@21     kernel DESTROYPATH p1 / @22 kernel DESTROYPATH p2\n"
    "@30     PATH p1>p2 unix-stream\n"
    "@40     s1#2 SEND    p1 [0,20)\n"
    "@50     s2#2 RECEIVE p2 [0,20)  <- s1#2:20\n",

    "older than the metering: calls may have been in progress when positions began to count\n"
    "STREAM s1, s2 / PATH p1>p2 pipe OLDER\n"
    "@10     s1#1 SEND    p1 [0,10) OLDER\n"
    "@20     s2#1 RECEIVE p2 [0,10) OLDER  <- s1#1:10 inferred\n"
    "@30     s1#2 SEND    p1 [10,20)\n"
    "@40     s2#2 RECEIVE p2 [10,20)       <- s1#2:10\n",

    "sent before the metering: its bytes come from outside\n"
    "STREAM s1, s2\n"
    "PATH p1 tcp 1:4000 to 1:80 out 100 OLDER / PATH p2 tcp 1:80 to 1:4000 in 90 OLDER\n"
    "@10     s1#1 SEND    p1 [100,110)\n"
    "@20     s2#1 RECEIVE p2 [90,110)  <- s1#1:10, 10 external\n"
    "then 1 external\n",

    "gigabytes before an end is met: positions have 32 bits, and it begins where the other is now\n"
    "STREAM s1, s2 / PATH p1 tcp 1:4000 to 1:80 out 100 OLDER\n"
    "@1      s1#1 SEND    p1 [100,1610612836)\n"
    "@2      s1#2 SEND    p1 [1610612836,3221225572)\n"
    "@3      s1#3 SEND    p1 [3221225572,536871012)\n"
    "@4      s1#4 SEND    p1 [536871012,1073741924)\n"
    "@5      PATH p2 tcp 1:80 to 1:4000 in 1073741924 OLDER\n"
    "@6      s1#5 SEND    p1 [1073741924,1073741934)\n"
    "@7      s2#1 RECEIVE p2 [1073741924,1073741934)  <- s1#5:10\n"
    "then 4 unmatched-sends\n",

    "gigabytes before another machine is read: the two ends were met at the same time\n"
    "PATH p1 tcp 1:4000 to 2:80 out 100 OLDER\n"
    "MACHINE B ahead 9900s / PATH B.p1 tcp 2:80 to 1:4000 in 100 OLDER\n"
    "@1        s1#1 SEND    p1 [100,1610612836)\n"
    "@2        s1#2 SEND    p1 [1610612836,3221225572)\n"
    "@3        s1#3 SEND    p1 [3221225572,536871012)\n"
    "@11     B.s1#1 RECEIVE p1 [100,1610612836)         <- s1#1:1610612736\n"
    "@12     B.s1#2 RECEIVE p1 [1610612836,3221225572)  <- s1#2:1610612736\n"
    "@13     B.s1#3 RECEIVE p1 [3221225572,536871012)   <- s1#3:1610612736\n",

    "packets: a reader may leave a part of a packet, so positions of such a pipe may be wrong\n"
    "STREAM s1, s2 / PATH p1>p2 pipe PACKETS\n"
    "@10     s1#1 SEND    p1 [0,10)\n"
    "@20     s2#1 RECEIVE p2 [0,10)  <- s1#1:10 inferred\n",

    "a datagram is dropped: numbers of IPv4 say which\n"
    "PATH p1 udp 1:4000 to 2:80 / PATH B.p1 udp 2:80 to 1:4000\n"
    "@1      s1#1 SEND    p1 d7:10\n"
    "@2      s1#2 SEND    p1 d8:10\n"
    "@3      s1#3 SEND    p1 d9:10\n"
    "@4    B.s1#1 RECEIVE p1 d7:10  <- s1#1:10\n"
    "@5    B.s1#2 RECEIVE p1 d9:10  <- s1#3:10\n"
    "then 1 unmatched-sends\n",

    "datagrams: another socket has the port of a closed one, whose last one is received late\n"
    "PATH p1 udp 1:4000 to 1:80 / PATH p2 udp 1:80 to 1:4000\n"
    "@1      s1#1 SEND    p1 d7:60\n"
    "@2      s2#1 RECEIVE p2 d7:60  <- s1#1:60\n"
    "@3      s2#2 SEND    p2 d8:10\n"
    "@4      s1#2 RECEIVE p1 d8:10  <- s2#2:10\n"
    "@5      s1#3 SEND    p1 d9:61\n"
    "@6      kernel DESTROYPATH p1\n"
    "@7      PATH p3 udp 1:4000 to 1:80\n"
    "@8      s3#1 SEND    p3 d10:70\n"
    "@9      s2#3 RECEIVE p2 d9:61   <- s1#3:61\n"
    "@10     s2#4 RECEIVE p2 d10:70  <- s3#1:70\n"
    "@11     s2#5 SEND    p2 d11:20\n"
    "@12     s3#2 RECEIVE p3 d11:20  <- s2#5:20\n"
    "@13     kernel DESTROYPATH p3\n"
    "@14     PATH p4 udp 1:4000 to 1:80\n"
    "@15     s4#1 SEND    p4 d12:30\n"
    "@16     s2#6 RECEIVE p2 d12:30  <- s4#1:30\n"
    "@17     kernel DESTROYPATH p2 / @18 kernel DESTROYPATH p4\n",

    "two successors: sockets have the port of a closed one, one after the other, and what the "
    "first "
    "two received is held\n"
    "STREAM s1, s3, s8, s9 / PATH p6>p7 unix-stream / PATH p8>p9 unix-stream\n"
    "PATH p1 udp 1:4000 to 1:80 / PATH p2 udp 1:80 to 1:4000\n"
    "@1      s1#1 SEND    p1 d7:60\n"
    "@2      s2#1 RECEIVE p2 d7:60   <- s1#1:60\n"
    "@3      s2#2 SEND    p2 d1:20\n"
    "@4      s1#2 RECEIVE p9 [0,10)  <- s9#1:10\n"
    "@5      s1#3 RECEIVE p1 d1:20   <- s2#2:20\n"
    "@6      kernel DESTROYPATH p1\n"
    "@7      PATH p3 udp 1:4000 to 1:80\n"
    "@8      s3#1 SEND    p3 d8:70\n"
    "@9      s2#3 RECEIVE p2 d8:70   <- s3#1:70\n"
    "@10     s2#4 SEND    p2 d2:30\n"
    "@11     s3#2 RECEIVE p7 [0,10)  <- s8#1:10\n"
    "@12     s3#3 RECEIVE p3 d2:30   <- s2#4:30\n"
    "@13     kernel DESTROYPATH p3\n"
    "@14     PATH p4 udp 1:4000 to 1:80\n"
    "@15     s4#1 SEND    p4 d9:40\n"
    "@16     s2#5 RECEIVE p2 d9:40   <- s4#1:40\n"
    "@17     kernel DESTROYPATH p4 / @18 kernel DESTROYPATH p2\n"
    "@2..50  s9#1 SEND    p8 [0,10)\n"
    "@2..60  s8#1 SEND    p6 [0,10)\n",

    "both have successors: two sockets are closed, others have their ports, and what the first one "
    "received and sent is held\n"
    "STREAM s1, s9 / PATH p8>p9 unix-stream\n"
    "PATH p1 udp 1:4000 to 1:80 / PATH p2 udp 1:80 to 1:4000\n"
    "@1      s1#1 SEND    p1 d7:60\n"
    "@2      s2#1 RECEIVE p2 d7:60   <- s1#1:60\n"
    "@3      s2#2 SEND    p2 d1:20\n"
    "@4      s1#2 RECEIVE p9 [0,10)  <- s9#1:10\n"
    "@5      s1#3 RECEIVE p1 d1:20   <- s2#2:20\n"
    "@6      s1#4 SEND    p1 d8:50\n" /* lost, but not to an unmonitored peer */
    "@7      kernel DESTROYPATH p1\n"
    "@8      PATH p3 udp 1:4000 to 1:80\n"
    "@9      kernel DESTROYPATH p2\n"
    "@10     PATH p4 udp 1:80 to 1:4000\n"
    "@11     s4#1 SEND    p4 d2:30\n"
    "@12     s3#1 RECEIVE p3 d2:30   <- s4#1:30\n"
    "@13     kernel DESTROYPATH p3 / @14 kernel DESTROYPATH p4\n"
    "@2..50  s9#1 SEND    p8 [0,10)\n"
    "then 1 unmatched-sends\n",

    "met late: another socket has the port of one that was closed before its other end was met\n"
    "PATH p1 udp 1:4000 to 1:80\n"
    "@1      s1#1 SEND    p1 d7:60\n"
    "@2      kernel DESTROYPATH p1\n"
    "@3      PATH p2 udp 1:80 to 1:4000\n"
    "@4      s2#1 RECEIVE p2 d7:60   <- s1#1:60\n"
    "@6      PATH p3 udp 1:4000 to 1:80\n"
    "@7      s3#1 SEND    p3 d8:70\n"
    "@8      s2#2 RECEIVE p2 d8:70   <- s3#1:70\n"
    "@9      kernel DESTROYPATH p3 / @10 kernel DESTROYPATH p2\n",

    "counted datagrams: another socket has the port of a closed one, and counts from 0 again\n"
    "MACHINE A ptrace\n"
    "PATH p1 udp 1:4000 to 1:80 / PATH p2 udp 1:80 to 1:4000\n"
    "@1      s1#1 SEND    p1 d0:60 OLDER\n"
    "@2      s2#1 RECEIVE p2 d0:60 OLDER  <- s1#1:60 inferred\n"
    "@3      s2#2 SEND    p2 d0:10 OLDER\n"
    "@4      s1#2 RECEIVE p1 d0:10 OLDER  <- s2#2:10 inferred\n"
    "@5      kernel DESTROYPATH p1\n"
    "@6      PATH p3 udp 1:4000 to 1:80\n"
    "@7      s3#1 SEND    p3 d0:60 OLDER\n"
    "@8      s2#3 RECEIVE p2 d1:60 OLDER  <- s3#1:60 inferred\n"
    "@9      s2#4 SEND    p2 d1:10 OLDER\n"
    "@10     s3#2 RECEIVE p3 d0:10 OLDER  <- s2#4:10 inferred\n",

    /* ---- datagrams that the ptrace meter has counted ---- */

    "a counted datagram is lost: sizes say which, and from there on it is in order again\n"
    "MACHINE A ptrace\n"
    "PATH p1 udp 1:4000 to 1:80 / PATH p2 udp 1:80 to 1:4000\n"
    "@1      s1#1 SEND    p1 d0:60 OLDER\n"
    "@2      s1#2 SEND    p1 d1:70 OLDER\n"
    "@3      s1#3 SEND    p1 d2:80 OLDER\n"
    "@4      s1#4 SEND    p1 d3:80 OLDER\n"
    "@5      s2#1 RECEIVE p2 d0:60 OLDER  <- s1#1:60 inferred\n"
    "@6      s2#2 RECEIVE p2 d1:80 OLDER  <- s1#3:80 inferred\n"
    "@7      s2#3 RECEIVE p2 d2:80 OLDER  <- s1#4:80 inferred\n"
    "then 1 unmatched-sends\n",

    "counted datagrams of one size: the next one counts, even if others are under way\n"
    "MACHINE A ptrace\n"
    "PATH p1 udp 1:4000 to 1:80 / PATH p2 udp 1:80 to 1:4000\n"
    "@1      s1#1 SEND    p1 d0:60 OLDER\n"
    "@2      s2#1 RECEIVE p2 d0:60 OLDER  <- s1#1:60 inferred\n"
    "@3      s1#2 SEND    p1 d1:60 OLDER\n"
    "@6      s2#2 RECEIVE p2 d1:60 OLDER  <- s1#2:60 inferred\n"
    "@5..7   s1#3 SEND    p1 d2:60 OLDER\n"
    "@8      s2#3 RECEIVE p2 d2:60 OLDER  <- s1#3:60 inferred\n",

    "counted datagrams, a send that began later: it is not what was received\n"
    "MACHINE A ptrace\n"
    "PATH p1 udp 1:4000 to 1:80 / PATH p2 udp 1:80 to 1:4000\n"
    "@1      s1#1 SEND    p1 d0:60 OLDER\n"
    "@2      s2#1 RECEIVE p2 d0:70 OLDER  <- 70 unmatched\n"
    "@3..4   s1#2 SEND    p1 d1:70 OLDER\n"
    "@2s     s1#3 EXEC\n"
    "then 1 unmatched-receives, 2 unmatched-sends\n",

    "counted datagrams, a receive ends before the send: it waits for the one of its size\n"
    "MACHINE A ptrace\n"
    "PATH p1 udp 1:4000 to 1:80 / PATH p2 udp 1:80 to 1:4000\n"
    "@1      s1#1 SEND    p1 d0:60 OLDER\n"
    "@3      s2#1 RECEIVE p2 d0:50 OLDER  <- s1#2:50 inferred\n"
    "@2..4   s1#2 SEND    p1 d1:50 OLDER\n"
    "then 1 unmatched-sends\n",

    "counted datagrams are cut: to a size that none has, again and again\n"
    "MACHINE A ptrace\n"
    "PATH p1 udp 1:4000 to 1:80 / PATH p2 udp 1:80 to 1:4000\n"
    "@1      s1#1 SEND    p1 d0:60 OLDER\n"
    "@2      s1#2 SEND    p1 d1:70 OLDER\n"
    "@3      s2#1 RECEIVE p2 d0:12 OLDER  <- s1#1:12 inferred\n"
    "@4      s1#3 SEND    p1 d2:12 OLDER\n"
    "@5      s2#2 RECEIVE p2 d1:12 OLDER  <- s1#2:12 inferred\n"
    "@6      s2#3 RECEIVE p2 d2:12 OLDER  <- s1#3:12 inferred\n",

    "counted datagrams overtake each other: sizes say so, too\n"
    "MACHINE A ptrace\n"
    "PATH p1 udp 1:4000 to 1:80 / PATH p2 udp 1:80 to 1:4000\n"
    "@1      s1#1 SEND    p1 d0:60 OLDER\n"
    "@2      s1#2 SEND    p1 d1:70 OLDER\n"
    "@3      s1#3 SEND    p1 d2:80 OLDER\n"
    "@4      s2#1 RECEIVE p2 d0:70 OLDER  <- s1#2:70 inferred\n"
    "@5      s2#2 RECEIVE p2 d1:60 OLDER  <- s1#1:60 inferred\n"
    "@6      s2#3 RECEIVE p2 d2:80 OLDER  <- s1#3:80 inferred\n",

    "counted datagrams that the meter skips: their socket has dropped them\n"
    "MACHINE A ptrace\n"
    "PATH p1 udp 1:4000 to 1:80 / PATH p2 udp 1:80 to 1:4000\n"
    "@1      s1#1 SEND    p1 d0:60 OLDER\n"
    "@2      s1#2 SEND    p1 d1:60 OLDER\n"
    "@3      s2#1 RECEIVE p2 d0:60 OLDER  <- s1#1:60 inferred\n"
    "@4      s1#3 SEND    p1 d2:60 OLDER\n"
    "@5      s2#2 RECEIVE p2 d2:60 OLDER  <- s1#3:60 inferred\n"
    "then 1 unmatched-sends\n",

    "counted datagrams that the meter skips later: sizes have said so already\n"
    "MACHINE A ptrace\n"
    "PATH p1 udp 1:4000 to 1:80 / PATH p2 udp 1:80 to 1:4000\n"
    "@1      s1#1 SEND    p1 d0:60 OLDER\n"
    "@2      s1#2 SEND    p1 d1:70 OLDER\n"
    "@3      s1#3 SEND    p1 d2:80 OLDER\n"
    "@4      s1#4 SEND    p1 d3:80 OLDER\n"
    "@5      s1#5 SEND    p1 d4:80 OLDER\n"
    "@6      s2#1 RECEIVE p2 d0:60 OLDER  <- s1#1:60 inferred\n"
    "@7      s2#2 RECEIVE p2 d1:80 OLDER  <- s1#3:80 inferred\n"
    "@8      s2#3 RECEIVE p2 d3:80 OLDER  <- s1#4:80 inferred\n"
    "@9      s2#4 RECEIVE p2 d4:80 OLDER  <- s1#5:80 inferred\n"
    "then 1 unmatched-sends\n",

    "counted on one machine only: numbers of the other one are not compared\n"
    "MACHINE B ptrace\n"
    "PATH p1 udp 1:4000 to 2:80 / PATH B.p1 udp 2:80 to 1:4000\n"
    "@1      s1#1 SEND    p1 d4711:60\n"
    "@2      s1#2 SEND    p1 d4713:70\n"
    "@3      s1#3 SEND    p1 d4714:80\n"
    "@4    B.s1#1 RECEIVE p1 d0:60 OLDER  <- s1#1:60 inferred\n"
    "@5    B.s1#2 RECEIVE p1 d1:80 OLDER  <- s1#3:80 inferred\n"
    "then 1 unmatched-sends\n",

    /* ---- multicast ---- */

    "multicast: each receiver takes the datagrams that it has got, in its own time\n"
    "PATH p1 udp 1:4000 to 9:80 MANY / PATH p2 udp 9:80 to 1:4000 / PATH p3 udp 9:80 to 1:4000\n"
    "@1      s1#1 SEND    p1 d7:10\n"
    "@2      s1#2 SEND    p1 d8:11\n"
    "@3      s2#1 RECEIVE p2 d7:10  <- s1#1:10\n"
    "@4      s3#1 RECEIVE p3 d7:10  <- s1#1:10\n"
    "@5      s3#2 RECEIVE p3 d8:11  <- s1#2:11\n"
    "@6      s1#3 SEND    p1 d9:12\n"
    "@7      s2#2 RECEIVE p2 d8:11  <- s1#2:11\n"
    "@8      s2#3 RECEIVE p2 d9:12  <- s1#3:12\n",

    "multicast: receivers are known before the sender, and one after it has sent\n"
    "PATH p2 udp 9:80 to 1:4000 / PATH p3 udp 9:80 to 1:4000\n"
    "@1      PATH p1 udp 1:4000 to 9:80 MANY\n"
    "@2      s1#1 SEND    p1 d7:10\n"
    "@3      s2#1 RECEIVE p2 d7:10  <- s1#1:10\n"
    "@4      PATH p4 udp 9:80 to 1:4000\n"
    "@5      s4#1 RECEIVE p4 d7:10  <- s1#1:10\n"
    "@6      s3#1 RECEIVE p3 d7:10  <- s1#1:10\n"
    "@7      s1#2 SEND    p1 d8:10\n"
    "@8      s4#2 RECEIVE p4 d8:10  <- s1#2:10\n"
    "then 1 unmatched-sends\n", /* by p2, which the sender is joined with */

    "multicast: a receiver lags behind the end of the sender's socket and of another receiver\n"
    "PATH p1 udp 1:4000 to 9:80 MANY / PATH p2 udp 9:80 to 1:4000 / PATH p3 udp 9:80 to 1:4000\n"
    "@1      s1#1 SEND    p1 d7:10\n"
    "@2      s1#2 SEND    p1 d8:11\n"
    "@3      s2#1 RECEIVE p2 d7:10  <- s1#1:10\n"
    "@4      s2#2 RECEIVE p2 d8:11  <- s1#2:11\n"
    "@5      kernel DESTROYPATH p2\n"
    "@6      kernel DESTROYPATH p1\n"
    "@7      s3#1 RECEIVE p3 d7:10  <- s1#1:10\n"
    "@8      s3#2 RECEIVE p3 d8:11  <- s1#2:11\n",

    "multicast: receivers on another machine\n"
    "PATH p1 udp 1:4000 to 9:80 MANY / PATH p2 udp 9:80 to 1:4000\n"
    "PATH B.p2 udp 9:80 to 1:4000 / PATH B.p3 udp 9:80 to 1:4000\n"
    "@1      s1#1 SEND    p1 d7:10\n"
    "@2      s2#1 RECEIVE p2 d7:10  <- s1#1:10\n"
    "@2    B.s2#1 RECEIVE p2 d7:10  <- s1#1:10\n"
    "@3    B.s3#1 RECEIVE p3 d7:10  <- s1#1:10\n",

    /* ---- ends, several machines ---- */

    "two machines: clocks are hours apart, and the receiver is read first\n"
    "PATH p1 tcp 1:4000 to 2:80 in 5\n"
    "@1      s1#1 RECEIVE p1 [5,15)    <- B.s1#1:10\n"
    "@2      s1#2 RECEIVE p1 [15,25)   <- B.s1#1:10\n"
    "MACHINE B ahead 9900s / PATH B.p1 tcp 2:80 to 1:4000 out 5\n"
    "@5    B.s1#1 SEND    p1 [5,25)\n",

    "lost on the way: between machines a later SEND proves, after a second, that one is missing\n"
    "PATH p1 tcp 1:4000 to 2:80\n"
    "@20       s1#1 RECEIVE p1 [0,40)  <- B.s1#1:10, B.s1#2:10, 20 unmatched\n"
    "MACHINE B ahead 9900s / PATH B.p1 tcp 2:80 to 1:4000\n"
    "@10     B.s1#1 SEND    p1 [0,10)\n"
    "@30     B.s1#2 SEND    p1 [30,40)\n"
    "@1s     B.s1#3 EXEC\n"
    "@1s+31  B.s1#4 EXEC\n"
    "@1s+32  B.s1#5 EXEC\n"
    "order B.s1#3 s1#1 B.s1#5\n"
    "then 1 unmatched-receives\n",

    "a moment in two recordings: of one machine, so that a second of the other proves it, too\n"
    "MACHINE B is A / PATH p1 tcp 1:4000 to 1:80 / PATH B.p1 tcp 1:80 to 1:4000\n"
    "@5        s1#1 SEND    p1 [0,10)\n"
    "@10     B.s1#1 RECEIVE p1 [0,30)  <- s1#1:10, 20 unmatched\n"
    "@1s       s1#2 EXEC\n"
    "@1s+20    s1#3 EXEC\n"
    "@1s+30    s1#4 EXEC\n"
    "order s1#2 B.s1#1 s1#4\n"
    "then 1 unmatched-receives\n",

    "sent long ago, SENDCALL: a call of 10 s, received at its beginning, relates the clocks\n"
    "PATH p1 tcp 1:4000 to 2:80 / PATH p2 tcp 1:4001 to 2:80\n"
    "MACHINE B ahead 9900s / PATH B.p1 tcp 2:80 to 1:4000 / PATH B.p2 tcp 2:80 to 1:4001\n"
    "@20        B.s1#1 RECEIVE  p1 [0,50)  <- s1#1:50\n"
    "@50        B.s1#2 SEND     p2 [0,10)\n"
    "@8s          s2#1 RECEIVE  p2 [0,10)  <- B.s1#2:10\n"
    "@10..10s     s1#1 SENDCALL p1 [0,50)\n"
    "clock B within 5s\n", /* the message in the other direction was received 8 s later */

    "sent long ago, SEND: the same of a call that has ended\n"
    "PATH p1 tcp 1:4000 to 2:80 / PATH p2 tcp 1:4001 to 2:80\n"
    "MACHINE B ahead 9900s / PATH B.p1 tcp 2:80 to 1:4000 / PATH B.p2 tcp 2:80 to 1:4001\n"
    "@20        B.s1#1 RECEIVE  p1 [0,50)  <- s1#1:50\n"
    "@50        B.s1#2 SEND     p2 [0,10)\n"
    "@8s          s2#1 RECEIVE  p2 [0,10)  <- B.s1#2:10\n"
    "@10..10s     s1#1 SEND     p1 [0,50)\n"
    "clock B within 5s\n",

    "other end is not metered: no machine has the other address; nothing is waited for\n"
    "PATH p1 tcp 1:4000 to 77:80\n"
    "@1      s1#1 RECEIVE p1 [0,10)  <- 10 external\n"
    "@2      s1#2 SEND    p1 [0,10)\n"
    "@3      s2#1 EXEC\n"
    "order s1#1 s2#1\n"
    "then 2 external\n",

    "client of a container: within a second any neighbour would have reported that it sends\n"
    "PATH p1 tcp 200:80 to 77:4000\n"
    "@1      s1#1 RECEIVE p1 [0,10)  <- 10 external\n"
    "@1s+2   s3#1 EXEC\n"
    "@1s+3   s3#2 EXEC\n"
    "@1s+4   s3#3 EXEC\n"
    "order s1#1 s3#3\n"
    "then 1 external\n",

    "datagrams begin anew: numbers have 16 bits, so a later datagram may be meant\n"
    "PATH p1 udp 1:4000 to 2:80 / PATH B.p1 udp 2:80 to 1:4000\n"
    "@1      s1#1 SEND    p1 d7:10\n"
    "@2      s1#2 SEND    p1 d8:10\n"
    "@2      s1#3 SEND    p1 d65543:10\n"
    "@3    B.s1#1 RECEIVE p1 d7:10  <- s1#1:10 inferred\n"
    "then 2 unmatched-sends\n",

    /* ---- missing records ---- */

    "lost path: the PATH was lost, so nothing says that its messages lead away\n"
    "no PATH p9\n"
    "@1      s1#1 SEND    p9 [0,10)\n"
    "@2      s1#2 RECEIVE p9 [0,10)  <- 10 unmatched\n"
    "then 1 unmatched-sends, 1 unmatched-receives\n",

    "removed and lost, removed: a selection has removed the SEND\n"
    "STREAM s1, s2 / PATH p1>p2 unix-stream\n"
    "@5      s1#1 SEND    p1 [0,10)\n"
    "@6      s2#1 RECEIVE p2 [0,10)   <- s1#1:10\n"
    "@20     DISCARDED 1 before s1#3\n"
    "@21     s1#3 SEND    p1 [30,40)\n"
    "@22     s2#2 RECEIVE p2 [10,40)  <- s1#3:10, 20 unselected\n"
    "then 1 unselected, 1 discarded\n",

    "removed and lost, lost: the SEND was lost\n"
    "STREAM s1, s2 / PATH p1>p2 unix-stream\n"
    "@5      s1#1 SEND    p1 [0,10)\n"
    "@6      s2#1 RECEIVE p2 [0,10)   <- s1#1:10\n"
    "@20     LOST 1 before s1#3\n"
    "@21     s1#3 SEND    p1 [30,40)\n"
    "@22     s2#2 RECEIVE p2 [10,40)  <- s1#3:10, 20 unmatched\n"
    "then 1 unmatched-receives, 1 lost\n",

    "silence: after a second of it the sender counts as unmetered, and the next RECEIVE goes on\n"
    "STREAM s1, s2 / PATH p1>p2 unix-stream\n"
    "@10     s2#1 RECEIVE p2 [0,10)   <- 10 external\n"
    "@2s     s3#1 EXEC\n"
    "@2s+20  s2#2 RECEIVE p2 [10,20)  <- 10 external\n"
    "@2s+30  s3#2 EXEC\n"
    "order s3#1 s2#2 s3#2\n"
    "then 2 external\n",

    "silence is explained: a silent sender counts as unmetered until LOST explains it\n"
    "STREAM s1, s2 / PATH p1>p2 unix-stream\n"
    "@10            s2#1 RECEIVE p2 [0,10)   <- 10 external\n"
    "@2s            s3#1 EXEC\n"
    "@2s+10         LOST 1 before s1#2\n"
    "@2s+10         s1#2 EXEC\n"
    "@2s+20         s2#2 RECEIVE p2 [10,20)  <- s1#3:10\n"
    "@2s+15..2s+30  s1#3 SEND    p1 [10,20)\n"
    "then 1 external, 1 lost\n",

    "counts beyond 32 bits: of numbers that pass 2^32 many are missing; -1 is the last of 32 bits\n"
    "STREAM s1, s2 / PATH p1>p2 unix-stream\n"
    "@5      s1#-2 SEND    p1 [-5,5)\n"
    "@6      s2#-1 RECEIVE p2 [-5,5)  <- s1#-2:10\n"
    "@20     DISCARDED -1 before s1#3\n"
    "@20     LOST      -1 before s1#3\n"
    "@21     DISCARDED -2 before s1#3\n"
    "@21     LOST      -11 before s1#3\n"
    "@22     DISCARDED -3 before s1#3\n"
    "@22     LOST      -21 before s1#3\n"
    "@31     s1#3  SEND    p1 [5,15)\n"
    "@32     s2#0  RECEIVE p2 [5,15)  <- s1#3:10\n"
    "then 12884901855 lost, 12884901882 discarded\n",

    "lost between others: positions say what is missing, and from which stream is unknown\n"
    "STREAM s1, s2, s3 / PATH p1>p2 unix-stream\n"
    "@10     s1#1 SEND    p1 [0,10)\n"
    "@20     LOST 1 before s3#2\n"
    "@20     s3#2 SEND    p1 [20,30)\n"
    "@30     s2#1 RECEIVE p2 [0,30)  <- s1#1:10 ordered, s3#2:10 ordered, 10 unmatched\n"
    "then 1 unmatched-receives, 1 lost\n",

    "a RECEIVE is lost: its SEND is unmatched; the next ones are not shifted\n"
    "STREAM s1, s2 / PATH p1>p2 unix-stream\n"
    "@10     s1#1 SEND    p1 [0,10)\n"
    "@20     s1#2 SEND    p1 [10,20)\n"
    "@30     LOST 1 before s2#2\n"
    "@30     s2#2 RECEIVE p2 [10,20)  <- s1#2:10\n"
    "then 1 unmatched-sends, 1 lost\n",

    "shared with an unmetered process: its bytes are between those of others\n"
    "STREAM s1, s2 / PATH p1>p2 unix-stream\n"
    "@10     s1#1 SEND    p1 [0,10)\n"
    "@20     s1#2 SEND    p1 [20,30)\n"
    "@30     s2#1 RECEIVE p2 [0,30)  <- s1#1:10, s1#2:10, 10 unmatched\n"
    "@3s     s3#1 EXEC\n"
    "then 1 unmatched-receives\n",

    "closed after what is held: a path is closed after all its records, though its RECEIVE waits\n"
    "STREAM s1, s2 / PATH p1>p2 unix-stream\n"
    "@10     s2#1 RECEIVE p2 [0,10)  <- s1#1:10\n"
    "@20     kernel DESTROYPATH p2\n"
    "@30     s3#1 EXEC\n"
    "@40     s1#1 SEND    p1 [0,10)\n"
    "order s3#1 s1#1 s2#1 kernel@20\n",
};

/* After skipped hooks, positions counted by hooks may be wrong; those of TCP come from the kernel. A full ring, the
 * reason of the first LOST, does no harm. */
static void skipped_hooks(void **state)
{
    static const struct {
        const char *path;
        const char *bytes[3];
        const char *kind; /* of the third edge */
    } ways[] = {
        {"tcp 1:4000 to 1:80", {"[0,10)", "[10,20)", "[20,30)"}, "exact"},
        {"unix-stream", {"[0,10)", "[10,20)", "[20,30)"}, "inferred"},
        {"unix-datagram", {"d0:10", "d1:10", "d2:10"}, "inferred"},
        {"pipe", {"[0,10)", "[10,20)", "[20,30)"}, "inferred"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
        FILE *out = history_text_begin();
        fprintf(out, "skipped hooks: %s\nSTREAM s1, s2 / PATH p1>p2 %s\n", ways[i].path,
                ways[i].path);
        for (unsigned n = 0; n < 3; n++) {
            const char *bytes = ways[i].bytes[n], *kind = n < 2 ? "exact" : ways[i].kind;
            fprintf(out, "@%u s1#%u SEND p1 %s\n", 100 * n + 5, n + 1, bytes);
            fprintf(out, "@%u s2#%u RECEIVE p2 %s <- s1#%u:10 %s\n", 100 * n + 6, n + 1, bytes,
                    n + 1, kind);
            fprintf(out, "@%u kernel LOST 4 %s\n", 100 * n + 50, n == 0 ? "ring-full" : "skipped");
        }
        fprintf(out, "then 12 lost\n");
        history_text_end(out);
    }
}

/* Arrivals that are recorded while RECEIVEs wait come out between them, in order of time, at any end. */
static void arrivals_keep_their_place(void **state)
{
    const unsigned rounds = 20;

    (void)state;
    for (unsigned ends = 1; ends <= 4; ends++) {
        FILE *out = history_text_begin();
        fprintf(out, "arrivals: %u ends\n", ends);
        for (unsigned end = 1; end <= ends; end++)
            fprintf(out, "PATH p%u unix-stream to p%u\n", end, 20 + end);
        for (unsigned i = 0; i < rounds; i++) {
            for (unsigned end = 1; end <= ends; end++)
                fprintf(out, "@%u kernel MESSAGEQUEUED p%u [%u,%u)\n", 100 * i + end, end, 10 * i,
                        10 * i + 10);
            for (unsigned end = 1; end <= ends; end++)
                fprintf(out, "@%u s1#%u RECEIVE p%u [%u,%u) <- 10 external\n", 100 * i + 50 + end,
                        i * ends + end, end, 10 * i, 10 * i + 10);
        }
        fprintf(out, "@2s s3#1 EXEC\n@3s kernel MESSAGEQUEUED p1 [%u,%u)\norder", 10 * rounds,
                10 * rounds + 10);
        for (unsigned i = 0; i < rounds; i++) {
            for (unsigned end = 1; end <= ends; end++)
                fprintf(out, " kernel@%u", 100 * i + end);
            for (unsigned end = 1; end <= ends; end++)
                fprintf(out, " s1#%u", i * ends + end);
        }
        fprintf(out, " kernel@3s\nthen %u external\n", rounds * ends);
        history_text_end(out);
    }
}

/* Two recordings of one machine come out in order of time, although one receives long after the other has sent. */
static void one_clock_is_followed(void **state)
{
    const unsigned messages = 200;
    FILE *out = history_text_begin();

    (void)state;
    fprintf(out, "one clock:\nMACHINE B is A\n"
                 "PATH p1 tcp 1:4000 to 1:80 / PATH B.p1 tcp 1:80 to 1:4000\n");
    for (unsigned i = 0; i < messages; i++) {
        fprintf(out, "@%u s1#%u SEND p1 [%u,%u)\n", 10 * i + 10, i, 10 * i, 10 * i + 10);
        fprintf(out, "@%u B.kernel MESSAGEQUEUED p1 [%u,%u)\n", 10 * i + 15, 10 * i, 10 * i + 10);
    }
    for (unsigned i = 0; i < messages; i++)
        fprintf(out, "@%u B.s1#%u RECEIVE p1 [%u,%u) <- s1#%u:10\n", 10 * messages + 20 + i, i,
                10 * i, 10 * i + 10, i);
    fprintf(out, "order");
    for (unsigned i = 0; i < messages; i++)
        fprintf(out, " s1#%u B.kernel@%u", i, 10 * i + 15);
    for (unsigned i = 0; i < messages; i++)
        fprintf(out, " B.s1#%u", i);
    history_text_end(out);
}

/* Addresses were translated on the way, and belong to unknown machines: positions join the ends. */
static void translated(void **state)
{
    FILE *out = history_text_begin();

    (void)state;
    fprintf(out, "translated:\nMACHINE B ahead 9900s\n"
                 "PATH p1 tcp 1:4000 to 77:80 out 500 in 900\n"
                 "PATH B.p1 tcp 2:4000 to 88:80 out 900 in 500\n");
    for (unsigned i = 0; i < 20; i++) {
        unsigned there = 500 + 10 * i, back = 900 + i, request = 2 * i, answer = 2 * i + 1;
        fprintf(out, "@%u s1#%u SEND p1 [%u,%u)\n", 4 * i, request, there, there + 10);
        fprintf(out, "@%u B.s1#%u RECEIVE p1 [%u,%u) <- s1#%u:10\n", 4 * i, request, there,
                there + 10, request);
        fprintf(out, "@%u B.s1#%u SEND p1 [%u,%u)\n", 4 * i + 2, answer, back, back + 1);
        fprintf(out, "@%u s1#%u RECEIVE p1 [%u,%u) <- B.s1#%u:1\n", 4 * i + 3, answer, back,
                back + 1, answer);
    }
    history_text_end(out);
}

/* The same, but the other end is unmonitored. Other messages relate the machines' clocks, so the history knows that
 * it will not come. */
static void not_translated(void **state)
{
    FILE *out = history_text_begin();

    (void)state;
    fprintf(out, "not translated:\nMACHINE B ahead 9900s\n"
                 "PATH p2 tcp 1:70 to 2:71 out 1 / PATH B.p2 tcp 2:71 to 1:70 in 1\n"
                 "@10   s1#1 SEND    p2 [1,11)\n"
                 "@20 B.s1#1 RECEIVE p2 [1,11)     <- s1#1:10\n"
                 "@30 B.s1#2 SEND    p2 [0,10)\n"
                 "@40   s1#2 RECEIVE p2 [0,10)     <- B.s1#2:10\n"
                 "PATH p1 tcp 1:4000 to 77:80 out 500 in 900\n"
                 "@50   s2#1 RECEIVE p1 [900,910)  <- 10 external\n"
                 "@60   s2#2 SEND    p1 [500,510)\n");
    for (unsigned i = 0; i < 200; i++)
        fprintf(out, "@%ums B.s1#%u EXEC\n", 100 * (i + 1), 3 + i);
    fprintf(out, "order s2#1 B.s1#150\nthen 2 external\n");
    history_text_end(out);
}

#define MOST_STREAMS 4096 /* of a direction, and */
#define MOST_RANGES  256  /* as many ranges received before their SENDs are known */

/* What exceeds the limits of a path is forgotten, and counted. */
static void more_than_is_kept(void **state)
{
    (void)state;
    for (unsigned more = 0; more < 3; more++) {
        FILE *out = history_text_begin();
        fprintf(out, "streams: %u too many\nSTREAM s1, s2 / PATH p1>p2 unix-stream\n", more);
        for (unsigned i = 0; i < MOST_STREAMS + more; i++)
            fprintf(out, "@%u s%u#1 SEND p1 [%u,%u)\n", i, 10 + i, i, i + 1);
        fprintf(out, "then %u forgotten-streams, %u unmatched-sends\n", more, MOST_STREAMS + more);
        history_text_end(out);

        out = history_text_begin();
        fprintf(out,
                "ranges: %u too many\nSTREAM s1, s2 / PATH p1>p2 unix-stream\n"
                "@1 s1#1 SENDCALL p1 [0,1000)\n",
                more);
        for (unsigned i = 0; i < MOST_RANGES + more; i++)
            fprintf(out, "@%u s2#%u RECEIVE p2 [%u,%u) <- s1#1:1\n", 2 + i, 1 + i, 2 * i,
                    2 * i + 1);
        fprintf(out, "then %u forgotten-ranges\n", more);
        history_text_end(out);
    }
}

/* Each SEND lies before all others. From the 1,025th after it on one is left out, and the order is uncertain. */
static void far_out_of_order(void **state)
{
    const unsigned sends = 1030;
    FILE *out = history_text_begin();

    (void)state;
    fprintf(out, "far out of order:\nSTREAM s1, s2 / PATH p1>p2 unix-stream\n");
    for (unsigned i = 0; i < sends; i++)
        fprintf(out, "@%u s1#%u SEND p1 [%u,%u)\n", 10 + i, 1 + i, 10 * (sends - i),
                10 * (sends - i) + 10);
    fprintf(out,
            "@%u s2#1 RECEIVE p2 [10,60)        <- 50 unmatched\n"
            "@%u s2#2 RECEIVE p2 [60,70)        <- s1#1025:10 inferred\n"
            "@%u s2#3 RECEIVE p2 [10300,10310)  <- s1#1:10 inferred\n"
            "then 1028 unmatched-sends, 1 unmatched-receives\n",
            10 + sends, 11 + sends, 12 + sends);
    history_text_end(out);
}

static void one_origin_each(void **state)
{
    struct source two = {.origins = 2};
    struct source *sources[1] = {&two};
    struct history *history;
    struct problem problem = {""};

    (void)state;
    assert_int_equal(history_new(sources, 1, &history, &problem), -EINVAL);
    assert_true(problem.text[0] != '\0');
    history_free(NULL);
}

int main(void)
{
    static const struct CMUnitTest made[] = {
        cmocka_unit_test(skipped_hooks),         cmocka_unit_test(arrivals_keep_their_place),
        cmocka_unit_test(one_clock_is_followed), cmocka_unit_test(translated),
        cmocka_unit_test(not_translated),        cmocka_unit_test(more_than_is_kept),
        cmocka_unit_test(far_out_of_order),      cmocka_unit_test(one_origin_each),
    };
    struct CMUnitTest tests[ARRAY_SIZE(made) + ARRAY_SIZE(cases)];

    memcpy(tests, made, sizeof(made));
    history_text_tests(cases, ARRAY_SIZE(cases), &tests[ARRAY_SIZE(made)]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
