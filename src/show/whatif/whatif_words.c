/* SPDX-License-Identifier: MIT */
/* whatif_words.c: changes, as options and in sentences. See whatif_face.h. */
#include "show/whatif/whatif_face.h"

#include <inttypes.h>
#include <string.h>

#define MOST 1e4 /* per cent: a million */

void whatif_share_text(double part, char text[UNIT_SIZE])
{
    show_percent((uint64_t)((part < MOST ? part : MOST) * 1e6), 1000000, text);
}

void whatif_why_text(unsigned why, bool of_run, FILE *file)
{
    static const char *const reasons[WHY_COUNT] = {
        [WHY_REQUESTS] = "requests are few, or vary",
        [WHY_MODEL] = "the model's error may stay as it is",
        [WHY_CALLS] = "the CPU time of calls may be saved, too",
        [WHY_NO_CPU] = "time without a CPU may stay, or disappear",
        [WHY_QUEUES] = "queues behind other work may disappear",
        [WHY_LOAD] = "all CPU time that a machine used may grow with its requests",
        [WHY_COLD] = "nearly all of a request is waited for, and what remains may be computed "
                     "faster without these waits",
    };
    const char *before = ": ";

    for (unsigned i = 0; i < WHY_COUNT; i++) {
        if ((why >> i & 1) == 0)
            continue;
        fprintf(file, "%s%s", before,
                of_run && i == WHY_NO_CPU ? "time without a CPU may stay as it is" : reasons[i]);
        before = "; ";
    }
}

#define NEARLY_ALL (-99.9) /* per cent: -100% is nothing at all */

void whatif_factor_text(double from, double to, char text[UNIT_SIZE])
{
    double change = from > 0 ? 100 * (to / from - 1) : 0;

    if (from <= 0)
        snprintf(text, UNIT_SIZE, "-");
    else if (to > 2 * from)
        snprintf(text, UNIT_SIZE, "x%.2f", to / from);
    else if (change >= -0.5 && change <= 0.5)
        snprintf(text, UNIT_SIZE, "0%%");
    else if (to > 0 && change <= -99.5)
        snprintf(text, UNIT_SIZE, "%.1f%%", change > NEARLY_ALL ? change : NEARLY_ALL);
    else
        snprintf(text, UNIT_SIZE, "%+.0f%%", change);
}

static void name_text(const char *name, char text[PROCESS_NAME_SIZE])
{
    show_text(name == NULL ? "" : name, PROCESS_LABEL_SIZE, text);
}

void whatif_option_text(const struct whatif_change *change, char text[CHANGE_SIZE])
{
    char name[PROCESS_NAME_SIZE], to[PROCESS_NAME_SIZE], value[2 * PROCESS_NAME_SIZE + 40];
    const char *option = "";

    name_text(change->name, name);
    name_text(change->to, to);
    switch (change->kind) {
    case WHATIF_NO_HOLDBACK:
        snprintf(text, CHANGE_SIZE, "--no-holdback");
        return;
    case WHATIF_REPLICAS:
        option = "--replicas ";
        snprintf(value, sizeof(value), "%s=%.0f", name, change->amount);
        break;
    case WHATIF_SPEED:
        option = "--speed ";
        snprintf(value, sizeof(value), "%s=%g", name, change->amount);
        break;
    case WHATIF_WAIT:
        option = "--wait ";
        snprintf(value, sizeof(value), "%s,%s=%g", name, elapsed_kind_key(change->wait),
                 change->amount);
        break;
    case WHATIF_KEEP:
        option = "--keep-connections ";
        snprintf(value, sizeof(value), "%s>%s", name, to);
        break;
    case WHATIF_MERGE:
        option = "--merge ";
        snprintf(value, sizeof(value), "%s>%s", name, to);
        break;
    case WHATIF_DELAY:
        option = "--delay ";
        snprintf(value, sizeof(value), "%s>%s=%gms", name, to, change->amount / 1e6);
        break;
    case WHATIF_BUFFER:
        option = "--buffer ";
        snprintf(value, sizeof(value), "%s>%s=%.0f", name, to, change->amount);
        break;
    case WHATIF_PLACE:
        option = "--place ";
        snprintf(value, sizeof(value), "%s", name);
        break;
    }
    shell_quote(value, stpcpy(text, option));
}

void whatif_change_text(const struct whatif_trial *trial, char text[CHANGE_SIZE])
{
    const struct whatif_change *change = &trial->change;
    char name[PROCESS_NAME_SIZE], to[PROCESS_NAME_SIZE];

    name_text(change->name, name);
    name_text(change->to, to);
    switch (change->kind) {
    case WHATIF_NO_HOLDBACK:
        snprintf(text, CHANGE_SIZE, "If no message waited for a delayed acknowledgement");
        break;
    case WHATIF_REPLICAS:
        snprintf(text, CHANGE_SIZE, "With %.0f workers of %s instead of %" PRIu32, change->amount,
                 name, trial->from);
        break;
    case WHATIF_WAIT:
        snprintf(text, CHANGE_SIZE, "If %s did not wait for the disk", name);
        break;
    case WHATIF_KEEP:
        snprintf(text, CHANGE_SIZE, "If %s kept its connections to %s", name, to);
        break;
    case WHATIF_MERGE:
        snprintf(text, CHANGE_SIZE, "If %s asked %s once for each request", name, to);
        break;
    default: /* is none that a report recommends */
        snprintf(text, CHANGE_SIZE, "Then");
    }
}
