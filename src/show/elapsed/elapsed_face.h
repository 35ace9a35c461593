/* SPDX-License-Identifier: MIT */
/* elapsed_face.h: where the elapsed time went, in words. Used by the report, too. */
#ifndef DPM_ELAPSED_FACE_H
#define DPM_ELAPSED_FACE_H

#include "analysis/elapsed/elapsed.h"
#include "show/show.h"

#define ELAPSED_TEXT_SIZE 400

/* What a row stands for besides its process: "in compress (libz.so.1)", "fdatasync in fsync_fname", "to 10.0.0.1:80". */
void elapsed_what(const struct elapsed_row *row, char text[ELAPSED_TEXT_SIZE]);

#endif
