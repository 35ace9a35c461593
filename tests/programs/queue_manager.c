/* SPDX-License-Identifier: MIT */
/*
 * queue_manager.c: a program with a queue, to be monitored by views. It does what its standard input says, a line for
 * each, and answers each line when it is done:
 *
 *      + 3         enqueues three requests, one after the other        ok 3
 *      - 1         dequeues one                                        ok 2
 *      quit
 *
 * Its own account, with --log FILE: the size after each change.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct queue {
    int q_size;
    long enqueued, dequeued;
};

struct queue queue;
char state[16] = "empty";
static FILE *journal;

/* Where monitors look: after each change. */
void queue_changed(const struct queue *changed);

__attribute__((noinline)) void queue_changed(const struct queue *changed)
{
    if (journal != NULL)
        fprintf(journal, "%d\n", changed->q_size);
    __asm__ volatile("" ::: "memory");
}

static void change(int by)
{
    queue.q_size += by;
    if (by > 0)
        queue.enqueued++;
    else
        queue.dequeued++;
    strcpy(state, queue.q_size == 0 ? "empty" : "busy");
    queue_changed(&queue);
}

int main(int argc, char **argv)
{
    char line[100];

    if (argc == 3 && strcmp(argv[1], "--log") == 0 && (journal = fopen(argv[2], "we")) == NULL)
        return EXIT_FAILURE;
    while (fgets(line, sizeof(line), stdin) != NULL && strcmp(line, "quit\n") != 0) {
        long count = strtol(line + 1, NULL, 10);
        for (long i = 0; i < count; i++)
            if (line[0] == '+' || queue.q_size > 0)
                change(line[0] == '+' ? 1 : -1);
        printf("ok %d\n", queue.q_size);
        fflush(stdout);
    }
    if (journal != NULL)
        fclose(journal);
    return EXIT_SUCCESS;
}
