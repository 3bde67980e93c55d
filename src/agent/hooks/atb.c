/* SPDX-License-Identifier: Apache-2.0 */
/* Hooks of ATB, a C++ library, in C: compiled twice, once for each layout of std::string (MS_ATB_ABI 0 and 1).
 *
 * An operator is atb::Runner::Execute. Kernels inside it are reported by a function that ATB calls to save tensors to
 * files: while kernels are requested, its queries whether to save return true, and saving is replaced by recording.
 * Otherwise the original functions decide.
 *
 * Names without a std::string are the same in both libraries; if both are preloaded, the first one must serve either
 * ABI. So Execute determines at run time which kind of strings this ATB has.
 *
 * Objects of ATB are read by their layout (abi/atb.h), as far as all known generations share it: the pack's tensors and
 * buffers do, its context does not and is not used. Anything that does not look like tensors is skipped. Strings
 * returned by ATB are destroyed by its own destructor.
 *
 * Real functions come from libatb.so itself: the next one in the search order might be our other build. Exceptions
 * thrown by ATB pass through; the operator then has no end. */
#include "agent/glibc_floor.h"

#include "abi/atb.h"
#include "agent/agent_v1.h"
#include "trace/records.h"
#include "trace/shm.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#if MS_ATB_ABI == 0
#define STRING "Ss"
#else
#define STRING "NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
#endif

#define SYMBOL(name) __asm__(name) MS_EXPORT

#define EXECUTE      "_ZN3atb6Runner7ExecuteERNS_17RunnerVariantPackE"
#define IS_SAVE      "_ZNK3atb6Runner12IsSaveTensorEv"
#define SAVE_AFTER   "_ZN3atb5Probe17IsSaveTensorAfterEv"
#define SAVE_BEFORE  "_ZN3atb5Probe18IsSaveTensorBeforeEv"
#define SAVE_DESC    "_ZN3atb5Probe16IsSaveTensorDescEv"
#define IN_RANGE     "_ZN3atb5Probe21IsExecuteCountInRangeEm"
#define SAVE_PARAM   "_ZN3atb9StoreUtil15SaveLaunchParamEPvRKN3Mki11LaunchParamERK" STRING
#define NEED_SAVE    "_ZN3atb5Probe16IsTensorNeedSaveERKSt6vectorIlSaIlEERK" STRING

int ms_atb_execute(void *runner, const void *pack) SYMBOL(EXECUTE);
bool ms_atb_is_save(const void *runner) SYMBOL(IS_SAVE);
bool ms_atb_save_after(void) SYMBOL(SAVE_AFTER);
bool ms_atb_save_before(void) SYMBOL(SAVE_BEFORE);
bool ms_atb_save_desc(void) SYMBOL(SAVE_DESC);
bool ms_atb_in_range(unsigned long count) SYMBOL(IN_RANGE);
void ms_atb_save_param(void *stream, const void *param, const void *path) SYMBOL(SAVE_PARAM);
bool ms_atb_need_save(const void *ids, const void *name) SYMBOL(NEED_SAVE);

/* ---- functions ---- */

enum { ATB_INTERNAL_ERROR = 3 };

typedef void (*function)(void);

struct original {
    const char *symbol;
    function found;
    uint32_t misses; /* failed searches; repeated after 1, 2, 4 ... calls */
};

static function in_atb(const char *symbol)
{
    union {
        void *object;
        function function;
    } cast = {NULL};
    if (dlsym == NULL) {
        return NULL;
    }
    void *library = dlopen("libatb.so", RTLD_LAZY | RTLD_NOLOAD);
    if (library != NULL) { /* stays open: our pointers must not outlive it */
        cast.object = dlsym(library, symbol);
    }
    return cast.function;
}

static function original(struct original *o)
{
    function f = __atomic_load_n(&o->found, __ATOMIC_RELAXED);
    if (MS_UNLIKELY(f == NULL)) {
        uint32_t misses = __atomic_add_fetch(&o->misses, 1, __ATOMIC_RELAXED);
        if ((misses & (misses - 1)) != 0) {
            return NULL;
        }
        int error = errno;
        f = in_atb(o->symbol);
        __atomic_store_n(&o->found, f, __ATOMIC_RELAXED);
        errno = error;
    }
    return f;
}

static const struct ms_agent_v1 *agent(void)
{
    static const struct ms_agent_v1 *found;
    static bool looked;
    if (MS_UNLIKELY(!__atomic_load_n(&looked, __ATOMIC_ACQUIRE))) {
        int error = errno;
        const struct ms_agent_v1 *a = dlsym != NULL ? dlsym(RTLD_DEFAULT, "ms_agent_v1") : NULL;
        if (a != NULL && (a->version != MS_AGENT_V1 || a->size_b < sizeof(*a))) {
            a = NULL;
        }
        found = a;
        __atomic_store_n(&looked, true, __ATOMIC_RELEASE);
        errno = error;
    }
    return found;
}

static uint32_t wants(void)
{
    const struct ms_agent_v1 *a = agent();
    return a != NULL ? a->wants() : 0;
}

static bool wants_kernels(void)
{
    uint32_t wanted = wants();
    return (wanted & MS_WANT_KERNEL) != 0 && (wanted & (MS_WANT_LAUNCH | MS_WANT_ACCESS)) != 0;
}

/* ---- strings ---- */

/* Space for a std::string that a function returns. A C function with such a result takes the address of the result
 * where a C++ function does; a string of ABI 0 fills only the beginning. */
struct returned {
    char *data;
    size_t length;
    char buffer[16];
};
typedef struct returned (*getter)(const void *runner);

struct string_kind {
    struct original name, path, destructor;
    bool cow; /* ABI 0: a pointer to characters that follow a reference-counted head */
};

static struct string_kind kinds[] = {
    {.name = {.symbol = "_ZNK3atb6Runner16GetOperationNameB5cxx11Ev"},
     .path = {.symbol = "_ZNK3atb6Runner16GetSaveTensorDirB5cxx11Ev"},
     .destructor = {.symbol = "_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEED1Ev"}},
    {.name = {.symbol = "_ZNK3atb6Runner16GetOperationNameEv"},
     .path = {.symbol = "_ZNK3atb6Runner16GetSaveTensorDirEv"},
     .destructor = {.symbol = "_ZNSsD1Ev"},
     .cow = true},
};

static struct ms_agent_text text_of(const void *string, bool cow)
{
    const struct std_string_abi1 *s = string;
    if (s->data == NULL) {
        return (struct ms_agent_text){"", 0};
    }
    size_t length = s->length;
    if (cow) {
        struct std_string_abi0_head head;
        memcpy(&head, s->data - sizeof(head), sizeof(head));
        length = head.length;
    }
    return (struct ms_agent_text){s->data, length};
}

/* Without the destructor a string is leaked, which is better than freeing unknown memory. */
static void destroy(struct string_kind *kind, struct returned *string)
{
    void (*destructor)(void *) = (void (*)(void *))original(&kind->destructor);
    if (destructor != NULL) {
        destructor(string);
    }
}

/* ---- tensors ---- */

#define TEXT_MAX_B 254

struct atb_text {
    char bytes[TEXT_MAX_B];
    size_t length_b;
};

static void put(struct atb_text *t, const char *s)
{
    for (; *s != '\0' && t->length_b < TEXT_MAX_B; s++) {
        t->bytes[t->length_b++] = *s;
    }
}

static void put_number(struct atb_text *t, int64_t value)
{
    char digits[24], *s = digits + sizeof(digits);
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    *--s = '\0';
    do {
        *--s = (char)('0' + rest % 10);
    } while ((rest /= 10) != 0);
    if (value < 0) {
        *--s = '-';
    }
    put(t, s);
}

/* Names by number; operators and kernels use the same ones with different prefixes, operators a few more. */
struct atb_type_name {
    int32_t number;
    bool kernels; /* known to kernels too */
    const char *name;
};
static const struct atb_type_name dtypes[] = {
    {0, true, "FLOAT"},   {1, true, "FLOAT16"},    {2, true, "INT8"},        {3, true, "INT32"},
    {4, true, "UINT8"},   {6, true, "INT16"},      {7, true, "UINT16"},      {8, true, "UINT32"},
    {9, true, "INT64"},   {10, true, "UINT64"},    {11, true, "DOUBLE"},     {12, true, "BOOL"},
    {13, true, "STRING"}, {16, true, "COMPLEX64"}, {17, true, "COMPLEX128"}, {27, true, "BF16"},
    {29, false, "INT4"},  {30, false, "UINT1"},    {33, false, "COMPLEX32"},
};
static const struct atb_type_name formats[] = {
    {0, true, "NCHW"},        {1, true, "NHWC"},         {2, true, "ND"},        {3, true, "NC1HWC0"},
    {4, true, "FRACTAL_Z"},   {12, true, "NC1HWC0_C04"}, {16, true, "HWCN"},     {27, true, "NDHWC"},
    {29, true, "FRACTAL_NZ"}, {30, true, "NCDHW"},       {32, true, "NDC1HWC0"}, {33, true, "FRACTAL_Z_3D"},
    {35, false, "NC"},        {47, false, "NCL"},
};

static const char *name_of(const struct atb_type_name *names, size_t count, int32_t number, bool kernel)
{
    for (size_t i = 0; i < count; i++) {
        if (names[i].number == number && (names[i].kernels || !kernel)) {
            return names[i].name;
        }
    }
    return NULL;
}

static void describe(struct atb_text *t, bool kernel, int32_t dtype, int32_t format, const int64_t *dims,
                     uint64_t count)
{
    const char *dtype_name = name_of(dtypes, MS_COUNT_OF(dtypes), dtype, kernel);
    const char *format_name = name_of(formats, MS_COUNT_OF(formats), format, kernel);
    t->length_b = 0;
    put(t, "dtype:");
    put(t, kernel ? "TENSOR_DTYPE_" : dtype_name != NULL ? "ACL_" : "ACL_DT_");
    put(t, dtype_name != NULL ? dtype_name : "UNDEFINED");
    put(t, ",format:");
    /* One vendor name lacks a part of the prefix. */
    put(t, kernel ? "TENSOR_FORMAT_" : format == 33 ? "ACL_" : "ACL_FORMAT_");
    put(t, format_name != NULL ? format_name : "UNDEFINED");
    put(t, ",shape:[");
    for (uint64_t i = 0; i < count; i++) {
        put_number(t, dims[i]);
        put(t, ",");
    }
    put(t, "]");
}

static void access_to(uint32_t device, uint64_t addr, uint64_t size_b, unsigned type, struct ms_agent_text name,
                      const struct atb_text *t)
{
    agent()->access(MS_POOL_ATB, device, addr, size_b, type, name, (struct ms_agent_text){t->bytes, t->length_b});
}

#define TENSORS_MAX 4096u

static void access_list(uint32_t device, const struct atb_svector_tensor *list, unsigned type,
                        struct ms_agent_text name)
{
    if (list->size > (list->heap != NULL ? TENSORS_MAX : ATB_SVECTOR_INLINE + 1u) || list->size > list->capacity + 1) {
        return; /* not the expected layout */
    }
    const struct atb_tensor *tensors = list->heap != NULL ? list->heap : list->storage;
    for (uint64_t i = 0; i < list->size; i++) {
        const struct atb_tensor_desc *desc = &tensors[i].desc;
        struct atb_text t;
        describe(&t, false, desc->dtype, desc->format, desc->shape.dims,
                 desc->shape.dimNum <= ATB_MAX_DIM ? desc->shape.dimNum : 0);
        access_to(device, (uintptr_t)tensors[i].deviceData, tensors[i].dataSize, type, name, &t);
    }
}

static void access_pack(uint32_t device, const struct atb_runner_variant_pack *pack, struct ms_agent_text name)
{
    access_list(device, &pack->inTensors, MS_ACCESS_UNKNOWN, name);
    access_list(device, &pack->outTensors, MS_ACCESS_WRITE, name);
}

static void access_param(uint32_t device, const struct mki_svector_tensor *list, unsigned type,
                         struct ms_agent_text name)
{
    if (list == NULL || list->size > MKI_SVECTOR_INLINE + 1u) {
        return;
    }
    for (uint64_t i = 0; i < list->size; i++) {
        const struct mki_tensor_desc *desc = &list->storage[i].desc;
        struct atb_text t;
        describe(&t, true, desc->dtype, desc->format, desc->dims.storage,
                 desc->dims.size <= MKI_SVECTOR_INLINE + 1u ? desc->dims.size : 0);
        access_to(device, (uintptr_t)list->storage[i].data, list->storage[i].dataSize, type, name, &t);
    }
}

/* ---- --watch ---- */

#define WATCHED_OUTPUTS 64u

static void watch_list(struct ms_agent_text path, const struct atb_svector_tensor *list)
{
    struct ms_agent_range ranges[WATCHED_OUTPUTS];
    size_t count = 0;
    bool sound =
        list->size <= (list->heap != NULL ? TENSORS_MAX : ATB_SVECTOR_INLINE + 1u) && list->size <= list->capacity + 1;
    const struct atb_tensor *tensors = list->heap != NULL ? list->heap : list->storage;
    for (uint64_t i = 0; sound && i < list->size && count < WATCHED_OUTPUTS; i++) {
        ranges[count++] = (struct ms_agent_range){(uintptr_t)tensors[i].deviceData, tensors[i].dataSize};
    }
    agent()->watch_end(path, NULL, ranges, count);
}

static void watch_param(struct ms_agent_text path, const struct mki_svector_tensor *list)
{
    struct ms_agent_range ranges[WATCHED_OUTPUTS];
    size_t count = 0;
    bool sound = list != NULL && list->size <= MKI_SVECTOR_INLINE + 1u;
    for (uint64_t i = 0; sound && i < list->size && count < WATCHED_OUTPUTS; i++) {
        ranges[count++] = (struct ms_agent_range){(uintptr_t)list->storage[i].data, list->storage[i].dataSize};
    }
    agent()->watch_end(path, NULL, ranges, count);
}

/* ---- operators ---- */

static int execute_recorded(int (*real)(void *, const void *), void *runner, const void *pack, uint32_t wanted)
{
    struct string_kind *kind = &kinds[0];
    if (original(&kind->name) == NULL) {
        kind = &kinds[1];
    }
    getter get_name = (getter)original(&kind->name), get_path = (getter)original(&kind->path);
    if (get_name == NULL || get_path == NULL) {
        return real(runner, pack);
    }
    const struct atb_runner_variant_pack *p = pack;
    const struct ms_agent_v1 *a = agent();
    uint32_t device = a->device();
    uint64_t workspace = (uintptr_t)p->workspaceBuffer;
    uint64_t workspace_b = p->workspaceBufferSize + p->intermediateBufferSize;
    struct returned name_string = get_name(runner), path_string = get_path(runner);
    struct ms_agent_text name = text_of(&name_string, kind->cow), path = text_of(&path_string, kind->cow);
    if ((wanted & MS_WANT_LAUNCH) != 0) {
        a->operation(MS_R_OP_START, device, workspace, workspace_b, name, path);
    }
    if ((wanted & MS_WANT_ACCESS) != 0) {
        access_pack(device, p, name);
    }
    a->watch_begin(path, NULL);
    int status = real(runner, pack);
    if ((wanted & MS_WANT_ACCESS) != 0) {
        access_pack(device, p, name);
    }
    watch_list(path, &p->outTensors);
    if ((wanted & MS_WANT_LAUNCH) != 0) {
        a->operation(MS_R_OP_END, device, workspace, workspace_b, name, path);
    }
    destroy(kind, &path_string);
    destroy(kind, &name_string);
    return status;
}

int ms_atb_execute(void *runner, const void *pack)
{
    static struct original o = {.symbol = EXECUTE};
    int (*real)(void *, const void *) = (int (*)(void *, const void *))original(&o);
    if (real == NULL) {
        return ATB_INTERNAL_ERROR;
    }
    uint32_t wanted = wants();
    if ((wanted & MS_WANT_OP) == 0 || (wanted & (MS_WANT_LAUNCH | MS_WANT_ACCESS)) == 0) {
        return real(runner, pack);
    }
    return execute_recorded(real, runner, pack, wanted);
}

/* ---- kernels ---- */

bool ms_atb_is_save(const void *runner)
{
    static struct original o = {.symbol = IS_SAVE};
    bool (*real)(const void *) = (bool (*)(const void *))original(&o);
    return !wants_kernels() && real != NULL && real(runner);
}

#define PROBE(name, symbol_)                                                                                           \
    bool name(void)                                                                                                    \
    {                                                                                                                  \
        static struct original o = {.symbol = symbol_};                                                                \
        bool (*real)(void) = (bool (*)(void))original(&o);                                                             \
        return wants_kernels() || (real != NULL && real());                                                            \
    }
PROBE(ms_atb_save_after, SAVE_AFTER)
PROBE(ms_atb_save_before, SAVE_BEFORE)
PROBE(ms_atb_save_desc, SAVE_DESC)
#undef PROBE

bool ms_atb_in_range(unsigned long count)
{
    static struct original o = {.symbol = IN_RANGE};
    bool (*real)(unsigned long) = (bool (*)(unsigned long))original(&o);
    return wants_kernels() || (real != NULL && real(count));
}

bool ms_atb_need_save(const void *ids, const void *name)
{
    static struct original o = {.symbol = NEED_SAVE};
    bool (*real)(const void *, const void *) = (bool (*)(const void *, const void *))original(&o);
    return wants_kernels() || (real != NULL && real(ids, name));
}

/* ".../0_MatMulKernel/before": the name is the second-to-last component. */
static bool split_path(struct ms_agent_text path, struct ms_agent_text *name, bool *before)
{
    static const struct ms_agent_text endings[] = {{"/before", 7}, {"/after", 6}};
    for (unsigned i = 0; i < 2; i++) {
        size_t ending_b = endings[i].length_b;
        if (path.length_b > ending_b && memcmp(path.text + path.length_b - ending_b, endings[i].text, ending_b) == 0) {
            const char *end = path.text + path.length_b - ending_b, *start = end;
            while (start > path.text && start[-1] != '/') {
                start--;
            }
            *name = (struct ms_agent_text){start, (size_t)(end - start)};
            *before = i == 0;
            return true;
        }
    }
    return false;
}

static void record_kernel(const void *param, struct ms_agent_text path, uint32_t wanted)
{
    static struct original get_in = {.symbol = "_ZN3Mki11LaunchParam12GetInTensorsEv"};
    static struct original get_out = {.symbol = "_ZN3Mki11LaunchParam13GetOutTensorsEv"};
    struct ms_agent_text name;
    bool before;
    if (!split_path(path, &name, &before)) {
        return;
    }
    const struct ms_agent_v1 *a = agent();
    uint32_t device = a->device();
    typedef const struct mki_svector_tensor *(*list_of)(const void *);
    list_of in = (list_of)original(&get_in), out = (list_of)original(&get_out);
    if (before && (wanted & MS_WANT_LAUNCH) != 0) {
        a->operation(MS_R_OP_KERNEL_START, device, 0, 0, name, path);
    }
    if ((wanted & MS_WANT_ACCESS) != 0 && in != NULL && out != NULL) {
        access_param(device, in(param), MS_ACCESS_UNKNOWN, name);
        access_param(device, out(param), MS_ACCESS_WRITE, name);
    }
    struct ms_agent_text kernel = {path.text, (size_t)(name.text + name.length_b - path.text)};
    if (before) {
        a->watch_begin(kernel, NULL);
    } else {
        watch_param(kernel, out != NULL ? out(param) : NULL);
    }
    if (!before && (wanted & MS_WANT_LAUNCH) != 0) {
        a->operation(MS_R_OP_KERNEL_END, device, 0, 0, name, path);
    }
}

void ms_atb_save_param(void *stream, const void *param, const void *path)
{
    static struct original o = {.symbol = SAVE_PARAM};
    if (wants_kernels()) {
        record_kernel(param, text_of(path, MS_ATB_ABI == 0), wants());
        return;
    }
    void (*real)(void *, const void *, const void *) = (void (*)(void *, const void *, const void *))original(&o);
    if (real != NULL) {
        real(stream, param, path);
    }
}
