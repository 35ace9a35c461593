/* SPDX-License-Identifier: MIT */
/*
 * command_line.c: what a user calls a process, given its command line.
 *
 *      /usr/bin/python3 -u jobs/worker.py --queue 3     program python3, script worker.py
 *      postgres: checkpointer                           program postgres
 *      java -cp app.jar Main                            program java, script Main
 */
#include "event/event.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Part of a command line. */
struct word {
    const char *at; /* NULL: there is none */
    size_t length;
};

static struct word next_word(const char *at)
{
    at += strspn(at, " ");
    return (struct word){*at == '\0' ? NULL : at, strcspn(at, " ")};
}

/* Without the folders before it, and the colon that ends the first word of a title. */
static struct word last_part(struct word word)
{
    while (word.length > 0 && word.at[word.length - 1] == ':')
        word.length--;
    for (size_t i = word.length; i > 0; i--)
        if (word.at[i - 1] == '/')
            return (struct word){word.at + i, word.length - i};
    return word;
}

static bool begins_with(struct word word, const char *text)
{
    return word.length >= strlen(text) && strncmp(word.at, text, strlen(text)) == 0;
}

static bool is_text(struct word word, const char *text)
{
    return word.at != NULL && word.length == strlen(text) && begins_with(word, text);
}

/* Programs that execute a script, whose name says more than theirs. Versions may follow: python3.11. */
static bool is_interpreter(struct word program)
{
    static const char *const names[] = {"python", "perl", "ruby",  "node",   "php",
                                        "lua",    "java", "tclsh", "Rscript"};
    static const char *const shells[] = {"sh", "bash", "dash", "ksh", "zsh"};

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (begins_with(program, names[i]))
            return true;
    for (size_t i = 0; i < ARRAY_SIZE(shells); i++)
        if (is_text(program, shells[i]))
            return true;
    return false;
}

/* Options of interpreters whose argument is a word of its own, which is no script. */
static bool takes_a_word(struct word option)
{
    return is_text(option, "-cp") || is_text(option, "-classpath") || is_text(option, "-W") ||
           is_text(option, "-X") || is_text(option, "-r") || is_text(option, "--require");
}

/* What an interpreter executes; a text given with -c or -e has no name. */
static struct word script_of(const char *command)
{
    struct word program = next_word(command);

    if (program.at == NULL || !is_interpreter(last_part(program)))
        return (struct word){0};
    struct word word = next_word(program.at + program.length);
    while (word.at != NULL && word.at[0] == '-') {
        if (is_text(word, "-c") || is_text(word, "-e"))
            return (struct word){0};
        bool skips = takes_a_word(word);
        word = next_word(word.at + word.length);
        if (skips && word.at != NULL)
            word = next_word(word.at + word.length);
    }
    return word;
}

bool command_is_named(const char *asked, const char *command)
{
    if (*asked == '\0')
        return false;
    if (strchr(asked, ' ') != NULL)
        return strstr(command, asked) != NULL;
    struct word script = script_of(command);
    return is_text(last_part(next_word(command)), asked) || is_text(script, asked) ||
           is_text(last_part(script), asked);
}

bool process_is_named(const char *asked, uint32_t pid, const char name[STREAM_NAME_SIZE],
                      const char *command)
{
    return process_is_meant(asked, pid, name) ||
           (command != NULL && command_is_named(asked, command));
}

const struct stream_record *identities_first_stream(const struct identities *identities,
                                                    uint32_t origin,
                                                    const struct stream_record *stream)
{
    const struct stream_record *first = identities_stream(identities, origin, stream->process);

    return first == NULL || first->pid != stream->pid ? stream : first;
}

bool identities_process_is_named(const struct identities *identities, uint32_t origin,
                                 const struct stream_record *stream, const char *asked)
{
    const struct stream_record *first = identities_first_stream(identities, origin, stream);

    return process_is_named(asked, stream->pid, first->name,
                            identities_command(identities, origin, stream->process));
}
