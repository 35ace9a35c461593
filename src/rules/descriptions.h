/* SPDX-License-Identifier: MIT */
/*
 * descriptions.h: what the raw records of another system look like (thesis, 3.2.3 and figure 3.3; dpm-descriptions(5)).
 *
 *      set timeUnit=ms;
 *      header 0,       machine,0,4,16 traceType,4,4,10 time,8,4,10 procTime,12,4,10;
 *      SENDMESSAGE 1,  fromTask,0,4,16 toTask,4,4,16 channel,8,4,10:channel;
 *                      |        | | |                             '-- what the field means to DPM
 *                      |        | | '-- number base          (without it, the name decides)
 *                      |        | '-- length, bytes
 *                      name     '-- offset in its part
 *
 *      raw record = header, body of the type that the header names
 */
#ifndef DPM_DESCRIPTIONS_H
#define DPM_DESCRIPTIONS_H

#include "base/base.h"

#include <stdio.h>

#define DESCRIPTIONS_MOST       256u  /* types of records */
#define DESCRIPTION_FIELDS_MOST 256u  /* different names of fields */
#define DESCRIPTION_SIZE_MOST   4096u /* bytes of a header or body */

/* What a field means to DPM. */
enum meaning {
    MEANS_NOTHING, /* rules may ask for it; the trace does not have it */
    MEANS_MACHINE,
    MEANS_RECORD_SIZE, /* of the whole raw record, bytes */
    MEANS_TYPE,
    MEANS_TIME,
    MEANS_CPU_TIME,
    MEANS_PROCESS, /* that acts */
    MEANS_FROM,    /* process that sends, or connects */
    MEANS_TO,      /* process that receives, or accepts */
    MEANS_CHANNEL,
    MEANS_SOURCE,      /* socket that sends, or connects */
    MEANS_DESTINATION, /* socket that receives, or accepts */
    MEANS_BYTES,       /* of the message */
    MEANS_PC,
    MEANS_CHILD,  /* process that is created */
    MEANS_STATUS, /* as of wait(2) */
    MEANS_NAME,   /* of the process that acts: a text */
    MEANINGS,
};

#define BASE_TEXT 0 /* description_field.base: a text, ended by NUL or the field's length */

struct description_field {
    const char *name;
    uint16_t offset, length; /* bytes */
    uint8_t base;            /* 2 to 36, or BASE_TEXT */
    bool is_signed;
    uint8_t meaning; /* enum meaning */
    uint16_t index;  /* of its name: equal in all parts */
};

/* The header, or the body of a type. */
struct description {
    const char *name;
    uint64_t number;       /* in the field with MEANS_TYPE */
    unsigned event;        /* enum event_id of what it is to DPM; 0: nothing */
    uint32_t size;         /* bytes, up to the end of its last field */
    uint32_t first, count; /* of its fields */
};

enum described_paths {
    PATHS_MESSAGES, /* a receive takes one message */
    PATHS_BYTES,    /* a stream of bytes, without boundaries */
};

struct descriptions;

/* Parses descriptions. `name` is the file's, for errors: "FILE:2:14: 'x': expected ...". Returns 0, -EINVAL, -E2BIG or
 * -ENOMEM. Free with descriptions_free, which accepts NULL. */
int descriptions_parse(const char *name, const char *text, size_t length,
                       struct descriptions **ret_descriptions, struct problem *problem);

/* Reads them from a file; "-": standard input. */
int descriptions_read(const char *path, struct descriptions **ret_descriptions,
                      struct problem *problem);
void descriptions_free(struct descriptions *descriptions);

/* The field with this meaning in the header or, if it is not there, in the body of a type; NULL: in neither. */
const struct description_field *descriptions_meaning(const struct descriptions *descriptions,
                                                     const struct description *type,
                                                     enum meaning meaning);

const struct description *descriptions_header(const struct descriptions *descriptions);
const struct description *descriptions_find(const struct descriptions *descriptions,
                                            uint64_t number);
const struct description *descriptions_at(const struct descriptions *descriptions, uint32_t index);
uint32_t descriptions_count(const struct descriptions *descriptions);
const struct description_field *descriptions_field(const struct descriptions *descriptions,
                                                   const struct description *part, uint32_t index);

/* A field of any part by its name, ignoring case; NULL: there is none. */
const struct description_field *descriptions_named(const struct descriptions *descriptions,
                                                   const char *name);

/* A type by its name, ignoring case, or by that of the event that it is to DPM; NULL: there is none. */
const struct description *descriptions_type_named(const struct descriptions *descriptions,
                                                  const char *name);

/* ---- settings ---- */

struct described_system {
    const char *name; /* "": not said */
    bool is_big_endian;
    uint64_t time_unit; /* ns; 0: not said */
    uint64_t cpu_unit;
    enum described_paths paths;
};

struct described_system descriptions_system(const struct descriptions *descriptions);

/* Whether traces can be made of such records: there is a time and its unit, no body has the machine, and each type that
 * DPM knows names its process.
 * Returns 0, or -EINVAL with a line in `problem`. */
int descriptions_check(const struct descriptions *descriptions, struct problem *problem);

/* ---- raw records ---- */

/* The number in a field of at most 8 bytes; `part` is where its header or body begins. */
uint64_t description_value(const struct description_field *field, bool is_big_endian,
                           const unsigned char *part);

/* The numbers of a raw record, by the index of their names, for rules. */
struct raw_values {
    uint64_t value[DESCRIPTION_FIELDS_MOST];
    bool has[DESCRIPTION_FIELDS_MOST];
};

/* ---- DPM's own ---- */

/* Writes descriptions of DPM's own records, from the table of events. */
void descriptions_print_own(FILE *file);

#endif
