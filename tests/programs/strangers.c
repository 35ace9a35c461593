/* SPDX-License-Identifier: MIT */
/*
 * strangers.c: writes into a FIFO, or reads it, and logs what it did: the truth for strangers_test.sh.
 *
 *      strangers write FIFO LETTER BLOCKS [GATE]
 *          BLOCKS blocks, one write each, with random pauses; with GATE, a file name, as many more as it takes until that
 *          file exists, before them. A block is a sequence of equal cells of 8 bytes,
 *          the letter and the block's number:  a0000041a0000041a0000041
 *      strangers read FIFO WRITERS LOG
 *          until WRITERS writers have signalled their end, each by the cell with the number 9999999.
 *          LOG gets a line for each read that found data: letter and number of each block, and its bytes,
 *          as  a:41:16 b:7:8
 *
 * Writers take turns: none begins while another writes. Reads take whole cells. The program ends after at most two
 * minutes.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { CELL = 8, LAST = 9999999, MOST_CELLS = 40, READ_MOST = 512, PAUSE = 3000 };

_Static_assert(MOST_CELLS *CELL <= PIPE_BUF, "a block is written whole");

static _Noreturn void give_up(const char *what)
{
    fprintf(stderr, "strangers: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void write_block(int to, char letter, unsigned number, unsigned cells)
{
    char block[MOST_CELLS * CELL + 1];

    for (unsigned i = 0; i < cells; i++)
        snprintf(block + (size_t)i * CELL, CELL + 1, "%c%07u", letter, number % (LAST + 1));
    if (flock(to, LOCK_EX) < 0 || write(to, block, (size_t)cells * CELL) != (ssize_t)cells * CELL ||
        flock(to, LOCK_UN) < 0)
        give_up("write");
}

static void write_all(const char *name, char letter, unsigned blocks, const char *gate)
{
    unsigned before = 0;
    int to = open(name, O_WRONLY | O_CLOEXEC);

    if (to < 0)
        give_up(name);
    srand((unsigned)letter);
    for (unsigned i = 0; i < before + blocks; i++) {
        if (gate != NULL && access(gate, F_OK) < 0)
            before++;
        else
            gate = NULL;
        write_block(to, letter, i, 1 + (unsigned)rand() % MOST_CELLS);
        usleep((useconds_t)rand() % PAUSE);
    }
    write_block(to, letter, LAST, 1);
}

/* Returns how many writers have signalled their end. */
static unsigned log_read(FILE *log, const char *bytes, size_t length)
{
    unsigned ended = 0;
    size_t end;

    for (size_t at = 0; at < length; at = end) {
        for (end = at + CELL; end < length && memcmp(bytes + at, bytes + end, CELL) == 0;)
            end += CELL;
        char digits[CELL] = "";
        memcpy(digits, bytes + at + 1, CELL - 1);
        unsigned number = (unsigned)strtoul(digits, NULL, 10);
        ended += number == LAST;
        fprintf(log, "%s%c:%u:%zu", at == 0 ? "" : " ", bytes[at], number, end - at);
    }
    fprintf(log, "\n");
    return ended;
}

static void read_all(const char *name, unsigned writers, const char *log_name)
{
    char bytes[READ_MOST];
    FILE *log = fopen(log_name, "we");
    int from = open(name, O_RDONLY | O_CLOEXEC);

    if (log == NULL || from < 0)
        give_up(log == NULL ? log_name : name);
    while (writers > 0) {
        ssize_t got = read(from, bytes, (1 + (size_t)rand() % (READ_MOST / CELL)) * CELL);
        if (got < 0)
            give_up("read");
        if (got > 0)
            writers -= log_read(log, bytes, (size_t)got);
        usleep((useconds_t)rand() % PAUSE / 4);
    }
    if (fclose(log) != 0)
        give_up(log_name);
}

int main(int argc, char **argv)
{
    alarm(120);
    if ((argc == 5 || argc == 6) && strcmp(argv[1], "write") == 0)
        write_all(argv[2], argv[3][0], (unsigned)atoi(argv[4]), argv[5]);
    else if (argc == 5 && strcmp(argv[1], "read") == 0)
        read_all(argv[2], (unsigned)atoi(argv[3]), argv[4]);
    else {
        fprintf(stderr,
                "usage: strangers write FIFO LETTER BLOCKS [GATE] | read FIFO WRITERS LOG\n");
        return 2;
    }
    return 0;
}
