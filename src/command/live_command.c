/* SPDX-License-Identifier: MIT */
/* live_command.c: `dpm live`: a page and metrics of what is recorded, over HTTP. See dpm-live(1). */
#include "command/live/live_operand.h"
#include "command/live/live_server.h"
#include "command/live/live_views.h"
#include "command/live/live_why.h"
#include "show/text/json.h"

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define DEFAULT_INTERVAL 1000000000u /* ns */
#define DEFAULT_PORT     9465

#define CHOSEN_MOST 200

struct live_command_options {
    struct live_operand operand;
    uint64_t interval; /* ns */
    uint64_t port;
    uint64_t pace; /* of finished traces */
    bool no_page;
    const char *listen, *token;          /* NULL: this machine only */
    const char *monitor;                 /* whose views are shown; NULL: those of this user */
    const char *chosen[CHOSEN_MOST + 4]; /* processes and kinds, as options of dpm acquire */
    size_t chosen_count;
    const char *kinds; /* NULL: the default */
};

/* ---- addresses ---- */

union address {
    struct sockaddr any;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
};

static int parse_address(const struct live_command_options *options, union address *address)
{
    const char *text = options->listen == NULL ? "127.0.0.1" : options->listen;
    uint16_t port = htons((uint16_t)options->port);

    *address = (union address){0};
    if (inet_pton(AF_INET, text, &address->four.sin_addr) == 1) {
        address->four.sin_family = AF_INET;
        address->four.sin_port = port;
        return 0;
    }
    if (inet_pton(AF_INET6, text, &address->six.sin6_addr) == 1) {
        address->six.sin6_family = AF_INET6;
        address->six.sin6_port = port;
        return 0;
    }
    return -EINVAL;
}

/* As in a URL, in the form that a reader's program makes of it. */
static void address_text(const union address *address, char text[INET6_ADDRSTRLEN + 2])
{
    bool six = address->any.sa_family == AF_INET6;
    char plain[INET6_ADDRSTRLEN] = "";

    (void)inet_ntop(address->any.sa_family,
                    six ? (const void *)&address->six.sin6_addr
                        : (const void *)&address->four.sin_addr,
                    plain, sizeof(plain));
    snprintf(text, INET6_ADDRSTRLEN + 2, six ? "[%s]" : "%s", plain);
}

static bool is_any(const union address *address)
{
    return address->any.sa_family == AF_INET ? address->four.sin_addr.s_addr == htonl(INADDR_ANY)
                                             : IN6_IS_ADDR_UNSPECIFIED(&address->six.sin6_addr);
}

/* As readers elsewhere may call it: nothing can be reached at 0.0.0.0. */
static void name_host(const union address *address, const char *where, char host[HOST_NAME_MAX + 1])
{
    snprintf(host, HOST_NAME_MAX + 1, "%s", where);
    if (is_any(address) && gethostname(host, HOST_NAME_MAX + 1) < 0)
        snprintf(host, HOST_NAME_MAX + 1, "localhost");
    host[HOST_NAME_MAX] = '\0';
}

static bool is_loopback(const union address *address)
{
    return address->any.sa_family == AF_INET ? ntohl(address->four.sin_addr.s_addr) >> 24 == 127
                                             : IN6_IS_ADDR_LOOPBACK(&address->six.sin6_addr);
}

/* ---- serving ---- */

struct serving {
    const struct live_command_options *options;
    struct live_server *server;
    struct live_views *views;
    struct live_why *why;
    char url[HOST_NAME_MAX + 32]; /* "http://127.0.0.1:9465" */
};

static void say_line(const char *line, void *context)
{
    (void)context;
    command_say("%s", line);
}

static int publish_as(const struct live_feed *feed, enum live_format format,
                      struct live_server *server)
{
    struct live_served served;
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);

    if (memory == NULL)
        return -ENOMEM;
    live_server_counts(server, &served);
    int result = show_live_metrics(feed->live, &served, format == LIVE_OPENMETRICS, memory);
    if (fclose(memory) != 0)
        result = -ENOMEM;
    if (result == 0)
        live_server_publish(server, format, text, size);
    else
        free(text);
    return result;
}

static int publish(const struct live_feed *feed, struct live_server *server)
{
    int result = publish_as(feed, LIVE_OPENMETRICS, server);

    return result == 0 ? publish_as(feed, LIVE_TEXT, server) : result;
}

/* Adds `views` to the object that was printed, before its end: "}\n". */
static int print_views(struct live_views *views, FILE *memory)
{
    json_t *json = live_views_json(views);

    if (json == NULL || fseek(memory, -2, SEEK_CUR) < 0) {
        json_decref(json);
        return -ENOMEM;
    }
    fputs(", \"views\": ", memory);
    int result = json_print(json, JSON_COMPACT, memory);
    fputs("}\n", memory);
    return result;
}

static int add_snapshot(const struct live_feed *feed, struct live_views *views,
                        struct live_server *server)
{
    const struct live_snapshot *snapshot = live_snapshot(feed->live, 0);
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);

    if (memory == NULL)
        return -ENOMEM;
    int result = show_live_json(snapshot, 0, false, memory);
    if (result == 0)
        result = print_views(views, memory);
    if (fclose(memory) != 0)
        result = -ENOMEM;
    if (result == 0)
        live_server_add_snapshot(server, snapshot->number, text);
    free(text);
    return result;
}

/* Where the page is: at first, and after each use of its address. */
static void say_page(const struct serving *serving)
{
    char token[LIVE_SECRET_SIZE];

    if (!live_server_new_token(serving->server, token))
        return;
    command_say("page of %s: %s/?token=%s (once; then another one is printed)",
                serving->options->operand.subject, serving->url, token);
    explicit_bzero(token, sizeof(token));
}

/* Those that dpm why reads: others may have joined. */
static void name_traces(const struct live_feed *feed, const struct serving *serving)
{
    const struct live_snapshot *snapshot = live_snapshot(feed->live, 0);

    if (serving->options->operand.reads_traces)
        (void)live_why_traces(serving->why, feed->names, feed->origins,
                              snapshot == NULL     ? 0
                              : feed->origins == 1 ? (int64_t)snapshot->begin
                                                   : snapshot->began);
}

static bool told_to_end(int signals)
{
    struct signalfd_siginfo info;

    return read(signals, &info, sizeof(info)) == sizeof(info) && info.ssi_signo != SIGCHLD;
}

/* After the recording has ended its last figures stay, but for what the server counts. */
static int serve(struct live_feed *feed, const struct serving *serving, int signals,
                 struct problem *problem)
{
    struct live_server *server = serving->server;
    struct pollfd files[] = {{.fd = signals, .events = POLLIN},
                             {.fd = live_views_descriptor(serving->views), .events = POLLIN}};
    int result = 0;

    name_traces(feed, serving);
    while (result >= 0) {
        bool ended = feed->ended;
        live_feed_wait(feed, files, ARRAY_SIZE(files),
                       ended ? clock_now(CLOCK_MONOTONIC) + feed->options.interval : UINT64_MAX);
        if ((files[0].revents & POLLIN) != 0 && told_to_end(signals))
            return 0;
        say_page(serving);
        name_traces(feed, serving);
        result = live_feed_step(feed, problem);
        live_views_step(serving->views);
        if (result > 0)
            live_views_tick(serving->views);
        if (result > 0 && !serving->options->no_page && live_feed_is_current(feed) &&
            add_snapshot(feed, serving->views, server) < 0)
            result = problem_set(problem, -ENOMEM, "out of memory for the page");
        if ((result > 0 || ended) && live_feed_is_current(feed) && publish(feed, server) < 0)
            result = problem_set(problem, -ENOMEM, "out of memory for the metrics");
    }
    return result;
}

static char *about_text(const struct live_command_options *options, const struct live_feed *feed)
{
    bool records = !options->operand.reads_traces;
    char *text = NULL, not_recorded[METER_KINDS_TEXT_SIZE];
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);

    if (memory == NULL)
        return NULL;
    meter_kinds_text(METER_ALL_KINDS & ~live_operand_recorded(&options->operand), not_recorded);
    const struct show_about about = {
        .subject = options->operand.subject,
        .interval = options->interval,
        .speed = feed->kind == FEED_FINISHED ? (double)options->pace : 0,
        .why = records ? "record" : "trace",
        .not_recorded = records ? not_recorded : "",
    };
    int result = show_live_about(&about, memory);
    if (fclose(memory) == 0 && result == 0)
        return text;
    free(text);
    return NULL;
}

static int start(struct serving *serving, const struct live_feed *feed, struct problem *problem)
{
    const struct live_command_options *options = serving->options;
    char token[LIVE_TOKEN_SIZE], where[INET6_ADDRSTRLEN + 2], host[HOST_NAME_MAX + 1];
    union address address;
    uint16_t port = 0;
    int result = 0;

    (void)parse_address(options, &address);
    address_text(&address, where);
    char *about = options->no_page ? NULL : about_text(options, feed);
    if (options->token != NULL)
        result = live_access_read_token(options->token, token, problem);
    if (!options->no_page && about == NULL)
        result = problem_set(problem, -ENOMEM, "out of memory for the page");
    if (result == 0) {
        const struct live_server_options server = {.address = &address.any,
                                                   .name = where,
                                                   .token = options->token == NULL ? NULL : token,
                                                   .about = about,
                                                   .why = serving->why};
        result = live_server_start(&server, &serving->server, &port, problem);
    }
    explicit_bzero(token, sizeof(token));
    free(about);
    if (result < 0)
        return result;
    name_host(&address, where, host);
    snprintf(serving->url, sizeof(serving->url), "http://%s:%u", host, port);
    if (!is_loopback(&address))
        command_say(
            "listening at %s: %s; nothing is encrypted, so the network on the way can read tokens "
            "and figures",
            where,
            is_any(&address) ? "all addresses of this machine"
                             : "an address that others may reach");
    say_page(serving);
    command_say("metrics of %s: %s/metrics%s", options->operand.subject, serving->url,
                options->token == NULL ? "" : ", with the token");
    return 0;
}

static int live(const struct live_command_options *options, int signals)
{
    struct live_feed_options wish = {.interval = options->interval,
                                     .pace = (double)options->pace,
                                     .stop = signals,
                                     .counts = true,
                                     .hides = true,
                                     .say = say_line};
    struct live_feed feed = {0};
    struct serving serving = {.options = options};
    struct problem problem;
    int result;

    live_operand_feed(&options->operand, &wish);
    wish.acquiring.say = say_line;
    result = live_feed_open(&feed, &wish, &problem);
    bool plays = feed.kind == FEED_FINISHED && !live_feed_records(&feed);
    if (result >= 0) /* views are of now: none are shown beside a trace that is played */
        result = live_views_new(plays || options->no_page ? "none" : options->monitor,
                                options->interval, &serving.views, &problem);
    if (result >= 0 &&
        live_why_new(options->operand.reads_traces ? NULL : options->chosen, &serving.why) < 0)
        result = problem_set(&problem, -ENOMEM, "out of memory");
    if (result >= 0)
        result = start(&serving, &feed, &problem);
    if (result >= 0)
        result = serve(&feed, &serving, signals, &problem);
    live_why_end(serving.why); /* before: no connection of the server may sleep */
    live_server_stop(serving.server);
    live_why_free(serving.why);
    live_views_free(serving.views);
    live_feed_close(&feed);
    return result < 0 ? command_error("%s", problem.text) : EXIT_SUCCESS;
}

/* ---- options ---- */

enum {
    OPTION_NAME = OPTION_HELP + 1,
    OPTION_INTERVAL,
    OPTION_KINDS,
    OPTION_LISTEN,
    OPTION_MONITOR,
    OPTION_NO_PAGE,
    OPTION_PORT,
    OPTION_PACE,
    OPTION_TOKEN
};

static const struct command_option live_options[] = {
    {"pid", 'p', {"PID", ARGUMENT_PID}, "this process; -p and --name are repeatable"},
    {"name", OPTION_NAME, {"NAME", ARGUMENT_PROCESS}, "processes with this name"},
    {"kinds",
     OPTION_KINDS,
     {"LIST", ARGUMENT_LIST, meter_kind_word},
     "connections of processes to record, as of dpm acquire (all,-pipe,-mq)"},
    {"port", OPTION_PORT, {"N"}, "serve at this port (9465); 0: any that is free"},
    {"listen",
     OPTION_LISTEN,
     {"ADDRESS"},
     "serve at this address of the machine (127.0.0.1); another than loopback needs --token"},
    {"token",
     OPTION_TOKEN,
     {"FILE", ARGUMENT_FILE},
     "readers must show the token in FILE, of mode 0600: Authorization: Bearer TOKEN"},
    {"monitor",
     OPTION_MONITOR,
     {"SOCKET", ARGUMENT_FILE},
     "show the views of this dpm view run --control SOCKET; none (all of this user)"},
    {"no-page", OPTION_NO_PAGE, {0}, "only metrics: no page, and no address of it"},
    {"pace", OPTION_PACE, {"N"}, "play a finished trace N times as fast, 1 to 100 (1)"},
    {"interval", OPTION_INTERVAL, {"TIME"}, "new figures every TIME, at least 100ms (1s)"},
    {0},
};

static int take_process(const char *option, struct live_command_options *options)
{
    if (options->chosen_count + 2 > CHOSEN_MOST)
        return command_usage_error("live", "give at most %d processes", CHOSEN_MOST / 2);
    options->chosen[options->chosen_count++] = option;
    options->chosen[options->chosen_count++] = optarg;
    return live_operand_take("live", strcmp(option, "--name") == 0, &options->operand);
}

static int take_option(int option, struct live_command_options *options)
{
    switch (option) {
    case 'p':
        return take_process("--pid", options);
    case OPTION_NAME:
        return take_process("--name", options);
    case OPTION_KINDS:
        options->kinds = optarg;
        return live_operand_kinds("live", &options->operand);
    case OPTION_PORT:
        return option_number("live", "port", 0, UINT16_MAX, &options->port);
    case OPTION_LISTEN:
        options->listen = optarg;
        return -1;
    case OPTION_MONITOR:
        options->monitor = optarg;
        return -1;
    case OPTION_NO_PAGE:
        options->no_page = true;
        return -1;
    case OPTION_PACE:
        return option_number("live", "pace", 1, 100, &options->pace);
    case OPTION_TOKEN:
        options->token = optarg;
        return -1;
    case OPTION_INTERVAL:
        if (parse_duration(optarg, &options->interval) == 0 && options->interval >= 100000000u)
            return -1;
        return command_usage_error(
            "live", "--interval '%s': give a time of at least 100ms, e.g. 2s", optarg);
    case OPTION_HELP:
        return command_help("live");
    default:
        return command_usage_error("live", NULL);
    }
}

static int check(const struct live_command_options *options)
{
    union address address;

    if (parse_address(options, &address) < 0)
        return command_usage_error("live", "--listen '%s': give an IP address", options->listen);
    if (!is_loopback(&address) && options->token == NULL)
        return command_usage_error(
            "live", "--listen %s: others can reach it: give --token FILE, too", options->listen);
    return live_server_is_there()
               ? -1
               : command_error("this dpm was built without libmicrohttpd: there is no dpm live");
}

static int command_live(int argc, char **argv)
{
    struct live_command_options options = {
        .interval = DEFAULT_INTERVAL, .port = DEFAULT_PORT, .pace = 1};
    sigset_t old_mask;
    int option, status = -1;

    while (status < 0 && (option = command_next_option(&live_command, argc, argv)) != -1)
        status = take_option(option, &options);
    if (status < 0)
        status = check(&options);
    if (status < 0)
        status = live_operand_done("live", argc, argv, optind, &options.operand);
    if (options.operand.all)
        options.chosen[options.chosen_count++] = "--all";
    if (options.kinds != NULL) {
        options.chosen[options.chosen_count++] = "--kinds";
        options.chosen[options.chosen_count++] = options.kinds;
    }
    if (status < 0) {
        int signals = recording_signals(&old_mask);
        signal(SIGPIPE, SIG_IGN);
        status = signals < 0 ? command_error("cannot watch signals: %s", strerror(-signals))
                             : live(&options, signals);
        close(signals);
    }
    live_operand_free(&options.operand);
    return status;
}

const struct command live_command = {
    .name = "live",
    .description = "a page of what is recorded, while it is, and metrics for Prometheus",
    .usage = "[OPTION]... [TRACE... | FOLDER | SESSION | JOB]",
    .function = command_live,
    .operand = {"TRACE", ARGUMENT_TRACE},
    .options = live_options,
};
