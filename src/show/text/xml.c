/* SPDX-License-Identifier: MIT */
/* xml.c: text in pictures and pages. See xml.h. */
#include "show/text/xml.h"

#include <string.h>

static const char *escaped(char character)
{
    switch (character) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

void xml_text(FILE *file, const char *text)
{
    for (const char *at = text; *at != '\0'; at++) {
        const char *as = escaped(*at);
        if (as != NULL) {
            fputs(as, file);
        } else if (strncmp(at, "\xef\xbf\xbe", 3) == 0 || strncmp(at, "\xef\xbf\xbf", 3) == 0) {
            fputc('?', file);
            at += 2;
        } else {
            fputc(*at, file);
        }
    }
}

void dot_string(FILE *file, const char *text)
{
    fputc('"', file);
    for (const char *at = text; *at != '\0'; at++) {
        if (*at == '\n') {
            fputs("\\n", file);
            continue;
        }
        if (*at == '"' || *at == '\\')
            fputc('\\', file);
        fputc(*at, file);
    }
    fputc('"', file);
}
