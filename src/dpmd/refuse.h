/* SPDX-License-Identifier: MIT */
/*
 * refuse.h: the end of a connection that the main process must not wait for. Private to dpmd.
 *
 * What a peer has sent may carry descriptors, and closing the last one of a socket can take as long as its owner likes
 * (SO_LINGER). A timer cuts that short.
 */
#ifndef DPM_REFUSE_H
#define DPM_REFUSE_H

/* Prepares for the following; once. Returns 0 or a negative errno. */
int refuse_prepare(void);

/* Refuses a session: whatever the peer has asked or is about to ask, this is the answer. */
void refuse(int connection, int error, const char *text);

/* Closes a connection within a fraction of a second. */
void refuse_close(int connection);

#endif
