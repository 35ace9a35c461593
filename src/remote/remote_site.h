/* SPDX-License-Identifier: MIT */
/*
 * remote_site.h: a site's server instead of one of the session's own. Private to remote/.
 *
 *      agent --tls--> ssh --> relay --> URL         the agent speaks to the site's server itself, with the agents'
 *                                                   credentials; this machine only moves the bytes
 */
#ifndef DPM_REMOTE_SITE_H
#define DPM_REMOTE_SITE_H

#include "relay/relay.h"
#include "remote/remote.h"

struct remote_site {
    json_t *
        words; /* "url", "credentials", "agent_credentials", "authorities", as of remote_options, with whole paths; "id" */
    const char *url, *credentials; /* of these */
    struct fabric_secrets of_agents;
    char authorities[FABRIC_AUTHORITIES_SIZE]; /* "": none of its own */
    char tls_name[FABRIC_HOST_SIZE];           /* "": without encryption */
};

/* What the options say, for all who use the session later: FOLDER/site.json. */
json_t *remote_site_describe(const struct remote_options *options);
int remote_site_store(json_t *words, const char *folder, struct problem *problem);

/* What an earlier controller has stored there; NULL: nothing. */
json_t *remote_site_load(const char *folder);

/* Takes over the words. Reads the files that they name. Errors, with a line in `problem`. */
int remote_site_new(json_t *words, struct remote_site **ret_site, struct problem *problem);
void remote_site_free(struct remote_site *site); /* NULL is allowed */

/* Connects as the controller or, `machine` not NULL, under the name of a machine. */
int remote_site_open(const struct remote_site *site, const char *session, const char *machine,
                     struct fabric **ret_fabric, struct problem *problem);

/* What an agent needs. */
void remote_site_hello(const struct remote_site *site, struct relay_hello *hello);

#endif
