/* SPDX-License-Identifier: MIT */
/* live_library.c: loads libmicrohttpd. See live_server_private.h. */
#include "command/live/live_server_private.h"

#ifdef DPM_HAS_MICROHTTPD

#include <dlfcn.h>
#include <errno.h>

/* It brings a library of cryptography, which no other command needs: it is loaded when a server starts. Its SONAME is the same
 * in all releases that have it. */
#define LIBRARY "libmicrohttpd.so.12"
#define PACKAGE "libmicrohttpd12" /* since Debian 13 a name that libmicrohttpd12t64 provides */

struct live_library mhd;

int live_library_load(struct problem *problem)
{
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

    if (library == NULL)
        return problem_set(
            problem, -ELIBACC,
            "metrics need the library libmicrohttpd: apt-get install " PACKAGE " (%s)", dlerror());
#define FIND(name)                                                                                 \
    *(void **)&mhd.name = dlsym(library, "MHD_" #name);                                            \
    if (mhd.name == NULL)                                                                          \
        return problem_set(problem, -ELIBACC, "libmicrohttpd cannot be used: %s", dlerror());
    MHD_FUNCTIONS(FIND)
#undef FIND
    return 0;
}

#endif
