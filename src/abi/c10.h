/* SPDX-License-Identifier: Apache-2.0 */
/* PyTorch's C++ interface as seen from C: the reports of its allocators, and the callbacks of its operator observers.
 * Names and layouts are those of libc10 and libtorch_cpu from 1.13 on, in the C++ ABI of gcc and clang on x86-64 and
 * aarch64; differences between versions are noted.
 *
 * Allocation reports, in libc10:
 *
 *     c10::ProfiledCPUMemoryReporter::New(void *, size_t)      _ZN3c1025ProfiledCPUMemoryReporter3NewEPvm
 *     c10::ProfiledCPUMemoryReporter::Delete(void *)           _ZN3c1025ProfiledCPUMemoryReporter6DeleteEPv
 *         every CPU tensor's memory, after it is allocated and before it is freed, whether or not a profiler runs
 *     c10::reportMemoryUsageToProfiler(void *, int64_t change, total allocated, total reserved, c10::Device)
 *         _ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE       1.13: totals are int64_t
 *         _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE       later: size_t
 *         each allocation and free of other devices' allocators; files and shared memory mapped as CPU tensors; and
 *         CPU tensors a second time, from within New and Delete, while PyTorch's own profiler runs
 *
 * Operator observers, in libtorch_cpu:
 *
 *     uint64_t at::addGlobalCallback(at::RecordFunctionCallback) _ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE
 *     void at::removeCallback(uint64_t)                                _ZN2at14removeCallbackEm
 *     const char *at::RecordFunction::name() const                     _ZNK2at14RecordFunction4nameEv
 *     const char *at::RecordFunction::overload_name() const            _ZNK2at14RecordFunction13overload_nameEv, recent
 *         versions only
 *
 * Whether an operator is called below autograd, in libc10:
 *
 *     const char *c10::toString(c10::DispatchKey)                      _ZN3c108toStringENS_11DispatchKeyE
 *     bool c10::impl::tls_is_dispatch_key_excluded(c10::DispatchKey)
 *         _ZN3c104impl28tls_is_dispatch_key_excludedENS_11DispatchKeyE
 *         A key is a uint16_t whose value differs between versions; "AutogradFunctionality" is one in all of them. It
 *         is excluded on the calling thread while the thread is below autograd: in a kernel, in a Python dispatch
 *         handler, and in inference mode. */
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
    C10_PRIVATEUSE1 = 20, /* torch_npu, and other back ends outside PyTorch's tree */
};

/* at::RecordFunctionCallback, passed by value in memory. The probability is followed by one bool per scope (0 is
 * FUNCTION: operators and autograd nodes; ten scopes so far) and three more bools: inputs, outputs, ids are needed.
 * If only scope 0 is set, neither the number of scopes nor the size matters, as long as this struct is not the
 * smaller one. */
struct c10_record_callback {
    void *start; /* std::unique_ptr<at::ObserverContext>(const at::RecordFunction &) */
    void *end;   /* void(const at::RecordFunction &, at::ObserverContext *) */
    double probability;
    bool scopes[40];
};

/* std::string; data == buffer if the text is short. */
struct c10_string {
    const char *data;
    uint64_t length;
    char buffer[16];
};

/* The beginning of c10::FunctionSchema, to which the RecordFunction of an operator points. */
struct c10_schema {
    struct c10_string name, overload;
};

#endif
