/* SPDX-License-Identifier: MIT */
/*
 * top_screen.h: dpm top on a terminal: the only place that knows ncurses. Private to command/.
 *
 *      keys --top_screen_keys--> what changed --> top_screen_draw --> the lines of top_table.h, on the screen
 */
#ifndef DPM_TOP_SCREEN_H
#define DPM_TOP_SCREEN_H

#include "command/live/live_feed.h"
#include "command/live/live_views.h"
#include "command/live/top_table.h"

struct top_screen {
    struct live_feed *feed;
    struct live_views *views; /* of running monitors; NULL: none are looked at */
    const char *subject;      /* of what: "redis.trace" */
    struct top_look look;
    bool active;      /* the terminal is ours */
    bool helps;       /* the keys are shown */
    bool asks;        /* a filter is being typed */
    bool ends;        /* q, or the terminal is gone */
    bool changed;     /* it must be drawn */
    uint64_t chosen;  /* key of the row that is chosen; 0: the first one */
    bool follows;     /* ... which stays chosen wherever it goes */
    size_t at, first; /* row that is chosen; first one on the screen */
    size_t shown;     /* rows on the screen */
    char said[128];   /* the lowest line, until the next key */
};

/* Whether this program was built with it. */
bool top_screen_is_there(void);

/* Takes the terminal. Returns 0, or a negative errno with a line in `problem`: the terminal is of an unknown kind. */
int top_screen_begin(struct top_screen *screen, struct live_feed *feed, const char *subject,
                     struct problem *problem);

/* A line in the middle of an empty screen, before there is anything to show. */
void top_screen_say(struct top_screen *screen, const char *text);

/* Handles all keys that were typed. Returns 0 or -ENOMEM. */
int top_screen_keys(struct top_screen *screen);

/* Draws the snapshot, unless the terminal takes nothing now. */
void top_screen_draw(struct top_screen *screen);

/* Gives the terminal back. */
void top_screen_end(struct top_screen *screen);

#endif
