/* SPDX-License-Identifier: MIT */
/*
 * usdt.c: statically defined probes (systemtap's <sys/sdt.h>), from a program's notes.
 *
 *      note "stapsdt": address, base, semaphore, "redis" "call_end" "-4@%eax 8@-16(%rbp)"
 *
 * All addresses have moved with .stapsdt.base since the note was written, if the program was prelinked. The
 * semaphore is a counter in the program, which the kernel raises while a sensor is there: some programs skip the probe
 * when it is 0.
 */
#include "sensor/code_places.h"

#include "base/nearest.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

/* ---- arguments ---- */

/* As DWARF numbers them, by the part of the name that all sizes share. */
static const struct {
    const char *names[4];
} registers[SENSOR_REGISTERS] = {
    {{"rax", "eax", "ax", "al"}},      {{"rdx", "edx", "dx", "dl"}},
    {{"rcx", "ecx", "cx", "cl"}},      {{"rbx", "ebx", "bx", "bl"}},
    {{"rsi", "esi", "si", "sil"}},     {{"rdi", "edi", "di", "dil"}},
    {{"rbp", "ebp", "bp", "bpl"}},     {{"rsp", "esp", "sp", "spl"}},
    {{"r8", "r8d", "r8w", "r8b"}},     {{"r9", "r9d", "r9w", "r9b"}},
    {{"r10", "r10d", "r10w", "r10b"}}, {{"r11", "r11d", "r11w", "r11b"}},
    {{"r12", "r12d", "r12w", "r12b"}}, {{"r13", "r13d", "r13w", "r13b"}},
    {{"r14", "r14d", "r14w", "r14b"}}, {{"r15", "r15d", "r15w", "r15b"}},
    {{"rip", "eip", "ip", "ip"}}};

static const char *read_register(const char *at, uint32_t *ret_register)
{
    if (at == NULL || *at != '%')
        return NULL;
    size_t size = strspn(++at, "abcdefghijklmnopqrstuvwxyz0123456789");
    for (uint32_t i = 0; i < SENSOR_REGISTERS; i++) {
        for (size_t k = 0; k < 4; k++) {
            const char *name = registers[i].names[k];
            if (strlen(name) != size || strncmp(at, name, size) != 0)
                continue;
            *ret_register = i;
            return at + size;
        }
    }
    return NULL;
}

/* queue_size(%rip), 8+queues(%rip), queues+8(%rip): a variable. */
static const char *read_variable(const char *at, struct usdt_argument *argument)
{
    char *end = (char *)(uintptr_t)at;

    argument->is_memory = true;
    if (*at == '-' || (*at >= '0' && *at <= '9')) {
        argument->constant = strtoll(at, &end, 0);
        end += *end == '+';
    }
    size_t size = strcspn(end, "+-(% ");
    if (size == 0 || size >= sizeof(argument->symbol))
        return NULL;
    memcpy(argument->symbol, end, size);
    argument->symbol[size] = '\0';
    end += size;
    if (*end == '+' || *end == '-')
        argument->constant += strtoll(end, &end, 0);
    return strncmp(end, "(%rip)", 6) == 0 ? end + 6 : NULL;
}

/* 8(%rbp), -4(%rax,%rcx,8), (%rsi) */
static const char *read_memory(const char *at, struct usdt_argument *argument)
{
    char *end;
    uint32_t scale = 1;
    size_t size = strcspn(at, " ");

    if (memmem(at, size, "(%rip)", 6) != NULL)
        return read_variable(at, argument);
    argument->is_memory = true;
    argument->constant = strtoll(at, &end, 0);
    if (*end != '(' || (at = read_register(end + 1, &argument->from)) == NULL)
        return NULL;
    if (*at == ',') {
        argument->has_index = true;
        if ((at = read_register(at + 1, &argument->index)) == NULL)
            return NULL;
        if (*at == ',') {
            scale = (uint32_t)strtoul(at + 1, &end, 0);
            at = end;
        }
        argument->scale = scale;
    }
    return *at == ')' ? at + 1 : NULL;
}

/* -4@%eax, 8@$16, 4@-8(%rbp). Returns what follows, or NULL. */
static const char *read_argument(const char *at, struct usdt_argument *argument)
{
    char *end;
    long size = strtol(at, &end, 10);

    *argument = (struct usdt_argument){0};
    if (end == at || *end != '@' ||
        (labs(size) != 1 && labs(size) != 2 && labs(size) != 4 && labs(size) != 8))
        return NULL;
    argument->size = (uint8_t)labs(size);
    argument->is_signed = size < 0;
    at = end + 1;
    if (*at == '$') {
        argument->is_constant = true;
        argument->constant = strtoll(at + 1, &end, 0);
        at = end;
    } else if (*at == '%') {
        at = read_register(at, &argument->from);
    } else {
        at = read_memory(at, argument);
    }
    return at != NULL && (*at == ' ' || *at == '\0') ? at : NULL;
}

void usdt_arguments(const char *text, struct place *place)
{
    const char *at = text + strspn(text, " ");

    place->argument_count = 0;
    while (*at != '\0' && place->argument_count < USDT_ARGUMENTS_MOST) {
        at = read_argument(at, &place->arguments[place->argument_count]);
        if (at == NULL)
            return;
        place->argument_count++;
        at += strspn(at, " ");
    }
}

/* ---- notes ---- */

struct note {
    uint64_t address, base, semaphore;
    const char *provider, *name, *arguments;
};

/* The three texts behind the three addresses; each must end within the note. */
static bool read_note(const char *bytes, size_t size, struct note *ret_note)
{
    const char *at = bytes + 3 * sizeof(uint64_t), *texts[3];
    uint64_t addresses[3];

    if (size < sizeof(addresses))
        return false;
    memcpy(addresses, bytes, sizeof(addresses));
    for (size_t i = 0; i < 3; i++) {
        size_t left = size - (size_t)(at - bytes);
        texts[i] = at;
        if (strnlen(at, left) == left)
            return false;
        at += strlen(at) + 1;
    }
    *ret_note =
        (struct note){addresses[0], addresses[1], addresses[2], texts[0], texts[1], texts[2]};
    return true;
}

struct usdt_search {
    const char *provider;
    size_t provider_size;
    const char *name;
    struct places *places;
    struct nearest *nearest;
    Dwfl_Module *module;
    GElf_Addr bias;
    uint64_t base; /* of .stapsdt.base; 0: none */
};

static int add_note(struct usdt_search *search, const struct note *note)
{
    struct place place = {.module = search->module, .usdt = true};
    uint64_t moved = search->base == 0 ? 0 : search->base - note->base;

    if (strlen(note->provider) != search->provider_size ||
        strncmp(note->provider, search->provider, search->provider_size) != 0)
        return 0;
    if (strcmp(note->name, search->name) != 0) {
        nearest_add(search->nearest, note->name);
        return 0;
    }
    place.address = note->address + moved + search->bias;
    if (!program_file_offset(search->module, place.address, &place.offset))
        return 0;
    if (note->semaphore != 0 &&
        !program_file_offset(search->module, note->semaphore + moved + search->bias,
                             &place.semaphore))
        return 0;
    usdt_arguments(note->arguments, &place);
    return places_add(search->places, &place);
}

static int read_section(struct usdt_search *search, Elf_Data *data)
{
    size_t at = 0, name, contents, next;
    GElf_Nhdr header;
    struct note note;
    int result = 0;

    while (result == 0 && (next = gelf_getnote(data, at, &header, &name, &contents)) > 0) {
        if (header.n_type == 3 && header.n_namesz == sizeof("stapsdt") &&
            memcmp((char *)data->d_buf + name, "stapsdt", sizeof("stapsdt")) == 0 &&
            read_note((char *)data->d_buf + contents, header.n_descsz, &note))
            result = add_note(search, &note);
        at = next;
    }
    return result;
}

static int read_module(struct usdt_search *search)
{
    Elf *elf = dwfl_module_getelf(search->module, &search->bias);
    Elf_Data *notes = NULL;
    size_t names;

    if (elf == NULL || elf_getshdrstrndx(elf, &names) != 0)
        return 0;
    search->base = 0;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section)) != NULL;) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) == NULL)
            continue;
        const char *name = elf_strptr(elf, names, header.sh_name);
        if (name != NULL && strcmp(name, ".stapsdt.base") == 0)
            search->base = header.sh_addr;
        if (name != NULL && strcmp(name, ".note.stapsdt") == 0)
            notes = elf_getdata(section, NULL);
    }
    return notes == NULL ? 0 : read_section(search, notes);
}

int usdt_find(struct sensor_program *program, const char *provider, size_t provider_size,
              const char *name, struct places *places, struct nearest *nearest)
{
    struct usdt_search search = {.provider = provider,
                                 .provider_size = provider_size,
                                 .name = name,
                                 .places = places,
                                 .nearest = nearest};
    int result = 0;

    for (size_t i = 0; result == 0 && i < program->module_count; i++) {
        search.module = program->modules[i];
        result = read_module(&search);
    }
    return result;
}
