/* SPDX-License-Identifier: MIT */
/*
 * causality_private.h: the state of the causality analysis while it reads events. Private to causality/.
 *
 *      SEND by a stream on an end      -- causality_sending.c --> which step does it belong to?
 *                                             | kept with the SEND (struct sent_value)
 *      RECEIVE by a stream on an end   <------'   causality_receiving.c --> a new step
 *
 *      request  o---step A---step B---step A      causality_requests.c: trees that may still grow
 *                     '---step C                  causality_strings.c: their letters, with counts
 */
#ifndef DPM_CAUSALITY_PRIVATE_H
#define DPM_CAUSALITY_PRIVATE_H

#include "analysis/causality/causality.h"
#include "base/covered.h"
#include "base/lookup.h"
#include "meter/shared/message.h"

#define CACHE_LINE 64 /* bytes that the processor fetches from memory at a time */

/* ---- strings ---- */

#define LETTER_OTHERS    UINT16_MAX
#define LETTER_REQUESTOR (UINT16_MAX - 1) /* stands for a requestor, which has no letter */
/* stands before a server process that sends without having received */
#define LETTER_NOBODY  (UINT16_MAX - 2)
#define STRING_WHOLE   0u /* the empty string: parent of the roots of trees ... */
#define STRING_CUT     1u /* ... parent of strings whose beginning is missing ... */
#define STRING_NOBODY  2u /* ... and of what a server process sends without having received */
#define STRING_ROOTS   3u
#define STRING_BITS    17u /* in an index */
#define STRINGS_MOST   (1u << STRING_BITS)
#define LATENCIES_MOST 65536u /* strings with their own distribution */
#define PAIRS          4096u  /* pairs of letters whose string is cached, at most */

/* A prefix of strings that occurred: the letters of its parent, then its own. */
struct string {
    uint32_t parent;
    uint32_t followed; /* child that was looked up last ... */
    /* if it is full: the string of its last 15 letters, behind STRING_CUT; 0: not looked up yet */
    uint32_t shorter;
    uint16_t followed_letter; /* ... and its letter */
    uint16_t letter;
    uint8_t depth;          /* number of letters */
    bool cut;               /* its first letters are missing */
    bool of_nobody;         /* behind STRING_NOBODY */
    uint64_t child_letters; /* one bit for each child's letter, modulo 64 */
    uint64_t arrivals;      /* steps of this string: occurrences of it and of its suffixes */
    uint64_t leaves;
    uint64_t replies;          /* to requestors, by such steps */
    struct histogram *latency; /* of leaves; NULL: none yet */
} __attribute__((aligned(CACHE_LINE)));

struct strings {
    struct string *at; /* [STRINGS_MOST] */
    uint32_t count;
    uint32_t latency_count;
    /* [child_slots] by hash of parent and letter: 15 bits of the hash, and the index */
    uint32_t *children;
    uint32_t child_slots;
    uint64_t others; /* steps whose string did not fit */
    struct {
        uint16_t letters[2];
        uint32_t string;
    } pairs[PAIRS]; /* strings behind STRING_CUT, by a hash of their letters */
};

int strings_init(struct strings *strings);
void strings_done(struct strings *strings);

/* The string with one more letter. A string that is too long continues with its last letters behind STRING_CUT, where
 * each new letter displaces the oldest; so no substring is missed. Returns its index or -ENOMEM. */
int64_t strings_extend(struct strings *strings, uint32_t string, uint16_t letter);

/* Whether steps of this string, or of its beginnings, have replied so far. What is cut has lost them. */
bool strings_is_answered(const struct strings *strings, uint32_t index);

/* Counts a leaf that ended after so many ns; TIME_UNKNOWN: it has no latency. Returns 0 or -ENOMEM. */
int strings_add_leaf(struct strings *strings, uint32_t string, uint64_t latency);

/* Writes the last `most` letters, in their order; returns how many there are. */
unsigned strings_letters(const struct strings *strings, uint32_t string, unsigned most,
                         uint16_t *letters);

/* ---- causality_moments.c: strings by time ---- */

struct moment {
    uint32_t string;
    uint32_t count;
    uint8_t at; /* interval */
    bool reply;
};

struct moments {
    bool wanted;
    uint64_t begin, width; /* of all intervals, of one, ns by the first origin's clock */
    struct intern keys;
    struct moment *list;
    size_t room;
};

struct causality_analysis;

/* A message of this string came, or its step replied, at that time of its origin's clock. Does nothing if moments are not wanted;
 * if memory runs out, the result has none. */
void moments_count(struct causality_analysis *analysis, uint32_t origin, uint64_t when,
                   uint32_t string, bool reply);

/* Adds counters up by rows: [rows][CAUSALITY_MOMENTS], in the arena; NULL: there are none. `row_of`: of each string, a row + 1.
 * Returns 0 or -ENOMEM. */
int moments_of(const struct causality_analysis *analysis, struct arena *arena,
               const uint32_t *row_of, bool replies, uint32_t rows, const uint32_t **ret_counts);
void moments_done(struct moments *moments);

/* ---- steps and requests ---- */

/* A reference to an object in a pool. When the object is freed, its life changes, and references to it become void. */
struct reference {
    uint32_t index_and_1; /* 0: nothing */
    uint32_t life;
};

/* A message that a server process received, and what that process does until it receives the next one. */
struct step {
    uint32_t life;
    uint32_t string;
    uint32_t request;       /* index */
    uint32_t next_and_1;    /* next step of the request, in the order of receiving */
    struct reference entry; /* the end by which the process got the request */
    uint64_t when;          /* time of the receive, ns, its origin's clock */
    uint64_t last;          /* time of its last send, likewise */
    uint32_t origin;
    bool has_children;
} __attribute__((aligned(CACHE_LINE)));

#define STEPS_MOST  4096u  /* of one request; beyond that its oldest are dropped ... */
#define STEPS_FEW   64u    /* ... down to so few, if what all requests together have ... */
#define STEPS_ABOVE 8192u  /* ... above that number exceeds this */
#define PASSED_MOST 16384u /* requests that are over but may still continue */

struct request {
    uint32_t first_and_1, last_and_1; /* steps */
    uint32_t step_count;
    uint32_t next_and_1; /* in the queue of those that are over */
    uint32_t origin;
    uint64_t begun;
    uint32_t requestor; /* member + 1; 0: unmonitored ... */
    uint32_t path;      /* ... and reached by this path */
    bool over;
    bool cut;
    /* Or it is not known: the next one came by its connection before an answer, which may have been that of either. */
    bool answered;
    /* not a request: what server processes send without having received, or after something unknown */
    bool is_chain;
};

/* ---- participants ---- */

/* A process that has sent or received. It is remembered to the end. */
struct member {
    uint32_t origin;
    uint32_t number; /* of its first stream */
    uint32_t pid;
    char name[STREAM_NAME_SIZE];
    enum causality_role role;
    uint16_t letter;
    uint64_t requests;
};

#define MEMBERS_MOST 65536u
#define NO_MEMBER    (UINT32_MAX - 1)

/* Ends with a request that is open, in the order in which these requests came, or first called. */
struct open_list {
    uint32_t first_and_1, last_and_1;
};

/* A live process. */
struct causality_live_process {
    uint32_t life;
    uint32_t index; /* its own index in the pool */
    uint32_t origin;
    uint32_t number;
    bool known;      /* it has sent or received */
    bool ended;      /* its last stream has terminated, as its TERMINATION says */
    uint32_t member; /* or NO_MEMBER: not known, or there are too many */
    uint32_t streams;
    uint32_t open;                 /* requests that came by its ends and are not answered yet */
    struct open_list open_ends[2]; /* of such requests, by `has_called`; not of pipes */
    uint16_t letter;
    enum causality_role role;
};

/* Earlier steps of a stream, for calls of which only the end is reported (CONNECT). A stream keeps twice as many as
 * were ever needed for one look back, at least PAST_STEPS, within the limits; other streams keep few. */
#define PAST_STEPS       256u
#define PAST_STEPS_FEW   32u
#define PAST_STEPS_MOST  4096u        /* for one stream */
#define PAST_STEPS_TOTAL (128u << 10) /* for all streams together */

/* Requests that were open then, in the process and in the stream. Larger counts make no difference. */
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
    uint32_t open;            /* those of these requests that it received */
    struct reference current; /* step */
    struct past_step *past;   /* [past_capacity], circular; the last is at past_count - 1 */
    uint32_t past_capacity;
    uint32_t past_count;        /* so far ... */
    uint32_t past_kept;         /* ... and how many of the latest are in the array */
    struct reference inherited; /* step of its creator, until it sends or receives */
};

#define OPEN_LOOK_MOST 64 /* requests that are looked at, of those that are open in a process */

enum side { SIDE_UNKNOWN, SIDE_CALLS, SIDE_SERVES };
enum turn { TURN_NONE, TURN_SENT, TURN_RECEIVED };

/* How a connection to a back end is used; times by the clock of its origin. */
struct pool_use {
    uint32_t row_and_1;  /* of causality_analysis.pools; 0: not used yet */
    uint64_t called;     /* when the latest call was sent ... */
    uint64_t answered;   /* ... and the latest answer received ... */
    uint64_t runnable;   /* ... when its thread had waited for CPUs for so long ... */
    uint32_t stream;     /* ... which is this one */
    uint64_t busy_since; /* since when one call has followed the other */
};

/* The connections of a process to one address. */
struct pool_row {
    uint64_t key; /* hash of process and address */
    uint32_t member;
    char address[ENDPOINT_SIZE];
    uint64_t connections;
    uint64_t requests;
    struct histogram waits;
    struct covered covered;
};

#define POOLS_MOST 256u /* those of further processes and addresses are not looked at */

struct causality_end {
    uint32_t life;
    uint32_t index;
    uint32_t origin;
    uint32_t number;
    uint8_t side; /* enum side */
    uint8_t turn; /* enum turn: what was last done here */
    bool is_bytes;
    bool is_pipe;
    bool older; /* the path existed before the recording */
    bool from_requestor;
    bool connecting;     /* `forwarded` comes from the CONNECT, nothing was sent yet */
    uint8_t attribution; /* of `forwarded`, in that case */
    uint32_t in_call;    /* index + 1 of the stream that is in a send, as a SENDCALL reported */
    uint64_t sent;       /* number of the latest message sent */
    uint64_t received;   /* number of the latest message received */
    uint8_t sent_attribution;
    struct reference answer; /* step that the latest message sent belongs to */
    struct reference in;     /* step that the latest message received began */
    /* a request that came by this end and is not answered yet */
    bool open;
    bool has_called;         /* the process has called another one for it */
    bool guessed;            /* ... once, which is only assumed: it had come last */
    uint32_t overlap;        /* earlier requests that are not answered */
    struct reference listed; /* the process in whose `open_ends` the end is; or nothing ... */
    uint32_t previous_and_1, next_and_1; /* ... and its neighbours there */
    struct reference entry;              /* its step here */
    struct reference latest;             /* latest step of the process for it */
    struct reference stream;             /* the stream that received it */
    struct reference forwarded;          /* step whose request was sent from here to a server */
    struct pool_use pool;                /* of an end that calls */
};

/* ---- what travels from SEND to RECEIVE ---- */

enum sent_kind { SENT_UNKNOWN, SENT_REQUEST, SENT_STEP, SENT_SYSTEM };

struct sent_value {
    uint64_t message; /* number, the same for all parts of one message */
    struct reference step;
    uint32_t member; /* of the process that made the request */
    uint8_t kind;
    uint8_t attribution;
};

/* ---- all of it ---- */

/* Cache: the index + 1 that something had here when it last had this index in the history. */
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
    uint16_t *letters; /* of each step, and of its sender */
    uint32_t string;
    uint32_t requestor;
    char address[ENDPOINT_SIZE];
};

struct causality_analysis {
    struct causality_options options;
    struct history *history;
    size_t value; /* offset of its bytes in the values that the history keeps */
    struct strings strings;
    struct moments moments;
    struct pool processes, streams, ends, steps, requests;
    struct lookup process_numbers, stream_numbers, end_numbers;
    struct places stream_places, end_places;
    struct lookup program_letters; /* hash of a name -> letter */
    struct member *members;
    size_t member_capacity;
    uint32_t member_count;
    uint32_t letter_count;
    uint32_t passed_first_and_1, passed_last_and_1; /* requests that are over */
    uint32_t passed_count;
    uint32_t steps_above; /* number of steps above STEPS_FEW, over all requests */
    uint64_t messages;    /* message numbers given so far */
    uint32_t past_steps;  /* entries allocated by all streams */
    struct pool_row *pools;
    size_t pool_capacity;
    uint32_t pool_count;
    struct slow_request *slow;
    uint32_t slow_count;
    struct causality_extent *extents; /* by origin */
    size_t extent_capacity;
    uint32_t extent_count;
    struct causality sums; /* only its counts are used */
};

/* What was kept with an event, from its value or that of an edge; NULL: nothing. All zero for events of other types. */
static inline struct sent_value *causality_value(const struct causality_analysis *analysis,
                                                 const void *value)
{
    return history_value_at(value, analysis->value);
}

/* What an event refers to. `end` is NULL if its path is not known. */
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

/* The object, or NULL if it no longer exists. */
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

/* A request begins, or continues from a step, in the process of the event. Returns 0 with the new step, or -ENOMEM. */
int requests_begin(struct causality_analysis *analysis, const struct causality_event *at,
                   uint32_t requestor, struct reference *ret_step);
int requests_continue(struct causality_analysis *analysis, const struct causality_event *at,
                      struct reference from, struct reference *ret_step);

/* Begins a chain of messages without a request, behind this root of strings: STRING_CUT or STRING_NOBODY. It may be
 * forgotten as early as requests that are over. Returns 0 with its step, or -ENOMEM. */
int requests_begin_chain(struct causality_analysis *analysis, const struct causality_event *at,
                         uint32_t root, struct reference *ret_step);

/* Whether a step, which must exist, belongs to a request and not to a chain. */
bool requests_has_request(const struct causality_analysis *analysis, const struct step *step);

/* Two requests that are open at ends of one process, and have come from requestors, exchange what they have caused so
 * far. */
void requests_exchange(struct causality_analysis *analysis, struct causality_end *end,
                       struct causality_end *other);

/* The request of this step has been answered, or may have been. NULL: the step no longer exists. */
void requests_note_answer(struct causality_analysis *analysis, const struct step *step);

/* The request gets nothing more from its requestor. */
int requests_pass(struct causality_analysis *analysis, struct reference step);

/* Counts all requests that are left. */
int requests_finish(struct causality_analysis *analysis);

/* ---- causality_parties.c ---- */

/* Finds the stream, its process and the end of the path, as far as they are known. Returns 0 or -ENOMEM. */
int parties_find(struct causality_analysis *analysis, const struct history_event *event,
                 struct causality_event *ret_at);
int parties_forget_end(struct causality_analysis *analysis, uint32_t origin, uint32_t path);
void parties_forget_stream(struct causality_analysis *analysis, uint32_t origin, uint32_t number,
                           bool last);

/* For a STREAM record: a process may have a new name. Returns 0 or -ENOMEM. */
int parties_renamed(struct causality_analysis *analysis, const struct history_event *event);

/* The process has been called, or calls: updates its role. Returns 0 or -ENOMEM. */
int parties_take_part(struct causality_analysis *analysis, const struct causality_event *at);
int parties_become_server(struct causality_analysis *analysis,
                          struct causality_live_process *process);

/* ---- causality_open.c ---- */

/* Opens or closes the request at an end. */
void parties_open(struct causality_analysis *analysis, const struct causality_event *at,
                  struct reference step);
void parties_close(struct causality_analysis *analysis, struct causality_end *end);

/* Notes that the request that is open at an end has called. */
void parties_call(struct causality_analysis *analysis, struct causality_end *end);

/* Notes that it has not called after all. */
void parties_undo_call(struct causality_analysis *analysis, struct causality_end *end);

/* Chooses among the requests that are open in the stream, or, if there are none, in its process: the one that has waited
 * longest without a call, or, if all have called, the one that called first. Returns the end by which it came, or NULL:
 * none is open. */
struct causality_end *parties_longest_open(const struct causality_analysis *analysis,
                                           const struct causality_event *at);

/* ---- causality_sending.c, causality_receiving.c ---- */

/* The stream is in this step from now on. */
void causality_enter(struct causality_analysis *analysis, const struct causality_event *at,
                     struct reference step);

/* Whether a SEND continues the previous message on its end, from the same step. */
bool causality_is_same_message(const struct causality_analysis *analysis,
                               const struct causality_event *at, struct reference step);

/* How certain it is that a step caused the stream to send now. */
enum attribution causality_attribute(const struct causality_analysis *analysis,
                                     const struct causality_event *at, const struct step *step);

int causality_sent(struct causality_analysis *analysis, struct causality_event *at);
int causality_received(struct causality_analysis *analysis, struct causality_event *at);
int causality_connected(struct causality_analysis *analysis, struct causality_event *at);

/* ---- causality_last.c: the rule of the latest receive ---- */

/* For a send of a server process. Returns 0 with the value, or -ENOMEM. */
int causality_last_sent(struct causality_analysis *analysis, const struct causality_event *at,
                        struct sent_value *ret_value);

/* It has received something with an unknown sender or beginning. Returns 0 or -ENOMEM. */
int causality_last_unknown(struct causality_analysis *analysis, struct causality_event *at);

/* It has found the end of a connection. */
void causality_last_ended(struct causality_event *at);

/* ---- causality_pools.c: requests that queue for a connection ---- */

/* The event is a call, made for the request that is open at `entry` (NULL: for none). Returns 0 or -ENOMEM. */
int pools_note_call(struct causality_analysis *analysis, const struct causality_event *at,
                    const struct causality_end *entry);
void pools_note_answer(const struct causality_event *at);
int pools_build(struct causality_analysis *analysis, struct causality *result);
void pools_done(struct causality_analysis *analysis);

/* ---- causality_result.c ---- */

/* "A" ... "z", "A1" ...; "*" for those beyond the last. */
void letter_text(uint16_t letter, char text[LETTER_SIZE]);

/* Letters as text, kept in the arena; NULL: out of memory. */
const char *letters_text(struct arena *arena, const uint16_t *letters, unsigned count, bool cut);

int causality_build(struct causality_analysis *analysis, struct causality *result);

/* causality_substrings.c: what the strings contain. Return 0 or -ENOMEM. */
int causality_build_substrings(struct causality_analysis *analysis, struct causality *result);
int causality_build_transitions(struct causality_analysis *analysis, struct causality *result);

#endif
