/* SPDX-License-Identifier: MIT */
/* view_hosts_private.h: shared by the files of view_hosts.h. Private to command/. */
#ifndef DPM_VIEW_HOSTS_PRIVATE_H
#define DPM_VIEW_HOSTS_PRIVATE_H

#include "command/views/view_hosts.h"

#include "clocks/asked_clock.h"
#include "conduct/conduct.h"
#include "monitor/central.h"

#define VIEW_CALL_MS 30000

struct view_host {
    struct view_hosts *hosts;
    struct remote_host *remote;
    int link;         /* its number for the central monitor; -1: not added yet */
    json_int_t begin; /* of its resident monitor: 1, and one more whenever the host has come back */
    bool begun;       /* its resident monitor has */
    bool lost;        /* it is away: its instances have ended, for the central monitor */
    struct asked_clock clock;
    uint64_t asked;    /* CLOCK_MONOTONIC: when its clock was asked; 0: no question is open */
    uint64_t ask_next; /* when it is asked again */
    json_t *steps;     /* that were not sent yet */
    bool waits;        /* for the answer to some */
    bool ended;
};

struct view_hosts {
    struct view_hosts_options options;
    char session[FABRIC_NAME_MOST + 1];
    struct conduct *conduct;
    struct view_host *list;
    size_t count;
    struct central *central;
    bool goes_on;   /* the caller looks at the descriptor, after each view_hosts_poll */
    size_t waiting; /* answers */
    double clocks;  /* ns: as view_hosts_clocks */
    int failed;
    struct problem problem;
};

/* Returns -EINTR with a line in `problem` if the user does not want to wait for hosts any longer, or else 0. */
int view_hosts_interrupted(const struct view_hosts *hosts, struct problem *problem);

/* If a host that was lost is there again, its resident monitor begins anew. */
void view_host_return(struct view_host *host);

/* view_hosts_links.c: the host as the central monitor sees it; sends the steps that have gathered. */
struct central_link view_host_link(struct view_host *host);
void view_hosts_send(struct view_hosts *hosts);

/* view_clocks.c: learns the clocks of all hosts; learns them again from time to time. */
int view_clocks_begin(struct view_hosts *hosts, struct problem *problem);
void view_clocks_work(struct view_hosts *hosts);

#endif
