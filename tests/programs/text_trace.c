/* SPDX-License-Identifier: MIT */
/*
 * text_trace.c: writes a trace of records that a text lists, one a line. It is what `dpm dump` is the other way round,
 * for tests of analyses and displays (tests/stories/story.py makes such texts).
 *
 *      text-trace TRACE WALL-OFFSET < TEXT
 *      text-trace --of TRACE > TEXT            the text of a trace; its first line, a comment, has the WALL-OFFSET
 *
 *      MACHINE time=1000000000 name="web1" addresses="10.0.0.1" cpus=2 meterFlags=0x1fe
 *      STREAM time=1000000000 _stream=1 process=1 pid=100 tid=100 name="server"
 *      PATH time=1000000000 path=1 kind=1 family=2 local=0a000001 ...
 *      SEND time=1002000000 _stream=1 sequence=1 procTime=2000000 path=1 offset=0 bytes=100
 *      LOSE ring=1 count=5
 *      END reason=1
 *
 * The names of types and fields are those of the table in event/event.c; a field that is not given is 0. Identities get
 * the flag RECORD_NO_STREAM by themselves. A field of bytes is hexadecimal, a text is in quotation marks (\" \\ \xHH).
 * LOSE: the meter has lost so many records of a ring so far. Without END the trace ends as if dpm had been killed.
 * WALL-OFFSET: ns to add to the records' times for the wall clock.
 */
#include "trace/trace.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LARGEST_TRACE (1u << 30)

struct writing {
    const char *trace;
    int64_t wall_offset;
    struct trace_writer *writer;
    bool has_ended;
    unsigned line;
};

__attribute__((format(printf, 2, 3), noreturn)) static void give_up(const struct writing *writing,
                                                                    const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    fprintf(stderr, "text-trace: line %u: ", writing->line);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(EXIT_FAILURE);
}

/* ---- values ---- */

static unsigned digit_value(char digit)
{
    return isdigit((unsigned char)digit) ? (unsigned)(digit - '0')
                                         : (unsigned)(tolower(digit) - 'a' + 10);
}

/* Two hexadecimal digits. */
static bool take_byte(const char **at, uint8_t *ret_byte)
{
    if (!isxdigit((unsigned char)(*at)[0]) || !isxdigit((unsigned char)(*at)[1]))
        return false;
    *ret_byte = (uint8_t)(digit_value((*at)[0]) << 4 | digit_value((*at)[1]));
    *at += 2;
    return true;
}

static void take_bytes(struct writing *writing, const char **at, uint8_t *to, size_t size)
{
    for (size_t i = 0; **at != ' ' && **at != '\0'; i++) {
        uint8_t byte;
        if (i == size || !take_byte(at, &byte))
            give_up(writing, "not a field of up to %zu bytes in hexadecimal: %s", size, *at);
        to[i] = byte;
    }
}

static void take_text(struct writing *writing, const char **at, uint8_t *to, size_t size)
{
    size_t length = 0;

    if (*(*at)++ != '"')
        give_up(writing, "a text is in quotation marks");
    while (**at != '"') {
        uint8_t byte = (uint8_t) * (*at)++;
        if (byte == '\0' || length == size)
            give_up(writing, "a text that does not end, or has more than %zu bytes", size);
        if (byte == '\\') {
            byte = (uint8_t) * (*at)++;
            if (byte == 'x' && !take_byte(at, &byte))
                give_up(writing, "\\x has two hexadecimal digits");
        }
        to[length++] = byte;
    }
    (*at)++;
}

static void take_number(struct writing *writing, const char **at, uint8_t *to, size_t size)
{
    bool negative = **at == '-';
    char *end;

    errno = 0;
    uint64_t value = negative ? (uint64_t)strtoll(*at, &end, 0) : strtoull(*at, &end, 0);
    if (end == *at || (*end != ' ' && *end != '\0') || errno != 0)
        give_up(writing, "not a number: %s", *at);
    if (!negative && size < 8 && value >> (8 * size) != 0)
        give_up(writing, "does not fit into %zu bytes: %s", size, *at);
    memcpy(to, &value, size);
    *at = end;
}

/* ---- lines ---- */

static const struct event_field *find_field(const struct event_field *fields, const char *name,
                                            size_t length)
{
    for (; fields->name != NULL; fields++)
        if (strlen(fields->name) == length && memcmp(fields->name, name, length) == 0)
            return fields;
    return NULL;
}

/* name=value */
static void take_field(struct writing *writing, const struct event_type *type, const char **at,
                       uint8_t *record)
{
    size_t length = strcspn(*at, "= ");
    const struct event_field *field = find_field(type->fields, *at, length);

    if (field == NULL)
        field = find_field(event_header_fields, *at, length);
    if (field == NULL || (*at)[length] != '=')
        give_up(writing, "%s has no field: %s", type->name, *at);
    *at += length + 1;
    if (field->kind == FIELD_TEXT)
        take_text(writing, at, record + field->offset, field->size);
    else if (field->kind == FIELD_BYTES)
        take_bytes(writing, at, record + field->offset, field->size);
    else
        take_number(writing, at, record + field->offset, field->size);
}

static void take_record(struct writing *writing, const struct event_type *type, const char *at,
                        uint64_t record[RECORD_SIZE_MOST / 8])
{
    struct record_header *header = (struct record_header *)record;

    memset(record, 0, RECORD_SIZE_MOST);
    header->id = (uint8_t)type->id;
    if (EVENT_IDENTITY_FLAGS >> type->id & 1)
        header->flags = RECORD_NO_STREAM;
    for (;;) {
        at += strspn(at, " ");
        if (*at == '\0')
            return;
        take_field(writing, type, &at, (uint8_t *)record);
    }
}

static void begin(struct writing *writing, const struct machine_record *machine)
{
    struct problem problem;

    if (trace_writer_new_of_past(writing->trace, machine, LARGEST_TRACE, writing->wall_offset,
                                 &writing->writer, &problem) < 0)
        give_up(writing, "%s", problem.text);
}

static void end(struct writing *writing, const struct end_record *record)
{
    struct problem problem;

    if (trace_writer_close(writing->writer, record->reason, &problem) < 0)
        give_up(writing, "%s", problem.text);
    writing->has_ended = true;
}

static void append(struct writing *writing, const struct record_header *header)
{
    struct problem problem;

    if (header->id == EVENT_END)
        end(writing, (const struct end_record *)header);
    else if (trace_writer_append(writing->writer, header, &problem) < 0)
        give_up(writing, "%s", problem.text);
}

/* LOSE ring=1 count=5: read as the fields of a LOST record */
static void lose(struct writing *writing, const char *at)
{
    uint64_t record[RECORD_SIZE_MOST / 8];

    take_record(writing, event_type(EVENT_LOST), at, record);
    const struct record *lost = (const struct record *)record;
    trace_writer_lost(writing->writer, (enum ring_id)lost->lost.ring, lost->lost.count);
}

static void take_line(struct writing *writing, char *line)
{
    uint64_t record[RECORD_SIZE_MOST / 8];
    size_t length = strcspn(line, " ");
    char *rest = line + length + (line[length] != '\0');

    if (writing->has_ended)
        give_up(writing, "comes after END");
    line[length] = '\0';
    if (strcmp(line, "LOSE") == 0 && writing->writer != NULL) {
        lose(writing, rest);
        return;
    }
    const struct event_type *type = event_type_by_name(line);
    if (type == NULL)
        give_up(writing, "not a type of record: %s", line);
    if ((writing->writer == NULL) != (type->id == EVENT_MACHINE))
        give_up(writing, "the first record, and no other, is MACHINE");
    take_record(writing, type, rest, record);
    if (type->id == EVENT_MACHINE)
        begin(writing, (const struct machine_record *)record);
    else
        append(writing, (const struct record_header *)record);
}

/* As kill -9 leaves it: the packet of END, which is END alone, is missing. */
static void kill_recorder(struct writing *writing)
{
    char control[4096];
    struct problem problem;

    if (trace_writer_flush(writing->writer, &problem) < 0 ||
        trace_writer_close(writing->writer, END_COMPLETE, &problem) < 0)
        give_up(writing, "%s", problem.text);
    snprintf(control, sizeof(control), "%s/control", writing->trace);
    FILE *file = fopen(control, "r+");
    if (file == NULL || fseek(file, -(long)TRACE_PAGE_SIZE, SEEK_END) < 0 ||
        ftruncate(fileno(file), ftell(file)) < 0 || fclose(file) != 0)
        give_up(writing, "%s: %s", control, strerror(errno));
}

/* ---- the text of a trace ---- */

static void print_text(const uint8_t *text, size_t size)
{
    putchar('"');
    for (size_t i = 0; i < size && text[i] != '\0'; i++)
        if (isprint(text[i]) && strchr("\"\\", text[i]) == NULL)
            putchar(text[i]);
        else
            printf("\\x%02x", text[i]);
    putchar('"');
}

static void print_field(const struct event_field *field, const uint8_t *record)
{
    static const uint8_t nothing[RECORD_SIZE_MOST];
    const uint8_t *value = record + field->offset;

    if (memcmp(value, nothing, field->size) == 0)
        return;
    printf(" %s=", field->name);
    if (field->kind == FIELD_TEXT)
        print_text(value, field->size);
    else if (field->kind == FIELD_BYTES)
        for (size_t i = 0; i < field->size; i++)
            printf("%02x", value[i]);
    else if (field->kind == FIELD_HEX)
        printf("%#" PRIx64, event_field_value(field, record));
    else {
        uint64_t number = 0;
        memcpy(&number, value, field->size);
        printf("%" PRIu64, number);
    }
}

static void print_record(const struct event *event)
{
    const struct event_type *type = event_type(event->header->id);
    const uint8_t *record = (const uint8_t *)event->header;

    fputs(type->name, stdout);
    for (const struct event_field *field = event_header_fields; field->name != NULL; field++)
        if (strcmp(field->name, "id") != 0)
            print_field(field, record);
    for (const struct event_field *field = type->fields; field->name != NULL; field++)
        print_field(field, record);
    putchar('\n');
}

static int print_trace(const char *path)
{
    struct source *source;
    struct problem problem;
    struct event event;
    uint64_t complete;
    bool first = true;
    int result = trace_open(&path, 1, &source, &problem);

    while (result >= 0 &&
           (result = source->next(source, &event, &complete, &problem)) == SOURCE_RECORD) {
        if (first)
            printf("# wall-offset %" PRId64 "\n", event.wall_offset);
        first = false;
        print_record(&event);
    }
    if (result >= 0) {
        trace_close(source);
        return EXIT_SUCCESS;
    }
    fprintf(stderr, "text-trace: %s\n", problem.text);
    return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    struct writing writing = {0};
    char *line = NULL;
    size_t capacity = 0;

    if (argc == 3 && strcmp(argv[1], "--of") == 0)
        return print_trace(argv[2]);
    if (argc != 3) {
        fputs("usage: text-trace TRACE WALL-OFFSET < TEXT, text-trace --of TRACE > TEXT\n", stderr);
        return 2;
    }
    writing.trace = argv[1];
    writing.wall_offset = strtoll(argv[2], NULL, 10);
    while (getline(&line, &capacity, stdin) > 0) {
        writing.line++;
        line[strcspn(line, "\n")] = '\0';
        if (line[0] != '\0' && line[0] != '#')
            take_line(&writing, line);
    }
    free(line);
    if (writing.writer == NULL)
        give_up(&writing, "no MACHINE");
    if (!writing.has_ended)
        kill_recorder(&writing);
    return EXIT_SUCCESS;
}
