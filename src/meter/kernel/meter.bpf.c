// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * meter.bpf.c: the kernel meter, with one program per kernel hook. A program is loaded only if an enabled flag needs
 * it, and if the kernel has no better hook (hooks.c, the table of hooks).
 *
 *      state.bpf.h       state of streams and paths; the rings
 *      pc.bpf.h          where in its program a stream is
 *      write.bpf.h       making records
 *      reader.bpf.h      when their reader is woken
 *      path.bpf.h        paths, recorded at their first use (socket_path.bpf.h: the path of a socket;
 *                        descriptor.bpf.h: the path of a descriptor)
 *      call.bpf.h        which stream makes a call, and whether the call failed
 *      udp.bpf.h         UDP datagrams as they leave
 *      udp_inbox.bpf.h   and as they arrive (udp_taken.bpf.h: and are received; udp_socket.bpf.h: their sockets)
 *      unseen.bpf.h      bytes that were received without any hook
 *      send.bpf.h        SEND (tcp_send.bpf.h, unix_send.bpf.h; sent.bpf.h: their common part;
 *                        order.bpf.h: whether sends are counted in the order in which they were queued)
 *      receive.bpf.h     RECEIVE (receive_call.bpf.h: received in pieces; udp_receive.bpf.h)
 *      sys_exit.bpf.h    the same at the end of a call on a pipe (pipe_call.bpf.h, pipe.bpf.h; submit_call.bpf.h:
 *                        by io_submit), or on a message queue (mq_call.bpf.h, mq.bpf.h)
 *      file.bpf.h        READ and WRITE
 *      queue.bpf.h       MESSAGEQUEUED
 *      made_call.bpf.h   sockets made (made.bpf.h: and not used yet)
 *      connection.bpf.h  TCP connections made, refused, accepted, closed; listeners (outcome.bpf.h: how a connect()
 *                        ended)
 *      cpu_wait.bpf.h    SCHEDULE: how long a stream has waited for a CPU
 *      signal.bpf.h      SIGNAL
 *      schedule.bpf.h    SENDCALL, RECEIVECALL, BLOCK, STOPPROCESS, STARTPROCESS, WAKEUP
 *      object.bpf.h      what a BLOCK waited for
 *      process.bpf.h     CREATEPROCESS, EXEC, TERMINATION
 *      library.bpf.h     SENSOR: a place in a library
 *      mpi.bpf.h         messages of MPI (mpi_process.bpf.h: ranks and jobs; mpi_communicator.bpf.h: communicators)
 *      rights.bpf.h      which processes a user may meter
 *      mark.bpf.h        iterators: marking running processes, and the sockets they hold
 *      settle.bpf.h      initial positions of those sockets
 *      survey.bpf.h      iterators: listing live streams and sockets
 *
 * A message has a pair of hooks. The first runs where positions are exact (the socket is locked, or the message is just
 * becoming visible), the second where the call's result is known.
 */
#include "meter/kernel/connection.bpf.h"
#include "meter/kernel/file.bpf.h"
#include "meter/kernel/library.bpf.h"
#include "meter/kernel/mark.bpf.h"
#include "meter/kernel/mpi.bpf.h"
#include "meter/kernel/process.bpf.h"
#include "meter/kernel/queue.bpf.h"
#include "meter/kernel/receive.bpf.h"
#include "meter/kernel/schedule.bpf.h"
#include "meter/kernel/send.bpf.h"
#include "meter/kernel/signal.bpf.h"
#include "meter/kernel/survey.bpf.h"
#include "meter/kernel/sys_exit.bpf.h"
#include "meter/kernel/udp_socket.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";
