/* SPDX-License-Identifier: MIT */
/*
 * forbid.c: forbid error|kill COMMAND [ARGUMENT]...: runs a command under a filter of system calls
 * (seccomp) as containers have it: bpf() gives EPERM, or ends whoever calls it.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    unsigned answer = argc > 1 && strcmp(argv[1], "kill") == 0 ? SECCOMP_RET_KILL_PROCESS
                                                               : SECCOMP_RET_ERRNO | EPERM;
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_bpf, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, answer),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof(rules) / sizeof(rules[0]), rules};

    if (argc < 3) {
        fprintf(stderr, "usage: forbid error|kill COMMAND [ARGUMENT]...\n");
        return 2;
    }
    /* With privilege no_new_privs is not needed, and would change what is to be tested. */
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) < 0) {
        perror("forbid");
        return 125;
    }
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    return 127;
}
