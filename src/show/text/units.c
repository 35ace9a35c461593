/* SPDX-License-Identifier: MIT */
/* units.c: numbers with units, and text that is safe to print. See show.h. */
#include "show/show.h"

#include <inttypes.h>
#include <string.h>

/* Three significant digits, or four before the point: "1.50", "23.4", "1023". */
static void three_digits(double value, const char *unit, char text[UNIT_SIZE])
{
    int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;

    snprintf(text, UNIT_SIZE, "%.*f %s", decimals, value, unit);
}

void show_bytes(uint64_t bytes, char text[UNIT_SIZE])
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes / 1024;
    size_t unit = 0;

    if (bytes < 1024) {
        snprintf(text, UNIT_SIZE, "%" PRIu64 " B", bytes);
        return;
    }
    while (value >= 1023.5 && unit + 1 < ARRAY_SIZE(units)) {
        value /= 1024;
        unit++;
    }
    three_digits(value, units[unit], text);
}

void show_duration(uint64_t ns, char text[UNIT_SIZE])
{
    uint64_t seconds = ns / 1000000000 + (ns % 1000000000 >= 500000000);
    uint64_t minutes = seconds / 60;

    if (ns < 1000)
        snprintf(text, UNIT_SIZE, "%" PRIu64 " ns", ns);
    else if (ns < 999500)
        three_digits((double)ns / 1e3, "us", text);
    else if (ns < 999500000)
        three_digits((double)ns / 1e6, "ms", text);
    else if (seconds < 120)
        three_digits((double)ns / 1e9, "s", text);
    else if (minutes < 60)
        snprintf(text, UNIT_SIZE, "%" PRIu64 " min %02" PRIu64 " s", minutes, seconds % 60);
    else
        snprintf(text, UNIT_SIZE, "%" PRIu64 " h %02" PRIu64 " min", (seconds + 30) / 3600,
                 (seconds + 30) / 60 % 60);
}

void show_count(uint64_t count, char text[UNIT_SIZE])
{
    char digits[UNIT_SIZE];
    int length = snprintf(digits, sizeof(digits), "%" PRIu64, count);
    char *to = text;

    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            *to++ = ',';
        *to++ = digits[i];
    }
    *to = '\0';
}

void show_counted(uint64_t count, const char *word, char text[COUNTED_SIZE])
{
    char digits[UNIT_SIZE];
    size_t length = strlen(word);
    bool one = count == 1, reply = word[length - 1] == 'y';
    const char *ending = one ? "" : reply ? "ies" : word[length - 1] == 's' ? "es" : "s";

    show_count(count, digits);
    snprintf(text, COUNTED_SIZE, "%s %.*s%s", digits, (int)(length - (reply && !one)), word,
             ending);
}

static bool continues(unsigned char byte)
{
    return (byte & 0xc0) == 0x80;
}

/* Whether the three bytes are a character that changes the writing direction of the text after it (U+202A to U+202E,
 * U+2066 to U+2069) or ends a line (U+2028, U+2029). In a name, it would change how the rest of a table reads. */
static bool arranges_others(const unsigned char *from)
{
    return from[0] == 0xe2 && ((from[1] == 0x80 && from[2] >= 0xa8 && from[2] <= 0xae) ||
                               (from[1] == 0x81 && from[2] >= 0xa6 && from[2] <= 0xa9));
}

/* Bytes of the UTF-8 character at `from`, which has `size` bytes. 0: not valid UTF-8, or a control character. Overlong
 * forms, surrogates and numbers above U+10FFFF are not valid. */
static size_t character_length(const unsigned char *from, size_t size)
{
    if (from[0] < 0x80)
        return from[0] >= 0x20 && from[0] != 0x7f;
    if (size >= 2 && from[0] >= 0xc2 && from[0] <= 0xdf && continues(from[1]))
        return from[0] == 0xc2 && from[1] < 0xa0 ? 0 : 2; /* U+0080 to U+009F control terminals */
    if (size >= 3 && (from[0] & 0xf0) == 0xe0 && continues(from[1]) && continues(from[2])) {
        bool overlong = from[0] == 0xe0 && from[1] < 0xa0;
        bool surrogate = from[0] == 0xed && from[1] >= 0xa0;
        return overlong || surrogate || arranges_others(from) ? 0 : 3;
    }
    if (size >= 4 && from[0] >= 0xf0 && from[0] <= 0xf4 && continues(from[1]) &&
        continues(from[2]) && continues(from[3])) {
        bool overlong = from[0] == 0xf0 && from[1] < 0x90;
        bool too_large = from[0] == 0xf4 && from[1] >= 0x90;
        return overlong || too_large ? 0 : 4;
    }
    return 0;
}

void show_text(const char *from, size_t size, char *to)
{
    size_t length = strnlen(from, size);

    for (size_t at = 0; at < length;) {
        size_t step = character_length((const unsigned char *)from + at, length - at);
        if (step == 0) {
            *to++ = '?';
            at++;
            continue;
        }
        memcpy(to, from + at, step);
        to += step;
        at += step;
    }
    *to = '\0';
}

char *shell_quote(const char *text, char *to)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./+:,@%=";
    bool quoted = text[0] == '\0' || text[strspn(text, plain)] != '\0';

    if (!quoted)
        return stpcpy(to, text);
    *to++ = '\'';
    for (; *text != '\0'; text++)
        to = *text == '\'' ? stpcpy(to, "'\\''") : stpncpy(to, text, 1);
    return stpcpy(to, "'");
}

void show_frame(const char *text, FILE *file)
{
    for (; *text != '\0'; text++)
        fputc(*text == ';' || *text == ' ' ? '_' : *text, file);
}

void show_process(const char *name, uint32_t pid, char text[PROCESS_NAME_SIZE])
{
    char safe[STREAM_NAME_SIZE + 1];

    show_text(name, STREAM_NAME_SIZE, safe);
    snprintf(text, PROCESS_NAME_SIZE, "%s[%" PRIu32 "]", safe[0] == '\0' ? "unknown" : safe, pid);
}

void show_labelled_process(const char *name, uint32_t pid, const char *label,
                           char text[PROCESS_NAME_SIZE])
{
    char safe[PROCESS_LABEL_SIZE];

    if (label[0] == '\0') {
        show_process(name, pid, text);
        return;
    }
    show_text(label, PROCESS_LABEL_SIZE - 1, safe);
    snprintf(text, PROCESS_NAME_SIZE, "%s[%" PRIu32 "]", safe, pid);
}

void show_placed_process(const char *name, uint32_t pid, const char *label, const char *machine,
                         char text[PLACED_PROCESS_SIZE])
{
    char safe[MACHINE_NAME_SIZE + 1];

    show_labelled_process(name, pid, label, text);
    if (machine[0] == '\0')
        return;
    show_text(machine, MACHINE_NAME_SIZE, safe);
    size_t length = strlen(text);
    snprintf(text + length, PLACED_PROCESS_SIZE - length, "@%s", safe);
}

void show_process_of(const char *name, uint32_t pid, const char *command, bool alike,
                     char text[PROCESS_NAME_SIZE])
{
    char label[PROCESS_LABEL_SIZE] = "";

    if (alike && command != NULL)
        process_label(name, command, label);
    show_labelled_process(name, pid, label, text);
}

/* ---- shares and rates ---- */

double show_share(uint64_t part, uint64_t whole)
{
    return whole == 0 ? 0 : (double)part / (double)whole;
}

double show_rate(uint64_t amount, uint64_t duration)
{
    return duration == 0 ? 0 : (double)amount * 1e9 / (double)duration;
}

void show_frequency(double rate, char text[UNIT_SIZE])
{
    if (rate > 0 && rate < 0.005)
        strcpy(text, "<0.01");
    else if (rate > 0 && rate < 99.95)
        snprintf(text, UNIT_SIZE, rate < 9.995 ? "%.2f" : "%.1f", rate);
    else
        show_count((uint64_t)(rate + 0.5), text);
}

void show_percent(uint64_t part, uint64_t whole, char text[UNIT_SIZE])
{
    double percent = 100 * show_share(part, whole);

    if (part == 0)
        strcpy(text, "0");
    else if (percent < 0.1)
        strcpy(text, "<0.1");
    else
        snprintf(text, UNIT_SIZE, percent < 9.95 ? "%.1f" : "%.0f", percent);
}

double show_tick_step(double least)
{
    double step = 1;

    for (unsigned i = 0; step < least; i++)
        step *= i % 3 == 1 ? 2.5 : 2;
    return step;
}
