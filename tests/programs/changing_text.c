/* SPDX-License-Identifier: MIT */
/*
 * changing_text.c: sends from code that keeps changing at the same address, so a meter that caches old code is wrong.
 * For each way in which code can get there, it is called twice with a small frame and twice with a large one. Prints
 * the expected result, one line for each call:
 *
 *      SEND BYTES FUNCTION
 *
 * With the names of two libraries (changing_library.c) it also loads one after the other.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define PAGE     4096u

typedef ssize_t (*sender)(int, const void *, size_t, int);

static int ends[2];
static char bytes[4096];
static volatile int sink;
static size_t size = 100; /* different for each call */

_Noreturn static void fail(const char *what)
{
    perror(what);
    exit(3);
}

/* ---- code that sends ---- */

/* Writes a function that calls send() from a frame of this many bytes: 8 more than a multiple of 16. */
static void write_code(uint8_t *code, uint32_t frame)
{
    sender send_function = send;

    memcpy(code, "\x48\x81\xec", 3); /* sub $frame,%rsp */
    memcpy(code + 3, &frame, 4);
    memcpy(code + 7, "\x48\xb8", 2); /* mov $send,%rax */
    memcpy(code + 9, &send_function, 8);
    memcpy(code + 17, "\xff\xd0\x48\x81\xc4", 5); /* call *%rax; add $frame,%rsp */
    memcpy(code + 22, &frame, 4);
    code[26] = 0xc3; /* ret */
}

static void expect(const char *function)
{
    printf("SEND %zu %s\n", size++, function);
}

NOINLINE static void caller_of_small(void *code)
{
    sink += (int)((sender)code)(ends[0], bytes, size, 0);
    expect("caller_of_small");
}

NOINLINE static void caller_of_large(void *code)
{
    sink += (int)((sender)code)(ends[0], bytes, size, 0);
    expect("caller_of_large");
}

static void call_small(void *code)
{
    for (int i = 0; i < 3; i++)
        caller_of_small(code);
}

static void call_large(void *code)
{
    for (int i = 0; i < 3; i++)
        caller_of_large(code);
}

#define SMALL 24
#define LARGE 152

static void *map(void *at, int protection, int flags, int file)
{
    void *mapped = mmap(at, PAGE, protection, flags | (at == NULL ? 0 : MAP_FIXED), file, 0);

    if (mapped == MAP_FAILED)
        fail("mmap");
    return mapped;
}

static void protect(void *at, int protection)
{
    if (mprotect(at, PAGE, protection) < 0)
        fail("mprotect");
}

static int code_file(uint32_t frame)
{
    char name[] = "code-XXXXXX";
    uint8_t page[PAGE] = {0};
    int file = mkstemp(name);

    write_code(page, frame);
    if (file < 0 || unlink(name) < 0 || write(file, page, PAGE) != PAGE)
        fail(name);
    return file;
}

/* ---- how it changes ---- */

static void written_in_place(void)
{
    void *code = map(NULL, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1);

    write_code(code, SMALL);
    call_small(code);
    write_code(code, LARGE);
    call_large(code);
}

static void written_and_protected(void)
{
    void *code = map(NULL, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);

    write_code(code, SMALL);
    protect(code, PROT_READ | PROT_EXEC);
    call_small(code);
    protect(code, PROT_READ | PROT_WRITE);
    write_code(code, LARGE);
    protect(code, PROT_READ | PROT_EXEC);
    call_large(code);
}

static void mapped_twice(int flags)
{
    int file = memfd_create("code", MFD_CLOEXEC);

    if (file < 0 || ftruncate(file, PAGE) < 0)
        fail("memfd_create");
    void *written = map(NULL, PROT_READ | PROT_WRITE, MAP_SHARED, file);
    void *code = map(NULL, PROT_READ | PROT_EXEC, flags, file);
    write_code(written, SMALL);
    call_small(code);
    write_code(written, LARGE);
    call_large(code);
}

static void other_file_in_its_place(bool unmapped)
{
    void *code = map(NULL, PROT_READ | PROT_EXEC, MAP_PRIVATE, code_file(SMALL));

    call_small(code);
    if (unmapped)
        munmap(code, PAGE);
    map(code, PROT_READ | PROT_EXEC, MAP_PRIVATE, code_file(LARGE));
    call_large(code);
}

static void protected_later(void)
{
    void *code = map(NULL, PROT_READ | PROT_EXEC, MAP_PRIVATE, code_file(SMALL));

    call_small(code);
    map(code, PROT_READ, MAP_PRIVATE, code_file(LARGE));
    protect(code, PROT_READ | PROT_EXEC);
    call_large(code);
}

static void file_written_over(void)
{
    void *code = map(NULL, PROT_READ | PROT_EXEC, MAP_PRIVATE, code_file(SMALL));

    call_small(code);
    protect(code, PROT_READ | PROT_WRITE);
    write_code(code, LARGE);
    protect(code, PROT_READ | PROT_EXEC);
    call_large(code);
}

static void moved_into_its_place(void)
{
    void *code = map(NULL, PROT_READ | PROT_EXEC, MAP_PRIVATE, code_file(SMALL));
    void *other = map(NULL, PROT_READ | PROT_EXEC, MAP_PRIVATE, code_file(LARGE));

    call_small(code);
    if (mremap(other, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, code) != code)
        fail("mremap");
    call_large(code);
}

/* A child's change to its own memory does not affect its parent. */
static void changed_in_a_child(void)
{
    void *code = map(NULL, PROT_READ | PROT_EXEC, MAP_PRIVATE, code_file(SMALL));

    call_small(code);
    fflush(stdout);
    pid_t child = fork();
    if (child < 0)
        fail("fork");
    if (child == 0) {
        size += 1000;
        call_small(code);
        map(code, PROT_READ | PROT_EXEC, MAP_PRIVATE, code_file(LARGE));
        call_large(code);
        fflush(stdout);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    call_small(code);
}

static void load_library(const char *name, void (*call)(void *code))
{
    void *library = dlopen(name, RTLD_NOW);
    void *code = library == NULL ? NULL : dlsym(library, "changing_send");

    if (code == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(3);
    }
    call(code);
    dlclose(library);
}

int main(int count, char **names)
{
    /* the sent bytes stay there: there are few */
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
        fail("socketpair");
    written_in_place();
    written_and_protected();
    mapped_twice(MAP_SHARED);
    mapped_twice(MAP_PRIVATE);
    other_file_in_its_place(true);
    other_file_in_its_place(false);
    protected_later();
    file_written_over();
    moved_into_its_place();
    changed_in_a_child();
    for (int i = 1; i < count; i++)
        load_library(names[i], i % 2 == 1 ? call_small : call_large);
    return 0;
}
