/* SPDX-License-Identifier: MIT */
/*
 * sensor.h: sensors and probes of the Issos monitor (Ogle, Schwan, Snodgrass 1993, section II.A): values of a running
 * program's variables, without a change to the program.
 *
 *      struct sensor_program    a running process, or a file: its symbols and debug information
 *          |         |
 *          |         '--> probe: reads expressions now, with process_vm_readv(2)
 *          '--> sensor: a place in the program, expressions, a condition    (all of a struct sensors)
 *                   |
 *                   '-- program reaches the place --> kernel program evaluates --> ring --> sensors_next
 *
 * Expressions are those of attributes: C, over
 *      - at a place: thread-local variables of the program (not of libraries), of the thread that is there;
 *      - variables of the program (of a file: "queue.c"'s statics are found by name, too), members, elements, pointers;
 *      - at a place in the code: arguments and local variables of the function;
 *      - without debug information: symbols, with their type by a cast: *(unsigned long *)ngx_stat_active;
 *      - at a place: arg1 ... arg6, the arguments of the function (of the USDT probe) as integers, and registers: rdi.
 * They are compiled once, against the debug information: an unknown name or member is an error with line and column.
 *
 * An extended sensor also has a condition, which the kernel evaluates where the value is: only what it accepts
 * goes into the ring.
 *
 * Not thread-safe: one thread uses a struct sensors and its programs.
 */
#ifndef DPM_SENSOR_H
#define DPM_SENSOR_H

#include "base/base.h"
#include "view/planner.h"

#include <sys/types.h>

/* ---- values ---- */

enum sensor_kind_of_value {
    SENSOR_UNKNOWN, /* memory that could not be read (a null pointer), a division by 0 */
    SENSOR_SIGNED,
    SENSOR_UNSIGNED,
    SENSOR_REAL,
    SENSOR_TEXT,   /* of a char * or array of char */
    SENSOR_STRUCT, /* its text: {a: 3, name: "x", inner: {b: 9}}, of its first 128 bytes */
};

#define SENSOR_TEXT_SIZE 256 /* cut if longer: a text of the program to 127 bytes */

struct sensor_value {
    enum sensor_kind_of_value kind;
    union {
        int64_t number;
        uint64_t natural;
        double real;
        char text[SENSOR_TEXT_SIZE];
    };
};

/* As views see it. A text stays the sensor_value's. Integers beyond 2^53 are rounded, as in all views. */
struct view_value sensor_value_of_view(const struct sensor_value *value);

/* "-12", "2.5", "\"a text\"", "unknown"; pointers are decimal numbers. Returns what snprintf would. */
int sensor_value_text(const struct sensor_value *value, char *text, size_t size);

/* ---- a running program ---- */

struct sensor_program;

/* Opens a process: its modules, symbols and debug information (in the file, or separate: /usr/lib/debug, by build-id).
 * Needs the right to ptrace the process; without it, -EPERM. Other errors: -ESRCH, -ENOMEM ..., with a line in
 * `problem`. Takes some 10 ms; debug information is read when an expression needs it. */
int sensor_program_open(pid_t pid, struct sensor_program **ret_program, struct problem *problem);

/* Opens a program's file: for sensors in every process that executes it, those included that begin later, from their first
 * instruction on. Needs root, else -EPERM. It has no variables of libraries, no probes, and no hardware watchpoints.
 * -ENOTSUP: a library, for which processes would pay that nobody has chosen. */
int sensor_program_open_file(const char *path, struct sensor_program **ret_program,
                             struct problem *problem);

/* Accepts NULL. Its probes and sensors must be closed before. */
void sensor_program_close(struct sensor_program *program);

/* 0: a file. */
pid_t sensor_program_pid(const struct sensor_program *program);

/* 0: the program is as it was opened. 1: it has loaded or unloaded libraries since (dlopen): sensor_program_refresh.
 * Negative, with a line in `problem`: -ESRCH: it has ended; -ESTALE: the process executes another program (or the same
 * one anew), so all of its expressions are void: close it and open it again. */
int sensor_program_state(struct sensor_program *program, struct problem *problem);

/* Reads the libraries anew, for expressions compiled from now on. Those compiled before stay as they are. */
int sensor_program_refresh(struct sensor_program *program, struct problem *problem);

/* Where the text of an expression stands, for errors: "queue.view:3:14: ...". NULL file: "expression:1:14: ...". */
struct sensor_source {
    const char *file;
    uint32_t line, column; /* of its first byte; 0: 1 */
};

/* ---- probes ---- */

struct sensor_probe;

/* Compiles an expression over global variables. Returns 0; -EINVAL: wrong, with place and near names in `problem`;
 * -ENOENT: an unknown name, the same; or as sensor_program_state. `source` may be NULL. */
int sensor_probe_new(struct sensor_program *program, const char *expression,
                     const struct sensor_source *source, struct sensor_probe **ret_probe,
                     struct problem *problem);
void sensor_probe_free(struct sensor_probe *probe); /* accepts NULL */

/* Reads the value, and when it was read (CLOCK_MONOTONIC, ns): to 25 us, unless the kernel has interrupted five attempts in a row.
 * Never writes to the program, and does not stop it: an expression of several variables may see one before and another after a
 * change. Returns 0, also if the value is SENSOR_UNKNOWN; or as sensor_program_state. */
int sensor_probe_read(struct sensor_probe *probe, struct sensor_value *ret_value,
                      uint64_t *ret_time, struct problem *problem);

/* Whether its values are texts, or structs. */
bool sensor_probe_is_text(const struct sensor_probe *probe);

/* The type, as C writes it: "unsigned long". */
const char *sensor_probe_type(const struct sensor_probe *probe);

/* ---- sensors ---- */

struct sensors; /* kernel programs and a ring, for any number of programs */
struct sensor;

#define SENSORS_MOST       256
#define SENSOR_VALUES_MOST 8

/* Loads the kernel programs. Needs CAP_BPF and CAP_PERFMON, or root; else -EPERM with a line that says so.
 * `ring_size`: bytes, a power of two; 0: 1 MiB. */
int sensors_open(uint32_t ring_size, struct sensors **ret_sensors, struct problem *problem);

/* Detaches and frees all its sensors. Accepts NULL. All goes away when the caller ends, too, even by kill -9. */
void sensors_close(struct sensors *sensors);

struct sensor_wish {
    struct sensor_program *program;
    /*
     * "enqueue"            entry of a function (of a C++ or Rust one: "list::push", too)
     * "queue.c:123"        a line of a source file, before it is executed
     * "enqueue:return"     where the function returns: its result is `retval`
     * "redis:call_end"     a USDT probe, provider:name; its semaphore is raised while the sensor is on
     * NULL or ""           the variable itself: the first value must be one, of 1, 2, 4 or 8 bytes; a hardware
     *                      watchpoint reports each store to it (which costs the program about 10 us each)
     */
    const char *place;
    const char *const *values;           /* C expressions */
    const struct sensor_source *sources; /* [value_count], or NULL */
    size_t value_count;                  /* 1 to SENSOR_VALUES_MOST */
    /* Only if a value differs from the last time that the program was there. Always so for a variable itself: a store of
     * the same value is no change. */
    bool changes_only;
    /* The paper's notification: the descriptor becomes readable with each record. false, message: the caller looks now
     * and then. */
    bool notify;
    bool family; /* a file: only processes of sensors_follow */
};

/* Adds a sensor, which is off. Its values are compiled at its place. Errors as sensor_probe_new, and -ENOENT: no such
 * function, line or probe, with near names; -ENOTSUP: a value that the kernel cannot evaluate (floating point, except
 * a variable alone; texts), or a place without debug information that a value needs; -ENOSPC: too many sensors. */
int sensor_add(struct sensors *sensors, const struct sensor_wish *wish, struct sensor **ret_sensor,
               struct problem *problem);
void sensor_remove(struct sensor *sensor); /* accepts NULL */

/* Its number in records: from 0, of those that are free. */
uint32_t sensor_number(const struct sensor *sensor);

/* Makes it an extended sensor: it passes on each time that a condition of this instance is true, and the first one after
 * that for which none is, or crossings only: exactly what view_filter_passes would (values beyond 2^52, or sums of such, pass always).
 * `value_of[r]`: the value of this sensor that is the view's reference r, for those of this instance. Sensors
 * that are on stay on, and nothing is attached anew: so this also changes a constant. The kernel uses the old
 * condition or the new one, never a mixture. NULL conditions: no condition any more.
 * -ENOTSUP with a line in `problem`: the kernel cannot evaluate it (divisions, texts, floating-point values); then use
 * view_filter_passes on the sensor's records. */
int sensor_condition(struct sensor *sensor, const struct view_conditions *conditions,
                     uint32_t entity, const uint32_t *value_of, struct problem *problem);

/* The next record passes, whatever the condition says, and whether or not its values have changed: for a caller that has read a value
 * meanwhile, or has another condition. The value may have held for a moment only: without a record, the caller would keep it. */
void sensor_pass_next(struct sensor *sensor);

/* Switches it on (attaches it; takes some ms): a record each time that the program reaches the place; or off: no more
 * records are made then, and it costs the program nothing. */
int sensor_switch(struct sensor *sensor, bool on, struct problem *problem);

/* Counted in the kernel, since the sensor was added. hits = passed + refused + unchanged + lost. */
struct sensor_counts {
    uint64_t hits;      /* the program was at the place while the sensor was on */
    uint64_t passed;    /* records in the ring */
    uint64_t refused;   /* by the condition */
    uint64_t unchanged; /* changes_only */
    uint64_t lost;      /* the ring was full */
    uint64_t foreign;   /* no hits: other processes that map the file */
};

void sensor_counts_read(const struct sensor *sensor, struct sensor_counts *ret_counts);

/* ---- records ---- */

enum sensor_command {
    SENSOR_NEW_VAL = 1, /* the paper's name */
    SENSOR_ENDED,       /* notice: the process has ended */
    SENSOR_EXECUTED,    /* notice: it executes another program; its sensors make no more records */
    /* sensors_tell_beginnings: a process, or another program in it, has begun; values[0]: its name; [1] and [2]: inode and
     * device (as in the kernel) of the file that it executes */
    SENSOR_BEGUN,
};

struct sensor_record {
    enum sensor_command command;
    uint32_t sensor; /* number; NEW_VAL only */
    uint64_t time;   /* CLOCK_MONOTONIC, ns */
    pid_t pid, tid;  /* tid, and pid of a sensor of a file: as the initial PID namespace has them */
    uint32_t value_count; /* NEW_VAL */
    struct sensor_value values[SENSOR_VALUES_MOST];
};

/* The end of a program is a notice, without a sensor. Returns 0, or a negative errno with a line in `problem`. */
int sensors_watch(struct sensors *sensors, struct sensor_program *program, struct problem *problem);
void sensors_unwatch(struct sensors *sensors, struct sensor_program *program);

/* A sensor of a file makes no records of a process that it has met, or makes them again. */
void sensor_mute(struct sensor *sensor, pid_t pid, bool muted);

/* From now on, each process of this machine that begins, or executes a program, is a record. Returns 0, or a negative errno with
 * a line in `problem`. */
int sensors_tell_beginnings(struct sensors *sensors, struct problem *problem);

/* How many of these records were lost: the ring was full. */
uint64_t sensors_lost_beginnings(const struct sensors *sensors);

/* Sensors with `family` are those of this process and of all that descends from it, from the first instruction on. Once for a
 * struct sensors. Returns 0, or a negative errno with a line in `problem`. */
int sensors_follow(struct sensors *sensors, pid_t pid, struct problem *problem);

/* How many descendants could not be followed: there were more than 65536 processes. */
uint64_t sensors_not_followed(const struct sensors *sensors);

/* Readable when a record of a sensor with `notify`, or a notice, has come. Also watch with poll(2) or epoll(7). */
int sensors_descriptor(const struct sensors *sensors);

/* Returns 1 with the next record, in the order in which the kernel made them; 0: none now; or a negative errno. Records
 * of sensors that have been removed are skipped. */
int sensors_next(struct sensors *sensors, struct sensor_record *ret_record);

#endif
