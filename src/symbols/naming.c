/* SPDX-License-Identifier: MIT */
/*
 * naming.c: names the places of one file, from its symbol tables or those of a separate debug file with the same build
 * ID, if one is installed.
 *
 *      parent  naming_next <--pipe-- MODULE, PROCEDURE ...  child: elfutils reads the file
 *
 * The file of a metered program is untrusted input, and reading symbols takes much code. A child process therefore
 * does it, with limits on memory and time. If it dies or hangs, the places that it has not named by then have no
 * names.
 *
 *      symbol      |----------- size ---|      |-- size --|       sorted by address
 *      places             x        x                x
 */
#include "symbols/symbols_private.h"

#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libiberty/demangle.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECONDS_MOST 10           /* for one file */
#define MEMORY_MOST  (2ULL << 30) /* bytes */

/* ---- the child: addresses of the file ---- */

struct symbol {
    uint64_t address;
    uint64_t size;
    const char *name;
    int rank; /* among symbols at the same address, the highest wins */
};

struct symbols_of {
    struct symbol *at; /* sorted by address */
    size_t count, capacity;
};

struct reading {
    const struct module *module;
    int out;
    Elf *elf;
    uint64_t text;  /* address of the first executable segment */
    uint64_t begin; /* address of the first segment */
    struct symbols_of procedures, variables;
};

static bool find_segments(struct reading *reading)
{
    size_t count;
    GElf_Phdr segment;

    reading->text = reading->begin = UINT64_MAX;
    if (elf_getphdrnum(reading->elf, &count) < 0)
        return false;
    for (size_t i = 0; i < count && gelf_getphdr(reading->elf, (int)i, &segment) != NULL; i++) {
        if (segment.p_type != PT_LOAD)
            continue;
        if (segment.p_vaddr < reading->begin)
            reading->begin = segment.p_vaddr;
        if ((segment.p_flags & PF_X) && segment.p_vaddr < reading->text)
            reading->text = segment.p_vaddr;
    }
    return reading->text != UINT64_MAX;
}

/* Finds the segment that contains an offset in the file, or an address. */
static bool find_segment(const struct reading *reading, uint64_t at, bool is_offset,
                         GElf_Phdr *ret_segment)
{
    size_t count;

    if (elf_getphdrnum(reading->elf, &count) < 0)
        return false;
    for (size_t i = 0; i < count && gelf_getphdr(reading->elf, (int)i, ret_segment) != NULL; i++) {
        uint64_t begin = is_offset ? ret_segment->p_offset : ret_segment->p_vaddr;
        if (ret_segment->p_type == PT_LOAD && at - begin < ret_segment->p_filesz)
            return true;
    }
    return false;
}

/* The address of a place, as the file has it. */
static bool find_address(const struct reading *reading, const struct place *place,
                         uint64_t *ret_address)
{
    GElf_Phdr segment;

    if (place->image == 0) {
        *ret_address = reading->text + place->offset;
        return true;
    }
    if (!find_segment(reading, place->offset, true, &segment))
        return false;
    *ret_address = segment.p_vaddr + (place->offset - segment.p_offset);
    return true;
}

/* ---- the child: symbols ---- */

static int rank_of(const GElf_Sym *symbol)
{
    switch (GELF_ST_BIND(symbol->st_info)) {
    case STB_GLOBAL:
        return 3;
    case STB_WEAK:
        return 2;
    default:
        return 1;
    }
}

static bool is_procedure(const GElf_Sym *symbol)
{
    unsigned type = GELF_ST_TYPE(symbol->st_info);

    return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol->st_shndx != SHN_UNDEF;
}

static bool is_variable(const GElf_Sym *symbol)
{
    return GELF_ST_TYPE(symbol->st_info) == STT_OBJECT && symbol->st_shndx != SHN_UNDEF &&
           symbol->st_size > 0;
}

static int compare_symbols(const void *left, const void *right)
{
    const struct symbol *one = left, *other = right;

    if (one->address != other->address)
        return one->address < other->address ? -1 : 1;
    if (one->rank != other->rank)
        return one->rank < other->rank ? -1 : 1;
    return strcmp(other->name,
                  one->name); /* the choice must not depend on the order in the table */
}

/* Returns whether there is memory for it. */
static bool add_symbol(struct symbols_of *symbols, struct symbol symbol)
{
    if (array_reserve(&symbols->at, &symbols->capacity, symbols->count + 1, sizeof(*symbols->at)) <
        0)
        return false;
    symbols->at[symbols->count++] = symbol;
    return true;
}

static void sort(struct symbols_of *symbols)
{
    if (symbols->count > 0)
        qsort(symbols->at, symbols->count, sizeof(*symbols->at), compare_symbols);
}

/* A procedure without a size reaches to the next one. Where a file has only its exported symbols, that next one may be far
 * behind others that have no name: musl's memset, written in assembler, would be most of the library. */
static void drop_endless(struct symbols_of *procedures)
{
    size_t kept = 0;

    for (size_t i = 0; i < procedures->count; i++)
        if (procedures->at[i].rank == 1)
            return;
    for (size_t i = 0; i < procedures->count; i++)
        if (procedures->at[i].size > 0)
            procedures->at[kept++] = procedures->at[i];
    procedures->count = kept;
}

static void read_symbols(struct reading *reading, Dwfl_Module *dwfl_module, GElf_Addr bias)
{
    int count = dwfl_module_getsymtab(dwfl_module);

    for (int i = 1; i < count; i++) {
        GElf_Sym symbol;
        GElf_Addr address;
        const char *name =
            dwfl_module_getsym_info(dwfl_module, i, &symbol, &address, NULL, NULL, NULL);
        if (name == NULL || *name == '\0' || (!is_procedure(&symbol) && !is_variable(&symbol)))
            continue;
        if (!add_symbol(is_procedure(&symbol) ? &reading->procedures : &reading->variables,
                        (struct symbol){address - bias, symbol.st_size, name, rank_of(&symbol)}))
            break;
    }
    drop_endless(&reading->procedures);
    sort(&reading->procedures);
    sort(&reading->variables);
}

/* The procedure or variable that contains an address: the last one that begins at or before it. If its size is known, the
 * address must be within it. */
static const struct symbol *find_symbol(const struct symbols_of *symbols, uint64_t address)
{
    size_t low = 0, high = symbols->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (symbols->at[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return NULL;
    const struct symbol *symbol = &symbols->at[low - 1];
    return symbol->size == 0 || address - symbol->address < symbol->size ? symbol : NULL;
}

/* Whether a call, or a system call, ends just before an address. */
static bool follows_call(const struct reading *reading, uint64_t address)
{
    unsigned char code[7];
    GElf_Phdr segment;

    if (!find_segment(reading, address - sizeof(code), false, &segment))
        return false;
    uint64_t offset = address - sizeof(code) - segment.p_vaddr + segment.p_offset;
    if (pread(reading->module->file, code, sizeof(code), (off_t)offset) != sizeof(code))
        return false;
    return code[2] == 0xe8 || (code[5] == 0x0f && code[6] == 0x05) || code[5] == 0xff ||
           code[4] == 0xff || code[3] == 0xff || code[1] == 0xff || code[0] == 0xff;
}

/* A PC is normally the address after a call. The call may be its procedure's last instruction, and then the PC is the
 * beginning of the next one. If a stream was interrupted, the PC is the instruction itself, which may be its
 * procedure's first. */
static const struct symbol *find_procedure(const struct reading *reading, uint64_t address)
{
    const struct symbol *symbol = find_symbol(&reading->procedures, address);

    if (symbol != NULL && address != symbol->address)
        return symbol;
    if (symbol == NULL || follows_call(reading, address)) {
        const struct symbol *before = find_symbol(&reading->procedures, address - 1);
        return before != NULL ? before : symbol;
    }
    return symbol;
}

/* ---- the child: CPython's interpreter lock ---- */

static bool read_at(const struct reading *reading, uint64_t address, void *bytes, size_t size)
{
    GElf_Phdr segment;

    return find_segment(reading, address, false, &segment) &&
           pread(reading->module->file, bytes, size,
                 (off_t)(address - segment.p_vaddr + segment.p_offset)) == (ssize_t)size;
}

/* The entry of the table of library functions through which the call before `address` goes: call stub, whose code is
 * [endbr64] [bnd] jmp *entry; or call *entry. 0: none. */
static uint64_t entry_of_call(const struct reading *reading, uint64_t address)
{
    unsigned char code[6], stub[11];
    int32_t distance;

    if (!read_at(reading, address - sizeof(code), code, sizeof(code)))
        return 0;
    memcpy(&distance, code + 2, sizeof(distance));
    uint64_t target = address + (uint64_t)(int64_t)distance;
    if (code[0] == 0xff && code[1] == 0x15)
        return target;
    if (code[1] != 0xe8 || !read_at(reading, target, stub, sizeof(stub)))
        return 0;
    size_t at = stub[0] == 0xf3 ? 4 : 0;
    at += stub[at] == 0xf2;
    if (stub[at] != 0xff || stub[at + 1] != 0x25)
        return 0;
    memcpy(&distance, stub + at + 2, sizeof(distance));
    return target + at + 6 + (uint64_t)(int64_t)distance;
}

/* The name of the library function that the table's entry is for, by the relocations of a section. */
static bool find_entry(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, uint64_t entry,
                       char name[PROCEDURE_NAME_SIZE])
{
    Elf_Data *data = elf_getdata(section, NULL);
    Elf_Scn *linked = elf_getscn(elf, header->sh_link);
    Elf_Data *symbols = linked == NULL ? NULL : elf_getdata(linked, NULL);
    GElf_Shdr names;
    GElf_Rela relocation;
    GElf_Sym symbol;

    if (data == NULL || symbols == NULL || gelf_getshdr(linked, &names) == NULL)
        return false;
    for (int i = 0; gelf_getrela(data, i, &relocation) != NULL; i++) {
        if (relocation.r_offset != entry)
            continue;
        const char *text = gelf_getsym(symbols, (int)GELF_R_SYM(relocation.r_info), &symbol) == NULL
                               ? NULL
                               : elf_strptr(elf, names.sh_link, symbol.st_name);
        if (text != NULL)
            memcpy(name, text, strnlen(text, PROCEDURE_NAME_SIZE - 1) + 1);
        name[PROCEDURE_NAME_SIZE - 1] = '\0';
        return text != NULL;
    }
    return false;
}

/* The library function that the call before `address` calls. */
static bool find_called(const struct reading *reading, uint64_t address,
                        char name[PROCEDURE_NAME_SIZE])
{
    uint64_t entry = entry_of_call(reading, address);
    Elf_Scn *section = NULL;
    GElf_Shdr header;

    while (entry != 0 && (section = elf_nextscn(reading->elf, section)) != NULL)
        if (gelf_getshdr(section, &header) != NULL && header.sh_type == SHT_RELA &&
            find_entry(reading->elf, section, &header, entry, name))
            return true;
    return false;
}

/* CPython, whose own procedures have no names where its symbols were stripped, waits for a condition only to take its
 * interpreter lock (with a time limit), and, after it has released it, until another thread has taken it. */
static const char *python_procedure(const struct reading *reading, uint64_t address)
{
    const char *slash = strrchr(reading->module->name, '/');
    const char *file = slash == NULL ? reading->module->name : slash + 1;
    char called[PROCEDURE_NAME_SIZE];

    if (strncmp(file, "python3", 7) != 0 && strncmp(file, "libpython3", 10) != 0)
        return NULL;
    if (!find_called(reading, address, called))
        return NULL;
    return strcmp(called, "pthread_cond_timedwait") == 0 ? "take_gil"
           : strcmp(called, "pthread_cond_wait") == 0    ? "drop_gil"
                                                         : NULL;
}

/* ---- the child: records ---- */

static void fill_name(char name[PROCEDURE_NAME_SIZE], const char *symbol)
{
    char *plain = cplus_demangle(symbol, DMGL_AUTO | DMGL_ANSI);
    const char *text = plain != NULL ? plain : symbol;
    size_t size = plain != NULL ? strlen(plain) : strcspn(symbol, "@"); /* '@' begins a version */

    memcpy(name, text, size < PROCEDURE_NAME_SIZE ? size : PROCEDURE_NAME_SIZE - 1);
    free(plain);
}

static void send_record(const struct reading *reading, const struct record_header *record)
{
    size_t size = event_size(record->id);

    if (write(reading->out, record, size) != (ssize_t)size)
        _exit(1);
}

static void send_module(const struct reading *reading)
{
    struct module_record record = {
        .header.id = EVENT_MODULE,
        .device = reading->module->identity.device,
        .inode = reading->module->identity.inode,
        .text = reading->text,
    };
    const void *build_id;
    ssize_t size = dwelf_elf_gnu_build_id(reading->elf, &build_id);

    if (size > 0)
        memcpy(record.build_id, build_id,
               (size_t)size < BUILD_ID_SIZE ? (size_t)size : BUILD_ID_SIZE);
    memcpy(record.name, reading->module->name, sizeof(record.name));
    send_record(reading, &record.header);
}

static void send_procedure(const struct reading *reading, const struct place *place)
{
    struct procedure_record record = {.header.id = EVENT_PROCEDURE, .image = place->image};
    uint64_t address;

    if (!find_address(reading, place, &address))
        return;
    record.address = place->image != 0 ? place->pc : address;
    record.offset = address - reading->begin;
    const struct symbol *symbol = place->is_data ? find_symbol(&reading->variables, address)
                                                 : find_procedure(reading, address);
    const char *python =
        symbol == NULL && !place->is_data ? python_procedure(reading, address) : NULL;
    if (place->is_data) {
        if (symbol == NULL)
            return;
        record.header.flags = NAMING_DATA;
    }
    if (python != NULL) {
        record.offset = 0;
        fill_name(record.name, python);
    } else if (symbol != NULL) {
        record.offset = address - symbol->address;
        fill_name(record.name, symbol->name);
    }
    send_record(reading, &record.header);
}

static void limit(int what, uint64_t most)
{
    struct rlimit now;

    if (getrlimit(what, &now) < 0)
        return;
    if (now.rlim_cur > most)
        now.rlim_cur = most;
    setrlimit(what, &now);
}

static void limit_resources(void)
{
    limit(RLIMIT_CPU, SECONDS_MOST);
    limit(RLIMIT_CORE, 0);
#ifndef __SANITIZE_ADDRESS__ /* it needs unlimited address space */
    limit(RLIMIT_AS, MEMORY_MOST);
#endif
}

/* Debug files are found by build ID, and only if installed here: nothing is downloaded. */
static char debug_folder[] = "/usr/lib/debug";
static char *debug_path = debug_folder;
static const Dwfl_Callbacks callbacks = {
    .find_debuginfo = dwfl_build_id_find_debuginfo,
    .debuginfo_path = &debug_path,
};

static void read_module(const struct module *module, int out)
{
    struct reading reading = {.module = module, .out = out};
    GElf_Addr bias;
    Dwfl *dwfl = dwfl_begin(&callbacks);

    if (dwfl == NULL)
        return;
    dwfl_report_begin(dwfl);
    /* elfutils takes over this descriptor */
    Dwfl_Module *dwfl_module =
        dwfl_report_elf(dwfl, module->name, module->name, dup(module->file), 0, false);
    if (dwfl_module == NULL || dwfl_report_end(dwfl, NULL, NULL) < 0)
        return;
    reading.elf = dwfl_module_getelf(dwfl_module, &bias);
    if (reading.elf == NULL || !find_segments(&reading))
        return;
    send_module(&reading);
    read_symbols(&reading, dwfl_module, bias);
    for (size_t i = 0; i < module->count; i++)
        send_procedure(&reading, &module->places[i]);
}

/* ---- the parent ---- */

int naming_begin(struct naming *naming, const struct module *module)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    pid_t pid = fork();
    if (pid < 0) {
        int error = -errno;
        close(ends[0]);
        close(ends[1]);
        return error;
    }
    if (pid == 0) {
        signal(SIGPIPE, SIG_DFL);
        limit_resources();
        read_module(module, ends[1]);
        _exit(0);
    }
    close(ends[1]);
    naming->pid = pid;
    naming->pipe = ends[0];
    naming->deadline = clock_now(CLOCK_MONOTONIC) + SECONDS_MOST * 1000000000ULL;
    return 0;
}

/* Reads exactly `size` bytes before the deadline. */
static bool read_whole(const struct naming *naming, void *bytes, size_t size)
{
    struct pollfd file = {.fd = naming->pipe, .events = POLLIN};
    size_t done = 0;

    while (done < size) {
        uint64_t now = clock_now(CLOCK_MONOTONIC);
        if (now >= naming->deadline)
            return false;
        int ready = poll(&file, 1, (int)((naming->deadline - now) / 1000000) + 1);
        if (ready < 0 && errno != EINTR)
            return false;
        if (ready <= 0)
            continue;
        ssize_t got = read(naming->pipe, (char *)bytes + done, size - done);
        if (got == 0 || (got < 0 && errno != EINTR))
            return false;
        done += got < 0 ? 0 : (size_t)got;
    }
    return true;
}

int naming_next(struct naming *naming, union naming_record *ret_record)
{
    union naming_record record;
    struct record_header *header = &record.header;

    if (naming->pid == 0)
        return 0;
    if (read_whole(naming, header, sizeof(*header)) &&
        (header->id == EVENT_MODULE || header->id == EVENT_PROCEDURE) &&
        read_whole(naming, header + 1, event_size(header->id) - sizeof(*header))) {
        *ret_record = record;
        return 1;
    }
    naming_end(naming);
    return 0;
}

void naming_end(struct naming *naming)
{
    if (naming->pid == 0)
        return;
    close(naming->pipe);
    kill(naming->pid, SIGKILL);
    waitpid(naming->pid, NULL, 0);
    naming->pid = 0;
}
