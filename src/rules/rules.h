/* SPDX-License-Identifier: MIT */
/*
 * rules.h: selection rules: the language (dpm-rules(5)), the compiled program, and the verdict on a record.
 *
 *      type=send, process=redis-server, bytes>1K;      a rule: all of its conditions must hold
 *      type=block, duration>10ms, PC=#*;               ... `#`: and the field is discarded
 *
 *      text --rules_parse--> rules --rules_judge--> accepted? by which rule? which fields are discarded?
 *                                  '-rules_stage--> records in, selected records out, with DISCARDED for the rest
 *
 * A record is accepted if any rule accepts it; the first one that does decides which fields are discarded. Without rules
 * everything is accepted. Rules decide about events only: identities, and what a recording says of itself and of the
 * machine, are always kept, since results need them.
 *
 * The program is flat, so that another place can run it: an array of rules, each with a part of an array of conditions.
 * A condition compares a number in the record; or it is a bit of its stream, path or machine, which is found once and kept.
 */
#ifndef DPM_RULES_H
#define DPM_RULES_H

#include "event/event.h"
#include "rules/descriptions.h"

#include <stdio.h>

#define RULES_MOST            4096u /* rules */
#define RULES_CONDITIONS_MOST 64u   /* of one rule */
#define RULES_FACTS_MOST                                                                           \
    256u /* different conditions on streams; the same for paths, and for machines */
#define RULES_TEXT_MOST (1u << 20)

/* Whether rules decide about records of this type. */
static inline bool rules_decide_about(unsigned id)
{
    return event_is_metered(id) || id == EVENT_SENSOR;
}

/* The types that rules decide about (EVENT_FLAG). */
uint64_t rules_types_all(void);

/* ---- the program ---- */

enum rule_operator {
    RULE_ANY, /* `*`: the field is there */
    RULE_EQUAL,
    RULE_UNEQUAL,
    RULE_LESS,
    RULE_GREATER,
    RULE_AT_MOST,
    RULE_AT_LEAST,
};

/* What a condition is about. */
enum rule_place {
    RULE_NEVER,   /* no record has the field */
    RULE_TYPE,    /* the type: decided before the program runs */
    RULE_RECORD,  /* numbers in the record */
    RULE_STREAM,  /* a bit of the record's stream */
    RULE_PATH,    /* a bit of its path */
    RULE_MACHINE, /* a bit of its machine */
    RULE_RAW,     /* a number of the raw record that it was made from (descriptions.h) */
    RULE_PLACES,
};

/* Which records have a field that their type has. */
enum rule_presence {
    RULE_ALWAYS,
    RULE_OF_STREAM, /* those of a stream (record_is_of_stream) */
    RULE_BY_STREAM, /* those that a stream made: not RECORD_NO_STREAM */
    RULE_NONZERO,   /* the same, unless it is 0, which means unknown */
};

/* A number in a record, from its byte `offset` on. */
struct rule_number {
    uint8_t offset;   /* RULE_RAW: index in raw_values */
    uint8_t size;     /* bytes, 1 to 8; 0: there is none */
    uint8_t presence; /* enum rule_presence */
    bool is_signed;
    bool is_span; /* to be multiplied by its unit (message_span) */
};

struct rule_condition {
    uint8_t place;    /* RULE_RECORD, RULE_STREAM, RULE_PATH, RULE_MACHINE, RULE_RAW */
    uint8_t relation; /* RULE_RECORD, RULE_RAW: enum rule_operator */
    uint16_t bit;     /* of the stream, path or machine */
    struct rule_number left, right; /* right.size 0: `value` instead */
    uint64_t value;                 /* signed if `left` is */
};

struct rule {
    uint32_t first, count; /* of its conditions */
    uint64_t types;        /* EVENT_FLAG of those that it may accept */
};

struct rules;
struct selection;

/* Parses rules. `name` is the file's, for errors, which have the line, the column, the text there and what was expected:
 *      r.rules:2:14: 'sned': expected a type of event ...
 * Returns 0, -EINVAL, -E2BIG or -ENOMEM. Free with rules_free, which accepts NULL. */
int rules_parse(const char *name, const char *text, size_t length, struct rules **ret_rules,
                struct problem *problem);

/* Reads them from a file; "-": standard input. */
int rules_read(const char *path, struct rules **ret_rules, struct problem *problem);
void rules_free(struct rules *rules);

/* The same for records that are made from raw ones: rules may name the fields and types of these descriptions, too,
 * which come before DPM's own of the same name. */
int rules_parse_raw(const char *name, const char *text, size_t length,
                    const struct descriptions *descriptions, struct rules **ret_rules,
                    struct problem *problem);
int rules_read_raw(const char *path, const struct descriptions *descriptions,
                   struct rules **ret_rules, struct problem *problem);

uint32_t rules_count(const struct rules *rules);
const struct rule *rules_at(const struct rules *rules, uint32_t rule);
const struct rule_condition *rules_conditions(const struct rules *rules, const struct rule *rule);

/* The fields that the rule discards from records of this type (struct event, absent). */
uint64_t rules_discards(const struct rules *rules, uint32_t rule, unsigned type);

/* Types that some rule may accept (EVENT_FLAG). */
uint64_t rules_types(const struct rules *rules);

/* ---- in words ---- */

/* The rule as it was written, on one line. */
const char *rules_text(const struct rules *rules, uint32_t rule);
unsigned rules_line(const struct rules *rules, uint32_t rule);

/* All of them as one text, which rules_parse takes. The caller frees it. NULL: out of memory. */
char *rules_source(const struct rules *rules);

/* The conditions as they were written: index 0, 1 ...; false after the last. `ret_words` says what it means, and
 * `ret_where` when it is evaluated: both end with a NUL. */
#define RULE_WORDS_SIZE 400
bool rules_explain(const struct rules *rules, uint32_t rule, uint32_t index,
                   char ret_words[RULE_WORDS_SIZE], const char **ret_where);

/* What in the rule is likely not meant so: index 0, 1 ...; false after the last. */
bool rules_note(const struct rules *rules, uint32_t rule, uint32_t index,
                char ret_words[RULE_WORDS_SIZE]);

/* The names of the fields that the rule discards from this type: "procTime, PC"; "": none. */
void rules_discard_words(const struct rules *rules, uint32_t rule, unsigned type,
                         char ret_words[RULE_WORDS_SIZE]);

/* ---- the verdict ---- */

struct rules_judge;

struct rules_verdict {
    bool accepted;
    uint32_t
        rule; /* that accepted it; RULES_NONE: it is none of those that rules decide about, or there are no rules */
    uint64_t absent; /* fields to discard */
};

#define RULES_NONE UINT32_MAX

/* A judge notes identities from the records that it sees: give it all records of its origins, in order. Returns 0 or
 * -ENOMEM. The rules must outlive it. */
int rules_judge_new(const struct rules *rules, struct rules_judge **ret_judge);
void rules_judge_free(struct rules_judge *judge);

/* Judges by other rules from now on. Returns 0, or -ENOMEM: the rules are those from before. */
int rules_judge_change(struct rules_judge *judge, const struct rules *rules);

/* From now on the kernel meter, which has `shared` (meter/shared/kernel_selection.h), makes no records that these rules cannot
 * accept; the judge tells it of streams and paths. To be repeated after rules_judge_change. `machine`: whose records they
 * are. Returns 0, or -ENOMEM: the kernel drops what it has dropped before, and hears no more of streams and paths. */
int rules_judge_select(struct rules_judge *judge, struct selection *shared,
                       const struct machine_record *machine);
/* As rules_stage_raw. */
void rules_judge_raw(struct rules_judge *judge, const struct raw_values *values);

/* Returns 0, or -ENOMEM with a line in `problem`. */
int rules_judge(struct rules_judge *judge, const struct event *event,
                struct rules_verdict *ret_verdict, struct problem *problem);

/* ---- a stage of a recording ---- */

/*
 *      records of one origin --put--> stage --get--> FLAGS, NAMEs of the rules; selected records; DISCARDED
 *
 * What the rules remove is counted by DISCARDED: one of each stream that has lost records, before its next record that
 * is kept, but at most one a second (by the records' times); what is left when the stream ends, and at the end.
 */
struct rules_stage;

struct rules_counts {
    uint64_t selected;   /* events that the rules accepted */
    uint64_t unselected; /* removed ones, by the kernel, too */
    uint64_t reduced;    /* of the selected ones: those that have lost fields */
};

int rules_stage_new(const struct rules *rules, struct rules_stage **ret_stage);
void rules_stage_free(struct rules_stage *stage);

/* The stage's records come from a kernel meter that shares this memory: it makes no records that no rule can accept, once
 * the stage has seen MACHINE. Call it before that. `shared` must outlive the stage. */
void rules_stage_select(struct rules_stage *stage, struct selection *shared);

/* Before a change: from now on the kernel makes all records, until rules_stage_change. So those that it makes after the
 * last record that the old rules judge are judged by the new ones alone. */
void rules_stage_let_all_pass(struct rules_stage *stage);

/* Selects by other rules from now on. Their FLAGS and NAMEs, with this time, come out next. The old rules
 * are not needed any more. Returns 0, or -ENOMEM with a line in `problem`: the rules are those from before. */
int rules_stage_change(struct rules_stage *stage, const struct rules *rules, uint64_t time,
                       struct problem *problem);
/* The numbers of the raw record that the next records are made from; NULL: none. They must stay where they are until
 * these are judged. */
void rules_stage_raw(struct rules_stage *stage, const struct raw_values *values);

/* Puts a record in; then take everything out with rules_stage_get before the next one. Returns 0, or -ENOMEM with a
 * line in `problem`. */
int rules_stage_put(struct rules_stage *stage, const struct event *event, struct problem *problem);

/* No more records: what remains to be counted comes out. */
int rules_stage_end(struct rules_stage *stage, struct problem *problem);

/* The next record; false: there is none now. Valid until the next call. */
bool rules_stage_get(struct rules_stage *stage, struct event *ret_event);

struct rules_counts rules_stage_counts(const struct rules_stage *stage);

#endif
