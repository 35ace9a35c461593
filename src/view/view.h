/* SPDX-License-Identifier: MIT */
/*
 * view.h: the attribute language and the view language of the Issos monitor (Ogle, Schwan, Snodgrass 1993, section
 * III). A user says what to observe in a running program, how correct, and how soon.
 *
 *      ATTRIBUTE DEFINITION FOR OBJECT QueueManager            an object ------ its attributes, C expressions
 *          queuesize: q_size;
 *          AT "enqueue", "dequeue";                        where they may change
 *      END ATTRIBUTE DEF
 *
 *      VIEW DEF Both-Queue-Limits-Exceeded                     a view
 *          (thisqueuesize: QueueManager[1].queueSize)              targets
 *          ACTIVE WHEN (QueueManager[1].queueSize > 24)            predicate -> expressions -> references
 *                  AND (QueueManager[2].queueSize > 24);                                       |
 *          CORRECT TO WITHIN 25 MS;                            entities: QueueManager[1], [2] <'
 *          NOTIFY 119 OF seventh@cis.ohio-state.edu WITHIN 1000 MS;
 *      END VIEW DEF
 *
 * Names and keywords are compared without case. A name may contain '-', so a minus needs blanks around it.
 */
#ifndef DPM_VIEW_H
#define DPM_VIEW_H

#include "base/base.h"

/* ---- syntax trees ---- */

enum view_kind {
    VIEW_NUMBER,
    VIEW_TEXT,
    VIEW_REFERENCE,
    VIEW_NEGATE,
    VIEW_ADD,
    VIEW_SUBTRACT,
    VIEW_MULTIPLY,
    VIEW_DIVIDE,
    VIEW_EQUAL, /* this and all that follow: true or false */
    VIEW_NOT_EQUAL,
    VIEW_GREATER,
    VIEW_GREATER_EQUAL,
    VIEW_LESS,
    VIEW_LESS_EQUAL,
    VIEW_AND,
    VIEW_OR,
};

struct view_expression {
    enum view_kind kind;
    struct view_expression *left, *right; /* VIEW_NEGATE: left only */
    double number;
    const char *text;
    uint32_t reference; /* index into the view's references */
    uint32_t line, column;
};

enum view_index {
    VIEW_ONLY,         /* Object: its only instance */
    VIEW_NUMBER_INDEX, /* Object[2]: instances count from 1; of a process: its Process-Id */
    VIEW_NAME,         /* Object["name"], relationships: Object["from","to"] */
    VIEW_EACH, /* Object[*]: the view has a row for each instance, resolved as instances appear */
};

/* What an object is: a program, or one of DPM's own (figures.h), if the file does not define one of that name. */
enum view_builtin {
    VIEW_PROGRAM,
    VIEW_PROCESS,
    VIEW_PAIR, /* Communicates-With */
    VIEW_MACHINE,
    VIEW_SUBNET,
};

/* An instance of an object, of an entity or of a relationship that a view speaks of. */
struct view_entity {
    const char *object;
    enum view_builtin builtin;
    enum view_index index;
    uint32_t number;
    const char *name, *other; /* other: NULL, or the second one of a relationship */
};

struct view_reference {
    uint32_t entity; /* index into the view's entities */
    const char *attribute;
    uint32_t line, column;
};

struct view_target {
    const char *name;
    struct view_expression *expression;
};

struct view {
    const char *name;
    uint32_t line, column;
    struct view_target *targets;
    size_t target_count;
    struct view_expression *predicate;
    bool has_correct; /* false: simultaneously, which means within the largest network delay */
    uint64_t correct; /* ns */
    bool notifies;    /* false: an active view only updates its entry in the model */
    /* NOTIFY port OF host; or NOTIFY SUBJECT "subject" OF host; or NOTIFY COMMAND "command" */
    uint16_t port;
    const char *host, *subject, *command; /* NULL if not given */
    uint64_t within;                      /* ns */
    struct view_entity *entities;         /* each once */
    size_t entity_count;
    struct view_reference *references; /* each once */
    size_t reference_count;
};

/* One attribute of an object: a C expression over variables of the program. */
struct view_attribute {
    const char *name;
    const char *body;             /* without comments and line ends */
    const char *const *variables; /* names that it reads, each once */
    size_t variable_count;
    uint32_t line, column; /* of the body */
};

/* Where the values of an object's attributes may change. */
struct view_program_place {
    const char *text; /* "enqueue", "queue.c:123", "redis:call_end": see sensor.h */
    uint32_t line, column;
};

struct view_object {
    const char *name;
    struct view_attribute *attributes;
    size_t attribute_count;
    struct view_program_place
        *places; /* AT "enqueue", "dequeue"; none: each store to the variables */
    size_t place_count;
};

struct view_file {
    struct view_object *objects;
    size_t object_count;
    struct view *views;
    size_t view_count;
    struct arena memory; /* of all these */
    char *text;          /* as view_read has read it; NULL: from view_parse */
};

/* Limits: a text that exceeds one is refused. */
#define VIEW_FILE_MOST        (1u << 20)
#define VIEW_LIST_MOST        1024 /* definitions in a file, attributes of an object */
#define VIEW_ENTITIES_MOST    16
#define VIEW_REFERENCES_MOST  64
#define VIEW_EXPRESSIONS_MOST 4096 /* constants, references and operators of a predicate or value */
#define VIEW_NESTING_MOST     100
#define VIEW_NAME_MOST        63 /* bytes */
#define VIEW_PLACES_MOST      16 /* of an object */
#define VIEW_PLACE_MOST       255
#define VIEW_HOST_MOST        255
#define VIEW_COMMAND_MOST     1023 /* bytes of a command or subject that is notified */

/* Parses a text; `name` is its file, for errors: "queue.view:4:9: found 'WHEN', expected ACTIVE". Returns 0, -EINVAL or
 * -ENOMEM, with a line in `problem`. Free with view_file_free, which accepts NULL. */
int view_parse(const char *name, const char *text, size_t size, struct view_file **ret_file,
               struct problem *problem);
int view_read(const char *name, struct view_file **ret_file, struct problem *problem);
void view_file_free(struct view_file *file);

/* Whether two names are the same: without case. */
bool view_same_name(const char *one, const char *other);

/* DPM's own object of this name; VIEW_PROGRAM: there is none. */
enum view_builtin view_builtin_of(const char *name);

/* Whether this attribute of DPM's own object is a text. */
bool view_builtin_is_text(enum view_builtin builtin, const char *attribute);

/* Whether DPM's own object has this attribute; `ret_messages`: it is a figure of messages, which only a meter has. */
bool view_builtin_has(enum view_builtin builtin, const char *attribute, bool *ret_messages);

#define VIEW_ENTITY_SIZE 256

/* "QueueManager[1]" */
void view_entity_text(const struct view_entity *entity, char text[VIEW_ENTITY_SIZE]);

/* Who is notified: "operator@example.org port 119", "subject 'queue.full' of web1", "command 'logger'". */
#define VIEW_RECEIVER_SIZE 1400
void view_receiver_text(const struct view *view, char text[VIEW_RECEIVER_SIZE]);

/* Writes an expression in the language, with all parentheses; parsing the result gives the same tree. Returns what
 * snprintf would. */
int view_expression_text(const struct view *view, const struct view_expression *expression,
                         char *text, size_t size);

/* The constant number `index` (0, 1 ... from the left) of a view's predicate that is a number; NULL: there is none. Who
 * changes it must tell those who evaluate it. */
double *view_constant(const struct view *view, uint32_t index);

/* ---- values ---- */

enum view_value_kind {
    VIEW_UNKNOWN, /* there is no such instance, or nothing has been measured */
    VIEW_IS_NUMBER,
    VIEW_IS_TEXT,
};

struct view_value {
    enum view_value_kind kind;
    double number;
    const char *text; /* its owner says how long it lives */
};

#define VIEW_TEXT_KEPT 128 /* bytes of a text that is kept; longer ones are cut */

struct view_kept {
    enum view_value_kind kind;
    double number;
    char text[VIEW_TEXT_KEPT];
};

/* Keeps a value in place of another. Returns whether it differs. */
bool view_keep(struct view_kept *kept, const struct view_value *value);

enum view_truth {
    VIEW_FALSE,
    VIEW_TRUE,
    VIEW_MAYBE, /* depends on an unknown value */
};

/* A constant with which the predicate compares this reference although it is of another kind than `kind`, a number or a text: they
 * could never be equal, nor one greater. NULL: there is none. */
const struct view_expression *view_mismatch(const struct view *view, uint32_t reference,
                                            enum view_value_kind kind);

/* The value of one of the view's references. */
typedef struct view_value view_look(void *context, uint32_t reference);

/* The value of an arithmetic expression, and the truth of a predicate. A number that is not finite (a division by 0) is
 * unknown. Texts compare without case, and a text with a number is unknown. AND and OR are those of Kleene's logic:
 * FALSE AND unknown is FALSE. */
struct view_value view_evaluate(const struct view_expression *expression, view_look *look,
                                void *context);
enum view_truth view_holds(const struct view_expression *predicate, view_look *look, void *context);

#endif
