/* SPDX-License-Identifier: MIT */
/* live_access.c: see live_access.h. */
#include "command/live/live_access.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define TOKEN_LEAST 16

/* ---- the token of a file ---- */

/* Reads at most `most` bytes. Returns how many, or a negative errno. */
static ssize_t read_private(const char *path, char *to, size_t most, struct problem *problem)
{
    struct stat status;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK), error = 0;
    ssize_t size = 0;

    if (file < 0 || fstat(file, &status) < 0)
        error =
            problem_set(problem, -errno, "cannot read the token in %s: %s", path, strerror(errno));
    else if (!S_ISREG(status.st_mode))
        error = problem_set(problem, -EINVAL, "%s: the token must be in a regular file", path);
    else if ((status.st_mode & 077) != 0)
        error = problem_set(problem, -EPERM,
                            "%s: others may read this token: chmod 600, and make a new one", path);
    else if ((size = read(file, to, most)) < 0)
        error =
            problem_set(problem, -errno, "cannot read the token in %s: %s", path, strerror(errno));
    if (file >= 0)
        close(file);
    return error < 0 ? error : size;
}

int live_access_read_token(const char *path, char token[LIVE_TOKEN_SIZE], struct problem *problem)
{
    char text[LIVE_TOKEN_SIZE + 1]; /* a newline follows the longest one */
    ssize_t size = read_private(path, text, sizeof(text) - 1, problem);

    if (size < 0)
        return (int)size;
    text[size] = '\0';
    size_t length = strcspn(text, "\r\n");
    bool fits = length >= TOKEN_LEAST && length < LIVE_TOKEN_SIZE;
    if (fits) {
        memcpy(token, text, length);
        token[length] = '\0';
    }
    explicit_bzero(text, sizeof(text));
    return fits ? 0
                : problem_set(problem, -EINVAL, "%s: a token is a line of %d to %d characters",
                              path, TOKEN_LEAST, LIVE_TOKEN_SIZE - 1);
}

/* ---- secrets ---- */

static int make_digits(char *digits, size_t size)
{
    unsigned char bytes[(LIVE_SECRET_SIZE - 1) / 2];
    size_t count = (size - 1) / 2;

    if (getrandom(bytes, count, 0) != (ssize_t)count)
        return -EIO;
    for (size_t i = 0; i < count; i++)
        snprintf(digits + 2 * i, 3, "%02x", bytes[i]);
    return 0;
}

static int make_secret(char secret[LIVE_SECRET_SIZE])
{
    return make_digits(secret, LIVE_SECRET_SIZE);
}

int live_access_init(struct live_access *access, const char *name, const char *token)
{
    *access = (struct live_access){0};
    snprintf(access->name, sizeof(access->name), "%s", name);
    if (token != NULL)
        snprintf(access->token, sizeof(access->token), "%s", token);
    int result = make_secret(access->once);
    if (result == 0)
        result = make_secret(access->cookie);
    return result == 0 ? make_digits(access->mark, sizeof(access->mark)) : result;
}

void live_access_done(struct live_access *access)
{
    explicit_bzero(access, sizeof(*access));
}

bool live_access_is(const char *given, const char *secret)
{
    size_t length = strlen(secret);

    if (given == NULL || length == 0)
        return false;
    size_t given_length = strlen(given);
    unsigned char differs = given_length != length;
    for (size_t i = 0; i < length; i++)
        differs |= (unsigned char)(secret[i] ^ given[i < given_length ? i : 0]);
    return !differs;
}

bool live_access_has_token(const struct live_access *access, const char *authorization)
{
    static const char scheme[] = "Bearer ";

    return authorization != NULL && strncasecmp(authorization, scheme, sizeof(scheme) - 1) == 0 &&
           live_access_is(authorization + sizeof(scheme) - 1, access->token);
}

bool live_access_redeem(struct live_access *access, const char *given)
{
    char next[LIVE_SECRET_SIZE];

    if (!live_access_is(given, access->once) || make_secret(next) < 0)
        return false;
    memcpy(access->once, next, sizeof(next));
    access->was_used = true;
    return true;
}

/* ---- where a request comes from ---- */

bool live_access_names_host(const struct live_access *access, const char *host)
{
    const char *const names[] = {"localhost", "127.0.0.1", "[::1]", access->name};

    for (size_t i = 0; host != NULL && i < ARRAY_SIZE(names); i++) {
        size_t length = strlen(names[i]);
        if (strncasecmp(host, names[i], length) == 0 &&
            (host[length] == '\0' || host[length] == ':'))
            return true;
    }
    return host == NULL;
}

bool live_access_fits_origin(const char *origin, const char *host)
{
    static const char scheme[] = "http://";

    return origin == NULL ||
           (host != NULL && strncasecmp(origin, scheme, sizeof(scheme) - 1) == 0 &&
            strcasecmp(origin + sizeof(scheme) - 1, host) == 0);
}
