/* SPDX-License-Identifier: MIT */
/*
 * program.c: opens a running process: its modules, with the files that it has really mapped (also those of another
 * mount namespace, and files that have been replaced since).
 *
 *      /proc/PID/maps --dwfl--> modules --> symbols, DWARF
 *      /proc/PID/stat, auxv ----> which execution this is
 */
#include "sensor/program.h"

#include "base/mapping.h"
#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* ---- files ---- */

/* The line of /proc/PID/maps that has an address. Returns whether there is one of a file. */
static bool find_mapping(pid_t pid, uint64_t address, struct mapping *ret_mapping,
                         char name[PATH_MAX])
{
    char *line = NULL;
    size_t size = 0;
    bool found = false;
    FILE *file = process_maps(pid);

    if (file == NULL)
        return false;
    while (!found && getline(&line, &size, file) > 0) {
        const char *path = strchr(line, '/');
        found = mapping_read(line, ret_mapping) && ret_mapping->begin <= address &&
                address < ret_mapping->end && ret_mapping->file.inode != 0 && path != NULL;
        if (found)
            snprintf(name, PATH_MAX, "%.*s", (int)strcspn(path, "\n"), path);
    }
    free(line);
    fclose(file);
    return found;
}

static int open_same(const char *path, const struct mapping *mapping)
{
    struct stat status;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (file < 0)
        return -ENOENT;
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) &&
        file_is_same(&mapping->file,
                     &(struct file_identity){file_device(status.st_dev), status.st_ino}))
        return file;
    close(file);
    return -ENOENT;
}

int program_open_file(const struct sensor_program *program, uint64_t address)
{
    char name[PATH_MAX], path[PATH_MAX + 64];
    struct mapping mapping;

    if (!find_mapping(program->pid, address, &mapping, name))
        return -ENOENT;
    snprintf(path, sizeof(path), "/proc/%d/root%s", program->pid, name);
    int file = open_same(path, &mapping);
    if (file < 0) { /* replaced or removed since: what is mapped remains, for root */
        snprintf(path, sizeof(path), "/proc/%d/map_files/%lx-%lx", program->pid,
                 (unsigned long)mapping.begin, (unsigned long)mapping.end);
        file = open_same(path, &mapping);
    }
    if (file < 0) { /* the program itself, also for its user */
        snprintf(path, sizeof(path), "/proc/%d/exe", program->pid);
        file = open_same(path, &mapping);
    }
    return file;
}

static int find_file(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
                     char **ret_name, Elf **ret_elf)
{
    const struct sensor_program *program = *data;
    int file = program != NULL && name[0] == '/' ? program_open_file(program, base) : -ENOENT;

    if (file < 0) /* the vdso */
        return dwfl_linux_proc_find_elf(module, data, name, base, ret_name, ret_elf);
    *ret_name = strdup(name);
    return file;
}

bool program_file_offset(Dwfl_Module *module, uint64_t address, uint64_t *ret_offset)
{
    GElf_Addr bias;
    size_t count;
    Elf *elf = dwfl_module_getelf(module, &bias);
    GElf_Phdr segment;

    if (elf == NULL || elf_getphdrnum(elf, &count) < 0)
        return false;
    for (size_t i = 0; i < count && gelf_getphdr(elf, (int)i, &segment) != NULL; i++) {
        uint64_t in_segment = address - bias - segment.p_vaddr;
        if (segment.p_type != PT_LOAD || in_segment >= segment.p_filesz)
            continue;
        *ret_offset = segment.p_offset + in_segment;
        return true;
    }
    return false;
}

const char *program_module_name(Dwfl_Module *module)
{
    const char *name = dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
    const char *slash = name == NULL ? NULL : strrchr(name, '/');

    return slash != NULL ? slash + 1 : name == NULL ? "?" : name;
}

bool program_memory(const struct sensor_program *program, uint64_t address, void *bytes,
                    size_t size)
{
    struct iovec here = {bytes, size}, there = {(void *)(uintptr_t)address, size};

    return process_vm_readv(program->pid, &here, 1, &there, 1, 0) == (ssize_t)size;
}

/* ---- which execution ---- */

static size_t read_vector(pid_t pid, char *vector, size_t size)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/auxv", pid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? 0 : read(file, vector, size);
    if (file >= 0)
        close(file);
    return length < 0 ? 0 : (size_t)length;
}

/* A hash of which files are mapped where, as programs. */
static uint64_t hash_mappings(pid_t pid)
{
    char *line = NULL;
    size_t size = 0;
    uint64_t hash = 0;
    struct mapping mapping;
    FILE *file = process_maps(pid);

    while (file != NULL && getline(&line, &size, file) > 0)
        if (mapping_read(line, &mapping) && mapping.executable && mapping.file.inode != 0)
            hash = hash_bytes(hash, &mapping.begin, sizeof(mapping.begin));
    free(line);
    if (file != NULL)
        fclose(file);
    return hash;
}

static bool has_ended(int process)
{
    struct pollfd descriptor = {.fd = process, .events = POLLIN};

    return poll(&descriptor, 1, 0) > 0;
}

int program_check(const struct sensor_program *program, struct problem *problem)
{
    char vector[sizeof(program->vector)];

    if (program->pid == 0)
        return 0;
    if (has_ended(program->process))
        return problem_set(problem, -ESRCH, "process %d has ended", program->pid);
    size_t size = read_vector(program->pid, vector, sizeof(vector));
    if (size != program->vector_size || memcmp(vector, program->vector, size) != 0)
        return has_ended(program->process)
                   ? problem_set(problem, -ESRCH, "process %d has ended", program->pid)
                   : problem_set(problem, -ESTALE,
                                 "process %d executes another program now; open it again",
                                 program->pid);
    return 0;
}

int sensor_program_state(struct sensor_program *program, struct problem *problem)
{
    int result = program_check(program, problem);

    return result < 0 || program->pid == 0 ? result
                                           : hash_mappings(program->pid) != program->mapped;
}

/* ---- modules ---- */

static int add_module(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
                      void *context)
{
    struct sensor_program *program = context;
    (void)base;

    *data = program;
    if (name == NULL || name[0] != '/')
        return DWARF_CB_OK;
    if (array_reserve(&program->modules, &program->module_capacity, program->module_count + 1,
                      sizeof(*program->modules)) < 0)
        return DWARF_CB_ABORT;
    program->modules[program->module_count++] = module;
    return DWARF_CB_OK;
}

int sensor_program_refresh(struct sensor_program *program, struct problem *problem)
{
    if (program->pid == 0)
        return 0;
    program->mapped = hash_mappings(program->pid);
    program->module_count = 0;
    dwfl_report_begin_add(program->dwfl);
    if (dwfl_linux_proc_report(program->dwfl, program->pid) != 0)
        return problem_set(problem, -ENOENT, "process %d: cannot read its modules: %s",
                           program->pid, dwfl_errmsg(-1));
    dwfl_report_end(program->dwfl, NULL, NULL);
    if (dwfl_getmodules(program->dwfl, add_module, program, 0) < 0 && program->module_count == 0)
        return problem_set(problem, -ENOMEM, "process %d: out of memory", program->pid);
    if (program->module_count == 0)
        return problem_set(problem, -ENOENT, "process %d executes no program (a kernel thread?)",
                           program->pid);
    GElf_Addr bias;
    Elf *elf = dwfl_module_getelf(program->modules[0], &bias);
    if (elf == NULL)
        return problem_set(problem, -ENOENT, "process %d: cannot read its program: %s",
                           program->pid, dwfl_errmsg(-1));
    if (gelf_getclass(elf) != ELFCLASS64)
        return problem_set(problem, -ENOTSUP,
                           "process %d is a 32-bit program; sensors read 64-bit ones only",
                           program->pid);
    return 0;
}

/* ---- opening ---- */

static int may_not(pid_t pid, struct problem *problem)
{
    return problem_set(
        problem, -EPERM,
        "process %d: reading its memory needs the right to ptrace it; run dpm as its "
        "user or as root",
        pid);
}

static int open_execution(struct sensor_program *program, struct problem *problem)
{
    char byte;

    program->process = process_open(program->pid);
    if (program->process < 0)
        return problem_set(problem, program->process, "process %d: %s", program->pid,
                           program->process == -ESRCH ? "there is no such process"
                                                      : strerror(-program->process));
    program->stack = process_stat_number(program->pid, PROCESS_STACK);
    program->vector_size = read_vector(program->pid, program->vector, sizeof(program->vector));
    if (has_ended(program->process))
        return problem_set(problem, -ESRCH, "process %d has ended", program->pid);
    if (program->vector_size == 0 && geteuid() == 0)
        return problem_set(problem, -ENOENT, "process %d executes no program (a kernel thread?)",
                           program->pid);
    if (program->stack < 4096 || program->vector_size == 0 ||
        !program_memory(program, program->stack, &byte, 1))
        return may_not(program->pid, problem);
    return 0;
}

int sensor_program_open(pid_t pid, struct sensor_program **ret_program, struct problem *problem)
{
    static char *debug_path = NULL; /* elfutils' default */
    static const Dwfl_Callbacks callbacks = {.find_elf = find_file,
                                             .find_debuginfo = dwfl_standard_find_debuginfo,
                                             .debuginfo_path = &debug_path};
    struct sensor_program *program = calloc(1, sizeof(*program));

    if (program == NULL)
        return problem_set(problem, -ENOMEM, "out of memory");
    *program = (struct sensor_program){.pid = pid, .process = -1, .file = -1};
    snprintf(program->what, sizeof(program->what), "process %d", pid);
    int result = open_execution(program, problem);
    if (result == 0) {
        program->dwfl = dwfl_begin(&callbacks);
        result = program->dwfl == NULL ? problem_set(problem, -ENOMEM, "out of memory")
                                       : sensor_program_refresh(program, problem);
    }
    if (result == 0)
        result = program_check(program, problem);
    if (result < 0)
        sensor_program_close(program);
    else
        *ret_program = program;
    return result;
}

/* ---- a file ---- */

/* Whether it is executed rather than mapped by what is: the C library is both. */
static int check_elf(struct sensor_program *program, const char *path, struct problem *problem)
{
    GElf_Addr bias;
    GElf_Phdr segment;
    GElf_Dyn entry;
    size_t count;
    Elf *elf = program->module_count == 0 ? NULL : dwfl_module_getelf(program->modules[0], &bias);

    if (elf == NULL || elf_getphdrnum(elf, &count) < 0)
        return problem_set(problem, -ENOEXEC, "%s: not a program (ELF)", path);
    if (gelf_getclass(elf) != ELFCLASS64)
        return problem_set(problem, -ENOTSUP,
                           "%s is a 32-bit program; sensors read 64-bit ones only", path);
    program->code = UINT64_MAX;
    for (size_t i = 0; i < count && gelf_getphdr(elf, (int)i, &segment) != NULL; i++) {
        if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0 &&
            segment.p_vaddr + bias < program->code)
            program->code = segment.p_vaddr + bias;
        Elf_Data *data =
            segment.p_type == PT_DYNAMIC
                ? elf_getdata_rawchunk(elf, (int64_t)segment.p_offset, segment.p_filesz, ELF_T_DYN)
                : NULL;
        for (int k = 0; data != NULL && gelf_getdyn(data, k, &entry) != NULL; k++)
            if (entry.d_tag == DT_SONAME)
                return problem_set(problem, -ENOTSUP,
                                   "%s is a library: other programs map it, too, and would pay; "
                                   "give the id of a process",
                                   path);
    }
    return program->code == UINT64_MAX
               ? problem_set(problem, -ENOEXEC, "%s: a file without code", path)
               : 0;
}

static int open_file(struct sensor_program *program, const char *path, struct problem *problem)
{
    struct stat status;
    char name[PATH_MAX];

    if (geteuid() != 0)
        return problem_set(problem, -EPERM,
                           "%s: sensors in all processes that execute a file need root; else give "
                           "the id of a process",
                           path);
    program->file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (program->file < 0 || fstat(program->file, &status) < 0)
        return problem_set(problem, -errno, "%s: %s", path, strerror(errno));
    if (!S_ISREG(status.st_mode))
        return problem_set(problem, -EINVAL, "%s: not a file", path);
    program->inode = status.st_ino;
    program->device = major(status.st_dev) == 0 ? SENSOR_ANY_DEVICE : file_device(status.st_dev);
    if (realpath(path, name) == NULL) /* /proc/PID/exe of a file that is gone */
        snprintf(name, sizeof(name), "/%s", path);
    int copy = fcntl(program->file, F_DUPFD_CLOEXEC, 0); /* the library closes it */
    Dwfl_Module *module = NULL;
    if (copy >= 0) {
        dwfl_report_begin(program->dwfl);
        module = dwfl_report_elf(program->dwfl, name, name, copy, 0, true);
        dwfl_report_end(program->dwfl, NULL, NULL);
        if (module == NULL)
            close(copy);
    }
    if (module == NULL)
        return problem_set(problem, -ENOEXEC, "%s: not a program (ELF)", path);
    if (dwfl_getmodules(program->dwfl, add_module, program, 0) < 0)
        return problem_set(problem, -ENOMEM, "out of memory");
    return check_elf(program, path, problem);
}

/* What errors call it: "program worker", also for /proc/811/exe. */
static void name_file(struct sensor_program *program, const char *path)
{
    char executed[PATH_MAX];
    ssize_t length =
        strncmp(path, "/proc/", 6) == 0 ? readlink(path, executed, sizeof(executed) - 1) : -1;

    if (length > 0) {
        executed[length] = '\0';
        path = executed;
    }
    const char *base = strrchr(path, '/');
    snprintf(program->what, sizeof(program->what), "program %.48s", base == NULL ? path : base + 1);
}

int sensor_program_open_file(const char *path, struct sensor_program **ret_program,
                             struct problem *problem)
{
    static char *debug_path = NULL; /* elfutils' default */
    static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_build_id_find_elf,
                                             .find_debuginfo = dwfl_standard_find_debuginfo,
                                             .debuginfo_path = &debug_path};
    struct sensor_program *program = calloc(1, sizeof(*program));

    if (program == NULL)
        return problem_set(problem, -ENOMEM, "out of memory");
    *program = (struct sensor_program){.process = -1, .file = -1};
    name_file(program, path);
    program->dwfl = dwfl_begin(&callbacks);
    int result = program->dwfl == NULL ? problem_set(problem, -ENOMEM, "out of memory")
                                       : open_file(program, path, problem);
    if (result < 0)
        sensor_program_close(program);
    else
        *ret_program = program;
    return result;
}

/* ---- both ---- */

void sensor_program_close(struct sensor_program *program)
{
    if (program == NULL)
        return;
    if (program->dwfl != NULL)
        dwfl_end(program->dwfl);
    if (program->process >= 0)
        close(program->process);
    if (program->file >= 0)
        close(program->file);
    free(program->modules);
    arena_done(&program->memory);
    free(program);
}

pid_t sensor_program_pid(const struct sensor_program *program)
{
    return program->pid;
}

bool program_is_go(const struct sensor_program *program)
{
    Elf_Scn *section = NULL;
    Dwarf_Addr bias;
    Elf *elf = dwfl_module_getelf(program->modules[0], &bias);
    size_t names;

    if (elf == NULL || elf_getshdrstrndx(elf, &names) != 0)
        return false;
    while ((section = elf_nextscn(elf, section)) != NULL) {
        GElf_Shdr header;
        const char *name =
            gelf_getshdr(section, &header) == NULL ? NULL : elf_strptr(elf, names, header.sh_name);
        if (name != NULL && strcmp(name, ".go.buildinfo") == 0)
            return true;
    }
    return false;
}
