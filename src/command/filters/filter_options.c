/* SPDX-License-Identifier: MIT */
/* filter_options.c: the options of `dpm filter`. See filter_options.h. */
#include "command/filters/filter_options.h"

#include <getopt.h>
#include <string.h>

enum {
    FROM = OPTION_HELP + 1,
    MACHINE,
    RECORDINGS,
    FABRIC,
    CREDENTIALS,
    AUTHORITIES,
    STORE,
    MAX_SIZE,
    MAX_FILES,
    MAX_AGE,
    INTERVAL,
    HOST,
    RSH,
    REMOTE,
    RELAYED,
    JSON,
    DESCRIPTIONS,
    CUSTOM,
    PROGRAM,
    TO_JSON
};

enum filter_store { FILTER_STORE_ALL, FILTER_STORE_NEWEST, FILTER_STORE_NONE };

static const char *store_word(size_t index)
{
    static const char *const words[] = {
        [FILTER_STORE_ALL] = "all", [FILTER_STORE_NEWEST] = "newest", [FILTER_STORE_NONE] = "none"};

    return index < ARRAY_SIZE(words) ? words[index] : NULL;
}

const struct command_option filter_option_rows[] = {
    {"from", FROM, {"SESSION"}, "the session, as dpm acquire --host named it"},
    {"rules",
     'r',
     {"FILE", ARGUMENT_FILE},
     "store what these rules select: dpm-rules(5); with\n"
     "TRACE: of that trace, as another trace"},
    {"descriptions",
     DESCRIPTIONS,
     {"FILE", ARGUMENT_FILE},
     "make a trace of the raw records of another system in RAW:\ndpm-descriptions(5)"},
    {"output",
     'o',
     {"DIR", ARGUMENT_FILE},
     "store in DIR/MACHINE (./dpm-SESSION.traces); with\n"
     "TRACE: the trace to write, or a directory for several"},
    {"filter",
     CUSTOM,
     {"COMMAND"},
     "a shell command that gets the packets of TRACE, or of what\nis stored"},
    {"program",
     PROGRAM,
     {"WORD", ARGUMENT_FILE},
     "with --from: a program, and its arguments, one WORD each; gets\nthe packets, too, and the "
     "filter ends with it"},
    {"to-json",
     TO_JSON,
     {0},
     "for such a command: write the records that come on standard\ninput as JSON, one a line"},
    {"machine", MACHINE, {"NAME"}, "only what this machine records; repeatable"},
    {"recordings", RECORDINGS, {"PREFIX"}, "only recordings whose names begin so"},
    {"store",
     STORE,
     {"WHAT", ARGUMENT_WORD, store_word},
     "all; newest: traces of the newest records; none: only counts (all)"},
    {"max-size", MAX_SIZE, {"N"}, "of each trace; with newest at least 1M"},
    {"max-files", MAX_FILES, {"N"}, "with newest: pairs of files of each trace, 2 to 256"},
    {"max-age", MAX_AGE, {"TIME"}, "with newest: no records older than this: 30s, 10m, 1h"},
    {"interval", INTERVAL, {"TIME"}, "say every TIME how much has come: 10s, 5m"},
    {"json", JSON, {0}, "with --from: what is stored as lines of JSON, until their\nreader goes"},
    {"host", HOST, {"HOST"}, "run on this machine, where DIR is, too"},
    {"rsh", RSH, {"COMMAND"}, "with --host: the remote shell (ssh)"},
    {"remote-dpm", REMOTE, {"PROGRAM"}, "with --host: dpm there (dpm)"},
    {"relayed", RELAYED, {"NAME"}, "started by --host: the session is at standard input"},
    {"fabric", FABRIC, {"URL"}, "the server of the session, if it is another machine's"},
    {"credentials", CREDENTIALS, {"FILE", ARGUMENT_FILE}, "for that server"},
    {"fabric-ca",
     AUTHORITIES,
     {"FILE", ARGUMENT_FILE},
     "certificates of those who sign that server's"},
    {0},
};

static int take_machine(struct filter_asked *asked)
{
    if (!fabric_name_valid(optarg))
        return command_usage_error("filter",
                                   "--machine '%s': use a-z, 0-9 and '-', as in the "
                                   "names of the copies",
                                   optarg);
    if (array_reserve(&asked->machines, &asked->machine_capacity, asked->machine_count + 1,
                      sizeof(*asked->machines)) < 0)
        return command_error("out of memory");
    asked->machines[asked->machine_count++] = optarg;
    return -1;
}

static int take_program(struct filter_asked *asked)
{
    if (asked->program_words == FILTER_PROGRAM_WORDS)
        return command_usage_error("filter", "--program: at most %d words", FILTER_PROGRAM_WORDS);
    asked->program[asked->program_words++] = optarg;
    return -1;
}

static int take_store(struct filter_asked *asked)
{
    size_t store = FILTER_STORE_ALL;
    int result = option_word("filter", "store", store_word, &store);

    asked->stores = store != FILTER_STORE_NONE;
    asked->limits.newest = store == FILTER_STORE_NEWEST;
    return result;
}

static int take_limit(int option, struct filter_asked *asked)
{
    struct trace_copy_limits *limits = &asked->limits;
    uint64_t files = 0;
    int result = -1;

    asked->bounded |= option != MAX_SIZE;
    if (option == MAX_AGE)
        result = option_time("filter", "max-age", &limits->kept.max_age);
    else if (option == MAX_FILES)
        result = option_number("filter", "max-files", 2, TRACE_FILES_MOST, &files);
    else if (parse_size(optarg, &limits->max_bytes) < 0 || limits->max_bytes == 0)
        return command_usage_error("filter", "--max-size '%s': give a size, e.g. 500M", optarg);
    if (option == MAX_FILES)
        limits->kept.max_files = (uint32_t)files;
    return result;
}

static bool take_place(int option, struct filter_place *place)
{
    const char **value = option == HOST      ? &place->host
                         : option == RSH     ? &place->rsh
                         : option == REMOTE  ? &place->dpm
                         : option == RELAYED ? &place->relayed
                                             : NULL;

    if (value != NULL)
        *value = optarg;
    return value != NULL;
}

static void note_given(int option, struct filter_asked *asked)
{
    for (size_t i = 0; filter_option_rows[i].name != NULL; i++)
        asked->given |= filter_option_rows[i].value == option ? 1u << i : 0;
}

int filter_take_option(int option, struct filter_asked *asked)
{
    int result = -1;

    note_given(option, asked);
    if (take_place(option, &asked->place))
        return -1;
    switch (option) {
    case FROM:
        asked->from = optarg;
        return -1;
    case 'o':
        asked->folder = optarg;
        return -1;
    case 'r':
        asked->rules_file = optarg;
        return -1;
    case CUSTOM:
        asked->custom = optarg;
        return -1;
    case PROGRAM:
        return take_program(asked);
    case TO_JSON:
        asked->to_json = true;
        return -1;
    case DESCRIPTIONS:
        asked->descriptions = optarg;
        return -1;
    case MACHINE:
        return take_machine(asked);
    case RECORDINGS:
        asked->prefix = optarg;
        return -1;
    case FABRIC:
        asked->url = optarg;
        return -1;
    case CREDENTIALS:
        asked->credentials = optarg;
        return -1;
    case AUTHORITIES:
        asked->authorities = optarg;
        return -1;
    case JSON:
        asked->json = true;
        return -1;
    case STORE:
        return take_store(asked);
    case MAX_SIZE:
    case MAX_FILES:
    case MAX_AGE:
        return take_limit(option, asked);
    case INTERVAL:
        result = option_time("filter", "interval", &asked->interval);
        if (result < 0 && asked->interval == 0)
            return command_usage_error("filter", "--interval 0: give a time, e.g. 10s");
        return result;
    case OPTION_HELP:
        return command_help("filter");
    default:
        return command_usage_error("filter", NULL);
    }
}

/* The uses of the command without a session, and the options that go with each. */
static const struct filter_use {
    int option, goes_with[2];
    const char *rule;
} uses[] = {
    {TO_JSON, {0}, "--to-json goes with no other option: leave out"},
    {DESCRIPTIONS, {'r', 'o'}, "--descriptions goes only with --rules and --output: leave out"},
    {CUSTOM, {0}, "--filter goes with traces or a session: name it, --from SESSION, or leave out"},
    {'r', {'o'}, "--rules goes with traces or a session: name it, --from SESSION, or leave out"},
};

static bool is_given(const struct filter_asked *asked, int option)
{
    for (size_t i = 0; filter_option_rows[i].name != NULL; i++)
        if (filter_option_rows[i].value == option)
            return (asked->given >> i & 1) != 0;
    return false;
}

/* An option that does not go with this use would be ignored. */
static int check_use(const struct filter_asked *asked, const struct filter_use *use)
{
    for (size_t i = 0; filter_option_rows[i].name != NULL; i++) {
        int option = filter_option_rows[i].value;
        if ((asked->given >> i & 1) != 0 && option != use->option && option != use->goes_with[0] &&
            option != use->goes_with[1])
            return command_usage_error("filter", "%s --%s", use->rule, filter_option_rows[i].name);
    }
    return -1;
}

int filter_options_check_kind(const struct filter_asked *asked)
{
    bool has_session = asked->from != NULL;

    if (asked->custom != NULL && asked->rules_file != NULL && !asked->to_json &&
        asked->descriptions == NULL)
        return command_usage_error("filter", "--filter or --rules: select first, then hand over "
                                             "the trace that is written");
    for (size_t i = 0; i < ARRAY_SIZE(uses); i++)
        if (is_given(asked, uses[i].option) &&
            (!has_session || uses[i].option == TO_JSON || uses[i].option == DESCRIPTIONS))
            return check_use(asked, &uses[i]);
    return -1;
}

int filter_options_check(const struct filter_asked *asked)
{
    if (asked->from == NULL)
        return command_usage_error("filter",
                                   "name the session, --from SESSION, or rules and a trace: "
                                   "--rules FILE TRACE -o TRACE2");
    if (asked->place.host != NULL &&
        (asked->url != NULL || !asked->stores || asked->bounded || asked->limits.max_bytes != 0 ||
         asked->interval != 0 || asked->custom != NULL || asked->json))
        return command_usage_error("filter", "--host is for a session of this machine: leave out "
                                             "--fabric, --filter, --store, --interval and --json");
    if (asked->custom != NULL && asked->program_words > 0)
        return command_usage_error("filter", "--filter or --program, not both");
    if ((asked->custom != NULL || asked->program_words > 0) && asked->json)
        return command_usage_error("filter",
                                   "--json goes without --filter and --program: what these print "
                                   "is on standard output, too");
    if ((asked->custom != NULL || asked->program_words > 0) &&
        (!asked->stores || asked->limits.newest))
        return command_usage_error("filter",
                                   "--%s reads what is stored: it goes with --store all only",
                                   asked->custom != NULL ? "filter" : "program");
    if (asked->place.relayed != NULL && !fabric_name_valid(asked->place.relayed))
        return command_usage_error("filter", "--relayed: only --host starts such a filter");
    if (!fabric_name_valid(asked->from))
        return command_usage_error(
            "filter", "--from '%s': a session's name has only a-z, 0-9 and '-'", asked->from);
    if (!asked->stores && asked->folder != NULL)
        return command_usage_error("filter", "--store none stores nothing: leave out --output");
    if (asked->rules_file != NULL && (!asked->stores || asked->limits.newest))
        return command_usage_error("filter",
                                   "--rules goes with --store all only: leave out --store, "
                                   "or keep the newest where it is recorded, with "
                                   "dpm acquire --rules");
    if (asked->limits.newest ? !asked->bounded && asked->limits.max_bytes == 0 : asked->bounded)
        return command_usage_error("filter",
                                   "--store newest goes with --max-size, --max-files or --max-age");
    if (!asked->stores && asked->limits.max_bytes != 0)
        return command_usage_error("filter", "--store none stores nothing: leave out --max-size");
    if (asked->limits.newest && asked->limits.max_bytes != 0 &&
        asked->limits.max_bytes < TRACE_SMALLEST_KEPT)
        return command_usage_error("filter", "--max-size: with --store newest at least 1M");
    if ((asked->url == NULL) != (asked->credentials == NULL))
        return command_usage_error("filter", "--fabric and --credentials go together");
    return -1;
}
