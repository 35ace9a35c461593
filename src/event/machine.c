/* SPDX-License-Identifier: MIT */
/* machine.c: describes the machine we run on, for the MACHINE record. See event.h. */
#include "event/event.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Reads an ID of 32 hexadecimal digits, with or without hyphens, as the kernel and systemd write it. All zero if the
 * file is missing or contains something else. */
static void read_id(const char *path, uint8_t id[16])
{
    char text[64] = "";
    size_t digits = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    memset(id, 0, 16);
    if (fd < 0)
        return;
    ssize_t length = read(fd, text, sizeof(text) - 1);
    close(fd);
    for (ssize_t i = 0; i < length && digits < 32; i++) {
        const char *hex = "0123456789abcdef";
        const char *found = text[i] == '\0' ? NULL : strchr(hex, text[i]);
        if (found == NULL)
            continue;
        id[digits / 2] = (uint8_t)(id[digits / 2] << 4 | (found - hex));
        digits++;
    }
}

static void append_word(char *list, size_t size, const char *word)
{
    size_t length = strlen(list);

    if (length + strlen(word) + 2 > size)
        return;
    if (length > 0)
        list[length++] = ' ';
    memcpy(list + length, word, strlen(word) + 1);
}

/* Lists the addresses at which other machines can reach this one: interfaces that are up, without loopback and
 * link-local addresses. */
static void list_addresses(char *list, size_t size)
{
    struct ifaddrs *interfaces;
    char text[INET6_ADDRSTRLEN];

    if (getifaddrs(&interfaces) < 0)
        return;
    for (const struct ifaddrs *at = interfaces; at != NULL; at = at->ifa_next) {
        if (at->ifa_addr == NULL || (at->ifa_flags & IFF_LOOPBACK) != 0 ||
            (at->ifa_flags & IFF_UP) == 0)
            continue;
        const struct sockaddr_in *v4 = (const void *)at->ifa_addr;
        const struct sockaddr_in6 *v6 = (const void *)at->ifa_addr;
        if (at->ifa_addr->sa_family == AF_INET &&
            inet_ntop(AF_INET, &v4->sin_addr, text, sizeof(text)) != NULL)
            append_word(list, size, text);
        else if (at->ifa_addr->sa_family == AF_INET6 && !IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr) &&
                 inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof(text)) != NULL)
            append_word(list, size, text);
    }
    freeifaddrs(interfaces);
}

void machine_describe(struct machine_record *ret_machine)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    struct utsname system;

    memset(ret_machine, 0, sizeof(*ret_machine));
    ret_machine->header.time = clock_now(CLOCK_MONOTONIC);
    ret_machine->header.id = EVENT_MACHINE;
    ret_machine->header.flags = RECORD_NO_STREAM;
    read_id("/etc/machine-id", ret_machine->machine_id);
    read_id("/proc/sys/kernel/random/boot_id", ret_machine->boot_id);
    gethostname(ret_machine->name, sizeof(ret_machine->name) - 1);
    uname(&system);
    append_word(ret_machine->system, sizeof(ret_machine->system), system.sysname);
    append_word(ret_machine->system, sizeof(ret_machine->system), system.release);
    append_word(ret_machine->system, sizeof(ret_machine->system), system.machine);
    ret_machine->cpus = processors > 0 ? (uint32_t)processors : 0;
    list_addresses(ret_machine->addresses, sizeof(ret_machine->addresses));
}
