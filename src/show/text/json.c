/* SPDX-License-Identifier: MIT */
/* json.c: values that all JSON of DPM consists of. See json.h. */
#include "show/text/json.h"
#include "show/show.h"

#include <errno.h>

int json_print(json_t *value, size_t flags, FILE *file)
{
    if (value == NULL)
        return -ENOMEM;
    flags |= JSON_ENCODE_ANY | JSON_REAL_PRECISION(15); /* 0.6, not 0.59999999999999998 */
    /* one write for the whole value takes half as long as one for each part, if it fits */
    char text[16384];
    size_t size = json_dumpb(value, text, sizeof(text), flags);
    bool fits = size > 0 && size <= sizeof(text);
    /* jansson does not say why it failed: without a file error, it was memory */
    bool printed = fits ? fwrite(text, 1, size, file) == size : json_dumpf(value, file, flags) == 0;
    json_decref(value);
    return printed || ferror(file) ? 0 : -ENOMEM;
}

json_t *json_count(uint64_t value)
{
    return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

json_t *json_text(const char *text, size_t size)
{
    char safe[512];

    if (size >= sizeof(safe))
        size = sizeof(safe) - 1;
    show_text(text, size, safe);
    return json_string(safe);
}

json_t *json_distribution(const struct histogram *from)
{
    uint64_t values = histogram_count(from);

    if (values == 0)
        return json_null();
    return json_pack(
        "{s:o, s:f, s:o, s:o, s:o, s:o, s:o}", "count", json_count(values), "mean",
        (double)histogram_sum(from) / (double)values, "min", json_count(histogram_min(from)), "p50",
        json_count(histogram_quantile(from, 0.5)), "p90", json_count(histogram_quantile(from, 0.9)),
        "p99", json_count(histogram_quantile(from, 0.99)), "max", json_count(histogram_max(from)));
}

json_t *json_array_of(const void *context, size_t count,
                      json_t *(*make)(const void *context, size_t index))
{
    json_t *array = json_array();

    for (size_t i = 0; i < count; i++)
        if (json_array_append_new(array, make(context, i)) < 0) {
            json_decref(array);
            return NULL;
        }
    return array;
}
