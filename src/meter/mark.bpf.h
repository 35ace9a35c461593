/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * mark.bpf.h: taking over processes that run already: iterators that mark tasks and find the
 * sockets they hold.
 *
 *      mark_tasks      again and again until a pass marks nobody new; the marked are silent: their
 *                      positions are followed, nothing is told
 *      survey_files    again and again until all positions are settled; lists each path once
 *      begun = N       one store, and all of them tell; a path that was used since it was listed
 *                      is told again when it is used next (path.bpf.h, moved)
 *
 * TCP has absolute positions. A UNIX socket counts from where it is first met, and its sender and its
 * receiver are met apart, with bytes queued in between and calls in progress. What the sender's
 * count lacks (`shift`: what the receiver has counted, plus what is queued, minus what the sender
 * has counted) stays the same from pass to pass when no call is between its steps: it is believed
 * when several passes agree. Of streams that are never still it can be had all the same, but for
 * those on which several are sending all the time: mended later (unseen.bpf.h).
 */
#ifndef DPM_MARK_BPF_H
#define DPM_MARK_BPF_H

#include "meter/call.bpf.h"
#include "meter/schedule.bpf.h"
#include "meter/udp_inbox.bpf.h"

/* after these, which bring the types */
#include "meter/survey.h"

#define PASSES_THAT_AGREE 4
#define LOOKS_OF_A_PASS   64
#define LOOKS_AT_MESSAGES 32
#define LOOKS_THAT_AGREE  8

/* ---- marking ---- */

/* The iterator runs for the recorder, which is not to meter itself. */
static __always_inline bool to_be_marked(struct task_struct *task)
{
    return (task->flags & (PF_KTHREAD | PF_EXITING)) == 0 &&
           task->tgid != bpf_get_current_task_btf()->tgid;
}

/* A call that sleeps already: its RECEIVE has not found its data at once. */
static __always_inline bool sleeps_in_receive(struct task_struct *task)
{
    struct pt_regs *registers = (struct pt_regs *)bpf_task_pt_regs(task);

    return (task->__state & TASK_INTERRUPTIBLE) != 0 && is_receive(call_of(task, registers));
}

/* What the threads of a process have in common, kept with its first thread, whether that still runs
 * or not: the number of the process and of its image. */
static __always_inline void join_process(struct stream *stream, struct task_struct *task)
{
    struct stream *leader = storage_of_task(task->group_leader);

    if (leader == NULL)
        leader = stream;
    if (leader->image == 0)
        __sync_val_compare_and_swap(&leader->image, 0, __sync_fetch_and_add(&last_image, 1) + 1);
    stream->process = number_of(leader);
    stream->image = leader->image;
}

SEC("iter/task")
int mark_tasks(struct bpf_iter__task *context)
{
    struct task_struct *task = context->task;
    struct stream *stream;

    if (task == NULL || !to_be_marked(task))
        return 0;
    stream = storage_of_task(task);
    if (stream == NULL) {
        __sync_fetch_and_add(&unmarkable, 1);
        return 0;
    }
    if (!claim(stream))
        return 0;
    if (mark_from_exec) {
        stream->process = stream->number;
    } else {
        join_process(stream, task);
        stream->receivecall = sleeps_in_receive(task);
        stream->older_send = 1;
    }
    stream->from_exec = mark_from_exec;
    stream->mark = mark_generation;
    look_whether_silent(stream);
    enliven(stream, mark_flags);
    if (task->flags & PF_EXITING)
        end_stream(stream); /* the hook that ends it may have come before it was alive */
    __sync_fetch_and_add(&marked, 1);
    return 0;
}

/* ---- the sockets they hold ---- */

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct path_record);
} path_line SEC(".maps");

/* Lists a path that has no number yet: its PATH record, of which header.stream is one that holds it. */
static __noinline int list_path(struct seq_file *file, struct path *path,
                                const struct socket_facts *facts, uint32_t holder)
{
    struct inode_path entry = {};
    struct path_record *line;
    uint64_t inode = facts->inode;
    uint32_t zero = 0;

    line = bpf_map_lookup_elem(&path_line, &zero);
    if (line == NULL || path->number != 0)
        return 0;
    entry.number = new_path_number();
    if (bpf_map_update_elem(&path_of_inode, &inode, &entry, BPF_ANY) != 0) {
        __sync_fetch_and_add(&unsettled, 1); /* no memory just now: the next pass tries again */
        return 0;
    }
    path->moved = 0;
    path->number = entry.number;
    fill_path(line, path, facts, NULL, RECORD_OLDER, bpf_ktime_get_ns());
    line->header.stream = holder;
    bpf_seq_write(file, line, sizeof(*line));
    return 0;
}

static __always_inline bool is_connected(uint32_t state)
{
    return state == TCP_ESTABLISHED || state == TCP_FIN_WAIT1 || state == TCP_FIN_WAIT2 ||
           state == TCP_CLOSE_WAIT || state == TCP_LAST_ACK || state == TCP_CLOSING;
}

static __always_inline int survey_tcp(struct seq_file *file, struct sock *sk, uint64_t inode,
                                      uint32_t holder)
{
    uint32_t state = sk->__sk_common.skc_state;
    struct path *path = storage_of(sk);
    struct tcp_sock *tcp = bpf_skc_to_tcp_sock(sk);
    struct socket_facts facts = {};

    if (path == NULL || tcp == NULL)
        return 0;
    if (state == TCP_LISTEN && path->number == 0) {
        path->role = PATH_ROLE_ACCEPTED; /* inherited by the connections it will hand out */
        return 0;
    }
    if (path->number != 0 || !is_connected(state))
        return 0;
    take_positions(path, tcp);
    facts.sk = sk;
    facts.cookie = bpf_get_socket_cookie(sk);
    facts.inode = inode;
    facts.family = sk->__sk_common.skc_family;
    facts.kind = PATH_TCP;
    return list_path(file, path, &facts, holder);
}

/* Makes good what the sender's count lacks, when enough passes agree on it. */
static __always_inline void believe_shift(struct path *sender, uint32_t shift, uint32_t kind)
{
    sender->settling = shift == sender->shift ? sender->settling + 1 : 1;
    sender->shift = shift;
    if (sender->settling < PASSES_THAT_AGREE) {
        __sync_fetch_and_add(&unsettled, 1);
        return;
    }
    __sync_fetch_and_add(&sender->out, shift);
    sender->settled = bpf_ktime_get_ns();
    sender->state |= PATH_SETTLED | (kind == PATH_UNIX_STREAM ? PATH_IN_DOUBT : 0);
}

/* Of a stream, calls between their steps only make the shift seem larger: a send has queued what it
 * has not counted, a receive has counted what it has not taken from the queue. So the least of many
 * looks is it, of those in which nothing changed meanwhile. */
static __always_inline void settle_bytes(struct path *sender, struct taken *taken,
                                         struct unix_sock *receiver)
{
    bool known = sender->settling != 0;
    uint32_t least = sender->shift;

    for (int look = 0; look < LOOKS_OF_A_PASS; look++) {
        uint32_t in = *(volatile uint32_t *)&taken->in;
        uint32_t out = *(volatile uint32_t *)&sender->out;
        uint32_t shift = in + queued_in(receiver, PATH_UNIX_STREAM) - out;

        if (in != *(volatile uint32_t *)&taken->in || out != *(volatile uint32_t *)&sender->out ||
            (known && (int32_t)(shift - least) >= 0))
            continue;
        least = shift;
        known = true;
    }
    if (known)
        believe_shift(sender, least, PATH_UNIX_STREAM);
    else
        __sync_fetch_and_add(&unsettled, 1);
}

/* ---- queues of messages ---- */

struct queue_walk {
    struct sk_buff *next;
    uint64_t head;
    uint64_t socket;  /* cookie of the receiver ... */
    uint64_t address; /* ... and the socket's */
    uint64_t sender;  /* cookie */
    uint32_t passed;  /* messages */
    uint32_t of_sender;
};

#define LONGEST_QUEUE 65536 /* messages; net.unix.max_dgram_qlen is 10 to 512 as a rule */

static __always_inline void begin_walk(struct queue_walk *walk, struct sock *receiver)
{
    walk->head = (uint64_t)__builtin_preserve_access_index(&receiver->sk_receive_queue);
    walk->next = BPF_CORE_READ(receiver, sk_receive_queue.next);
}

/* The next message's sender (cookie; 0 = a socket that nobody metered holds); false: there is none. */
static __always_inline bool next_message(struct queue_walk *walk, uint64_t *ret_sender)
{
    struct sk_buff *message = walk->next;

    if (message == NULL || (uint64_t)message == walk->head)
        return false;
    *ret_sender = BPF_CORE_READ(message, sk, __sk_common.skc_cookie.counter);
    walk->next = BPF_CORE_READ(message, next);
    walk->passed++;
    return true;
}

static long count_of_sender(uint32_t index, struct queue_walk *walk)
{
    uint64_t sender;

    if (!next_message(walk, &sender))
        return 1;
    walk->of_sender += sender == walk->sender;
    return 0;
}

/* What one look at a queue of messages finds. */
struct messages {
    uint32_t in;      /* counted as taken by its receiver ... */
    uint32_t out;     /* ... and as sent by one sender */
    uint32_t waiting; /* of that sender, in the queue */
    bool still;       /* nothing has changed during the look */
};

/* Looks at a queue again and again. */
struct looks {
    const uint32_t *in;
    const uint32_t *out;
    struct sock *receiver; /* may be known by its address only */
    uint64_t from;         /* the sender's cookie; 0: nobody else sends */
    struct messages last;
    uint32_t run;     /* how many in a row found the same */
    uint32_t longest; /* of the runs ... */
    uint32_t shift;   /* ... and what came out */
};

static __always_inline void look_at_messages(struct messages *look, const struct looks *looks)
{
    struct sock *receiver = looks->receiver;
    struct queue_walk walk = {.sender = looks->from};
    uint32_t length = BPF_CORE_READ(receiver, sk_receive_queue.qlen);
    bool taken = is_taken_from((struct unix_sock *)receiver);

    look->in = *(volatile const uint32_t *)looks->in;
    look->out = *(volatile const uint32_t *)looks->out;
    look->waiting = length;
    if (looks->from != 0) {
        begin_walk(&walk, receiver);
        bpf_loop(LONGEST_QUEUE, count_of_sender, &walk, 0);
        look->waiting = walk.of_sender;
        taken |= walk.passed != length;
    }
    look->still = !taken && !is_taken_from((struct unix_sock *)receiver) &&
                  look->in == *(volatile const uint32_t *)looks->in &&
                  look->out == *(volatile const uint32_t *)looks->out &&
                  length == BPF_CORE_READ(receiver, sk_receive_queue.qlen);
}

static long look_again(uint32_t index, struct looks *looks)
{
    struct messages look = {};
    bool same;

    look_at_messages(&look, looks);
    same = look.in == looks->last.in && look.out == looks->last.out &&
           look.waiting == looks->last.waiting;
    looks->last = look;
    looks->run = !look.still ? 0 : same ? looks->run + 1 : 1;
    if (looks->run > looks->longest) {
        looks->longest = looks->run;
        looks->shift = look.in + look.waiting - look.out;
    }
    return looks->longest == LOOKS_THAT_AGREE;
}

/* A call between its steps makes the shift of messages seem larger (queued, and not counted yet) or
 * smaller (taken from the queue, and not counted yet). A receiver has locked the queue then, but for
 * a last moment, and neither takes long: what was found most often in a row is it. */
static __always_inline void settle_messages(struct path *sender, const uint32_t *in,
                                            struct sock *receiver, uint64_t from)
{
    struct looks looks = {.in = in, .out = &sender->out, .receiver = receiver, .from = from};

    bpf_loop(LOOKS_AT_MESSAGES, look_again, &looks, 0);
    if (looks.longest == 0)
        __sync_fetch_and_add(&unsettled, 1);
    else
        believe_shift(sender, looks.shift, PATH_UNIX_DATAGRAM);
}

/* One direction: `sender` is the storage of the sending socket, `key` its cookie. */
static __always_inline void settle(struct path *sender, uint64_t key, struct unix_sock *receiver,
                                   uint32_t kind)
{
    struct taken nothing = {};
    struct taken *taken;

    if (sender->state & PATH_SETTLED)
        return;
    bpf_map_update_elem(&incoming, &key, &nothing, BPF_NOEXIST);
    taken = bpf_map_lookup_elem(&incoming, &key);
    if (taken == NULL) {
        __sync_fetch_and_add(&lost_paths, 1);
        return;
    }
    if (kind == PATH_UNIX_STREAM)
        settle_bytes(sender, taken, receiver);
    else
        settle_messages(sender, &taken->in, (struct sock *)receiver, 0);
}

/* Both directions of a connected UNIX stream or seqpacket socket; told when both are settled. */
static __always_inline int survey_unix(struct seq_file *file, struct sock *sk, uint64_t inode,
                                       uint32_t kind, uint32_t holder)
{
    struct unix_sock *own = bpf_skc_to_unix_sock(sk), *other;
    struct path *path, *peer_path;
    struct socket_facts facts = {};
    struct taken *taken;
    struct sock *peer;

    if (own == NULL || sk->__sk_common.skc_state == TCP_LISTEN)
        return 0;
    peer = own->peer;
    if (peer == NULL)
        return 0;
    path = storage_of(sk);
    peer_path = storage_of(peer);
    other = bpf_skc_to_unix_sock(peer);
    if (path == NULL || peer_path == NULL || other == NULL || path->number != 0)
        return 0;
    facts.sk = sk;
    facts.cookie = bpf_get_socket_cookie(sk);
    facts.peer = bpf_get_socket_cookie(peer);
    facts.inode = inode;
    facts.family = AF_UNIX;
    facts.kind = kind;
    settle(path, facts.cookie, other, kind);
    settle(peer_path, facts.peer, own, kind);
    if ((path->state & peer_path->state & PATH_SETTLED) == 0)
        return 0;
    path->start_out = path->out;
    taken = bpf_map_lookup_elem(&incoming, &facts.peer);
    path->start_in = taken == NULL ? 0 : taken->in;
    return list_path(file, path, &facts, holder);
}

/* ---- UNIX datagrams: a queue holds those of several senders ---- */

/* The pair, made if there is none. NULL: no memory. */
static __always_inline struct path *pair_of(uint64_t socket, uint64_t peer)
{
    struct pair_key key = {.socket = socket, .peer = peer};
    struct path *path = bpf_map_lookup_elem(&pairs, &key), fresh = {};

    if (path != NULL)
        return path;
    bpf_map_update_elem(&pairs, &key, &fresh, BPF_NOEXIST);
    return bpf_map_lookup_elem(&pairs, &key);
}

static long note_sender(uint32_t index, struct queue_walk *walk)
{
    struct path *path;
    uint64_t sender;

    if (!next_message(walk, &sender))
        return 1;
    path = sender == 0 ? NULL : pair_of(walk->socket, sender);
    if (path != NULL)
        path->socket = walk->address;
    return 0;
}

/* Whose messages wait; settle_pair counts them. */
static __always_inline int survey_datagrams(struct sock *sk)
{
    struct queue_walk walk = {.address = (uint64_t)sk};

    /* what it has sent could not be told from what others have: the next pass can */
    if (sk->__sk_common.skc_cookie.counter == 0)
        __sync_fetch_and_add(&unsettled, 1);
    walk.socket = bpf_get_socket_cookie(sk);
    begin_walk(&walk, sk);
    bpf_loop(LONGEST_QUEUE, note_sender, &walk, 0);
    return 0;
}

static long settle_pair(void *map, struct pair_key *key, struct path *receiver, void *context)
{
    struct sock *socket = (struct sock *)receiver->socket;
    struct path *sender;

    /* nothing was received; or closed since, and its place may be another's */
    if (key->peer == 0 || socket == NULL ||
        (uint64_t)BPF_CORE_READ(socket, __sk_common.skc_cookie.counter) != key->socket)
        return 0;
    sender = pair_of(key->peer, key->socket);
    if (sender != NULL && (sender->state & PATH_SETTLED) == 0)
        settle_messages(sender, &receiver->in, socket, key->peer);
    return 0;
}

/* After a pass over the files. */
SEC("syscall")
int settle_pairs(void *context)
{
    bpf_for_each_map_elem(&pairs, settle_pair, NULL, 0);
    return 0;
}

/* A UDP socket has a path for each peer, told when it is used; what comes is noted from now on. */
static __always_inline int survey_udp(struct sock *sk)
{
    struct path *socket = storage_of(sk);

    bpf_get_socket_cookie(sk);
    if (socket != NULL)
        open_inbox(socket, sk);
    return 0;
}

SEC("iter/task_file")
int survey_files(struct bpf_iter__task_file *context)
{
    struct task_struct *task = context->task;
    struct file *file = context->file;
    struct stream *stream;
    struct sock *sk;
    uint64_t inode;
    uint32_t kind;

    if (task == NULL || file == NULL)
        return 0;
    stream = bpf_task_storage_get(&streams, task, NULL, 0);
    if (stream == NULL || stream->flags == 0)
        return 0;
    sk = sock_of_file(file);
    if (sk == NULL)
        return 0;
    inode = BPF_CORE_READ(file, f_inode, i_ino);
    kind = kind_of_socket(sk->__sk_common.skc_family, sk->sk_type, sk->sk_protocol);
    switch (kind) {
    case PATH_TCP:
        return survey_tcp(context->meta->seq, sk, inode, stream->number);
    case PATH_UNIX_STREAM:
    case PATH_UNIX_SEQPACKET:
        return survey_unix(context->meta->seq, sk, inode, kind, stream->number);
    case PATH_UNIX_DATAGRAM:
        return survey_datagrams(sk);
    case PATH_UDP:
        return survey_udp(sk);
    default:
        return 0;
    }
}

#endif
