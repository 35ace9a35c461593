/* SPDX-License-Identifier: MIT */
/*
 * forbid.c: forbid error|kill[:CALL] COMMAND [ARGUMENT]...: runs a command under a system call filter (seccomp), as
 * containers do: CALL, by default bpf(), fails with EPERM or kills its caller.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
    const char *name;
    unsigned number;
} calls[] = {
    {"", SYS_bpf},
    {":ptrace", SYS_ptrace},
    {":seccomp", SYS_seccomp},
    {":process_vm_readv", SYS_process_vm_readv},
    {":pidfd_getfd", SYS_pidfd_getfd},
};

static unsigned number_of(const char *name)
{
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        if (strcmp(calls[i].name, name) == 0)
            return calls[i].number;
    fprintf(stderr, "forbid: there is no call '%s'\n", name);
    exit(2);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    unsigned answer =
        strncmp(how, "kill", 4) == 0 ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ERRNO | EPERM;
    unsigned number = number_of(how + strcspn(how, ":"));
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, answer),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof(rules) / sizeof(rules[0]), rules};

    if (argc < 3) {
        fprintf(stderr, "usage: forbid error|kill[:CALL] COMMAND [ARGUMENT]...\n");
        return 2;
    }
    /* With privilege no_new_privs is not needed, and it would change the tested behaviour. */
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) < 0) {
        perror("forbid");
        return 125;
    }
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    return 127;
}
