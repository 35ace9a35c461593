/* SPDX-License-Identifier: MIT */
/*
 * causality_private.h: the state of the causality analysis while events come. Private to causality/.
 *
 *      SEND by a stream on an end      -- causality_sending.c --> to which step does it belong?
 *                                             | kept with the SEND (struct sent_value)
 *      RECEIVE by a stream on an end   <------'   causality_receiving.c --> a new step
 *
 *      request  o---step A---step B---step A      causality_requests.c: trees that may still grow
 *                     '---step C                  causality_strings.c: their letters, with counts
 */
#ifndef DPM_CAUSALITY_PRIVATE_H
#define DPM_CAUSALITY_PRIVATE_H

#include "analysis/causality/causality.h"
#include "base/lookup.h"
#include "meter/shared/message.h"

#define CACHE_LINE 64 /* bytes that the processor fetches from memory at a time */

/* ---- strings ---- */

#define LETTER_OTHERS    UINT16_MAX
#define LETTER_REQUESTOR (UINT16_MAX - 1) /* which has none */
#define LETTER_NOBODY    (UINT16_MAX - 2) /* from whom has received who sends by itself */
#define STRING_WHOLE     0u               /* the empty string: roots of trees begin behind it ... */
#define STRING_CUT       1u               /* ... what lacks its beginning behind this one ... */
#define STRING_NOBODY    2u               /* ... and what a server process sends by itself here */
#define STRING_ROOTS     3u
#define STRING_BITS      17u /* of an index */
#define STRINGS_MOST     (1u << STRING_BITS)
#define LATENCIES_MOST   65536u /* strings with a distribution of their own */
#define PAIRS            4096u  /* of letters whose string is remembered, at most */

/* A prefix of strings that have occurred: its own letter behind those of its parent. */
struct string {
    uint32_t parent;
    uint32_t followed; /* string that followed last ... */
    uint32_t
        shorter; /* of one that is full: its last letters but one, behind STRING_CUT; 0: not looked up */
    uint16_t followed_letter; /* ... and its letter */
    uint16_t letter;
    uint8_t depth;          /* letters */
    bool cut;               /* letters before it are not known */
    bool of_nobody;         /* behind STRING_NOBODY */
    uint64_t child_letters; /* bit of each child's letter, modulo 64 */
    uint64_t arrivals;      /* steps of this string: occurrences of it and what it ends with */
    uint64_t leaves;
    uint64_t replies;          /* to requestors by such steps */
    struct histogram *latency; /* of leaves; NULL: none yet */
} __attribute__((aligned(CACHE_LINE)));

struct strings {
    struct string *at; /* [STRINGS_MOST] */
    uint32_t count;
    uint32_t latency_count;
    uint32_t
        *children; /* [child_slots] by hash of parent and letter: 15 bits of it, and the index */
    uint32_t child_slots;
    uint64_t others; /* that found no room */
    struct {
        uint16_t letters[2];
        uint32_t string;
    } pairs[PAIRS]; /* behind STRING_CUT, by a hash of them */
};

int strings_init(struct strings *strings);
void strings_done(struct strings *strings);

/* The string with one more letter. Of what is too long the last letters go on behind STRING_CUT,
 * where the oldest falls out for each new one: like that no substring is missed. Returns its index
 * or -ENOMEM. */
int64_t strings_extend(struct strings *strings, uint32_t string, uint16_t letter);

/* Counts a leaf that ended after so many ns, or TIME_UNKNOWN. Returns 0 or -ENOMEM. */
int strings_add_leaf(struct strings *strings, uint32_t string, uint64_t latency);

/* Writes the last `most` letters, the first first; returns how many these are. */
unsigned strings_letters(const struct strings *strings, uint32_t string, unsigned most,
                         uint16_t *letters);

/* ---- steps and requests ---- */

/* The life of an object in a pool: it is free for others, and references to it are void, when it
 * has ended. */
struct reference {
    uint32_t index_and_1; /* 0: nothing */
    uint32_t life;
};

/* A message received by a server process, and what it does until it receives the next. */
struct step {
    uint32_t life;
    uint32_t string;
    uint32_t request;       /* index */
    uint32_t next_and_1;    /* of the request, in order */
    struct reference entry; /* end by which the process got the request */
    uint64_t when;          /* it was received, ns, its origin's clock */
    uint64_t last;          /* it last sent */
    uint32_t origin;
    bool has_children;
} __attribute__((aligned(CACHE_LINE)));

#define STEPS_MOST  4096u  /* of one request; of more the oldest are let go ... */
#define STEPS_FEW   64u    /* ... down to so few, while what requests have above that ... */
#define STEPS_ABOVE 8192u  /* ... is more than this, all of them together */
#define PASSED_MOST 16384u /* requests that are over, and may still go on */

struct request {
    uint32_t first_and_1, last_and_1; /* steps */
    uint32_t step_count;
    uint32_t next_and_1; /* of those that are over */
    uint32_t origin;
    uint64_t begun;
    uint32_t requestor; /* member + 1; 0: not metered ... */
    uint32_t path;      /* ... then by this path */
    bool over;
    bool cut;
    bool
        is_chain; /* no request: what server processes send by themselves, or after what is unknown */
};

/* ---- who takes part ---- */

/* A process that has sent or received, and is remembered to the end. */
struct member {
    uint32_t origin;
    uint32_t pid;
    char name[STREAM_NAME_SIZE];
    enum causality_role role;
    uint16_t letter;
    uint64_t requests;
};

#define MEMBERS_MOST 65536u
#define NO_MEMBER    (UINT32_MAX - 1)

/* A live process. */
struct causality_live_process {
    uint32_t life;
    uint32_t index; /* of itself, as in the next two */
    uint32_t origin;
    uint32_t number;
    bool known;      /* has sent or received */
    bool ended;      /* its last stream has, as that has told */
    uint32_t member; /* or NO_MEMBER: it is not known, or there are too many */
    uint32_t streams;
    uint32_t open; /* requests that came by its ends and have no answer yet */
    uint16_t letter;
    enum causality_role role;
};

/* What a stream was in before, for calls of which only the end is told: of each stream twice as many as one was
 * looked back for, at least PAST_STEPS, if there is room for them; of other streams few. */
#define PAST_STEPS       256u
#define PAST_STEPS_FEW   32u
#define PAST_STEPS_MOST  4096u        /* of one stream */
#define PAST_STEPS_TOTAL (128u << 10) /* of all streams together */

/* Requests that were open then, in its process and in its stream: of more than 2 that is enough to know. */
#define PAST_OPEN_MOST 3u

struct past_step {
    uint64_t since : 60; /* ns, its clock */
    uint64_t process_open : 2;
    uint64_t stream_open : 2;
    struct reference step;
};

struct causality_stream {
    uint32_t life;
    uint32_t index;
    uint32_t origin;
    uint32_t number;
    uint32_t process;         /* index */
    uint32_t open;            /* of these requests, those that it received */
    struct reference current; /* step */
    struct past_step *past;   /* [past_capacity], a ring; the last is at past_count - 1 */
    uint32_t past_capacity;
    uint32_t past_count;        /* so far ... */
    uint32_t past_kept;         /* ... and the latest of them, in the ring */
    struct reference inherited; /* step of its creator, until it sends or receives */
};

enum side { SIDE_UNKNOWN, SIDE_CALLS, SIDE_SERVES };
enum turn { TURN_NONE, TURN_SENT, TURN_RECEIVED };

struct causality_end {
    uint32_t life;
    uint32_t index;
    uint32_t origin;
    uint32_t number;
    uint8_t side; /* enum side */
    uint8_t turn; /* what was last done here */
    bool is_bytes;
    bool is_pipe;
    bool older; /* than the recording */
    bool from_requestor;
    bool connecting;     /* `forwarded` is of the CONNECT, nothing was sent yet */
    uint8_t attribution; /* of `forwarded`, then */
    uint32_t in_call;    /* stream + 1 that is in a send of which a SENDCALL told */
    uint64_t sent;       /* the message sent last */
    uint64_t received;   /* the message received last */
    uint8_t sent_attribution;
    struct reference answer; /* step that what was sent last belongs to */
    struct reference in;     /* step that what was received last began */
    /* a request that came by here and has no answer yet */
    bool open;
    uint32_t overlap;           /* others before it, without an answer */
    struct reference entry;     /* its step here */
    struct reference latest;    /* the latest step of the process for it */
    struct reference stream;    /* that received it */
    struct reference forwarded; /* step whose request was sent from here to who serves */
};

/* ---- what travels from SEND to RECEIVE ---- */

enum sent_kind { SENT_UNKNOWN, SENT_REQUEST, SENT_STEP, SENT_SYSTEM };

struct sent_value {
    uint64_t message; /* the same of all that is one message */
    struct reference step;
    uint32_t member; /* who made a request */
    uint8_t kind;
    uint8_t attribution;
};

/* ---- all of it ---- */

/* The index + 1 that something had here when it last had this place in the history. */
struct places {
    uint32_t *at; /* [capacity] */
    size_t capacity;
};

/* Times of the first and the last record of an origin. */
struct causality_extent {
    uint64_t first, last;
};

struct slow_request {
    struct causality_request request;
    struct causality_step *steps;
    uint16_t *letters; /* of each step, and of who sent to it */
    uint32_t string;
    uint32_t requestor;
    char address[ENDPOINT_SIZE];
};

struct causality_analysis {
    struct causality_options options;
    struct history *history;
    size_t value; /* where its bytes begin in what the history keeps with events */
    struct strings strings;
    struct pool processes, streams, ends, steps, requests;
    struct lookup process_numbers, stream_numbers, end_numbers;
    struct places stream_places, end_places;
    struct lookup program_letters; /* hash of a name: letter */
    struct member *members;
    size_t member_capacity;
    uint32_t member_count;
    uint32_t letter_count;
    uint32_t passed_first_and_1, passed_last_and_1; /* requests that are over */
    uint32_t passed_count;
    uint32_t steps_above; /* STEPS_FEW, of all requests */
    uint64_t messages;    /* numbers given */
    uint32_t past_steps;  /* that streams have room for */
    struct slow_request *slow;
    uint32_t slow_count;
    struct causality_extent *extents; /* by origin */
    size_t extent_capacity;
    uint32_t extent_count;
    struct causality sums; /* only the counts */
};

/* What was kept with an event, of its value or that of an edge; NULL: nothing. All zero of events of other types. */
static inline struct sent_value *causality_value(const struct causality_analysis *analysis,
                                                 const void *value)
{
    return history_value_at(value, analysis->value);
}

/* What an event speaks of. `end` is NULL if its path is not known. */
struct causality_event {
    const struct history_event *event;
    const struct record *record;
    struct causality_stream *stream;
    struct causality_live_process *process;
    struct causality_end *end;
};

static inline bool same_reference(struct reference a, struct reference b)
{
    return a.index_and_1 == b.index_and_1 && a.life == b.life;
}

/* ---- causality_requests.c ---- */

/* The object, or NULL if there is none any more. */
static inline struct step *step_of(const struct causality_analysis *analysis,
                                   struct reference reference)
{
    if (reference.index_and_1 == 0)
        return NULL;
    struct step *step = pool_at(&analysis->steps, reference.index_and_1 - 1);
    return step->life == reference.life ? step : NULL;
}

static inline struct causality_end *end_of(const struct causality_analysis *analysis,
                                           struct reference reference)
{
    if (reference.index_and_1 == 0)
        return NULL;
    struct causality_end *end = pool_at(&analysis->ends, reference.index_and_1 - 1);
    return end->life == reference.life ? end : NULL;
}

/* A request begins, or goes on from a step, in the process of the event. Returns 0 with the new
 * step, or -ENOMEM. */
int requests_begin(struct causality_analysis *analysis, const struct causality_event *at,
                   uint32_t requestor, struct reference *ret_step);
int requests_continue(struct causality_analysis *analysis, const struct causality_event *at,
                      struct reference from, struct reference *ret_step);

/* What is of no request begins behind this root of strings, STRING_CUT or STRING_NOBODY. It may be
 * forgotten as soon as requests that are over. Returns 0 with its step, or -ENOMEM. */
int requests_begin_chain(struct causality_analysis *analysis, const struct causality_event *at,
                         uint32_t root, struct reference *ret_step);

/* Whether a living step is of a request, and of no chain. */
bool requests_has_request(const struct causality_analysis *analysis, const struct step *step);

/* The request will get no more by where it came from. */
int requests_pass(struct causality_analysis *analysis, struct reference step);

/* Counts all that are left. */
int requests_finish(struct causality_analysis *analysis);

/* ---- causality_parties.c ---- */

/* Finds the stream, its process, and the end of the path, as far as they are known. Returns 0 or
 * -ENOMEM. */
int parties_find(struct causality_analysis *analysis, const struct history_event *event,
                 struct causality_event *ret_at);
int parties_forget_end(struct causality_analysis *analysis, uint32_t origin, uint32_t path);
void parties_forget_stream(struct causality_analysis *analysis, uint32_t origin, uint32_t number,
                           bool last);

/* A STREAM record: what is known of a process has changed. Returns 0 or -ENOMEM. */
int parties_renamed(struct causality_analysis *analysis, const struct history_event *event);

/* It has been called, or calls: what it is by that. Returns 0 or -ENOMEM. */
int parties_take_part(struct causality_analysis *analysis, const struct causality_event *at);
int parties_become_server(struct causality_analysis *analysis,
                          struct causality_live_process *process);

/* A request is open at this end now, or not any more. */
void parties_open(struct causality_analysis *analysis, const struct causality_event *at,
                  struct reference step);
void parties_close(struct causality_analysis *analysis, struct causality_end *end);

/* ---- causality_sending.c, causality_receiving.c ---- */

/* The stream is in this step from now on. */
void causality_enter(struct causality_analysis *analysis, const struct causality_event *at,
                     struct reference step);

/* Whether a SEND is more of what was sent there before, of the same step. */
bool causality_is_same_message(const struct causality_analysis *analysis,
                               const struct causality_event *at, struct reference step);

/* How sure it is that a step is what made the stream send now. */
enum attribution causality_attribute(const struct causality_analysis *analysis,
                                     const struct causality_event *at, const struct step *step);

int causality_sent(struct causality_analysis *analysis, struct causality_event *at);
int causality_received(struct causality_analysis *analysis, struct causality_event *at);
int causality_connected(struct causality_analysis *analysis, struct causality_event *at);

/* ---- causality_last.c: the rule of what was received last ---- */

/* What a server process sends. Returns 0 with the value, or -ENOMEM. */
int causality_last_sent(struct causality_analysis *analysis, const struct causality_event *at,
                        struct sent_value *ret_value);

/* It has received what nobody knows the sender or the beginning of. Returns 0 or -ENOMEM. */
int causality_last_unknown(struct causality_analysis *analysis, struct causality_event *at);

/* It has found the end of a connection. */
void causality_last_ended(struct causality_event *at);

/* ---- causality_result.c ---- */

/* "A" ... "z", "A1" ...; "*" of those beyond the last. */
void letter_text(uint16_t letter, char text[LETTER_SIZE]);

/* Letters as text. Kept in the arena; NULL: out of memory. */
const char *letters_text(struct arena *arena, const uint16_t *letters, unsigned count, bool cut);

int causality_build(struct causality_analysis *analysis, struct causality *result);

/* causality_substrings.c: what the strings contain. Return 0 or -ENOMEM. */
int causality_build_substrings(struct causality_analysis *analysis, struct causality *result);
int causality_build_transitions(struct causality_analysis *analysis, struct causality *result);

#endif
