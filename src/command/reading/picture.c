/* SPDX-License-Identifier: MIT */
/* picture.c: a picture of the program history, drawn while traces are read. See picture.h. */
#include "command/reading/picture.h"
#include "command/shared/command.h"

#include <errno.h>
#include <getopt.h>
#include <string.h>

/* dump_choice_accepts must see every record, but the graph asks only about events that it may draw. */
static bool was_accepted(void *context, const struct event *event)
{
    (void)event;
    return ((const struct picture *)context)->accepted;
}

int picture_begin(struct picture *picture, struct traces *traces,
                  const struct critical_path_reading *path, struct problem *problem)
{
    picture->traces = traces;
    picture->path = path;
    picture->choice.accepts = was_accepted;
    picture->choice.context = picture;
    history_find_rooms(traces->history);
    if (path == NULL) {
        const struct parallelism_options options = {.threads = true};
        int result = parallelism_new(traces->history, &options, &picture->arcs, problem);
        if (result < 0)
            return result;
    }
    return identities_new(&picture->identities) < 0 ||
                   history_graph_new(&picture->choice, picture->identities, &picture->graph) < 0
               ? problem_set(problem, -ENOMEM, "out of memory for the picture")
               : 0;
}

void picture_done(struct picture *picture)
{
    parallelism_analysis_free(picture->arcs);
    history_graph_free(picture->graph);
    identities_free(picture->identities);
}

/* What the analyses say of the present event. */
static struct graph_marks marks_of(const struct picture *picture)
{
    struct graph_marks marks = {0};
    struct outside_arc arc = {0};

    if (picture->path != NULL) {
        marks.critical = critical_path_passes(picture->path, &marks.edge);
        marks.answers = critical_path_answers(picture->path, &arc);
    } else {
        marks.answers = parallelism_answers(picture->arcs, &arc);
    }
    marks.sent = arc.from;
    marks.took = arc.time;
    return marks;
}

static int draw(void *self, const struct history_event *event, struct problem *problem)
{
    struct picture *picture = self;
    struct history_event shown = *event;
    int result = picture->path == NULL ? parallelism_add(picture->arcs, event, problem) : 0;

    if (result < 0)
        return result;
    if (identities_add(picture->identities, &event->event) < 0)
        return -ENOMEM; /* the caller reports that */
    picture->accepted = picture->processes == NULL ||
                        dump_choice_accepts(picture->processes, picture->identities, &event->event);
    shown.event.wall_offset = traces_wall_offset(picture->traces, &event->event);
    const struct graph_marks marks = marks_of(picture);
    return history_graph_add(picture->graph, &shown, &marks);
}

struct analysis picture_analysis(struct picture *picture)
{
    return (struct analysis){"the picture", picture, draw};
}

/* ---- options ---- */

int picture_most(const char *command, struct graph_choice *choice)
{
    uint64_t most = choice->most;
    int status = option_number(command, "most", 1, 1000000, &most);

    choice->most = (size_t)most;
    return status;
}

bool picture_format(const char *file, enum graph_format *ret_format)
{
    static const struct {
        const char *ending;
        enum graph_format format;
    } endings[] = {{".svg", GRAPH_SVG}, {".dot", GRAPH_DOT}, {".gv", GRAPH_DOT}};
    const char *dot = strrchr(file, '.');

    for (size_t i = 0; dot != NULL && i < ARRAY_SIZE(endings); i++)
        if (strcmp(dot, endings[i].ending) == 0) {
            *ret_format = endings[i].format;
            return true;
        }
    return false;
}

int picture_file(const char *command, const char *option, enum graph_format *ret_format)
{
    return picture_format(optarg, ret_format)
               ? -1
               : command_usage_error(command,
                                     "--%s %s: use a file name with the suffix .svg, .dot or .gv",
                                     option, optarg);
}
