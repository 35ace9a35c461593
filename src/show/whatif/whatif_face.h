/* SPDX-License-Identifier: MIT */
/* whatif_face.h: words for changes. Private to show/. */
#ifndef DPM_WHATIF_FACE_H
#define DPM_WHATIF_FACE_H

#include "show/show.h"

#define CHANGE_SIZE (8 * PROCESS_NAME_SIZE + 200) /* each ' may take four characters */

/* As an option of `dpm whatif`, for a shell: --replicas 'php-fpm=20'. */
void whatif_option_text(const struct whatif_change *change, char text[CHANGE_SIZE]);

/* A part of one, in per cent without the sign; more than a million of them is a million. */
void whatif_share_text(double part, char text[UNIT_SIZE]);

/* How a sentence begins: "With 20 workers of php-fpm instead of 5". */
void whatif_change_text(const struct whatif_trial *trial, char text[CHANGE_SIZE]);

/* ": requests are few, or vary; ...": bits of enum whatif_why. `of_run`: about an elapsed time. */
void whatif_why_text(unsigned why, bool of_run, FILE *file);

/* "-75%", "x4.00": what is more than doubled is a factor. */
void whatif_factor_text(double from, double to, char text[UNIT_SIZE]);

#endif
