/* SPDX-License-Identifier: MIT */
/* remote_site.c: a site's server. See remote_site.h. */
#include "remote/remote_site.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

int remote_site_new(const struct remote_options *options, struct remote_site **ret_site,
                    struct problem *problem)
{
    struct remote_site *site = calloc(1, sizeof(*site));
    const char *of_agents =
        options->agent_credentials == NULL ? options->credentials : options->agent_credentials;
    int result = 0;

    if (site == NULL || (site->url = strdup(options->url)) == NULL ||
        (site->credentials = strdup(options->credentials)) == NULL)
        result = problem_set(problem, -ENOMEM, "out of memory");
    if (result == 0)
        result = read_address(site, problem);
    if (result == 0)
        result = fabric_read_secrets(of_agents, &site->of_agents, problem);
    if (result == 0 && options->authorities != NULL)
        result = fabric_read_authorities(options->authorities, site->authorities, problem);
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
    free(site->url);
    free(site->credentials);
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

    memcpy(hello->user, secrets->user, sizeof(hello->user));
    memcpy(hello->password, secrets->password, sizeof(hello->password));
    memcpy(hello->credentials, secrets->file, sizeof(hello->credentials));
    memcpy(hello->tls_name, site->tls_name, sizeof(hello->tls_name));
    memcpy(hello->authorities, site->authorities, sizeof(hello->authorities));
}
