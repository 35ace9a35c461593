/* SPDX-License-Identifier: MIT */
/* job_test.c: which command is possible in which state (figure 6.2 and appendix A of Macrander's paper), and which lines
 * are commands. */
#include "job/job_private.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* D: does; P: passes over; R: refuses. In the order of the states. */
static void test_each_action_in_each_state(void **state)
{
    static const char *const expected[JOB_ACTIONS] = {
        /*                  new running stopped killed acquired */
        [JOB_START] = "DPDPP",     [JOB_STOP] = "DDPPP",       [JOB_REMOVE] = "RRDDD",
        [JOB_SET_FLAGS] = "DDDPD", [JOB_GIVE_INPUT] = "DDDRR",
    };
    static const char letters[] = {[JOB_DOES] = 'D', [JOB_PASSES] = 'P', [JOB_REFUSES] = 'R'};

    (void)state;
    for (enum job_action action = JOB_START; action < JOB_ACTIONS; action++)
        for (enum process_state in = PROCESS_NEW; in < PROCESS_STATES; in++) {
            const char *says = "";
            enum job_verdict verdict = job_rule(action, in, &says);
            if (letters[verdict] != expected[action][in])
                fail_msg("action %d of a process that is %s: %c", action, process_state_word(in),
                         letters[verdict]);
            /* the user is informed of each process (appendix A) */
            if (action != JOB_GIVE_INPUT || verdict == JOB_REFUSES)
                assert_non_null(says);
        }
}

/* Nobody knows whether it has ended: so nothing says that it has. It can be removed. */
static void test_lost_process(void **state)
{
    const struct conduct_process lost = {.state = PROCESS_KILLED, .lost = true};
    const char *says;

    (void)state;
    for (enum job_action action = JOB_START; action < JOB_ACTIONS; action++) {
        assert_int_equal(job_rule_of(action, &lost, &says), job_rule(action, PROCESS_KILLED, NULL));
        assert_string_equal(says, action == JOB_REMOVE ? "removed" : "is lost: its agent ended");
    }
}

static void test_words_of_states(void **state)
{
    static const char *const words[] = {"new", "running", "stopped", "killed", "acquired"};

    (void)state;
    for (enum process_state in = PROCESS_NEW; in < PROCESS_STATES; in++)
        assert_string_equal(process_state_word(in), words[in]);
}

static const struct line {
    const char *text;
    enum job_kind kind;
    size_t count;
} lines[] = {
    {"", JOB_NOTHING, 0},
    {" \t\r\n", JOB_NOTHING, 0},
    {"# newjob", JOB_NOTHING, 0},
    {"help", JOB_HELP, 0},
    {"filter", JOB_FILTER, 0},
    {"filter f1", JOB_FILTER, 1},
    {"filter f1 web1 filter descriptions templates", JOB_FILTER, 5},
    {"newjob sort", JOB_NEWJOB, 1},
    {"newjob a/b.c f1", JOB_NEWJOB, 2},
    {"addprocess sort web1 ./sort", JOB_ADDPROCESS, 3},
    {"add sort web1 ./sort -n 'two words' 3", JOB_ADDPROCESS, 6},
    {"acquire sort web1 1", JOB_ACQUIRE, 3},
    {"setflags sort send -receive all -all fork", JOB_SETFLAGS, 6},
    {"startjob sort", JOB_STARTJOB, 1},
    {"stopjob sort", JOB_STOPJOB, 1},
    {"removejob sort", JOB_REMOVEJOB, 1},
    {"removeprocess sort 812", JOB_REMOVEPROCESS, 2},
    {"jobs", JOB_JOBS, 0},
    {"jobs a b c", JOB_JOBS, 3},
    {"getlog f1 ./log", JOB_GETLOG, 2},
    {"source x", JOB_SOURCE, 1},
    {"sink", JOB_SINK, 0},
    {"sink x", JOB_SINK, 1},
    {"die", JOB_DIE, 0},
    {"exit", JOB_DIE, 0},
    {"bye", JOB_DIE, 0},
    {"input sort worker.2", JOB_INPUT, 2},
    {"input sort worker a b c", JOB_INPUT, 5},
    {"wait sort", JOB_WAIT, 1},
    {"newjob sort # its name, isn't it", JOB_NEWJOB, 1},
    {"newjob sort\t#", JOB_NEWJOB, 1},
    {"input sort worker a#b '# c' \" # d\" \\# e\\  # f", JOB_INPUT, 7},
    {"input sort worker 'a\\' # b", JOB_INPUT, 3},
    {"report sort --html x.html", JOB_ANALYSE, 3},
};

static void test_lines(void **state)
{
    struct job_command command;
    struct problem problem;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
        if (job_parse(lines[i].text, &command, &problem) < 0)
            fail_msg("%s: %s", lines[i].text, problem.text);
        assert_int_equal(command.kind, lines[i].kind);
        assert_int_equal(command.count, lines[i].count);
        job_command_done(&command);
    }
}

static const struct refusal {
    const char *text, *says;
} refusals[] = {
    {"nonsense", "there is no command 'nonsense'; help lists them"},
    {"NEWJOB sort", "there is no command 'NEWJOB'; help lists them"},
    {"help me", "too many arguments; usage: help"},
    {"filter a b c d e f", "too many arguments; usage: filter [NAME [MACHINE"},
    {"newjob", "too few arguments; usage: newjob JOB [FILTER]"},
    {"newjob a b c", "too many arguments; usage: newjob"},
    {"newjob -a", "newjob: '-a' is no name"},
    {"newjob ''", "newjob: '' is no name"},
    {"newjob a;b", "newjob: 'a;b' is no name: a name begins with a letter or digit, then has"},
    {"newjob 0123456789012345678901234567890123456789012345678901234567890123", "is no name"},
    {"add sort web1", "too few arguments; usage: add JOB MACHINE FILE"},
    {"acquire sort web1", "too few arguments; usage: acquire JOB MACHINE PID"},
    {"acquire sort web1 0", "acquire: '0' is not a process id"},
    {"acquire sort web1 -1", "acquire: '-1' is not a process id"},
    {"acquire sort web1 12x", "acquire: '12x' is not a process id"},
    {"acquire sort web1 4194305", "is not a process id"},
    {"setflags sort", "too few arguments; usage: setflags JOB FLAG..."},
    {"setflags sort send sned", "setflags: 'sned' is no meter flag; there are: all,fork"},
    {"startjob", "too few arguments; usage: startjob JOB"},
    {"startjob a b", "too many arguments"},
    {"stopjob", "too few"},
    {"removejob", "too few"},
    {"removeprocess a", "too few"},
    {"getlog f1", "too few arguments; usage: getlog FILTER DESTINATION"},
    {"source", "too few"},
    {"sink a b", "too many"},
    {"die now", "too many arguments; usage: die"},
    {"input sort", "too few"},
    {"wait", "too few"},
    {"why", "too few"},
    {"newjob 'a", "a quote is not closed"},
};

static void test_refusals(void **state)
{
    struct job_command command;
    struct problem problem;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
        assert_int_equal(job_parse(refusals[i].text, &command, &problem), -EINVAL);
        if (strstr(problem.text, refusals[i].says) == NULL)
            fail_msg("%s: %s", refusals[i].text, problem.text);
        assert_null(strchr(problem.text, '\n'));
    }
}

/* The fifteen commands of the paper, and their synonyms, exist. */
static void test_commands_of_the_paper(void **state)
{
    static const char *const words[] = {
        "help",     "filter",   "newjob",  "addprocess", "add",           "acquire",
        "setflags", "startjob", "stopjob", "removejob",  "removeprocess", "jobs",
        "getlog",   "source",   "sink",    "die",        "exit",          "bye"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        const char *name = "";
        for (size_t j = 0; name != NULL && strcmp(name, words[i]) != 0; j++)
            name = job_command_word(j, NULL, NULL);
        if (name == NULL)
            fail_msg("there is no command %s", words[i]);
    }
}

static const struct file {
    const char *text, *says; /* NULL: it is right */
} files[] = {
    {"job a\nprocess web1 ./x\n", NULL},
    {"# comment\n\n  job a \n filter f web1\nrules r\nflags send -pc\nprocess web1 ./x 'two "
     "words'\n"
     "acquire web1 812\nanalysis report --html x.html\nlog x",
     NULL},
    {"job a\nrules r\nacquire web1 812", NULL},
    {"job a  # its name\nprocess web1 ./x '# y' # z'\nanalysis why # when all have ended\nlog x# #",
     NULL},
    {"job a # b\nlog # x\nprocess web1 ./x\n", "x.job:2: log: a value is missing"},
    {"job a\n", "x.job: a job has a name and a process"},
    {"", "x.job: a job has a name and a process"},
    {"process web1 x\n", "x.job:1: the job's name comes first"},
    {"job a\nprocess web1\n", "x.job:2: process: too few arguments; usage: process MACHINE FILE"},
    {"job a\n\nprocess web1 'x\n", "x.job:3: process: a quote is not closed"},
    {"job a\nprocess web1 x\nacquire web1 x\n", "x.job:3: acquire: 'x' is not a process id"},
    {"job a\nprocess web1 x\nflags send sned\n", "x.job:3: flags: 'sned' is no meter flag"},
    {"job a\nprocess web1 x\nanalysis jobs\n", "x.job:3: 'jobs' is no analysis"},
    {"job a\nprocess web1 x\nanalysis\n", "x.job:3: analysis: a value is missing"},
    {"job a\njob b\n", "x.job:2: job stands in line 1 already"},
    {"job a\nprocess web1 x\nanalyse why\n", "x.job:3: 'analyse' is none of: job filter rules"},
    {"job a;b\nprocess web1 x\n", "x.job:1: job: 'a;b' is no name"},
    {"job a\nfilter a b c d e f\nprocess web1 x\n",
     "x.job:2: filter: too many arguments; usage: filter NAME"},
    {"job a\nlog x y\nprocess web1 x\n", "x.job:2: log: too many arguments; usage: log FOLDER"},
};

static void test_files_of_jobs(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        struct problem problem = {""};
        const char *text = files[i].text[0] == '\0' ? "\n" : files[i].text;
        FILE *from = fmemopen((void *)text, strlen(text), "r");
        assert_non_null(from);
        int result = job_file_check("x.job", from, &problem);
        fclose(from);
        if (result != (files[i].says == NULL ? 0 : -EINVAL) ||
            (files[i].says != NULL &&
             strncmp(problem.text, files[i].says, strlen(files[i].says)) != 0))
            fail_msg("%s: %s", files[i].text, problem.text);
    }
}

/* ---- machines ---- */

/* The machines that the names stand for, each in its turn. */
static void expect_machines(const char *file, const char *names, const char *expected)
{
    char text[400] = "", list[200], *rest = list;
    json_t *turns = json_object();

    snprintf(list, sizeof(list), "%s", names);
    for (char *name; (name = strtok_r(rest, " ", &rest)) != NULL;) {
        struct problem problem = {""};
        char **machines = NULL;
        size_t count = 0, length = strlen(text);
        if (job_group(file, name, turns, &machines, &count, &problem) < 0)
            snprintf(text + length, sizeof(text) - length, "%s", strchr(problem.text, ':'));
        for (size_t i = 0; i < count; i++)
            snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s ", machines[i]);
        free(machines);
    }
    json_decref(turns);
    assert_string_equal(text, expected);
}

static void test_groups_and_choices(void **state)
{
    char path[] = "/tmp/dpm-machines-XXXXXX";
    int file = mkstemp(path);
    static const char text[] =
        "# machines\nworkers: a b\nall: workers c\n"
        "next: one of a=2 b # c\nnever: one of a=0\nnone: one of \nbare: one of\n";
    (void)state;

    assert_true(file >= 0 && write(file, text, sizeof(text) - 1) == sizeof(text) - 1);
    close(file);
    expect_machines(path, "workers all d", "a b a b c d ");
    expect_machines(path, "next next next next next next", "a b a a b a ");
    expect_machines(path, "never none bare", "");
    static const char *const wrong[][2] = {
        {"next: one of a=x\n", ":1: 'a=x': a weight is a number of at most 1000000"},
        {"next: one of a=1000001\n", ":1: 'a=1000001': a weight is a number of at most 1000000"},
        {"next: one of =3\n", ":1: '=3': a machine stands before '='"},
        {"next: one of a\nall: next\n", ":2: next is 'one of': it cannot be part of a group"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        FILE *of = fopen(path, "w");
        assert_non_null(of);
        fputs(wrong[i][0], of);
        fclose(of);
        expect_machines(path, "next", wrong[i][1]);
    }
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups_and_choices), cmocka_unit_test(test_each_action_in_each_state),
        cmocka_unit_test(test_words_of_states),    cmocka_unit_test(test_lines),
        cmocka_unit_test(test_refusals),           cmocka_unit_test(test_commands_of_the_paper),
        cmocka_unit_test(test_files_of_jobs),      cmocka_unit_test(test_lost_process),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
