/* SPDX-License-Identifier: MIT */
/* hosts_notes.c: what hosts note about their recordings; what all of them note is said once. See hosts.h. */
#include "command/hosts/hosts.h"

void hosts_say_note(struct hosts *hosts, const struct metered_host *host, const char *text)
{
    const char *note = conduct_note_once(hosts->conduct, host->remote->name, text);

    if (note != NULL)
        hosts_say(hosts, host->remote, note);
}

void hosts_say_notes(struct hosts *hosts, const struct metered_host *host, json_t *result)
{
    json_t *notes = json_object_get(result, "notes"), *note;
    size_t i;

    json_array_foreach(notes, i, note)
    {
        if (json_is_string(note))
            hosts_say_note(hosts, host, json_string_value(note));
    }
}

static bool has_note(const struct metered_host *host, const json_t *note)
{
    json_t *one;
    size_t i;

    json_array_foreach(host->notes, i, one)
    {
        if (json_equal(one, note) != 0)
            return true;
    }
    return false;
}

static void say(struct hosts *hosts, const struct metered_host *host, const json_t *note)
{
    const struct metered_host *first = NULL;
    size_t having = 0, opened = 0;
    char line[640];

    for (size_t i = 0; i < hosts->count; i++) {
        opened += hosts->list[i].opened;
        if (!has_note(&hosts->list[i], note))
            continue;
        having++;
        first = first == NULL ? &hosts->list[i] : first;
    }
    if (having == 1 || having < opened) {
        hosts_say_note(hosts, host, json_string_value(note));
    } else if (host == first) {
        snprintf(line, sizeof(line), "all %zu hosts: %.600s", opened, json_string_value(note));
        hosts_say(hosts, NULL, line);
    }
}

void hosts_say_common_notes(struct hosts *hosts)
{
    json_t *note;
    size_t k;

    for (size_t i = 0; i < hosts->count; i++)
        json_array_foreach(hosts->list[i].notes, k, note)
        {
            if (json_is_string(note))
                say(hosts, &hosts->list[i], note);
        }
    for (size_t i = 0; i < hosts->count; i++) {
        json_decref(hosts->list[i].notes);
        hosts->list[i].notes = NULL;
    }
}
