/* SPDX-License-Identifier: MIT */
/*
 * jobs_fuzz.c: the input is a script for `dpm -f`. Each line is a command with its arguments, or is refused with one line
 * of text. It is the file of a job, too.
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

/* The same bytes as the file of `dpm job run`. */
static void check_file(const uint8_t *bytes, size_t size)
{
    struct problem problem = {""};
    FILE *file = size == 0 ? NULL : fmemopen((void *)bytes, size, "r");

    if (file == NULL)
        return;
    int result = job_file_check("x.job", file, &problem);
    fclose(file);
    PROMISE(result == 0 || result == -EINVAL);
    PROMISE(result == 0 || strncmp(problem.text, "x.job:", 6) == 0);
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
    check_file(bytes, size);
    return 0;
}

size_t fuzz_example(uint8_t *bytes, size_t room)
{
    static const char example[] = "filter f1 web1 filter\nnewjob sort f1\n"
                                  "add sort web1 ./sort -n 'two words' \"3\" \\x\n"
                                  "acquire sort db1 812\nsetflags sort send -receive all\n"
                                  "startjob sort # no comment\n\n# comment\nwait sort\n"
                                  "job sort\nprocess web1 ./sort\nrules x\nanalysis why --json\n"
                                  "input sort sort.2 text\nwhy sort --json\ngetlog f1 log\ndie\n";

    return fuzz_text(bytes, room, example);
}
