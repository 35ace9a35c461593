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

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#define SECTION_MOST  (32u << 20) /* bytes of a section that is read */
#define NOTE_OF_PROBE 3

struct finding_places {
    const struct library *library;
    Elf *elf;
    size_t section_names; /* number of the section */
    uint64_t base;        /* address of .stapsdt.base; 0: there is none */
    struct library_place *places;
    int count;
    bool marked; /* it exports the library's mark */
};

/* ---- places ---- */

static bool offset_of(const struct finding_places *finding, uint64_t address, uint64_t *ret_offset)
{
    GElf_Phdr segment;

    for (int i = 0; gelf_getphdr(finding->elf, i, &segment) != NULL; i++) {
        uint64_t inside = address - segment.p_vaddr;
        if (segment.p_type != PT_LOAD || address < segment.p_vaddr || inside >= segment.p_filesz ||
            segment.p_offset > UINT64_MAX - inside)
            continue;
        *ret_offset = segment.p_offset + inside;
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
        if (!is_known && (!offset_of(finding, address, &place.offset) ||
                          (semaphore != 0 && !offset_of(finding, semaphore, &place.semaphore))))
            return;
        is_known = true;
        place.probe = &library->probes[i];
        if (finding->count < LIBRARY_PLACES_MOST)
            finding->places[finding->count++] = place;
    }
}

/* ---- notes ---- */

/* `description`: three addresses and three texts. */
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
    uint64_t moved = finding->base == 0 ? 0 : finding->base - address[1];
    add_place(finding, place, address[0] + moved, address[2] == 0 ? 0 : address[2] + moved);
}

static void read_notes(struct finding_places *finding, Elf_Data *data)
{
    GElf_Nhdr note;
    size_t name, description, at = 0;

    while ((at = gelf_getnote(data, at, &note, &name, &description)) > 0)
        if (note.n_type == NOTE_OF_PROBE && note.n_namesz == sizeof("stapsdt") &&
            memcmp((const char *)data->d_buf + name, "stapsdt", sizeof("stapsdt")) == 0)
            add_note(finding, (const char *)data->d_buf + description, note.n_descsz);
}

/* ---- functions ---- */

static void read_functions(struct finding_places *finding, Elf_Data *data, uint32_t names)
{
    const char *mark = finding->library->mark;
    GElf_Sym symbol;

    for (int i = 0; gelf_getsym(data, i, &symbol) != NULL; i++) {
        const char *name =
            symbol.st_shndx == SHN_UNDEF ? NULL : elf_strptr(finding->elf, names, symbol.st_name);
        if (name == NULL)
            continue;
        if (GELF_ST_TYPE(symbol.st_info) == STT_FUNC)
            add_place(finding, name, symbol.st_value, 0);
        else if (mark != NULL && strcmp(name, mark) == 0)
            finding->marked = true;
    }
}

/* ---- all ---- */

static const char *name_of(const struct finding_places *finding, const GElf_Shdr *header)
{
    const char *name = elf_strptr(finding->elf, finding->section_names, header->sh_name);

    return name == NULL ? "" : name;
}

/* The first section of a type, with this name if it has to have one. */
static Elf_Scn *find_section(const struct finding_places *finding, uint32_t type, const char *name,
                             GElf_Shdr *ret_header)
{
    Elf_Scn *section = NULL;

    while ((section = elf_nextscn(finding->elf, section)) != NULL)
        if (gelf_getshdr(section, ret_header) != NULL &&
            (type == SHT_NULL || ret_header->sh_type == type) &&
            (name == NULL || strcmp(name_of(finding, ret_header), name) == 0))
            return section;
    return NULL;
}

static Elf_Data *data_of(Elf_Scn *section, const GElf_Shdr *header)
{
    return section == NULL || header->sh_size > SECTION_MOST ? NULL : elf_getdata(section, NULL);
}

static bool is_for_us(Elf *elf)
{
    GElf_Ehdr header;

    return elf_kind(elf) == ELF_K_ELF && gelf_getehdr(elf, &header) != NULL &&
           header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == ELFDATA2LSB &&
           header.e_machine == EM_X86_64;
}

static int read_file(struct finding_places *finding)
{
    GElf_Shdr header;

    if (!is_for_us(finding->elf) || elf_getshdrstrndx(finding->elf, &finding->section_names) != 0)
        return -ENOEXEC;
    if (find_section(finding, SHT_NULL, ".stapsdt.base", &header) != NULL)
        finding->base = header.sh_addr;
    Elf_Data *data = data_of(find_section(finding, SHT_NOTE, ".note.stapsdt", &header), &header);
    if (data != NULL)
        read_notes(finding, data);
    data = data_of(find_section(finding, SHT_DYNSYM, NULL, &header), &header);
    if (data != NULL)
        read_functions(finding, data, header.sh_link);
    return 0;
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
    struct finding_places finding = {
        .library = library, .places = ret_places, .marked = library->mark == NULL};
    int count = 0;

    elf_version(EV_CURRENT);
    /* not mapped: its owner may shorten it meanwhile */
    finding.elf = elf_begin(file, ELF_C_READ, NULL);
    int result = read_file(&finding);
    elf_end(finding.elf);
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
