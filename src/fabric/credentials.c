/* SPDX-License-Identifier: MIT */
/*
 * credentials.c: addresses and files that say how to reach a server.
 *
 *      tls://nats1.example.org:4222,tls://nats2.example.org       nats://[::1]:4222
 *      dpm:aij8...        or        -----BEGIN NATS USER JWT----- ...
 */
#include "fabric/fabric.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_PORT "4222"

/* ---- addresses ---- */

static const char *skip_scheme(const char *url, bool *ret_tls)
{
    static const char *const schemes[] = {"nats://", "tls://"};

    for (size_t i = 0; i < ARRAY_SIZE(schemes); i++)
        if (strncmp(url, schemes[i], strlen(schemes[i])) == 0) {
            *ret_tls = i == 1;
            return url + strlen(schemes[i]);
        }
    return NULL;
}

static bool copy_part(const char *begin, const char *end, char *to, size_t size)
{
    if (begin >= end || (size_t)(end - begin) >= size)
        return false;
    memcpy(to, begin, (size_t)(end - begin));
    to[end - begin] = '\0';
    return true;
}

/* "[::1]:4222" or "host:4222" or "host". */
static bool take_apart(const char *at, const char *end, struct fabric_address *address)
{
    const char *host_end, *colon;

    if (*at == '[') {
        host_end = memchr(at, ']', (size_t)(end - at));
        if (host_end == NULL || !copy_part(at + 1, host_end, address->host, sizeof(address->host)))
            return false;
        colon = host_end + 1;
    } else {
        colon = memchr(at, ':', (size_t)(end - at));
        host_end = colon == NULL ? end : colon;
        if (!copy_part(at, host_end, address->host, sizeof(address->host)))
            return false;
        colon = host_end;
    }
    strcpy(address->port, DEFAULT_PORT);
    if (colon == end)
        return true;
    if (*colon != ':' || !copy_part(colon + 1, end, address->port, sizeof(address->port)))
        return false;
    long port = strtol(address->port, NULL, 10);
    return address->port[strspn(address->port, "0123456789")] == '\0' && port > 0 && port < 65536;
}

int fabric_address_parse(const char *urls, struct fabric_address *ret_address,
                         const char **ret_rest, struct problem *problem)
{
    size_t length = strcspn(urls, ",");
    const char *end = urls + length, *at = skip_scheme(urls, &ret_address->tls);

    *ret_rest = *end == ',' ? end + 1 : NULL;
    if (at != NULL && at <= end && memchr(at, '@', (size_t)(end - at)) != NULL)
        return problem_set(problem, -EINVAL,
                           "the address of a NATS server holds a user: that belongs into a file of "
                           "credentials, which others cannot read");
    if (at == NULL || at > end || !take_apart(at, end, ret_address))
        return problem_set(problem, -EINVAL,
                           "%.*s: not the address of a NATS server: nats://HOST:PORT or "
                           "tls://HOST:PORT",
                           (int)length, urls);
    return 0;
}

/* ---- files ---- */

/* Reads a whole file of fewer bytes than `size`. */
static int read_text(const char *path, char *text, size_t size, struct problem *problem)
{
    FILE *file = fopen(path, "re");

    if (file == NULL)
        return problem_set(problem, -errno, "%s: %s", path, strerror(errno));
    setvbuf(file, NULL, _IONBF, 0); /* no copy of a secret stays in memory */
    size_t length = fread(text, 1, size, file);
    bool failed = ferror(file) != 0;
    fclose(file);
    if (failed || length == size) {
        explicit_bzero(text, size);
        return problem_set(problem, failed ? -EIO : -EFBIG, "%s: %s", path,
                           failed ? "it cannot be read" : "it is too large for what it should be");
    }
    text[length] = '\0';
    return 0;
}

static int take_line(const char *path, struct fabric_secrets *secrets, struct problem *problem)
{
    const char *colon, *end = secrets->file + strcspn(secrets->file, "\r\n");

    colon = memchr(secrets->file, ':', (size_t)(end - secrets->file));
    bool good = colon != NULL &&
                copy_part(secrets->file, colon, secrets->user, sizeof(secrets->user)) &&
                copy_part(colon + 1, end, secrets->password, sizeof(secrets->password));
    explicit_bzero(secrets->file, sizeof(secrets->file));
    return good ? 0
                : problem_set(problem, -EINVAL,
                              "%s: neither a .creds file of NATS nor a line user:password", path);
}

int fabric_read_secrets(const char *path, struct fabric_secrets *ret_secrets,
                        struct problem *problem)
{
    *ret_secrets = (struct fabric_secrets){.user = ""};
    int error = read_text(path, ret_secrets->file, sizeof(ret_secrets->file), problem);

    if (error != 0 || strstr(ret_secrets->file, "BEGIN NATS USER JWT") != NULL)
        return error;
    return take_line(path, ret_secrets, problem);
}

int fabric_read_authorities(const char *path, char ret_text[FABRIC_AUTHORITIES_SIZE],
                            struct problem *problem)
{
    int error = read_text(path, ret_text, FABRIC_AUTHORITIES_SIZE, problem);

    if (error == 0 && strstr(ret_text, "-----BEGIN CERTIFICATE-----") == NULL)
        error = problem_set(problem, -EINVAL, "%s: no certificates in PEM form", path);
    return error;
}
