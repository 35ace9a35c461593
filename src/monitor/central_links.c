/* SPDX-License-Identifier: MIT */
/* central_links.c: resident monitors that come, are lost, and come back. See central.h. */
#include "monitor/central_private.h"

#include <errno.h>

int central_add_link(struct central *central, const struct central_link *link)
{
    if (central->link_count == CENTRAL_LINKS_MOST)
        return -ENOMEM;
    central->links[central->link_count] = *link;
    return central->link_count++;
}

int central_step(struct central *central, int link, const struct row_step *step,
                 struct problem *problem)
{
    central->requests++;
    return central->links[link].step(central->links[link].self, step, problem);
}

/* What a resident monitor has evaluated is unknown without it. */
static void lose_results(struct central *central, int link)
{
    for (size_t i = 0; i < central->row_count; i++) {
        struct central_row *row = central->rows[i];
        for (size_t k = 0;
             row != NULL && row->monitor == NULL && k < central_view_of(row)->entity_count; k++)
            if (row->bound[k] != 0 && row->links[k] == link)
                central_set_row(row, false, clock_now(CLOCK_REALTIME), NULL);
    }
}

/* It has no shares any more. */
static void lose_shares(struct central *central, int link)
{
    for (size_t i = 0; i < central->row_count; i++) {
        struct central_row *row = central->rows[i];
        for (size_t k = 0; row != NULL && k < row->opened_count; k++)
            if (row->opened[k] == link)
                row->opened[k--] = row->opened[--row->opened_count];
    }
}

void central_lost(struct central *central, int link)
{
    lose_results(central, link);
    for (size_t i = central->instance_count; i-- > 0;)
        if (central->instances[i].link == link)
            central_end_instance(central, i);
    lose_shares(central, link);
    central_order_forget(central, link);
}

static bool has_share(const struct central_row *row, int link)
{
    for (size_t i = 0; i < row->opened_count; i++)
        if (row->opened[i] == link)
            return true;
    return false;
}

void central_clock_set(struct central *central, int link)
{
    uint64_t now = clock_now(CLOCK_REALTIME);

    for (size_t i = 0; i < central->row_count; i++) {
        struct central_row *row = central->rows[i];
        if (row == NULL || !row->planned || !has_share(row, link))
            continue;
        const struct view_plan same = row->plan;
        central_replan(row, &same);
        if (row->early > now) /* else it would be unknown for as long as the clock was set by */
            row->early = now;
    }
}

void central_returned(struct central *central, int link)
{
    for (uint32_t i = 0; i < central->options.file->view_count; i++) {
        const double *constant;
        for (uint32_t k = 0;
             (constant = view_constant(&central->options.file->views[i], k)) != NULL; k++)
            central_step(central, link,
                         &(struct row_step){
                             .kind = STEP_CONSTANT, .view = i, .index = k, .value = *constant},
                         NULL);
        if (central->off[i])
            central_step(central, link, &(struct row_step){.kind = STEP_TURN, .view = i}, NULL);
    }
}
