/* SPDX-License-Identifier: Apache-2.0 */
/* Events of any kind in any order, through the model into every single-file format: overlapping addresses, maps of
 * handles that do not exist, frees without allocations, names of any bytes. Each event is 8 bytes of input. */
#include "memscope/export/exporter.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_b);

#define FORMATS_MAX 8

static struct ms_text any_stack(void *self, uint32_t id)
{
    static const struct ms_text stacks[] = {{.s = "", .length_b = 0},
                                            {.s = "lib.so(f+0x1) [0x2] at a.c:3\n\nx", .length_b = 31},
                                            {.s = "a.py(3): f\nb.py(x): g\n\xff(\n", .length_b = 26}};
    (void)self;
    return stacks[id % 3];
}

/* few addresses, so that they collide */
static struct ms_event make_event(const uint8_t *bytes, uint64_t index, const char *text)
{
    static const uint8_t kinds[] = {
        MS_R_HAL_ALLOC, MS_R_HAL_FREE,      MS_R_HAL_CREATE,      MS_R_HAL_RELEASE, MS_R_RESERVE,
        MS_R_MAP,       MS_R_UNMAP,         MS_R_POOL_ALLOC,      MS_R_POOL_FREE,   MS_R_POOL_ALLOC,
        MS_R_POOL_FREE, MS_R_HOST_REGISTER, MS_R_POOL_TOTAL,      MS_R_MARK,        MS_R_RANGE_START,
        MS_R_RANGE_END, MS_R_OP_START,      MS_R_OP_END,          MS_R_ACCESS,      MS_R_OOM,
        MS_R_SNAPSHOT,  MS_R_STEP,          MS_R_HAL_FREE_FAILED, MS_R_ADDR_LABEL,  MS_R_HOST_UNREGISTER};
    struct ms_event e = {
        .index = index, .time_ns = 1000 + index * 10, .pid = 7, .tid = bytes[1] % 3, .stream = bytes[1] % 3};
    e.kind = kinds[bytes[0] % sizeof(kinds)];
    e.pool = bytes[2] % (MS_POOL_HAL + 1);
    e.device = bytes[2] / 64 == 3 ? MS_DEV_UNKNOWN : bytes[2] / 64;
    e.addr = (uint64_t)(bytes[3] % 64) * 0x1000 + (bytes[3] == 255 ? UINT64_MAX - 0x100000 : 0);
    e.size_b = (uint64_t)(bytes[4] % 32) * 0x800 + (bytes[4] == 255 ? 1ull << 60 : 0);
    e.handle = (uint64_t)(bytes[5] % 16) * 0x1000;
    e.c_stack = bytes[6] % 4;
    e.python_stack = bytes[6] / 16 % 4;
    e.text = (struct ms_text){.s = text, .length_b = bytes[7] % 9};
    e.text2 = (struct ms_text){.s = text, .length_b = bytes[7] % 5};
    return e;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_b)
{
    struct ms_model_options options = MS_MODEL_OPTIONS_DEFAULT;
    struct ms_model *model;
    struct ms_export *exports[FORMATS_MAX];
    size_t count = 0;
    options.events |= MS_WANT_ACCESS;
    options.analysis |= MS_ANALYSIS_DECOMPOSE | MS_ANALYSIS_OOM;
    options.cpu = true;
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (fd < 0 || ms_model_new(&options, &model) != 0) {
        abort();
    }
    for (const struct ms_exporter *format = ms_exporters; format->name != NULL; format++) {
        struct ms_export_target target = {.fd = fd,
                                          .pid = 7,
                                          .process = "fuzz",
                                          .stacks = {.c_stack = any_stack, .python_stack = any_stack},
                                          .model = model};
        if (format->stem != NULL && ms_export_open(format, &target, &exports[count]) == 0 &&
            ms_model_add(model, ms_export_consumer(exports[count++])) != 0) {
            abort();
        }
    }
    for (size_t at = 0; at + 16 <= size_b; at += 8) {
        struct ms_event event = make_event(data + at, at / 8, (const char *)data + at + 8);
        ms_model_feed(model, &event);
    }
    ms_model_end(model);
    for (size_t i = 0; i < count; i++) {
        if (ms_export_close(exports[i]) != 0) {
            abort(); /* only out of memory may fail */
        }
    }
    ms_model_free(model);
    close(fd);
    return 0;
}
