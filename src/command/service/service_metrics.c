/* SPDX-License-Identifier: MIT */
/* service_metrics.c: see service_metrics.h. */
#include "command/service/service_metrics.h"

#include "command/shared/command.h"

#include <errno.h>
#include <limits.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* For good: with no_new_privs, executing a program as root gives none back. */
static int drop_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -errno;
    (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); /* not in older kernels */
    for (unsigned long capability = 0; capability < 64; capability++)
        (void)prctl(PR_CAPBSET_DROP, capability, 0, 0, 0); /* only with CAP_SETPCAP */
    return syscall(SYS_capset, &header, none) < 0 ? -errno : 0;
}

static void be_the_child(const struct service_metrics *metrics, pid_t parent)
{
    char port[8];
    const char *arguments[12] = {"dpm", "live", "--no-page", "--port", port};
    size_t count = 5;
    sigset_t none;

    snprintf(port, sizeof(port), "%u", metrics->port);
    if (metrics->listen != NULL) {
        arguments[count++] = "--listen";
        arguments[count++] = metrics->listen;
    }
    if (metrics->token != NULL) {
        arguments[count++] = "--token";
        arguments[count++] = metrics->token;
    }
    arguments[count++] = metrics->trace;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
    int result = getppid() != parent ? -ESRCH : drop_capabilities();
    if (result == 0) {
        char self[PATH_MAX] = ""; /* its name is what ps shows */
        if (readlink("/proc/self/exe", self, sizeof(self) - 1) > 0)
            execv(self, (char *const *)(uintptr_t)arguments);
        execv("/proc/self/exe", (char *const *)(uintptr_t)arguments); /* it was replaced */
        result = -errno;
    }
    command_say("metrics: cannot start dpm live: %s", strerror(-result));
    _exit(EXIT_FAILURE);
}

void service_metrics_keep(struct service_metrics *metrics)
{
    pid_t parent = getpid();

    if (metrics->port == 0 ||
        (metrics->pid > 0 && waitpid(metrics->pid, NULL, WNOHANG) != metrics->pid))
        return;
    if (metrics->pid > 0)
        command_say("metrics: dpm live has ended; it is started again");
    metrics->pid = fork();
    if (metrics->pid == 0)
        be_the_child(metrics, parent);
    if (metrics->pid < 0) {
        command_say("metrics: cannot start dpm live: %s", strerror(errno));
        metrics->pid = 0;
    }
}

void service_metrics_stop(struct service_metrics *metrics)
{
    if (metrics->pid <= 0)
        return;
    kill(metrics->pid, SIGTERM);
    (void)waitpid(metrics->pid, NULL, 0);
    metrics->pid = 0;
}
