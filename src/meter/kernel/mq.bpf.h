/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * mq.bpf.h: System V and POSIX message queues: which ones are known, their paths and their end. (Calls on them:
 * mq_call.bpf.h.)
 *
 *      queue 3 --+-- itself (ALL_TYPES)   whether its counts are certain; POSIX: priorities seen
 *                +-- type 1               received so far: `in`, sent so far: `out`
 *                '-- type 5
 *
 * A queue is first in, first out among the messages of one type (System V) or priority (POSIX), so each of these is a
 * path of its own with two ends: the n-th message received there is the n-th sent. Both are counted when calls end.
 *
 * Every process may open a queue by its name, so while any queue is known, the calls of all processes on known queues
 * are counted. One that was never used when a metered stream opened it is known from its beginning. Otherwise it is
 * older: its messages begin at OLDER_BEGIN, and all its records say that positions may be wrong.
 */
#ifndef DPM_MQ_BPF_H
#define DPM_MQ_BPF_H

#include "meter/kernel/pipe.bpf.h"

/* ---- the kernel's queues ---- */

#define IPC_MESSAGES     1
#define INDEX_MASK       0x7fff /* of a msqid; the rest counts how often the index was reused ... */
#define LONG_INDEX_MASK  0xffffff /* ... and with the boot option ipcmni_extend */
#define TREE_LEVELS      4
#define TREE_FANOUT      64
#define TREE_TAG         3
#define TREE_TAG_OF_NODE 2

/* Address of what a table (struct xarray) has at an index; 0: nothing. */
static __noinline uint64_t look_in_table(uint64_t entry, uint32_t index)
{
    for (int i = 0; i < TREE_LEVELS; i++) {
        struct xa_node *node = (struct xa_node *)(entry - TREE_TAG_OF_NODE);
        uint64_t next = 0;
        uint32_t slot;

        if ((entry & TREE_TAG) != TREE_TAG_OF_NODE)
            return index == 0 || i > 0 ? entry : 0;
        slot = index >> (BPF_CORE_READ(node, shift) & 31);
        if (i == 0 && slot >= TREE_FANOUT)
            return 0;
        slot &= TREE_FANOUT - 1;
        bpf_probe_read_kernel(
            &next, sizeof(next),
            (void *)((uint64_t)node + bpf_core_field_offset(struct xa_node, slots) + slot * 8));
        entry = next;
    }
    return (entry & TREE_TAG) == 0 ? entry : 0;
}

static __always_inline bool is_this_queue(uint64_t address, uint32_t id)
{
    struct msg_queue *queue = (struct msg_queue *)address;

    return address != 0 && (uint32_t)BPF_CORE_READ(queue, q_perm.id) == id &&
           !BPF_CORE_READ(queue, q_perm.deleted);
}

/* The System V queue `id` of the current task's IPC namespace. Returns 1, or 0: there is none. */
static __noinline int look_at_sysv(uint32_t id, struct queue_use *use)
{
    struct task_struct *task = bpf_get_current_task_btf();
    struct ipc_namespace *space = BPF_CORE_READ(task, nsproxy, ipc_ns);
    uint64_t table = (uint64_t)BPF_CORE_READ(space, ids[IPC_MESSAGES].ipcs_idr.idr_rt.xa_head);

    use->key.kind = PATH_MQ_SYSV;
    use->key.identity = id;
    use->key.place = BPF_CORE_READ(space, ns.inum);
    use->address = look_in_table(table, id & INDEX_MASK);
    if (!is_this_queue(use->address, id))
        use->address = look_in_table(table, id & LONG_INDEX_MASK);
    return is_this_queue(use->address, id);
}

/* The same for a descriptor of a POSIX queue. */
static __noinline int look_at_posix(uint32_t descriptor, struct queue_use *use)
{
    struct file *file = file_of_descriptor(bpf_get_current_task_btf(), descriptor);
    struct super_block *block;
    struct inode *inode;

    if (file == NULL)
        return 0;
    inode = BPF_CORE_READ(file, f_inode);
    block = BPF_CORE_READ(inode, i_sb);
    if ((BPF_CORE_READ(inode, i_mode) & S_IFMT) != S_IFREG ||
        BPF_CORE_READ(block, s_magic) != MQUEUE_MAGIC)
        return 0;
    use->key.kind = PATH_MQ_POSIX;
    use->key.identity = BPF_CORE_READ(inode, i_ino);
    use->key.place = BPF_CORE_READ(block, s_dev);
    use->address = (uint64_t)inode;
    use->file = (uint64_t)file;
    return 1;
}

static __always_inline struct mqueue_inode_info *posix_queue(uint64_t inode)
{
    return (struct mqueue_inode_info *)(inode -
                                        bpf_core_field_offset(struct mqueue_inode_info, vfs_inode));
}

/* Whether no message was ever sent to it. */
static __always_inline bool is_unused(const struct queue_use *use)
{
    struct msg_queue *sysv = (struct msg_queue *)use->address;
    struct mqueue_inode_info *posix = posix_queue(use->address);

    if (use->key.kind == PATH_MQ_SYSV)
        return BPF_CORE_READ(sysv, q_stime) == 0;
    return BPF_CORE_READ(posix, msg_tree.rb_node) == NULL &&
           BPF_CORE_READ(posix, node_cache) == NULL;
}

#define MOST_QUEUED 16384

struct type_walk {
    uint64_t head, at; /* addresses */
    int64_t type;
    uint32_t *count; /* in a map: the verifier must not know it */
};

static long count_if_of_type(uint32_t index, struct type_walk *walk)
{
    struct msg_msg *message = (struct msg_msg *)walk->at; /* the list is its first member */

    if (walk->at == walk->head || walk->at == 0)
        return 1;
    *walk->count += BPF_CORE_READ(message, m_type) == walk->type;
    walk->at = (uint64_t)BPF_CORE_READ(message, m_list.next);
    return 0;
}

/* How many messages of this type are in a queue that others may be using. POSIX: of all priorities. */
static __noinline uint32_t messages_in_queue(struct stream *stream, const struct queue_use *use)
{
    struct scratch *scratch = scratch_of(stream);
    struct msg_queue *sysv = (struct msg_queue *)use->address;
    struct mqueue_inode_info *posix = posix_queue(use->address);
    struct type_walk walk = {
        .head = use->address + bpf_core_field_offset(struct msg_queue, q_messages),
        .type = use->key.type,
    };

    if (use->key.kind != PATH_MQ_SYSV)
        return BPF_CORE_READ(posix, attr.mq_curmsgs);
    if (scratch == NULL)
        return 0;
    walk.count = &scratch->queue.out;
    *walk.count = 0;
    walk.at = (uint64_t)BPF_CORE_READ(sysv, q_messages.next);
    bpf_loop(MOST_QUEUED, count_if_of_type, &walk, 0);
    return *walk.count;
}

/* ---- queues that are known ---- */

/* Several tasks may notice its end at the same time; one of them records it. */
static __always_inline void end_queue(const struct queue_key *key, struct message_queue *queue,
                                      uint32_t life)
{
    if (__sync_val_compare_and_swap(&queue->life, life, QUEUE_ENDED) != life)
        return;
    for (int end = 0; end < PIPE_ENDS; end++)
        if (queue->paths[end] != 0 && is_told_now(EVENT_DESTROYPATH))
            write_unowned(EVENT_DESTROYPATH, queue->paths[end], 0);
    __sync_fetch_and_add(&known_queues, -1);
    bpf_map_delete_elem(&queues, key);
}

/* NULL: unknown. From here on the sweep does not end it before it has been unused for long again. */
static __always_inline struct message_queue *known_queue(const struct queue_use *use)
{
    struct message_queue *queue = bpf_map_lookup_elem(&queues, &use->key);

    if (queue == NULL)
        return NULL;
    if (queue->address != use->address) { /* of an earlier inode with this number */
        end_queue(&use->key, queue, *(volatile uint32_t *)&queue->life);
        return NULL;
    }
    queue->used = sweeps;
    if (__sync_val_compare_and_swap(&queue->life, QUEUE_IDLE, QUEUE_LIVE) == QUEUE_ENDED)
        return NULL;
    return queue;
}

struct queue_placing {
    const struct queue_use *use;
    const struct message_queue *fresh;
};

/* If the old entry was ended, the task that did it will remove it in a moment. */
static long place_queue(uint32_t index, struct queue_placing *placing)
{
    struct message_queue *found;
    long result = bpf_map_update_elem(&queues, &placing->use->key, placing->fresh, BPF_NOEXIST);

    if (result == 0)
        __sync_fetch_and_add(&known_queues, 1);
    if (result != -EEXIST)
        return 1;
    found = bpf_map_lookup_elem(&queues, &placing->use->key);
    return found != NULL && *(volatile uint32_t *)&found->life != QUEUE_ENDED;
}

/* Adds an entry; NULL: no memory (counted). `left`: how many messages of an older one have not been received yet. */
static __noinline struct message_queue *
make_queue(struct stream *stream, const struct queue_use *use, bool older, uint32_t left)
{
    struct scratch *scratch = scratch_of(stream);
    struct queue_placing placing = {.use = use};
    struct message_queue *fresh, *queue;

    if (scratch == NULL)
        return NULL;
    fresh = &scratch->queue;
    placing.fresh = fresh;
    *fresh = (struct message_queue){
        .address = use->address,
        .met = bpf_ktime_get_ns(),
        .serial = __sync_fetch_and_add(&last_queue, 1) + 1,
        .used = sweeps,
        .older = older,
    };
    if (older) {
        fresh->in = OLDER_BEGIN;
        fresh->out = OLDER_BEGIN + left;
    }
    bpf_loop(LOOKS_FOR_PLACE, place_queue, &placing, 0);
    queue = known_queue(use);
    if (queue == NULL)
        __sync_fetch_and_add(&lost_paths, 1);
    return queue;
}

/* ---- paths ---- */

static __noinline int fill_queue(struct path_record *record, const struct message_queue *queue,
                                 const struct queue_use *use, uint32_t end, uint32_t first)
{
    bool later = queue->older || queue->met < begun_at;
    struct file *file = (struct file *)use->file;

    record->header.flags = RECORD_NO_STREAM | (later ? RECORD_OLDER : 0);
    record->kind = use->key.kind;
    record->role = end == PIPE_WRITTEN ? PATH_ROLE_WRITES : PATH_ROLE_READS;
    record->cookie = (uint64_t)queue->serial << 1 | end;
    record->peer = record->cookie ^ 1;
    record->inode = use->key.identity;
    record->network = use->key.place;
    *(int64_t *)record->local = use->key.type;
    if (later)
        *(end == PIPE_WRITTEN ? &record->start_out : &record->start_in) = first;
    if (use->key.kind == PATH_MQ_POSIX) {
        record->name_end = PATH_NAME_LOCAL;
        record->name[0] = '/';
        bpf_probe_read_kernel_str(record->name + 1, sizeof(record->name) - 1,
                                  BPF_CORE_READ(file, f_path.dentry, d_name.name));
    }
    return 0;
}

/* Path number of this end of a queue. If it is new, records it, with `first` as the beginning of its recorded part. 0:
 * the ring is full. (Not static, so that the verifier checks it once.) */
__noinline uint32_t queue_path(struct stream *stream, struct message_queue *queue,
                               const struct queue_use *use, uint32_t end, uint32_t first)
{
    struct path_record *record;
    uint32_t number;

    if (stream == NULL || queue == NULL || use == NULL)
        return 0;
    end &= 1;
    if (queue->paths[end] != 0)
        return queue->paths[end];
    record = claim_path(&queue->paths[end], PATH_MQ_SYSV);
    if (record == NULL)
        return queue->paths[end];
    number = record->path;
    fill_queue(record, queue, use, end, first);
    submit(record);
    stream->scratch.beginning = (struct message){.path = number};
    write_message(stream, EVENT_CREATEPATH, &stream->scratch.beginning);
    return number;
}

/* ---- queues end ---- */

static __always_inline bool is_queue_alive(const struct queue_key *key,
                                           const struct message_queue *queue)
{
    struct inode *inode = (struct inode *)queue->address;

    if (key->kind == PATH_MQ_SYSV)
        return is_this_queue(queue->address, key->identity);
    /* the inode's memory may be reused; then this is another inode */
    return BPF_CORE_READ(inode, i_ino) == key->identity &&
           BPF_CORE_READ(inode, i_count.counter) > 0;
}

/* After this many sweeps without use, about a minute, a type ends. Programs may use a new one for each request. */
#define SWEEPS_IDLE 60

static long sweep_queue(void *map, struct queue_key *key, struct message_queue *queue,
                        void *context)
{
    uint32_t life = *(volatile uint32_t *)&queue->life;

    if (!is_queue_alive(key, queue)) {
        if (life != QUEUE_ENDED)
            end_queue(key, queue, life);
        return 0;
    }
    if (key->type == ALL_TYPES || queue->in != queue->out || sweeps - queue->used < SWEEPS_IDLE)
        return 0;
    /* in two steps: a call between them makes it live again, and none can count in an entry that is ended */
    if (life == QUEUE_LIVE)
        __sync_val_compare_and_swap(&queue->life, QUEUE_LIVE, QUEUE_IDLE);
    else if (life == QUEUE_IDLE)
        end_queue(key, queue, QUEUE_IDLE);
    return 0;
}

/* No hook shows that a queue was removed, so all that are known are checked about once a second. */
SEC("syscall")
int sweep_queues(void *context)
{
    bpf_for_each_map_elem(&queues, sweep_queue, NULL, 0);
    return 0;
}

#endif
