/* SPDX-License-Identifier: MIT */
/*
 * created.c: processes that the agent has created.
 *
 *      process.create --> new --process.start--> running <--SIGSTOP, SIGCONT--> stopped
 *                          |                        |                              |
 *                          '------ the recording ends, or the agent ---------------'--> ended
 *
 * If the agent is killed, those that were never started end (launch.h), and stopped ones continue (death_signal).
 */
#include "agent/agent_private.h"
#include "base/base64.h"
#include "base/process.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARGUMENTS_MOST 4096
#define INPUT_MOST     (1u << 20) /* bytes that wait for a process to read them */
#define PIECES_MOST    16         /* of one output at a time: requests are served in between */

static struct created *find(const struct agent *agent, json_t *params, struct problem *problem)
{
    json_t *pid = json_object_get(params, "pid");

    for (struct created *each = agent->created; json_is_integer(pid) && each != NULL;
         each = each->next)
        if (each->pid == json_integer_value(pid))
            return each;
    problem_set(problem, -ESRCH, "this agent has created no process %" JSON_INTEGER_FORMAT,
                json_integer_value(pid));
    return NULL;
}

static size_t count_alive(const struct agent *agent)
{
    size_t count = 0;

    for (const struct created *each = agent->created; each != NULL; each = each->next)
        count += each->state != CREATED_ENDED;
    return count;
}

static void close_file(int *file)
{
    if (*file >= 0)
        close(*file);
    *file = -1;
}

static void close_output(struct created *created, int which)
{
    close_file(&created->output[which]);
    free(created->pieces[which].bytes);
    created->pieces[which].bytes = NULL;
}

static void free_one(struct created *created)
{
    close_output(created, 0);
    close_output(created, 1);
    close_file(&created->input);
    free(created->waiting);
    free(created);
}

/* ---- creating ---- */

/* What launch_suspended needs; the strings are of the request. */
struct creation {
    char **arguments;
    char **environment;
    char program[AGENT_PATH];
    int program_folder; /* -1: the path is enough */
    const char *directory, *user;
    bool input;
};

static void creation_done(struct creation *creation)
{
    for (size_t i = 0; creation->environment != NULL && creation->environment[i] != NULL; i++)
        free(creation->environment[i]);
    free(creation->environment);
    free(creation->arguments);
    close_file(&creation->program_folder);
}

static int read_command(json_t *command, struct creation *creation, struct problem *problem)
{
    size_t count = json_array_size(command);

    if (count == 0 || count > ARGUMENTS_MOST)
        return problem_set(problem, -EINVAL, "process.create: \"command\" is an array of words");
    creation->arguments = calloc(count + 1, sizeof(*creation->arguments));
    if (creation->arguments == NULL)
        return problem_set(problem, -ENOMEM, "out of memory for the command");
    for (size_t i = 0; i < count; i++) {
        const char *word = json_string_value(json_array_get(command, i));
        if (word == NULL)
            return problem_set(problem, -EINVAL,
                               "process.create: each word of the command must be text");
        creation->arguments[i] = (char *)word;
    }
    return 0;
}

static int read_environment(json_t *environment, struct creation *creation, struct problem *problem)
{
    size_t count = 0;
    const char *name;
    json_t *value;

    creation->environment = calloc(json_object_size(environment) + 1, sizeof(char *));
    if (creation->environment == NULL)
        return problem_set(problem, -ENOMEM, "out of memory for the environment");
    json_object_foreach(environment, name, value)
    {
        const char *text = json_string_value(value);
        if (text == NULL || name[0] == '\0' || strchr(name, '=') != NULL)
            return problem_set(
                problem, -EINVAL,
                "process.create: \"environment\" must be an object of names and texts");
        if (asprintf(&creation->environment[count], "%s=%s", name, text) < 0) {
            creation->environment[count] = NULL;
            return problem_set(problem, -ENOMEM, "out of memory for the environment");
        }
        count++;
    }
    return 0;
}

/* Another user cannot go to the folder of copies, which is below one that is ours alone. Through the descriptor, which a script
 * keeps, he can run what he knows the hash of, and lists nothing. */
static int open_for_user(struct creation *creation, struct problem *problem)
{
    char folder[AGENT_PATH];

    snprintf(folder, sizeof(folder), "%.*s",
             (int)(strrchr(creation->program, '/') - creation->program), creation->program);
    creation->program_folder = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (creation->program_folder < 0 || chmod(folder, 0711) < 0 ||
        chmod(creation->program, 0755) < 0)
        return problem_set(problem, -errno, "cannot open the copied program for user %s: %s",
                           creation->user, strerror(errno));
    return 0;
}

static int read_creation(json_t *params, struct creation *creation, struct problem *problem)
{
    json_t *command = NULL, *environment = NULL;
    const char *program = NULL;
    int input = 0;
    json_error_t error;

    if (json_unpack_ex(params, &error, 0, "{s:o, s?:s, s?:o, s?:s, s?:s, s?:b}", "command",
                       &command, "directory", &creation->directory, "environment", &environment,
                       "user", &creation->user, "program", &program, "input", &input) < 0)
        return problem_set(problem, -EINVAL, "process.create: %s", error.text);
    creation->input = input != 0;
    int result = read_command(command, creation, problem);
    if (result == 0)
        result = read_environment(environment, creation, problem);
    if (result == 0 && program != NULL &&
        (result = programs_path(program, creation->program, problem)) == 0)
        creation->arguments[0] = creation->program;
    if (result == 0 && program != NULL && creation->user != NULL)
        result = open_for_user(creation, problem);
    return result;
}

/* Pipes for the three files. [0] is the end to read from. */
static int open_pipes(bool input, int pipes[3][2])
{
    for (int i = 0; i < 3; i++)
        pipes[i][0] = pipes[i][1] = -1;
    if (!input)
        pipes[0][0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    else if (pipe2(pipes[0], O_CLOEXEC) < 0)
        return -errno;
    if (pipes[0][0] < 0 || pipe2(pipes[1], O_CLOEXEC) < 0 || pipe2(pipes[2], O_CLOEXEC) < 0)
        return -errno;
    for (int i = 1; i < 3; i++)
        fcntl(pipes[i][0], F_SETFL, O_NONBLOCK);
    if (input)
        fcntl(pipes[0][1], F_SETFL, O_NONBLOCK);
    return 0;
}

static void close_pipes(int pipes[3][2])
{
    for (int i = 0; i < 3; i++) {
        close_file(&pipes[i][0]);
        close_file(&pipes[i][1]);
    }
}

static int launch(const struct agent *agent, struct created *created,
                  const struct creation *creation, struct problem *problem)
{
    int pipes[3][2];
    int result = open_pipes(creation->input, pipes);

    if (result < 0) {
        close_pipes(pipes);
        return problem_set(problem, result, "cannot create a pipe: %s", strerror(-result));
    }
    const struct launch_options launch = {
        .arguments = creation->arguments,
        .folder = creation->program_folder < 0 ? NULL : &creation->program_folder,
        .user = creation->user,
        .signal_mask = &agent->old_mask,
        .files = (const int[]){pipes[0][0], pipes[1][1], pipes[2][1]},
        .directory = creation->directory,
        .environment = creation->environment,
        .own_session = true,
        .death_signal = SIGCONT,
        .prepare = created->meter->enter,
        .context = created->meter,
        .reaped_elsewhere = created->meter->kind == METER_PTRACE,
    };
    /* libnats leaves its connection open at exec; closed then, it is not metered as the program's either */
    close_range(3, ~0u, CLOSE_RANGE_CLOEXEC);
    result = launch_suspended(&launch, &created->launched, problem);
    if (result == 0) {
        created->pid = created->launched.pid;
        created->input = pipes[0][1];
        created->output[0] = pipes[1][0];
        created->output[1] = pipes[2][0];
        pipes[0][1] = pipes[1][0] = pipes[2][0] = -1;
    }
    close_pipes(pipes);
    return result;
}

/* As process.list shows it. Cuts no UTF-8 character in two. */
static void take_command(struct created *created, const char *command)
{
    size_t length = strlen(command);

    if (length >= sizeof(created->command)) {
        length = sizeof(created->command) - 1;
        while (length > 0 && ((unsigned char)command[length] & 0xc0) == 0x80)
            length--;
    }
    snprintf(created->command, sizeof(created->command), "%.*s", (int)length, command);
}

static int create(struct agent *agent, struct agent_recording *recording, json_t *params,
                  struct created *created, struct problem *problem)
{
    struct creation creation = {.program_folder = -1};
    int result = read_creation(params, &creation, problem);

    created->input = created->output[0] = created->output[1] = -1;
    created->meter = recording->recording.meter;
    snprintf(created->recording, sizeof(created->recording), "%s", recording->name);
    if (result == 0) {
        take_command(created, creation.arguments[0]);
        result = launch(agent, created, &creation, problem);
    }
    creation_done(&creation);
    if (result < 0)
        return result;
    result = created->meter->mark(created->meter, created->pid, problem);
    if (result < 0)
        launch_cancel(&created->launched);
    else
        recordings_begin_one(recording);
    return result;
}

int created_create(struct agent *agent, json_t *params, json_t **ret_result,
                   struct problem *problem)
{
    struct agent_recording *recording = NULL;
    int result = recordings_find_active(agent, params, &recording, problem);

    if (result < 0)
        return result;
    if (count_alive(agent) >= AGENT_MOST)
        return problem_set(problem, -EUSERS, "an agent creates at most %d processes", AGENT_MOST);
    struct created *created = calloc(1, sizeof(*created));
    if (created == NULL)
        return problem_set(problem, -ENOMEM, "out of memory for a process");
    result = create(agent, recording, params, created, problem);
    if (result < 0) {
        free_one(created);
        return result;
    }
    created->next = agent->created;
    agent->created = created;
    *ret_result = json_pack("{s:i}", "pid", created->pid);
    return 0;
}

/* ---- states ---- */

static void tell_ended(struct agent *agent, struct created *created, const struct rusage *usage)
{
    json_t *params =
        json_pack("{s:i, s:s, s:I}", "pid", created->pid, "recording", created->recording,
                  "elapsed", (json_int_t)(clock_now(CLOCK_MONOTONIC) - created->started));

    if (WIFSIGNALED(created->status))
        json_object_set_new(params, "signal", json_integer(WTERMSIG(created->status)));
    else
        json_object_set_new(params, "status", json_integer(WEXITSTATUS(created->status)));
    if (usage != NULL) {
        json_object_set_new(
            params, "user_time",
            json_integer(usage->ru_utime.tv_sec * 1000000000LL + usage->ru_utime.tv_usec * 1000LL));
        json_object_set_new(
            params, "system_time",
            json_integer(usage->ru_stime.tv_sec * 1000000000LL + usage->ru_stime.tv_usec * 1000LL));
        json_object_set_new(params, "max_resident", json_integer(usage->ru_maxrss * 1024LL));
    }
    created->state = CREATED_ENDED;
    close_file(&created->launched.pid_fd);
    close_file(&created->input);
    agent_notice(agent, "process.ended", params);
}

static void tell_stopped(struct agent *agent, struct created *created, bool stopped)
{
    created->state = stopped ? CREATED_STOPPED : CREATED_RUNNING;
    agent_notice(agent, stopped ? "process.stopped" : "process.continued",
                 json_pack("{s:i, s:s}", "pid", created->pid, "recording", created->recording));
}

static void look_at_child(struct agent *agent, struct created *created)
{
    struct rusage usage;
    int status;
    pid_t found = 0;

    while (created->state != CREATED_ENDED &&
           (found = wait4(created->pid, &status, WNOHANG | WUNTRACED | WCONTINUED, &usage)) > 0) {
        created->status = status;
        if (WIFEXITED(status) || WIFSIGNALED(status))
            tell_ended(agent, created, &usage);
        else
            tell_stopped(agent, created, WIFSTOPPED(status));
    }
    if (found < 0 && errno == ECHILD && created->state != CREATED_ENDED) {
        created->status = SIGKILL; /* its tracer has killed and reaped it */
        tell_ended(agent, created, NULL);
    }
}

static void look(struct agent *agent, struct created *created)
{
    if (created->state == CREATED_NEW || created->state == CREATED_ENDED)
        return;
    if (created->meter == NULL || created->meter->ended == NULL)
        look_at_child(agent, created);
    else if (created->meter->ended(created->meter, created->pid, &created->status))
        tell_ended(agent, created, NULL);
}

void created_look(struct agent *agent)
{
    for (struct created *each = agent->created; each != NULL; each = each->next)
        look(agent, each);
}

int created_start(struct agent *agent, json_t *params, json_t **ret_result, struct problem *problem)
{
    struct created *created = find(agent, params, problem);

    (void)ret_result;
    if (created == NULL)
        return -ESRCH;
    if (created->state != CREATED_NEW)
        return problem_set(problem, -EALREADY, "process %d was started already", created->pid);
    created->started = clock_now(CLOCK_MONOTONIC);
    int result = launch_release(&created->launched, problem);
    created->state = result < 0 ? CREATED_ENDED : CREATED_RUNNING;
    if (result < 0) {
        struct problem why = *problem;
        problem_set(problem, result, "%s: %s", created->command, why.text);
        created->status = (result == -ENOENT ? 127 : 126) << 8;
    }
    return result;
}

static int signal_number(json_t *signal)
{
    const char *word = json_string_value(signal);

    if (json_is_integer(signal))
        return (int)json_integer_value(signal);
    if (word != NULL && strncmp(word, "SIG", 3) == 0)
        word += 3;
    for (int number = 1; word != NULL && number < NSIG; number++) {
        const char *name = sigabbrev_np(number);
        if (name != NULL && strcmp(name, word) == 0)
            return number;
    }
    return 0;
}

int created_signal(struct agent *agent, json_t *params, json_t **ret_result,
                   struct problem *problem)
{
    struct created *created = find(agent, params, problem);
    int number = signal_number(json_object_get(params, "signal"));

    (void)ret_result;
    if (created == NULL)
        return -ESRCH;
    if (number <= 0 || number >= NSIG)
        return problem_set(problem, -EINVAL, "process.signal: \"signal\" is a name or a number");
    if (created->state == CREATED_ENDED)
        return problem_set(problem, -ESRCH, "process %d has ended", created->pid);
    if (created->state == CREATED_NEW && number != SIGKILL && number != SIGTERM)
        return problem_set(problem, -EINVAL, "process %d was not started yet", created->pid);
    if (created->state == CREATED_NEW) {
        created->status = number;
        launch_cancel(&created->launched);
        tell_ended(agent, created, NULL);
        return 0;
    }
    /* the whole group: its shell's children, too */
    if (kill(-created->pid, number) < 0 && kill(created->pid, number) < 0)
        return problem_set(problem, -errno, "cannot signal process %d: %s", created->pid,
                           strerror(errno));
    /* what a tracer waits for, wait4() does not report here */
    bool traced = created->meter != NULL && created->meter->ended != NULL;
    if (traced && (number == SIGSTOP || number == SIGCONT))
        tell_stopped(agent, created, number == SIGSTOP);
    return 0;
}

int created_list(struct agent *agent, json_t *params, json_t **ret_result, struct problem *problem)
{
    static const char *const states[] = {"new", "running", "stopped", "ended"};
    json_t *list = json_array();

    (void)params;
    (void)problem;
    for (const struct created *each = agent->created; each != NULL; each = each->next) {
        json_t *one =
            json_pack("{s:i, s:s, s:o, s:s}", "pid", each->pid, "recording", each->recording,
                      "command", agent_text(each->command), "state", states[each->state]);
        if (each->state == CREATED_ENDED && WIFSIGNALED(each->status))
            json_object_set_new(one, "signal", json_integer(WTERMSIG(each->status)));
        else if (each->state == CREATED_ENDED)
            json_object_set_new(one, "status", json_integer(WEXITSTATUS(each->status)));
        json_array_append_new(list, one);
    }
    *ret_result = json_pack("{s:o}", "processes", list);
    return 0;
}

/* ---- input and output ---- */

static void write_waiting(struct created *created)
{
    ssize_t written = 0;

    while (created->input >= 0 && created->waiting_size > 0 &&
           (written = write(created->input, created->waiting, created->waiting_size)) > 0) {
        created->waiting_size -= (size_t)written;
        memmove(created->waiting, created->waiting + written, created->waiting_size);
    }
    bool closed = written < 0 && errno != EAGAIN && errno != EINTR;
    if (closed || (created->waiting_size == 0 && created->input_ends))
        close_file(&created->input);
}

/* How much of what is given it has already: the answer to an earlier request was lost, and it is given again. */
static int count_double(const struct created *created, json_t *at, size_t size, size_t *ret_double,
                        struct problem *problem)
{
    uint64_t before = json_is_integer(at) ? (uint64_t)json_integer_value(at) : UINT64_MAX;

    *ret_double = 0;
    if (at == NULL)
        return 0;
    if (before > created->given)
        return problem_set(problem, -EINVAL,
                           "process.input: \"at\" is more than process %d was given", created->pid);
    uint64_t twice = created->given - before;
    *ret_double = twice < size ? (size_t)twice : size;
    return 0;
}

static int take_input(struct created *created, const char *bytes, size_t size, bool ends,
                      struct problem *problem)
{
    if (created->input < 0)
        return problem_set(problem, -EPIPE, "process %d reads no input", created->pid);
    if (created->waiting_size + size > INPUT_MOST)
        return problem_set(problem, -EAGAIN, "process %d has not read its input yet", created->pid);
    char *grown = realloc(created->waiting, created->waiting_size + size + 1);
    if (grown == NULL)
        return problem_set(problem, -ENOMEM, "out of memory for input");
    memcpy(grown + created->waiting_size, bytes, size);
    created->waiting = grown;
    created->waiting_size += size;
    created->given += size;
    created->input_ends = created->input_ends || ends;
    write_waiting(created);
    return 0;
}

int created_input(struct agent *agent, json_t *params, json_t **ret_result, struct problem *problem)
{
    struct created *created = find(agent, params, problem);
    json_t *data = json_object_get(params, "data"), *at = json_object_get(params, "at");
    bool ends = json_is_true(json_object_get(params, "end"));
    size_t length = json_string_length(data), doubled = 0;

    (void)ret_result;
    if (created == NULL)
        return -ESRCH;
    char *bytes = malloc(length + 1);
    if (bytes == NULL)
        return problem_set(problem, -ENOMEM, "out of memory for input");
    int64_t size = json_is_string(data) ? base64_decode(json_string_value(data), length, bytes) : 0;
    int result = size < 0 || (data != NULL && !json_is_string(data))
                     ? problem_set(problem, -EINVAL, "process.input: \"data\" is not base64")
                     : count_double(created, at, (size_t)size, &doubled, problem);
    bool has_all = at != NULL && doubled == (size_t)size && (!ends || created->input_ends);
    if (result == 0 && !has_all)
        result = take_input(created, bytes + doubled, (size_t)size - doubled, ends, problem);
    free(bytes);
    return result;
}

size_t created_poll(const struct agent *agent, struct pollfd *files, size_t most)
{
    size_t count = 0;

    for (const struct created *each = agent->created; each != NULL; each = each->next) {
        for (int i = 0; i < 2 && count < most; i++)
            if (each->output[i] >= 0 && !each->pieces[i].holds)
                files[count++] = (struct pollfd){.fd = each->output[i], .events = POLLIN};
        if (each->input >= 0 && each->waiting_size > 0 && count < most)
            files[count++] = (struct pollfd){.fd = each->input, .events = POLLOUT};
    }
    return count;
}

/* What the fabric does not take now stays here and in the pipe, and the process waits: nothing is lost. */
static void move_output(struct agent *agent, struct created *created, int which)
{
    struct piece *piece = &created->pieces[which];

    for (int i = 0; i < PIECES_MOST && created->output[which] >= 0; i++) {
        if (piece->bytes == NULL && (piece->bytes = malloc(FABRIC_OUTPUT_MOST)) == NULL)
            return;
        if (!piece->holds) {
            ssize_t got = read(created->output[which], piece->bytes, FABRIC_OUTPUT_MOST);
            if (got < 0)
                return;
            piece->size = (size_t)got;
            piece->holds = true;
        }
        if (fabric_output(agent->fabric, created->pid, which == 1, piece->before, piece->bytes,
                          piece->size) < 0)
            return;
        piece->holds = false;
        piece->before += piece->size;
        if (piece->size == 0)
            close_output(created, which);
    }
}

void created_move(struct agent *agent)
{
    for (struct created *each = agent->created; each != NULL; each = each->next) {
        write_waiting(each);
        for (int i = 0; i < 2 && agent->fabric != NULL; i++)
            move_output(agent, each, i);
    }
}

/* ---- the end ---- */

static void release(struct agent *agent, struct created *created)
{
    look(agent, created); /* the meter may know how it has ended */
    if (created->state == CREATED_NEW) {
        created->status = SIGKILL;
        launch_cancel(&created->launched);
        tell_ended(agent, created, NULL);
    }
    if (created->state == CREATED_STOPPED)
        kill(-created->pid, SIGCONT);
    created->meter = NULL;
}

void created_release(struct agent *agent, const char *recording)
{
    for (struct created *each = agent->created; each != NULL; each = each->next)
        if (strcmp(each->recording, recording) == 0)
            release(agent, each);
}

void created_close(struct agent *agent)
{
    while (agent->created != NULL) {
        struct created *created = agent->created;
        agent->created = created->next;
        free_one(created);
    }
}
