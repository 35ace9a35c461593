/* SPDX-License-Identifier: MIT */
/* remote_site.c: a site's server. See remote_site.h. */
#include "remote/remote_site.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define CONNECT_MS 10000

static int read_address(struct remote_site *site, struct problem *problem)
{
    struct fabric_address address;
    const char *rest = site->url;

    while (rest != NULL) {
        int result = fabric_address_parse(rest, &address, &rest, problem);
        if (result < 0)
            return result;
        if (address.tls && site->tls_name[0] == '\0')
            snprintf(site->tls_name, sizeof(site->tls_name), "%s", address.host);
    }
    return 0;
}

/* ---- its words ---- */

#define FILE_NAME "site.json"

/* The next controller may be started elsewhere. */
static void set_path(json_t *words, const char *key, const char *path)
{
    char whole[PATH_MAX];

    if (path != NULL)
        json_object_set_new(words, key, json_string(realpath(path, whole) == NULL ? path : whole));
}

/* As a server of the session's own has one: without it, an agent of an earlier session of this name would be taken for ours. */
static json_t *new_id(void)
{
    uint32_t random;

    return getrandom(&random, sizeof(random), 0) == (ssize_t)sizeof(random)
               ? json_sprintf("%08" PRIx32, random)
               : NULL;
}

json_t *remote_site_describe(const struct remote_options *options)
{
    json_t *words = json_pack("{s:s}", "url", options->url);

    json_object_set_new(words, "id", new_id());
    set_path(words, "credentials", options->credentials);
    set_path(words, "agent_credentials", options->agent_credentials);
    set_path(words, "authorities", options->authorities);
    return words;
}

int remote_site_store(json_t *words, const char *folder, struct problem *problem)
{
    char path[PATH_MAX + 16];

    snprintf(path, sizeof(path), "%s/" FILE_NAME, folder);
    return json_dump_file(words, path, JSON_INDENT(4)) == 0
               ? 0
               : problem_set(problem, -EIO, "cannot write %s: %s", path, strerror(errno));
}

json_t *remote_site_load(const char *folder)
{
    char path[PATH_MAX + 16];

    snprintf(path, sizeof(path), "%s/" FILE_NAME, folder);
    return json_load_file(path, 0, NULL);
}

static const char *word_of(const struct remote_site *site, const char *key)
{
    return json_string_value(json_object_get(site->words, key));
}

/* ---- the server ---- */

int remote_site_new(json_t *words, struct remote_site **ret_site, struct problem *problem)
{
    struct remote_site *site = calloc(1, sizeof(*site));
    int result = 0;

    if (site == NULL) {
        json_decref(words);
        return problem_set(problem, -ENOMEM, "out of memory");
    }
    site->words = words;
    site->url = word_of(site, "url");
    site->credentials = word_of(site, "credentials");
    const char *of_agents = word_of(site, "agent_credentials");
    const char *authorities = word_of(site, "authorities");
    if (site->url == NULL || site->credentials == NULL)
        result = problem_set(problem, -EBADMSG, "the session's " FILE_NAME " is damaged");
    if (result == 0)
        result = read_address(site, problem);
    if (result == 0)
        result = fabric_read_secrets(of_agents == NULL ? site->credentials : of_agents,
                                     &site->of_agents, problem);
    if (result == 0 && authorities != NULL)
        result = fabric_read_authorities(authorities, site->authorities, problem);
    if (result < 0) {
        remote_site_free(site);
        return result;
    }
    *ret_site = site;
    return 0;
}

void remote_site_free(struct remote_site *site)
{
    if (site == NULL)
        return;
    json_decref(site->words);
    explicit_bzero(&site->of_agents, sizeof(site->of_agents));
    free(site);
}

int remote_site_open(const struct remote_site *site, const char *session, const char *machine,
                     struct fabric **ret_fabric, struct problem *problem)
{
    const struct fabric_options options = {
        .url = site->url,
        .credentials = site->credentials,
        .session = session,
        .machine = machine,
        .authorities = site->authorities[0] == '\0' ? NULL : site->authorities,
    };

    return fabric_open(&options, CONNECT_MS, ret_fabric, problem);
}

void remote_site_hello(const struct remote_site *site, struct relay_hello *hello)
{
    const struct fabric_secrets *secrets = &site->of_agents;
    const char *id = word_of(site, "id"); /* NULL: another version of dpm has begun the session */

    snprintf(hello->id, sizeof(hello->id), "%s", id == NULL ? "" : id);
    memcpy(hello->user, secrets->user, sizeof(hello->user));
    memcpy(hello->password, secrets->password, sizeof(hello->password));
    memcpy(hello->credentials, secrets->file, sizeof(hello->credentials));
    memcpy(hello->tls_name, site->tls_name, sizeof(hello->tls_name));
    memcpy(hello->authorities, site->authorities, sizeof(hello->authorities));
}
