/* SPDX-License-Identifier: Apache-2.0 */
/* See collector.h. Text beyond a limit is dropped: the supervisor may have stopped reading. */
#include "collect/collector.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define TEXT_MAX_B (64u << 20)

int mailbox_open(struct mailbox *box)
{
    memset(box, 0, sizeof(*box));
    box->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return box->wake < 0 ? -errno : 0;
}

void mailbox_wake(struct mailbox *box)
{
    uint64_t one = 1;
    ssize_t n = write(box->wake, &one, sizeof(one));
    (void)n;
}

void mailbox_print(struct mailbox *box, int stream, const char *text, size_t text_b)
{
    if (__atomic_add_fetch(&box->text_b, text_b, __ATOMIC_RELAXED) > TEXT_MAX_B) {
        __atomic_sub_fetch(&box->text_b, text_b, __ATOMIC_RELAXED);
        return;
    }
    struct mail *mail = malloc(sizeof(*mail) + text_b);
    if (mail == NULL) {
        return;
    }
    *mail = (struct mail){.stream = stream, .text_b = text_b};
    memcpy(mail->text, text, text_b);
    mail->next = __atomic_load_n(&box->newest, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&box->newest, &mail->next, mail, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
    }
    mailbox_wake(box);
}

struct mail *mailbox_take(struct mailbox *box)
{
    uint64_t count;
    ssize_t n = read(box->wake, &count, sizeof(count));
    (void)n;
    struct mail *newest = __atomic_exchange_n(&box->newest, NULL, __ATOMIC_ACQUIRE), *oldest = NULL;
    while (newest != NULL) {
        struct mail *mail = newest;
        newest = mail->next;
        mail->next = oldest;
        oldest = mail;
        __atomic_sub_fetch(&box->text_b, mail->text_b, __ATOMIC_RELAXED);
    }
    return oldest;
}
