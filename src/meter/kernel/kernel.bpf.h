/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * kernel.bpf.h: the kernel types that the meter reads.
 *
 * Only members that are read are declared. libbpf finds their true offsets in the running kernel's BTF when it loads
 * the meter (CO-RE). A member's type must match the kernel's (skc_cookie is a struct atomic64_t, not a number); its
 * offset need not.
 */
#ifndef DPM_KERNEL_BPF_H
#define DPM_KERNEL_BPF_H

#define __VMLINUX_H__ /* bpf_tracing.h: registers by their kernel names */

#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>

typedef __u8 uint8_t;
typedef __u16 uint16_t;
typedef __u32 uint32_t;
typedef __u64 uint64_t;
typedef __s16 int16_t;
typedef __s32 int32_t;
typedef __s64 int64_t;
#define DPM_KERNEL_SIDE

#include <bpf/bpf_helpers.h>
/* in this order */
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct pt_regs {
    unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip;
    unsigned short cs; /* of the code segment; a long in older kernels */
    unsigned long flags, sp;
};

/* ---- tasks ---- */

struct rq {
    unsigned int nr_running;
    int cpu;
    uint64_t clock;
    uint64_t clock_task;
};

struct cfs_rq {
    struct rq *rq;
};

struct sched_entity {
    uint64_t exec_start;
    uint64_t sum_exec_runtime;
    struct cfs_rq *cfs_rq;
    unsigned char sched_delayed; /* from Linux 6.12: it sleeps, and is in the queue nevertheless */
};

/* Empty in kernels without CONFIG_SCHED_INFO. */
struct sched_info {
    /* ns that the task has waited for a CPU, up to when it last got one ... */
    unsigned long long run_delay;
    /* ... and since when it waits again, by the run queue's clock; 0: it does not */
    unsigned long long last_queued;
};

struct ns_common {
    unsigned int inum;
};

struct pid_namespace {
    struct ns_common ns;
};

struct upid {
    int nr;
    struct pid_namespace *ns;
};

struct pid {
    unsigned int level;
    struct upid numbers[1];
};

typedef struct {
    unsigned int val;
} kuid_t;

typedef struct {
    unsigned int val;
} kgid_t;

/* The kernel's types of capabilities differ, but all are 64 bits in the same order. */
typedef struct {
    uint64_t val;
} kernel_cap_t;

struct user_namespace {
    struct user_namespace *parent;
    int level; /* 0: the machine's own */
    kuid_t owner;
};

struct cred {
    kuid_t uid;
    kgid_t gid;
    kuid_t suid;
    kgid_t sgid;
    kuid_t euid;
    kgid_t egid;
    kernel_cap_t cap_permitted;
    struct user_namespace *user_ns;
};

struct kernfs_node {
    uint64_t id;
};

struct cgroup {
    struct kernfs_node *kn;
};

struct css_set {
    struct cgroup *dfl_cgrp;
};

struct super_block {
    unsigned int s_dev;
    unsigned long s_magic;
};

typedef struct {
    int64_t counter;
} atomic64_t;

typedef atomic64_t atomic_long_t;

typedef struct {
    atomic64_t refcnt;
} file_ref_t;

typedef struct {
    int counter;
} atomic_t;

struct pipe_buffer {
    unsigned int len;
};

struct mutex {
    atomic64_t owner; /* 0 = not held */
};

struct pipe_inode_info {
    struct {
        unsigned int head; /* 16 bits wide where long is 32 bits */
        unsigned int tail;
    };
    unsigned int max_usage; /* buffers that may be filled ... */
    unsigned int ring_size; /* ... of these, a power of two */
    unsigned int r_counter; /* number of opens so far, plus 1 */
    unsigned int w_counter;
    struct pipe_buffer *bufs;
};

struct inode {
    unsigned short i_mode;
    struct super_block *i_sb;
    unsigned long i_ino;
    long long i_size;
    atomic_t i_count; /* 0 = evicted */
    uint32_t i_generation;
    union {
        struct pipe_inode_info *i_pipe;
    };
};

struct qstr {
    union {
        struct {
            unsigned int len;
        };
    };
    const unsigned char *name;
};

struct dentry {
    struct dentry *d_parent;
    union {
        struct qstr d_name;
    };
};

struct vfsmount {
    struct dentry *mnt_root;
};

struct mount {
    struct mount *mnt_parent; /* itself: the topmost */
    struct dentry *mnt_mountpoint;
    struct vfsmount mnt;
};

struct path___kernel {
    struct vfsmount *mnt;
    struct dentry *dentry;
};

struct file {
    unsigned int f_mode;
    unsigned int f_flags;
    struct inode *f_inode;
    void *private_data;
    long long f_pos;
    union {
        struct path___kernel f_path;
    };
    file_ref_t f_ref; /* since 6.13: number of holders - 1 */
};

/* Before 6.13. */
struct file___counted {
    atomic_long_t f_count;
};

struct fs_struct {
    struct path___kernel root; /* of a process */
};

struct fdtable {
    unsigned int max_fds;
    struct file **fd;
    unsigned long *close_on_exec;
};

struct files_struct {
    atomic_t count;
    struct fdtable *fdt;
};

struct mm_struct {
    unsigned long start_code;
    struct file *exe_file;
    unsigned long end_code;
    unsigned long arg_start;
    unsigned long arg_end;
    unsigned long env_start;
    unsigned long env_end;
    struct user_namespace *user_ns;
};

/* Since 6.18. */
typedef struct {
    unsigned long __mm_flags[1];
} mm_flags_t;

struct mm_struct___flags {
    mm_flags_t flags;
};

/* Before. */
struct mm_struct___word {
    unsigned long flags;
};

struct task_io_accounting {
    uint64_t syscw;
};

struct bpf_local_storage;

struct signal_struct {
    atomic_t live;
};

struct kernel_siginfo {
    int si_code;
};

struct task_struct {
    struct signal_struct *signal;
    unsigned int __state;
    int on_rq;
    void *stack;
    unsigned int flags;
    struct sched_entity se;
    struct mm_struct *mm;
    int exit_code;
    int pid;
    int tgid;
    struct task_struct *group_leader;
    struct task_struct *real_parent;
    struct pid *thread_pid;
    unsigned long nvcsw;
    unsigned long nivcsw;
    uint64_t start_time;
    struct sched_info sched_info;
    const struct cred *real_cred;
    const struct cred *cred;
    char comm[16];
    struct fs_struct *fs;
    struct files_struct *files;
    struct nsproxy *nsproxy;
    struct css_set *cgroups;
    struct task_io_accounting ioac;
    uint32_t kstack_offset;
    struct bpf_local_storage *bpf_storage;
};

/* ---- message queues ---- */

struct list_head {
    struct list_head *next;
};

struct msg_msg {
    struct list_head m_list;
    long m_type;
};

struct kern_ipc_perm {
    bool deleted;
    int id;
};

struct msg_queue {
    struct kern_ipc_perm q_perm;
    int64_t q_stime; /* when the last message was sent, 0 = none was */
    unsigned long q_qnum;
    struct list_head q_messages;
};

/* A table by number, in up to four levels of 64 entries each. */
struct xa_node {
    unsigned char shift;
    void *slots[64];
};

struct xarray {
    void *xa_head;
};

struct idr {
    struct xarray idr_rt;
};

struct ipc_ids {
    struct idr ipcs_idr;
};

struct ipc_namespace {
    struct ipc_ids ids[3]; /* semaphores, message queues, shared memory */
    struct ns_common ns;
};

struct new_utsname {
    char nodename[65];
};

struct uts_namespace {
    struct new_utsname name;
};

struct nsproxy {
    struct uts_namespace *uts_ns;
    struct ipc_namespace *ipc_ns;
};

struct rb_node {
    struct rb_node *rb_right;
    struct rb_node *rb_left;
};

struct rb_root {
    struct rb_node *rb_node;
};

struct posix_msg_tree_node;

struct mq_attr {
    long mq_curmsgs;
};

struct mqueue_inode_info {
    struct inode vfs_inode;
    struct rb_root msg_tree;
    struct posix_msg_tree_node *node_cache; /* NULL, and an empty tree: never used */
    struct mq_attr attr;
};

struct linux_binprm {
    struct file *file;
    const char *filename;
};

/* ---- sockets ---- */

struct net {
    struct ns_common ns;
};

typedef struct {
    struct net *net;
} possible_net_t;

struct in6_addr {
    union {
        uint8_t u6_addr8[16];
    } in6_u;
};

struct refcount_struct {
    atomic_t refs;
};
typedef struct refcount_struct refcount_t;

struct sock_common {
    union {
        struct {
            __be32 skc_daddr;
            __be32 skc_rcv_saddr;
        };
    };
    union {
        struct {
            __be16 skc_dport;
            uint16_t skc_num;
        };
    };
    unsigned short skc_family;
    volatile unsigned char skc_state;
    possible_net_t skc_net;
    union {
        unsigned long skc_flags;
    };
    struct in6_addr skc_v6_daddr;
    struct in6_addr skc_v6_rcv_saddr;
    atomic64_t skc_cookie;
};

struct socket {
    short type;
    struct file *file;
    struct sock *sk;
};

struct socket_alloc {
    struct socket socket;
    struct inode vfs_inode;
};

struct sk_buff;

typedef struct qspinlock {
    union {
        atomic_t val; /* 0 = not held */
    };
} arch_spinlock_t;

struct raw_spinlock {
    arch_spinlock_t raw_lock;
};

typedef struct spinlock {
    union {
        struct raw_spinlock rlock;
    };
} spinlock_t;

struct sk_buff_head {
    struct sk_buff *next;
    struct sk_buff *prev;
    uint32_t qlen;
    spinlock_t lock;
};

struct socket_lock {
    int owned; /* by a system call */
};

struct sock {
    struct sock_common __sk_common;
    struct socket_lock sk_lock;
    struct sk_buff_head sk_receive_queue;
    struct socket *sk_socket;
    uint8_t sk_shutdown;
    bool sk_use_task_frag; /* from Linux 6.2 */
    int sk_err;
    uint16_t sk_type;
    uint16_t sk_protocol;
    uint32_t sk_max_ack_backlog;
    struct bpf_local_storage *sk_bpf_storage;
};

struct inet_bind_bucket {
    signed char fastreuse;
};

struct inet_connection_sock {
    struct inet_bind_bucket *icsk_bind_hash;
};

#define RTCF_BROADCAST 0x10000000
#define RTCF_MULTICAST 0x20000000

struct rtable {
    unsigned int rt_flags;
};

struct sk_buff {
    unsigned long _skb_refdst; /* the route; bit 0: not counted */
    struct sk_buff *next;
    struct sk_buff *prev;
    struct net_device *dev;
    struct sock *sk;
    unsigned int len;
    uint16_t transport_header;
    uint16_t network_header;
    unsigned int end; /* offset from `head`: struct skb_shared_info */
    unsigned char *head;
    unsigned char *data;
};

struct skb_shared_info {
    unsigned short gso_size;
};

struct llist_node;

struct llist_head {
    struct llist_node *first;
};

/* Since Linux 6.18 datagrams gather here, in one list per memory node, on their way into the queue. */
struct udp_prod_queue {
    struct llist_head ll_root;
};

struct udp_sock {
    int pending;
    struct udp_prod_queue *udp_prod_queue;
    struct sk_buff_head reader_queue;
};

struct tcp_sock {
    uint32_t copied_seq;
    uint32_t rcv_nxt;
    uint32_t write_seq;
    uint32_t urg_seq;
    uint32_t snd_nxt;
    uint32_t snd_una;
    uint32_t srtt_us; /* the round-trip time times 8 */
    uint32_t total_retrans;
    uint64_t bytes_acked; /* SYN counts as one */
    bool is_mptcp;
};

struct inet_sock {
    __be16 inet_sport;
};

struct sockaddr_un {
    unsigned short sun_family;
    char sun_path[108];
};

struct unix_address {
    refcount_t refcnt;
    int len;
    struct sockaddr_un name[0];
};

struct unix_sock {
    struct unix_address *addr;
    struct sock *peer;
    struct mutex iolock; /* held while a message is taken from the queue and copied */
    unsigned int inq_len;
};

struct iov_iter {
    uint8_t iter_type;
    unsigned long iov_offset;
    union {
        struct {
            unsigned long count;
        };
    };
};

struct msghdr {
    struct iov_iter msg_iter;
};

/* ---- iterators ---- */

struct seq_file;

struct bpf_iter_meta {
    union {
        struct seq_file *seq;
    };
    uint64_t session_id;
    uint64_t seq_num;
};

struct bpf_iter__task {
    union {
        struct bpf_iter_meta *meta;
    };
    union {
        struct task_struct *task;
    };
};

struct bpf_iter__task_file {
    union {
        struct bpf_iter_meta *meta;
    };
    union {
        struct task_struct *task;
    };
    unsigned int fd;
    union {
        struct file *file;
    };
};

struct bpf_iter__unix {
    union {
        struct bpf_iter_meta *meta;
    };
    union {
        struct unix_sock *unix_sk;
    };
    unsigned int uid;
};

#pragma clang attribute pop

enum {
    AF_UNIX = 1,
    AF_INET = 2,
    AF_INET6 = 10,
    SOCK_STREAM = 1,
    SOCK_DGRAM = 2,
    SOCK_SEQPACKET = 5,
    IPPROTO_TCP = 6,
    IPPROTO_UDP = 17,

    TCP_ESTABLISHED = 1,
    TCP_SYN_SENT = 2,
    TCP_SYN_RECV = 3,
    TCP_FIN_WAIT1 = 4,
    TCP_FIN_WAIT2 = 5,
    TCP_CLOSE = 7,
    TCP_CLOSE_WAIT = 8,
    TCP_LAST_ACK = 9,
    TCP_LISTEN = 10,
    TCP_CLOSING = 11,

    MSG_OOB = 1,
    MSG_PEEK = 2,
    MSG_TRUNC = 0x20,
    MSG_ERRQUEUE = 0x2000,
    RCV_SHUTDOWN = 1,
    SOCK_DONE = 1, /* bit number */

    PF_EXITING = 0x4,
    PF_IO_WORKER = 0x10,
    PF_USER_WORKER = 0x4000,
    PF_KTHREAD = 0x200000,

    CLONE_THREAD = 0x10000,

    TASK_INTERRUPTIBLE = 1,
    TASK_UNINTERRUPTIBLE = 2,
    TASK_STOPPED_OR_TRACED = 4 | 8,

    S_IFMT = 0170000,
    S_IFSOCK = 0140000,
    S_IFIFO = 0010000,
    S_IFREG = 0100000,
    S_IFBLK = 0060000,
    S_IFCHR = 0020000,
    ANON_INODE_FS_MAGIC = 0x09041934,
    MQUEUE_MAGIC = 0x19800202,
    PIPEFS_MAGIC = 0x50495045,
    FMODE_READ = 1,
    FMODE_WRITE = 2,
    O_TRUNC = 01000,
    O_APPEND = 02000,
    RWF_APPEND = 0x10,
    IPC_MSGSND = 11, /* numbers of calls in CALL32_IPC */
    IPC_MSGRCV = 12,
    O_DIRECT = 040000,

    USER32_CS = 0x23, /* code segment of 32-bit code, whose system calls have other numbers */

    EFAULT = 14,
    EEXIST = 17,
    EAGAIN = 11,
    ENOSYS = 38,
    EINTR = 4,
    EISCONN = 106,
    EALREADY = 114,
    ECONNREFUSED = 111,
    EINPROGRESS = 115,
    ECANCELED = 125,
    ERESTARTSYS = 512,
    ERESTART_RESTARTBLOCK = 516,
};

/* System calls of x86-64 that the meter distinguishes. */
enum {
    CALL_READ = 0,
    CALL_WRITE = 1,
    CALL_OPEN = 2,
    CALL_CLOSE = 3,
    CALL_POLL = 7,
    CALL_MMAP = 9,
    CALL_IOCTL = 16,
    CALL_PREAD64 = 17,
    CALL_PWRITE64 = 18,
    CALL_READV = 19,
    CALL_WRITEV = 20,
    CALL_PIPE = 22,
    CALL_SELECT = 23,
    CALL_SENDFILE = 40,
    CALL_SOCKET = 41,
    CALL_CONNECT = 42,
    CALL_SETUID = 105,
    CALL_SETREUID = 113,
    CALL_SETRESUID = 117,
    CALL_ACCEPT = 43,
    CALL_SENDTO = 44,
    CALL_RECVFROM = 45,
    CALL_SENDMSG = 46,
    CALL_RECVMSG = 47,
    CALL_SOCKETPAIR = 53,
    CALL_SETSOCKOPT = 54,
    CALL_GETSOCKOPT = 55,
    CALL_EXECVE = 59,
    CALL_SEMOP = 65,
    CALL_MSGGET = 68,
    CALL_MSGSND = 69,
    CALL_MSGRCV = 70,
    CALL_FCNTL = 72,
    CALL_FLOCK = 73,
    CALL_FSYNC = 74,
    CALL_FDATASYNC = 75,
    CALL_FTRUNCATE = 77,
    CALL_CREAT = 85,
    CALL_FUTEX = 202,
    CALL_IO_SUBMIT = 209,
    CALL_GETDENTS64 = 217,
    CALL_SEMTIMEDOP = 220,
    CALL_EPOLL_WAIT = 232,
    CALL_MQ_OPEN = 240,
    CALL_MQ_TIMEDSEND = 242,
    CALL_MQ_TIMEDRECEIVE = 243,
    CALL_OPENAT = 257,
    CALL_PSELECT = 270,
    CALL_PPOLL = 271,
    CALL_SPLICE = 275,
    CALL_TEE = 276,
    CALL_SYNC_FILE_RANGE = 277,
    CALL_VMSPLICE = 278,
    CALL_EPOLL_PWAIT = 281,
    CALL_FALLOCATE = 285,
    CALL_ACCEPT4 = 288,
    CALL_PIPE2 = 293,
    CALL_PREADV = 295,
    CALL_PWRITEV = 296,
    CALL_RECVMMSG = 299,
    CALL_SYNCFS = 306,
    CALL_SENDMMSG = 307,
    CALL_PROCESS_VM_READV = 310,
    CALL_PROCESS_VM_WRITEV = 311,
    CALL_EXECVEAT = 322,
    CALL_COPY_FILE_RANGE = 326,
    CALL_PREADV2 = 327,
    CALL_PWRITEV2 = 328,
    CALL_IO_URING_ENTER = 426,
    CALL_OPENAT2 = 437,
    CALL_EPOLL_PWAIT2 = 441,
    CALL_FUTEX_WAITV = 449,
};

/* Those of i386, in 32-bit programs. */
enum {
    CALL32_READ = 3,
    CALL32_WRITE = 4,
    CALL32_EXECVE = 11,
    CALL32_IPC = 117,
    CALL32_READV = 145,
    CALL32_WRITEV = 146,
    CALL32_MQ_TIMEDSEND = 279,
    CALL32_MQ_TIMEDRECEIVE = 280,
    CALL32_EXECVEAT = 358,
    CALL32_MSGSND = 400,
    CALL32_MSGRCV = 401,
    CALL32_MQ_TIMEDSEND_TIME64 = 418,
    CALL32_MQ_TIMEDRECEIVE_TIME64 = 419,
};

/* ---- loading quickly ---- */

/* Both since Linux 6.2. */
enum bpf_type_flag___kernel {
    PTR_TRUSTED___kernel = 1,
};
extern void *bpf_rdonly_cast(const void *object, uint32_t type) __ksym __weak;

/* The same task, for reading pointers from it. Whenever the verifier meets a pointer read from an object that it
 * trusts, it searches all kernel types to find out whether that pointer may be trusted, too. That takes half a
 * millisecond each time. Reading needs no such trust. */
static __always_inline struct task_struct *plain_task(struct task_struct *task)
{
    if (!bpf_core_enum_value_exists(enum bpf_type_flag___kernel, PTR_TRUSTED___kernel))
        return task;
    return bpf_rdonly_cast(task, bpf_core_type_id_kernel(struct task_struct));
}

static __always_inline struct sock *plain_sock(struct sock *sk)
{
    if (!bpf_core_enum_value_exists(enum bpf_type_flag___kernel, PTR_TRUSTED___kernel))
        return sk;
    return bpf_rdonly_cast(sk, bpf_core_type_id_kernel(struct sock));
}

/* The same for a socket known to be TCP, because checking that takes time. NULL: it is not TCP. */
static __always_inline struct tcp_sock *plain_tcp_sock(struct sock *sk)
{
    if (!bpf_core_enum_value_exists(enum bpf_type_flag___kernel, PTR_TRUSTED___kernel))
        return bpf_skc_to_tcp_sock(sk);
    return bpf_rdonly_cast(sk, bpf_core_type_id_kernel(struct tcp_sock));
}

/* The same for any object at an address; BPF_CORE_READ would call a function at each step. */
#define PLAIN(type, address)                                                                       \
    ((type *)bpf_rdonly_cast((const void *)(address), bpf_core_type_id_kernel(type)))

#define HAS_CASTS bpf_core_enum_value_exists(enum bpf_type_flag___kernel, PTR_TRUSTED___kernel)

/* A member of an object at an address. */
#define MEMBER(type, address, member)                                                              \
    (HAS_CASTS ? PLAIN(type, address)->member : BPF_CORE_READ((type *)(address), member))

/* The task's registers in user mode. */
static __always_inline struct pt_regs *registers_of(struct task_struct *task)
{
    return (struct pt_regs *)bpf_task_pt_regs(task);
}

#endif
