/* SPDX-License-Identifier: MIT */
/* libraries.c: the table of libraries and their probes. See libraries.h. */
#include "libraries/libraries.h"

#include <string.h>

static const struct library_probe hotspot[] = {
    {"hotspot:gc__begin", "library_sensor", SENSOR_GC_BEGIN},
    {"hotspot:gc__end", "library_sensor", SENSOR_GC_END},
    {"hs_private:safepoint__begin", "library_sensor", SENSOR_SAFEPOINT_BEGIN},
    {"hs_private:safepoint__end", "library_sensor", SENSOR_SAFEPOINT_END},
};

static const struct library libraries[] = {
    {"libjvm.so", LIBRARY_SENSORS, hotspot, ARRAY_SIZE(hotspot)},
};

const struct library *libraries_of_file(const char *path, unsigned wishes)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;

    for (size_t i = 0; i < ARRAY_SIZE(libraries); i++)
        if ((libraries[i].wish & wishes) != 0 &&
            strncmp(name, libraries[i].file, strlen(libraries[i].file)) == 0)
            return &libraries[i];
    return NULL;
}
