/* SPDX-License-Identifier: MIT */
/* host_text.h: numbers and words in files of /proc. Private to host/. */
#ifndef DPM_HOST_TEXT_H
#define DPM_HOST_TEXT_H

#include "event/event.h"

/* Reads a decimal number after blanks. *at moves behind it. NOT_KNOWN: there is none, or it does not fit. */
uint64_t text_number(const char **at);

/* `number` in units of `unit`; NOT_KNOWN if it is, or if the product does not fit. */
uint64_t text_times(uint64_t number, uint64_t unit);

/* The sum; NOT_KNOWN if one of them is. */
uint64_t text_sum(uint64_t number, uint64_t other);

/* The text behind this word at the beginning of a line; NULL: no line begins so. The word must end there. */
const char *text_line(const char *text, const char *word);

/* The number behind that word; NOT_KNOWN: none. */
uint64_t text_value(const char *text, const char *word);

/* The next line; NULL: this was the last. */
const char *text_next_line(const char *text);

#endif
