/* SPDX-License-Identifier: MIT */
/*
 * generate.c: writes the standard trace, as two traces: many processes on two machines that send each other requests.
 * It can print what is in them (--json), to check readers against.
 *
 *      generate [--records N] [--seed S] [--processes N] [--paths N] [--churn N] [--json] ALPHA BETA
 *
 *      alpha   peer-0 ... peer-31    each fourth process has 4 threads
 *      beta    peer-32 ... peer-63   booted at another time; its wall clock is 120 us ahead
 *
 *      client                    server     a path connects a stream of one process with one of another
 *        | SEND ------> RECEIVE .. |        a request of 16 B to 511 B
 *        | .. RECEIVE <------ SEND |        the reply, 256 B to 128 KiB
 *                                           then the next request
 *
 * Paths are TCP, or UNIX between processes of the same machine. A fifth of the sends are received in pieces. `paths`
 * paths exist at any time; every `churn` records one is closed and a new one opened. A record of either machine comes
 * about every microsecond, for a random path, so a path takes about `paths` microseconds from one step to the next. A
 * SEND is always recorded before its RECEIVEs.
 */
#include "seeded.h"
#include "trace/trace.h"

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define MACHINES       2
#define TICK_LEAST     500u /* ns from one record to the next */
#define TICK_MOST      1500u
#define CPU_STEP       400u   /* ns that a stream uses before each of its records */
#define SEND_SPAN      300u   /* ns, less than TICK_LEAST: the bytes are never there too early */
#define LOCAL_DELAY    2000u  /* ns that bytes are in flight on one machine */
#define REMOTE_DELAY   50000u /* ... and between the machines */
#define SERVICE_TIME   10000u /* least ns from a request to its reply, and to the next request */
#define SECOND         1000000000ull
#define WALL_BEGINS    (1700000000 * SECOND) /* since 1970 */
#define PORT_FIRST     32768u
#define PORT_END       61000u
#define SERVER_PORT    5000u /* of the first process */
#define THREADS        4u    /* of each THREADS_EACH-th process */
#define THREADS_EACH   4u
#define SPLIT_EACH     5u /* one of this many sends is received in pieces ... */
#define PIECES_MOST    4u /* ... of which there are 2 to this many */
#define PROCESSES_MOST 10000u
#define PATHS_MOST     20000u

struct options {
    uint64_t records; /* approximately; at least as many as it takes to open and close the paths */
    uint64_t seed;
    uint64_t processes;
    uint64_t paths; /* existing at any time */
    uint64_t churn; /* records for each path closed and opened; 0: never */
    bool json;
    const char *traces[MACHINES];
};

struct sum {
    uint64_t messages;
    uint64_t bytes;
};

struct machine {
    const char *name;
    const char *address;
    uint64_t up;         /* ns since boot when the trace begins */
    uint64_t clock_lead; /* ns that its wall clock is ahead */
    struct trace_writer *writer;
    uint32_t streams; /* numbers assigned so far */
    uint32_t images;
    uint32_t paths;
    uint64_t sockets;
    uint32_t last_port;
    bool ports[PORT_END]; /* ports in use */
};

struct stream {
    struct process *process;
    uint32_t number;
    uint32_t sequence; /* of its next record */
    uint64_t cpu;      /* ns used so far */
};

struct process {
    struct machine *machine;
    uint32_t index; /* among the processes of both machines */
    uint32_t pid;
    uint32_t image;
    uint32_t parent; /* number of a stream, or 0 */
    struct stream *streams;
    uint32_t stream_count;
    char name[STREAM_NAME_SIZE];
    struct sum sent;
    struct sum received;
};

struct end {
    struct stream *stream;
    uint32_t number;
    uint16_t port;
    uint64_t cookie;
    uint32_t out; /* offset of what it sends next */
    uint32_t in;  /* ... and of what it receives next */
};

/* One step sends, or receives a piece of what was sent. */
struct path {
    enum path_kind kind;
    struct end ends[2];  /* client, server */
    unsigned sender;     /* the end that sends next, or has sent: 0 a request, 1 a reply */
    uint32_t pieces;     /* still to be received; 0: the sender's turn */
    uint32_t bytes_left; /* in these pieces */
    uint64_t ready;      /* time of the next step, at the earliest */
};

struct world {
    struct options options;
    struct machine machines[MACHINES];
    struct process *processes;
    struct stream *streams;
    struct path *paths;
    uint64_t random;
    uint64_t time; /* ns since the trace began */
    uint64_t records;
    uint64_t events; /* records that are no identities */
    uint64_t sends;
    uint64_t splits;
    uint64_t opened;   /* paths opened */
    struct sum *pairs; /* [sender's index * processes + receiver's] */
    struct sum kinds[PATH_KIND_END];
    uint64_t kind_paths[PATH_KIND_END];
};

static struct world world = {
    .options = {.records = 30000000, .seed = 1, .processes = 64, .paths = 1000, .churn = 100},
    .machines = {{.name = "alpha", .address = "10.0.0.1", .up = 400000 * SECOND},
                 {.name = "beta", .address = "10.0.0.2", .up = 90 * SECOND, .clock_lead = 120000}},
};

static void give_up(const char *text)
{
    fprintf(stderr, "generate: %s\n", text);
    exit(EXIT_FAILURE);
}

static void *allocate(uint64_t count, size_t size)
{
    void *memory = calloc(count, size);

    if (memory == NULL)
        give_up("out of memory");
    return memory;
}

/* ---- the machines' clocks ---- */

/* The machine whose trace is being written. */
static const struct machine *writing = &world.machines[0];

static uint64_t machine_time(const struct machine *machine)
{
    return machine->up + world.time;
}

/* Replaces the C library's function: the writer puts the wall clock into its packets, and here that must be the
 * clock of a machine that does not exist. */
int clock_gettime(clockid_t clock, struct timespec *ret_time)
{
    uint64_t time = clock == CLOCK_REALTIME ? WALL_BEGINS + writing->clock_lead + world.time
                                            : machine_time(writing);

    *ret_time = (struct timespec){(time_t)(time / SECOND), (long)(time % SECOND)};
    return 0;
}

static void begin_trace(struct machine *machine, const char *path)
{
    uint8_t which = (uint8_t)(machine - world.machines);
    struct machine_record record = {
        .header.time = machine_time(machine),
        .machine_id = {0xa0, which},
        .boot_id = {0xb0, which},
        .meter_flags = METER_EVENT_FLAGS,
        .system = "Linux 6.16 x86_64",
    };
    struct problem problem;

    writing = machine;
    memcpy(record.name, machine->name, strlen(machine->name));
    memcpy(record.addresses, machine->address, strlen(machine->address));
    if (trace_writer_new(path, &record, UINT64_MAX, &machine->writer, &problem) < 0)
        give_up(problem.text);
    world.records++;
}

static void end_trace(struct machine *machine)
{
    struct problem problem;

    writing = machine;
    if (trace_writer_close(machine->writer, END_COMPLETE, &problem) < 0)
        give_up(problem.text);
    world.records++;
}

/* ---- records ---- */

static void append(struct machine *machine, struct record_header *header)
{
    struct problem problem;

    world.time += TICK_LEAST + random_below(&world.random, TICK_MOST - TICK_LEAST + 1);
    header->time = machine_time(machine);
    writing = machine;
    if (trace_writer_append(machine->writer, header, &problem) < 0)
        give_up(problem.text);
    world.records++;
    world.events += header->id <= EVENT_TERMINATION;
}

/* A record of a stream's own action. */
static void append_by(struct stream *stream, enum event_id id, unsigned flags,
                      struct record *record)
{
    stream->cpu += CPU_STEP;
    record->header = (struct record_header){
        .id = (uint8_t)id,
        .load = 2,
        .flags = (uint16_t)flags,
        .sequence = stream->sequence++,
        .proc_time_and_pc = stream->cpu,
        .stream = stream->number,
    };
    append(stream->process->machine, &record->header);
}

static void process_event(struct stream *stream, enum event_id id)
{
    append_by(stream, id, 0, &(struct record){0});
}

static void path_event(const struct end *end, enum event_id id)
{
    append_by(end->stream, id, 0, &(struct record){.message.path = end->number});
}

/* ---- processes ---- */

static void tell_stream(const struct stream *stream, const char *name)
{
    const struct process *process = stream->process;
    uint32_t thread = (uint32_t)(stream - process->streams);
    struct stream_record record = {
        .header = {.id = EVENT_STREAM,
                   .flags = RECORD_NO_STREAM,
                   .proc_time_and_pc = stream->cpu,
                   .stream = stream->number},
        .pid = process->pid,
        .tid = process->pid + thread,
        .process = process->streams->number,
        .parent = thread == 0 ? process->parent : process->streams->number,
        .start = machine_time(process->machine),
        .pid_inside = process->pid,
        .user = 1000,
        .cgroup = 1,
        .pid_namespace = 4026531836u,
        .image = process->image,
    };

    memcpy(record.name, name, strnlen(name, sizeof(record.name)));
    append(process->machine, &record.header);
}

static void create_stream(struct stream *creator, struct stream *stream, const char *name)
{
    struct record record = {.create.thread =
                                creator != NULL && creator->process == stream->process};

    stream->number = ++stream->process->machine->streams;
    tell_stream(stream, name);
    if (creator != NULL) {
        record.create.child = stream->number;
        append_by(creator, EVENT_CREATEPROCESS, 0, &record);
    }
    process_event(stream, EVENT_STARTPROCESS);
}

static void execute(struct process *process)
{
    uint32_t number = ++process->machine->images;
    struct image_record record = {
        .header = {.id = EVENT_IMAGE, .flags = RECORD_NO_STREAM},
        .image = number,
        .device = 8 << 20 | 1,
        .inode = 1000 + number,
        .load = 0x400000,
    };

    process->image = number;
    snprintf(record.name, sizeof(record.name), "/usr/bin/%s", process->name);
    append(process->machine, &record.header);
    tell_stream(process->streams, process->name);
    append_by(process->streams, EVENT_EXEC, 0, &(struct record){.exec.image = number});
}

/* The first process of a machine is the metered command, and creates the others. */
static void create_process(struct process *process, struct process *first)
{
    bool is_first = process == first;

    process->parent = is_first ? 0 : first->streams->number;
    process->image = first->image;
    create_stream(is_first ? NULL : first->streams, process->streams, first->name);
    execute(process);
    for (uint32_t i = 1; i < process->stream_count; i++)
        create_stream(process->streams, &process->streams[i], process->name);
}

/* Returns the stream after its own. */
static struct stream *set_process(uint32_t index, struct machine *machine, struct stream *streams)
{
    struct process *process = &world.processes[index];

    *process = (struct process){
        .machine = machine,
        .index = index,
        .pid = 1000 + index * THREADS,
        .streams = streams,
        .stream_count = index % THREADS_EACH == THREADS_EACH - 1 ? THREADS : 1,
    };
    snprintf(process->name, sizeof(process->name), "peer-%u", index);
    for (uint32_t i = 0; i < process->stream_count; i++)
        streams[i].process = process;
    return streams + process->stream_count;
}

static void create_processes(void)
{
    uint32_t count = (uint32_t)world.options.processes;
    struct process *firsts[MACHINES] = {NULL};
    struct stream *next;

    world.processes = allocate(count, sizeof(*world.processes));
    world.streams = next = allocate((uint64_t)count * THREADS, sizeof(*world.streams));
    for (uint32_t i = 0; i < count; i++) {
        uint32_t where = i * MACHINES / count;
        next = set_process(i, &world.machines[where], next);
        if (firsts[where] == NULL)
            firsts[where] = &world.processes[i];
        create_process(&world.processes[i], firsts[where]);
    }
}

static void end_process(struct process *process)
{
    for (uint32_t i = process->stream_count; i-- > 0;)
        append_by(&process->streams[i], EVENT_TERMINATION, 0,
                  &(struct record){.termination.last = i == 0});
}

/* ---- paths: opening and closing ---- */

static struct process *process_of(const struct end *end)
{
    return end->stream->process;
}

static struct machine *machine_of(const struct end *end)
{
    return process_of(end)->machine;
}

static bool is_local(const struct path *path)
{
    return machine_of(&path->ends[0]) == machine_of(&path->ends[1]);
}

static bool is_byte_stream(const struct path *path)
{
    return path->kind == PATH_TCP || path->kind == PATH_UNIX_STREAM;
}

static enum path_kind choose_kind(bool local)
{
    static const enum path_kind kinds[] = {
        PATH_TCP,          PATH_TCP,         PATH_TCP,         PATH_TCP,
        PATH_UNIX_STREAM,  PATH_UNIX_STREAM, PATH_UNIX_STREAM, PATH_UNIX_SEQPACKET,
        PATH_UNIX_DATAGRAM};

    return local ? kinds[random_below(&world.random, ARRAY_SIZE(kinds))] : PATH_TCP;
}

/* The next port of a machine that no path uses: there are more ports than possible paths. */
static uint16_t take_port(struct machine *machine)
{
    do
        machine->last_port = machine->last_port < PORT_FIRST || machine->last_port == PORT_END - 1
                                 ? PORT_FIRST
                                 : machine->last_port + 1;
    while (machine->ports[machine->last_port]);
    machine->ports[machine->last_port] = true;
    return (uint16_t)machine->last_port;
}

static struct end new_end(struct process *process)
{
    return (struct end){
        .stream = &process->streams[random_below(&world.random, process->stream_count)],
        .number = ++process->machine->paths,
        .cookie = ++process->machine->sockets,
    };
}

static void set_tcp_addresses(const struct path *path, unsigned side, struct path_record *record)
{
    const struct end *end = &path->ends[side];
    const struct end *other = &path->ends[!side];
    bool local = is_local(path);

    record->family = AF_INET;
    record->local_port = end->port;
    record->remote_port = other->port;
    inet_pton(AF_INET, local ? "127.0.0.1" : machine_of(end)->address, record->local);
    inet_pton(AF_INET, local ? "127.0.0.1" : machine_of(other)->address, record->remote);
}

/* The server has a name; the two ends of a socket pair (datagrams) have none. */
static void set_unix_addresses(const struct path *path, unsigned side, struct path_record *record)
{
    record->family = AF_UNIX;
    record->peer = path->ends[!side].cookie;
    if (path->kind == PATH_UNIX_DATAGRAM)
        return;
    record->name_end = side == 0 ? PATH_NAME_REMOTE : PATH_NAME_LOCAL;
    snprintf(record->name, sizeof(record->name), "/run/%s.sock", process_of(&path->ends[1])->name);
}

static void tell_path(const struct path *path, unsigned side)
{
    const struct end *end = &path->ends[side];
    struct path_record record = {
        .header = {.id = EVENT_PATH, .flags = RECORD_NO_STREAM},
        .path = end->number,
        .kind = (uint8_t)path->kind,
        .role = side == 0 ? PATH_ROLE_CONNECTED : PATH_ROLE_ACCEPTED,
        .cookie = end->cookie,
        .inode = 1000000 + end->cookie,
        .network = 4026531840u,
        .start_out = end->out,
        .start_in = end->in,
    };

    if (path->kind == PATH_UNIX_DATAGRAM)
        record.role = PATH_ROLE_UNKNOWN;
    if (path->kind == PATH_TCP)
        set_tcp_addresses(path, side, &record);
    else
        set_unix_addresses(path, side, &record);
    append(machine_of(end), &record.header);
}

static void open_end(const struct path *path, unsigned side)
{
    tell_path(path, side);
    path_event(&path->ends[side], EVENT_CREATEPATH);
    if (path->kind != PATH_UNIX_DATAGRAM)
        path_event(&path->ends[side], side == 0 ? EVENT_CONNECT : EVENT_ACCEPT);
}

static void open_path(struct path *path)
{
    uint64_t count = world.options.processes;
    uint64_t client = random_below(&world.random, count);
    uint64_t server = (client + 1 + random_below(&world.random, count - 1)) % count;

    *path = (struct path){0};
    path->ends[0] = new_end(&world.processes[client]);
    path->ends[1] = new_end(&world.processes[server]);
    path->kind = choose_kind(is_local(path));
    if (path->kind == PATH_TCP) {
        path->ends[0].port = take_port(machine_of(&path->ends[0]));
        path->ends[1].port = (uint16_t)(SERVER_PORT + server);
        path->ends[0].out = path->ends[1].in = (uint32_t)random_number(&world.random);
        path->ends[1].out = path->ends[0].in = (uint32_t)random_number(&world.random);
    }
    open_end(path, 0);
    open_end(path, 1);
    world.opened++;
    world.kind_paths[path->kind]++;
}

/* ---- messages ---- */

static void add(struct sum *sum, uint32_t bytes)
{
    sum->messages++;
    sum->bytes += bytes;
}

/* From 2^first bytes to less than 2^end, each power equally likely. */
static uint32_t choose_size(unsigned first, unsigned end)
{
    uint32_t least = 1u << (first + random_below(&world.random, end - first));

    return least + (uint32_t)random_below(&world.random, least);
}

/* A debt makes it one in SPLIT_EACH of all sends, although only byte streams can be split. */
static uint32_t choose_pieces(const struct path *path)
{
    world.sends++;
    if (!is_byte_stream(path) || world.splits >= world.sends / SPLIT_EACH)
        return 1;
    world.splits++;
    return 2 + (uint32_t)random_below(&world.random, PIECES_MOST - 1);
}

static void send_message(struct path *path)
{
    struct end *from = &path->ends[path->sender];
    const struct end *to = &path->ends[!path->sender];
    uint32_t bytes = path->sender == 0 ? choose_size(4, 9) : choose_size(8, 17);

    append_by(from->stream, EVENT_SEND, 0,
              &(struct record){.message = {from->number, from->out, bytes, SEND_SPAN}});
    from->out += is_byte_stream(path) ? bytes : 1;
    path->pieces = choose_pieces(path);
    path->bytes_left = bytes;
    path->ready = world.time + (is_local(path) ? LOCAL_DELAY : REMOTE_DELAY);
    add(&process_of(from)->sent, bytes);
    add(&world.pairs[process_of(from)->index * world.options.processes + process_of(to)->index],
        bytes);
    add(&world.kinds[path->kind], bytes);
}

/* The receiver of the last piece sends next. */
static void receive_piece(struct path *path)
{
    struct end *to = &path->ends[!path->sender];
    uint32_t bytes =
        path->pieces == 1
            ? path->bytes_left
            : 1 + (uint32_t)random_below(&world.random, path->bytes_left - path->pieces + 1);

    append_by(to->stream, EVENT_RECEIVE, RECORD_CALL_IMPLIED,
              &(struct record){.message = {to->number, to->in, bytes, 0}});
    to->in += is_byte_stream(path) ? bytes : 1;
    path->bytes_left -= bytes;
    add(&process_of(to)->received, bytes);
    if (--path->pieces == 0) {
        path->sender = !path->sender;
        path->ready = world.time + SERVICE_TIME;
    }
}

static void step(struct path *path)
{
    if (world.time < path->ready)
        world.time = path->ready;
    if (path->pieces == 0)
        send_message(path);
    else
        receive_piece(path);
}

/* The client closes between two requests; an end that can see it gets the end of file. */
static void close_path(struct path *path)
{
    const struct end *client = &path->ends[0];
    const struct end *server = &path->ends[1];
    struct record destroyed = {.header = {.id = EVENT_DESTROYPATH, .flags = RECORD_NO_STREAM}};

    while (path->sender != 0 || path->pieces != 0)
        step(path);
    destroyed.message.path = client->number;
    append(machine_of(client), &destroyed.header);
    if (path->kind != PATH_UNIX_DATAGRAM)
        append_by(server->stream, EVENT_RECEIVE, RECORD_CALL_IMPLIED | RECORD_END_OF_FILE,
                  &(struct record){.message = {server->number, server->in, 0, 0}});
    destroyed.message.path = server->number;
    append(machine_of(server), &destroyed.header);
    machine_of(client)->ports[client->port] = false;
}

/* ---- the whole trace ---- */

/* A path that is ready for its next step, if a few attempts find one. */
static struct path *choose_path(void)
{
    struct path *path;
    unsigned attempts = 0;

    do
        path = &world.paths[random_below(&world.random, world.options.paths)];
    while (path->ready > world.time && ++attempts < 8);
    return path;
}

static void live(void)
{
    const struct options *options = &world.options;

    for (uint64_t i = 0; i < options->paths; i++)
        open_path(&world.paths[i]);
    uint64_t next_churn = world.records + options->churn;
    while (world.records < options->records) {
        step(choose_path());
        if (options->churn != 0 && world.records >= next_churn) {
            struct path *path = choose_path();
            close_path(path);
            open_path(path);
            next_churn += options->churn;
        }
    }
    for (uint64_t i = 0; i < options->paths; i++)
        close_path(&world.paths[i]);
}

static void generate(void)
{
    const struct options *options = &world.options;

    world.random = options->seed;
    world.paths = allocate(options->paths, sizeof(*world.paths));
    world.pairs = allocate(options->processes * options->processes, sizeof(*world.pairs));
    for (unsigned i = 0; i < MACHINES; i++)
        begin_trace(&world.machines[i], options->traces[i]);
    create_processes();
    live();
    for (uint64_t i = options->processes; i-- > 0;)
        end_process(&world.processes[i]);
    for (unsigned i = 0; i < MACHINES; i++)
        end_trace(&world.machines[i]);
}

/* ---- the contents, for --json ---- */

static json_t *sum_json(const struct sum *sum)
{
    return json_pack("{sI sI}", "messages", (json_int_t)sum->messages, "bytes",
                     (json_int_t)sum->bytes);
}

static json_t *processes_json(void)
{
    json_t *list = json_array();

    for (uint64_t i = 0; i < world.options.processes; i++) {
        const struct process *process = &world.processes[i];
        json_array_append_new(list,
                              json_pack("{ss sI so so}", "machine", process->machine->name, "pid",
                                        (json_int_t)process->pid, "sent", sum_json(&process->sent),
                                        "received", sum_json(&process->received)));
    }
    return list;
}

/* `from` and `to` are pids, unique across both machines. */
static json_t *pairs_json(void)
{
    uint64_t count = world.options.processes;
    json_t *list = json_array();

    for (uint64_t i = 0; i < count * count; i++) {
        const struct process *from = &world.processes[i / count];
        const struct process *to = &world.processes[i % count];
        if (world.pairs[i].messages == 0)
            continue;
        json_t *pair = sum_json(&world.pairs[i]);
        json_object_set_new(pair, "from", json_integer(from->pid));
        json_object_set_new(pair, "to", json_integer(to->pid));
        json_object_set_new(pair, "local", json_boolean(from->machine == to->machine));
        json_array_append_new(list, pair);
    }
    return list;
}

static json_t *kinds_json(void)
{
    json_t *kinds = json_object();

    for (unsigned kind = 0; kind < PATH_KIND_END; kind++) {
        if (world.kind_paths[kind] == 0)
            continue;
        json_t *sums = sum_json(&world.kinds[kind]);
        json_object_set_new(sums, "paths", json_integer((json_int_t)world.kind_paths[kind]));
        json_object_set_new(kinds, path_kind_name(kind), sums);
    }
    return kinds;
}

static int print_json(void)
{
    json_t *all = json_pack("{sI sI sI sI so so so}", "records", (json_int_t)world.records,
                            "events", (json_int_t)world.events, "paths", (json_int_t)world.opened,
                            "splits", (json_int_t)world.splits, "processes", processes_json(),
                            "pairs", pairs_json(), "kinds", kinds_json());
    int result = all == NULL ? -1 : json_dumpf(all, stdout, JSON_COMPACT);

    json_decref(all);
    return result < 0 || putchar('\n') == EOF ? -1 : 0;
}

static int print_records(void)
{
    return printf("%" PRIu64 " records\n", world.records);
}

/* ---- options ---- */

static const char usage[] =
    "usage: generate [--records N] [--seed S] [--processes N] [--paths N] [--churn N] [--json] "
    "ALPHA BETA\n";

struct number_option {
    uint64_t *value;
    uint64_t least;
    uint64_t most;
};

static const struct option longs[] = {
    {"records", required_argument, NULL, 0},
    {"seed", required_argument, NULL, 1},
    {"processes", required_argument, NULL, 2},
    {"paths", required_argument, NULL, 3},
    {"churn", required_argument, NULL, 4},
    {"json", no_argument, NULL, 'j'},
    {NULL, 0, NULL, 0},
};

static const struct number_option numbers[] = {
    {&world.options.records, 1, 1000000000000},
    {&world.options.seed, 0, UINT64_MAX},
    {&world.options.processes, MACHINES, PROCESSES_MOST},
    {&world.options.paths, 1, PATHS_MOST},
    {&world.options.churn, 0, 1000000000000},
};

static void set_number(size_t which, const char *text)
{
    const struct number_option *option = &numbers[which];
    char *end;

    errno = 0;
    uint64_t value = strtoull(text, &end, 10);
    if (errno != 0 || *text < '0' || *text > '9' || *end != '\0' || value < option->least ||
        value > option->most) {
        fprintf(stderr, "generate: --%s '%s': give a number from %" PRIu64 " to %" PRIu64 "\n",
                longs[which].name, text, option->least, option->most);
        exit(2);
    }
    *option->value = value;
}

static void parse_options(int argc, char **argv)
{
    int option;

    while ((option = getopt_long(argc, argv, "", longs, NULL)) != -1) {
        if (option == '?')
            exit(2);
        if (option == 'j')
            world.options.json = true;
        else
            set_number((size_t)option, optarg);
    }
    if (argc - optind != MACHINES) {
        fputs(usage, stderr);
        exit(2);
    }
    for (unsigned i = 0; i < MACHINES; i++)
        world.options.traces[i] = argv[optind + (int)i];
}

int main(int argc, char **argv)
{
    parse_options(argc, argv);
    generate();
    if ((world.options.json ? print_json() : print_records()) < 0 || fflush(stdout) != 0)
        give_up("cannot write the output");
    free(world.processes);
    free(world.streams);
    free(world.paths);
    free(world.pairs);
    return EXIT_SUCCESS;
}
