/* SPDX-License-Identifier: MIT */
/*
 * metadata.c: the file `metadata`, which describes a trace's bytes to any CTF 1.8 reader. The text is generated from
 * the table in event.c. Bytes that the table does not name are padding, so that the events in the text are exactly as
 * long as the records:
 *
 *      CREATEPROCESS  32 child  36 thread  40 ........  48
 *                                          unused40[8]
 *
 * Our own reader uses the same table; from the text it takes only the format version and the UUID.
 */
#include "trace/trace_internal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char tracer_line[] = "tracer_name = \"dpm\";";
static const char format_line[] = "trace_format = ";
static const char uuid_line[] = "uuid = \"";

/* ---- making ---- */

static const char beginning[] =
    "/* CTF 1.8 */\n"
    "\n"
    "/* A trace of dpm, in the Common Trace Format: babeltrace2, Trace Compass and `dpm` read it.\n"
    " * The fields stream, path and image are numbers of STREAM, PATH and IMAGE events. */\n"
    "\n";

static const char types[] =
    "typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
    "typealias integer { size = 16; align = 8; signed = false; } := uint16_t;\n"
    "typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
    "typealias integer { size = 48; align = 8; signed = false; } := uint48_t;\n"
    "typealias integer { size = 16; align = 8; signed = true; } := int16_t;\n"
    "typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n"
    "typealias integer { size = 8; align = 8; signed = false; base = 16; } := hex8_t;\n"
    "typealias integer { size = 16; align = 8; signed = false; base = 16; } := hex16_t;\n"
    "typealias integer { size = 32; align = 8; signed = false; base = 16; } := hex32_t;\n"
    "typealias integer { size = 48; align = 8; signed = false; base = 16; } := hex48_t;\n"
    "typealias integer { size = 64; align = 8; signed = false; base = 16; } := hex64_t;\n"
    "typealias integer { size = 8; align = 8; signed = false; encoding = UTF8; } := text_t;\n"
    "typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; }\n"
    "    := monotonic_t;\n"
    "\n";

static const char packet_context[] = "    packet.context := struct {\n"
                                     "        monotonic_t timestamp_begin;\n"
                                     "        monotonic_t timestamp_end;\n"
                                     "        uint64_t content_size; /* bits */\n"
                                     "        uint64_t packet_size; /* bits */\n"
                                     "        uint64_t packet_seq_num;\n"
                                     "        uint64_t events_discarded;\n"
                                     "        uint64_t monotonic; /* two clocks read together */\n"
                                     "        uint64_t real_time;\n"
                                     "    };\n";

static void write_uuid(FILE *file, const uint8_t uuid[TRACE_UUID_SIZE])
{
    for (size_t i = 0; i < TRACE_UUID_SIZE; i++)
        fprintf(file, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
}

/* A host name must not end the string. The MACHINE event has it unchanged. */
static void write_host(FILE *file, const char *host)
{
    for (size_t i = 0; i < MACHINE_NAME_SIZE && host[i] != '\0'; i++) {
        bool plain = host[i] >= ' ' && host[i] <= '~' && host[i] != '"' && host[i] != '\\';
        fputc(plain ? host[i] : '_', file);
    }
}

static void write_environment(FILE *file, const char *host)
{
    fprintf(file, "env {\n    %s\n    %s%d;\n    hostname = \"", tracer_line, format_line,
            TRACE_FORMAT_PLAIN);
    write_host(file, host);
    fprintf(file, "\";\n};\n\n");
}

static void write_clock(FILE *file, uint64_t offset)
{
    fprintf(file,
            "clock {\n"
            "    name = monotonic;\n"
            "    description = \"CLOCK_MONOTONIC; offset: to real time when the trace began\";\n"
            "    freq = 1000000000;\n"
            "    offset = %" PRIu64 ";\n"
            "};\n\n",
            offset);
}

static void write_trace(FILE *file, const uint8_t uuid[TRACE_UUID_SIZE])
{
    fprintf(file, "trace {\n    major = 1;\n    minor = 8;\n    %s", uuid_line);
    write_uuid(file, uuid);
    fprintf(file, "\";\n"
                  "    byte_order = le;\n"
                  "    packet.header := struct {\n"
                  "        uint32_t magic;\n"
                  "        uint8_t uuid[16];\n"
                  "        uint32_t stream_instance_id; /* 0 control, 1 data */\n"
                  "    };\n"
                  "};\n\n");
}

static void write_field(FILE *file, const struct event_field *field)
{
    unsigned bits = field->size * 8u;

    switch (field->kind) {
    case FIELD_UNSIGNED:
    case FIELD_SPAN:
        fprintf(file, "        uint%u_t %s;", bits, field->name);
        break;
    case FIELD_HEX:
        fprintf(file, "        hex%u_t %s;", bits, field->name);
        break;
    case FIELD_SIGNED:
        fprintf(file, "        int%u_t %s;", bits, field->name);
        break;
    case FIELD_TEXT:
        fprintf(file, "        text_t %s[%u];", field->name, field->size);
        break;
    case FIELD_BYTES:
        fprintf(file, "        hex8_t %s[%u];", field->name, field->size);
        break;
    }
    fprintf(file, " /* %s */\n", field->meaning);
}

static void write_padding(FILE *file, unsigned from, unsigned to)
{
    if (from < to)
        fprintf(file, "        uint8_t unused%u[%u];\n", from, to - from);
}

/* Writes the fields that are in bytes `from` to `to` of a record, but those in `absent` (bit N: the field N). */
static void write_fields(FILE *file, const struct event_field *fields, uint64_t absent,
                         unsigned from, unsigned to)
{
    for (const struct event_field *field = fields; field->name != NULL; field++) {
        if (field->offset < from || field->offset >= to || (absent >> (field - fields) & 1))
            continue;
        write_padding(file, from, field->offset);
        write_field(file, field);
        from = field->offset + field->size;
    }
    write_padding(file, from, to);
}

/* CTF's event header is the time and the ID. The other fields that every record has are in the events' context:
 * readers show it, but would ignore further fields of the header. */
static void write_stream(FILE *file)
{
    unsigned context = offsetof(struct record_header, load);

    fprintf(file,
            "stream {\n%s"
            "    event.header := struct {\n"
            "        monotonic_t timestamp;\n"
            "        uint8_t id;\n"
            "    };\n"
            "    event.context := struct {\n",
            packet_context);
    write_fields(file, event_header_fields, 0, context, sizeof(struct record_header));
    fprintf(file, "    };\n};\n\n");
}

static void write_event(FILE *file, const struct event_type *type, unsigned id, uint64_t absent)
{
    fprintf(file, "/* %s */\nevent {\n    name = \"%s\";\n    id = %u;\n    fields := struct {\n",
            type->meaning, type->name, id);
    write_fields(file, type->fields, absent, sizeof(struct record_header), type->size);
    fprintf(file, "    };\n};\n\n");
}

/* Closes a file in memory, whose text goes to the caller. */
static int finish_text(FILE *file, char **text, const size_t *length, char **ret_text,
                       size_t *ret_length)
{
    bool failed = ferror(file) != 0;

    if (fclose(file) != 0 || failed) {
        free(*text);
        return -ENOMEM;
    }
    *ret_text = *text;
    *ret_length = *length;
    return 0;
}

int trace_metadata_make(const uint8_t uuid[TRACE_UUID_SIZE], const char *host,
                        uint64_t clock_offset, char **ret_text, size_t *ret_length)
{
    char *text = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&text, &length);

    if (file == NULL)
        return -ENOMEM;
    fputs(beginning, file);
    write_environment(file, host);
    write_clock(file, clock_offset);
    fputs(types, file);
    write_trace(file, uuid);
    write_stream(file);
    for (unsigned id = 0; id < EVENT_ID_END; id++)
        if (event_type(id) != NULL)
            write_event(file, event_type(id), id, 0);
    return finish_text(file, &text, &length, ret_text, ret_length);
}

int trace_metadata_make_class(unsigned number, unsigned type, uint64_t absent, char **ret_text,
                              size_t *ret_length)
{
    char *text = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&text, &length);

    if (file == NULL)
        return -ENOMEM;
    write_event(file, event_type(type), number, absent >> 8);
    return finish_text(file, &text, &length, ret_text, ret_length);
}

/* ---- reading ---- */

/* The text after `line`, or NULL. */
static const char *find_value(const char *text, size_t length, const char *line)
{
    const char *found = memmem(text, length, line, strlen(line));
    return found == NULL ? NULL : found + strlen(line);
}

void trace_metadata_set_format(char *text, size_t length, unsigned format)
{
    const char *value = find_value(text, length, format_line);

    assert(value != NULL && format < 10);
    text[value - text] = (char)('0' + format);
}

static int hex_digit(char digit)
{
    static const char digits[] = "0123456789abcdef";
    const char *found = digit == '\0' ? NULL : strchr(digits, digit);
    return found == NULL ? -1 : (int)(found - digits);
}

/* `text` is NUL-terminated. Returns 0 or -EINVAL. */
static int parse_uuid(const char *text, uint8_t ret_uuid[TRACE_UUID_SIZE])
{
    uint8_t uuid[TRACE_UUID_SIZE];

    for (size_t i = 0; i < TRACE_UUID_SIZE; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            if (*text++ != '-')
                return -EINVAL;
        int high = hex_digit(text[0]);
        int low = high < 0 ? -1 : hex_digit(text[1]);
        if (low < 0)
            return -EINVAL;
        uuid[i] = (uint8_t)(high << 4 | low);
        text += 2;
    }
    memcpy(ret_uuid, uuid, sizeof(uuid));
    return 0;
}

int trace_metadata_check(const char *text, size_t length, const char *path,
                         uint8_t ret_uuid[TRACE_UUID_SIZE], unsigned *ret_format,
                         struct problem *problem)
{
    const char *format = find_value(text, length, format_line);
    const char *uuid = find_value(text, length, uuid_line);

    if (find_value(text, length, tracer_line) == NULL || format == NULL)
        return problem_set(problem, -EINVAL,
                           "%s/metadata: not a trace of dpm; name a directory that dpm made", path);
    unsigned long version = strtoul(format, NULL, 10);
    if (version < TRACE_FORMAT_LEAST || version > TRACE_FORMAT)
        return problem_set(problem, -EPROTONOSUPPORT,
                           "%s/metadata: the trace has format %lu, this dpm reads formats %d to "
                           "%d; use the dpm that wrote it",
                           path, version, TRACE_FORMAT_LEAST, TRACE_FORMAT);
    *ret_format = (unsigned)version;
    if (uuid == NULL || parse_uuid(uuid, ret_uuid) < 0)
        return problem_set(problem, -EBADMSG,
                           "%s/metadata: the trace's uuid is missing: the file is damaged or was "
                           "cut; restore it from a copy",
                           path);
    return 0;
}

int trace_metadata_load(int directory, const char *path, char **ret_text, size_t *ret_length,
                        uint8_t ret_uuid[TRACE_UUID_SIZE], unsigned *ret_format,
                        struct problem *problem)
{
    uint64_t size;
    int file = trace_file_open(directory, path, "metadata", O_RDONLY, &size, problem);

    if (file < 0)
        return file;
    char *text = NULL;
    int result;
    if (size == 0 || size > TRACE_METADATA_MOST) {
        result = problem_set(problem, -EINVAL,
                             "%s/metadata: has %" PRIu64
                             " bytes: not a trace of dpm; name a directory that dpm made",
                             path, size);
        goto out;
    }
    text = calloc(1, size + 1);
    result = text == NULL ? -ENOMEM : trace_file_read(file, text, size, 0);
    if (result < 0)
        problem_set(problem, result, "%s/metadata: cannot be read: %s", path, strerror(-result));
    else
        result = trace_metadata_check(text, size, path, ret_uuid, ret_format, problem);
out:
    close(file);
    if (result < 0) {
        free(text);
        return result;
    }
    *ret_text = text;
    *ret_length = size;
    return 0;
}

int trace_metadata_read(int directory, const char *path, uint8_t ret_uuid[TRACE_UUID_SIZE],
                        unsigned *ret_format, struct problem *problem)
{
    char *text;
    size_t length;
    int result =
        trace_metadata_load(directory, path, &text, &length, ret_uuid, ret_format, problem);

    if (result == 0)
        free(text);
    return result;
}

/* ---- replacing ---- */

static int write_new(int directory, const char *name, const char *text, size_t length)
{
    int file = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (file < 0)
        return -errno;
    int result = trace_packet_write(file, text, length, 0);
    if (close(file) < 0 && result == 0)
        result = -errno;
    return result;
}

int trace_metadata_replace(int directory, const char *path, const char *text, size_t length,
                           struct problem *problem)
{
    static const char name[] = "metadata.new";

    unlinkat(directory, name, 0); /* of a writer that was killed */
    int result = write_new(directory, name, text, length);
    if (result == 0 && renameat(directory, name, directory, "metadata") < 0)
        result = -errno;
    if (result == 0)
        return 0;
    unlinkat(directory, name, 0);
    return problem_set(problem, result, "%s/metadata: cannot be written: %s", path,
                       strerror(-result));
}
