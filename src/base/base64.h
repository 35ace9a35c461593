/* SPDX-License-Identifier: MIT */
/* base64.h: bytes as text (RFC 4648, with padding), for JSON. */
#ifndef DPM_BASE64_H
#define DPM_BASE64_H

#include "base/base.h"

/* Length of the text for so many bytes, without its NUL. */
#define BASE64_LENGTH(size) (((size) + 2) / 3 * 4)

/* Writes BASE64_LENGTH(size) characters and a NUL. */
void base64_encode(const void *bytes, size_t size, char *text);

/* Decodes the text, in place if `bytes` is `text`. `bytes` has space for length / 4 * 3. Returns how many bytes there are,
 * or -EINVAL: it is not base64. */
int64_t base64_decode(const char *text, size_t length, void *bytes);

#endif
