/* SPDX-License-Identifier: MIT */
/* job_terminal.c: the controller on a terminal. See job_terminal.h. */
#include "command/job_terminal.h"

#include "remote/remote.h"

#include <histedit.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HISTORY_LINES 1000

struct job_terminal {
    struct jobs *jobs;
    EditLine *edit;
    History *history;
    HistEvent event;
    const char *prompt;
    bool interrupted;
};

static char *show_prompt(EditLine *edit)
{
    struct job_terminal *terminal = NULL;

    el_get(edit, EL_CLIENTDATA, &terminal);
    return (char *)terminal->prompt;
}

/* While the user types, what happens on the machines is shown. */
static int read_byte(EditLine *edit, wchar_t *ret_character)
{
    struct job_terminal *terminal = NULL;
    unsigned char bytes[MB_LEN_MAX];
    mbstate_t state = {0};

    el_get(edit, EL_CLIENTDATA, &terminal);
    for (size_t count = 0; count < sizeof(bytes);) {
        if (!jobs_wait_for(terminal->jobs, STDIN_FILENO)) {
            terminal->interrupted = true;
            *ret_character = L'\n'; /* the line ends; it is thrown away */
            return 1;
        }
        if (read(STDIN_FILENO, &bytes[count], 1) != 1)
            return 0;
        size_t used = mbrtowc(ret_character, (const char *)&bytes[count], 1, &state);
        count++;
        if (used == 0 || used == 1)
            return 1;
        if (used == (size_t)-1) {
            *ret_character = L'?';
            return 1;
        }
    }
    return 0;
}

/* ---- completion ---- */

struct completing {
    char common[256]; /* what all words have in common */
    size_t count;
    FILE *out; /* to list them; NULL: not yet */
};

static void found(void *context, const char *word)
{
    struct completing *completing = context;
    size_t same = 0;

    if (completing->out != NULL)
        fprintf(completing->out, "%s  ", word);
    if (completing->count++ == 0) {
        snprintf(completing->common, sizeof(completing->common), "%s", word);
        return;
    }
    while (completing->common[same] != '\0' && completing->common[same] == word[same])
        same++;
    completing->common[same] = '\0';
}

static unsigned char complete(EditLine *edit, int key)
{
    struct job_terminal *terminal = NULL;
    const LineInfo *line = el_line(edit);
    struct completing completing = {.count = 0};
    char text[1024], **words = NULL;
    size_t length = (size_t)(line->cursor - line->buffer);

    (void)key;
    el_get(edit, EL_CLIENTDATA, &terminal);
    if (length >= sizeof(text))
        return CC_ERROR;
    memcpy(text, line->buffer, length);
    text[length] = '\0';
    int count = remote_words(text, &words);
    if (count < 0)
        return CC_ERROR;
    const char *all[64];
    size_t used = 0;
    for (int i = 0; i < count && used < 62; i++)
        all[used++] = words[i];
    if (length == 0 || text[length - 1] == ' ')
        all[used++] = "";
    jobs_complete(terminal->jobs, all, used, found, &completing);
    size_t typed = strlen(all[used - 1]);
    unsigned char result = CC_ERROR;
    if (completing.count > 0 && strlen(completing.common) > typed) {
        el_insertstr(edit, completing.common + typed);
        result = CC_REFRESH;
    } else if (completing.count > 1) {
        completing.out = stdout;
        fputc('\n', stdout);
        jobs_complete(terminal->jobs, all, used, found, &completing);
        fputc('\n', stdout);
        fflush(stdout);
        result = CC_REDISPLAY;
    }
    if (completing.count == 1)
        el_insertstr(edit, " ");
    free(words);
    return completing.count == 1 ? CC_REFRESH : result;
}

/* ---- lines ---- */

static char *read_line(void *context, const char *prompt)
{
    struct job_terminal *terminal = context;
    int count = 0;

    terminal->prompt = prompt;
    do {
        terminal->interrupted = false;
        const char *line = el_gets(terminal->edit, &count);
        if (jobs_dead(terminal->jobs)) /* the terminal has gone: the session stays */
            return NULL;
        if (terminal->interrupted)
            continue;
        if (line == NULL || count <= 0)
            return NULL;
        if (line[strspn(line, " \t\n")] != '\0')
            history(terminal->history, &terminal->event, H_ENTER, line);
        char *copy = strdup(line);
        if (copy != NULL)
            copy[strcspn(copy, "\n")] = '\0';
        return copy;
    } while (true);
}

/* Lines that come by themselves take the prompt's place for a moment. */
static void around(void *context, bool begins)
{
    struct job_terminal *terminal = context;

    if (begins) {
        fputs("\r\033[K", stdout);
        return;
    }
    fflush(stdout);
    if (terminal->edit != NULL)
        el_set(terminal->edit, EL_REFRESH);
}

void job_terminal_options(struct job_options *options, struct job_terminal **ret_terminal)
{
    struct job_terminal *terminal = calloc(1, sizeof(*terminal));

    options->around = terminal == NULL ? NULL : around;
    options->context = terminal;
    *ret_terminal = terminal;
}

static void set_up(struct job_terminal *terminal)
{
    terminal->edit = el_init("dpm", stdin, stdout, stderr);
    terminal->history = history_init();
    history(terminal->history, &terminal->event, H_SETSIZE, HISTORY_LINES);
    el_set(terminal->edit, EL_CLIENTDATA, terminal);
    el_set(terminal->edit, EL_PROMPT, show_prompt);
    el_set(terminal->edit, EL_EDITOR, "emacs");
    el_set(terminal->edit, EL_HIST, history, terminal->history);
    el_set(terminal->edit, EL_GETCFN, read_byte);
    el_set(terminal->edit, EL_ADDFN, "dpm-complete", "complete a word", complete);
    el_set(terminal->edit, EL_BIND, "^I", "dpm-complete", NULL);
    el_set(terminal->edit, EL_BIND, "^R", "em-inc-search-prev", NULL);
    el_source(terminal->edit, NULL);
}

void job_terminal_run(struct job_terminal *terminal, struct jobs *jobs)
{
    const struct job_reader reader = {read_line, terminal};

    if (terminal == NULL)
        return;
    terminal->jobs = jobs;
    set_up(terminal);
    /* ^D is `die`, too: it warns first */
    while (!jobs_dead(jobs)) {
        jobs_run(jobs, &reader);
        if (!jobs_dead(jobs))
            jobs_line(jobs, "die", &reader);
    }
    history_end(terminal->history);
    el_end(terminal->edit);
    free(terminal);
}
