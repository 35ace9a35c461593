/* SPDX-License-Identifier: MIT */
/*
 * library_places.c: finds probes in an ELF file.
 *
 *      section .note.stapsdt   note "stapsdt", 3: address 0x8e1b24, base 0x10f2c40, semaphore 0, "hotspot" "gc__begin" "1@%dil"
 *      section .dynsym         function MPI_Send at address 0xa3c10, in this file
 *      segments                address 0x8e1b24 --> offset 0x8e1b24 in the file
 *
 * Addresses of notes have moved with the section .stapsdt.base since they were written, if the file was prelinked.
 */
#include "libraries/libraries.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECTIONS_MOST 4096u
#define SEGMENTS_MOST 256u
#define BYTES_MOST    (64u << 20) /* of one file that are read */

#define NOTE_OF_PROBE 3

struct elf_file {
    int file;
    uint64_t unread; /* bytes that may still be read */
    Elf64_Ehdr header;
    Elf64_Shdr *sections;
    Elf64_Phdr *segments;
    char *names; /* of sections */
    size_t names_size;
    uint64_t base; /* address of .stapsdt.base; 0: there is none */
};

struct finding_places {
    const struct library *library;
    struct elf_file *elf;
    struct library_place *places;
    int count;
    bool marked; /* it exports the library's mark */
};

/* ---- reading ---- */

/* Reads `size` bytes; the caller frees them. A byte of 0 follows them, so that any text ends. NULL: -ENOMEM or -ENOEXEC. */
static void *read_bytes(struct elf_file *elf, uint64_t offset, uint64_t size, int *ret_error)
{
    *ret_error = -ENOEXEC;
    if (size == 0 || size > elf->unread || offset > INT64_MAX - size)
        return NULL;
    elf->unread -= size;
    char *bytes = malloc(size + 1);
    if (bytes == NULL) {
        *ret_error = -ENOMEM;
        return NULL;
    }
    bytes[size] = '\0';
    if (pread(elf->file, bytes, size, (off_t)offset) == (ssize_t)size) {
        *ret_error = 0;
        return bytes;
    }
    free(bytes);
    return NULL;
}

static bool is_for_us(const Elf64_Ehdr *header)
{
    return memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
           header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_ident[EI_DATA] == ELFDATA2LSB &&
           header->e_machine == EM_X86_64 && header->e_shentsize == sizeof(Elf64_Shdr) &&
           header->e_phentsize == sizeof(Elf64_Phdr) && header->e_shnum <= SECTIONS_MOST &&
           header->e_phnum <= SEGMENTS_MOST && header->e_shstrndx < header->e_shnum;
}

static const char *section_name(const struct elf_file *elf, const Elf64_Shdr *section)
{
    return section->sh_name < elf->names_size ? elf->names + section->sh_name : "";
}

static int open_elf(int file, struct elf_file *ret_elf)
{
    struct elf_file elf = {.file = file, .unread = BYTES_MOST};
    int result;

    if (pread(file, &elf.header, sizeof(elf.header), 0) != sizeof(elf.header) ||
        !is_for_us(&elf.header))
        return -ENOEXEC;
    elf.sections = read_bytes(&elf, elf.header.e_shoff,
                              (uint64_t)elf.header.e_shnum * sizeof(Elf64_Shdr), &result);
    if (result == 0)
        elf.segments = read_bytes(&elf, elf.header.e_phoff,
                                  (uint64_t)elf.header.e_phnum * sizeof(Elf64_Phdr), &result);
    if (result == 0) {
        const Elf64_Shdr *names = &elf.sections[elf.header.e_shstrndx];
        elf.names_size = names->sh_size;
        elf.names = read_bytes(&elf, names->sh_offset, names->sh_size, &result);
    }
    for (unsigned i = 0; result == 0 && i < elf.header.e_shnum; i++)
        if (strcmp(section_name(&elf, &elf.sections[i]), ".stapsdt.base") == 0)
            elf.base = elf.sections[i].sh_addr;
    *ret_elf = elf; /* to be closed in any case */
    return result;
}

static void close_elf(struct elf_file *elf)
{
    free(elf->sections);
    free(elf->segments);
    free(elf->names);
}

/* ---- places ---- */

static bool offset_of(const struct elf_file *elf, uint64_t address, uint64_t *ret_offset)
{
    for (unsigned i = 0; i < elf->header.e_phnum; i++) {
        const Elf64_Phdr *segment = &elf->segments[i];
        uint64_t inside = address - segment->p_vaddr;
        if (segment->p_type != PT_LOAD || address < segment->p_vaddr ||
            inside >= segment->p_filesz || segment->p_offset > UINT64_MAX - inside)
            continue;
        *ret_offset = segment->p_offset + inside;
        return true;
    }
    return false;
}

static void add_place(struct finding_places *finding, const char *name, uint64_t address,
                      uint64_t semaphore)
{
    const struct library *library = finding->library;
    struct library_place place = {0};
    bool is_known = false;

    for (size_t i = 0; i < library->count; i++) {
        if (strcmp(library->probes[i].place, name) != 0)
            continue;
        if (!is_known &&
            (!offset_of(finding->elf, address, &place.offset) ||
             (semaphore != 0 && !offset_of(finding->elf, semaphore, &place.semaphore))))
            return;
        is_known = true;
        place.probe = &library->probes[i];
        if (finding->count < LIBRARY_PLACES_MOST)
            finding->places[finding->count++] = place;
    }
}

/* ---- notes ---- */

/* `description`: three addresses and three texts; a byte of 0 follows it, at the latest at the end of the section. */
static void add_note(struct finding_places *finding, const char *description, size_t size)
{
    uint64_t address[3];
    char place[128];

    if (size < sizeof(address) + 3)
        return;
    memcpy(address, description, sizeof(address));
    const char *provider = description + sizeof(address);
    size_t rest = size - sizeof(address), length = strnlen(provider, rest);
    if (length + 1 >= rest)
        return;
    const char *name = provider + length + 1;
    if (strnlen(name, rest - length - 1) == rest - length - 1)
        return;
    if ((size_t)snprintf(place, sizeof(place), "%s:%s", provider, name) >= sizeof(place))
        return;
    uint64_t moved = finding->elf->base == 0 ? 0 : finding->elf->base - address[1];
    add_place(finding, place, address[0] + moved, address[2] == 0 ? 0 : address[2] + moved);
}

static size_t aligned(size_t size)
{
    return (size + 3) & ~(size_t)3;
}

static void read_notes(struct finding_places *finding, const char *notes, size_t size)
{
    Elf64_Nhdr note;

    for (size_t at = 0; size - at >= sizeof(note);) {
        memcpy(&note, notes + at, sizeof(note));
        size_t name = at + sizeof(note), description = name + aligned(note.n_namesz);
        size_t end = description + aligned(note.n_descsz);
        if (end > size)
            return;
        if (note.n_type == NOTE_OF_PROBE && note.n_namesz == sizeof("stapsdt") &&
            memcmp(notes + name, "stapsdt", sizeof("stapsdt")) == 0)
            add_note(finding, notes + description, note.n_descsz);
        at = end;
    }
}

/* ---- functions ---- */

static void read_functions(struct finding_places *finding, const Elf64_Sym *symbols, size_t count,
                           const char *names, size_t names_size)
{
    const char *mark = finding->library->mark;

    for (size_t i = 0; i < count; i++) {
        if (symbols[i].st_shndx == SHN_UNDEF || symbols[i].st_name >= names_size)
            continue;
        const char *name = names + symbols[i].st_name;
        if (ELF64_ST_TYPE(symbols[i].st_info) == STT_FUNC)
            add_place(finding, name, symbols[i].st_value, 0);
        else if (mark != NULL && strcmp(name, mark) == 0)
            finding->marked = true;
    }
}

/* ---- all ---- */

static int read_symbols(struct finding_places *finding, const Elf64_Shdr *section)
{
    struct elf_file *elf = finding->elf;
    int result;

    if (section->sh_link >= elf->header.e_shnum)
        return -ENOEXEC;
    const Elf64_Shdr *of = &elf->sections[section->sh_link];
    void *symbols = read_bytes(elf, section->sh_offset, section->sh_size, &result);
    char *names = symbols == NULL ? NULL : read_bytes(elf, of->sh_offset, of->sh_size, &result);
    if (names != NULL)
        read_functions(finding, symbols, section->sh_size / sizeof(Elf64_Sym), names, of->sh_size);
    free(names);
    free(symbols);
    return result;
}

static int read_note_section(struct finding_places *finding, const Elf64_Shdr *section)
{
    int result;
    char *notes = read_bytes(finding->elf, section->sh_offset, section->sh_size, &result);

    if (notes != NULL)
        read_notes(finding, notes, section->sh_size);
    free(notes);
    return result;
}

static int read_sections(struct finding_places *finding)
{
    const struct elf_file *elf = finding->elf;
    bool symbols = false, notes = false;
    int result = 0;

    for (unsigned i = 0; result == 0 && i < elf->header.e_shnum; i++) {
        const Elf64_Shdr *section = &elf->sections[i];
        if (section->sh_type == SHT_DYNSYM && !symbols) {
            symbols = true;
            result = read_symbols(finding, section);
        } else if (section->sh_type == SHT_NOTE && !notes &&
                   strcmp(section_name(elf, section), ".note.stapsdt") == 0) {
            notes = true;
            result = read_note_section(finding, section);
        }
    }
    return result;
}

static int compare_places(const void *a, const void *b)
{
    const struct library_place *first = a, *second = b;

    if (first->probe != second->probe)
        return first->probe < second->probe ? -1 : 1;
    return (first->offset > second->offset) - (first->offset < second->offset);
}

int libraries_find_places(const struct library *library, int file,
                          struct library_place ret_places[LIBRARY_PLACES_MOST])
{
    struct elf_file elf = {0};
    struct finding_places finding = {library, &elf, ret_places, 0, library->mark == NULL};
    int result = open_elf(file, &elf), count = 0;

    if (result == 0)
        result = read_sections(&finding);
    close_elf(&elf);
    if (result < 0)
        return result;
    qsort(ret_places, (size_t)finding.count, sizeof(*ret_places), compare_places);
    for (int i = 0; i < finding.count; i++) {
        if (count > 0 && compare_places(&ret_places[count - 1], &ret_places[i]) == 0)
            continue;
        ret_places[count] = ret_places[i];
        ret_places[count].number =
            ret_places[i].probe->number | (finding.marked ? 0 : library->without_mark);
        count++;
    }
    return count;
}
