// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * meter.bpf.c: the meter: one program per kernel hook. Nothing here is loaded unless a meter
 * flag in force needs it, and the kernel has no better hook (hooks.c, the table of hooks).
 *
 *      state.bpf.h       what is remembered of streams and paths, the rings
 *      pc.bpf.h          where in its program a stream is
 *      write.bpf.h       making records
 *      path.bpf.h        paths, told when they are first used (socket_path.bpf.h: which one a socket
 *                        is; descriptor.bpf.h: or a descriptor)
 *      call.bpf.h        who makes a call, and whether it failed
 *      udp.bpf.h         UDP datagrams as they leave
 *      udp_inbox.bpf.h   and as they come (udp_taken.bpf.h: and are taken; udp_socket.bpf.h: their sockets)
 *      unseen.bpf.h      what was received and no hook told of
 *      send.bpf.h        SEND (tcp_send.bpf.h, unix_send.bpf.h; sent.bpf.h: what they have in common;
 *                        order.bpf.h: in the order in which it was queued?)
 *      receive.bpf.h     RECEIVE (receive_call.bpf.h: taken in pieces; udp_receive.bpf.h)
 *      pipe_call.bpf.h   all of that of pipes (pipe.bpf.h)
 *      queue.bpf.h       MESSAGEQUEUED
 *      connection.bpf.h  the beginning and end of TCP connections
 *      schedule.bpf.h    SENDCALL, RECEIVECALL, BLOCK, STOPPROCESS, STARTPROCESS
 *      process.bpf.h     CREATEPROCESS, EXEC, TERMINATION
 *      mark.bpf.h        iterators: marking processes that run already, and the sockets they hold
 *      settle.bpf.h      from where those count
 *      survey.bpf.h      iterators: who is metered, who is alive
 *
 * A message has a pair of hooks: the first runs where positions are exact (the socket is locked, or
 * the message is just becoming visible), the second where the call's result is known.
 */
#include "meter/kernel/connection.bpf.h"
#include "meter/kernel/mark.bpf.h"
#include "meter/kernel/pipe_call.bpf.h"
#include "meter/kernel/process.bpf.h"
#include "meter/kernel/queue.bpf.h"
#include "meter/kernel/receive.bpf.h"
#include "meter/kernel/schedule.bpf.h"
#include "meter/kernel/send.bpf.h"
#include "meter/kernel/survey.bpf.h"
#include "meter/kernel/udp_socket.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";
