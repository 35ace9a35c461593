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

#define MPI_WAITS(name, number) MPI_CALL(#name, number),

/* A call with a request, or a message, and no communicator. */
#define MPI_OF_REQUEST(name, number)                                                               \
    {"PMPI_" name, "mpi_request_begins", number},                                                  \
    {                                                                                              \
        "PMPI_" name, "mpi_ends", number, .at_return = true                                        \
    }

/* A call that makes a communicator, or asks for the rank in one. */
#define MPI_MAKING(name, number)                                                                   \
    {"PMPI_" name, "mpi_making_begins", number},                                                   \
    {                                                                                              \
        "PMPI_" name, "mpi_making_ends", number, .at_return = true                                 \
    }

/* And its form with large counts. */
#define MPI_NOT_COUNTED(name)                                                                      \
    {"PMPI_" name, "mpi_begins", MPI_UNCOUNTED},                                                   \
    {                                                                                              \
        "PMPI_" name "_c", "mpi_begins", MPI_UNCOUNTED                                             \
    }
#define MPI_LARGE(name)                                                                            \
    {                                                                                              \
        "PMPI_" name "_c", "mpi_begins", MPI_UNCOUNTED                                             \
    }

static const struct library_probe mpi[] = {
    MPI_CALL("Send", MPI_SEND),
    MPI_CALL("Bsend", MPI_SEND),
    MPI_CALL("Ssend", MPI_SEND),
    MPI_CALL("Rsend", MPI_SEND),
    MPI_CALL("Isend", MPI_ISEND),
    MPI_CALL("Ibsend", MPI_ISEND),
    MPI_CALL("Issend", MPI_ISEND),
    MPI_CALL("Irsend", MPI_ISEND),
    MPI_CALL("Recv", MPI_RECV),
    MPI_CALL("Irecv", MPI_IRECV),
    MPI_CALL("Sendrecv", MPI_SENDRECV),
    MPI_CALL("Sendrecv_replace", MPI_SENDRECV_REPLACE),
    MPI_CALL("Send_init", MPI_SEND_INIT),
    MPI_CALL("Bsend_init", MPI_SEND_INIT),
    MPI_CALL("Ssend_init", MPI_SEND_INIT),
    MPI_CALL("Rsend_init", MPI_SEND_INIT),
    MPI_CALL("Recv_init", MPI_RECV_INIT),
    MPI_OF_REQUEST("Start", MPI_START),
    MPI_OF_REQUEST("Startall", MPI_STARTALL),
    MPI_CALL("Mprobe", MPI_MPROBE),
    MPI_CALL("Improbe", MPI_IMPROBE),
    MPI_OF_REQUEST("Mrecv", MPI_MRECV),
    MPI_OF_REQUEST("Imrecv", MPI_IMRECV),
    MPI_CALL("Wait", MPI_WAIT),
    MPI_CALL("Waitall", MPI_WAITALL),
    MPI_CALL("Waitany", MPI_WAITANY),
    MPI_CALL("Waitsome", MPI_WAITSOME),
    MPI_CALL("Test", MPI_TEST),
    MPI_CALL("Testall", MPI_TESTALL),
    MPI_CALL("Testany", MPI_TESTANY),
    MPI_CALL("Testsome", MPI_TESTSOME),
    MPI_WAITING(MPI_WAITS){"PMPI_Finalize", "mpi_begins", MPI_FINALIZE},
    MPI_LARGE("Send"),
    MPI_LARGE("Bsend"),
    MPI_LARGE("Ssend"),
    MPI_LARGE("Rsend"),
    MPI_LARGE("Isend"),
    MPI_LARGE("Ibsend"),
    MPI_LARGE("Issend"),
    MPI_LARGE("Irsend"),
    MPI_LARGE("Recv"),
    MPI_LARGE("Irecv"),
    MPI_LARGE("Sendrecv"),
    MPI_LARGE("Sendrecv_replace"),
    MPI_LARGE("Mrecv"),
    MPI_LARGE("Imrecv"),
    MPI_LARGE("Send_init"),
    MPI_LARGE("Bsend_init"),
    MPI_LARGE("Ssend_init"),
    MPI_LARGE("Rsend_init"),
    MPI_LARGE("Recv_init"),
    MPI_NOT_COUNTED("Isendrecv"),
    MPI_NOT_COUNTED("Isendrecv_replace"),
    MPI_NOT_COUNTED("Psend_init"),
    MPI_NOT_COUNTED("Precv_init"),
    MPI_MAKING("Comm_dup", MPI_MAKES_DUP),
    MPI_MAKING("Comm_split", MPI_MAKES_SPLIT),
    MPI_MAKING("Comm_split_type", MPI_MAKES_SPLIT_TYPE),
    MPI_MAKING("Cart_create", MPI_MAKES_CART),
    MPI_MAKING("Comm_rank", MPI_TELLS_RANK),
    MPI_MAKING("Comm_size", MPI_TELLS_SIZE),
    {"PMPI_Comm_free", "mpi_making_begins", MPI_FREES},
    {"PMPI_Comm_disconnect", "mpi_making_begins", MPI_FREES},
    {"PMPI_Cancel", "mpi_begins", MPI_UNCOUNTED},
    {"PMPI_Request_free", "mpi_request_begins", MPI_REQUEST_FREE},
    /* last: all calls of a process that is seen to begin are seen */
    {"PMPI_Init", "mpi_begins", MPI_INIT},
    {"PMPI_Init_thread", "mpi_begins", MPI_INIT},
};

/* The first that fits counts. */
static const struct library libraries[] = {
    {"libmpi.so", LIBRARY_MPI, mpi, ARRAY_SIZE(mpi), "ompi_mpi_comm_world", MPI_OF_MPICH},
    {"libmpich.so", LIBRARY_MPI, mpi, ARRAY_SIZE(mpi), "ompi_mpi_comm_world", MPI_OF_MPICH},
    {"libjvm.so", LIBRARY_SENSORS, hotspot, ARRAY_SIZE(hotspot), NULL, 0},
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
