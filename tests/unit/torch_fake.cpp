/* SPDX-License-Identifier: Apache-2.0 */
// The parts of PyTorch that the recorder uses: the declarations behind the mangled names and layouts, with as much
// behaviour as a test needs. Written from what the headers of 1.13 and later have in common.
#include "torch_fake.h"

#include <array>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#define API __attribute__((visibility("default")))

namespace c10
{
struct Device {
    int8_t type, index;
};
API void reportMemoryUsageToProfiler(void *ptr, int64_t alloc_size, int64_t allocated, int64_t reserved, Device device);
API void reportMemoryUsageToProfiler(void *ptr, int64_t alloc_size, size_t allocated, size_t reserved, Device device);

static bool profiling;
static unsigned reports;

void reportMemoryUsageToProfiler(void *, int64_t, int64_t, int64_t, Device)
{
    reports++;
}
void reportMemoryUsageToProfiler(void *, int64_t, size_t, size_t, Device)
{
    reports++;
}

class API ProfiledCPUMemoryReporter
{
  public:
    void New(void *ptr, size_t size);
    void Delete(void *ptr);
    unsigned calls = 0;
};

void ProfiledCPUMemoryReporter::New(void *ptr, size_t size)
{
    calls++;
    if (profiling) {
        reportMemoryUsageToProfiler(ptr, static_cast<int64_t>(size), size_t{0}, size_t{0}, Device{0, -1});
    }
}
void ProfiledCPUMemoryReporter::Delete(void *ptr)
{
    calls++;
    if (profiling) {
        reportMemoryUsageToProfiler(ptr, int64_t{-1}, size_t{0}, size_t{0}, Device{0, -1});
    }
}
static ProfiledCPUMemoryReporter reporter;

enum class DispatchKey : uint16_t { Undefined, Dense, AutogradFunctionality = 23, Count };
API const char *toString(DispatchKey key);

const char *toString(DispatchKey key)
{
    return key == DispatchKey::AutogradFunctionality ? "AutogradFunctionality" : "UNKNOWN_TENSOR_TYPE_ID";
}

static thread_local bool beneath_autograd;

namespace impl
{
API bool tls_is_dispatch_key_excluded(DispatchKey key);

bool tls_is_dispatch_key_excluded(DispatchKey key)
{
    return beneath_autograd && key == DispatchKey::AutogradFunctionality;
}
} // namespace impl

struct OperatorName {
    std::string name, overload_name;
};
struct FunctionSchema {
    OperatorName name;
    std::vector<int> arguments;
};
} // namespace c10

namespace at
{
enum class RecordScope : uint8_t { FUNCTION = 0, NUM_SCOPES = 10 };
struct ObserverContext {
    virtual ~ObserverContext() = default;
};
struct RecordFunction;

class API RecordFunctionCallback
{
  public:
    using Start = std::unique_ptr<ObserverContext> (*)(const RecordFunction &);
    using End = void (*)(const RecordFunction &, ObserverContext *);
    Start start;
    End end;
    double probability = 1.0;
    std::array<bool, static_cast<size_t>(RecordScope::NUM_SCOPES)> scopes = {};
    bool needs_inputs = false, needs_outputs = false, needs_ids = false;
};

struct API RecordFunction {
    const char *name() const;
    uint64_t before[19] = {0};
    std::variant<std::string, std::reference_wrapper<const c10::FunctionSchema>> fn;
    uint64_t after[16] = {0};
};
API uint64_t addGlobalCallback(RecordFunctionCallback callback);
API void removeCallback(uint64_t handle);
API int getStepCallbacks(RecordScope scope);

const char *RecordFunction::name() const
{
    const std::string *text = std::get_if<std::string>(&fn);
    return text != nullptr ? text->c_str()
                           : std::get<std::reference_wrapper<const c10::FunctionSchema>>(fn).get().name.name.c_str();
}

static std::vector<RecordFunctionCallback> callbacks;

uint64_t addGlobalCallback(RecordFunctionCallback callback)
{
    callbacks.push_back(callback);
    return 77;
}
void removeCallback(uint64_t handle)
{
    if (handle == 77) {
        callbacks.clear();
    }
}
int getStepCallbacks(RecordScope)
{
    return 0;
}

static void run(RecordFunction &function, void (*inside)(void))
{
    const std::vector<RecordFunctionCallback> now = callbacks; // those that see the begin also see the end
    for (const RecordFunctionCallback &callback : now) {
        const bool good = callback.scopes[0] && !callback.scopes[1] && callback.probability == 1.0 &&
                          !callback.needs_inputs && !callback.needs_outputs && !callback.needs_ids;
        std::unique_ptr<ObserverContext> context(new ObserverContext);
        context = callback.start(function);
        if (!good || context != nullptr) {
            abort();
        }
    }
    if (inside != nullptr) {
        inside();
    }
    for (const RecordFunctionCallback &callback : now) {
        callback.end(function, nullptr);
    }
}
} // namespace at

void *fake_tensor(size_t size)
{
    void *ptr = size != 0 ? malloc(size) : nullptr;
    c10::reporter.New(ptr, size);
    return ptr;
}

void fake_free(void *ptr)
{
    c10::reporter.Delete(ptr);
    free(ptr);
}

void fake_report(void *ptr, int64_t change, int type, int index, int old)
{
    const c10::Device device{static_cast<int8_t>(type), static_cast<int8_t>(index)};
    if (old) {
        c10::reportMemoryUsageToProfiler(ptr, change, int64_t{0}, int64_t{0}, device);
    } else {
        c10::reportMemoryUsageToProfiler(ptr, change, size_t{0}, size_t{0}, device);
    }
}

void fake_profile(int on)
{
    c10::profiling = on != 0;
}

unsigned fake_calls(void)
{
    return c10::reporter.calls + c10::reports;
}

void fake_beneath_autograd(int on)
{
    c10::beneath_autograd = on != 0;
}

void fake_operator(const char *name, const char *overload)
{
    fake_operator_that(nullptr, name, overload);
}

void fake_operator_that(void (*kernel)(void), const char *name, const char *overload)
{
    static std::vector<std::unique_ptr<c10::FunctionSchema>> schemas; // their addresses must not change
    c10::FunctionSchema *schema = nullptr;
    for (const auto &known : schemas) {
        if (known->name.name == name && known->name.overload_name == overload) {
            schema = known.get();
        }
    }
    if (schema == nullptr) {
        schemas.emplace_back(new c10::FunctionSchema{{name, overload}, {}});
        schema = schemas.back().get();
    }
    at::RecordFunction function;
    function.fn = std::cref(*schema);
    at::run(function, kernel);
}

void fake_range(const char *name)
{
    fake_range_around(nullptr, name);
}

void fake_range_around(void (*inside)(void), const char *name)
{
    at::RecordFunction function;
    function.fn = std::string(name);
    at::run(function, inside);
}

unsigned fake_observers(void)
{
    return static_cast<unsigned>(at::callbacks.size());
}
