/* SPDX-License-Identifier: MIT */
/* inherited.h: passes inherited settings on unchanged to the programs that dpm starts. Private to launch/. */
#ifndef DPM_INHERITED_H
#define DPM_INHERITED_H

/* Reverts what launch_settle changed, if it was called. Runs in the program's process before exec; allocates
 * nothing. */
void inherited_give_back(void);

#endif
