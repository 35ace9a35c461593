/* SPDX-License-Identifier: MIT */
/*
 * event.h: what a record means: the one table of types and fields, meter flags by name, where
 * records come from (source), and who and what they speak of (identities, endpoints).
 */
#ifndef DPM_EVENT_H
#define DPM_EVENT_H

#include "base/base.h"
#include "event/record.h"

#include <stdio.h>
#include <sys/socket.h>

/* ---- values that mean something else ---- */

/* BLOCK: the stream slept in none, for a page of memory for instance. */
#define NO_SYSTEM_CALL UINT32_MAX

/* STREAM: the namespace of the whole machine, whose inode the kernel has fixed. */
#define INITIAL_PID_NAMESPACE 4026531836u

/* ---- the table of types and fields ---- */

enum field_kind {
    FIELD_UNSIGNED, /* 1, 2, 4, 6 or 8 bytes, decimal */
    FIELD_HEX,      /* the same, shown in base 16 */
    FIELD_SPAN,     /* 4 bytes, decimal, in the unit that the record's flags tell: message_span() */
    FIELD_TEXT,     /* char array, NUL-filled */
    FIELD_BYTES,    /* array of u8 */
};

struct event_field {
    const char *name; /* as rules, CTF and JSON spell it */
    uint16_t offset;  /* bytes from the record's beginning */
    uint16_t size;    /* bytes */
    enum field_kind kind;
    const char *meaning;
};

struct event_type {
    enum event_id id;
    const char *name;
    const char *synonym;              /* the papers' other name, or NULL */
    enum ring_id ring;                /* which ring and which CTF stream it travels in */
    uint16_t size;                    /* bytes of the whole record */
    const struct event_field *fields; /* the body; ends with name == NULL */
    const char *meaning;
};

/* The fields every record begins with (bytes 0 to 31); ends with name == NULL. */
extern const struct event_field event_header_fields[];

/* The type with this id, or NULL if there is none. */
const struct event_type *event_type(unsigned id);

/* The type with this name or synonym, in any case; or NULL. */
const struct event_type *event_type_by_name(const char *name);

/* Bytes of a record with this id, or 0 if there is no such type. */
size_t event_size(unsigned id);

/* Value of an unsigned or hex field of a record of at least field->offset + field->size bytes. */
uint64_t event_field_value(const struct event_field *field, const void *record);

/* Types that say who or what others speak of (EVENT_FLAG). */
#define EVENT_IDENTITY_FLAGS                                                                       \
    (EVENT_FLAG(EVENT_STREAM) | EVENT_FLAG(EVENT_PATH) | EVENT_FLAG(EVENT_MACHINE) |               \
     EVENT_FLAG(EVENT_IMAGE) | EVENT_FLAG(EVENT_MODULE) | EVENT_FLAG(EVENT_PROCEDURE) |            \
     EVENT_FLAG(EVENT_NAME))

/* ---- meter flags ---- */

/* Flags of every event type that can be metered, and all flags there are. */
#define METER_EVENT_FLAGS                                                                          \
    (((EVENT_FLAG(EVENT_TERMINATION + 1) - 1) & ~1u) | EVENT_FLAG(EVENT_WAKEUP))
#define METER_ALL_FLAGS (METER_EVENT_FLAGS | METER_FLAG_PC)
#define METER_ALL_KINDS (METER_TCP | METER_UDP | METER_UNIX | METER_PIPE)

/* Whether a record of this type tells of an event: neither who or what others speak of, nor how the recording went. */
static inline bool event_is_metered(unsigned id)
{
    return id < 32 && (METER_EVENT_FLAGS >> id & 1);
}

/* Reads a list of flag names, separated by commas or blanks, in the words of both papers ("send
 * receivecall fork", "all", "-send"), any case. Starts from *flags and unites; "-name" takes away.
 * Returns 0, or -EINVAL with a line in `problem` that names the word and lists what is known;
 * *flags is then unchanged. */
int meter_flags_parse(const char *list, uint32_t *flags, struct problem *problem);

/* The words that meter_flags_parse knows, synonyms left out; NULL behind the last. */
const char *meter_flag_word(size_t index);

#define METER_FLAGS_TEXT_SIZE 256

/* The same for kinds of paths, METER_TCP ...: "tcp unix", "all,-udp". */
int meter_kinds_parse(const char *list, uint32_t *kinds, struct problem *problem);
const char *meter_kind_word(size_t index);

/* The kinds one by one: a name, and in *ret_kind its bit; NULL behind the last. */
const char *meter_kind(size_t index, uint32_t *ret_kind);

#define METER_KINDS_TEXT_SIZE 32

/* Writes these kinds as meter_kinds_parse reads them: "tcp,udp", "" if there is none. */
void meter_kinds_text(uint32_t kinds, char text[METER_KINDS_TEXT_SIZE]);

/* Writes these flags as meter_flags_parse reads them: "all", "send,receive", "" if there is none. */
void meter_flags_text(uint32_t flags, char text[METER_FLAGS_TEXT_SIZE]);

/* ---- sources ---- */

/* A record as a source hands it out: valid until the next call of next(). */
struct event {
    const struct record_header *header; /* cast to the type's struct; whole and of a known type */
    uint32_t origin;     /* which trace or machine: 0 .. origins - 1; numbers (stream, path, image)
                            have meaning only within their origin */
    int64_t wall_offset; /* ns to add to a time of this origin for nanoseconds since 1970 */
};

enum source_result {
    SOURCE_END = 0,
    SOURCE_RECORD = 1,   /* *ret_event is set */
    SOURCE_NONE_YET = 2, /* live sources: complete up to *ret_complete, ask again later */
};

/* What is known of an origin when the source has ended (before: so far). */
struct source_state {
    uint64_t records;    /* handed out */
    uint64_t lost;       /* could not be recorded, all rings, from the meter's counters */
    uint64_t skipped;    /* of `lost`: hooks that the kernel skipped, an upper bound */
    bool complete;       /* the recording ended in order (END was read) */
    uint32_t end_reason; /* enum end_reason, 0 if not complete */
    bool being_written;  /* a trace: it was still being recorded when it was opened */
};

/* Whether everything was recorded until the recording was to end. */
static inline bool source_is_whole(const struct source_state *state)
{
    return state->complete && state->end_reason == END_COMPLETE;
}

/* Where records come from: a finished trace, several merged ones, or live rings. Records of one
 * origin come in the order of time; of equal times, control records first. */
struct source {
    /* Returns an enum source_result, or a negative errno with a line in `problem`. */
    int (*next)(struct source *source, struct event *ret_event, uint64_t *ret_complete,
                struct problem *problem);
    uint32_t origins;
    struct source_state *states; /* [origins] */
};

/* ---- identities: who and what records speak of ---- */

/*
 *   origin  --+-- machine
 *             +-- stream number --> stream --> process (its first stream's number)
 *             +-- path number   --> path (one end)
 *             +-- image number  --> image
 *             +-- uid, cgroup id -> name
 *             +-- image number  --> image --device, inode--> module (its program's file)
 *             +-- stream, PC    --> procedure
 */
struct identities;

int identities_new(struct identities **ret_identities);
void identities_free(struct identities *identities);

/* Notes an identity record; any other record is ignored. Returns 0 or -ENOMEM. */
int identities_add(struct identities *identities, const struct event *event);

/* It has ended, and something may still be told of it: forgets it when IDENTITIES_FADING others have ended
 * since; its memory serves others. Without memory it is forgotten at once. What was not known is ignored. */
#define IDENTITIES_FADING 8192u
void identities_fade_path(struct identities *identities, uint32_t origin, uint32_t path);
void identities_fade_stream(struct identities *identities, uint32_t origin, uint32_t stream);

/* Nothing will be told of it any more: forgets it at once. */
void identities_forget_path(struct identities *identities, uint32_t origin, uint32_t path);

/* A second user of the same identities needs a path: it is known until he has released it, though it be forgotten. Of
 * what is not known neither has an effect. */
void identities_keep_path(struct identities *identities, uint32_t origin, uint32_t path);
void identities_release_path(struct identities *identities, uint32_t origin, uint32_t path);

/* The latest identity record with that number, or NULL. Valid until the next identities_add. */
const struct machine_record *identities_machine(const struct identities *identities,
                                                uint32_t origin);
const struct stream_record *identities_stream(const struct identities *identities, uint32_t origin,
                                              uint32_t stream);
/* Of a path that cannot have a name (path_may_have_name) the record ends before `name`. */
const struct path_record *identities_path(const struct identities *identities, uint32_t origin,
                                          uint32_t path);
const struct image_record *identities_image(const struct identities *identities, uint32_t origin,
                                            uint32_t image);

/* What a user or a cgroup2 is called, at most NAME_SIZE - 1 bytes; NULL: the recording does not say.
 * Valid as long as the identities, and another pointer for each user and cgroup. */
const char *identities_user_name(const struct identities *identities, uint32_t origin,
                                 uint32_t user);
const char *identities_cgroup_name(const struct identities *identities, uint32_t origin,
                                   uint64_t cgroup);

/* The last part of the file name of an image; NULL and pointers as above. */
const char *identities_program(const struct identities *identities, uint32_t origin,
                               uint32_t image);
/* The procedure that a PC of this stream lies in, and in *ret_module (which may be NULL) the file
 * that it stands in; NULL: not known. Valid until the next identities_add. */
const struct procedure_record *identities_procedure(const struct identities *identities,
                                                    uint32_t origin, uint32_t stream, uint64_t pc,
                                                    const struct module_record **ret_module);

/* The same of a program that is executed, by the number of its image. */
const struct procedure_record *identities_procedure_of(const struct identities *identities,
                                                       uint32_t origin, uint32_t number,
                                                       uint64_t pc,
                                                       const struct module_record **ret_module);

/* Whether a user who typed `asked` means the process of this pid and name: the pid itself, or the name, of which the
 * kernel keeps no more than the first 15 characters. */
bool process_is_meant(const char *asked, uint32_t pid, const char name[STREAM_NAME_SIZE]);

/* Describes the machine we run on: ids, name, system, addresses; header.time is now. What cannot
 * be found out stays empty. */
void machine_describe(struct machine_record *ret_machine);

/* The directory of the root cgroup2, mounted or not, as a descriptor that is the caller's to close.
 * Returns a negative errno if there is none, or none that we may open: where cgroup2 is mounted
 * nowhere it needs CAP_SYS_ADMIN. */
int cgroup_root_open(void);

/* The users and cgroups of the machine we run on, and which of their names have been told. All zero
 * is a new one. */
struct names {
    struct intern users;
    struct intern cgroup_ids;
    bool opened; /* `cgroups` has been looked for */
    int cgroups; /* the root cgroup's directory, or -1 */
};

/* To be shown every record before it is stored: for a STREAM, writes the NAME records of its user
 * and its cgroup that belong before it, with its time, and returns how many. Each is told once; after
 * very many all are told again. What has no name, or cannot be found out, stays a number. */
size_t names_before(struct names *names, const struct record_header *header,
                    struct name_record ret_names[2]);
void names_done(struct names *names);

/* ---- printing ---- */

#define CONTAINER_SIZE NAME_SIZE

/* Writes the short name of what the processes of a cgroup belong to: a container's id as `docker ps`
 * shows it, a systemd unit, else the last part of the path; "/" of the root. Returns how many bytes
 * of the path lead to that: what is equal so far is the same container. */
size_t container_name(const char *cgroup, char name[CONTAINER_SIZE]);

/* "tcp", "unix-stream", ...; "unknown" for a number that is no kind. */
const char *path_kind_name(unsigned kind);

static inline bool kind_is_internet(unsigned kind)
{
    return kind == PATH_TCP || kind == PATH_UDP;
}

/* Who looks at the name of a path is to ask that first: identities keep no room for it where there is none. */
static inline bool path_may_have_name(const struct path_record *path)
{
    return !kind_is_internet(path->kind) || path->family == AF_UNIX;
}

/* With a name in the file system or without. */
static inline bool kind_is_pipe(unsigned kind)
{
    return kind == PATH_PIPE || kind == PATH_FIFO;
}

/* Whether messages keep their bounds: positions are numbers of messages, not of bytes. */
static inline bool kind_counts_messages(unsigned kind)
{
    return kind == PATH_UDP || kind == PATH_UNIX_DATAGRAM || kind == PATH_UNIX_SEQPACKET;
}

/* By which what has a number of its own in each recording is found among those of several. */
static inline uint64_t number_key(uint32_t origin, uint32_t number)
{
    return (uint64_t)origin << 32 | number;
}

#define ENDPOINT_SIZE 160

/* Writes the address of this or the other end of a path: "127.0.0.1:6379", "[::1]:80",
 * "/run/x.sock", "@abstract", "socket#1234" (its cookie), "unknown". Never fails; cuts what does not fit. A UNIX name is
 * given as the program chose it and may hold any byte: show_text() before it is printed. */
void endpoint_local(const struct path_record *path, char text[ENDPOINT_SIZE]);
void endpoint_remote(const struct path_record *path, char text[ENDPOINT_SIZE]);

#endif
