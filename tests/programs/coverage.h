/* SPDX-License-Identifier: MIT */
/* coverage.h: shared by the parts of the coverage program. See coverage.c. */
#ifndef DPM_COVERAGE_H
#define DPM_COVERAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { SENDER = 0, RECEIVER = 1 };

/* Logs an operation on a socket: "SEND 4711 100". */
void note(const char *operation, int socket, long bytes);

/* Logs that a socket of a kind that is not recorded was used. */
void note_other(const char *kind);

/* Logs a system call that had to wait. */
void note_wait(const char *operation, long call);

/* Logs the result of a call, which must be the expected one; otherwise ends the program. */
void sent(int socket, ssize_t result, ssize_t expected);
void received(int socket, ssize_t result, ssize_t expected); /* 0: the end of file */

/* Ends the program, with the source line, unless `truth`. */
#define must(truth) must_hold((truth), __FILE__, __LINE__, #truth)
void must_hold(bool truth, const char *file, int line, const char *text);

/* Runs `work` in another process, once this one waits for something; wait_for_child() waits until it ends without an
 * error. */
void in_child(void (*work)(const int *pair), const int *pair);
void wait_for_child(void);

void nap(void); /* 50 ms */

/* In such a process: naps until its parent waits, however late that gets a processor. */
void let_parent_wait(void);

/* A connected pair of the kind named on the command line. */
extern int domain, type; /* of its sockets */
extern bool is_tcp;

extern char buffer[1 << 20];

/* coverage_uring.c: `how` is plain, poll, async or sqpoll. Returns 77 if io_uring is unavailable. */
int through_uring(const char *how, const int *pair);
int splice_through_uring(const char *how, const int *pair);
int pipe_through_uring(const int *pair);

/* coverage_message.c */
int message_empty(const int *pair);
int message_peek(const int *pair);
int message_cut(const int *pair);
int message_splice(const int *pair);
int message_splice_out(const int *pair);
int udp_more(const int *pair);
int udp_splice_pieces(const int *pair);
int unix_splice_pieces(const int *pair);
int udp_segments(const int *pair);
int udp_zero_copy(const int *pair);
int udp_refused(const int *pair);

/* coverage_other.c */
int other_sockets(const int *pair);
int mptcp_refused(const int *pair);

/* coverage_wait.c */
int wait_for_any(const int *pair);
int wait_for_new(const int *pair);
int wait_for_time(const int *pair);

/* coverage_pipe.c: pair[SENDER] is written, pair[RECEIVER] read. */
void make_pipe(bool named, int pair[2]);
int pipe_calls(const int *pair);
int pipe_ask_nothing(const int *pair);
int pipe_splice(const int *pair);
int pipe_would_block(const int *pair);
int pipe_blocked(const int *pair);
int pipe_packets(const int *pair);

#endif
