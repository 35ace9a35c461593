/* SPDX-License-Identifier: MIT */
/*
 * remote_programs.c: programs that a machine lacks are copied to it, once: they are stored there under their hash. See
 * remote.h.
 */
#include "remote/remote.h"

#include "base/base64.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define CHUNK (512u << 10) /* bytes: as text they are a message */

struct program {
    const char *name;
    int file;
    uint64_t size;
    char hash[REMOTE_HASH_SIZE];
};

/* ---- here ---- */

static int hash_file(struct program *program, char *chunk)
{
    XXH3_state_t *state = XXH3_createState();
    XXH128_canonical_t bytes;
    ssize_t got = -1;
    off_t at = 0;

    if (state == NULL)
        return -ENOMEM;
    XXH3_128bits_reset(state);
    while ((got = pread(program->file, chunk, CHUNK, at)) > 0) {
        XXH3_128bits_update(state, chunk, (size_t)got);
        at += got;
    }
    XXH128_canonicalFromHash(&bytes, XXH3_128bits_digest(state));
    XXH3_freeState(state);
    program->size = (uint64_t)at;
    for (size_t i = 0; i < sizeof(bytes.digest); i++)
        snprintf(program->hash + 2 * i, 3, "%02x", bytes.digest[i]);
    return got < 0 ? -errno : 0;
}

static int open_program(const char *name, char *chunk, struct program *program,
                        struct problem *problem)
{
    struct stat status;
    int result = 0;

    program->file = open(name, O_RDONLY | O_CLOEXEC);
    if (program->file < 0 || fstat(program->file, &status) < 0)
        result = -errno;
    else if (!S_ISREG(status.st_mode))
        result = -EACCES;
    else
        result = hash_file(program, chunk);
    return result == 0 ? 0 : problem_set(problem, result, "%s", strerror(-result));
}

/* ---- there ---- */

static int put(const struct remote_asking *asking, const struct program *program, uint64_t offset,
               char *chunk, json_t **ret_result, struct problem *problem)
{
    ssize_t got = pread(program->file, chunk, CHUNK, (off_t)offset);
    char *text = malloc(BASE64_LENGTH(CHUNK) + 1);

    if (got <= 0 || text == NULL) {
        free(text);
        return problem_set(problem, got == 0 ? -EIO : -errno, "cannot read %s: it has changed",
                           program->name);
    }
    base64_encode(chunk, (size_t)got, text);
    json_t *params = json_pack("{s:s, s:I, s:I, s:s}", "hash", program->hash, "offset",
                               (json_int_t)offset, "size", (json_int_t)program->size, "data", text);
    free(text);
    return asking->ask(asking->context, "program.put", params, ret_result, problem);
}

/* Sends what the machine does not have yet. */
static int send_program(const struct remote_asking *asking, const struct program *program,
                        char *chunk, struct problem *problem)
{
    json_t *params = json_pack("{s:s}", "hash", program->hash), *state = NULL;
    json_int_t before = -1; /* each piece makes it larger: else there would be no end */
    int result = asking->ask(asking->context, "program.has", params, &state, problem);

    while (result == 0 && !json_is_true(json_object_get(state, "complete"))) {
        json_int_t offset = json_integer_value(json_object_get(state, "bytes"));
        json_decref(state);
        state = NULL;
        if (offset <= before || (uint64_t)offset >= program->size)
            return problem_set(problem, -EPROTO, "%s: the copy of %s is damaged there",
                               asking->host, program->name);
        before = offset;
        result = put(asking, program, (uint64_t)offset, chunk, &state, problem);
    }
    json_decref(state);
    return result;
}

static int copy_program(const struct remote_asking *asking, const char *name,
                        char ret_hash[REMOTE_HASH_SIZE], struct problem *problem)
{
    struct program program = {.name = name, .file = -1};
    char *chunk = malloc(CHUNK);
    struct problem why;
    int result = chunk == NULL ? problem_set(&why, -ENOMEM, "out of memory")
                               : open_program(name, chunk, &program, &why);

    if (result < 0)
        result =
            problem_set(problem, -ENOENT, "%s: there is no program %s, neither there nor here (%s)",
                        asking->host, name, why.text);
    else
        result = send_program(asking, &program, chunk, problem);
    if (result == 0)
        memcpy(ret_hash, program.hash, REMOTE_HASH_SIZE);
    if (program.file >= 0)
        close(program.file);
    free(chunk);
    return result;
}

int remote_find_program(const struct remote_asking *asking, const char *name, const char *directory,
                        const char *user, char ret_hash[REMOTE_HASH_SIZE],
                        char ret_directory[PATH_MAX], struct problem *problem)
{
    json_t *params = json_pack("{s:s, s:s}", "program", name, "directory", directory),
           *found = NULL;

    if (user != NULL)
        json_object_set_new(params, "user", json_string(user));
    int result = asking->ask(asking->context, "program.find", params, &found, problem);

    ret_hash[0] = '\0';
    if (result < 0)
        return result;
    const char *usable = json_string_value(json_object_get(found, "directory"));
    snprintf(ret_directory, PATH_MAX, "%s", usable == NULL ? "/" : usable);
    bool there = json_object_get(found, "path") != NULL;
    json_decref(found);
    if (there)
        return 0;
    /* what is looked up in PATH belongs to a system; its file alone would not be what the user means */
    if (strchr(name, '/') == NULL)
        return problem_set(problem, -ENOENT, "%s: there is no program '%s'", asking->host, name);
    return copy_program(asking, name, ret_hash, problem);
}
