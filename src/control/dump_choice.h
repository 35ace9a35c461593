/* SPDX-License-Identifier: MIT */
/*
 * dump_choice.h: which records `dpm dump` shows. Options of one kind unite, kinds restrict each
 * other: --process a --process b --type SEND shows the SENDs of a and of b. Private to control/.
 */
#ifndef DPM_DUMP_CHOICE_H
#define DPM_DUMP_CHOICE_H

#include "event/event.h"

struct wanted {
    const char *text;
    bool is_number;
    uint32_t number;
    bool met; /* something of the trace has matched it */
};

struct wanted_list {
    struct wanted *items;
    size_t count;
    size_t capacity;
};

struct dump_choice {
    uint32_t types; /* EVENT_FLAG bits, 0: all */
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

/* The words that dump_choice_types knows, and the kinds among those of dump_choice_path; NULL behind
 * the last. */
const char *dump_choice_type_word(size_t index);
const char *dump_choice_kind_word(size_t index);

/* After the last option: -EINVAL if no record of any trace can satisfy all of them. */
int dump_choice_check(const struct dump_choice *choice, struct problem *problem);

/* Whether to show the record. Every record of the trace has to be asked about, after
 * identities_add. */
bool dump_choice_accepts(struct dump_choice *choice, const struct identities *identities,
                         const struct event *event);

/* Says on standard error which process, user, container or path that was asked for was never met. Returns whether there
 * is any. */
bool dump_choice_say_unmet(const struct dump_choice *choice);

void dump_choice_done(struct dump_choice *choice);

#endif
