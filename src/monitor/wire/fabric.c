/* SPDX-License-Identifier: Apache-2.0 */
/* Layout of fabric datagrams and their addresses.
 *
 * Invariant: never reads past the bytes received, whatever the fields claim. No state. */
#include "monitor/wire/fabric.h"

#include "base/macros.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    size_t min_b, max_b;
} types[] = {
#define X(id, text, min, max) {text, min, max},
    MON_FABRIC_TYPES(X)
#undef X
};

static const char *const faults[] = {
#define X(id, text) text,
    MON_FABRIC_FAULTS(X)
#undef X
};

const char *mon_fabric_type_name(enum mon_fabric_type type)
{
    return (size_t)type < MS_COUNT_OF(types) ? types[type].name : "?";
}

const char *mon_fabric_fault_text(enum mon_fabric_fault fault)
{
    return (size_t)fault < MS_COUNT_OF(faults) ? faults[fault] : "?";
}

static int32_t i32_at(const void *payload, size_t at)
{
    int32_t value;
    memcpy(&value, (const char *)payload + at, sizeof(value));
    return value;
}

static int64_t i64_at(const void *payload, size_t at)
{
    int64_t value;
    memcpy(&value, (const char *)payload + at, sizeof(value));
    return value;
}

static enum mon_fabric_fault parse_context(struct mon_fabric_message *m)
{
    if (m->payload_b < 16) {
        return MON_FABRIC_FAULT_PAYLOAD;
    }
    m->context = (struct mon_fabric_context){i32_at(m->payload, 0), i32_at(m->payload, 4), i64_at(m->payload, 8)};
    return m->context.pid > 0 ? MON_FABRIC_FAULT_NONE : MON_FABRIC_FAULT_VALUE;
}

static enum mon_fabric_fault parse_request(struct mon_fabric_message *m)
{
    if (m->payload_b < 16) {
        return MON_FABRIC_FAULT_PAYLOAD;
    }
    int32_t claimed = i32_at(m->payload, 4);
    if (claimed <= 0 || m->payload_b < 16 + 4 * (size_t)claimed) {
        return MON_FABRIC_FAULT_PIDS;
    }
    m->request.mask = i32_at(m->payload, 0);
    m->request.job = i64_at(m->payload, 8);
    m->request.count = claimed < MON_FABRIC_PIDS_MAX ? (unsigned)claimed : MON_FABRIC_PIDS_MAX;
    for (unsigned i = 0; i < m->request.count; i++) {
        m->request.pids[i] = i32_at(m->payload, 16 + 4 * (size_t)i);
    }
    return m->request.pids[0] > 0 ? MON_FABRIC_FAULT_NONE : MON_FABRIC_FAULT_VALUE;
}

static enum mon_fabric_fault parse_status(struct mon_fabric_message *m)
{
    struct mon_fabric_status *status = &m->status;
    *status = (struct mon_fabric_status){i32_at(m->payload, 0), -1, -1, -1, 0, 0, false};
    if (m->payload_b >= 32) {
        status->current_step = i32_at(m->payload, 4);
        status->start_step = i32_at(m->payload, 8);
        status->stop_step = i32_at(m->payload, 12);
        status->pid = i32_at(m->payload, 16);
        status->job = i64_at(m->payload, 24);
        status->steps = true;
    } else {
        status->pid = i32_at(m->payload, 4);
        status->job = i64_at(m->payload, 8);
    }
    return status->pid > 0 ? MON_FABRIC_FAULT_NONE : MON_FABRIC_FAULT_VALUE;
}

enum mon_fabric_fault mon_fabric_parse(const void *datagram, size_t length_b, struct mon_fabric_message *out)
{
    uint64_t size;
    const char *type = (const char *)datagram + 8;
    if (length_b < MON_FABRIC_HEAD_B) {
        return MON_FABRIC_FAULT_SHORT;
    }
    if (length_b > MON_FABRIC_DATAGRAM_B) {
        return MON_FABRIC_FAULT_OVERSIZED;
    }
    memcpy(&size, datagram, sizeof(size));
    if (size != length_b - MON_FABRIC_HEAD_B) {
        return MON_FABRIC_FAULT_SIZE;
    }
    if (memchr(type, '\0', MON_FABRIC_TYPE_B) == NULL) {
        return MON_FABRIC_FAULT_UNTERMINATED;
    }
    size_t i = 0;
    while (i < MS_COUNT_OF(types) && strcmp(type, types[i].name) != 0) {
        i++;
    }
    if (i == MS_COUNT_OF(types)) {
        return MON_FABRIC_FAULT_TYPE;
    }
    if (size < types[i].min_b || size > types[i].max_b) {
        return MON_FABRIC_FAULT_PAYLOAD;
    }
    out->type = (enum mon_fabric_type)i;
    out->payload = (const char *)datagram + MON_FABRIC_HEAD_B;
    out->payload_b = (size_t)size;
    switch (out->type) {
    case MON_FABRIC_CONTEXT:
        return parse_context(out);
    case MON_FABRIC_REQUEST:
        return parse_request(out);
    case MON_FABRIC_TRACE_STATUS:
    case MON_FABRIC_MONITOR_STATUS:
        return parse_status(out);
    default: /* the handler of the data checks the rest */
        return MON_FABRIC_FAULT_NONE;
    }
}

void mon_fabric_head(void *out, enum mon_fabric_type type, uint64_t payload_b)
{
    memset(out, 0, MON_FABRIC_HEAD_B);
    memcpy(out, &payload_b, sizeof(payload_b));
    memcpy((char *)out + 8, types[type].name, strlen(types[type].name));
}

size_t mon_fabric_write_context(void *out, const struct mon_fabric_context *context)
{
    char *payload = (char *)out + MON_FABRIC_HEAD_B;
    mon_fabric_head(out, MON_FABRIC_CONTEXT, 16);
    memcpy(payload, &context->index, 4);
    memcpy(payload + 4, &context->pid, 4);
    memcpy(payload + 8, &context->job, 8);
    return MON_FABRIC_HEAD_B + 16;
}

size_t mon_fabric_write_request(void *out, const struct mon_fabric_request *request)
{
    char *payload = (char *)out + MON_FABRIC_HEAD_B;
    int32_t count = (int32_t)request->count;
    size_t size = 16 + 4 * (size_t)request->count;
    mon_fabric_head(out, MON_FABRIC_REQUEST, size);
    memcpy(payload, &request->mask, 4);
    memcpy(payload + 4, &count, 4);
    memcpy(payload + 8, &request->job, 8);
    memcpy(payload + 16, request->pids, 4 * (size_t)request->count);
    return MON_FABRIC_HEAD_B + size;
}

size_t mon_fabric_write_status(void *out, enum mon_fabric_type type, const struct mon_fabric_status *status)
{
    char *payload = (char *)out + MON_FABRIC_HEAD_B;
    size_t size = status->steps ? 32 : 16;
    mon_fabric_head(out, type, size);
    memset(payload, 0, size);
    memcpy(payload, &status->status, 4);
    if (status->steps) {
        memcpy(payload + 4, &status->current_step, 4);
        memcpy(payload + 8, &status->start_step, 4);
        memcpy(payload + 12, &status->stop_step, 4);
    }
    memcpy(payload + size - 16 + (status->steps ? 0 : 4), &status->pid, 4);
    memcpy(payload + size - 8, &status->job, 8);
    return MON_FABRIC_HEAD_B + size;
}

socklen_t mon_fabric_abstract(struct sockaddr_un *out, const char *name)
{
    size_t length = strlen(name);
    if (length == 0 || length > sizeof(out->sun_path) - 2) {
        return 0;
    }
    memset(out, 0, sizeof(*out));
    out->sun_family = AF_UNIX;
    memcpy(out->sun_path + 1, name, length);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + 2);
}

socklen_t mon_fabric_path(struct sockaddr_un *out, const char *directory, const char *name)
{
    memset(out, 0, sizeof(*out));
    out->sun_family = AF_UNIX;
    int length = snprintf(out->sun_path, sizeof(out->sun_path), "%s/%s", directory, name);
    if (length <= 0 || (size_t)length > sizeof(out->sun_path) - 2) { /* clients allow 106 characters */
        return 0;
    }
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)length + 1);
}

void mon_fabric_address_text(const struct sockaddr_un *address, socklen_t length_b, char *out, size_t out_b)
{
    size_t length =
        length_b > offsetof(struct sockaddr_un, sun_path) ? length_b - offsetof(struct sockaddr_un, sun_path) : 0;
    if (length > sizeof(address->sun_path)) {
        length = sizeof(address->sun_path);
    }
    if (length > 0 && address->sun_path[0] != '\0') { /* a path ends at its NUL */
        length = strnlen(address->sun_path, length);
    }
    size_t used = 0;
    for (; used < length && used + 1 < out_b; used++) {
        unsigned char c = (unsigned char)address->sun_path[used];
        out[used] = c == '\0' ? '@' : c < 0x20 || c >= 0x7f ? '?' : (char)c;
    }
    if (length == 0 && out_b > 10) {
        memcpy(out, "(unnamed)", used = 9);
    }
    if (out_b > 0) {
        out[used] = '\0';
    }
}
