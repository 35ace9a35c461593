/* SPDX-License-Identifier: MIT */
/* filter_report.c: what a filter has stored, as lines for the user. See filter_report.h. */
#include "control/filter_report.h"

#include "control/command.h"
#include "show/show.h"

#include <inttypes.h>
#include <stdio.h>

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
        if (copy.missing > 0)
            command_say("%s: %" PRIu64 " packets did not arrive; what was in them counts as lost",
                        copy.machine, copy.missing);
        if (copy.refused > 0)
            command_say("%s: %" PRIu64 " packets could not be stored: %s", copy.machine,
                        copy.refused, copy.why);
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
