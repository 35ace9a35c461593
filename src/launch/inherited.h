/* SPDX-License-Identifier: MIT */
/* inherited.h: what a program that dpm starts gets as dpm got it. Private to launch/. */
#ifndef DPM_INHERITED_H
#define DPM_INHERITED_H

/* In the program's process, before its exec: takes back what launch_settle has changed, if it was called. It allocates
 * nothing. */
void inherited_give_back(void);

#endif
