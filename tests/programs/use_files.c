/* SPDX-License-Identifier: MIT */
/*
 * use_files.c: reads and writes two files in the folder FOLDER by each system call that does so, and logs each call on
 * standard error:
 *
 *      READ one 10 90         FOLDER/one, offset 10, 90 bytes
 *      WRITE two 0 1000
 *      OPEN two               opened once more
 *
 * Call: use-files FOLDER
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

#define SIZE 10000

static char data[SIZE];
static char names[2][4096];

static void logs(const char *event, int file, long offset, long bytes)
{
    if (bytes < 0) {
        perror("use-files");
        exit(1);
    }
    fprintf(stderr, "%s %s %ld %ld\n", event, file == 0 ? "one" : "two", offset, bytes);
}

static int opens(int file, int flags)
{
    int descriptor = open(names[file], flags, 0600);

    if (descriptor < 0) {
        perror(names[file]);
        exit(1);
    }
    fprintf(stderr, "OPEN %s\n", file == 0 ? "one" : "two");
    return descriptor;
}

static struct iovec *vectors(size_t first, size_t second)
{
    static struct iovec list[2];

    list[0] = (struct iovec){data, first};
    list[1] = (struct iovec){data + first, second};
    return list;
}

static void write_all(void)
{
    int one = opens(0, O_RDWR | O_CREAT | O_TRUNC), again;

    logs("WRITE", 0, 0, write(one, data, 1000));
    logs("WRITE", 0, 1000, writev(one, vectors(10, 20), 2));
    logs("WRITE", 0, 5000, pwrite(one, data, 100, 5000));
    logs("WRITE", 0, 5100, pwritev(one, vectors(30, 40), 2, 5100));
    logs("WRITE", 0, 5170, pwritev2(one, vectors(1, 2), 2, 5170, 0));
    logs("WRITE", 0, 1030, pwritev2(one, vectors(3, 4), 2, -1, 0)); /* at the file's own position */
    logs("WRITE", 0, 5173, pwritev2(one, vectors(5, 6), 2, 0, RWF_APPEND));
    logs("WRITE", 0, 1037, write(one, data, 0));
    close(one);
    again = opens(0, O_WRONLY | O_APPEND);
    logs("WRITE", 0, 5184, write(again, data, 16));
    logs("WRITE", 0, 5200, pwrite(again, data, 100, 7)); /* appends, too */
    close(again);
}

static void read_all(void)
{
    int one = opens(0, O_RDONLY);

    logs("READ", 0, 0, read(one, data, 10));
    logs("READ", 0, 10, readv(one, vectors(40, 50), 2));
    logs("READ", 0, 300, pread(one, data, 200, 300));
    logs("READ", 0, 600, preadv(one, vectors(7, 8), 2, 600));
    logs("READ", 0, 700, preadv2(one, vectors(7, 8), 2, 700, 0));
    logs("READ", 0, 100, preadv2(one, vectors(9, 1), 2, -1, 0));
    lseek(one, 5250, SEEK_SET);
    logs("READ", 0, 5250, read(one, data, SIZE)); /* the last 50 bytes */
    logs("READ", 0, 5300, read(one, data, SIZE)); /* end of file */
    close(one);
}

/* From the file "one" to the file "two", and through a pipe. */
static void move_all(void)
{
    int one = opens(0, O_RDONLY), two = opens(1, O_RDWR | O_CREAT | O_TRUNC), pipes[2];
    off_t offset = 100;
    loff_t from = 200, to = 4000;
    long moved;

    moved = sendfile(two, one, &offset, 500);
    logs("READ", 0, 100, moved);
    logs("WRITE", 1, 0, moved);
    moved = sendfile(two, one, NULL, 50);
    logs("READ", 0, 0, moved);
    logs("WRITE", 1, 500, moved);
    moved = copy_file_range(one, &from, two, &to, 600, 0);
    logs("READ", 0, 200, moved);
    logs("WRITE", 1, 4000, moved);
    if (pipe(pipes) < 0)
        exit(1);
    from = 1000;
    moved = splice(one, &from, pipes[1], NULL, 300, 0);
    logs("READ", 0, 1000, moved);
    moved = splice(pipes[0], NULL, two, NULL, 300, 0);
    logs("WRITE", 1, 550, moved);
    close(one);
    close(two);
    close(pipes[0]);
    close(pipes[1]);
}

/* What looks like a file, but is none; and calls that fail. */
static void use_others(void)
{
    int event = eventfd(1, 0), null = open("/dev/null", O_RDWR), directory = open("/", O_RDONLY);
    uint64_t number = 1;

    if (event < 0 || null < 0 || directory < 0 || write(event, &number, 8) != 8 ||
        read(event, &number, 8) != 8 || write(null, data, 5) != 5 || read(null, data, 5) != 0 ||
        read(directory, data, 5) >= 0 || write(-1, data, 5) >= 0)
        exit(1);
    close(event);
    close(null);
    close(directory);
}

int main(int argc, char **argv)
{
    static char buffer[1 << 16];

    if (argc != 2) {
        fprintf(stderr, "usage: use-files FOLDER\n");
        return 2;
    }
    setvbuf(stderr, buffer, _IOFBF, sizeof(buffer)); /* written at the end */
    snprintf(names[0], sizeof(names[0]), "%s/one", argv[1]);
    snprintf(names[1], sizeof(names[1]), "%s/two", argv[1]);
    write_all();
    read_all();
    move_all();
    use_others();
    return 0;
}
