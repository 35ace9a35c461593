/* SPDX-License-Identifier: MIT */
/*
 * rules_private.h: shared by the files of this folder only: fields, facts, and what `struct rules` holds.
 *
 *      name --rule_field_find--> field --+-- number in the record                 struct rule_number
 *                                        '-- fact of a stream, path or machine    struct rule_fact, a bit
 */
#ifndef DPM_RULES_PRIVATE_H
#define DPM_RULES_PRIVATE_H

#include "rules/rules.h"

#include "meter/shared/kernel_selection.h"

/* ---- fields ---- */

enum rule_value {
    VALUE_NUMBER,
    VALUE_TYPE,     /* the name or number of a type of event */
    VALUE_TEXT,     /* a pattern, as for glob(7) */
    VALUE_KIND,     /* the name, pattern or number of a kind of paths */
    VALUE_USER,     /* a name or number */
    VALUE_NONE,     /* of a field that no record has: whatever */
    VALUE_RAW_TYPE, /* the name or number of a type of raw records */
};

enum rule_unit { UNIT_NONE, UNIT_TIME, UNIT_BYTES };

/* What is known of a stream, path or machine. */
enum fact {
    FACT_PROCESS,
    FACT_COMMAND,
    FACT_PROGRAM,
    FACT_CONTAINER,
    FACT_USER,
    FACT_PID,
    FACT_TID,
    FACT_KIND,
    FACT_PEER,
    FACT_FILE,
    FACT_PORT, /* of either end */
    FACT_LOCAL_PORT,
    FACT_REMOTE_PORT,
    FACT_MACHINE,
};

struct rule_field {
    const char *name;
    const char *meaning;
    enum rule_place place;
    enum rule_value value;
    enum rule_unit unit;
    unsigned base;             /* of its numbers: 10 or 16 */
    struct rule_number number; /* RULE_RECORD */
    enum fact fact;            /* RULE_STREAM, RULE_PATH, RULE_MACHINE */
    uint64_t types;            /* that may have it */
    bool is_kept;              /* discarding it has no effect: a record cannot do without it */
    const char *identifies;    /* why it may not be discarded; NULL: it may */
    unsigned discards;    /* RULE_RAW: offset of the record's field that goes with it; 0: none */
    uint64_t discards_of; /* ... from these types */
};

/* Ignores case. Returns false if there is no such field. */
bool rule_field_find(const char *name, struct rule_field *ret_field);

/* The same for a number of raw records. */
bool rule_field_raw(const struct descriptions *descriptions, const char *name,
                    struct rule_field *ret_field);

/* The bit of the number at `offset` in `absent` masks of this type; 0: it has none there. */
uint64_t rule_absent_bit(unsigned type, unsigned offset);

/* ---- facts ---- */

struct rule_fact {
    enum fact fact;
    enum rule_operator relation;
    bool is_number;
    bool has_other; /* compared with another fact of the same place */
    enum fact other;
    uint64_t number;
    const char *text;
};

/* Whether it is so; also false if it is not known. */
bool rule_stream_fact(const struct rule_fact *fact, const struct identities *identities,
                      uint32_t origin, const struct stream_record *stream);
bool rule_path_fact(const struct rule_fact *fact, const struct path_record *path);
bool rule_machine_fact(const struct rule_fact *fact, const struct machine_record *machine);

/* Whether that is certain: false if it may still become true, although the stream or path stays what it is. */
bool rule_stream_fact_known(const struct rule_fact *fact, const struct identities *identities,
                            uint32_t origin, const struct stream_record *stream);
bool rule_path_fact_known(const struct rule_fact *fact, const struct path_record *path);

bool rule_compares(enum rule_operator relation, uint64_t left, uint64_t right, bool is_signed);

/* ---- the rules ---- */

/* A condition as it was written. */
struct said {
    struct rule_field field;
    enum rule_operator relation;
    bool discards;
    const char *value; /* as written, without quotes */
    bool is_number;
    uint64_t number; /* what it means */
    bool has_other;
    struct rule_field other; /* has_other: the value is this field */
};

struct rule_about {
    const char *text;
    unsigned line;
    uint32_t first, count; /* of what is said */
};

struct rules {
    struct arena texts;
    struct rule *rules;
    struct rule_about *about;
    uint64_t (*absent)[EVENT_ID_END]; /* by rule, for each type */
    struct rule_condition *conditions;
    struct said *said;
    struct rule_fact *facts[RULE_PLACES];
    uint32_t count, condition_count, said_count, fact_counts[RULE_PLACES];
    size_t rule_capacity, about_capacity, absent_capacity, condition_capacity, said_capacity,
        fact_capacity[RULE_PLACES];
    uint32_t *by_type[EVENT_ID_END]; /* rules that may accept the type, in order */
    uint32_t by_type_count[EVENT_ID_END];
};

/* ---- the kernel's part, rules_selection.c ---- */

/* Whether the kernel meter evaluates the condition; the filter evaluates all. */
bool rules_in_kernel(const struct rule_condition *condition);

struct rules_selection;

/* Puts rules in force in the kernel, for records of this machine. No rules: everything is let through. `shared` must
 * outlive it. Returns 0 or -ENOMEM. */
int rules_selection_new(const struct rules *rules, struct selection *shared,
                        const struct machine_record *machine,
                        struct rules_selection **ret_selection);

/* The rules stay in force. NULL is allowed. */
void rules_selection_free(struct rules_selection *selection);

/* A record has come, which `identities` have noted: the kernel learns what its stream and its path are. */
void rules_selection_note(struct rules_selection *selection, const struct identities *identities,
                          const struct event *event);

/* What was known of streams is not certain any more. */
void rules_selection_names_change(struct rules_selection *selection);

/* Makes the program of what is said, once all is parsed. Returns 0, -ENOMEM, or -E2BIG with a line in `problem`. */
int rules_compile(struct rules *rules, struct problem *problem);

#endif
