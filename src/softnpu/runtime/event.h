/* SPDX-License-Identifier: Apache-2.0 */
/* Events: marks in streams that other streams and the host can wait for.
 *
 * Three flavours, distinguished by how they were created:
 *   plain    aclrtCreateEvent: has a time stamp; waiting for one that was never recorded is an error (107000).
 *   flagged  aclrtCreateEventWithFlag: time stamp only with TIME_LINE. With SYNC, a wait for an unrecorded event waits
 *            for a future record, like a semaphore; aclrtResetEvent re-arms it.
 *   ex       aclrtCreateEventExWithFlag: never recorded counts as complete.
 * Every recording is an object of its own, so a wait refers to the record that was the latest when the wait was queued,
 * whatever happens to the event afterwards. */
#ifndef SOFTNPU_RUNTIME_EVENT_H
#define SOFTNPU_RUNTIME_EVENT_H

#include "base/macros.h"

#include <stdbool.h>
#include <stdint.h>

enum snpu_event_flavour { SNPU_EVENT_PLAIN, SNPU_EVENT_FLAGGED, SNPU_EVENT_EX };

MS_EXPORT int32_t snpu_event_create(const char *function, enum snpu_event_flavour flavour, uint32_t flags, void **out);
MS_EXPORT int32_t snpu_event_destroy(const char *function, void *handle);
/* record_flag: ACL_EVENT_RECORD_*; wait_flag: ACL_EVENT_WAIT_*. */
MS_EXPORT int32_t snpu_event_record(const char *function, void *handle, void *stream, uint32_t record_flag);
MS_EXPORT int32_t snpu_event_reset(const char *function, void *handle, void *stream);
/* timeout_ms: 0 = the aclrtSetOpWaitTimeout value, < 0 = no timeout. */
MS_EXPORT int32_t snpu_event_wait(const char *function, void *stream, void *handle, int64_t timeout_ms,
                                  uint32_t wait_flag);

struct snpu_event_state {
    enum snpu_event_flavour flavour;
    bool recorded;       /* there is a record */
    bool complete;       /* and it has happened */
    int32_t code;        /* not 0: why the record was discarded instead */
    uint32_t open_waits; /* stream waits that have not finished */
    uint64_t counter;    /* device counter at the record */
    bool timed;          /* the event has time stamps */
};
MS_EXPORT int32_t snpu_event_state(const char *function, void *handle, struct snpu_event_state *out);

/* The host waits for the latest record; 507047 after timeout_ms (< 0: no timeout). */
MS_EXPORT int32_t snpu_event_synchronize(const char *function, void *handle, int32_t timeout_ms);

/* Device counter of the latest record: 507000 without a record, 107006 without a time stamp. */
MS_EXPORT int32_t snpu_event_counter(const char *function, void *handle, uint64_t *counter);
MS_EXPORT int32_t snpu_event_id(const char *function, void *handle, uint32_t *id);
MS_EXPORT int32_t snpu_events_available(const char *function, uint32_t *count);

/* Between processes: events created with ACL_EVENT_IPC. handle is 64 bytes. */
MS_EXPORT int32_t snpu_event_export(const char *function, void *handle, void *key64);
MS_EXPORT int32_t snpu_event_import(const char *function, const void *key64, void **out);

#endif
