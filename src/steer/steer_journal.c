/* SPDX-License-Identifier: MIT */
/* steer_journal.c: what is to be restored, on disk before it is changed. See steer.h. */
#include "base/process.h"
#include "steer/steer_private.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- entries ---- */

bool entry_is_of_thread(const struct entry *entry)
{
    return entry->kind == ENTRY_CPUS || entry->kind == ENTRY_NICE;
}

static uint64_t key_of_thread(uint32_t act, pid_t tid, uint64_t start)
{
    const uint64_t parts[] = {act, (uint64_t)tid, start};

    return hash_bytes(0, parts, sizeof(parts));
}

struct entry *journal_thread(const struct steer_journal *journal, uint32_t act, pid_t tid,
                             uint64_t tid_start)
{
    int64_t at = intern_find(&journal->threads, key_of_thread(act, tid, tid_start));
    struct entry *entry = at < 0 ? NULL : &journal->entries[journal->thread_entries[at]];

    return entry == NULL || entry->restored ? NULL : entry;
}

static void entry_done(struct entry *entry)
{
    for (size_t i = 0; entry->words != NULL && entry->words[i] != NULL; i++)
        free(entry->words[i]);
    free(entry->words);
    free(entry->file);
    free(entry->value);
}

/* Takes its strings in any case. */
static int keep(struct steer_journal *journal, struct entry *entry)
{
    if (array_reserve(&journal->entries, &journal->room, journal->count + 1,
                      sizeof(*journal->entries)) < 0) {
        entry_done(entry);
        return -ENOMEM;
    }
    journal->entries[journal->count++] = *entry;
    if (!entry_is_of_thread(entry))
        return 0;
    int64_t at =
        intern_add(&journal->threads, key_of_thread(entry->act, entry->tid, entry->tid_start));
    if (at < 0 || array_reserve(&journal->thread_entries, &journal->thread_room, (size_t)at + 1,
                                sizeof(*journal->thread_entries)) < 0)
        return -ENOMEM;
    journal->thread_entries[at] = journal->count - 1;
    return 0;
}

static void forget_entries(struct steer_journal *journal)
{
    for (size_t i = 0; i < journal->count; i++)
        entry_done(&journal->entries[i]);
    intern_done(&journal->threads);
    journal->threads = (struct intern){0};
    journal->count = 0;
}

void journal_forget(struct steer_journal *journal)
{
    for (size_t i = 0; i < journal->count; i++)
        if (!journal->entries[i].restored)
            return;
    if (journal->count > 0 && ftruncate(journal->file, journal->head) == 0)
        forget_entries(journal);
}

void journal_done(struct steer_journal *journal)
{
    forget_entries(journal);
    free(journal->entries);
    free(journal->thread_entries);
    if (journal->file >= 0)
        close(journal->file);
}

/* ---- lines ---- */

static int put(struct steer_journal *journal, json_t *line, bool sync, struct problem *problem)
{
    char *text = line == NULL ? NULL : json_dumps(line, JSON_COMPACT);
    size_t size = text == NULL ? 0 : strlen(text);
    off_t before = lseek(journal->file, 0, SEEK_END);
    int result = text == NULL ? -ENOMEM : 0;

    errno = 0;
    if (result == 0) {
        text[size++] = '\n'; /* in the place of its NUL */
        if (write(journal->file, text, size) != (ssize_t)size ||
            (sync && fdatasync(journal->file) < 0))
            result = errno == 0 ? -ENOSPC : -errno;
    }
    if (result < 0 &&
        before >= 0) /* a part of it would spoil the next line, and the numbers of all */
        (void)!ftruncate(journal->file, before);
    free(text);
    json_decref(line);
    return result < 0 ? problem_set(problem, result, "%.300s: cannot be written: %s", journal->path,
                                    strerror(-result))
                      : 0;
}

int journal_put(struct steer_journal *journal, json_t *line, struct problem *problem)
{
    return put(journal, line, true, problem);
}

static json_t *words_json(char *const *words)
{
    json_t *list = json_array();

    for (size_t i = 0; words[i] != NULL; i++)
        json_array_append_new(list, json_string(words[i]));
    return list;
}

static json_t *entry_json(const struct entry *entry)
{
    char cpus[CPUS_TEXT_SIZE];

    switch (entry->kind) {
    case ENTRY_FILE:
        return json_pack("{s:i, s:s, s:s}", "act", (int)entry->act, "file", entry->file, "value",
                         entry->value);
    case ENTRY_COMMAND:
        return json_pack("{s:i, s:o}", "act", (int)entry->act, "command", words_json(entry->words));
    default:
        break;
    }
    json_t *line = json_pack("{s:i, s:i, s:I, s:i, s:I}", "act", (int)entry->act, "pid",
                             (int)entry->pid, "start", (json_int_t)entry->start, "tid",
                             (int)entry->tid, "tid_start", (json_int_t)entry->tid_start);
    steer_cpus_text(&entry->cpus, cpus, sizeof(cpus));
    if (entry->kind == ENTRY_CPUS)
        json_object_set_new(line, "cpus", json_string(cpus));
    else
        json_object_set_new(line, "nice", json_integer(entry->nice));
    return line;
}

int journal_add(struct steer_journal *journal, struct entry *entry, struct problem *problem)
{
    int result = journal_put(journal, entry_json(entry), problem);

    if (result < 0) {
        entry_done(entry);
        return result;
    }
    return keep(journal, entry) < 0 ? problem_set(problem, -ENOMEM, "out of memory") : 0;
}

static json_t *effect_json(uint32_t act, const struct in_effect *effect)
{
    char cpus[CPUS_TEXT_SIZE];
    json_t *line = json_pack("{s:i, s:I}", "effect", (int)act, "since", (json_int_t)effect->since);

    steer_cpus_text(&effect->cpus, cpus, sizeof(cpus));
    json_object_set_new(line,
                        effect->kind == ENTRY_CPUS   ? "cpus"
                        : effect->kind == ENTRY_NICE ? "less"
                                                     : "value",
                        effect->kind == ENTRY_CPUS   ? json_string(cpus)
                        : effect->kind == ENTRY_NICE ? json_integer(effect->less)
                                                     : json_integer((json_int_t)effect->value));
    return line;
}

static void take_effect(struct steer_journal *journal, uint32_t act, const struct in_effect *effect)
{
    if (!journal->acts[act].is || journal->acts[act].since != effect->since)
        journal->less[act] = 0;
    if (effect->kind == ENTRY_NICE && effect->less >= 0)
        journal->less[act] |= 1ull << effect->less;
    journal->earlier[act] = journal->acts[act];
    journal->acts[act] = *effect;
    journal->acts[act].is = true;
}

int journal_note_effect(struct steer_journal *journal, uint32_t act, const struct in_effect *effect,
                        struct problem *problem)
{
    struct in_effect new = *effect;

    new.since = journal->acts[act].is ? journal->acts[act].since : ticks_now();
    int result = journal_put(journal, effect_json(act, &new), problem);
    if (result == 0)
        take_effect(journal, act, &new);
    return result;
}

void journal_note_restored(struct steer_journal *journal, size_t index)
{
    journal->entries[index].restored = true; /* if the line is not written, it is restored twice */
    (void)journal_put(journal, json_pack("{s:i}", "restored", (int)index + 1), NULL);
}

/* ---- reading ---- */

static int64_t number_of(const json_t *line, const char *key, int64_t least, int64_t most)
{
    const json_t *value = json_object_get(line, key);
    json_int_t number = json_is_integer(value) ? json_integer_value(value) : least - 1;

    return number < least || number > most ? least - 1 : number;
}

static bool is_weight(const char *file)
{
    const char *slash = file == NULL || *file != '/' ? NULL : strrchr(file, '/');

    return slash != NULL &&
           (strcmp(slash, "/cpu.shares") == 0 || strcmp(slash, "/cpu.weight") == 0);
}

static char **words_of(const json_t *list)
{
    size_t count = json_array_size(list);
    const char *first = json_string_value(json_array_get(list, 0));
    char **words = first == NULL || *first != '/' ? NULL : calloc(count + 1, sizeof(*words));

    for (size_t i = 0; words != NULL && i < count; i++) {
        const char *word = json_string_value(json_array_get(list, i));
        words[i] = strdup(word == NULL ? "" : word);
    }
    return words;
}

static void take_entry(struct steer_journal *journal, const json_t *line, int64_t act)
{
    const char *file = json_string_value(json_object_get(line, "file")),
               *value = json_string_value(json_object_get(line, "value")),
               *cpus = json_string_value(json_object_get(line, "cpus"));
    struct entry entry = {.act = (uint32_t)act};

    entry.pid = (pid_t)number_of(line, "pid", 2, INT32_MAX);
    entry.tid = (pid_t)number_of(line, "tid", 2, INT32_MAX);
    entry.start = (uint64_t)number_of(line, "start", 1, INT64_MAX);
    entry.tid_start = (uint64_t)number_of(line, "tid_start", 1, INT64_MAX);
    entry.nice = (int)number_of(line, "nice", -20, 19);
    bool is_thread = entry.pid >= 2 && entry.tid >= 2 && entry.start != 0 && entry.tid_start != 0;
    if (is_weight(file) && value != NULL) {
        entry.kind = ENTRY_FILE;
        entry.file = strdup(file);
        entry.value = strdup(value);
    } else if (json_is_array(json_object_get(line, "command"))) {
        entry.kind = ENTRY_COMMAND;
        entry.words = words_of(json_object_get(line, "command"));
    } else if (cpus != NULL && steer_cpus_parse(cpus, &entry.cpus)) {
        entry.kind = ENTRY_CPUS;
    } else {
        entry.kind = ENTRY_NICE;
    }
    /* what is not understood keeps its number, and has nothing to be restored */
    entry.restored = entry.kind == ENTRY_FILE ? entry.file == NULL || entry.value == NULL
                     : entry.kind == ENTRY_COMMAND
                         ? entry.words == NULL
                         : !is_thread || (entry.kind == ENTRY_NICE && entry.nice < -20);
    (void)keep(journal, &entry);
}

static void take_line(struct steer_journal *journal, const json_t *line)
{
    int64_t act = number_of(line, "act", 0, STEER_ACTS_MOST - 1),
            effect = number_of(line, "effect", 0, STEER_ACTS_MOST - 1),
            restored = number_of(line, "restored", 1, (int64_t)journal->count);
    const char *cpus = json_string_value(json_object_get(line, "cpus"));

    if (json_is_true(json_object_get(line, "ended"))) {
        journal->ended = true;
    } else if (restored >= 1) {
        journal->entries[restored - 1].restored = true;
    } else if (effect >= 0) {
        struct in_effect to = {.kind = ENTRY_NICE};
        if (cpus != NULL && steer_cpus_parse(cpus, &to.cpus))
            to.kind = ENTRY_CPUS;
        else if (json_is_integer(json_object_get(line, "value")))
            to.kind = ENTRY_FILE;
        to.less = (int)number_of(line, "less", 0, 40);
        to.value = (unsigned long)number_of(line, "value", 0, INT64_MAX);
        to.since = (uint64_t)number_of(line, "since", 0, INT64_MAX);
        take_effect(journal, (uint32_t)effect, &to);
    } else if (act >= 0) {
        take_entry(journal, line, act);
    }
}

void journal_parse(struct steer_journal *journal, const char *text, size_t size)
{
    const char *end = text + size;

    while (text < end) {
        const char *line_end = memchr(text, '\n', (size_t)(end - text));
        if (line_end == NULL)
            break; /* it was killed while it wrote this: nothing was changed yet */
        json_t *line = json_loadb(text, (size_t)(line_end - text), 0, NULL);
        if (json_is_object(line))
            take_line(journal, line);
        json_decref(line);
        text = line_end + 1;
    }
}

/* ---- a file without what has ended ---- */

#define COMPACT_TIMES 2 /* as large as when it was last written anew */

static bool has_gone(const struct entry *entry)
{
    return entry->restored || (entry_is_of_thread(entry) &&
                               thread_started(entry->pid, entry->tid) != entry->tid_start);
}

static int copy_head(struct steer_journal *journal, int from)
{
    char *text = malloc((size_t)journal->head + 1);
    ssize_t got = text == NULL ? -1 : pread(from, text, (size_t)journal->head, 0);
    int result = got == journal->head && write(journal->file, text, (size_t)got) == got ? 0 : -EIO;

    free(text);
    return result;
}

/* All that heirs may have, the latest last. */
static int write_effects(struct steer_journal *journal, uint32_t act)
{
    const struct in_effect *now = &journal->acts[act], *earlier = &journal->earlier[act];
    int result = earlier->is ? put(journal, effect_json(act, earlier), false, NULL) : 0;

    for (int less = 0; result == 0 && now->is && less < 64; less++) {
        struct in_effect one = *now;
        one.less = less;
        if (less != now->less && (journal->less[act] >> less & 1) != 0)
            result = put(journal, effect_json(act, &one), false, NULL);
    }
    return result < 0 || !now->is ? result : put(journal, effect_json(act, now), false, NULL);
}

/* journal->file is the new one. */
static int write_anew(struct steer_journal *journal, int from)
{
    int result = copy_head(journal, from);

    for (uint32_t i = 0; result == 0 && i < STEER_ACTS_MOST; i++)
        result = write_effects(journal, i);
    for (size_t i = 0; result == 0 && i < journal->count; i++)
        if (!has_gone(&journal->entries[i]))
            result = put(journal, entry_json(&journal->entries[i]), false, NULL);
    return result == 0 && fdatasync(journal->file) < 0 ? -errno : result;
}

/*
 *      JOURNAL.new   written whole, locked --rename--> JOURNAL; the file that this was is empty then
 *
 * The guardian has the first file open: when the loop has ended, it looks for the name first (steer_guardian.c).
 */
void journal_compact(struct steer_journal *journal, off_t least)
{
    char path[PATH_MAX + 8], *text = NULL;
    off_t size = lseek(journal->file, 0, SEEK_END);
    int old = journal->file;
    size_t length = 0;

    if (size < least || size < COMPACT_TIMES * journal->compacted)
        return;
    journal->compacted = size; /* if it fails, not soon again */
    snprintf(path, sizeof(path), "%s" JOURNAL_UNFINISHED, journal->path);
    journal->file =
        open(path, O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool done =
        journal->file >= 0 && flock(journal->file, LOCK_EX | LOCK_NB) == 0 &&
        write_anew(journal, old) == 0 &&
        (text = journal_read(journal->file, &length)) != NULL && /* entries get new numbers */
        rename(path, journal->path) == 0;
    if (!done) {
        if (journal->file >= 0)
            close(journal->file);
        journal->file = old;
        unlink(path);
        free(text);
        return;
    }
    forget_entries(journal);
    memset(journal->acts, 0, sizeof(journal->acts));
    memset(journal->earlier, 0, sizeof(journal->earlier));
    memset(journal->less, 0, sizeof(journal->less));
    journal_parse(journal, text, length);
    free(text);
    (void)!ftruncate(old, 0);
    close(old);
    journal->compacted = lseek(journal->file, 0, SEEK_END);
}
