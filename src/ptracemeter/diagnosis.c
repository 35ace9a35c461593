/* SPDX-License-Identifier: MIT */
/*
 * diagnosis.c: asks the kernel about the sockets of a network namespace, which needs no privilege once we have a socket
 * there (sock_diag(7), networks.c): which socket is the other end, which one is bound to a name, and what a socket is
 * whose descriptor cannot be copied.
 */
#include "ptracemeter/diagnosis.h"

#include "ptracemeter/networks.h"
#include "ptracemeter/socket_facts.h"

#include <arpa/inet.h>
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
static ssize_t receive(const struct ptracemeter *meter, int diag, char answer[ANSWER_SIZE])
{
    const struct nlmsghdr *header = (const struct nlmsghdr *)answer;

    for (;;) {
        ssize_t got = recv(diag, answer, ANSWER_SIZE, 0);
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

/* Asks about one UNIX socket, or (inode 0) all of them in certain states. */
static bool ask(struct ptracemeter *meter, int diag, uint64_t inode, uint32_t show, uint32_t states)
{
    const struct question question = {
        .header = {.nlmsg_len = sizeof(question),
                   .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                   .nlmsg_flags = NLM_F_REQUEST | (inode == 0 ? NLM_F_DUMP : 0),
                   .nlmsg_seq = ++meter->diag_questions},
        .request = {.sdiag_family = AF_UNIX,
                    .udiag_states = states,
                    .udiag_ino = (uint32_t)inode,
                    .udiag_show = show,
                    .udiag_cookie = {UINT32_MAX, UINT32_MAX}},
    };

    return diag >= 0 && send(diag, &question, sizeof(question), 0) == (ssize_t)sizeof(question);
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
static const struct nlmsghdr *ask_one(struct ptracemeter *meter, int diag, uint64_t inode,
                                      uint32_t show, char answer[ANSWER_SIZE])
{
    const struct nlmsghdr *header = (const struct nlmsghdr *)answer;

    return inode == 0 || !ask(meter, diag, inode, show, UINT32_MAX) ||
                   receive(meter, diag, answer) < 0 || !is_answer(header)
               ? NULL
               : header;
}

static uint64_t cookie_of(const struct nlmsghdr *answer)
{
    const struct unix_diag_msg *message = NLMSG_DATA(answer);

    return (uint64_t)message->udiag_cookie[1] << 32 | message->udiag_cookie[0];
}

bool diagnosis_peer(struct ptracemeter *meter, uint32_t network, uint64_t inode, uint64_t *ret_peer)
{
    _Alignas(struct nlmsghdr) char bytes[ANSWER_SIZE];
    const struct nlmsghdr *answer =
        ask_one(meter, network_diag(meter, network), inode, UDIAG_SHOW_PEER, bytes);
    size_t size;
    const uint32_t *peer = answer == NULL ? NULL : find_attribute(answer, UNIX_DIAG_PEER, &size);

    *ret_peer = peer == NULL || size < sizeof(*peer) ? 0 : *peer;
    return peer != NULL;
}

uint64_t diagnosis_cookie(struct ptracemeter *meter, uint32_t network, uint64_t inode)
{
    _Alignas(struct nlmsghdr) char bytes[ANSWER_SIZE];
    const struct nlmsghdr *answer = ask_one(meter, network_diag(meter, network), inode, 0, bytes);

    return answer == NULL ? 0 : cookie_of(answer);
}

int64_t diagnosis_waiting(struct ptracemeter *meter, uint32_t network, uint64_t inode)
{
    _Alignas(struct nlmsghdr) char bytes[ANSWER_SIZE];
    const struct nlmsghdr *answer =
        ask_one(meter, network_diag(meter, network), inode, UDIAG_SHOW_RQLEN, bytes);
    size_t size;
    const struct unix_diag_rqlen *found =
        answer == NULL ? NULL : find_attribute(answer, UNIX_DIAG_RQLEN, &size);

    return found == NULL || size < sizeof(*found) ? -1 : (int64_t)found->udiag_rqueue;
}

/* Calls a function for each UNIX socket in certain states, until it returns true. Reads the answer to its end. */
static bool for_each(struct ptracemeter *meter, uint32_t network, uint32_t show, uint32_t states,
                     bool (*look)(const struct nlmsghdr *answer, void *context), void *context)
{
    _Alignas(struct nlmsghdr) char answer[ANSWER_SIZE];
    int diag = network_diag(meter, network);
    bool found = false, more = ask(meter, diag, 0, show, states);

    while (more) {
        ssize_t got = receive(meter, diag, answer);
        size_t left = got < 0 ? 0 : (size_t)got;
        const struct nlmsghdr *header = (const struct nlmsghdr *)answer;
        more = got > 0;
        for (; NLMSG_OK(header, left); header = NLMSG_NEXT(header, left)) {
            if (header->nlmsg_type == NLMSG_DONE || header->nlmsg_type == NLMSG_ERROR)
                more = false;
            if (!found && is_answer(header))
                found = look(header, context);
        }
    }
    return found;
}

struct named {
    const struct diagnosis_name *name;
    uint64_t cookie;
};

static bool has_name(const struct nlmsghdr *answer, void *context)
{
    const struct unix_diag_msg *message = NLMSG_DATA(answer);
    struct named *named = context;
    const struct diagnosis_name *name = named->name;
    size_t size, file_size = 0;
    const char *bound = find_attribute(answer, UNIX_DIAG_NAME, &size);
    const struct unix_diag_vfs *file = find_attribute(answer, UNIX_DIAG_VFS, &file_size);

    if (bound == NULL || message->udiag_type != SOCK_DGRAM)
        return false;
    if (bound[0] != '\0')
        size = strnlen(bound, size);
    if (name->inode != 0
            ? file != NULL && file_size >= sizeof(*file) && file->udiag_vfs_ino == name->inode &&
                  file->udiag_vfs_dev == name->device
            : size == name->length && memcmp(bound, name->name, size) == 0)
        named->cookie = cookie_of(answer);
    return false; /* the last one counts */
}

uint64_t diagnosis_named(struct ptracemeter *meter, uint32_t network,
                         const struct diagnosis_name *name)
{
    struct named named = {name, 0};

    for_each(meter, network, UDIAG_SHOW_NAME | UDIAG_SHOW_VFS, UINT32_MAX, has_name, &named);
    return named.cookie;
}

/* A listening socket whose queue has a certain client. */
struct queued {
    uint32_t inode;
    uint64_t listener;
};

static bool has_in_queue(const struct nlmsghdr *answer, void *context)
{
    struct queued *queued = context;
    size_t size;
    const uint32_t *clients = find_attribute(answer, UNIX_DIAG_ICONS, &size);

    for (size_t i = 0; clients != NULL && (i + 1) * sizeof(*clients) <= size; i++)
        if (clients[i] == queued->inode) {
            queued->listener = cookie_of(answer);
            return true;
        }
    return false;
}

#define LISTENING (1u << 10) /* the state TCP_LISTEN, which UNIX sockets use, too */

uint64_t diagnosis_listener(struct ptracemeter *meter, uint32_t network, uint64_t inode)
{
    struct queued queued = {(uint32_t)inode, 0};

    return for_each(meter, network, UDIAG_SHOW_ICONS, LISTENING, has_in_queue, &queued)
               ? queued.listener
               : 0;
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

static bool unix_facts(struct ptracemeter *meter, int diag, uint64_t inode,
                       struct socket_facts *facts)
{
    _Alignas(struct nlmsghdr) char bytes[ANSWER_SIZE];
    const struct nlmsghdr *answer =
        ask_one(meter, diag, inode, UDIAG_SHOW_NAME | UDIAG_SHOW_PEER, bytes);
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
    answer = ask_one(meter, diag, *peer, UDIAG_SHOW_NAME, bytes);
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
static bool find_internet(const struct ptracemeter *meter, int diag, uint64_t inode, int protocol,
                          struct socket_facts *facts)
{
    _Alignas(struct nlmsghdr) char answer[ANSWER_SIZE];
    bool found = false;

    for (;;) {
        ssize_t got = receive(meter, diag, answer);
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

struct internet_question {
    struct nlmsghdr header;
    struct inet_diag_req_v2 request;
};

static bool ask_internet(struct ptracemeter *meter, int diag, struct internet_question *question,
                         bool all)
{
    question->header =
        (struct nlmsghdr){.nlmsg_len = sizeof(*question),
                          .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                          .nlmsg_flags = (uint16_t)(NLM_F_REQUEST | (all ? NLM_F_DUMP : 0)),
                          .nlmsg_seq = ++meter->diag_questions};
    question->request.idiag_states = UINT32_MAX;
    return diag >= 0 && send(diag, question, sizeof(*question), 0) == (ssize_t)sizeof(*question);
}

static bool internet_facts(struct ptracemeter *meter, int diag, uint64_t inode, uint8_t family,
                           int protocol, struct socket_facts *facts)
{
    struct internet_question question = {
        .request = {.sdiag_family = family, .sdiag_protocol = (uint8_t)protocol}};

    return ask_internet(meter, diag, &question, true) &&
           find_internet(meter, diag, inode, protocol, facts);
}

static bool facts_in(struct ptracemeter *meter, uint32_t network, uint64_t inode,
                     struct socket_facts *facts)
{
    int diag = network_diag(meter, network);

    facts->network = network;
    return unix_facts(meter, diag, inode, facts) ||
           internet_facts(meter, diag, inode, AF_INET, IPPROTO_TCP, facts) ||
           internet_facts(meter, diag, inode, AF_INET6, IPPROTO_TCP, facts) ||
           internet_facts(meter, diag, inode, AF_INET, IPPROTO_UDP, facts) ||
           internet_facts(meter, diag, inode, AF_INET6, IPPROTO_UDP, facts);
}

bool diagnosis_facts(struct ptracemeter *meter, uint32_t network, uint64_t inode,
                     struct socket_facts *ret_facts)
{
    if (facts_in(meter, network, inode, ret_facts))
        return true;
    /* it was made elsewhere: its maker has changed its namespace, or has passed it on */
    for (size_t i = 0; i < meter->network_count; i++)
        if (meter->networks[i].inode != network &&
            facts_in(meter, meter->networks[i].inode, inode, ret_facts))
            return true;
    ret_facts->network = network;
    return false;
}

/* ---- the other end of a TCP connection ---- */

#define STATE_TIME_WAIT 6
#define STATE_LISTEN    10

static bool is_other_end(const struct inet_diag_msg *message, const struct inet_diag_sockid *asked)
{
    const struct inet_diag_sockid *id = &message->id;

    /* in TIME_WAIT, the socket is gone, and its cookie with it */
    return message->idiag_state != STATE_LISTEN && message->idiag_state != STATE_TIME_WAIT &&
           id->idiag_sport == asked->idiag_sport && id->idiag_dport == asked->idiag_dport;
}

bool diagnosis_connection(struct ptracemeter *meter, const struct path_record *record,
                          uint64_t *ret_cookie)
{
    _Alignas(struct nlmsghdr) char bytes[ANSWER_SIZE];
    const struct nlmsghdr *answer = (const struct nlmsghdr *)bytes;
    int diag = network_diag(meter, record->network);
    struct internet_question question = {
        .request = {.sdiag_family = record->family,
                    .sdiag_protocol = IPPROTO_TCP,
                    .id = {.idiag_sport = htons(record->remote_port),
                           .idiag_dport = htons(record->local_port),
                           .idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}}}};
    size_t size = record->family == AF_INET ? 4 : 16;

    memcpy(question.request.id.idiag_src, record->remote, size);
    memcpy(question.request.id.idiag_dst, record->local, size);
    *ret_cookie = 0;
    if (!ask_internet(meter, diag, &question, false) || receive(meter, diag, bytes) < 0)
        return false;
    const struct inet_diag_msg *message = NLMSG_DATA(answer);
    if (answer->nlmsg_type == SOCK_DIAG_BY_FAMILY &&
        answer->nlmsg_len >= NLMSG_LENGTH(sizeof(*message)) &&
        is_other_end(message, &question.request.id))
        *ret_cookie = (uint64_t)message->id.idiag_cookie[1] << 32 | message->id.idiag_cookie[0];
    return true;
}

bool diagnosis_leads_nowhere(struct ptracemeter *meter, const struct path_record *record)
{
    _Alignas(struct nlmsghdr) char bytes[ANSWER_SIZE];
    const struct nlmsghdr *answer = (const struct nlmsghdr *)bytes;
    /* of UDP the kernel takes the source for the sender's address */
    struct internet_question question = {
        .request = {.sdiag_family = record->family,
                    .sdiag_protocol = IPPROTO_UDP,
                    .id = {.idiag_sport = htons(record->local_port),
                           .idiag_dport = htons(record->remote_port),
                           .idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}}}};
    size_t size = record->family == AF_INET ? 4 : 16;

    memcpy(question.request.id.idiag_src, record->local, size);
    memcpy(question.request.id.idiag_dst, record->remote, size);
    if (!ask_internet(meter, network_diag(meter, record->network), &question, false) ||
        receive(meter, network_diag(meter, record->network), bytes) < 0 ||
        answer->nlmsg_type != NLMSG_ERROR)
        return false;
    return ((const struct nlmsgerr *)NLMSG_DATA(answer))->error == -ENOENT;
}
