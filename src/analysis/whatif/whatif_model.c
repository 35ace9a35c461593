/* SPDX-License-Identifier: MIT */
/* whatif_model.c: a model of recorded requests, from beginning to end. See whatif.h. */
#include "analysis/whatif/whatif_private.h"

#include <errno.h>
#include <stdlib.h>

static int make_model(struct whatif_model *model, struct elapsed_analysis *analysis, uint32_t most,
                      bool attached)
{
    struct whatif_extent *extents = NULL;
    int result = whatif_take_requests(model, analysis, most);

    if (result == 0) {
        extents = calloc(model->thread_count + 1, sizeof(*extents));
        result = extents == NULL ? -ENOMEM : whatif_find_queues(model, attached, extents);
    }
    if (result == 0)
        result = whatif_make_programs(model, extents);
    free(extents);
    return result;
}

int whatif_model_new(struct elapsed_analysis *analysis, uint32_t most, bool attached,
                     struct whatif_model **ret_model)
{
    struct whatif_model *model = calloc(1, sizeof(*model));
    int result = model == NULL ? -ENOMEM : make_model(model, analysis, most, attached);

    if (result < 0) {
        whatif_model_free(model);
        model = NULL;
    }
    *ret_model = model;
    return result;
}

#define LOAD_LEAST 500000000u /* ns: of fewer clock ticks a share means little */
#define LOAD_PART                                                                                  \
    0.8 /* of that time, at least, has requests: what was used otherwise says nothing of them */
#define PAUSE 1000000000u /* ns without a request: more is no client that thinks */

/* With the short times between them: requests come in the order of their beginnings. */
static double time_of_requests(const struct whatif_model *model)
{
    uint64_t time = 0, until = 0;

    for (size_t i = 0; i < model->request_count; i++) {
        const struct whatif_request *request = &model->requests[i];
        uint64_t from = request->begin > until ? request->begin : until;
        if (i > 0 && from - until <= PAUSE)
            from = until;
        if (request->end <= from)
            continue;
        time += request->end - from;
        until = request->end;
    }
    return (double)time;
}

void whatif_model_note_load(struct whatif_model *model, const struct communication *communication)
{
    double all = (double)(model->request_count + model->left_out);

    if (communication->machine_count != 1 || model->request_count == 0)
        return;
    const struct machine_load *load = &communication->machines[0].load;
    if (load->elapsed < LOAD_LEAST || load->cpu_all == NOT_KNOWN || load->cpu_idle == NOT_KNOWN ||
        load->cpu_idle >= load->cpu_all)
        return;
    /* those that were left out are thought to be as frequent: if that is far off, they are not */
    double part =
        time_of_requests(model) * all / (double)model->request_count / (double)load->elapsed;
    if (part < LOAD_PART || (model->left_out > 0 && part > 1 / LOAD_PART))
        return;
    model->used = 1 - (double)load->cpu_idle / (double)load->cpu_all;
}

void whatif_model_free(struct whatif_model *model)
{
    if (model == NULL)
        return;
    free(model->parties);
    free(model->pools);
    free(model->threads);
    free(model->steps);
    free(model->ops);
    free(model->requests);
    free(model->slots);
    free(model);
}

size_t whatif_pools(const struct whatif_model *model, const struct whatif_pool **ret_pools)
{
    *ret_pools = model->pools;
    return model->pool_count;
}

const struct whatif_party *whatif_party(const struct whatif_model *model, uint32_t party)
{
    return &model->parties[party];
}
