/* SPDX-License-Identifier: Apache-2.0 */
/* Datagrams of the IPC fabric and statistics per operator: nothing is read past the input, and accepted messages are
 * consistent. */
#include "monitor/wire/fabric.h"
#include "monitor/wire/opstats.h"

#include <stdlib.h>
#include <string.h>

#define MUST(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

static void check_statistics(const void *payload, size_t payload_b)
{
    struct mon_opstats_head head;
    struct mon_opstats_reader reader;
    struct mon_opstats_operator op;
    unsigned operators = 0;
    if (mon_opstats_open(payload, payload_b, &head, &reader) != 0) {
        return;
    }
    while (mon_opstats_next(&reader, &op) == 1) {
        uint64_t total = 0;
        for (unsigned i = 0; i < op.bucket_count; i++) {
            unsigned bucket;
            uint32_t count;
            mon_opstats_bucket(&op, i, &bucket, &count);
            MUST(bucket < MON_OPSTATS_BUCKETS && count > 0);
            total += count;
        }
        MUST(op.bucket_count == 0 || total == op.count);
        MUST(op.name_b <= MON_OPSTATS_NAME_B);
        operators++;
    }
    MUST(operators == head.operators && reader.at == reader.end);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mon_fabric_message message;
    check_statistics(data, size);
    if (mon_fabric_parse(data, size, &message) != MON_FABRIC_FAULT_NONE) {
        return 0;
    }
    MUST(message.type < MON_FABRIC_TYPE_COUNT);
    MUST((const uint8_t *)message.payload + message.payload_b == data + size);
    switch (message.type) {
    case MON_FABRIC_REQUEST:
        MUST(message.request.count >= 1 && message.request.count <= MON_FABRIC_PIDS_MAX && message.request.pids[0] > 0);
        break;
    case MON_FABRIC_CONTEXT:
        MUST(message.context.pid > 0);
        break;
    case MON_FABRIC_TRACE_STATUS:
    case MON_FABRIC_MONITOR_STATUS:
        MUST(message.status.pid > 0);
        break;
    default:
        check_statistics(message.payload, message.payload_b);
        break;
    }
    return 0;
}
