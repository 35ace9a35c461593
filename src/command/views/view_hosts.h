/* SPDX-License-Identifier: MIT */
/*
 * view_hosts.h: resident monitors on other machines, for the central monitor here: `dpm view run --host`. Private to
 * command/.
 *
 *      central monitor --steps, in order--> agent: resident monitor        view.begin, view.steps, view.end
 *                      <--notices---------- records, results, instances    view.said
 */
#ifndef DPM_VIEW_HOSTS_H
#define DPM_VIEW_HOSTS_H

#include "command/hosts/hosts_options.h"
#include "monitor/monitor.h"

struct view_hosts;

struct view_hosts_options {
    const struct hosts_options *hosts;
    const struct view_file *file; /* from view_read */
    const char *file_name;
    const char *const *objects; /* "NAME=PROGRAM" */
    size_t object_count;
    uint64_t every;    /* ns: between values that cannot be traced */
    uint64_t interval; /* ns: of figures */
    int descriptor;    /* watched, too */
    /* When it is readable while the hosts are waited for at the beginning or the end: whether to wait no longer. Takes what
     * says so. */
    bool (*stops)(void *context);
    void *context;
};

/* Connects to the hosts, and learns their clocks. A host that cannot be reached is an error. Returns 0 or a negative
 * errno with a line in `problem`; -EINTR: `stops` said so. */
int view_hosts_begin(const struct view_hosts_options *options, struct view_hosts **ret_hosts,
                     struct problem *problem);

/* How far the clocks can be wrong, ns, after what is known of them was corrected; it may grow in view_hosts_poll. */
double view_hosts_clocks(const struct view_hosts *hosts);

/* Adds their resident monitors to the central one. Errors: as of view_hosts_begin. */
int view_hosts_link(struct view_hosts *hosts, struct monitor *monitor, struct problem *problem);

/* Waits until something happens, at most `timeout_ms`, and does what is due. */
void view_hosts_poll(struct view_hosts *hosts, int timeout_ms);

/* Ends the resident monitors and agents; adds what they have counted. NULL is allowed. */
void view_hosts_end(struct view_hosts *hosts, struct monitor_counts *counts);

#endif
