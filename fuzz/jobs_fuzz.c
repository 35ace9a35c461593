/* SPDX-License-Identifier: MIT */
/*
 * jobs_fuzz.c: the input is a script for `dpm -f`. Each line is a command with its arguments, or is refused with one line
 * of text.
 */
#include "fuzz.h"
#include "job/job.h"

#include <errno.h>
#include <string.h>

static void check_line(const char *line)
{
    struct job_command command;
    struct problem problem = {""};
    int result = job_parse(line, &command, &problem);

    if (result < 0) {
        PROMISE(result == -EINVAL);
        PROMISE(problem.text[0] != '\0');
        return;
    }
    PROMISE(command.kind < JOB_KINDS);
    PROMISE(command.kind == JOB_NOTHING ||
            (command.words[command.count] == NULL && command.count <= JOB_WORDS_MOST));
    for (size_t i = 0; i < command.count; i++)
        PROMISE(command.words[i] != NULL);
    job_command_done(&command);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char *text = malloc(size + 1);

    if (text == NULL)
        abort();
    memcpy(text, bytes, size);
    text[size] = '\0';
    for (char *line = text, *next; line != NULL; line = next) {
        next = strchr(line, '\n');
        if (next != NULL)
            *next++ = '\0';
        check_line(line);
    }
    free(text);
    return 0;
}

size_t fuzz_example(uint8_t *bytes, size_t room)
{
    static const char example[] = "filter f1 web1 filter\nnewjob sort f1\n"
                                  "add sort web1 ./sort -n 'two words' \"3\" \\x\n"
                                  "acquire sort db1 812\nsetflags sort send -receive all\n"
                                  "startjob sort # no comment\n\n# comment\nwait sort\n"
                                  "input sort sort.2 text\nwhy sort --json\ngetlog f1 log\ndie\n";

    return fuzz_text(bytes, room, example);
}
