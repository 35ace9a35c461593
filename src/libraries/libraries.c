/* SPDX-License-Identifier: MIT */
/* libraries.c: the table of libraries and their probes. See libraries.h. */
#include "libraries/libraries.h"

#include "meter/shared/mpi_calls.h"

#include <string.h>

static const struct library_probe hotspot[] = {
    {"hotspot:gc__begin", "library_sensor", SENSOR_GC_BEGIN},
    {"hotspot:gc__end", "library_sensor", SENSOR_GC_END},
    {"hs_private:safepoint__begin", "library_sensor", SENSOR_SAFEPOINT_BEGIN},
    {"hs_private:safepoint__end", "library_sensor", SENSOR_SAFEPOINT_END},
};

/* A call is seen when it begins, and when it ends. The MPI_ names are weak aliases of these, and the Fortran functions call
 * these. */
#define MPI_CALL(name, number)                                                                     \
    {"PMPI_" name, "mpi_begins", number},                                                          \
    {                                                                                              \
        "PMPI_" name, "mpi_ends", number, .at_return = true                                        \
    }

#define MPI_CALLS(of)                                                                              \
    MPI_CALL("Send", MPI_SEND | of), MPI_CALL("Bsend", MPI_SEND | of),                             \
        MPI_CALL("Ssend", MPI_SEND | of), MPI_CALL("Rsend", MPI_SEND | of),                        \
        MPI_CALL("Isend", MPI_ISEND | of), MPI_CALL("Ibsend", MPI_ISEND | of),                     \
        MPI_CALL("Issend", MPI_ISEND | of), MPI_CALL("Irsend", MPI_ISEND | of),                    \
        MPI_CALL("Recv", MPI_RECV | of), MPI_CALL("Irecv", MPI_IRECV | of),                        \
        MPI_CALL("Sendrecv", MPI_SENDRECV | of), MPI_CALL("Wait", MPI_WAIT | of),                  \
        MPI_CALL("Waitall", MPI_WAITALL | of), MPI_CALL("Waitany", MPI_WAITANY | of),              \
        MPI_CALL("Waitsome", MPI_WAITSOME | of), MPI_CALL("Test", MPI_TEST | of),                  \
        MPI_CALL("Testall", MPI_TESTALL | of), MPI_CALL("Testany", MPI_TESTANY | of),              \
        MPI_CALL("Testsome", MPI_TESTSOME | of),                                                   \
        {"PMPI_Finalize", "mpi_begins", MPI_FINALIZE | of},

#define MPI_WAITS(name, number)          MPI_CALL(#name, number),
#define MPI_WAITS_OF_MPICH(name, number) MPI_CALL(#name, number | MPI_OF_MPICH),

static const struct library_probe open_mpi[] = {MPI_CALLS(0) MPI_WAITING(MPI_WAITS)};
static const struct library_probe mpich[] = {MPI_CALLS(MPI_OF_MPICH)
                                                 MPI_WAITING(MPI_WAITS_OF_MPICH)};

/* The first that fits counts. */
static const struct library libraries[] = {
    {"libmpich.so", LIBRARY_MPI, mpich, ARRAY_SIZE(mpich)},
    {"libmpi.so.12", LIBRARY_MPI, mpich, ARRAY_SIZE(mpich)},
    {"libmpi.so", LIBRARY_MPI, open_mpi, ARRAY_SIZE(open_mpi)},
    {"libjvm.so", LIBRARY_SENSORS, hotspot, ARRAY_SIZE(hotspot)},
};

static const char *const usual_files[] = {
    "/usr/lib/*/libmpi.so.*",        "/usr/lib/*/libmpich.so.*",
    "/usr/lib64/*/lib/libmpi.so.*",  "/usr/lib64/libmpi.so.*",
    "/usr/local/lib/libmpi*.so.*",   "/opt/*/lib/libmpi*.so.*",
    "/usr/lib/*/*/lib/libmpi*.so.*", NULL,
};

const char *libraries_usual_files(size_t index, unsigned wishes)
{
    return (wishes & LIBRARY_MPI) != 0 ? usual_files[index] : NULL;
}

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
