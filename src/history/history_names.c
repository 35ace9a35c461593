/* SPDX-License-Identifier: MIT */
/* history_names.c: words for kinds of edges, and for bytes without one. See history.h. */
#include "history/history.h"

const char *edge_kind_name(enum edge_kind kind)
{
    static const char *const names[] = {
        [EDGE_EXACT] = "exact",
        [EDGE_ORDERED] = "ordered",
        [EDGE_INFERRED] = "inferred",
        [EDGE_CREATION] = "creation",
        [EDGE_TERMINATION] = "termination",
        [EDGE_ROOM] = "room",
        [EDGE_CONNECTION] = "connection",
        [EDGE_END] = "end",
        [EDGE_WAKEUP] = "wakeup",
        [EDGE_FILE] = "file",
        [EDGE_COLLECTIVE] = "collective",
    };

    return kind < EDGE_KIND_COUNT ? names[kind] : "unknown";
}

const char *history_rest_name(enum history_rest rest)
{
    static const char *const names[] = {
        [REST_NONE] = "none",
        [REST_EXTERNAL] = "external",
        [REST_UNSELECTED] = "unselected",
        [REST_UNMATCHED] = "unmatched",
        [REST_NOT_FOUND] = "not_found",
    };

    return rest <= REST_NOT_FOUND ? names[rest] : "unknown";
}
