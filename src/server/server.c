/* SPDX-License-Identifier: MIT */
/* server.c: the session's own server: started, found again, stopped. See server.h. */
#include "server/server.h"

#include "server/server_files.h"
#include "server/supervisor.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define SERVES_MS   10000 /* until a server that was started serves */
#define STOPS_MS    20000
#define RELOADS_MS  10000
#define PORTS_TRIED 3

/* Long, for libnats 3.4 reads on for ever if the answer has not come by then (nats.c issue 706). */
#define TRY_MS 10000

#define MILLISECONDS 1000000ull /* ns */

struct fabric_server {
    char folder[PATH_MAX];
    char url[64];
    char user[SERVER_USER_SIZE]; /* the last one that fabric_server_credentials was asked for */
    json_t *session;
    int attached; /* a descriptor with a read lock */
    bool started; /* it did not run before */
};

/* ---- the folder ---- */

static int check_folder(const char *folder, struct problem *problem)
{
    struct stat status;

    if (lstat(folder, &status) != 0)
        return problem_set(problem, -errno, "cannot open the session's folder %s: %s", folder,
                           strerror(errno));
    if (!S_ISDIR(status.st_mode))
        return problem_set(problem, -ENOTDIR, "%s: not a folder", folder);
    if (status.st_uid != geteuid() || (status.st_mode & 077) != 0)
        return problem_set(problem, -EPERM,
                           "%s: a session's folder must be your own and readable by nobody else: "
                           "chmod 700, or take another one",
                           folder);
    return 0;
}

/* Locks the folder against others who start, stop or change the session. Returns a descriptor. */
static int lock_folder(const char *folder, struct problem *problem)
{
    int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (descriptor < 0 || flock(descriptor, LOCK_EX) != 0) {
        int error = -errno;
        if (descriptor >= 0)
            close(descriptor);
        return problem_set(problem, error, "cannot lock the session's folder %s: %s", folder,
                           strerror(-error));
    }
    return descriptor;
}

static int attach_lock(struct fabric_server *server, struct problem *problem)
{
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    char path[PATH_MAX + 16];

    snprintf(path, sizeof(path), "%s/attached", server->folder);
    server->attached = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (server->attached < 0 || fcntl(server->attached, F_OFD_SETLK, &lock) != 0)
        return problem_set(problem, -errno, "cannot attach to the session: cannot lock %s: %s",
                           path, strerror(errno));
    return 0;
}

/* The name of a session in a folder: the folder's. */
static void name_of_folder(const char *folder, char ret_name[FABRIC_NAME_MOST + 1])
{
    const char *slash = strrchr(folder, '/');

    fabric_name_make(slash != NULL ? slash + 1 : folder, ret_name);
}

/* ---- the port ---- */

static int free_port(uint16_t *ret_port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof(address);
    int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (descriptor < 0)
        return -errno;
    int error = bind(descriptor, (struct sockaddr *)&address, size) != 0 ||
                        getsockname(descriptor, (struct sockaddr *)&address, &size) != 0
                    ? -errno
                    : 0;
    close(descriptor);
    if (error == 0)
        *ret_port = ntohs(address.sin_port);
    return error;
}

uint16_t fabric_server_port(const struct fabric_server *server)
{
    return (uint16_t)json_integer_value(json_object_get(server->session, "port"));
}

const char *fabric_server_session(const struct fabric_server *server)
{
    return json_string_value(json_object_get(server->session, "session"));
}

const char *fabric_server_id(const struct fabric_server *server)
{
    const char *id = json_string_value(json_object_get(server->session, "id"));

    return id == NULL ? "" : id;
}

static void set_url(struct fabric_server *server)
{
    snprintf(server->url, sizeof(server->url), "nats://127.0.0.1:%u", fabric_server_port(server));
}

/* ---- users ---- */

const char *fabric_server_machine(const struct fabric_server *server, size_t index)
{
    char prefix[SERVER_USER_SIZE];
    const char *user;
    json_t *ignored;

    session_user_of_machine("", prefix);
    json_object_foreach(json_object_get(server->session, "users"), user, ignored)
    {
        if (strncmp(user, prefix, strlen(prefix)) == 0 && index-- == 0)
            return user + strlen(prefix);
    }
    return NULL;
}

static int credentials_of(const struct fabric_server *server, const char *user, const char *machine,
                          struct fabric_options *ret_options, struct problem *problem)
{
    json_t *password;
    const char *key = user;
    char of_machine[SERVER_USER_SIZE];

    if (machine != NULL) {
        session_user_of_machine(machine, of_machine);
        key = of_machine;
    }
    password = json_object_get(json_object_get(server->session, "users"), key);
    if (password == NULL)
        return problem_set(problem, -ENOENT, "%s: the session has no user %s", server->folder, key);
    json_object_foreach(json_object_get(server->session, "users"), user,
                        password) if (strcmp(user, key) == 0) break;
    *ret_options = (struct fabric_options){
        .url = server->url,
        .user = user, /* the session's own copy */
        .password = json_string_value(password),
        .session = fabric_server_session(server),
        .machine = machine,
    };
    return 0;
}

int fabric_server_credentials(const struct fabric_server *server, const char *user,
                              const char *machine, struct fabric_options *ret_options,
                              struct problem *problem)
{
    return credentials_of(server, user, machine, ret_options, problem);
}

int fabric_server_open(const struct fabric_server *server, const char *user,
                       struct fabric **ret_fabric, struct problem *problem)
{
    struct fabric_options options;
    int error = credentials_of(server, user, NULL, &options, problem);

    return error != 0 ? error : fabric_open(&options, SERVES_MS, ret_fabric, problem);
}

/* ---- whether it serves ---- */

static bool serves(const struct fabric_server *server, struct problem *problem)
{
    struct fabric_options options;
    struct fabric *fabric;

    if (credentials_of(server, FABRIC_CONTROLLER, NULL, &options, problem) != 0 ||
        fabric_open(&options, TRY_MS, &fabric, problem) != 0)
        return false;
    bool answers = fabric_has_streams(fabric, problem) >= 0;
    fabric_close(fabric);
    return answers;
}

/* A server that finds its configuration wrong or its port in use ends at once; the reason is in its log. */
static int wait_until_serves(const struct fabric_server *server, struct problem *problem)
{
    uint64_t until = clock_now(CLOCK_MONOTONIC) + SERVES_MS * MILLISECONDS;
    struct problem why = {""};

    do {
        if (serves(server, &why))
            return 0;
        poll(NULL, 0, 50);
    } while (clock_now(CLOCK_MONOTONIC) < until);
    return problem_set(problem, -ETIMEDOUT,
                       "%s: nats-server does not serve (%.200s): read server.log there",
                       server->folder, why.text);
}

/* ---- starting and stopping ---- */

static int find_server(char ret_path[PATH_MAX], struct problem *problem)
{
    const char *path = getenv("PATH");
    char *folders = NULL, *save;

    if (asprintf(&folders, "%s:/usr/sbin:/usr/bin:/sbin:/usr/local/sbin:/usr/local/bin",
                 path == NULL ? "" : path) < 0)
        return problem_set(problem, -ENOMEM, "out of memory");
    for (char *folder = strtok_r(folders, ":", &save); folder != NULL;
         folder = strtok_r(NULL, ":", &save)) {
        int length = snprintf(ret_path, PATH_MAX, "%s/nats-server", folder);
        if (folder[0] == '/' && length < PATH_MAX && access(ret_path, X_OK) == 0) {
            free(folders);
            return 0;
        }
    }
    free(folders);
    return problem_set(problem, -ENOENT,
                       "nats-server is not installed; install the package nats-server");
}

static int stop_supervisor(const char *folder, struct problem *problem)
{
    uint64_t until = clock_now(CLOCK_MONOTONIC) + STOPS_MS * MILLISECONDS;
    pid_t pid = supervisor_find(folder);

    if (pid > 0 && kill(pid, SIGTERM) != 0)
        pid = -errno;
    while (pid > 0 && clock_now(CLOCK_MONOTONIC) < until) {
        poll(NULL, 0, 20);
        pid = supervisor_find(folder);
    }
    if (pid == 0)
        return 0;
    return problem_set(problem, pid > 0 ? -ETIMEDOUT : pid,
                       "%s: its supervisor cannot be ended: %s; end the processes that use this "
                       "folder",
                       folder, pid > 0 ? "it does not end in time" : strerror(-(int)pid));
}

static int start_server(struct fabric_server *server, struct problem *problem)
{
    char path[PATH_MAX];
    int error = find_server(path, problem);

    if (error != 0)
        return error;
    error = session_store(server->folder, server->session, problem);
    if (error != 0)
        return error;
    return supervisor_start(
        server->folder, path,
        (uint64_t)json_integer_value(json_object_get(server->session, "memory_bytes")),
        (unsigned)json_integer_value(json_object_get(server->session, "idle_seconds")), problem);
}

/* The port was free when the session was made; later it may be another program's. */
static int take_other_port(struct fabric_server *server, struct problem *problem)
{
    uint16_t port;
    int error = free_port(&port);

    if (error != 0)
        return problem_set(problem, error, "no port on 127.0.0.1: %s", strerror(-error));
    json_object_set_new(server->session, "port", json_integer(port));
    set_url(server);
    return 0;
}

static bool port_in_use(const struct fabric_server *server)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(fabric_server_port(server)),
                                  .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int one = 1;
    int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (descriptor < 0)
        return false;
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    bool used =
        bind(descriptor, (struct sockaddr *)&address, sizeof(address)) != 0 && errno == EADDRINUSE;
    close(descriptor);
    return used;
}

static int run_server(struct fabric_server *server, struct problem *problem)
{
    pid_t pid = supervisor_find(server->folder);

    if (pid < 0)
        return problem_set(problem, (int)pid, "%s: who supervises it cannot be found: %s",
                           server->folder, strerror(-(int)pid));
    if (pid > 0) /* perhaps its server is being started again */
        return wait_until_serves(server, problem);
    for (int tried = 0; tried < PORTS_TRIED && port_in_use(server); tried++) {
        int error = take_other_port(server, problem);
        if (error != 0)
            return error;
    }
    int error = start_server(server, problem);
    server->started = error == 0;
    if (error == 0)
        error = wait_until_serves(server, problem);
    if (error != 0)
        stop_supervisor(server->folder, NULL);
    return error;
}

static int make_session(struct fabric_server *server, const struct fabric_server_options *options,
                        struct problem *problem)
{
    char name[FABRIC_NAME_MOST + 1];
    uint16_t port;

    if (options != NULL && options->session != NULL)
        snprintf(name, sizeof(name), "%s", options->session);
    else
        name_of_folder(server->folder, name);
    if (!fabric_name_valid(name) ||
        (options != NULL && options->session != NULL && strcmp(name, options->session) != 0))
        return problem_set(problem, -EINVAL,
                           "%s: not the name of a session: use a-z, 0-9 and '-', at most %u",
                           options->session, FABRIC_NAME_MOST);
    int error = free_port(&port);
    if (error != 0)
        return problem_set(problem, error, "no port on 127.0.0.1: %s", strerror(-error));
    server->session = session_make(name, options, port);
    return server->session == NULL ? problem_set(problem, -ENOMEM, "out of memory") : 0;
}

static int open_session(const char *folder, bool make, const struct fabric_server_options *options,
                        struct fabric_server **ret_server, struct problem *problem)
{
    struct fabric_server *server = calloc(1, sizeof(*server));
    int lock = -1;

    if (server == NULL)
        return problem_set(problem, -ENOMEM, "out of memory");
    server->attached = -1;
    int error = check_folder(folder, problem);
    if (error == 0 && realpath(folder, server->folder) == NULL)
        error = problem_set(problem, -errno, "cannot open the session's folder %s: %s", folder,
                            strerror(errno));
    if (error == 0) {
        lock = lock_folder(server->folder, problem);
        error = lock < 0 ? lock : session_load(server->folder, &server->session, problem);
    }
    if (error == -ENOENT && lock >= 0 && make)
        error = make_session(server, options, problem);
    if (error == 0) {
        set_url(server);
        error = attach_lock(server, problem);
    }
    if (error == 0)
        error = run_server(server, problem);
    if (lock >= 0)
        close(lock);
    if (error != 0) {
        fabric_server_detach(server);
        return error;
    }
    *ret_server = server;
    return 0;
}

int fabric_server_start(const char *folder, const struct fabric_server_options *options,
                        struct fabric_server **ret_server, struct problem *problem)
{
    int error = fabric_available(problem); /* without it no server is started in vain */

    if (error != 0)
        return error;
    if (mkdir(folder, 0700) != 0 && errno != EEXIST)
        return problem_set(problem, -errno, "%s: cannot be created: %s", folder, strerror(errno));
    return open_session(folder, true, options, ret_server, problem);
}

int fabric_server_attach(const char *folder, struct fabric_server **ret_server,
                         struct problem *problem)
{
    return open_session(folder, false, NULL, ret_server, problem);
}

void fabric_server_detach(struct fabric_server *server)
{
    if (server == NULL)
        return;
    if (server->attached >= 0)
        close(server->attached);
    json_decref(server->session);
    free(server);
}

/* Whether another program is attached. */
static bool is_used(const char *folder)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    char path[PATH_MAX + 16];

    snprintf(path, sizeof(path), "%s/attached", folder);
    int descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    bool used =
        descriptor >= 0 && (fcntl(descriptor, F_GETLK, &lock) != 0 || lock.l_type != F_UNLCK);
    if (descriptor >= 0)
        close(descriptor);
    return used;
}

void fabric_server_leave(struct fabric_server *server)
{
    char folder[PATH_MAX];
    struct problem ignored;

    if (server == NULL)
        return;
    bool started = server->started;
    memcpy(folder, server->folder, sizeof(folder));
    fabric_server_detach(server);
    int lock = started ? lock_folder(folder, &ignored) : -1;
    if (lock < 0)
        return;
    if (!is_used(folder)) /* attaching needs the lock of the folder */
        stop_supervisor(folder, NULL);
    close(lock);
}

int fabric_server_stop(const char *folder, struct problem *problem)
{
    int error = check_folder(folder, problem);
    int lock = error != 0 ? error : lock_folder(folder, problem);

    if (lock < 0)
        return lock;
    error = stop_supervisor(folder, problem);
    close(lock);
    return error;
}

/* ---- machines ---- */

/* The server reads its configuration again in its own time. */
static int wait_until_known(const struct fabric_server *server, const char *machine,
                            struct problem *problem)
{
    uint64_t until = clock_now(CLOCK_MONOTONIC) + RELOADS_MS * MILLISECONDS;
    struct fabric_options options;
    struct fabric *fabric;
    int error = credentials_of(server, NULL, machine, &options, problem);

    while (error == 0) {
        error = fabric_open(&options, TRY_MS, &fabric, problem);
        if (error == 0) {
            fabric_close(fabric);
            return 0;
        }
        if (clock_now(CLOCK_MONOTONIC) >= until)
            break;
        poll(NULL, 0, 20);
        error = 0;
    }
    return error;
}

static int reload(struct fabric_server *server, struct problem *problem)
{
    pid_t pid = supervisor_find(server->folder);

    if (pid <= 0 || kill(pid, SIGHUP) != 0)
        return problem_set(problem, -ESRCH,
                           "%s: the server's supervisor is gone: start the session again",
                           server->folder);
    return 0;
}

int fabric_server_add_machine(struct fabric_server *server, const char *machine,
                              struct problem *problem)
{
    char user[SERVER_USER_SIZE];
    json_t *session = NULL;

    if (!fabric_name_valid(machine))
        return problem_set(problem, -EINVAL,
                           "%s: not the name of a machine: use a-z, 0-9 and '-', at most %u",
                           machine, FABRIC_NAME_MOST);
    session_user_of_machine(machine, user);
    int lock = lock_folder(server->folder, problem);
    /* Another controller of this session may have added one. */
    int result = lock < 0 ? lock : session_load(server->folder, &session, problem);
    if (result == 0)
        result = session_add_user(session, user);
    if (result == -ENOMEM)
        problem_set(problem, result, "out of memory");
    if (result > 0)
        result = session_store(server->folder, session, problem);
    if (result == 0)
        result = reload(server, problem);
    if (result == 0) /* what others hold of the session's strings stays */
        json_object_update_missing(json_object_get(server->session, "users"),
                                   json_object_get(session, "users"));
    if (lock >= 0)
        close(lock);
    json_decref(session);
    return result != 0 ? result : wait_until_known(server, machine, problem);
}
