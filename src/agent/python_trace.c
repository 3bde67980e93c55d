/* SPDX-License-Identifier: Apache-2.0 */
/* Open Python calls, and the record of a call that ends.
 *
 * Each thread has a stack of open calls. An end matches the topmost beginning of the same function; calls above it
 * ended without a report and are dropped. Calls that began before the trace are entered, without a time, at the
 * thread's first event; so are all calls in a forked child, whose earlier stamps belong to another process's trace. A
 * function that is still open when the trace ends gets a record then, in the stream of the thread that ends the trace.
 *
 * Stacks outlive their threads and are reused by later ones. Deeper than CALLS_MAX calls, nothing is recorded.
 *
 * Cost of a call: two clock readings and one record of 40 bytes (two for a C function); no allocation, no text
 * (names.c). */
#include "agent/glibc_floor.h"
#include "agent/python_trace.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CALLS_MAX 2048u

struct call {
    uintptr_t what; /* code object, or C function */
    uint64_t start; /* 0: it began before the trace */
    uint32_t flags; /* MS_CALL_* */
    uint32_t more;  /* C function: where it was called; module: number of its name */
    uintptr_t code; /* C function: its caller */
};

struct calls {
    struct calls *next;
    const struct ms_shm *shm; /* that the stamps are for */
    uint32_t epoch;
    uint32_t tid; /* 0: unowned */
    uint32_t depth;
    uint32_t closed; /* depth of the call below which nothing is recorded; 0: none */
    bool importing;  /* that call is an import */
    struct call call[CALLS_MAX];
};

static struct calls *all_calls;
static uint32_t epoch, owner_pid;

/* A trace of a whole program can be larger than anything that reads it: it ends after this many slices. */
#define SLICES_MAX 2000000u
static uint64_t slices, slices_max = SLICES_MAX;
static bool keep_imports;

/* ---- stacks ---- */

static inline uint64_t now(void)
{
    const struct ms_ctx *ctx = ms_ctx_tls; /* the record goes into this thread's stream and uses its clock */
    return ms_stamp(ctx != NULL && ctx->shm == ms_gate->shm ? ctx->clock_kind : ms_gate->shm->clock_kind);
}

static inline void push(struct calls *calls, struct call call)
{
    uint32_t depth = calls->depth++;
    if (MS_UNLIKELY(depth >= CALLS_MAX)) {
        return;
    }
    bool shown = calls->closed == 0 || (calls->importing && (call.flags & MS_CALL_BODY) != 0);
    call.flags |= shown ? 0 : MS_CALL_QUIET;
    calls->call[depth] = call;
    if (MS_UNLIKELY((call.flags & MS_CALL_CLOSED) != 0) && calls->closed == 0) {
        calls->closed = calls->depth;
        calls->importing = (call.flags & MS_CALL_IMPORT) != 0;
    }
}

/* The call that ends; false: its beginning is unknown. */
static inline bool pop(struct calls *calls, uintptr_t what, struct call *out)
{
    if (MS_UNLIKELY(calls->depth > CALLS_MAX)) {
        calls->depth--;
        *out = (struct call){.flags = MS_CALL_QUIET};
        return true;
    }
    for (uint32_t i = calls->depth; i > 0; i--) {
        if (MS_LIKELY(calls->call[i - 1].what == what)) {
            *out = calls->call[i - 1];
            calls->depth = i - 1;
            calls->closed = calls->closed > calls->depth ? 0 : calls->closed;
            return true;
        }
    }
    return false;
}

/* Pushes this thread's current frames except the innermost `skip`, as calls that began before the trace. */
static void push_frames(struct calls *calls, uint32_t skip)
{
    uintptr_t thread = (uintptr_t)ms_python.PyGILState_GetThisThreadState();
    uintptr_t codes[CALLS_MAX / 4];
    uint32_t count = 0;
    void *frame = thread != 0 ? ms_python.PyThreadState_GetFrame((void *)thread) : NULL;
    while (frame != NULL && count < MS_COUNT_OF(codes)) {
        void *code = ms_python.PyFrame_GetCode(frame);
        if (skip > 0) {
            skip--;
        } else {
            codes[count++] = (uintptr_t)code;
        }
        ms_python.Py_DecRef(code); /* its frame keeps it */
        void *back = ms_python.PyFrame_GetBack(frame);
        ms_python.Py_DecRef(frame);
        frame = back;
    }
    if (frame != NULL) {
        ms_python.Py_DecRef(frame);
    }
    while (count > 0) {
        uintptr_t code = codes[--count];
        push(calls, (struct call){.what = code, .flags = ms_call_flags(code)});
    }
}

static struct calls *take_over(uint32_t pid, uint32_t tid)
{
    enum { LOOKS = 8 }; /* other threads checked for each new one */
    static struct calls *look;
    for (struct calls *calls = all_calls; calls != NULL; calls = calls->next) {
        if (calls->tid == tid || calls->tid == 0) {
            return calls;
        }
    }
    for (unsigned i = 0; i < LOOKS && all_calls != NULL; i++) {
        look = look != NULL && look->next != NULL ? look->next : all_calls;
        if (syscall(SYS_tgkill, pid, look->tid, 0) != 0 && errno == ESRCH) {
            return look;
        }
    }
    return NULL;
}

static struct calls *new_calls(uint32_t pid, uint32_t tid)
{
    struct calls *calls = take_over(pid, tid);
    if (calls == NULL) {
        calls = mmap(NULL, sizeof(*calls), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (calls == MAP_FAILED) {
            return NULL;
        }
        calls->next = all_calls;
        all_calls = calls;
    }
    calls->tid = tid;
    calls->epoch = epoch - 1;
    return calls;
}

/* First event of this thread in this trace, or since the process was forked. */
static __attribute__((noinline)) struct calls *reset_calls(uint32_t skip)
{
    struct ms_ctx *ctx = ms_rec_context();
    if (ctx == NULL) {
        return NULL; /* nothing can be recorded */
    }
    int error = errno;
    struct calls *calls = ctx->of_owner;
    uint32_t pid = (uint32_t)syscall(SYS_getpid), tid = (uint32_t)syscall(SYS_gettid);
    if (owner_pid != pid) { /* a child has only this thread */
        for (struct calls *other = all_calls; other != NULL; other = other->next) {
            other->tid = other == calls ? tid : 0;
        }
        owner_pid = pid;
    }
    if (calls == NULL || calls->tid != tid) {
        ctx->of_owner = calls = new_calls(pid, tid);
    }
    if (calls != NULL && calls->epoch != epoch) {
        calls->epoch = epoch;
        calls->depth = calls->closed = 0;
        push_frames(calls, skip);
    }
    if (calls != NULL) {
        calls->shm = ms_gate->shm;
        for (uint32_t i = 0; i < calls->depth && i < CALLS_MAX; i++) {
            calls->call[i].start = 0;
        }
    }
    errno = error;
    return calls;
}

/* skip: frames of calls that are just beginning. */
static inline struct calls *calls_here(uint32_t skip)
{
    const struct ms_ctx *ctx = ms_ctx_tls;
    struct calls *calls = ctx != NULL ? ctx->of_owner : NULL;
    if (MS_UNLIKELY(calls == NULL || calls->epoch != epoch || calls->shm != ms_gate->shm)) {
        return reset_calls(skip);
    }
    return calls;
}

/* ---- records ---- */

enum { NO_START = 1, NO_END = 2, TID_AT = 8 };

static __attribute__((noinline)) bool at_the_limit(void)
{
    if (slices == slices_max) {
        slices++;
        ms_agent_log(
            "the Python trace ends here: it has as many calls as MSMEMSCOPE_TRACE_CALLS allows (2000000 if not "
            "set, 0: no limit). Start it later, with msmemscope.tracer.start(), to trace another part");
    }
    return true;
}

static inline bool is_full(void)
{
    if (MS_LIKELY(slices < slices_max)) {
        slices++;
        return false;
    }
    return at_the_limit();
}

bool ms_calls_keep_imports(void)
{
    return keep_imports;
}

/* Settings of the program's environment. */
static void read_settings(void)
{
    const char *imports = getenv("MSMEMSCOPE_TRACE_IMPORTS"), *limit = getenv("MSMEMSCOPE_TRACE_CALLS");
    char *end = NULL;
    unsigned long long value = limit != NULL ? strtoull(limit, &end, 10) : 0;
    bool valid = limit != NULL && *limit >= '0' && *limit <= '9' && *end == '\0';
    keep_imports = imports != NULL && strcmp(imports, "1") == 0;
    slices_max = !valid ? SLICES_MAX : value != 0 ? value : UINT64_MAX;
    slices = 0;
}

static inline void record(const struct ms_call_name *name, uint64_t start)
{
    struct ms_slot slot;
    if (MS_UNLIKELY(is_full())) {
        return;
    }
    uint32_t id = ms_call_text(name);
    struct ms_p_slice *p = id != 0 ? ms_rec_begin(&slot, sizeof(*p), MS_ORDER_PLAIN) : NULL;
    if (p != NULL) {
        uint64_t end = ms_rec_stamp(&slot);
        *p = (struct ms_p_slice){.start_stamp = start, .end_stamp = end, .text = {.id = id}};
        ms_rec_commit(&slot, MS_R_SLICE, 0, 0, end);
    }
}

/* A call whose beginning or end is unknown; tid: its thread, if not this one. */
static __attribute__((noinline)) void record_part(const struct ms_call_name *name, const char *prefix, uint64_t start,
                                                  uint32_t missing, uint32_t tid)
{
    char text[MS_CALL_TEXT_B];
    struct ms_texts texts = {0};
    struct ms_slot slot;
    ms_texts_add(&texts, text, ms_call_text_put(name, prefix, text, sizeof(text)), false);
    struct ms_p_slice *p = ms_rec_begin(&slot, sizeof(*p) + ms_texts_tail_b(&texts), MS_ORDER_PLAIN);
    if (p != NULL) {
        uint64_t end = ms_rec_stamp(&slot);
        *p = (struct ms_p_slice){
            .start_stamp = start, .end_stamp = (missing & NO_END) != 0 ? 0 : end, .text = texts.ref[0]};
        ms_texts_put(&texts, p + 1);
        ms_rec_commit(&slot, MS_R_SLICE, texts.flags, missing | tid << TID_AT, end);
    }
}

static inline struct ms_call_name name_of(uintptr_t code, const struct call *call)
{
    bool module = (call->flags & MS_CALL_MODULE) != 0 && call->more != 0;
    return (struct ms_call_name){.code = code, .module = call->more, .kind = module ? MS_NAME_MODULE : MS_NAME_CODE};
}

/* ---- events ---- */

void ms_call_enter(uintptr_t code)
{
    bool tracing = ms_tracing();
    struct calls *calls = calls_here(1);
    if (MS_UNLIKELY(calls == NULL)) {
        return;
    }
    uint32_t flags = ms_call_flags(code);
    uint32_t more = MS_UNLIKELY((flags & MS_CALL_MODULE) != 0) && tracing ? ms_call_module() : 0;
    push(calls, (struct call){.what = code, .start = tracing ? now() : 0, .flags = flags, .more = more});
}

void ms_call_leave(uintptr_t code)
{
    bool tracing = ms_tracing();
    struct calls *calls = calls_here(0);
    struct call call;
    if (MS_UNLIKELY(calls == NULL)) {
        return;
    }
    if (MS_UNLIKELY(!pop(calls, code, &call))) {
        call = (struct call){.what = code, .flags = ms_call_flags(code)};
    }
    if ((call.flags & MS_CALL_QUIET) != 0 || !tracing) {
        return;
    }
    struct ms_call_name name = name_of(code, &call);
    if (MS_LIKELY(call.start != 0)) {
        record(&name, call.start);
    } else {
        record_part(&name, "start: ", 0, NO_START, 0);
    }
}

void ms_call_enter_c(uintptr_t code, uintptr_t function, uint32_t at)
{
    bool tracing = ms_tracing();
    struct calls *calls = calls_here(0);
    if (MS_UNLIKELY(calls == NULL)) {
        return;
    }
    const struct call *caller = calls->depth > 0 && calls->depth <= CALLS_MAX ? &calls->call[calls->depth - 1] : NULL;
    uint32_t of_caller = caller != NULL && caller->what == code ? caller->flags : ms_call_flags(code);
    uint32_t quiet = (of_caller & MS_CALL_NO_C) != 0 ? MS_CALL_QUIET : 0;
    push(calls,
         (struct call){
             .what = function, .start = tracing ? now() : 0, .flags = MS_CALL_IS_C | quiet, .more = at, .code = code});
}

void ms_call_leave_c(uintptr_t function)
{
    bool tracing = ms_tracing();
    struct calls *calls = calls_here(0);
    struct call call;
    if (MS_UNLIKELY(calls == NULL) || !pop(calls, function, &call) || (call.flags & MS_CALL_QUIET) != 0 || !tracing ||
        call.start == 0) {
        return;
    }
    /* Two nested slices: readers derive depth from times, so the inner one begins slightly later. */
    uint64_t later = ms_gate->shm->clock_kind == MS_CLOCK_TSC ? 8 : 1;
    struct ms_call_name inner = {.function = function, .kind = MS_NAME_C};
    struct ms_call_name outer = {.code = call.code, .at = call.more, .kind = MS_NAME_LINE};
    record(&inner, call.start + later);
    record(&outer, call.start);
}

/* ---- begin and end ---- */

void ms_calls_begin(void)
{
    read_settings();
    epoch++;
    calls_here(0);
}

static void end_of(struct calls *calls, uint32_t own_tid)
{
    for (uint32_t i = 0; i < calls->depth && i < CALLS_MAX; i++) {
        const struct call *call = &calls->call[i];
        if ((call->flags & (MS_CALL_QUIET | MS_CALL_IS_C)) == 0) {
            struct ms_call_name name = name_of(call->what, call);
            record_part(&name, "stop: ", call->start, NO_END | (call->start == 0 ? NO_START : 0),
                        calls->tid != own_tid ? calls->tid : 0);
        }
    }
    calls->depth = calls->closed = 0;
}

void ms_calls_forget(uintptr_t code)
{
    for (struct calls *calls = all_calls; calls != NULL; calls = calls->next) {
        for (uint32_t i = 0; i < calls->depth && i < CALLS_MAX; i++) {
            if (calls->call[i].what == code) {
                calls->call[i] = (struct call){.flags = MS_CALL_QUIET};
            }
        }
    }
}

void ms_calls_end(void)
{
    uint32_t tid = (uint32_t)syscall(SYS_gettid);
    bool tracing = ms_tracing();
    calls_here(0); /* a forked child discards the others */
    for (struct calls *calls = all_calls; calls != NULL; calls = calls->next) {
        if (tracing && calls->tid != 0 && calls->epoch == epoch) {
            end_of(calls, tid);
        }
    }
    epoch++;
}
