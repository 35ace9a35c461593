/* SPDX-License-Identifier: MIT */
/*
 * dump_choice.h: which records `dpm dump` shows. Options of one kind widen the choice, and different kinds narrow it:
 * --process a --process b --type SEND shows the SENDs of a and of b. Private to command/.
 */
#ifndef DPM_DUMP_CHOICE_H
#define DPM_DUMP_CHOICE_H

#include "event/event.h"

struct wanted {
    const char *text;
    bool is_number;
    uint32_t number;
    bool met; /* some record of the trace matched it */
};

struct wanted_list {
    struct wanted *items;
    size_t count;
    size_t capacity;
};

struct dump_choice {
    uint64_t types; /* EVENT_FLAG bits; 0: all */
    struct wanted_list processes;
    struct wanted_list users;
    struct wanted_list containers;
    struct wanted_list paths;
};

/* Each returns 0, -EINVAL or -ENOMEM, with a line in `problem`. `text` must outlive the choice. */
int dump_choice_process(struct dump_choice *choice, const char *text, struct problem *problem);
int dump_choice_user(struct dump_choice *choice, const char *text, struct problem *problem);
int dump_choice_container(struct dump_choice *choice, const char *text, struct problem *problem);
int dump_choice_path(struct dump_choice *choice, const char *text, struct problem *problem);
int dump_choice_types(struct dump_choice *choice, const char *list, struct problem *problem);

/* The words that dump_choice_types accepts, and the kinds that dump_choice_path accepts; NULL after the last. */
const char *dump_choice_type_word(size_t index);
const char *dump_choice_kind_word(size_t index);

/* Call after the last option. -EINVAL if no record can match all options. */
int dump_choice_check(const struct dump_choice *choice, struct problem *problem);

/* Whether to show the record. Call it for every record of the trace, after identities_add. */
bool dump_choice_accepts(struct dump_choice *choice, const struct identities *identities,
                         const struct event *event);

/* Parts of it: whether one of the processes is meant that has this stream, and whether the record is of one of the
 * paths. */
bool dump_choice_accepts_named(struct dump_choice *choice, uint32_t pid,
                               const char name[STREAM_NAME_SIZE], const char *command);
bool dump_choice_accepts_process(struct dump_choice *choice, const struct identities *identities,
                                 uint32_t origin, const struct stream_record *stream);
bool dump_choice_has_path(unsigned id); /* whether records of this type are of a path */
bool dump_choice_accepts_path(struct dump_choice *choice, const struct identities *identities,
                              const struct event *event);

/* Prints on standard error which processes, users, containers and paths matched no record. Returns whether there are
 * any. */
bool dump_choice_say_unmet(const struct dump_choice *choice);

void dump_choice_done(struct dump_choice *choice);

#endif
