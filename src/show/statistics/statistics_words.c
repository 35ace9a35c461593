/* SPDX-License-Identifier: MIT */
/* statistics_words.c: texts for processes, parties and amounts. See statistics_words.h. */
#include "show/statistics/statistics_words.h"

#include "show/text/terminal.h"

#include <stdlib.h>
#include <string.h>

void machine_text(const struct communication *communication, uint32_t machine,
                  char text[MACHINE_TEXT_SIZE])
{
    show_text(communication->machines[machine].name, MACHINE_TEXT_SIZE - 1, text);
}

void name_text(const struct communication_process *process, char text[NAME_TEXT_SIZE])
{
    if (process->group != NULL)
        show_text(process->group, NAME_SIZE, text);
    else if (process->pid == 0)
        strcpy(text, "unknown");
    else
        show_text(process->name, STREAM_NAME_SIZE, text);
}

/* Another process has the same name: the command line tells them apart. */
static void label_text(const struct communication_process *process, char text[NAME_TEXT_SIZE])
{
    char label[PROCESS_LABEL_SIZE];

    process_label(process->name, process->command, label);
    show_text(label, sizeof(label), text);
}

void process_text(const struct communication *communication, uint32_t index,
                  char text[PROCESS_TEXT_SIZE])
{
    const struct communication_process *process = &communication->processes[index];
    char name[NAME_TEXT_SIZE];
    char machine[MACHINE_TEXT_SIZE];
    int length;

    if (process->named_alike && process->group == NULL)
        label_text(process, name);
    else
        name_text(process, name);
    if (process->group != NULL)
        length = snprintf(text, PROCESS_TEXT_SIZE, "%s", name);
    else if (process->pid == 0)
        length = snprintf(text, PROCESS_TEXT_SIZE, "%s[stream %u]", name, process->stream);
    else
        length = snprintf(text, PROCESS_TEXT_SIZE, "%s[%u]", name, process->pid);
    if (communication->machine_count < 2 || communication->by == BY_MACHINE)
        return;
    machine_text(communication, process->machine, machine);
    snprintf(text + length, PROCESS_TEXT_SIZE - (size_t)length, "@%s", machine);
}

void party_text(const struct communication *communication, const struct party *party,
                char text[PARTY_TEXT_SIZE])
{
    size_t length = 0;

    if (party->count == 0 && party->address != NULL)
        show_text(party->address, ENDPOINT_SIZE, text);
    else if (party->count == 0)
        strcpy(text, "-");
    for (uint32_t i = 0; i < party->count && i < NAMED; i++) {
        char process[PROCESS_TEXT_SIZE];
        process_text(communication, party->processes[i], process);
        length += (size_t)snprintf(text + length, PARTY_TEXT_SIZE - length, "%s%s",
                                   i == 0 ? "" : ", ", process);
    }
    if (party->count > NAMED)
        snprintf(text + length, PARTY_TEXT_SIZE - length, " and %u other%s", party->count - NAMED,
                 party->count == NAMED + 1 ? "" : "s");
}

void end_text(const struct communication *communication, const struct party *party,
              const char *address, char text[END_TEXT_SIZE])
{
    size_t length = 0;

    if (party->count > 0) {
        party_text(communication, party, text);
        length = strlen(text);
        text[length++] = ' ';
    }
    show_text(address, ENDPOINT_SIZE - 1, text + length);
}

/* Copies a list with a blank after each comma, where lines can break. Returns the end. */
static char *copy_list(const char *from, char *to)
{
    for (; *from != '\0'; from++) {
        *to++ = *from;
        if (*from == ',')
            *to++ = ' ';
    }
    *to = '\0';
    return to;
}

void left_out_text(uint64_t flags, uint32_t kinds, char text[LEFT_OUT_TEXT_SIZE])
{
    char list[METER_FLAGS_TEXT_SIZE];

    meter_flags_text(flags, list);
    text = copy_list(list, text);
    if (flags != 0 && kinds != 0)
        text = copy_list(",", text);
    meter_kinds_text(kinds, list);
    copy_list(list, text);
}

void others_text(size_t count, char text[UNIT_SIZE])
{
    snprintf(text, UNIT_SIZE, "others (%zu)", count);
}

void print_title(FILE *file, const char *title)
{
    size_t width = terminal_width(file);
    char *folded = width == 0 ? NULL : text_fold(title, width);

    bool bold = show_has_colours(file);

    fprintf(file, "\n%s%s%s\n", bold ? "\033[1m" : "", folded == NULL ? title : folded,
            bold ? "\033[0m" : "");
    free(folded);
}

void print_where_more_is(FILE *file, const char *words, const char *command, const char *traces)
{
    size_t width = terminal_width(file);

    if (traces == NULL)
        return;
    bool whole =
        width == 0 ||
        strlen("(: )") + text_width(words) + text_width(command) + 1 + text_width(traces) <= width;
    char *folded = whole ? NULL : text_fold(words, width - strlen("(:"));

    fprintf(file, "(%s:%c%s %s)\n", folded == NULL ? words : folded, whole ? ' ' : '\n', command,
            traces);
    free(folded);
}
