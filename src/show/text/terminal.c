/* SPDX-License-Identifier: MIT */
/* terminal.c: text that fits the terminal. See terminal.h. */
#include "show/text/terminal.h"

#include "show/show.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#define LEAST_WIDTH 40
#define USUAL_WIDTH 80

#define LEAST_TEXT    30 /* least columns for indented text ... */
#define NARROW_INDENT 9  /* ... else it begins on the next line, at this column */

size_t terminal_width(FILE *file)
{
    const char *told = getenv("COLUMNS");
    struct winsize size = {0};
    long width = told == NULL ? 0 : strtol(told, NULL, 10);

    if (fileno(file) < 0 || (width <= 0 && !isatty(fileno(file))))
        return 0;
    if (width <= 0 && ioctl(fileno(file), TIOCGWINSZ, &size) == 0)
        width = size.ws_col;
    if (width <= 0)
        width = USUAL_WIDTH;
    return width < LEAST_WIDTH ? LEAST_WIDTH : (size_t)width;
}

bool show_has_colours(FILE *file)
{
    const char *no_colour = getenv("NO_COLOR"), *kind = getenv("TERM");

    return isatty(fileno(file)) && (no_colour == NULL || *no_colour == '\0') &&
           (kind == NULL || strcmp(kind, "dumb") != 0);
}

/* Columns of the character at `text`, and its bytes. */
static size_t character_width(const char *text, size_t *ret_bytes)
{
    mbstate_t state = {0};
    wchar_t character;
    size_t bytes = mbrtowc(&character, text, MB_CUR_MAX, &state);
    bool known = bytes != (size_t)-1 && bytes != (size_t)-2 && bytes != 0;
    int width = known ? wcwidth(character) : -1;

    *ret_bytes = known ? bytes : 1;
    return width >= 0 ? (size_t)width : *ret_bytes * strlen("\\x00");
}

size_t text_width(const char *text)
{
    size_t width = 0;

    for (size_t bytes; *text != '\0'; text += bytes)
        width += character_width(text, &bytes);
    return width;
}

size_t text_fitting(const char *text, size_t columns, size_t *ret_width)
{
    size_t at = 0, used = 0;

    for (size_t bytes, width; text[at] != '\0'; at += bytes, used += width) {
        width = character_width(text + at, &bytes);
        if (used + width > columns)
            break;
    }
    *ret_width = used;
    return at;
}

/* Where to break a word of which `fit` bytes fit: not within brackets, but before them. */
static size_t break_word(const char *text, size_t fit)
{
    for (size_t at = fit; at > 1; at--) {
        if (text[at - 1] == ']')
            break;
        if (text[at - 1] == '[')
            return at - 1;
    }
    return fit;
}

/* Bytes that fit into one line: up to a blank, or as many as fit if there is none. */
static size_t fitting(const char *text, size_t width)
{
    size_t columns = 0, blank = 0, at = 0;

    for (size_t bytes; text[at] != '\0' && text[at] != '\n'; at += bytes) {
        if (text[at] == ' ' && columns <= width)
            blank = at;
        columns += character_width(text + at, &bytes);
        if (columns > width && text[at] != ' ')
            return blank > 0 ? blank : at > 0 ? break_word(text, at) : bytes;
    }
    return columns > width ? blank : at; /* only blanks exceed the width */
}

char *text_fold(const char *text, size_t width)
{
    char *folded = malloc(2 * strlen(text) + 1); /* enough: folding adds no empty lines */
    char *to = folded;

    while (folded != NULL && *text != '\0') {
        size_t bytes = fitting(text, width);
        memcpy(to, text, bytes);
        to += bytes;
        text += bytes;
        if (*text == '\0')
            break;
        *to++ = '\n';
        text += *text == ' ' || *text == '\n';
    }
    if (folded != NULL)
        *to = '\0';
    return folded;
}

FILE *folding_begin(struct folding *folding, FILE *file)
{
    *folding = (struct folding){.file = file};
    if (terminal_width(file) > 0)
        folding->memory = open_memstream(&folding->text, &folding->size);
    return folding->memory != NULL ? folding->memory : file;
}

void folding_end(struct folding *folding)
{
    char *folded;

    if (folding->memory == NULL)
        return;
    fclose(folding->memory);
    folded = folding->text == NULL ? NULL : text_fold(folding->text, terminal_width(folding->file));
    if (folding->text != NULL)
        fputs(folded != NULL ? folded : folding->text, folding->file);
    free(folding->text);
    free(folded);
}

void show_indented(FILE *file, size_t column, const char *text)
{
    size_t width = terminal_width(file);

    if (width > 0 && width < column + LEAST_TEXT) {
        column = NARROW_INDENT;
        fprintf(file, "\n%*s", (int)column, "");
    }
    char *folded = width == 0 ? NULL : text_fold(text, width - column);
    for (const char *at = folded != NULL ? folded : text;; fprintf(file, "%*s", (int)column, "")) {
        size_t length = strcspn(at, "\n");
        fprintf(file, "%.*s\n", (int)length, at);
        if (at[length] == '\0')
            break;
        at += length + 1;
    }
    free(folded);
}
