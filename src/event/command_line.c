/* SPDX-License-Identifier: MIT */
/*
 * command_line.c: what a user calls a process, given its command line.
 *
 *      /usr/bin/python3 -u jobs/worker.py --queue 3     program python3, script worker.py
 *      postgres: checkpointer                           program postgres
 *      java -cp app.jar Main                            program java, script Main
 */
#include "event/event.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
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

/* ---- a short text that tells processes of one name from each other ---- */

/* What follows the program, without the options of an interpreter and the folders of its script; without the script,
 * too, if the process has its name. */
static const char *arguments_of(const char *name, const char *command)
{
    struct word script = script_of(command), file = last_part(script);
    size_t length = strnlen(name, STREAM_NAME_SIZE - 1);

    if (script.at != NULL && file.length >= length && strncmp(file.at, name, length) == 0 &&
        (file.length == length || length == STREAM_NAME_SIZE - 1))
        return script.at + script.length;
    return script.at != NULL ? last_part(script).at
                             : next_word(command).at + next_word(command).length;
}

/* Cuts a text in the middle: "python3 convert.p...0000000042.jpg". Cuts no UTF-8 character in two. */
static void shorten(char *text, size_t most)
{
    static const char dots[] = "...";
    size_t length = strlen(text), head = (most - strlen(dots) + 1) / 2;
    size_t tail = most - strlen(dots) - head;

    if (length <= most)
        return;
    while (head > 0 && ((unsigned char)text[head] & 0xc0) == 0x80)
        head--;
    const char *rest = text + length - tail;
    while (((unsigned char)*rest & 0xc0) == 0x80)
        rest++;
    memmove(text + head + strlen(dots), rest, strlen(rest) + 1);
    memcpy(text + head, dots, strlen(dots));
}

static bool has_extension(struct word word, const char *const *extensions, size_t count)
{
    size_t dot = word.length;

    while (dot > 0 && word.at[dot - 1] != '.' && word.at[dot - 1] != '/')
        dot--;
    if (dot < 2 || word.at[dot - 1] != '.' || word.at[0] == '-')
        return false; /* -dumpbase-ext .c */
    for (size_t i = 0; i < count; i++)
        if (is_text((struct word){word.at + dot, word.length - dot}, extensions[i]))
            return true;
    return false;
}

/* What a compiler compiles, or else what an assembler makes: temporary files say nothing. In this command slow.c:
 * cc1 -quiet -imultiarch x86_64-linux-gnu slow.c -quiet -dumpbase slow.c ... -o /tmp/ccxW45Rl.s */
static struct word source_of(const char *command)
{
    static const char *const sources[] = {"c",    "cc", "cpp", "cxx", "C",   "m",   "s",
                                          "S",    "f",  "F",   "f90", "F90", "adb", "rs",
                                          "java", "go", "hs",  "ml",  "d",   "cu",  "tex"};
    static const char *const objects[] = {"o"};
    struct word object = {0}, word = next_word(command);

    if (word.at == NULL)
        return word;
    for (word = next_word(word.at + word.length); word.at != NULL;
         word = next_word(word.at + word.length)) {
        if (begins_with(word, "/tmp/"))
            continue;
        if (has_extension(word, sources, ARRAY_SIZE(sources)))
            return word;
        if (has_extension(word, objects, ARRAY_SIZE(objects)) && object.at == NULL)
            object = word;
    }
    return object;
}

/* Where a title ends that says what its process is doing: "postgres: alice shop 10.0.0.7(40212) UPDATE waiting" and
 * "postgres: alice shop [local] idle" end behind "shop". The client's address and the state change, user and database do not. */
static size_t title_length(const char *title)
{
    for (struct word word = next_word(title); word.at != NULL;
         word = next_word(word.at + word.length)) {
        size_t digits = 0;
        while (digits + 2 < word.length && word.at[word.length - 1] == ')' &&
               isdigit((unsigned char)word.at[word.length - 2 - digits]))
            digits++;
        bool is_port = digits > 0 && word.at[word.length - 2 - digits] == '(';
        if (is_port || (word.length == 7 && memcmp(word.at, "[local]", 7) == 0))
            return (size_t)(word.at - title);
    }
    return strnlen(title, NAME_SIZE - 1);
}

void process_label(const char *name, const char *command, char label[PROCESS_LABEL_SIZE])
{
    char text[STREAM_NAME_SIZE + 1 + NAME_SIZE];
    struct word first = next_word(command == NULL ? "" : command);

    if (first.at == NULL) {
        snprintf(text, sizeof(text), "%.*s", STREAM_NAME_SIZE, name);
    } else if (first.at[first.length - 1] == ':') { /* a title */
        snprintf(text, sizeof(text), "%.*s", (int)title_length(first.at), first.at);
    } else {
        const char *arguments = arguments_of(name, command);
        struct word source = script_of(command).at == NULL ? source_of(command) : (struct word){0};
        arguments += strspn(arguments, " ");
        bool fits = strnlen(name, STREAM_NAME_SIZE) + 1 + strlen(arguments) < PROCESS_LABEL_SIZE;
        if (!fits && source.at != NULL)
            snprintf(text, sizeof(text), "%.*s %.*s", STREAM_NAME_SIZE, name,
                     (int)(source.length < NAME_SIZE ? source.length : NAME_SIZE - 1), source.at);
        else
            snprintf(text, sizeof(text), "%.*s%s%.*s", STREAM_NAME_SIZE, name,
                     *arguments == '\0' ? "" : " ", NAME_SIZE - 1, arguments);
    }
    for (size_t length = strlen(text); length > 0 && text[length - 1] == ' ';)
        text[--length] = '\0';
    shorten(text, PROCESS_LABEL_SIZE - 1);
    memcpy(label, text, strlen(text) + 1);
}

static uint64_t label_hash(const struct named_process *process)
{
    char label[PROCESS_LABEL_SIZE];

    process_label(process->name, process->command, label);
    return hash_bytes(0, label, strlen(label));
}

int processes_find_alike(struct named_process *list, size_t count)
{
    struct intern names = {0};
    struct seen {
        uint64_t label; /* of the first one with that name */
        bool differ;
    } *seen = calloc(count + 1, sizeof(*seen));
    int64_t *of = calloc(count + 1, sizeof(*of));
    int64_t index = seen == NULL || of == NULL ? -ENOMEM : 0;

    for (size_t i = 0; index >= 0 && i < count; i++) {
        uint32_t known = names.count;
        uint64_t label = label_hash(&list[i]);
        index = of[i] = intern_add(
            &names, hash_bytes(0, list[i].name, strnlen(list[i].name, STREAM_NAME_SIZE)));
        if (index == known)
            seen[index].label = label;
        else if (index >= 0)
            seen[index].differ = seen[index].differ || seen[index].label != label;
    }
    for (size_t i = 0; index >= 0 && i < count; i++)
        list[i].alike = seen[of[i]].differ;
    intern_done(&names);
    free(seen);
    free(of);
    return index < 0 ? (int)index : 0;
}
