/* SPDX-License-Identifier: MIT */
/* sensor_values.c: from what the machine has calculated to values for users. See sensor.h. */
#include "sensor/sensor_values.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static struct sensor_value real_value(uint64_t bits, unsigned size)
{
    struct sensor_value value = {.kind = SENSOR_REAL};
    float single;

    if (size == 4) {
        uint32_t half = (uint32_t)bits;
        memcpy(&single, &half, sizeof(single));
        value.real = (double)single;
    } else {
        memcpy(&value.real, &bits, sizeof(value.real));
    }
    return value;
}

struct sensor_value value_of_bits(const struct compiled *compiled, uint64_t bits, bool known)
{
    const struct type *type = compiled->type;

    if (!known)
        return (struct sensor_value){.kind = SENSOR_UNKNOWN};
    if (type->kind == TYPE_REAL)
        return real_value(bits, compiled->real_size == 0 ? 8 : compiled->real_size);
    if (type->kind == TYPE_INTEGER && type->is_signed)
        return (struct sensor_value){.kind = SENSOR_SIGNED, .number = (int64_t)bits};
    return (struct sensor_value){.kind = SENSOR_UNSIGNED, .natural = bits};
}

struct view_value sensor_value_of_view(const struct sensor_value *value)
{
    double number;

    switch (value->kind) {
    case SENSOR_TEXT:
    case SENSOR_STRUCT:
        return (struct view_value){.kind = VIEW_IS_TEXT, .text = value->text};
    case SENSOR_SIGNED:
        number = (double)value->number;
        break;
    case SENSOR_UNSIGNED:
        number = (double)value->natural;
        break;
    case SENSOR_REAL:
        number = value->real;
        break;
    default:
        return (struct view_value){.kind = VIEW_UNKNOWN};
    }
    return isfinite(number) ? (struct view_value){.kind = VIEW_IS_NUMBER, .number = number}
                            : (struct view_value){.kind = VIEW_UNKNOWN};
}

/* "a \"b\"": printable, on one line. */
static int quoted(const char *from, char *text, size_t size)
{
    char quote[SENSOR_TEXT_SIZE * 4 + 3];
    size_t used = 0;

    quote[used++] = '"';
    for (; *from != '\0'; from++) {
        unsigned char c = (unsigned char)*from;
        if (c == '"' || c == '\\')
            used += (size_t)sprintf(quote + used, "\\%c", c);
        else if (c < ' ' || c >= 127)
            used += (size_t)sprintf(quote + used, "\\x%02x", c);
        else
            quote[used++] = (char)c;
    }
    quote[used++] = '"';
    return snprintf(text, size, "%.*s", (int)used, quote);
}

int sensor_value_text(const struct sensor_value *value, char *text, size_t size)
{
    switch (value->kind) {
    case SENSOR_SIGNED:
        return snprintf(text, size, "%" PRId64, value->number);
    case SENSOR_UNSIGNED:
        return snprintf(text, size, "%" PRIu64, value->natural);
    case SENSOR_REAL:
        return snprintf(text, size, "%.15g", value->real);
    case SENSOR_TEXT:
        return quoted(value->text, text, size);
    case SENSOR_STRUCT:
        return snprintf(text, size, "%s", value->text);
    default:
        return snprintf(text, size, "unknown");
    }
}
