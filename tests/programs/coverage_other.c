/* SPDX-License-Identifier: MIT */
/*
 * coverage_other.c: sockets that no meter records: netlink, raw, packet, UDP-Lite, vsock, MPTCP. Those that the kernel
 * supports are used like any other; the log only says that they were: "OTHER netlink". See coverage.c.
 */
#include "coverage.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/vm_sockets.h>
#include <net/if.h>
#include <netinet/ip_icmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

static void set_patience(int socket, struct timeval patience)
{
    must(setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) == 0);
}

/* -1: this machine has none of this kind. */
static int other_socket(int other_domain, int other_type, int protocol)
{
    int made = socket(other_domain, other_type, protocol);

    if (made >= 0)
        set_patience(made, (struct timeval){.tv_sec = 20});
    return made;
}

/* Receives until no more data comes: the last call waits, 50 ms, and fails. */
static void receive_all(int socket, const char *name)
{
    int count = 0;

    while (recv(socket, buffer, sizeof(buffer), 0) > 0) {
        set_patience(socket, (struct timeval){.tv_usec = 50000});
        count++;
    }
    must(errno == EAGAIN && count > 0);
    note_other(name);
    close(socket);
}

static void use_netlink(void)
{
    struct {
        struct nlmsghdr header;
        struct rtgenmsg generic;
    } request = {
        .header = {.nlmsg_len = sizeof(request),
                   .nlmsg_type = RTM_GETLINK,
                   .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
    };
    int netlink = other_socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);

    if (netlink < 0)
        return;
    must(send(netlink, &request, sizeof(request), 0) == sizeof(request));
    receive_all(netlink, "netlink");
}

static uint16_t checksum_of(const struct icmphdr *header)
{
    const uint16_t *words = (const uint16_t *)header;
    uint32_t sum = 0;

    for (size_t i = 0; i < sizeof(*header) / sizeof(*words); i++)
        sum += words[i];
    return (uint16_t) ~(sum % 0xffff);
}

static void use_icmp(int icmp_type, const char *name)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct icmphdr header = {.type = ICMP_ECHO};
    int icmp = other_socket(AF_INET, icmp_type, IPPROTO_ICMP);

    if (icmp < 0)
        return;
    header.checksum = checksum_of(&header);
    must(sendto(icmp, &header, sizeof(header), 0, (void *)&to, sizeof(to)) == sizeof(header));
    receive_all(icmp, name);
}

static void use_packets(void)
{
    struct sockaddr_ll place = {.sll_family = AF_PACKET,
                                .sll_protocol = htons(ETH_P_LOOPBACK),
                                .sll_ifindex = (int)if_nametoindex("lo"),
                                .sll_halen = ETH_ALEN};
    int packets = other_socket(AF_PACKET, SOCK_DGRAM, htons(ETH_P_LOOPBACK));

    if (packets < 0)
        return;
    must(bind(packets, (void *)&place, sizeof(place)) == 0);
    must(sendto(packets, buffer, 100, 0, (void *)&place, sizeof(place)) == 100);
    receive_all(packets, "packet");
}

/* Sends to its own socket. */
static void use_udp_lite(void)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(in);
    int lite = other_socket(AF_INET, SOCK_DGRAM, IPPROTO_UDPLITE);

    if (lite < 0)
        return;
    must(bind(lite, (void *)&in, length) == 0 && getsockname(lite, (void *)&in, &length) == 0);
    must(sendto(lite, buffer, 10, 0, (void *)&in, length) == 10);
    receive_all(lite, "udp-lite");
}

/* A connection of this machine with itself. */
static void use_connection(int other_domain, int protocol, void *address, socklen_t length,
                           const char *name)
{
    int listener = other_socket(other_domain, SOCK_STREAM, protocol);
    int client = listener < 0 ? -1 : other_socket(other_domain, SOCK_STREAM, protocol);
    int server;

    if (client < 0 || bind(listener, address, length) < 0)
        return;
    must(listen(listener, 1) == 0 && getsockname(listener, address, &length) == 0);
    if (connect(client, address, length) < 0)
        return;
    server = accept(listener, NULL, NULL);
    must(server >= 0 && send(server, buffer, 10, 0) == 10);
    receive_all(client, name);
    close(server);
    close(listener);
}

/* A server that offers MPTCP, and a client without MPTCP: they use plain TCP. */
int mptcp_refused(const int *pair)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(in);
    int listener = other_socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP);
    int client = socket(AF_INET, SOCK_STREAM, 0);

    (void)pair;
    if (listener < 0)
        return 0;
    must(bind(listener, (void *)&in, length) == 0 && listen(listener, 1) == 0);
    must(getsockname(listener, (void *)&in, &length) == 0);
    must(connect(client, (void *)&in, length) == 0);
    int server = accept(listener, NULL, NULL);
    must(server >= 0);
    sent(client, send(client, buffer, 10, 0), 10);
    received(server, recv(server, buffer, 100, 0), 10);
    sent(server, send(server, buffer, 20, 0), 20);
    received(client, recv(client, buffer, 100, 0), 20);
    return 0;
}

int other_sockets(const int *pair)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_vm vm = {
        .svm_family = AF_VSOCK, .svm_cid = VMADDR_CID_LOCAL, .svm_port = VMADDR_PORT_ANY};

    (void)pair;
    use_netlink();
    use_icmp(SOCK_RAW, "raw");
    use_icmp(SOCK_DGRAM, "icmp");
    use_packets();
    use_udp_lite();
    use_connection(AF_VSOCK, 0, &vm, sizeof(vm), "vsock");
    use_connection(AF_INET, IPPROTO_MPTCP, &in, sizeof(in), "mptcp");
    return 0;
}
