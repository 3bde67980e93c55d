/* SPDX-License-Identifier: Apache-2.0 */
/* Export by OTLP over HTTP (--use_otlp): bounded queue, bounded retries, never blocks. */
#ifndef MON_METRICS_BACKEND_OTLP_H
#define MON_METRICS_BACKEND_OTLP_H

#include <event2/event.h>
#include <stddef.h>
#include <stdint.h>

struct mon_otlp;

struct mon_otlp_options {
    const char *endpoint; /* http://host:port or https://...; /v1/metrics is appended if missing */
    const char *headers;  /* name=value,name=value */
    const char *ca_file, *certificate_file, *key_file; /* for https; "" or NULL: system CAs, none, none */
    int timeout_ms;
    size_t max_queue; /* maximum number of queued requests */
    int retry_ms;     /* first delay between retries; doubles up to 30 s. 0: 1 s */
};

/* 0, or -EINVAL with the reason in error. */
int mon_otlp_open(struct event_base *base, const struct mon_otlp_options *options, struct mon_otlp **out, char *error,
                  size_t error_b);
void mon_otlp_close(struct mon_otlp *otlp); /* discards and counts queued requests */

/* Queues the current state of the store for sending. */
void mon_otlp_export(struct mon_otlp *otlp, const char *service, const char *version);
size_t mon_otlp_waiting(const struct mon_otlp *otlp);

#endif
