/* SPDX-License-Identifier: MIT */
/* statistics_words.h: texts for processes, parties and amounts in the statistics tables. Private to show/. */
#ifndef DPM_STATISTICS_WORDS_H
#define DPM_STATISTICS_WORDS_H

#include "show/show.h"

#define LARGEST 100 /* rows of a table, unless all are requested */
#define NAMED   3   /* named processes of a group */

#define MACHINE_TEXT_SIZE sizeof(((struct communication_machine *)0)->name)
#define NAME_TEXT_SIZE    (NAME_SIZE + 1)
#define PROCESS_TEXT_SIZE (NAME_TEXT_SIZE + MACHINE_TEXT_SIZE + 32)
#define PARTY_TEXT_SIZE   (NAMED * PROCESS_TEXT_SIZE + ENDPOINT_SIZE)

#define END_TEXT_SIZE (PARTY_TEXT_SIZE + ENDPOINT_SIZE)

void machine_text(const struct communication *communication, uint32_t machine,
                  char text[MACHINE_TEXT_SIZE]);

void name_text(const struct communication_process *process, char text[NAME_TEXT_SIZE]);

/* "name[pid]"; for a group "name"; with several machines "name[pid]@machine". */
void process_text(const struct communication *communication, uint32_t index,
                  char text[PROCESS_TEXT_SIZE]);

/* "a[1]", "a[1], b[2], c[3] and 5 others", or the address; "-" if neither is known. */
void party_text(const struct communication *communication, const struct party *party,
                char text[PARTY_TEXT_SIZE]);

/* The processes that used an end of a connection, and its address. */
void end_text(const struct communication *communication, const struct party *party,
              const char *address, char text[END_TEXT_SIZE]);

#define LEFT_OUT_TEXT_SIZE (2 * METER_FLAGS_TEXT_SIZE)

/* "send, receive, tcp": event types and connection types; "" if there are none. */
void left_out_text(uint64_t flags, uint32_t kinds, char text[LEFT_OUT_TEXT_SIZE]);

void others_text(size_t count, char text[UNIT_SIZE]);

/* A table's heading; bold on a terminal. */
void print_title(FILE *file, const char *title);

/* "(WORDS: COMMAND TRACES)". If the terminal is too narrow, the command gets an unbroken line of its own, so that it
 * can be copied. Nothing if `traces` is NULL: there is no trace. */
void print_where_more_is(FILE *file, const char *words, const char *command, const char *traces);

#endif
