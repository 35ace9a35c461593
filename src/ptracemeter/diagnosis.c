/* SPDX-License-Identifier: MIT */
/*
 * diagnosis.c: asks the kernel about sockets in our network namespace, which needs no privilege (sock_diag(7)): which
 * socket is the other end, which one is bound to a name, and what a socket is whose descriptor cannot be copied.
 */
#include "ptracemeter/diagnosis.h"

#include "ptracemeter/socket_facts.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define ANSWER_SIZE 32768

/* Questions are numbered, and each answer carries its question's number. The rest of an answer that was not read to
 * its end is skipped. Returns the size, or -1. */
static ssize_t receive(struct ptracemeter *meter, char answer[ANSWER_SIZE])
{
    const struct nlmsghdr *header = (const struct nlmsghdr *)answer;

    for (;;) {
        ssize_t got = recv(meter->diag, answer, ANSWER_SIZE, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 || !NLMSG_OK(header, (size_t)got))
            return -1;
        if (header->nlmsg_seq == meter->diag_questions)
            return got;
    }
}

struct question {
    struct nlmsghdr header;
    struct unix_diag_req request;
};

static bool open_netlink(struct ptracemeter *meter)
{
    struct timeval limit = {.tv_sec = 1};

    if (!meter->diag_tried) {
        meter->diag = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
        if (meter->diag >= 0)
            setsockopt(meter->diag, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    }
    meter->diag_tried = true;
    return meter->diag >= 0;
}

static bool ask(struct ptracemeter *meter, uint64_t inode, uint32_t show, bool all)
{
    const struct question question = {
        .header = {.nlmsg_len = sizeof(question),
                   .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                   .nlmsg_flags = NLM_F_REQUEST | (all ? NLM_F_DUMP : 0),
                   .nlmsg_seq = ++meter->diag_questions},
        .request = {.sdiag_family = AF_UNIX,
                    .udiag_states = UINT32_MAX,
                    .udiag_ino = (uint32_t)inode,
                    .udiag_show = show,
                    .udiag_cookie = {UINT32_MAX, UINT32_MAX}},
    };

    return open_netlink(meter) &&
           send(meter->diag, &question, sizeof(question), 0) == (ssize_t)sizeof(question);
}

/* The data of an answer's attribute, and its size; NULL: it has none. */
static const void *find_attribute(const struct nlmsghdr *answer, unsigned type, size_t *ret_size)
{
    const struct unix_diag_msg *message = NLMSG_DATA(answer);
    const struct rtattr *attribute = (const struct rtattr *)(message + 1);
    size_t left = answer->nlmsg_len - NLMSG_LENGTH(sizeof(*message));

    for (; RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left))
        if (attribute->rta_type == type) {
            *ret_size = RTA_PAYLOAD(attribute);
            return RTA_DATA(attribute);
        }
    return NULL;
}

static bool is_answer(const struct nlmsghdr *answer)
{
    return answer->nlmsg_type == SOCK_DIAG_BY_FAMILY &&
           answer->nlmsg_len >= NLMSG_LENGTH(sizeof(struct unix_diag_msg));
}

/* Asks for one UNIX socket. NULL: there is none. */
static const struct nlmsghdr *ask_one(struct ptracemeter *meter, uint64_t inode, uint32_t show,
                                      char answer[ANSWER_SIZE])
{
    const struct nlmsghdr *header = (const struct nlmsghdr *)answer;

    return !ask(meter, inode, show, false) || receive(meter, answer) < 0 || !is_answer(header)
               ? NULL
               : header;
}

static uint64_t cookie_of(const struct nlmsghdr *answer)
{
    const struct unix_diag_msg *message = NLMSG_DATA(answer);

    return (uint64_t)message->udiag_cookie[1] << 32 | message->udiag_cookie[0];
}

uint64_t diagnosis_peer(struct ptracemeter *meter, uint64_t inode)
{
    _Alignas(struct nlmsghdr) char bytes[ANSWER_SIZE];
    const struct nlmsghdr *answer = ask_one(meter, inode, UDIAG_SHOW_PEER, bytes);
    size_t size;
    const uint32_t *peer = answer == NULL ? NULL : find_attribute(answer, UNIX_DIAG_PEER, &size);

    return peer == NULL || size < sizeof(*peer) ? 0 : *peer;
}

uint64_t diagnosis_cookie(struct ptracemeter *meter, uint64_t inode)
{
    _Alignas(struct nlmsghdr) char bytes[ANSWER_SIZE];
    const struct nlmsghdr *answer = ask_one(meter, inode, 0, bytes);

    return answer == NULL ? 0 : cookie_of(answer);
}

uint64_t diagnosis_named(struct ptracemeter *meter, const char *name, size_t length)
{
    _Alignas(struct nlmsghdr) char answer[ANSWER_SIZE];
    uint64_t found = 0;
    bool more = ask(meter, 0, UDIAG_SHOW_NAME, true);

    while (more) {
        ssize_t got = receive(meter, answer);
        size_t left = got < 0 ? 0 : (size_t)got;
        const struct nlmsghdr *header = (const struct nlmsghdr *)answer;
        more = got > 0;
        for (; NLMSG_OK(header, left); header = NLMSG_NEXT(header, left)) {
            size_t size;
            if (header->nlmsg_type == NLMSG_DONE || header->nlmsg_type == NLMSG_ERROR)
                more = false;
            if (!is_answer(header))
                continue;
            const struct unix_diag_msg *message = NLMSG_DATA(header);
            const char *bound = find_attribute(header, UNIX_DIAG_NAME, &size);
            if (bound == NULL || message->udiag_type != SOCK_DGRAM)
                continue;
            if (bound[0] != '\0')
                size = strnlen(bound, size);
            if (size == length && memcmp(bound, name, length) == 0)
                found = cookie_of(header);
        }
    }
    return found;
}

/* ---- what a socket is ---- */

static void take_unix_address(const struct nlmsghdr *answer, struct sockaddr_storage *address,
                              socklen_t *size)
{
    struct sockaddr_un *own = (struct sockaddr_un *)address;
    size_t length;
    const char *name = find_attribute(answer, UNIX_DIAG_NAME, &length);

    *own = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (name == NULL || length > sizeof(own->sun_path))
        length = 0;
    if (length > 0)
        memcpy(own->sun_path, name, length);
    *size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
}

static bool unix_facts(struct ptracemeter *meter, uint64_t inode, struct socket_facts *facts)
{
    _Alignas(struct nlmsghdr) char bytes[ANSWER_SIZE];
    const struct nlmsghdr *answer = ask_one(meter, inode, UDIAG_SHOW_NAME | UDIAG_SHOW_PEER, bytes);
    size_t size;

    if (answer == NULL)
        return false;
    facts->family = AF_UNIX;
    facts->type = ((const struct unix_diag_msg *)NLMSG_DATA(answer))->udiag_type;
    facts->cookie = cookie_of(answer);
    take_unix_address(answer, &facts->own, &facts->own_size);
    const uint32_t *peer = find_attribute(answer, UNIX_DIAG_PEER, &size);
    if (peer == NULL || size < sizeof(*peer))
        return true;
    facts->other_size = offsetof(struct sockaddr_un, sun_path);
    facts->other.ss_family = AF_UNIX;
    /* peer 0: not accepted yet */
    answer = *peer == 0 ? NULL : ask_one(meter, *peer, UDIAG_SHOW_NAME, bytes);
    if (answer != NULL)
        take_unix_address(answer, &facts->other, &facts->other_size);
    return true;
}

/* Both addresses of an inet_diag_sockid have the family of the socket. */
static socklen_t internet_address(uint8_t family, const uint32_t bytes[4], uint16_t port,
                                  struct sockaddr_storage *address)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)address;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)address;

    if (family == AF_INET) {
        *v4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = port};
        memcpy(&v4->sin_addr, bytes, sizeof(v4->sin_addr));
        return sizeof(*v4);
    }
    *v6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = port};
    memcpy(&v6->sin6_addr, bytes, sizeof(v6->sin6_addr));
    return sizeof(*v6);
}

static void take_internet_socket(const struct inet_diag_msg *message, int protocol,
                                 struct socket_facts *facts)
{
    facts->family = message->idiag_family;
    facts->protocol = protocol;
    facts->type = protocol == IPPROTO_TCP ? SOCK_STREAM : SOCK_DGRAM;
    facts->cookie = (uint64_t)message->id.idiag_cookie[1] << 32 | message->id.idiag_cookie[0];
    facts->own_size = internet_address(message->idiag_family, message->id.idiag_src,
                                       message->id.idiag_sport, &facts->own);
    if (message->id.idiag_dport != 0)
        facts->other_size = internet_address(message->idiag_family, message->id.idiag_dst,
                                             message->id.idiag_dport, &facts->other);
}

/* Reads a list to its end. Returns whether the socket is in it. */
static bool find_internet(struct ptracemeter *meter, uint64_t inode, int protocol,
                          struct socket_facts *facts)
{
    _Alignas(struct nlmsghdr) char answer[ANSWER_SIZE];
    bool found = false;

    for (;;) {
        ssize_t got = receive(meter, answer);
        size_t left = got < 0 ? 0 : (size_t)got;
        const struct nlmsghdr *header = (const struct nlmsghdr *)answer;
        if (got <= 0)
            return found;
        for (; NLMSG_OK(header, left); header = NLMSG_NEXT(header, left)) {
            const struct inet_diag_msg *message = NLMSG_DATA(header);
            if (header->nlmsg_type == NLMSG_DONE || header->nlmsg_type == NLMSG_ERROR)
                return found;
            if (header->nlmsg_type != SOCK_DIAG_BY_FAMILY ||
                header->nlmsg_len < NLMSG_LENGTH(sizeof(*message)) ||
                message->idiag_inode != (uint32_t)inode)
                continue;
            take_internet_socket(message, protocol, facts);
            found = true;
        }
    }
}

static bool internet_facts(struct ptracemeter *meter, uint64_t inode, uint8_t family, int protocol,
                           struct socket_facts *facts)
{
    const struct {
        struct nlmsghdr header;
        struct inet_diag_req_v2 request;
    } question = {
        .header = {.nlmsg_len = sizeof(question),
                   .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                   .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
                   .nlmsg_seq = ++meter->diag_questions},
        .request = {.sdiag_family = family,
                    .sdiag_protocol = (uint8_t)protocol,
                    .idiag_states = UINT32_MAX},
    };

    return open_netlink(meter) &&
           send(meter->diag, &question, sizeof(question), 0) == (ssize_t)sizeof(question) &&
           find_internet(meter, inode, protocol, facts);
}

bool diagnosis_facts(struct ptracemeter *meter, uint64_t inode, struct socket_facts *ret_facts)
{
    return unix_facts(meter, inode, ret_facts) ||
           internet_facts(meter, inode, AF_INET, IPPROTO_TCP, ret_facts) ||
           internet_facts(meter, inode, AF_INET6, IPPROTO_TCP, ret_facts) ||
           internet_facts(meter, inode, AF_INET, IPPROTO_UDP, ret_facts) ||
           internet_facts(meter, inode, AF_INET6, IPPROTO_UDP, ret_facts);
}
