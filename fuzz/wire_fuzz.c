/* SPDX-License-Identifier: MIT */
/*
 * wire_fuzz.c: the input is JSON that another machine has sent as a plan, as values of a view, or as steps. It is taken, and then the same
 * comes out of it again; or it is refused.
 */
#include "fuzz.h"
#include "monitor/wire.h"

#include <errno.h>
#include <string.h>

static void check_same(const struct view_plan *plan, const struct view_plan *again,
                       const struct view *view)
{
    PROMISE(plan->top == again->top && plan->period == again->period);
    for (size_t i = 0; i < view->entity_count; i++)
        PROMISE(plan->parts[i].collection == again->parts[i].collection &&
                plan->parts[i].evaluates == again->parts[i].evaluates);
}

static void try_plan(json_t *json, const struct view *view)
{
    struct view_plan plan, again;
    int result = wire_take_plan(json, view, &plan);

    PROMISE(result == 0 || result == -EINVAL);
    if (result < 0)
        return;
    PROMISE(plan.top < VIEW_SITES && plan.period >= 0);
    for (size_t i = 0; i < view->entity_count; i++)
        PROMISE(plan.parts[i].collection < VIEW_COLLECTIONS &&
                plan.parts[i].evaluates < VIEW_SITES);
    json_t *written = wire_plan(view, &plan);
    PROMISE(wire_take_plan(written, view, &again) == 0);
    check_same(&plan, &again, view);
    json_decref(written);
}

static void try_values(json_t *json)
{
    struct view_value values[VIEW_REFERENCES_MOST];
    size_t count = json_array_size(json);
    uint64_t number;

    if (count > VIEW_REFERENCES_MOST || wire_take_values(json, count, values) < 0)
        return;
    json_t *written = wire_values(values, count);
    PROMISE(json_array_size(written) == count);
    for (size_t i = 0; i < count; i++)
        PROMISE(json_is_null(json_array_get(written, i)) == (values[i].kind == VIEW_UNKNOWN));
    json_decref(written);
    PROMISE(wire_take_number(json, "period", 10, &number) == -EINVAL);
}

static void try_rate(json_t *json)
{
    struct row_rate rate, again;
    uint32_t row, entity, row_again, entity_again;

    if (wire_take_rate(json, &row, &entity, &rate) < 0)
        return;
    PROMISE(entity < VIEW_ENTITIES_MOST && rate.changes >= -1 && rate.records >= 0 &&
            rate.handed >= 0 && rate.lost >= 0);
    json_t *written = wire_rate(row, entity, &rate);
    PROMISE(wire_take_rate(written, &row_again, &entity_again, &again) == 0);
    PROMISE(row == row_again && entity == entity_again && rate.changes == again.changes &&
            rate.records == again.records && rate.handed == again.handed &&
            rate.lost == again.lost && rate.sensor_passes == again.sensor_passes);
    json_decref(written);
}

static void try_step(json_t *json, const struct view_file *file)
{
    struct view_plan plan, of_again;
    struct row_step step, again;
    struct problem problem = {""};
    int result = wire_take_step(json, file, &step, &plan, &problem);

    PROMISE(result == 0 || (result == -EINVAL && problem.text[0] != '\0'));
    if (result < 0)
        return;
    PROMISE(step.kind < STEP_KINDS && step.pid >= 0 && step.view < file->view_count);
    json_t *written = wire_step(file, &step);
    PROMISE(wire_take_step(written, file, &again, &of_again, &problem) == 0);
    PROMISE(step.kind == again.kind && step.row == again.row && step.view == again.view &&
            step.entity == again.entity && step.pid == again.pid && step.on == again.on &&
            step.index == again.index && step.value == again.value);
    if (step.kind == STEP_OPEN)
        check_same(&plan, &of_again, &file->views[step.view]);
    json_decref(written);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const char text[] =
        "VIEW DEF V (a: 1) ACTIVE WHEN Q[1].a > 1 AND Q[2].a > 1; END VIEW DEF";
    struct view_file *file = NULL;
    json_t *json = json_loadb((const char *)bytes, size, JSON_DECODE_ANY, NULL);
    uint64_t number = 0;

    PROMISE(view_parse("wire", text, strlen(text), &file, NULL) == 0);
    try_plan(json_object_get(json, "plan"), &file->views[0]);
    try_values(json_object_get(json, "values"));
    for (size_t i = 0; i < json_array_size(json_object_get(json, "steps")); i++)
        try_step(json_array_get(json_object_get(json, "steps"), i), file);
    for (size_t i = 0; i < json_array_size(json_object_get(json, "rates")); i++)
        try_rate(json_array_get(json_object_get(json, "rates"), i));
    PROMISE(wire_take_number(json, "row", 100, &number) < 0 || number <= 100);
    view_file_free(file);
    json_decref(json);
    return 0;
}

size_t fuzz_example(uint8_t *bytes, size_t room)
{
    static const char example[] =
        "{\"plan\": {\"top\": \"central\", \"period\": 0.5, \"instances\": [{\"collection\": "
        "\"traced\", "
        "\"evaluated\": \"sensor\"}, {\"collection\": \"probed\", \"evaluated\": \"resident\"}]}, "
        "\"rates\": [[7, 1, -1, 4400.5, 4400, 0, true]], "
        "\"values\": [1, -2.5e3, null, \"full\"], \"row\": 7, \"steps\": [[\"bind\", 3, 1, 812], "
        "[\"open\", 3, 0, {\"top\": \"sensor\", \"period\": 0, \"instances\": [{\"collection\": "
        "\"sampled\", \"evaluated\": \"central\"}, "
        "{\"collection\": \"traced\", \"evaluated\": \"sensor\"}]}], "
        "[\"constant\", 0, 1, 2.5], [\"turn\", 0, false], [\"read\", 4, 0], [\"close\", 3]]}";

    return fuzz_text(bytes, room, example);
}
