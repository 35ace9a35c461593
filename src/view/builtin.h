/* SPDX-License-Identifier: MIT */
/* builtin.h: which entities of a file are DPM's own objects. Private to view/. */
#ifndef DPM_VIEW_BUILTIN_H
#define DPM_VIEW_BUILTIN_H

#include "view/view.h"

/* Sets `builtin` of all entities, when the whole file was read. */
void view_find_builtins(struct view_file *file);

#endif
