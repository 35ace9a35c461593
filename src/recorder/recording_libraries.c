/* SPDX-License-Identifier: MIT */
/* recording_libraries.c: probes in the libraries that metered processes load. See recording_libraries.h. */
#include "recorder/recording_libraries.h"

#include "base/mapping.h"
#include "base/process.h"
#include "libraries/libraries.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIRST_PAUSE    10000000ull /* ns */
#define PROCESSES_MOST 65536u

struct young_process {
    pid_t pid;
    uint32_t number; /* of its first STREAM */
    uint64_t next, pause;
};

struct libraries {
    unsigned wishes; /* enum library_wish */
    struct young_process *processes;
    size_t count, capacity;
    struct file_identity *files; /* looked at already */
    size_t file_count, file_capacity;
};

void recording_libraries_close(struct recording *recording)
{
    struct libraries *libraries = recording->libraries;

    if (libraries == NULL)
        return;
    free(libraries->processes);
    free(libraries->files);
    free(libraries);
    recording->libraries = NULL;
}

/* ---- processes ---- */

static struct young_process *find_process(struct libraries *libraries, uint32_t number)
{
    for (size_t i = libraries->count; i-- > 0;)
        if (libraries->processes[i].number == number)
            return &libraries->processes[i];
    return NULL;
}

/* Its STREAM is repeated when it executes another program. */
static void note_process(struct libraries *libraries, const struct stream_record *stream)
{
    struct young_process *process = find_process(libraries, stream->header.stream);

    if (process == NULL) {
        if (libraries->count == PROCESSES_MOST ||
            array_reserve(&libraries->processes, &libraries->capacity, libraries->count + 1,
                          sizeof(*libraries->processes)) < 0)
            return;
        process = &libraries->processes[libraries->count++];
    }
    *process =
        (struct young_process){stream_pid_here(stream), stream->header.stream, 0, FIRST_PAUSE};
}

void recording_libraries_note(struct recording *recording, const struct record_header *record)
{
    const struct stream_record *stream = (const struct stream_record *)record;

    if (recording->libraries != NULL && record->id == EVENT_STREAM && stream->tid == stream->pid)
        note_process(recording->libraries, stream);
}

/* ---- files ---- */

/* Returns whether it was known; otherwise it is from now on. */
static bool is_known(struct libraries *libraries, const struct file_identity *file)
{
    for (size_t i = 0; i < libraries->file_count; i++)
        if (libraries->files[i].device == file->device && libraries->files[i].inode == file->inode)
            return true;
    if (array_reserve(&libraries->files, &libraries->file_capacity, libraries->file_count + 1,
                      sizeof(*libraries->files)) < 0)
        return true;
    libraries->files[libraries->file_count++] = *file;
    return false;
}

/* The user hears of the first error. */
static void probe_places(struct recording *recording, const struct library *library, int file)
{
    struct library_place places[LIBRARY_PLACES_MOST];
    struct meter_probe probes[LIBRARY_PLACES_MOST];
    struct problem problem;
    int count = libraries_find_places(library, file, places);

    for (int i = 0; i < count; i++)
        probes[i] = (struct meter_probe){.offset = places[i].offset,
                                         .semaphore = places[i].semaphore,
                                         .program = places[i].probe->program,
                                         .cookie = places[i].number,
                                         .at_return = places[i].probe->at_return};
    if (count <= 0)
        return;
    recording->probes +=
        recording->meter->probe(recording->meter, file, probes, (size_t)count, &problem);
    if (problem.text[0] != '\0' && recording->probe_problem[0] == '\0')
        snprintf(recording->probe_problem, sizeof(recording->probe_problem), "%s: %.180s",
                 library->file, problem.text);
}

/* Some file systems have other device numbers in stat(2) than in /proc/PID/maps, so all are compared by the former. */
static void probe_file(struct recording *recording, const struct library *library, const char *path)
{
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status;

    if (file < 0)
        return; /* the process has ended, or unmapped it */
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode)) {
        const struct file_identity identity = {file_device(status.st_dev), status.st_ino};
        if (!is_known(recording->libraries, &identity))
            probe_places(recording, library, file);
    }
    close(file);
}

static void take_mapping(struct recording *recording, pid_t pid, const struct library *library,
                         const struct mapping *mapping)
{
    char path[96];

    snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", pid,
             (unsigned long long)mapping->begin, (unsigned long long)mapping->end);
    probe_file(recording, library, path);
}

/* ---- before anything runs ---- */

static void probe_pattern(struct recording *recording, const char *pattern)
{
    glob_t found;

    if (glob(pattern, 0, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const struct library *library =
            libraries_of_file(found.gl_pathv[i], recording->libraries->wishes);
        if (library != NULL)
            probe_file(recording, library, found.gl_pathv[i]);
    }
    globfree(&found);
}

/* Also where LD_LIBRARY_PATH leads. */
static void probe_usual_files(struct recording *recording)
{
    unsigned wishes = recording->libraries->wishes;
    const char *folder = getenv("LD_LIBRARY_PATH"), *pattern;
    char path[PATH_MAX];

    for (size_t i = 0; (pattern = libraries_usual_files(i, wishes)) != NULL; i++)
        probe_pattern(recording, pattern);
    while (libraries_usual_files(0, wishes) != NULL && folder != NULL && folder[0] != '\0') {
        size_t length = strcspn(folder, ":");
        if (length > 0 && length < sizeof(path) - sizeof("/libmpi*")) {
            snprintf(path, sizeof(path), "%.*s/libmpi*", (int)length, folder);
            probe_pattern(recording, path);
        }
        folder += length + (folder[length] == ':');
    }
}

int recording_libraries_open(struct recording *recording, struct problem *problem)
{
    const struct recording_options *options = recording->options;
    unsigned wishes =
        (options->sensors ? LIBRARY_SENSORS : 0) |
        ((options->meter.options.kinds | options->meter.options.later_kinds) & METER_MPI
             ? LIBRARY_MPI
             : 0);

    if (wishes == 0)
        return 0;
    if (recording->meter->probe == NULL)
        return problem_set(problem, -EPERM,
                           "%s needs the kernel meter, loaded by dpm itself: run dpm as root, e.g. "
                           "with sudo",
                           options->sensors ? "--sensors" : "--kinds mpi");
    recording->libraries = calloc(1, sizeof(*recording->libraries));
    if (recording->libraries == NULL)
        return problem_set(problem, -ENOMEM, "out of memory for probes in libraries");
    recording->libraries->wishes = wishes;
    probe_usual_files(recording);
    return 0;
}

/* ---- looking ---- */

/* Returns false if the process has ended. */
static bool look_at(struct recording *recording, pid_t pid)
{
    char *line = NULL;
    size_t size = 0;
    struct mapping mapping;
    FILE *maps = process_maps(pid);

    if (maps == NULL)
        return false;
    while (getline(&line, &size, maps) > 0) {
        line[strcspn(line, "\n")] = '\0';
        const struct library *library =
            mapping_read(line, &mapping) && mapping.executable && mapping.file.inode != 0
                ? libraries_of_file(line, recording->libraries->wishes)
                : NULL;
        if (library != NULL)
            take_mapping(recording, pid, library, &mapping);
    }
    free(line);
    fclose(maps);
    return true;
}

void recording_libraries_step(struct recording *recording, uint64_t now)
{
    struct libraries *libraries = recording->libraries;

    for (size_t i = libraries == NULL ? 0 : libraries->count; i-- > 0;) {
        struct young_process *process = &libraries->processes[i];
        if (process->next > now)
            continue;
        if (!look_at(recording, process->pid)) {
            *process = libraries->processes[--libraries->count];
            continue;
        }
        process->next = now + process->pause;
        process->pause *= 2;
    }
}

uint64_t recording_libraries_due(const struct recording *recording)
{
    const struct libraries *libraries = recording->libraries;
    uint64_t due = UINT64_MAX;

    for (size_t i = 0; libraries != NULL && i < libraries->count; i++)
        due = libraries->processes[i].next < due ? libraries->processes[i].next : due;
    return due;
}
