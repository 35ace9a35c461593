/* SPDX-License-Identifier: MIT */
/*
 * nats_library.c: finds and loads libnats. See nats_library.h.
 *
 * The SONAME has the minor version (libnats.so.3.10), though what we use has stayed the same. Compared were the headers and
 * the sources of 3.4.1, 3.5.0, 3.6.1, 3.7.0, 3.8.3, 3.9.3, 3.10.1, 3.11.0, 3.12.0, 3.13.0 and 3.14.0-beta:
 *   - The functions of NATS_FUNCTIONS are all there, with the same parameters; 3.12 adds `const` to three.
 *   - So are our four types of callbacks, and the numbers of natsStatus and natsConnStatus: new ones follow the old ones.
 * 3.3 has no natsOptions_SetIgnoreDiscoveredServers. Before NEWEST becomes larger, compare again.
 */
#define NATS_LIBRARY_ITSELF
#include "fabric/nats_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define OLDEST 4 /* 3.4 */
#define NEWEST 14
#define OTHERS 40 /* other versions are named, but not used */

struct nats_library nats_library;

/* ---- what to install ---- */

static const struct {
    const char *release; /* ID-VERSION_ID of os-release(5) */
    const char *package;
} packages[] = {
    {"debian-12", "libnats3.4"},       {"debian-13", "libnats3.10"},
    {"ubuntu-24.04", "libnats3.7t64"}, {"ubuntu-25.10", "libnats3.10"},
    {"ubuntu-26.04", "libnats3.12"},
};

/* Reads NAME=value or NAME="value" of os-release(5). */
static void read_value(const char *line, const char *name, char value[32])
{
    size_t length = strlen(name);

    if (strncmp(line, name, length) != 0 || line[length] != '=')
        return;
    line += length + 1;
    line += *line == '"';
    snprintf(value, 32, "%.*s", (int)strcspn(line, "\"\n"), line);
}

static void read_release(char release[64])
{
    char line[256], id[32] = "", version[32] = "";
    FILE *file = fopen("/etc/os-release", "re");

    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        read_value(line, "ID", id);
        read_value(line, "VERSION_ID", version);
    }
    if (file != NULL)
        fclose(file);
    snprintf(release, 64, "%s-%s", id, version);
}

/* What brings libnats here: the package of this release, or the one that has the same name in all. */
static const char *package_here(void)
{
    char release[64];

    read_release(release);
    for (size_t i = 0; i < ARRAY_SIZE(packages); i++)
        if (strcmp(packages[i].release, release) == 0)
            return packages[i].package;
    return "libnats-dev";
}

/* ---- loading ---- */

static void *open_version(int minor)
{
    char name[32];

    snprintf(name, sizeof(name), "libnats.so.3.%d", minor);
    return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

/* The file is there, but does not load. */
static bool is_broken(const char *error)
{
    return error != NULL && (strncmp(error, "libnats.so.", 11) != 0 ||
                             strstr(error, "No such file or directory") == NULL);
}

static int missing(struct problem *problem)
{
    for (int minor = 0; minor < OTHERS; minor++)
        if ((minor < OLDEST || minor > NEWEST) && open_version(minor) != NULL)
            return problem_set(problem, -ELIBACC,
                               "commands for several machines need libnats 3.%d to 3.%d, here is "
                               "3.%d: try apt-get install %s",
                               OLDEST, NEWEST, minor, package_here());
    return problem_set(problem, -ELIBACC,
                       "commands for several machines need the library libnats, which is not "
                       "installed: apt-get install %s",
                       package_here());
}

static int open_library(void **ret_handle, struct problem *problem)
{
    for (int minor = NEWEST; minor >= OLDEST; minor--) {
        void *handle = open_version(minor);
        if (handle != NULL) {
            *ret_handle = handle;
            return 0;
        }
        const char *error = dlerror();
        if (is_broken(error))
            return problem_set(problem, -ELIBACC, "libnats cannot be loaded: %s", error);
    }
    return missing(problem);
}

static int find_functions(void *handle, struct problem *problem)
{
    struct nats_library found;

#define FIND(name)                                                                                 \
    *(void **)&found.name = dlsym(handle, #name);                                                  \
    if (found.name == NULL)                                                                        \
        return problem_set(problem, -ELIBACC, "libnats cannot be used: %s", dlerror());
    NATS_FUNCTIONS(FIND)
#undef FIND
    nats_library = found;
    return 0;
}

int nats_library_load(struct problem *problem)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static bool loaded;
    void *handle = NULL;

    pthread_mutex_lock(&lock);
    int error = loaded ? 0 : open_library(&handle, problem);
    if (!loaded && error == 0)
        error = find_functions(handle, problem);
    loaded = error == 0;
    pthread_mutex_unlock(&lock);
    return error;
}
