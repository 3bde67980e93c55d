/* SPDX-License-Identifier: Apache-2.0 */
// Every function of the public headers, with arguments that no program should pass: nothing may crash or hang, and a
// call that fails must say why. Compiled against the function tables (src/abi), so that no function is forgotten.
//
// Arguments are made by type. Handles (void *, pointers to opaque structures) are NULL, numbers, addresses of the
// program's own memory, destroyed and living objects of another kind; sizes and enumerations are small, huge and
// negative. Pointers through which any function of this kind must read or write (a place for a result, a structure, a
// string) are NULL or valid: nobody can check those. Structures behind them are zero.
//
// Each function runs in a process of its own. Without arguments all of them are tried; `hostile NAME` tries one here.
#include "acl/acl.h"
#include "acl/acl_prof.h"
#include "hccl/hccl.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <type_traits>
#include <unistd.h>

namespace
{
enum Mode { kNull, kNumbers, kOwnMemoryHuge, kOwnMemorySmall, kStale, kWrongKind, kModes };
const char *const kModeNames[kModes] = {"NULL",
                                        "numbers as handles",
                                        "own memory, huge sizes",
                                        "own memory, small sizes",
                                        "destroyed handles",
                                        "handles of another kind"};

// Why a function is not tried, or may take its time.
const std::map<std::string, std::string> kExceptions = {
    {"aclAppLog", "takes a format and its arguments, like printf"},
    {"aclrtProcessReport", "waits for reports as long as it is told to, without end for -1"},
    {"aclrtProcessHostFunc", "the same"},
};

alignas(64) char g_room[1 << 20]; // results, structures: always zero before a call
Mode g_mode;
aclrtStream g_stale, g_stream;
aclrtEvent g_event;

long nothing()
{
    return 0;
}

template <typename T, typename = void> struct Complete : std::false_type {
};
template <typename T> struct Complete<T, decltype(void(sizeof(T)))> : std::true_type {
};

void *handle()
{
    switch (g_mode) {
    case kNumbers:
        return reinterpret_cast<void *>(0x123);
    case kOwnMemoryHuge:
    case kOwnMemorySmall:
        return g_room + 4096;
    case kStale:
        return g_stale;
    case kWrongKind:
        return g_event;
    default:
        return nullptr;
    }
}

template <typename T> T number()
{
    switch (g_mode) {
    case kNumbers:
        return static_cast<T>(-1);
    case kOwnMemoryHuge:
        return static_cast<T>(~0ull >> 1);
    case kOwnMemorySmall:
        return static_cast<T>(16);
    case kStale:
        return static_cast<T>(1);
    default:
        return static_cast<T>(0);
    }
}

template <typename T, typename = void> struct Make { // structures by value
    static T value()
    {
        T t;
        std::memset(&t, g_mode == kNumbers ? 0xff : 0, sizeof(t));
        return t;
    }
};
template <typename T> struct Make<T, std::enable_if_t<std::is_arithmetic<T>::value || std::is_enum<T>::value>> {
    static T value()
    {
        if constexpr (std::is_enum<T>::value) {
            return static_cast<T>(number<int>());
        } else {
            return number<T>();
        }
    }
};
template <typename T> struct Make<T *> {
    using Plain = std::remove_cv_t<T>;
    static T *value()
    {
        if constexpr (std::is_function<T>::value) {
            return g_mode == kNull ? nullptr : reinterpret_cast<T *>(reinterpret_cast<void (*)()>(nothing));
        } else if constexpr (std::is_void<T>::value) {
            return static_cast<T *>(handle());
        } else if constexpr (!Complete<Plain>::value) {
            return static_cast<T *>(handle());
        } else if constexpr (std::is_same<T, const char>::value) {
            return g_mode == kNull ? nullptr : "no/such/thing";
        } else {
            return g_mode == kNull ? nullptr : reinterpret_cast<T *>(g_room);
        }
    }
};

struct Outcome {
    bool failed;
    long code;
};

template <typename R, typename... A> Outcome call(R (*function)(A...))
{
    if constexpr (std::is_same<R, aclError>::value || std::is_same<R, HcclResult>::value) {
        long code = static_cast<long>(function(Make<A>::value()...));
        return {code != 0, code};
    } else {
        (void)function(Make<A>::value()...);
        return {false, 0};
    }
}
template <typename R, typename... A> Outcome call(R (*)(A..., ...))
{
    return {false, 0};
}

struct Function {
    const char *name;
    bool acl; // leaves messages for aclGetRecentErrMsg
    Outcome (*attack)();
};

const Function kFunctions[] = {
#define ACL_FN(status, result, name, parameters, arguments) {#name, true, [] { return call(name); }},
#include "abi/acl_functions.h"
#define ACLPROF_FN(status, result, name, parameters) {#name, false, [] { return call(name); }},
#include "abi/aclprof_functions.h"
#define HCCL_FN(status, result, name, parameters) {#name, false, [] { return call(name); }},
#include "abi/hccl_functions.h"
};

// What the parent reads when the child did not come to its end.
struct Progress {
    int mode;
    bool done;
    char complaint[200];
} * g_progress;

void attack(const Function &function)
{
    for (int mode = 0; mode < kModes; mode++) {
        g_progress->mode = mode;
        // Again for each call: the one before may have ended everything.
        (void)aclInit(nullptr);
        if (aclrtSetDevice(0) != ACL_SUCCESS || aclrtCreateStream(&g_stream) != ACL_SUCCESS ||
            aclrtCreateStream(&g_stale) != ACL_SUCCESS || aclrtDestroyStream(g_stale) != ACL_SUCCESS ||
            aclrtCreateEvent(&g_event) != ACL_SUCCESS) {
            snprintf(g_progress->complaint, sizeof(g_progress->complaint),
                     "the device is unusable after the call before");
            return;
        }
        std::memset(g_room, 0, sizeof(g_room));
        (void)aclGetRecentErrMsg();
        (void)aclrtGetLastError(ACL_RT_THREAD_LEVEL);
        g_mode = static_cast<Mode>(mode);
        alarm(10);
        Outcome outcome = function.attack();
        alarm(0);
        const char *text = aclGetRecentErrMsg();
        if (outcome.failed && function.acl && (text == nullptr || text[0] == '\0')) {
            snprintf(g_progress->complaint, sizeof(g_progress->complaint), "fails with %ld and no message",
                     outcome.code);
            return;
        }
    }
    g_progress->done = true;
}

bool survives(const Function &function)
{
    std::memset(g_progress, 0, sizeof(*g_progress));
    fflush(nullptr);
    pid_t child = fork();
    if (child == 0) {
        attack(function);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (g_progress->done && status == 0) {
        return true;
    }
    const char *mode = kModeNames[g_progress->mode];
    if (WIFSIGNALED(status)) {
        printf("%s(%s): %s\n", function.name, mode,
               WTERMSIG(status) == SIGALRM ? "hangs" : strsignal(WTERMSIG(status)));
    } else {
        printf("%s(%s): %s\n", function.name, mode, g_progress->complaint);
    }
    return false;
}
} // namespace

int main(int argc, char **argv)
{
    g_progress = static_cast<Progress *>(
        mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    int tried = 0, bad = 0;
    for (const Function &function : kFunctions) {
        if (argc > 1 && std::strcmp(argv[1], function.name) == 0) {
            attack(function); // in this process, for a debugger
            return 0;
        }
        if (argc == 1 && kExceptions.count(function.name) == 0) {
            tried++;
            bad += !survives(function);
        }
    }
    printf("hostile: %d functions, %d of them bad\n", tried, bad);
    return bad != 0;
}
