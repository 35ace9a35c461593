/* SPDX-License-Identifier: MIT */
/*
 * event.h: what a record means: the table of types and fields, meter flags by name, where records come from (source),
 * and the streams, paths, programs and users that they refer to (identities, endpoints).
 */
#ifndef DPM_EVENT_H
#define DPM_EVENT_H

#include "base/base.h"
#include "base/lookup.h"
#include "event/record.h"

#include <stdio.h>
#include <sys/socket.h>

/* ---- special values ---- */

/* BLOCK: the stream slept outside any system call, for example on a page fault. */
#define NO_SYSTEM_CALL UINT32_MAX

/* The system call of a RECEIVECALL with path 0. */
static inline uint32_t any_call(const struct record *record)
{
    return record->any.system_call == UINT16_MAX ? NO_SYSTEM_CALL : record->any.system_call;
}

/* After how many ns it ends at the latest, or somewhat later; 0: not known; UINT64_MAX: it has no time limit. */
static inline uint64_t any_limit(const struct record *record)
{
    uint32_t limit = record->any.limit;

    if (limit == LIMIT_NONE)
        return UINT64_MAX;
    return limit < LIMIT_SECONDS ? limit * 1000000ull : (limit - LIMIT_SECONDS) * 1000000000ull;
}

/* STREAM: the machine's initial PID namespace; its inode number is fixed in the kernel. */
#define INITIAL_PID_NAMESPACE 4026531836u

/* The number of a live process in our /proc, which may be that of another PID namespace than the meter's: dpmd loads
 * meters for those in containers. 0: not known. */
pid_t stream_pid_here(const struct stream_record *stream);

/* ---- the table of types and fields ---- */

enum field_kind {
    FIELD_UNSIGNED, /* 1, 2, 4, 6 or 8 bytes, decimal */
    FIELD_HEX,      /* the same, shown in hexadecimal */
    FIELD_SIGNED,   /* 2 bytes, decimal */
    FIELD_SPAN,     /* 4 bytes, decimal; the record's flags give the unit: message_span() */
    FIELD_TEXT,     /* char array, padded with NULs */
    FIELD_BYTES,    /* array of u8 */
};

struct event_field {
    const char *name; /* in rules, CTF and JSON */
    uint16_t offset;  /* bytes from the beginning of the record */
    uint16_t size;    /* bytes */
    enum field_kind kind;
    const char *meaning;
};

struct event_type {
    enum event_id id;
    const char *name;
    const char *synonym;              /* the papers' other name, or NULL */
    enum ring_id ring;                /* the ring and the CTF stream that carry it */
    uint16_t size;                    /* bytes of the whole record */
    const struct event_field *fields; /* the body; ends with name == NULL */
    const char *meaning;
};

/* The fields that every record begins with (bytes 0 to 31); ends with name == NULL. */
extern const struct event_field event_header_fields[];

/* The type with this ID, or NULL. */
const struct event_type *event_type(unsigned id);

/* The type with this name or synonym, ignoring case, or NULL. */
const struct event_type *event_type_by_name(const char *name);

/* "try", "would", "kept", "undone", "failed", "nothing"; NULL: no outcome (enum decision_outcome). */
const char *decision_name(unsigned outcome);

/* What the act of a KEPT or UNDONE has brought, in thousandths: 100 is 10 % more, or a time that is divided by 1.1. NAN: not known. */
double decision_gain(const struct decision_record *decision);

/* The size in bytes of a record with this ID, or 0 if there is no such type. */
size_t event_size(unsigned id);

/* The value of an unsigned or hex field. The record must have at least field->offset + field->size bytes. */
uint64_t event_field_value(const struct event_field *field, const void *record);

/* The field of a bit in an `absent` mask (struct event), or NULL. */
const struct event_field *event_absent_field(const struct event_type *type, unsigned bit);

/* Types that identify what other records refer to (EVENT_FLAG). */
#define EVENT_IDENTITY_FLAGS                                                                       \
    (EVENT_FLAG(EVENT_STREAM) | EVENT_FLAG(EVENT_PATH) | EVENT_FLAG(EVENT_MACHINE) |               \
     EVENT_FLAG(EVENT_IMAGE) | EVENT_FLAG(EVENT_MODULE) | EVENT_FLAG(EVENT_PROCEDURE) |            \
     EVENT_FLAG(EVENT_NAME) | EVENT_FLAG(EVENT_BEGIN))

/* The bit of a field in `absent` masks: bits 0 to 7 for event_header_fields, 8 and above for the fields of a type's
 * body, in the order of the table. */
#define EVENT_BODY_FIELD_FIRST      8
#define EVENT_BODY_FIELD_BIT(index) (1ull << (EVENT_BODY_FIELD_FIRST + (index)))

/* Whether `stream` of the header names the stream that the record is of: those that the stream made, and those that say
 * something about it. */
static inline bool record_is_of_stream(const struct record_header *header)
{
    return !(header->flags & RECORD_NO_STREAM) || header->id == EVENT_STREAM ||
           header->id == EVENT_SCHEDULE || (header->id == EVENT_SENSOR && header->stream != 0);
}

/* "hotspot:gc__begin", of a sensor of the meter's own (enum library_sensor); NULL: a user's. */
const char *event_sensor_name(uint32_t sensor);

/* ---- meter flags ---- */

/* The flags of all event types that can be metered, and all flags there are. */
#define METER_EVENT_FLAGS                                                                          \
    (((EVENT_FLAG(EVENT_TERMINATION + 1) - 1) & ~1ull) | EVENT_FLAG(EVENT_WAKEUP) |                \
     EVENT_FLAG(EVENT_SCHEDULE) | EVENT_FLAG(EVENT_SIGNAL) | EVENT_FLAG(EVENT_CONNECTFAILED) |     \
     EVENT_FLAG(EVENT_READ) | EVENT_FLAG(EVENT_WRITE) | EVENT_FLAG(EVENT_SUMMARY))
#define METER_ALL_FLAGS (METER_EVENT_FLAGS | METER_FLAG_PC)

/* Kinds of paths between processes. Files are metered only if they are named, too: most programs use many. So is MPI, whose
 * library is probed. */
#define METER_ALL_KINDS  (METER_TCP | METER_UDP | METER_UNIX | METER_PIPE | METER_MQ)
#define METER_EVERY_KIND (METER_ALL_KINDS | METER_FILE | METER_MPI)

/* Whether records of this type report an event, rather than an identity, or the state of the recording or machine. */
static inline bool event_is_metered(unsigned id)
{
    return id < EVENT_ID_END && id != EVENT_SUMMARY && (METER_EVENT_FLAGS >> id & 1);
}

/* Whether it says what a thread did. */
static inline bool record_is_of_thread(const struct record_header *header)
{
    return event_is_metered(header->id) && !(header->flags & RECORD_NO_STREAM) &&
           header->stream != 0;
}

/* Parses a list of flag names, separated by commas or blanks, in the words of both papers and in any case ("send
 * receivecall fork", "all", "-send"). A name adds its flags to *flags; "-name" removes them. Returns 0, or -EINVAL
 * with a line in `problem` that names the unknown word and lists the known ones; *flags is then unchanged. */
int meter_flags_parse(const char *list, uint64_t *flags, struct problem *problem);

/* The words that meter_flags_parse accepts, without synonyms. NULL after the last. */
const char *meter_flag_word(size_t index);

#define METER_FLAGS_TEXT_SIZE 384

/* The same for kinds of paths (METER_TCP ...): "tcp unix", "all,-udp". */
int meter_kinds_parse(const char *list, uint32_t *kinds, struct problem *problem);
const char *meter_kind_word(size_t index);

/* The kinds one by one: returns the name and writes the bit to *ret_kind. NULL after the last. */
const char *meter_kind(size_t index, uint32_t *ret_kind);

#define METER_KINDS_TEXT_SIZE 40

/* Formats kinds as meter_kinds_parse reads them: "tcp,udp"; "" for none. */
void meter_kinds_text(uint32_t kinds, char text[METER_KINDS_TEXT_SIZE]);

/* Formats flags as meter_flags_parse reads them: "all", "send,receive"; "" for none. */
void meter_flags_text(uint64_t flags, char text[METER_FLAGS_TEXT_SIZE]);

/* ---- which types are recorded ---- */

/* What MACHINE and the FLAGS records of an origin say so far. A conclusion from the absence of a record holds only if its
 * type was recorded always, and for every process (recorded_always). All zero at first. */
struct recorded_types {
    bool known;      /* a MACHINE or FLAGS says something: without one, nothing is known */
    uint64_t always; /* EVENT_FLAG of the types that every process has had recorded at any time */
    uint64_t ever;   /* ... that some process has had recorded at some time */
    uint32_t kinds_left_out; /* at some time, METER_TCP ... */
    uint32_t kinds_ever;     /* METER_TCP ...: recorded for some process at some time */
    uint32_t rules;          /* selection rules in force at some time: most at a time */
    uint32_t
        unmetered; /* 1 << enum unmetered_kind: sockets in use whose messages no meter records */
};

/* Heeds MACHINE, FLAGS and NAME records; ignores any other. */
void recorded_note(struct recorded_types *recorded, const struct record_header *header);

/* Whether no record of this type can be missing: its flag was always set, and no selection rules were in force. */
static inline bool recorded_always(const struct recorded_types *recorded, unsigned id)
{
    return recorded->known && recorded->rules == 0 && (recorded->always & EVENT_FLAG(id)) != 0;
}

/* Whether records of this type may be missing for lack of their flag. */
static inline bool recorded_leaves_out(const struct recorded_types *recorded, unsigned id)
{
    return recorded->known && (recorded->always & EVENT_FLAG(id)) == 0;
}

/* Whether its flag was set for some process at some time, but not for all of them always. */
static inline bool recorded_partly(const struct recorded_types *recorded, unsigned id)
{
    return recorded_leaves_out(recorded, id) && (recorded->ever & EVENT_FLAG(id)) != 0;
}

/* The kinds of paths that were recorded for some process at some time, but not for all of them always. */
static inline uint32_t recorded_kinds_partly(const struct recorded_types *recorded)
{
    return recorded->kinds_left_out & recorded->kinds_ever;
}

/* A time in which an origin recorded no messages, by FLAGS of all its processes. What was asked before it may have been answered in it.
 * All zero at first. */
struct message_gap {
    bool lasts;
    uint64_t end; /* ns, the origin's clock: of the latest one; 0: there was none */
};

/* Heeds FLAGS; ignores any other. Returns whether a gap has ended. */
bool message_gap_note(struct message_gap *gap, const struct record_header *header);

/* ---- sockets that no meter records ---- */

/* NAME of a kind: a metered stream has sent or received on such a socket. */
void unmetered_fill(struct name_record *ret_record, enum unmetered_kind kind, uint64_t time);

#define UNMETERED_TEXT_SIZE 128

/* "MPTCP, netlink"; `kinds`: 1 << enum unmetered_kind. */
void unmetered_text(uint32_t kinds, char text[UNMETERED_TEXT_SIZE]);

/* ---- sources ---- */

/* A record as a source returns it, valid until the next call of next(). */
struct event {
    const struct record_header *header; /* complete and of a known type: cast to its struct */
    /* The trace or machine it comes from, 0 .. origins - 1. Numbers (stream, path, image) are unique only within it. */
    uint32_t origin;
    /* Nanoseconds to add to a time of this origin to get the wall clock (since 1970). */
    int64_t wall_offset;
    /* Fields that a selection has removed; their bytes are 0 and mean nothing. Bits as of EVENT_BODY_FIELD_BIT. */
    uint64_t absent;
};

enum source_result {
    SOURCE_END = 0,
    SOURCE_RECORD = 1,   /* *ret_event is set */
    SOURCE_NONE_YET = 2, /* live: complete up to *ret_complete; ask again later */
};

/* The state of an origin: final when the source has ended, so far before. */
struct source_state {
    uint64_t records; /* returned so far */
    uint64_t
        lost; /* records not recorded, all rings, from the meter's counters; and missing ones */
    uint64_t skipped;      /* of `lost`: hooks that the kernel skipped, an upper bound */
    uint64_t unselected;   /* events that selection rules have removed, as DISCARDED records say */
    bool complete;         /* the recording ended in order (END was read) */
    uint32_t end_reason;   /* enum end_reason; 0 if not complete */
    bool being_written;    /* a trace that was still being recorded when it was opened */
    uint64_t removed;      /* records before the first one: the trace keeps only the newest */
    uint64_t removed_time; /* ns that these cover */
    /* packets that a copy of a trace lacks; their records count in `lost` as soon as a later one tells how many */
    uint64_t missing_packets;
    /* records that were removed while the trace was followed, before they were read */
    uint64_t overtaken;
};

/* Whether the recording is complete up to its intended end. */
static inline bool source_is_whole(const struct source_state *state)
{
    return state->complete && state->end_reason == END_COMPLETE;
}

/* Where records come from: a finished trace, several merged ones, or live rings. Records of one origin come in time
 * order; at equal times, control records come first. */
struct source {
    /* Returns an enum source_result, or a negative errno with a line in `problem`. */
    int (*next)(struct source *source, struct event *ret_event, uint64_t *ret_complete,
                struct problem *problem);
    uint32_t origins;
    struct source_state *states; /* [origins] */
    /* A descriptor to wait on with poll(2): readable when the next call of next() should not wait any longer, after
     * which it is not. It does not tell of each record, so look from time to time, too. NULL: there is none, and
     * records are only found by looking. */
    int (*descriptor)(const struct source *source);
};

/* -1: there is none. */
static inline int source_descriptor(const struct source *source)
{
    return source->descriptor == NULL ? -1 : source->descriptor(source);
}

/* ---- identities: what records refer to ---- */

/*
 *   origin  --+-- machine
 *             +-- stream number --> stream --> process (its first stream's number)
 *             +-- path number   --> path (one end)
 *             +-- image number  --> image
 *             +-- uid, cgroup id -> name
 *             +-- process       --> command line
 *             +-- image number  --> image --device, inode--> module (its program's file)
 *             +-- stream, PC    --> procedure
 */
struct identities;

int identities_new(struct identities **ret_identities);
void identities_free(struct identities *identities);

/* Stores an identity record and ignores any other. Returns 0 or -ENOMEM. */
int identities_add(struct identities *identities, const struct event *event);

/* The path or stream has ended, but records may still refer to it: forgets it once IDENTITIES_FADING others have ended
 * after it, and reuses its memory. If memory is short, forgets it at once. Unknown ones are ignored. */
#define IDENTITIES_FADING 8192u
void identities_fade_path(struct identities *identities, uint32_t origin, uint32_t path);
void identities_fade_stream(struct identities *identities, uint32_t origin, uint32_t stream);

/* The same for what ends with a TERMINATION or DESTROYPATH (one that still says which); other events change nothing. */
void identities_fade(struct identities *identities, const struct event *event);

/* No record will refer to the path any more: forgets it at once. */
void identities_forget_path(struct identities *identities, uint32_t origin, uint32_t path);

/* A second user of the same identities needs a path: it stays known until it is released, even if it is forgotten
 * meanwhile. Unknown paths are ignored. */
void identities_keep_path(struct identities *identities, uint32_t origin, uint32_t path);
void identities_release_path(struct identities *identities, uint32_t origin, uint32_t path);

/* The latest identity record with that number, or NULL. Valid until the next identities_add. */
const struct machine_record *identities_machine(const struct identities *identities,
                                                uint32_t origin);
const struct stream_record *identities_stream(const struct identities *identities, uint32_t origin,
                                              uint32_t stream);
/* If the path cannot have a name (path_may_have_name), the record ends before `name`. */
const struct path_record *identities_path(const struct identities *identities, uint32_t origin,
                                          uint32_t path);
const struct image_record *identities_image(const struct identities *identities, uint32_t origin,
                                            uint32_t image);

/* The name of a user or a cgroup2, at most NAME_SIZE - 1 bytes; NULL if the recording does not contain it. Valid as
 * long as the identities. Each user and cgroup has a pointer of its own. */
const char *identities_user_name(const struct identities *identities, uint32_t origin,
                                 uint32_t user);
const char *identities_cgroup_name(const struct identities *identities, uint32_t origin,
                                   uint64_t cgroup);

/* The text of the selection rule with this number, counted from 1, at most NAME_SIZE - 1 bytes; NULL: there is none. Valid
 * until the next identities_add. */
const char *identities_rule(const struct identities *identities, uint32_t origin, uint32_t number);

/* What BLOCKs with this number of an object wait for, WAIT_ON_NOT_KNOWN if no NAME says that; *ret_name: its name, at most
 * NAME_SIZE - 1 bytes, or NULL. Valid until the next identities_add. */
enum wait_object identities_object(const struct identities *identities, uint32_t origin,
                                   uint32_t number, const char **ret_name);

/* From now on, command lines are noted without secrets (command_hide_secrets). */
void identities_hide_secrets(struct identities *identities);

/* The command line of the process with this number; NULL if it is not known. A process that has executed nothing has that
 * of its creator. It fades with the process's first stream. Valid until the next identities_add. */
const char *identities_command(const struct identities *identities, uint32_t origin,
                               uint32_t process);

/* The last component of an image's file name. Otherwise as above. */
const char *identities_program(const struct identities *identities, uint32_t origin,
                               uint32_t image);
/* The procedure that contains a PC of this stream, and in *ret_module (which may be NULL) the file that contains the
 * procedure. NULL: not known. Valid until the next identities_add. */
const struct procedure_record *identities_procedure(const struct identities *identities,
                                                    uint32_t origin, uint32_t stream, uint64_t pc,
                                                    const struct module_record **ret_module);

/* The same, by the number of the image that is executed. */
const struct procedure_record *identities_procedure_of(const struct identities *identities,
                                                       uint32_t origin, uint32_t number,
                                                       uint64_t pc,
                                                       const struct module_record **ret_module);

/* Whether `asked`, as typed by a user, matches the process with this PID and name. It may be the PID or the name, of
 * which the kernel keeps only the first 15 characters. */
bool process_is_meant(const char *asked, uint32_t pid, const char name[STREAM_NAME_SIZE]);

/* The same by its command line: its program ("postgres"), the script that an interpreter executes ("worker.py"); with a
 * blank in `asked`, any part of it ("postgres: checkpointer"). process_is_named: by either; `command` may be NULL. */
bool command_is_named(const char *asked, const char *command);
bool process_is_named(const char *asked, uint32_t pid, const char name[STREAM_NAME_SIZE],
                      const char *command);

/* A text that tells processes of one name from each other, from name and command line (NULL: not known), shortened in
 * the middle: "python3 worker.py", "postgres: checkpointer", "sleep 60". */
#define PROCESS_LABEL_SIZE 29
void process_label(const char *name, const char *command, char label[PROCESS_LABEL_SIZE]);

/* A process of a result, to be told from others of its name. */
struct named_process {
    const char *name;    /* STREAM_NAME_SIZE */
    const char *command; /* NULL: not known */
    bool alike;          /* set if another one has the same name, and another label */
};

/* Sets `alike` of each. Returns 0 or -ENOMEM. */
int processes_find_alike(struct named_process *list, size_t count);

/* The first thread of the stream's process, whose name is the process's; the stream itself if it is not known. */
const struct stream_record *identities_first_stream(const struct identities *identities,
                                                    uint32_t origin,
                                                    const struct stream_record *stream);

/* Whether `asked` names the stream's process. All threads of a process have the answer of their process. */
bool identities_process_is_named(const struct identities *identities, uint32_t origin,
                                 const struct stream_record *stream, const char *asked);

/* Describes the machine we run on: IDs, name, system, addresses; header.time is now. What cannot be determined is
 * empty. */
void machine_describe(struct machine_record *ret_machine);

/* Opens the directory of the root cgroup2, mounted or not; the caller closes it. In a container it may be the
 * container's root only. Returns a negative errno if there is none, or none that we may open: if cgroup2 is not mounted,
 * this needs CAP_SYS_ADMIN. */
int cgroup_root_open(void);

/* Whether such a directory is the root of the machine's whole hierarchy. */
bool cgroup_is_machine_root(int directory);

/* The users and cgroups of the machine we run on, and which of their names have been reported. All zero at first. */
struct names {
    struct intern users;
    struct intern cgroup_ids;
    bool opened; /* `cgroups` has been looked for */
    int cgroups; /* the root cgroup's directory, or -1 */
};

/* Call it for every record before the record is stored. For a STREAM, writes the NAME records of its user and cgroup
 * that belong before it, with its time, and returns their number. Each name is reported once; after very many names,
 * all are reported again. What has no name, or cannot be determined, stays a number. */
size_t names_before(struct names *names, const struct record_header *header,
                    struct name_record ret_names[2]);

/* The directory of the root cgroup2, which stays open until names_done; negative: there is none. */
int names_cgroups(struct names *names);

/* The path of a cgroup2 below the root cgroup, "/" for that itself. Returns false if it cannot be determined. */
#define CGROUP_PATH_SIZE 4096
bool names_cgroup_path(struct names *names, uint64_t number, char path[CGROUP_PATH_SIZE]);

/* Makes the NAME of a cgroup from its path. */
void names_make_cgroup(uint64_t time, uint64_t number, const char *path,
                       struct name_record *ret_name);

/* Whether that NAME was not reported before. It counts as reported from now on. */
bool names_is_new(struct names *names, const struct name_record *name);

/* Users and cgroups are to be reported again, as they are needed. */
void names_again(struct names *names);
void names_done(struct names *names);

/* The command lines of the processes that are being recorded, as far as NAME records have reported them. All zero at
 * first. */
struct commands {
    struct lookup processes;
    struct lookup threads; /* streams that are not the first of their process -> its number */
    struct pool list;
    uint32_t next;
    /* if not NULL: called for each process that commands_changed looks at, and that has not ended */
    void (*looks_at)(void *context, uint32_t process, pid_t pid);
    void *context;
};

/* Call it for every record before the record is stored. Returns whether a NAME record belongs before it: the command
 * line of a process that ran when its metering began. */
bool commands_before(struct commands *commands, const struct record_header *header,
                     struct name_record *ret_name);

/* Whether a process has another command line than the recording says: some programs write a title there. It looks once
 * at each process whose program is `age` ns old at `now`; with age 0 at all. The record gets `time`. Call it until it
 * returns false. */
bool commands_changed(struct commands *commands, uint64_t now, uint64_t age, uint64_t time,
                      struct name_record *ret_name);
void commands_done(struct commands *commands);

/* Replaces passwords and other secrets in a command line by "***": --password=X, --token X, NAME_SECRET=X, mysql -pX, the
 * password in scheme://user:X@host ... One that has an unknown form stays. */
void command_hide_secrets(char command[NAME_SIZE]);

/* The command line of a running process: its arguments, separated by blanks, cut to `size` - 1 bytes. Returns false if it
 * has none, or it cannot be read. */
bool command_line_read(pid_t pid, char *text, size_t size);

/* ---- names of cgroups; kinds, sides and addresses of paths ---- */

#define CONTAINER_SIZE NAME_SIZE

/* Writes a short name for the unit that a cgroup's processes belong to: a container ID as `docker ps` shows it, a
 * systemd unit, otherwise the last component of the path; "/" for the root. Returns the length of the path's beginning
 * that identifies the unit: cgroups with the same beginning are in the same container. */
size_t container_name(const char *cgroup, char name[CONTAINER_SIZE]);

/* "tcp", "unix-stream" ...; "unknown" if there is no such kind. */
const char *path_kind_name(unsigned kind);

static inline bool kind_is_internet(unsigned kind)
{
    return kind == PATH_TCP || kind == PATH_UDP;
}

static inline bool kind_is_mq(unsigned kind)
{
    return kind == PATH_MQ_SYSV || kind == PATH_MQ_POSIX;
}

/* Check this before reading a path's `name`: identities do not store that member for paths that cannot have one. */
static inline bool path_may_have_name(const struct path_record *path)
{
    return !kind_is_internet(path->kind) || path->family == AF_UNIX;
}

/* Its ends have cookies that are unique everywhere: of another system, or of a job of MPI. */
static inline bool kind_is_channel(unsigned kind)
{
    return kind == PATH_CHANNEL || kind == PATH_BYTE_CHANNEL || kind == PATH_MPI;
}

/* Named (FIFO) or not. */
static inline bool kind_is_pipe(unsigned kind)
{
    return kind == PATH_PIPE || kind == PATH_FIFO;
}

enum path_side { PATH_SIDE_UNKNOWN, PATH_SIDE_CALLS, PATH_SIDE_SERVES };

/* Which side of a connection this end is, if its PATH record tells: it was connected or accepted. Else, and then
 * `ret_guessed` is set: the end without an ephemeral port serves, and that of a UNIX socket which has a name. */
enum path_side path_side(const struct path_record *path, bool *ret_guessed);

/* Whether the kind keeps message boundaries: its offsets count messages, not bytes. */
static inline bool kind_counts_messages(unsigned kind)
{
    return kind == PATH_UDP || kind == PATH_UNIX_DATAGRAM || kind == PATH_UNIX_SEQPACKET ||
           kind == PATH_MQ_SYSV || kind == PATH_MQ_POSIX || kind == PATH_CHANNEL ||
           kind == PATH_MPI;
}

/* A key for a number that is unique only within its recording. */
static inline uint64_t number_key(uint32_t origin, uint32_t number)
{
    return (uint64_t)origin << 32 | number;
}

/* Type (System V) or priority (POSIX) of the messages of a path of a message queue. */
int64_t path_message_type(const struct path_record *path);

#define ENDPOINT_SIZE 160

/* Writes the address of this or the other end of a path: "127.0.0.1:6379", "[::1]:80", "/run/x.sock", "@abstract",
 * "socket#1234" (its cookie), "unknown". Never fails; cuts what does not fit. A UNIX name is chosen by the program and
 * may contain any byte: pass it through show_text() before printing. */
void endpoint_local(const struct path_record *path, char text[ENDPOINT_SIZE]);
void endpoint_remote(const struct path_record *path, char text[ENDPOINT_SIZE]);

#endif
