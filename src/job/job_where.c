/* SPDX-License-Identifier: MIT */
/* job_where.c: where a job's traces are, for a reader that is no controller. See job.h. */
#include "job/job_private.h"

#include "filter/filter.h"

#include <errno.h>

/* The job of this name; NULL: none. `names` becomes all names. */
static json_t *find_job(json_t *kept, const char *name, char *names, size_t size)
{
    const char *key;
    json_t *value, *found = NULL;
    size_t used = 0;

    names[0] = '\0';
    json_object_foreach(kept, key, value)
    {
        if (strncmp(key, "job.", 4) != 0)
            continue;
        if (name != NULL && strcmp(kept_text(value, "name"), name) == 0)
            found = value;
        if (used + JOB_NAME_SIZE + 2 < size)
            used += (size_t)snprintf(names + used, size - used, "%s%.63s", used == 0 ? "" : ", ",
                                     kept_text(value, "name"));
    }
    return found;
}

/* The filter of this name; NULL: the only one, if there is only one. */
static json_t *find_filter(json_t *kept, const char *name)
{
    json_t *filters = json_object_get(json_object_get(kept, "session"), "filters"), *filter;
    size_t i;

    if (name == NULL)
        return json_array_size(filters) == 1 ? json_array_get(filters, 0) : NULL;
    json_array_foreach(filters, i, filter)
    {
        if (strcmp(kept_text(filter, "name"), name) == 0)
            return filter;
    }
    return NULL;
}

static int find(json_t *kept, const char *session, const char *name, char folder[PATH_MAX],
                char recording[JOB_RECORDING_SIZE], struct problem *problem)
{
    char names[256];
    json_t *job = find_job(kept, name, names, sizeof(names));

    if (name != NULL && job == NULL)
        return problem_set(problem, -ENOENT, "session %s has no job '%s'%s%s", session, name,
                           names[0] == '\0' ? "" : "; its jobs: ", names);
    json_t *filter = find_filter(kept, job == NULL ? NULL : kept_text(job, "filter"));
    if (filter == NULL && name == NULL && names[0] != '\0')
        return problem_set(problem, -ENOENT, "session %s has several filters: name a job: %s",
                           session, names);
    if (filter == NULL)
        return problem_set(problem, -ENOENT, "session %s has no filter for it any more", session);
    if (!remote_is_here(kept_text(filter, "machine")))
        return problem_set(
            problem, -EREMOTE,
            "filter %s of session %s stores on machine %s: name its folder there: %s",
            kept_text(filter, "name"), session, kept_text(filter, "machine"),
            kept_text(filter, "folder"));
    snprintf(folder, PATH_MAX, "%s", kept_text(filter, "folder"));
    const char *own =
        filter_recording_name(kept_text(filter, "prefix"), kept_text(job, "recording"));
    snprintf(recording, JOB_RECORDING_SIZE, "%s", job == NULL || own == NULL ? "" : own);
    return 0;
}

int job_where(const char *session, const char *name, char folder[PATH_MAX],
              char recording[JOB_RECORDING_SIZE], struct problem *problem)
{
    json_t *kept = NULL;
    int result = remote_kept(session, &kept, problem);

    if (result == 0)
        result = kept_check(kept, session, problem);
    if (result == 0)
        result = find(kept, session, name, folder, recording, problem);
    json_decref(kept);
    return result;
}
