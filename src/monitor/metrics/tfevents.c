/* SPDX-License-Identifier: Apache-2.0 */
/* TensorBoard event files.
 *
 * Frame: u64 length, u32 masked CRC-32C of the length, payload, u32 masked CRC-32C of the payload; little-endian.
 * Payload: protobuf Event {1: double wall_time, 2: int64 step, 3: string file_version, 5: Summary {1: Value {1: string
 * tag, 2: float simple_value}}}. */
#include "monitor/metrics/tfevents.h"

#include <endian.h>

#define TAG_MAX_B 512

uint32_t mon_crc32c(const void *data, size_t size_b)
{
    static uint32_t table[256];
    if (table[1] == 0) { /* a race is harmless: every thread stores the same values */
        for (uint32_t i = 0; i < 256; i++) {
            uint32_t c = i;
            for (int bit = 0; bit < 8; bit++) {
                c = c & 1 ? c >> 1 ^ 0x82f63b78u : c >> 1;
            }
            table[i] = c;
        }
    }
    const unsigned char *at = data;
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < size_b; i++) {
        crc = table[(crc ^ at[i]) & 0xff] ^ crc >> 8;
    }
    return ~crc;
}

static uint32_t masked(const void *data, size_t size_b)
{
    uint32_t crc = mon_crc32c(data, size_b);
    return htole32((crc >> 15 | crc << 17) + 0xa282ead8u);
}

static void frame(struct ms_buffer *out, const char *payload, size_t size_b)
{
    uint64_t length = htole64(size_b);
    uint32_t crc = masked(&length, sizeof(length));
    ms_buffer_add(out, (const char *)&length, sizeof(length));
    ms_buffer_add(out, (const char *)&crc, sizeof(crc));
    ms_buffer_add(out, payload, size_b);
    crc = masked(payload, size_b);
    ms_buffer_add(out, (const char *)&crc, sizeof(crc));
}

/* ---- the part of protobuf that is needed here ---- */

enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

struct pb_message {
    char bytes[TAG_MAX_B + 128];
    size_t used;
};

static void put_varint(struct pb_message *m, uint64_t value)
{
    do {
        m->bytes[m->used++] = (char)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        value >>= 7;
    } while (value != 0);
}

static void put_bytes(struct pb_message *m, unsigned field, const void *data, size_t size_b)
{
    put_varint(m, field << 3 | BYTES);
    put_varint(m, size_b);
    memcpy(m->bytes + m->used, data, size_b);
    m->used += size_b;
}

static void put_double(struct pb_message *m, unsigned field, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    bits = htole64(bits);
    put_varint(m, field << 3 | FIXED64);
    memcpy(m->bytes + m->used, &bits, sizeof(bits));
    m->used += sizeof(bits);
}

static void put_float(struct pb_message *m, unsigned field, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    bits = htole32(bits);
    put_varint(m, field << 3 | FIXED32);
    memcpy(m->bytes + m->used, &bits, sizeof(bits));
    m->used += sizeof(bits);
}

void mon_tfevents_version(struct ms_buffer *out, double wall_time_s)
{
    static const char version[] = "brain.Event:2";
    struct pb_message event = {.used = 0};
    put_double(&event, 1, wall_time_s);
    put_bytes(&event, 3, version, sizeof(version) - 1);
    frame(out, event.bytes, event.used);
}

void mon_tfevents_scalar(struct ms_buffer *out, double wall_time_s, int64_t step, const char *tag, float value)
{
    struct pb_message event = {.used = 0}, summary = {.used = 0}, item = {.used = 0};
    put_bytes(&item, 1, tag, strnlen(tag, TAG_MAX_B));
    put_float(&item, 2, value);
    put_bytes(&summary, 1, item.bytes, item.used);
    put_double(&event, 1, wall_time_s);
    put_varint(&event, 2 << 3 | VARINT);
    put_varint(&event, (uint64_t)step);
    put_bytes(&event, 5, summary.bytes, summary.used);
    frame(out, event.bytes, event.used);
}
