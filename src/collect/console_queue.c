/* SPDX-License-Identifier: Apache-2.0 */
/* See collector.h. Text beyond a limit is dropped: the supervisor may have stopped reading. */
#include "collect/collector.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define TEXT_MAX_B (64u << 20)

int ms_console_queue_open(struct ms_console_queue *queue)
{
    memset(queue, 0, sizeof(*queue));
    queue->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return queue->wake < 0 ? -errno : 0;
}

void ms_console_queue_wake(struct ms_console_queue *queue)
{
    uint64_t one = 1;
    ssize_t n = write(queue->wake, &one, sizeof(one));
    (void)n;
}

void ms_console_queue_print(struct ms_console_queue *queue, int stream, const char *text, size_t text_b)
{
    if (__atomic_add_fetch(&queue->text_b, text_b, __ATOMIC_RELAXED) > TEXT_MAX_B) {
        __atomic_sub_fetch(&queue->text_b, text_b, __ATOMIC_RELAXED);
        return;
    }
    struct ms_console_text *entry = malloc(sizeof(*entry) + text_b);
    if (entry == NULL) {
        return;
    }
    *entry = (struct ms_console_text){.stream = stream, .text_b = text_b};
    memcpy(entry->text, text, text_b);
    entry->next = __atomic_load_n(&queue->newest, __ATOMIC_RELAXED);
    while (
        !__atomic_compare_exchange_n(&queue->newest, &entry->next, entry, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
    }
    ms_console_queue_wake(queue);
}

struct ms_console_text *ms_console_queue_take(struct ms_console_queue *queue)
{
    uint64_t count;
    ssize_t n = read(queue->wake, &count, sizeof(count));
    (void)n;
    struct ms_console_text *newest = __atomic_exchange_n(&queue->newest, NULL, __ATOMIC_ACQUIRE), *oldest = NULL;
    while (newest != NULL) {
        struct ms_console_text *entry = newest;
        newest = entry->next;
        entry->next = oldest;
        oldest = entry;
        __atomic_sub_fetch(&queue->text_b, entry->text_b, __ATOMIC_RELAXED);
    }
    return oldest;
}
