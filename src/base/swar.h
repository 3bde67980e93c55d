/* SPDX-License-Identifier: Apache-2.0 */
/* Processes eight bytes of text at a time in one register (Lamport, "Multiple byte processing with full-word
 * instructions", 1975), for readers and writers of millions of rows; portable, no vector instructions. The first byte
 * of the text is the lowest byte of the word. */
#ifndef MS_BASE_SWAR_H
#define MS_BASE_SWAR_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define MS_SWAR_B       8u
#define MS_SWAR_EACH(b) (UINT64_C(0x0101010101010101) * (b)) /* the byte b in all eight positions */

static inline uint64_t ms_swar_load(const char *s)
{
    uint64_t word;
    memcpy(&word, s, sizeof(word));
    return le64toh(word);
}

static inline void ms_swar_store(char *s, uint64_t word)
{
    word = htole64(word);
    memcpy(s, &word, sizeof(word));
}

/* Up to eight bytes, zero-extended; reads nothing beyond length_b. */
static inline uint64_t ms_swar_load_part(const char *s, size_t length_b)
{
    uint64_t word = 0;
    if (length_b >= MS_SWAR_B) {
        return ms_swar_load(s);
    }
    for (size_t i = 0; i < length_b; i++) {
        word |= (uint64_t)(unsigned char)s[i] << 8 * i;
    }
    return word;
}

/* 0x80 in each byte that equals c, 0 elsewhere. */
static inline uint64_t ms_swar_equal(uint64_t word, char c)
{
    uint64_t x = word ^ MS_SWAR_EACH((unsigned char)c);
    return ~(((x & MS_SWAR_EACH(0x7f)) + MS_SWAR_EACH(0x7f)) | x | MS_SWAR_EACH(0x7f));
}

/* The same, but only the lowest match is reliable; two operations fewer. */
static inline uint64_t ms_swar_first_equal(uint64_t word, char c)
{
    uint64_t x = word ^ MS_SWAR_EACH((unsigned char)c);
    return (x - MS_SWAR_EACH(0x01)) & ~x & MS_SWAR_EACH(0x80);
}

/* Index of the lowest marked byte; `marks` must not be 0. */
static inline size_t ms_swar_first(uint64_t marks)
{
    return (size_t)__builtin_ctzll(marks) / 8;
}

/* True if all eight bytes are decimal digits. */
static inline bool ms_swar_is_decimal(uint64_t word)
{
    return (word & MS_SWAR_EACH(0xf0)) == MS_SWAR_EACH(0x30) &&
           ((word + MS_SWAR_EACH(0x06)) & MS_SWAR_EACH(0xf0)) == MS_SWAR_EACH(0x30);
}

/* Value of eight decimal digits: combines neighbours, then pairs, then groups of four. */
static inline uint32_t ms_swar_decimal(uint64_t word)
{
    word = (word & MS_SWAR_EACH(0x0f)) * (10 << 8 | 1) >> 8;
    word = (word & 0x00ff00ff00ff00ffull) * (100 << 16 | 1) >> 16;
    return (uint32_t)((word & 0x0000ffff0000ffffull) * (10000ull << 32 | 1) >> 32);
}

/* A number below 10^8 as eight digits of 0 to 9: splits into halves, then pairs, then digits, all at once.
 * Division by 100 and 10 multiplies by the reciprocal, exact for these ranges. */
static inline uint64_t ms_swar_digits(uint32_t number)
{
    uint64_t word = number / 10000 | (uint64_t)(number % 10000) << 32;
    uint64_t quotients = (word * 10486 >> 20) & 0x0000007f0000007full;
    word = quotients | (word - quotients * 100) << 16;
    quotients = (word * 103 >> 10) & 0x000f000f000f000full;
    return quotients | (word - quotients * 10) << 8;
}

/* Value of eight hexadecimal digits; false: some byte is not one. */
static inline bool ms_swar_hex(uint64_t word, uint32_t *out)
{
    uint64_t letters = word >> 6 & MS_SWAR_EACH(0x01);
    uint64_t value = (word & MS_SWAR_EACH(0x0f)) + letters * 9;
    uint64_t spelled = value + MS_SWAR_EACH('0') + letters * ('a' - '9' - 1);
    bool known = spelled == (word | letters * 0x20) &&
                 ((value + MS_SWAR_EACH(0x06)) & MS_SWAR_EACH(0x10)) == letters << 4 &&
                 (value & MS_SWAR_EACH(0x10)) == 0;
    value = (value << 4 | value >> 8) & 0x00ff00ff00ff00ffull;
    value = (value << 8 | value >> 16) & 0x0000ffff0000ffffull;
    *out = (uint32_t)(value << 16 | value >> 32);
    return known;
}

#endif
