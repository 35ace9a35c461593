/* SPDX-License-Identifier: MIT */
/* filter_report.c: what a filter has stored, as lines for the user. See filter_report.h. */
#include "command/filters/filter_report.h"

#include "command/shared/command.h"
#include "show/show.h"

#include <stdio.h>
#include <string.h>

static void tell_selected(const struct filter_copy *copy)
{
    char selected[COUNTED_SIZE], unselected[COUNTED_SIZE];

    show_counted(copy->counts.selected, "event", selected);
    show_counted(copy->counts.unselected, "event", unselected);
    command_say("%s: %s selected, %s not selected", copy->machine, selected, unselected);
}

void filter_report_copies(const struct filter *filter, bool has_rules)
{
    struct filter_copy copy;
    char packets[COUNTED_SIZE], bytes[UNIT_SIZE], more[200] = "";

    for (size_t i = 0; i < filter_count(filter); i++) {
        filter_look(filter, i, &copy);
        show_counted(copy.packets, "packet", packets);
        show_bytes(copy.bytes, bytes);
        snprintf(more, sizeof(more), "%s%s", copy.path == NULL ? "" : ", in ",
                 copy.path == NULL ? "" : copy.path);
        command_say("%s: %s, %s%s%s", copy.machine, packets, bytes, more,
                    copy.ended || copy.path == NULL ? "" : ", not ended");
        if (has_rules)
            tell_selected(&copy);
        show_counted(copy.missing, "packet", packets);
        if (copy.missing > 0)
            command_say("%s: %s did not arrive; the records there count as lost", copy.machine,
                        packets);
        show_counted(copy.refused, "packet", packets);
        if (copy.refused > 0)
            command_say("%s: %s could not be stored: %s", copy.machine, packets, copy.why);
    }
}

void filter_report_malformed(const struct filter *filter)
{
    char why[FILTER_WHY_SIZE], messages[COUNTED_SIZE];
    uint64_t count = filter_malformed(filter, why);

    show_counted(count, "message", messages);
    if (count > 0)
        command_say("dropped %s in place of packets: %s", messages, why);
}

static json_t *copy_json(const struct filter_copy *copy)
{
    const char *slash = copy->path == NULL ? NULL : strrchr(copy->path, '/');

    return json_pack("{s:s, s:s, s:s?, s:I, s:I, s:I, s:I, s:b, s:b, s:b, s:I, s:s}", "machine",
                     copy->machine, "recording", copy->recording, "name",
                     slash == NULL ? copy->path : slash + 1, "packets", (json_int_t)copy->packets,
                     "bytes", (json_int_t)copy->bytes, "missing", (json_int_t)copy->missing,
                     "until_ns", (json_int_t)copy->until, "ended", copy->ended, "full", copy->full,
                     "rejected", copy->rejected, "refused", (json_int_t)copy->refused, "why",
                     copy->why);
}

json_t *filter_report_json(const struct filter *filter)
{
    json_t *copies = json_array();
    struct filter_copy copy;
    char why[FILTER_WHY_SIZE] = "";
    uint64_t malformed = filter_malformed(filter, why), packets = 0;

    for (size_t i = 0; i < filter_count(filter); i++) {
        filter_look(filter, i, &copy);
        packets += copy.packets;
        json_array_append_new(copies, copy_json(&copy));
    }
    return json_pack("{s:I, s:I, s:s, s:o}", "packets", (json_int_t)packets, "malformed",
                     (json_int_t)malformed, "malformed_why", why, "copies", copies);
}
