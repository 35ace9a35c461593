/* SPDX-License-Identifier: MIT */
/* statistics_face.h: the two faces of the communication statistics. Private to show/. */
#ifndef DPM_STATISTICS_FACE_H
#define DPM_STATISTICS_FACE_H

#include "show/show.h"

int show_statistics_tables(const struct communication *communication, FILE *file,
                           const struct show_options *options);
int show_statistics_json(const struct communication *communication, FILE *file);

#endif
