/* SPDX-License-Identifier: Apache-2.0 */
/* Contents of device memory for watch.c: waiting for the device, copying, hashing, writing.
 *
 * Called under the lock of watch.c, so one buffer suffices. Runtime functions are looked up when first needed; their
 * effects are not recorded. Failure policy: returns false, and the tensor is recorded as unreadable. */
#include "agent/watch.h"

#include "agent/agent.h"
#include "agent/hooks.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define PIECE_B        ((size_t)4 << 20)
#define WAIT_MS        10000
#define DEVICE_TO_HOST 2

/* ---- hash ---- */

#define POLYNOMIAL 0x42F0E1EBA9EA3693ull
#define SLICES     8

static uint64_t tables[SLICES][256];
static uint32_t tables_made;

/* Two threads may build them at once, with the same result. */
static void make_tables(void)
{
    for (unsigned i = 0; i < 256; i++) {
        uint64_t crc = i;
        for (unsigned bit = 0; bit < 8; bit++) {
            crc = (crc >> 1) ^ ((crc & 1) != 0 ? POLYNOMIAL : 0);
        }
        __atomic_store_n(&tables[0][i], crc, __ATOMIC_RELAXED);
    }
    for (unsigned slice = 1; slice < SLICES; slice++) {
        for (unsigned i = 0; i < 256; i++) {
            uint64_t crc = tables[slice - 1][i];
            __atomic_store_n(&tables[slice][i], (crc >> 8) ^ tables[0][crc & 0xff], __ATOMIC_RELAXED);
        }
    }
    __atomic_store_n(&tables_made, 1, __ATOMIC_RELEASE);
}

uint64_t ms_watch_hash(uint64_t hash, const void *data, size_t length_b)
{
    const unsigned char *s = data;
    uint64_t crc = ~hash;
    if (__atomic_load_n(&tables_made, __ATOMIC_ACQUIRE) == 0) {
        make_tables();
    }
    for (; length_b >= SLICES; s += SLICES, length_b -= SLICES) {
        uint64_t word;
        memcpy(&word, s, sizeof(word)); /* little endian, like every machine with these devices */
        word ^= crc;
        crc = 0;
        for (unsigned i = 0; i < SLICES; i++) {
            crc ^= tables[SLICES - 1 - i][word >> (8 * i) & 0xff];
        }
    }
    for (; length_b > 0; s++, length_b--) {
        crc = (crc >> 8) ^ tables[0][(crc ^ *s) & 0xff];
    }
    return ~crc;
}

/* ---- the runtime ---- */

static ms_function runtime_function(ms_function *found, const char *symbol)
{
    ms_function function = __atomic_load_n(found, __ATOMIC_RELAXED);
    if (function == NULL) {
        function = ms_resolve_symbol(MS_LIBRARY_ACL, symbol);
        __atomic_store_n(found, function, __ATOMIC_RELAXED);
    }
    return function;
}

/* Older releases have no wait with a timeout. */
void ms_watch_synchronize(void *stream)
{
    static ms_function some_stream, stream_for_ever, device, device_for_ever;
    ms_function wait =
        runtime_function(stream != NULL ? &some_stream : &device,
                         stream != NULL ? "aclrtSynchronizeStreamWithTimeout" : "aclrtSynchronizeDeviceWithTimeout");
    if (wait != NULL && stream != NULL) {
        ((int32_t(*)(void *, int32_t))wait)(stream, WAIT_MS);
    } else if (wait != NULL) {
        ((int32_t(*)(int32_t))wait)(WAIT_MS);
    } else if (stream != NULL && (wait = runtime_function(&stream_for_ever, "aclrtSynchronizeStream")) != NULL) {
        ((int32_t(*)(void *))wait)(stream);
    } else if ((wait = runtime_function(&device_for_ever, "aclrtSynchronizeDevice")) != NULL) {
        ((int32_t(*)(void))wait)();
    }
}

bool ms_watch_write(int file, const char *data, size_t length_b)
{
    while (length_b > 0) {
        ssize_t n = syscall(SYS_write, file, data, length_b);
        if (n < 0 && errno != EINTR) {
            return false;
        }
        data += n > 0 ? n : 0;
        length_b -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* Without a runtime it can only be host memory; it may be unmapped, so the kernel copies it. */
static bool copy_host(char *to, uint64_t addr, size_t length_b)
{
    struct iovec local = {to, length_b}, remote = {(void *)(uintptr_t)addr, length_b};
    return syscall(SYS_process_vm_readv, syscall(SYS_getpid), &local, 1, &remote, 1, 0) == (long)length_b;
}

bool ms_watch_read(uint64_t addr, uint64_t size_b, int file, char *to, uint64_t *hash)
{
    static ms_function copy_function;
    static char *buffer;
    ms_function copy = runtime_function(&copy_function, "aclrtMemcpy");
    if (buffer == NULL) {
        void *mapped = mmap(NULL, PIECE_B, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        buffer = mapped != MAP_FAILED ? mapped : NULL;
    }
    if (buffer == NULL) {
        return false;
    }
    *hash = 0;
    for (uint64_t at = 0; at < size_b;) {
        size_t piece_b = size_b - at < PIECE_B ? (size_t)(size_b - at) : PIECE_B;
        bool copied = copy != NULL
                          ? ((int32_t(*)(void *, size_t, const void *, size_t, int))copy)(
                                buffer, PIECE_B, (const void *)(uintptr_t)(addr + at), piece_b, DEVICE_TO_HOST) == 0
                          : copy_host(buffer, addr + at, piece_b);
        if (!copied) {
            return false;
        }
        *hash = ms_watch_hash(*hash, buffer, piece_b);
        if (file >= 0 && !ms_watch_write(file, buffer, piece_b)) {
            return false;
        }
        if (to != NULL) {
            memcpy(to + at, buffer, piece_b);
        }
        at += piece_b;
    }
    return true;
}
