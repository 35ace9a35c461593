/* SPDX-License-Identifier: MIT */
/*
 * libraries_fuzz.c: the input is a library that a metered process has loaded. Any file is refused, or has places within
 * what the table of libraries asks for.
 */
#include "fuzz.h"
#include "libraries/libraries.h"

#include <elf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const struct library *library = libraries_of_file("/lib/libjvm.so", LIBRARY_SENSORS);
    struct library_place places[LIBRARY_PLACES_MOST];
    int file = memfd_create("library", MFD_CLOEXEC);

    if (file < 0 || (size > 0 && write(file, bytes, size) != (ssize_t)size))
        abort();
    int count = libraries_find_places(library, file, places);
    PROMISE(count <= LIBRARY_PLACES_MOST);
    for (int i = 0; i < count; i++)
        PROMISE(places[i].probe >= library->probes &&
                places[i].probe < library->probes + library->count);
    close(file);
    return 0;
}

/* A file of three sections and a segment, with one probe. */
struct example {
    Elf64_Ehdr header;
    Elf64_Phdr segment;
    Elf64_Shdr sections[3];
    char names[32];
    Elf64_Nhdr note;
    char note_name[8];
    uint64_t addresses[3];
    char texts[24];
};

size_t fuzz_example(uint8_t *bytes, size_t room)
{
    struct example example = {
        .header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                   .e_machine = EM_X86_64,
                   .e_phoff = offsetof(struct example, segment),
                   .e_shoff = offsetof(struct example, sections),
                   .e_phentsize = sizeof(Elf64_Phdr),
                   .e_phnum = 1,
                   .e_shentsize = sizeof(Elf64_Shdr),
                   .e_shnum = 3,
                   .e_shstrndx = 1},
        .segment = {.p_type = PT_LOAD, .p_filesz = sizeof(struct example)},
        .sections = {{0},
                     {.sh_type = SHT_STRTAB,
                      .sh_offset = offsetof(struct example, names),
                      .sh_size = sizeof(example.names)},
                     {.sh_name = 1,
                      .sh_type = SHT_NOTE,
                      .sh_offset = offsetof(struct example, note),
                      .sh_size = sizeof(struct example) - offsetof(struct example, note)}},
        .names = "\0.note.stapsdt",
        .note = {.n_namesz = 8,
                 .n_descsz = sizeof(example.addresses) + sizeof(example.texts),
                 .n_type = 3},
        .note_name = "stapsdt",
        .addresses = {16, 0, 24},
        .texts = "hotspot\0gc__end\0",
    };

    if (room < sizeof(example))
        return 0;
    memcpy(bytes, &example, sizeof(example));
    return sizeof(example);
}
