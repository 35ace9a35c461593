/* SPDX-License-Identifier: MIT */
/* steer_settings.c: how acts stand, before any and in words. See steer.h. */
#include "steer/steer.h"

#include <stdio.h>
#include <string.h>

struct steer_setting steer_setting_at_first(const struct steer_act *act)
{
    struct steer_setting setting = {{act->kind == STEER_CPUS ? 0 : act->from}};

    for (size_t i = 0; act->kind == STEER_SHARES && i < act->group_count; i++)
        setting.numbers[i] = (uint32_t)(100 / act->group_count + (i < 100 % act->group_count));
    return setting;
}

void steer_setting_text(const struct steer_machine *machine, const struct steer_act *act,
                        const struct steer_setting *setting, char text[STEER_TEXT_SIZE])
{
    const uint32_t *numbers = setting->numbers;
    int size = 0;

    text[0] = '\0';
    if (act->kind == STEER_CPUS && numbers[0] == 0)
        strcpy(text, "any CPU");
    else if (act->kind == STEER_CPUS)
        snprintf(text, STEER_TEXT_SIZE, "CPU %s",
                 numbers[0] <= machine->set_count ? machine->sets[numbers[0] - 1].text : "?");
    else if (act->kind == STEER_SHARES)
        for (size_t i = 0; i < act->group_count; i++)
            size += snprintf(text + size, STEER_TEXT_SIZE - (size_t)size, "%s%u%%",
                             i > 0 ? " " : "", numbers[i]);
    else
        snprintf(text, STEER_TEXT_SIZE, act->kind == STEER_WEIGHT ? "%u times" : "%u", numbers[0]);
}
