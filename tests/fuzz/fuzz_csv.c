/* SPDX-License-Identifier: Apache-2.0 */
/* CSV dumps with any quotes, line ends, headers and numbers. The first byte decides whether a header is prepended, so
 * that rows are reached. */
#include "dump_fuzz.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_b)
{
    static const char header[] = "ID,Event,Event Type,Name,Timestamp(ns),Process Id,Thread Id,Device Id,Ptr,Attr,"
                                 "Call Stack(Python),Call Stack(C)\n";
    if (size_b == 0 || data[0] % 2 == 0) {
        read_dump("csv", data, size_b);
        return 0;
    }
    uint8_t *text = malloc(sizeof(header) + size_b);
    if (text == NULL) {
        return 0;
    }
    memcpy(text, header, sizeof(header) - 1);
    memcpy(text + sizeof(header) - 1, data + 1, size_b - 1);
    read_dump("csv", text, sizeof(header) - 1 + size_b - 1);
    free(text);
    return 0;
}
