/* SPDX-License-Identifier: Apache-2.0 */
/* The session string and message validation: pure functions on untrusted input. libc only, no allocation, no system
 * call: the agent's constructor calls the parser. */
#include "collect/protocol/session.h"

#include "base/macros.h"

#include <errno.h>
#include <string.h>

static const struct number_field {
    char key;
    uint16_t offset;
    uint64_t max;
    uint64_t initial;
} numbers[] = {
#define X(key, field, max, initial, meaning) {key, offsetof(struct ms_session, field), max, initial},
    MS_SESSION_NUMBERS(X)
#undef X
};

static const struct text_field {
    char key;
    uint16_t offset;
    uint16_t size_b;
} texts[] = {
    {'s', offsetof(struct ms_session, socket), sizeof(((struct ms_session *)0)->socket)},
    {'f', offsetof(struct ms_session, fallback), sizeof(((struct ms_session *)0)->fallback)},
    {'W', offsetof(struct ms_session, watch), sizeof(((struct ms_session *)0)->watch)},
    {'O', offsetof(struct ms_session, output), sizeof(((struct ms_session *)0)->output)},
    {'S', offsetof(struct ms_session, settings), sizeof(((struct ms_session *)0)->settings)},
};

static uint64_t *number_of(struct ms_session *session, const struct number_field *field)
{
    return (uint64_t *)(void *)((char *)session + field->offset);
}

void ms_session_init(struct ms_session *session)
{
    memset(session, 0, sizeof(*session));
    for (size_t i = 0; i < MS_COUNT_OF(numbers); i++) {
        *number_of(session, &numbers[i]) = numbers[i].initial;
    }
}

/* ---- parsing ---- */

static int read_number(const char *text, size_t length, uint64_t max, uint64_t *out)
{
    uint64_t value = 0;
    if (length == 0) {
        return -EINVAL;
    }
    for (size_t i = 0; i < length; i++) {
        unsigned digit = (unsigned char)text[i] - '0';
        if (digit > 9 || __builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, digit, &value)) {
            return -EINVAL;
        }
    }
    if (value > max) {
        return -EINVAL;
    }
    *out = value;
    return 0;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static int read_text(const char *text, size_t length, char *out, size_t out_b)
{
    size_t n = 0;
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        if (c == '%') {
            int high = i + 2 < length ? hex_digit(text[i + 1]) : -1;
            int low = i + 2 < length ? hex_digit(text[i + 2]) : -1;
            if (high < 0 || low < 0 || (high | low) == 0) {
                return -EINVAL;
            }
            c = (char)(high << 4 | low);
            i += 2;
        }
        if (n + 1 >= out_b) {
            return -EINVAL;
        }
        out[n++] = c;
    }
    memset(out + n, 0, out_b - n);
    return 0;
}

static int read_field(const char *text, size_t length, struct ms_session *out)
{
    if (length < 2 || text[1] != '=') {
        return -EINVAL;
    }
    for (size_t i = 0; i < MS_COUNT_OF(numbers); i++) {
        if (numbers[i].key == text[0]) {
            return read_number(text + 2, length - 2, numbers[i].max, number_of(out, &numbers[i]));
        }
    }
    for (size_t i = 0; i < MS_COUNT_OF(texts); i++) {
        if (texts[i].key == text[0]) {
            return read_text(text + 2, length - 2, (char *)out + texts[i].offset, texts[i].size_b);
        }
    }
    return 0;
}

static bool is_socket_name(const char *text)
{
    return strlen(text) == 32 && strspn(text, "0123456789abcdef") == 32;
}

int ms_session_parse(const char *text, struct ms_session *out)
{
    if (text == NULL) {
        return -EINVAL;
    }
    size_t length = strnlen(text, MS_SESSION_MAX_B);
    size_t end = strcspn(text, ";");
    uint64_t version;
    if (length == MS_SESSION_MAX_B || read_number(text, end, UINT32_MAX, &version) != 0 || version == 0) {
        return -EINVAL;
    }
    if (version != MS_SESSION_VERSION) {
        return -EPROTONOSUPPORT;
    }
    struct ms_session session;
    ms_session_init(&session);
    for (text += end; *text == ';'; text += end) {
        text++;
        end = strcspn(text, ";");
        if (end > 0 && read_field(text, end, &session) != 0) {
            return -EINVAL;
        }
    }
    if (!is_socket_name(session.socket)) {
        return -EINVAL;
    }
    *out = session;
    return 0;
}

/* ---- formatting: counts characters that did not fit, like snprintf ---- */

struct sink {
    char *out;
    size_t out_b, length;
};

static void put(struct sink *sink, char c)
{
    if (sink->length + 1 < sink->out_b) {
        sink->out[sink->length] = c;
        sink->out[sink->length + 1] = '\0';
    }
    sink->length++;
}

static void put_number(struct sink *sink, uint64_t value)
{
    char digits[20];
    size_t n = 0;
    do {
        digits[n++] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    while (n > 0) {
        put(sink, digits[--n]);
    }
}

static void put_text(struct sink *sink, const char *text)
{
    static const char hex[] = "0123456789abcdef";
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < 0x20 || c == 0x7f || c == '%' || c == ';') {
            put(sink, '%');
            put(sink, hex[c >> 4]);
            put(sink, hex[c & 15]);
        } else {
            put(sink, (char)c);
        }
    }
}

size_t ms_session_format(const struct ms_session *session, char *out, size_t out_b)
{
    struct sink sink = {out, out_b, 0};
    if (out_b > 0) {
        out[0] = '\0';
    }
    put_number(&sink, MS_SESSION_VERSION);
    for (size_t i = 0; i < MS_COUNT_OF(texts); i++) {
        const char *text = (const char *)session + texts[i].offset;
        if (*text != '\0') {
            put(&sink, ';');
            put(&sink, texts[i].key);
            put(&sink, '=');
            put_text(&sink, text);
        }
    }
    for (size_t i = 0; i < MS_COUNT_OF(numbers); i++) {
        uint64_t value = *(const uint64_t *)(const void *)((const char *)session + numbers[i].offset);
        if (value != numbers[i].initial) {
            put(&sink, ';');
            put(&sink, numbers[i].key);
            put(&sink, '=');
            put_number(&sink, value);
        }
    }
    return sink.length;
}

/* ---- messages ---- */

int ms_message_check(const void *message, size_t size_b)
{
    struct ms_message head;
    if (size_b < sizeof(head)) {
        return -EPROTO;
    }
    memcpy(&head, message, sizeof(head));
    if (head.magic != MS_MESSAGE_MAGIC || head.version != MS_MESSAGE_VERSION || head.length_b != size_b ||
        size_b > MS_MESSAGE_MAX_B) {
        return -EPROTO;
    }
    size_t needed = SIZE_MAX;
    switch (head.kind) {
    case MS_MESSAGE_HELLO:
        if (size_b >= sizeof(struct ms_hello)) {
            struct ms_hello hello;
            memcpy(&hello, message, sizeof(hello));
            if (hello.pid != 0 && hello.exe_b <= MS_EXE_MAX_B && hello.command_b <= MS_COMMAND_MAX_B) {
                needed = sizeof(hello) + hello.exe_b + hello.command_b;
            }
        }
        break;
    case MS_MESSAGE_REQUEST:
        if (size_b >= sizeof(struct ms_request)) {
            struct ms_request request;
            memcpy(&request, message, sizeof(request));
            if (request.kind != 0 && request.text_b <= MS_REQUEST_TEXT_B) {
                needed = sizeof(request) + request.text_b;
            }
        }
        break;
    case MS_MESSAGE_REPLY:
        if (size_b >= sizeof(struct ms_reply)) {
            struct ms_reply reply;
            memcpy(&reply, message, sizeof(reply));
            if (reply.text_b <= MS_REQUEST_TEXT_B) {
                needed = sizeof(reply) + reply.text_b;
            }
        }
        break;
    default:
        break;
    }
    return needed == size_b ? head.kind : -EPROTO;
}
