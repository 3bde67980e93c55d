/* SPDX-License-Identifier: Apache-2.0 */
/* PyTorch's C++ as code written in C meets it: what its allocators report, and how its observers of operators are
 * called. Names and layouts are those of libc10 and libtorch_cpu from 1.13 on, in the C++ ABI of gcc and clang on
 * x86-64 and aarch64; where versions differ, the text says how.
 *
 * Reports, all of libc10:
 *
 *     c10::ProfiledCPUMemoryReporter::New(void *, size_t)      _ZN3c1025ProfiledCPUMemoryReporter3NewEPvm
 *     c10::ProfiledCPUMemoryReporter::Delete(void *)           _ZN3c1025ProfiledCPUMemoryReporter6DeleteEPv
 *         every CPU tensor's memory, after it was allocated and before it is freed, whether somebody profiles or not
 *     c10::reportMemoryUsageToProfiler(void *, int64_t change, total allocated, total reserved, c10::Device)
 *         _ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE       1.13: totals are int64_t
 *         _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE       later: size_t
 *         other devices' allocators, each allocation and free; files and shared memory that are mapped as CPU tensors;
 *         and CPU tensors a second time, from within New and Delete, while PyTorch's own profiler runs
 *
 * Observers, of libtorch_cpu:
 *
 *     uint64_t at::addGlobalCallback(at::RecordFunctionCallback) _ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE
 *     void at::removeCallback(uint64_t)                                _ZN2at14removeCallbackEm
 *     const char *at::RecordFunction::name() const                     _ZNK2at14RecordFunction4nameEv
 *     const char *at::RecordFunction::overload_name() const            _ZNK2at14RecordFunction13overload_nameEv, recent
 *         versions only
 *
 * Where in a call an operator is called, of libc10:
 *
 *     const char *c10::toString(c10::DispatchKey)                      _ZN3c108toStringENS_11DispatchKeyE
 *     bool c10::impl::tls_is_dispatch_key_excluded(c10::DispatchKey)
 *         _ZN3c104impl28tls_is_dispatch_key_excludedENS_11DispatchKeyE
 *         A key is a uint16_t whose value differs between versions; "AutogradFunctionality" is one in all of them. The
 *         calling thread has it excluded while it is beneath autograd: in a kernel, in a dispatch handler of Python's,
 *         and as long as it is in inference mode. */
#ifndef ABI_C10_H
#define ABI_C10_H

#include <stdbool.h>
#include <stdint.h>

#define C10_ADD_CALLBACK    "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE"
#define C10_REMOVE_CALLBACK "_ZN2at14removeCallbackEm"
#define C10_NAME            "_ZNK2at14RecordFunction4nameEv"
#define C10_OVERLOAD_NAME   "_ZNK2at14RecordFunction13overload_nameEv"
#define C10_KEY_NAME        "_ZN3c108toStringENS_11DispatchKeyE"
#define C10_KEY_EXCLUDED    "_ZN3c104impl28tls_is_dispatch_key_excludedENS_11DispatchKeyE"
#define C10_AUTOGRAD        "AutogradFunctionality"
enum { C10_KEYS = 128 }; /* more than any version has */

/* c10::Device, passed by value in one register. */
struct c10_device {
    int8_t type; /* enum c10_device_type */
    int8_t index;
};

enum c10_device_type {
    C10_CPU = 0,
    C10_CUDA = 1,
    C10_HIP = 6,
    C10_XPU = 12,
    C10_MTIA = 19,
    C10_PRIVATEUSE1 = 20, /* torch_npu, and others from outside of PyTorch's tree */
};

/* at::RecordFunctionCallback, passed by value in memory. Behind the probability stand one bool per scope (0 is
 * FUNCTION: operators and autograd nodes; ten scopes so far) and three more bools: that inputs, outputs, ids are
 * needed. With nothing but scope 0 set the number of scopes does not matter, nor the size, as long as ours is not the
 * smaller one. */
struct c10_record_callback {
    void *start; /* std::unique_ptr<at::ObserverContext>(const at::RecordFunction &) */
    void *end;   /* void(const at::RecordFunction &, at::ObserverContext *) */
    double probability;
    bool scopes[40];
};

/* std::string, of either place; data == buffer while the text is short. */
struct c10_string {
    const char *data;
    uint64_t length;
    char buffer[16];
};

/* The beginning of c10::FunctionSchema, which a RecordFunction of an operator points to. */
struct c10_schema {
    struct c10_string name, overload;
};

#endif
