/* SPDX-License-Identifier: MIT */
/* base64.c: bytes as text. See base64.h. */
#include "base/base64.h"

#include <errno.h>
#include <string.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_encode(const void *bytes, size_t size, char *text)
{
    const unsigned char *in = bytes;

    for (; size > 0; text += 4) {
        size_t count = size < 3 ? size : 3;
        uint32_t bits = (uint32_t)in[0] << 16;
        if (count > 1)
            bits |= (uint32_t)in[1] << 8;
        if (count > 2)
            bits |= in[2];
        for (unsigned i = 0; i < 4; i++)
            text[i] = i <= count ? digits[bits >> (18 - 6 * i) & 63] : '=';
        in += count;
        size -= count;
    }
    *text = '\0';
}

int64_t base64_decode(const char *text, size_t length, void *bytes)
{
    unsigned char *out = bytes;
    int64_t size = 0;

    if (length % 4 != 0)
        return -EINVAL;
    for (size_t at = 0; at < length; at += 4) {
        unsigned count = 4;
        uint32_t bits = 0;
        while (at + 4 == length && count > 2 && text[at + count - 1] == '=')
            count--;
        for (unsigned i = 0; i < 4; i++) {
            const char *digit =
                i < count && text[at + i] != '\0' ? strchr(digits, text[at + i]) : NULL;
            if (i < count && digit == NULL)
                return -EINVAL;
            bits = bits << 6 | (digit == NULL ? 0 : (uint32_t)(digit - digits));
        }
        for (unsigned i = 0; i + 1 < count; i++)
            out[size++] = (unsigned char)(bits >> (16 - 8 * i));
    }
    return size;
}
