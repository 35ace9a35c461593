/* SPDX-License-Identifier: MIT */
/*
 * program_callers.c: see program_callers.h. The algorithm is in meter/shared/caller.h. This file provides the memory
 * that it reads, and remembers what it found:
 *
 *      stack  of the stopped thread: STACK_READ bytes, read once per call
 *      text   by pages, read once; kept if nothing can change it unseen
 *      other  (a table of library functions) read each time
 *
 * A way is a call chain that was found: the address where it began, then the return addresses on the stack. All ways
 * form a tree, in which each link has the position of the next return address. A known way can be followed without
 * reading code:
 *
 *      ip ---offset---> return address ---offset---> return address: the PC
 *                '----> another one: the PC
 *
 *      0x7f21c4f14a37   --0--> 0x7f21c5201d4e          --56--> 0x401182
 *      in write (libc)         in send_line (a library)        in main: the PC
 *
 * Text is kept if its mapping is a file's, private, executable and not writable, and the file is not a memfd. Code
 * that a program generates (JIT) is therefore read each time, even if the program has the same memory mapped twice.
 * Kept text changes only if memory is mapped or protected anew so that it is executable; the meter sees these calls
 * (callers_changes). It does not see that a mapping is removed, but nothing runs there before there is a new one,
 * which it sees.
 */
#include "ptracemeter/program_callers.h"

#include <sys/cdefs.h>

/* By default caller.h notes 3 steps of a way, for the kernel meter. Memory is not as scarce here: note all steps. */
#define PC_STEPS 8

#include "base/lookup.h"
#include "base/mapping.h"
#include "base/process.h"
#include "event/record.h"
#include "meter/shared/caller.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/mman.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <unistd.h>

#define STACK_READ 2048u
#define PAGE       4096u
#define PAGES_MOST 4096u  /* of text; then all are dropped */
#define WAYS_MOST  65536u /* links; likewise */

_Static_assert(PC_STEPS >= PC_FRAMES, "every way without frame pointers can be noted");

/* One link of a way. */
struct way {
    uint64_t word;   /* the address where it began, or a return address */
    uint64_t pc;     /* the result if the way ends here; 0: it continues */
    uint32_t before; /* index of the previous link; LOOKUP_NONE: none */
    uint32_t offset; /* of the next return address, in bytes from the stack pointer */
};

struct range {
    uint64_t begin;
    uint64_t end;
};

/* What is known about the text of one address space, or of several copies of it. */
struct known {
    unsigned users;
    struct range *kept; /* text to keep, sorted by address */
    size_t kept_count;
    size_t kept_capacity;
    bool looked;         /* `kept` is up to date */
    struct lookup pages; /* address --> index in page_list */
    uint8_t **page_list; /* PAGE bytes each */
    size_t page_capacity;
    struct lookup ways; /* key of a link --> index in way_pool */
    struct pool way_pool;
};

struct callers {
    unsigned users;
    bool has_text;
    struct text text; /* the program's own */
    struct known *known;
};

/* ---- what is known ---- */

static void forget_pages(struct known *known)
{
    for (uint32_t i = 0; i < known->pages.count; i++)
        free(known->page_list[i]);
    lookup_done(&known->pages);
}

static void forget_ways(struct known *known)
{
    lookup_done(&known->ways);
    pool_done(&known->way_pool);
    known->way_pool = (struct pool){.size = sizeof(struct way)};
}

/* Returns NULL if there is no memory. */
static struct known *new_known(void)
{
    struct known *known = calloc(1, sizeof(*known));

    if (known != NULL) {
        known->users = 1;
        known->way_pool.size = sizeof(struct way);
    }
    return known;
}

static void leave_known(struct known **known)
{
    if (*known != NULL && --(*known)->users == 0) {
        forget_pages(*known);
        forget_ways(*known);
        free((*known)->page_list);
        free((*known)->kept);
        free(*known);
    }
    *known = NULL;
}

/* ---- the thread being looked at ---- */

static _Thread_local struct {
    struct known *known;
    pid_t tid;
    bool unkept;         /* code was read that is not kept */
    uint64_t stack;      /* the address of `bytes` */
    uint32_t stack_size; /* valid bytes in `bytes` */
    uint8_t bytes[STACK_READ];
} now;

/* Reads as many bytes as possible. Returns their number; 0: none. */
static uint32_t read_memory(void *to, uint32_t size, uint64_t from)
{
    struct iovec here = {to, size}, there = {(void *)(uintptr_t)from, size};
    ssize_t got = process_vm_readv(now.tid, &here, 1, &there, 1, 0);

    return got > 0 ? (uint32_t)got : 0;
}

/* ---- which text is kept ---- */

static const struct range *find_kept(const struct known *known, uint64_t address)
{
    size_t low = 0, high = known->kept_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (address < known->kept[middle].begin)
            high = middle;
        else if (address >= known->kept[middle].end)
            low = middle + 1;
        else
            return &known->kept[middle];
    }
    return NULL;
}

/* Whether this line of /proc/PID/maps is text that cannot change unseen. (A file whose name looks like a memfd's is
 * not kept, either.) */
static bool is_to_keep(const char *line, struct mapping *ret_mapping)
{
    return mapping_read(line, ret_mapping) && ret_mapping->executable && !ret_mapping->writable &&
           !ret_mapping->shared && ret_mapping->file.inode != 0 && strstr(line, "/memfd:") == NULL;
}

/* Reads which text to keep, from the thread being looked at. What cannot be determined is not kept. */
static void read_kept(struct known *known)
{
    char path[64], *line = NULL;
    size_t size = 0;

    known->kept_count = 0;
    snprintf(path, sizeof(path), "/proc/%d/maps", now.tid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return;
    while (getline(&line, &size, file) > 0) {
        struct mapping mapping;

        if (!is_to_keep(line, &mapping))
            continue;
        if (array_reserve(&known->kept, &known->kept_capacity, known->kept_count + 1,
                          sizeof(*known->kept)) < 0)
            break;
        known->kept[known->kept_count++] = (struct range){mapping.begin, mapping.end};
    }
    free(line);
    fclose(file);
}

/* Reads again which text to keep. Drops pages and ways, as their mappings may be gone. */
static void look_for_kept(struct known *known)
{
    forget_pages(known);
    forget_ways(known);
    read_kept(known);
    known->looked = true;
}

static bool is_kept(struct known *known, uint64_t address)
{
    if (find_kept(known, address) != NULL)
        return true;
    if (known->looked)
        return false;
    look_for_kept(known);
    return find_kept(known, address) != NULL;
}

/* The page of text at this address; NULL: it is not kept, or cannot be read. */
static const uint8_t *kept_page(struct known *known, uint64_t address)
{
    uint32_t found = lookup_find(&known->pages, address);

    if (found != LOOKUP_NONE)
        return known->page_list[found];
    if (!is_kept(known, address))
        return NULL;
    if (known->pages.count >= PAGES_MOST)
        forget_pages(known);
    uint32_t index = known->pages.count;
    uint8_t *page = malloc(PAGE);
    if (page == NULL || read_memory(page, PAGE, address) != PAGE ||
        array_reserve(&known->page_list, &known->page_capacity, index + 1ULL,
                      sizeof(*known->page_list)) < 0 ||
        lookup_set(&known->pages, address, index) < 0) {
        free(page);
        return NULL;
    }
    known->page_list[index] = page;
    return page;
}

/* ---- what the algorithm reads ---- */

static bool read_stack(void *to, uint32_t size, uint64_t from)
{
    uint64_t at = from - now.stack;

    if (at >= now.stack_size || size > now.stack_size - at)
        return false;
    memcpy(to, now.bytes + at, size);
    return true;
}

static bool read_kept_text(void *to, uint32_t size, uint64_t from)
{
    uint64_t address = from & ~(uint64_t)(PAGE - 1);
    uint32_t at = (uint32_t)(from - address);
    uint32_t first = size < PAGE - at ? size : PAGE - at;
    const uint8_t *page = kept_page(now.known, address);

    if (page == NULL)
        return false;
    memcpy(to, page + at, first);
    if (first == size)
        return true;
    page = kept_page(now.known, address + PAGE);
    if (page == NULL)
        return false;
    memcpy((uint8_t *)to + first, page, size - first);
    return true;
}

static __always_inline long caller_read(void *to, uint32_t size, uint64_t from)
{
    if (read_stack(to, size, from) || read_kept_text(to, size, from))
        return 0;
    /* A single word may be from a table. Anything larger is code: from the stack only words are read. */
    if (size > sizeof(uint64_t))
        now.unkept = true;
    return read_memory(to, size, from) == size ? 0 : -EFAULT;
}

/* ---- ways ---- */

static uint64_t key_of_link(uint32_t before, uint64_t word)
{
    return word ^ (before + 1ULL) * 0x9e3779b97f4a7c15ULL;
}

/* Returns LOOKUP_NONE if there is none. */
static uint32_t find_link(const struct known *known, uint32_t before, uint64_t word)
{
    uint32_t index = lookup_find(&known->ways, key_of_link(before, word));
    const struct way *way = index != LOOKUP_NONE ? pool_at(&known->way_pool, index) : NULL;

    return way != NULL && way->before == before && way->word == word ? index : LOOKUP_NONE;
}

/* Follows a way along the return addresses on the stack. Returns its PC, or 0 if the way is not known. */
static uint64_t follow_way(const struct known *known, uint64_t ip, uint64_t stack)
{
    uint32_t index = find_link(known, LOOKUP_NONE, ip);

    for (uint32_t step = 0; index != LOOKUP_NONE && step <= PC_STEPS; step++) {
        const struct way *way = pool_at(&known->way_pool, index);

        if (way->pc != 0)
            return way->pc;
        index = find_link(known, index, user_word(stack + way->offset));
    }
    return 0;
}

static uint32_t add_link(struct known *known, uint32_t before, uint64_t word)
{
    uint32_t found = find_link(known, before, word);

    if (found != LOOKUP_NONE)
        return found;
    int64_t index = pool_take(&known->way_pool);
    if (index < 0)
        return LOOKUP_NONE;
    *(struct way *)pool_at(&known->way_pool, (uint32_t)index) =
        (struct way){.word = word, .before = before};
    if (lookup_set(&known->ways, key_of_link(before, word), (uint32_t)index) < 0) {
        pool_give(&known->way_pool, (uint32_t)index);
        return LOOKUP_NONE;
    }
    return (uint32_t)index;
}

/* If memory is short, remembers nothing, or a part, which leads nowhere. */
static void remember_way(struct known *known, const struct pc_memory *memory)
{
    uint32_t index;

    if (known->ways.count >= WAYS_MOST)
        forget_ways(known);
    index = add_link(known, LOOKUP_NONE, memory->ip);
    for (uint32_t step = 0; step < memory->steps && index != LOOKUP_NONE; step++) {
        ((struct way *)pool_at(&known->way_pool, index))->offset = memory->offsets[step];
        index = add_link(known, index, memory->words[step]);
    }
    if (index != LOOKUP_NONE)
        ((struct way *)pool_at(&known->way_pool, index))->pc = memory->pc;
}

/* Whether the way can be remembered: all code that it was derived from is kept. */
static bool can_remember(struct known *known, const struct pc_memory *memory)
{
    if (memory->ip == 0 || now.unkept || !is_kept(known, memory->ip))
        return false;
    for (uint32_t step = 0; step < memory->steps; step++)
        if (!is_kept(known, memory->words[step]))
            return false;
    return true;
}

/* ---- finding ---- */

/* The program's text as the kernel reports it: fields 26 and 27 of /proc/PID/stat. */
static void read_text(struct callers *callers)
{
    char stat[2048];
    struct text text;

    process_read(now.tid, "stat", stat, sizeof(stat));
    const char *at = process_stat_field(stat, 26);
    if (at == NULL || sscanf(at, "%" SCNu64 " %" SCNu64, &text.begin, &text.end) != 2 ||
        text.begin <= 1) /* 1 replaces an address that we are not allowed to see */
        return;
    callers->text = text;
    callers->has_text = true;
}

/* Returns 0 if it cannot be read. */
static uint64_t frame_pointer(void)
{
    errno = 0;
    long pointer = ptrace(PTRACE_PEEKUSER, now.tid, offsetof(struct user, regs.rbp), NULL);

    return errno == 0 ? (uint64_t)pointer : 0;
}

/* Returns 0 if the way is lost. */
static uint64_t walk(struct callers *callers, uint64_t ip, uint64_t stack)
{
    struct known *known = callers->known;
    struct pc_memory memory;

    if (!callers->has_text)
        read_text(callers);
    if (!callers->has_text)
        return 0;
    now.unkept = false;
    uint64_t pc = find_return(ip, stack, frame_pointer(), &callers->text, &memory);
    if (can_remember(known, &memory))
        remember_way(known, &memory);
    return pc;
}

uint16_t callers_find(struct callers *callers, pid_t tid, uint64_t ip, uint64_t stack,
                      uint64_t *ret_pc)
{
    uint64_t pc = 0;

    if (callers->known == NULL)
        callers->known = new_known();
    if (callers->known != NULL) {
        now.known = callers->known;
        now.tid = tid;
        now.stack = stack;
        now.stack_size = read_memory(now.bytes, sizeof(now.bytes), stack);
        pc = follow_way(callers->known, ip, stack);
        if (pc == 0 && now.stack_size != 0) /* otherwise we may not be allowed to read its memory */
            pc = walk(callers, ip, stack);
    }
    *ret_pc = (pc != 0 ? pc : ip) & PC_ADDRESS;
    return pc != 0 ? 0 : RECORD_LIBRARY;
}

/* ---- sharing ---- */

int callers_new(struct callers **ret_callers)
{
    struct callers *callers = calloc(1, sizeof(*callers));

    if (callers == NULL)
        return -ENOMEM;
    callers->users = 1;
    *ret_callers = callers;
    return 0;
}

struct callers *callers_share(struct callers *callers)
{
    callers->users++;
    return callers;
}

int callers_fork(const struct callers *parent, struct callers **ret_callers)
{
    struct callers *callers;
    int result = callers_new(&callers);

    if (result < 0)
        return result;
    callers->has_text = parent->has_text;
    callers->text = parent->text;
    callers->known = parent->known;
    if (callers->known != NULL)
        callers->known->users++;
    *ret_callers = callers;
    return 0;
}

void callers_free(struct callers *callers)
{
    if (callers == NULL || --callers->users > 0)
        return;
    leave_known(&callers->known);
    free(callers);
}

/* ---- changes ---- */

const struct callers_change callers_changes[] = {
    {SYS_mmap, 2, PROT_EXEC},      {SYS_mprotect, 2, PROT_EXEC}, {SYS_pkey_mprotect, 2, PROT_EXEC},
    {SYS_mremap, 3, MREMAP_FIXED}, {SYS_shmat, 2, SHM_EXEC},
};
const size_t callers_change_count = ARRAY_SIZE(callers_changes);

bool callers_is_change(int call, const uint64_t arguments[6])
{
    for (size_t i = 0; i < callers_change_count; i++)
        if (callers_changes[i].call == call)
            return (arguments[callers_changes[i].argument] & callers_changes[i].bits) != 0;
    return false;
}

bool callers_change_begins(const struct callers *callers, uint32_t streams)
{
    return callers->known != NULL || callers->users > 1 || streams > 1;
}

/* The range that may have changed. */
static struct range range_of_change(int call, const uint64_t arguments[6], int64_t result)
{
    struct range range = {0, UINT64_MAX};
    bool failed = result < 0 && result > -4096;

    switch (call) {
    case SYS_mmap:
        range.begin = failed ? arguments[0] : (uint64_t)result;
        range.end = range.begin + arguments[1];
        break;
    case SYS_mprotect:
    case SYS_pkey_mprotect:
        range.begin = arguments[0];
        range.end = range.begin + arguments[1];
        break;
    case SYS_mremap:
        range.begin = arguments[4];
        range.end = range.begin + arguments[2];
        break;
    }
    /* the kernel rounds up to whole pages; an invalid range may stand for any */
    range.end = range.end > UINT64_MAX - PAGE ? UINT64_MAX : range.end + PAGE - 1;
    if (range.end <= range.begin)
        range = (struct range){0, UINT64_MAX};
    return range;
}

static bool touches_kept(const struct known *known, struct range range)
{
    for (size_t i = 0; i < known->kept_count; i++)
        if (known->kept[i].begin < range.end && range.begin < known->kept[i].end)
            return true;
    return false;
}

void callers_changed(struct callers *callers, int call, const uint64_t arguments[6], int64_t result)
{
    struct known *known = callers->known;
    bool of_file = call == SYS_mmap && !(arguments[3] & MAP_ANONYMOUS);

    if (known == NULL)
        return;
    /* copies of the address space have not changed: they keep what is known */
    if (touches_kept(known, range_of_change(call, arguments, result)) ||
        (of_file && known->users > 1))
        leave_known(&callers->known);
    else if (of_file)
        known->looked = false; /* there may be more to keep */
}
