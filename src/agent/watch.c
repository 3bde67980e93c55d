/* See watch.h: what is watched, when, and under which names it is told.
 *
 * Threads: one lock, held while the device is waited for and read. It is taken with a limit of time, so that a thread
 * which the device itself waits for (a callback that runs operators) goes on unwatched instead of for ever. Frees come
 * from anywhere, also from under locks of the runtime: they only set a word. Calls into the runtime from here are not
 * recorded and do not come back here.
 *
 * Invariants: an entry of `watched` is in use while size_b is not 0. An open operator belongs to one thread; the
 * innermost one is the last of that thread in the array. All storage is static and of fixed size: what does not fit is
 * not watched, and the log says so once. */
#include "agent/watch.h"

#include "agent/agent.h"
#include "trace/definitions.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define WATCHED_MAX 128u
#define NAME_MAX_B  255u /* of an operator; names given by the program: 64 */
#define GIVEN_MAX_B 64u
#define POINT_MAX_B 384u
#define OPEN_MAX    64u
#define OUTPUTS_MAX 64u
#define COUNTERS    4096u
#define KEPT_MAX_B  ((uint64_t)256 << 20) /* contents in front of a launch, until the kernel has a name */
#define FILE_NAME_B 250u
#define LOCK_TRIES  100 /* of 100 ms */

enum { BY_OPTION = 1, BY_PROGRAM = 2 };
uint32_t ms_watch_wanted; /* both may be set */

struct text {
    char bytes[POINT_MAX_B];
    size_t length_b;
};

struct watched {
    uint64_t addr, size_b; /* size 0: free */
    int64_t left;          /* times that it is dumped; negative: no limit */
    uint64_t serial;
    uint32_t index, name_b;
    uint32_t freed; /* its memory was given back; set without the lock */
    bool given;     /* by the program */
    bool fresh;     /* not dumped yet */
    char name[NAME_MAX_B];
};
static struct watched watched[WATCHED_MAX];
static uint64_t last_serial;

struct open_op {
    uint32_t tid;
    uint32_t count; /* calls of its name, this one included */
    uint32_t again; /* announced once more inside of itself: by the dispatcher and by a mode of Python's */
    struct text point;
    uint64_t written[WATCHED_MAX / 64]; /* entries of watched that it says it writes */
    uint32_t output_count;
    struct ms_agent_range outputs[OUTPUTS_MAX];
};
static struct open_op open_ops[OPEN_MAX]; /* the first open_count */
static uint32_t open_count;

static struct {
    char start[NAME_MAX_B], end[NAME_MAX_B];
    size_t start_b, end_b;
    uint32_t call;   /* of start; 0: every one */
    uint32_t output; /* UINT32_MAX: all */
    bool full;
    bool active; /* outputs of start are watched */
    uint32_t starts;
} config;

/* ---- lock ---- */

static uint32_t lock_word; /* 0 free, 1 held, 2 held with waiters */

static bool take_lock(void)
{
    uint32_t free_word = 0;
    if (__atomic_compare_exchange_n(&lock_word, &free_word, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        return true;
    }
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (__atomic_exchange_n(&lock_word, 2, __ATOMIC_ACQUIRE) == 0) {
            return true;
        }
        struct timespec wait = {0, 100000000};
        syscall(SYS_futex, &lock_word, FUTEX_WAIT_PRIVATE, 2, &wait, NULL, 0);
    }
    return false;
}

static void release_lock(void)
{
    if (__atomic_exchange_n(&lock_word, 0, __ATOMIC_RELEASE) == 2) {
        syscall(SYS_futex, &lock_word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    }
}

static bool enter(int *error)
{
    *error = errno;
    if (!ms_tracing()) {
        return false;
    }
    ms_self.suppressed++;
    if (!take_lock()) {
        ms_self.suppressed--;
        errno = *error;
        return false;
    }
    return true;
}

static void leave(int error)
{
    release_lock();
    ms_self.suppressed--;
    errno = error;
}

static uint32_t own_tid(void)
{
    return (uint32_t)syscall(SYS_gettid);
}

static void log_once(uint32_t *told, const char *line)
{
    if (__atomic_exchange_n(told, 1, __ATOMIC_RELAXED) == 0) {
        ms_agent_log(line);
    }
}

/* ---- texts ---- */

static void put(struct text *t, const char *s, size_t length_b)
{
    size_t fits = sizeof(t->bytes) - t->length_b;
    fits = fits < length_b ? fits : length_b;
    memcpy(t->bytes + t->length_b, s, fits);
    t->length_b += fits;
}

static void put_number(struct text *t, uint64_t number)
{
    char digits[24], *s = digits + sizeof(digits);
    do {
        *--s = (char)('0' + number % 10);
    } while ((number /= 10) != 0);
    put(t, s, (size_t)(digits + sizeof(digits) - s));
}

/* Operators without a device work on host memory. */
static uint32_t device_now(void)
{
    uint32_t device = ms_device_current();
    return device != MS_DEV_UNKNOWN ? device : MS_DEV_CPU;
}

/* "<device>_<tid>/<name>", as ATB's own paths begin. */
static void put_torch_point(struct text *t, uint32_t tid, const char *name, size_t name_b)
{
    uint32_t device = device_now();
    t->length_b = 0;
    if (device == MS_DEV_CPU) {
        put(t, "cpu", 3);
    } else {
        put_number(t, device);
    }
    put(t, "_", 1);
    put_number(t, tid);
    put(t, "/", 1);
    put(t, name, name_b < NAME_MAX_B ? name_b : NAME_MAX_B);
}

/* The name that options give: without the first component. */
static bool is_named(const struct text *point, const char *name, size_t name_b)
{
    const char *slash = memchr(point->bytes, '/', point->length_b);
    size_t rest_b = slash != NULL ? (size_t)(point->bytes + point->length_b - slash - 1) : 0;
    return name_b != 0 && rest_b == name_b && memcmp(slash + 1, name, name_b) == 0;
}

/* ---- how often a name was called ---- */

struct counters {
    struct {
        uint64_t hash;
        uint32_t count;
    } slots[COUNTERS];
    uint32_t used;
};
static struct counters torch_calls, path_calls; /* paths have numbers of executions in them, there is no end to them */

static uint32_t count_call(struct counters *counters, const struct text *point)
{
    uint64_t hash = 0xcbf29ce484222325ull;
    for (size_t i = 0; i < point->length_b; i++) {
        hash = (hash ^ (unsigned char)point->bytes[i]) * 0x100000001b3ull;
    }
    hash += hash == 0;
    if (counters->used > COUNTERS / 4 * 3) {
        memset(counters, 0, sizeof(*counters));
    }
    for (uint32_t at = (uint32_t)(hash >> 40) % COUNTERS;; at = (at + 1) % COUNTERS) {
        if (counters->slots[at].hash == 0) {
            counters->slots[at].hash = hash;
            counters->used++;
        }
        if (counters->slots[at].hash == hash) {
            return ++counters->slots[at].count;
        }
    }
}

/* ---- what is watched ---- */

static bool is_live(const struct watched *w)
{
    return w->size_b != 0 && w->left != 0 && __atomic_load_n(&w->freed, __ATOMIC_RELAXED) == 0;
}

static bool any_watched(void)
{
    for (uint32_t i = 0; i < WATCHED_MAX; i++) {
        if (is_live(&watched[i])) {
            return true;
        }
    }
    return false;
}

static struct watched *add(uint64_t addr, uint64_t size_b, const char *name, size_t name_b, uint32_t index, bool given)
{
    for (uint32_t i = 0; i < WATCHED_MAX; i++) {
        struct watched *w = &watched[i];
        if (w->size_b == 0) {
            w->name_b = (uint32_t)(name_b < sizeof(w->name) ? name_b : sizeof(w->name));
            memcpy(w->name, name, w->name_b);
            w->index = index;
            w->left = -1;
            w->serial = ++last_serial;
            w->given = given;
            w->fresh = true;
            __atomic_store_n(&w->freed, 0, __ATOMIC_RELAXED);
            __atomic_store_n(&w->addr, addr, __ATOMIC_RELAXED);
            w->size_b = size_b;
            return w;
        }
    }
    return NULL;
}

static void drop(struct watched *w)
{
    w->size_b = 0;
    __atomic_store_n(&w->addr, 0, __ATOMIC_RELAXED);
}

static void drop_outputs(void)
{
    for (uint32_t i = 0; i < WATCHED_MAX; i++) {
        if (watched[i].size_b != 0 && !watched[i].given) {
            drop(&watched[i]);
        }
    }
    config.active = false;
}

void ms_watch_freed(uint64_t addr)
{
    for (uint32_t i = 0; i < WATCHED_MAX && addr != 0; i++) {
        if (__atomic_load_n(&watched[i].addr, __ATOMIC_RELAXED) == addr) {
            __atomic_store_n(&watched[i].freed, 1, __ATOMIC_RELAXED);
        }
    }
}

/* ---- telling ---- */

static void record(const struct watched *w, uint32_t device, const struct text *point, uint32_t flags, uint64_t hash)
{
    struct ms_texts texts = {0};
    struct ms_slot slot;
    ms_texts_add(&texts, point->bytes, point->length_b, false);
    ms_texts_add(&texts, w->name, w->name_b, true);
    struct ms_p_watch *p = ms_rec_begin(&slot, sizeof(*p) + ms_texts_tail_b(&texts), MS_ORDER_PLAIN);
    if (p != NULL) {
        *p = (struct ms_p_watch){.addr = w->addr,
                                 .size_b = w->size_b,
                                 .hash = hash,
                                 .index = w->index,
                                 .flags = flags,
                                 .point = texts.ref[0],
                                 .name = texts.ref[1]};
        ms_texts_put(&texts, p + 1);
        ms_rec_commit(&slot, MS_R_WATCH, texts.flags, device, ms_rec_stamp(&slot));
    }
}

/* A file for the content; -1: none is to be had. */
static int open_file(const struct watched *w, uint32_t device, const struct text *point, bool after)
{
    static uint32_t told;
    struct text name = {.length_b = 0};
    put(&name, point->bytes, point->length_b);
    put(&name, "-", 1);
    put(&name, w->name, w->name_b);
    for (size_t i = 0; i < name.length_b; i++) {
        name.bytes[i] = name.bytes[i] == '/' || name.bytes[i] == '\0' ? '.' : name.bytes[i];
    }
    struct text ending = {.length_b = 0};
    put(&ending, "_", 1);
    put_number(&ending, w->index);
    put(&ending, after ? "_after.bin" : "_before.bin", after ? 10 : 11);
    if (name.length_b + ending.length_b > FILE_NAME_B) {
        name.length_b = FILE_NAME_B - ending.length_b;
    }
    put(&name, ending.bytes, ending.length_b);
    name.bytes[name.length_b] = '\0'; /* FILE_NAME_B is less than its room */
    int fd = ms_session_request_file(ms_agent_session(), device, name.bytes);
    if (fd < 0) {
        log_once(&told, "--watch: the collector opens no file for the content of a tensor; its hash is kept");
    }
    return fd;
}

static void dump_one(struct watched *w, uint32_t device, const struct text *point, uint32_t flags)
{
    bool after = (flags & MS_WATCH_AFTER) != 0;
    int file = config.full ? open_file(w, device, point, after) : -1;
    uint64_t hash = 0;
    flags |= file >= 0 ? MS_WATCH_FULL : 0u;
    flags |= w->fresh ? MS_WATCH_FIRST : 0u;
    if (!ms_watch_read(w->addr, w->size_b, file, NULL, &hash)) {
        flags |= MS_WATCH_UNREADABLE;
        hash = 0;
    }
    if (file >= 0) {
        syscall(SYS_close, file);
    }
    record(w, device, point, flags, hash);
    w->fresh = false;
    w->left -= w->left > 0;
}

/* Other operators that are under way: of other threads, and around the one of this thread. */
static uint32_t others_open(uint32_t tid)
{
    uint32_t flags = 0, own = 0;
    for (uint32_t i = 0; i < open_count; i++) {
        own += open_ops[i].tid == tid;
        flags |= open_ops[i].tid != tid ? MS_WATCH_CONCURRENT : 0u;
    }
    return flags | (own > 1 ? MS_WATCH_IN_OP : 0u);
}

/* Everything that is watched, at a point. op NULL: none of this thread. */
static void dump(const struct text *point, uint32_t count, uint32_t flags, const struct open_op *op, void *stream)
{
    if (!any_watched()) {
        return;
    }
    uint32_t device = device_now();
    struct text tag = *point;
    put(&tag, "_", 1);
    put_number(&tag, count);
    flags |= others_open(own_tid());
    ms_watch_synchronize(stream);
    for (uint32_t i = 0; i < WATCHED_MAX; i++) {
        if (is_live(&watched[i])) {
            bool written = op != NULL && (op->written[i / 64] >> (i % 64) & 1) != 0;
            dump_one(&watched[i], device, &tag, flags | (written ? MS_WATCH_WRITTEN : 0u));
        }
    }
}

/* ---- operators ---- */

static struct open_op *find_open(uint32_t tid)
{
    for (uint32_t i = open_count; i-- > 0;) {
        if (open_ops[i].tid == tid) {
            return &open_ops[i];
        }
    }
    return NULL;
}

static void close_op(struct open_op *op)
{
    size_t behind = (size_t)(open_ops + open_count - (op + 1));
    memmove(op, op + 1, behind * sizeof(*op));
    open_count--;
}

/* The operator of this name that ends; those inside of it have lost their ends. NULL: it has no beginning. */
static struct open_op *find_ending(uint32_t tid, const char *name, size_t name_b)
{
    struct open_op *op = NULL;
    for (uint32_t i = open_count; i-- > 0 && op == NULL;) {
        bool same = open_ops[i].tid == tid && is_named(&open_ops[i].point, name, name_b);
        op = same ? &open_ops[i] : NULL;
    }
    for (struct open_op *inner; op != NULL && (inner = find_open(tid)) != op;) {
        close_op(inner);
    }
    return op;
}

static void begin(const struct text *point, uint32_t tid, struct counters *counters, void *stream)
{
    struct open_op *around = find_open(tid);
    if (around != NULL && around->point.length_b == point->length_b &&
        memcmp(around->point.bytes, point->bytes, point->length_b) == 0) {
        around->again++;
        return;
    }
    uint32_t count = count_call(counters, point);
    if (open_count == OPEN_MAX) {
        close_op(&open_ops[0]); /* its end is lost, most likely */
    }
    struct open_op *op = &open_ops[open_count++];
    op->tid = tid;
    op->count = count;
    op->again = 0;
    op->point = *point;
    memset(op->written, 0, sizeof(op->written));
    op->output_count = 0;
    dump(point, count, 0, NULL, stream);
}

/* The operator has touched this range. */
static void touch(struct open_op *op, struct ms_agent_range range, bool writes, bool output)
{
    for (uint32_t i = 0; writes && i < WATCHED_MAX; i++) {
        const struct watched *w = &watched[i];
        if (w->size_b != 0 && range.addr < w->addr + w->size_b && w->addr < range.addr + range.size_b) {
            op->written[i / 64] |= 1ull << (i % 64);
        }
    }
    for (uint32_t i = 0; output && i < op->output_count; i++) {
        output =
            op->outputs[i].addr != range.addr; /* named twice: as argument and as result, by access and by the end */
    }
    if (output && op->output_count < OUTPUTS_MAX && range.addr != 0 && range.size_b != 0) {
        op->outputs[op->output_count++] = range;
    }
}

static void watch_outputs(struct open_op *op)
{
    static uint32_t told;
    if (config.output != UINT32_MAX && config.output >= op->output_count) {
        config.output = UINT32_MAX; /* no such output: all of them, from now on */
    }
    for (uint32_t i = 0; i < op->output_count; i++) {
        if (config.output != UINT32_MAX && config.output != i) {
            continue;
        }
        const struct watched *w =
            add(op->outputs[i].addr, op->outputs[i].size_b, config.start, config.start_b, i, false);
        if (w != NULL) {
            op->written[(w - watched) / 64] |= 1ull << ((w - watched) % 64);
        } else {
            log_once(&told, "--watch: too many tensors; some are not watched");
        }
    }
}

static void end(struct open_op *op, void *stream)
{
    if (op->again != 0) {
        op->again--;
        return;
    }
    bool starts = is_named(&op->point, config.start, config.start_b) && !config.active &&
                  (config.call == 0 || config.call == op->count);
    bool ends = !starts && is_named(&op->point, config.end, config.end_b);
    if (starts) {
        config.active = true;
        config.starts++;
        watch_outputs(op);
    }
    dump(&op->point, starts ? config.starts : op->count, MS_WATCH_AFTER | (ends ? MS_WATCH_LAST : 0u), op, stream);
    if (ends) {
        drop_outputs();
    }
    close_op(op);
}

/* ---- ATen: marks ---- */

static const char prefix[] = "memscope-aten-";

/* "ptr=1234;is_write=True;...": the value of a key. */
static struct ms_agent_text value_of(const char *s, const char *key)
{
    size_t key_b = strlen(key);
    while (s != NULL) {
        s += strspn(s, " ");
        if (strncmp(s, key, key_b) == 0 && s[key_b] == '=') {
            return (struct ms_agent_text){s + key_b + 1, strcspn(s + key_b + 1, ";}")};
        }
        s = strchr(s, ';');
        s = s != NULL ? s + 1 : NULL;
    }
    return (struct ms_agent_text){"", 0};
}

static uint64_t number_of(struct ms_agent_text text)
{
    uint64_t number = 0;
    for (size_t i = 0; i < text.length_b && text.text[i] >= '0' && text.text[i] <= '9'; i++) {
        number = number * 10 + (uint64_t)(text.text[i] - '0');
    }
    return number;
}

static bool is_true(struct ms_agent_text text)
{
    return text.length_b == 4 && memcmp(text.text, "True", 4) == 0;
}

bool ms_watch_mark_is_end(const char *message)
{
    return message != NULL && strncmp(message, prefix, sizeof(prefix) - 1) == 0 && message[sizeof(prefix) - 1] == 'e';
}

void ms_watch_mark(const char *message, void *stream)
{
    if (message == NULL || strncmp(message, prefix, sizeof(prefix) - 1) != 0) {
        return;
    }
    const char *kind = message + sizeof(prefix) - 1, *colon = strchr(kind, ':');
    int error;
    if (colon == NULL || !enter(&error)) {
        return;
    }
    uint32_t tid = own_tid();
    struct open_op *op = *kind == 'a' ? find_open(tid) : NULL;
    struct ms_agent_text name = {NULL, 0};
    const char *named = strstr(colon, "name=");
    if (named != NULL) {
        name = (struct ms_agent_text){named + 5, strnlen(named + 5, NAME_MAX_B)};
    }
    if (*kind == 'b' && named != NULL) {
        struct text point;
        put_torch_point(&point, tid, name.text, name.length_b);
        begin(&point, tid, &torch_calls, stream);
    } else if (*kind == 'a' && op != NULL) {
        struct ms_agent_range range = {number_of(value_of(colon + 1, "ptr")),
                                       number_of(value_of(colon + 1, "tensor_size"))};
        touch(op, range, is_true(value_of(colon + 1, "is_write")), is_true(value_of(colon + 1, "is_output")));
    } else if (*kind == 'e' && named != NULL && (op = find_ending(tid, name.text, name.length_b)) != NULL) {
        end(op, stream);
    }
    leave(error);
}

void ms_watch_text(const char *text, size_t length_b, bool ends)
{
    char copy[1024];
    if (text != NULL && length_b < sizeof(copy)) {
        memcpy(copy, text, length_b);
        copy[length_b] = '\0';
        if (ms_watch_mark_is_end(copy) == ends) {
            ms_watch_mark(copy, NULL);
        }
    }
}

void ms_watch_access(uint64_t addr, uint64_t size_b, bool writes)
{
    int error;
    if (!writes || !enter(&error)) {
        return;
    }
    struct open_op *op = find_open(own_tid());
    if (op != NULL) {
        touch(op, (struct ms_agent_range){addr, size_b}, true, true);
    }
    leave(error);
}

/* ---- ATB: paths ---- */

static void set_text(struct text *t, struct ms_agent_text from)
{
    t->length_b = 0;
    put(t, from.text, from.length_b < NAME_MAX_B + 32 ? from.length_b : NAME_MAX_B + 32);
}

void ms_watch_begin(struct ms_agent_text path, void *stream)
{
    int error;
    if (!ms_watching() || !enter(&error)) {
        return;
    }
    struct text point;
    set_text(&point, path);
    begin(&point, own_tid(), &path_calls, stream);
    leave(error);
}

void ms_watch_end(struct ms_agent_text path, void *stream, const struct ms_agent_range *outputs, size_t count)
{
    int error;
    if (!ms_watching() || !enter(&error)) {
        return;
    }
    struct text point;
    set_text(&point, path);
    const char *slash = memchr(point.bytes, '/', point.length_b);
    struct open_op *op =
        slash != NULL ? find_ending(own_tid(), slash + 1, (size_t)(point.bytes + point.length_b - slash - 1)) : NULL;
    if (op != NULL) {
        for (size_t i = 0; i < count; i++) {
            touch(op, outputs[i], true, true);
        }
        end(op, stream);
    }
    leave(error);
}

/* ---- kernels: the name is known only while the launch is under way, so what was there before waits for it ---- */

static struct {
    uint32_t tid; /* whose launch it is; 0: none. Launches of other threads meanwhile are passed over. */
    struct text name;
    struct {
        uint64_t serial, hash;
        bool readable;
        uint64_t at; /* of its content in kept */
    } before[WATCHED_MAX];
    char *kept;
    uint64_t kept_b;
} launch;

static void let_launch_go(void)
{
    if (launch.kept != NULL) {
        munmap(launch.kept, launch.kept_b);
        launch.kept = NULL;
    }
    launch.tid = 0;
}

static void keep_contents(void)
{
    static uint32_t told;
    uint64_t all_b = 0;
    for (uint32_t i = 0; i < WATCHED_MAX; i++) {
        launch.before[i].at = all_b;
        all_b += is_live(&watched[i]) ? watched[i].size_b : 0;
    }
    void *kept = all_b <= KEPT_MAX_B ? mmap(NULL, all_b, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                                     : MAP_FAILED;
    if (kept == MAP_FAILED) {
        log_once(&told, "--watch: contents in front of kernels are too large to be kept; their hashes are");
        return;
    }
    launch.kept = kept;
    launch.kept_b = all_b;
}

void ms_watch_launch_before(void)
{
    int error;
    if (!enter(&error)) {
        return;
    }
    if (launch.tid == 0 && any_watched()) {
        launch.tid = own_tid();
        launch.name.length_b = 0;
        if (config.full) {
            keep_contents();
        }
        ms_watch_synchronize(NULL);
        for (uint32_t i = 0; i < WATCHED_MAX; i++) {
            launch.before[i].serial = is_live(&watched[i]) ? watched[i].serial : 0;
            if (launch.before[i].serial != 0) {
                char *to = launch.kept != NULL ? launch.kept + launch.before[i].at : NULL;
                launch.before[i].readable =
                    ms_watch_read(watched[i].addr, watched[i].size_b, -1, to, &launch.before[i].hash);
            }
        }
    }
    leave(error);
}

void ms_watch_launch_named(const char *name, size_t length_b)
{
    if (launch.tid == own_tid()) { /* ours, so nobody else touches it */
        launch.name.length_b = 0;
        put(&launch.name, name, length_b < NAME_MAX_B ? length_b : NAME_MAX_B);
    }
}

static void tell_before(const struct text *tag, uint32_t flags)
{
    uint32_t device = device_now();
    for (uint32_t i = 0; i < WATCHED_MAX; i++) {
        struct watched *w = &watched[i];
        if (launch.before[i].serial == 0 || !is_live(w) || w->serial != launch.before[i].serial) {
            continue;
        }
        bool readable = launch.before[i].readable;
        uint32_t full = 0;
        int file = config.full && launch.kept != NULL && readable ? open_file(w, device, tag, false) : -1;
        if (file >= 0) {
            full = syscall(SYS_write, file, launch.kept + launch.before[i].at, w->size_b) == (long)w->size_b
                       ? MS_WATCH_FULL
                       : 0u;
            syscall(SYS_close, file);
        }
        record(w, device, tag, flags | full | (readable ? 0u : MS_WATCH_UNREADABLE) | (w->fresh ? MS_WATCH_FIRST : 0u),
               readable ? launch.before[i].hash : 0);
        w->fresh = false;
        w->left -= w->left > 0;
    }
}

void ms_watch_launch_after(void)
{
    int error;
    uint32_t tid = own_tid();
    if (!enter(&error)) {
        return;
    }
    if (launch.tid == tid) {
        struct text point;
        put_torch_point(&point, tid, launch.name.length_b != 0 ? launch.name.bytes : "kernel",
                        launch.name.length_b != 0 ? launch.name.length_b : 6);
        uint32_t count = count_call(&torch_calls, &point);
        uint32_t flags = MS_WATCH_KERNEL | (find_open(tid) != NULL ? MS_WATCH_IN_OP : 0u);
        struct text tag = point;
        put(&tag, "_", 1);
        put_number(&tag, count);
        tell_before(&tag, flags);
        bool ends = is_named(&point, config.end, config.end_b);
        dump(&point, count, flags | MS_WATCH_AFTER | (ends ? MS_WATCH_LAST : 0u), NULL, NULL);
        if (ends) {
            drop_outputs();
        }
        let_launch_go();
    }
    leave(error);
}

/* ---- from outside ---- */

static void want(uint32_t who, bool on)
{
    if (on) {
        __atomic_fetch_or(&ms_watch_wanted, who, __ATOMIC_RELAXED);
    } else {
        __atomic_fetch_and(&ms_watch_wanted, ~who, __ATOMIC_RELAXED);
    }
}

int ms_watch_add(uint64_t addr, uint64_t size_b, struct ms_agent_text name, int64_t dumps)
{
    if (addr == 0 || size_b == 0 || addr + size_b < addr || name.text == NULL || name.length_b == 0 ||
        name.length_b > GIVEN_MAX_B) {
        return -EINVAL;
    }
    if (!take_lock()) {
        return -EBUSY;
    }
    struct watched *w = add(addr, size_b, name.text, name.length_b, 0, true);
    if (w != NULL) {
        w->left = dumps < 0 ? -1 : dumps;
        want(BY_PROGRAM, true);
    }
    release_lock();
    return w != NULL ? 0 : -ENOSPC;
}

int ms_watch_remove(uint64_t addr, uint64_t size_b)
{
    bool found = false, more = false;
    if (!take_lock()) {
        return -EBUSY;
    }
    for (uint32_t i = 0; i < WATCHED_MAX; i++) {
        struct watched *w = &watched[i];
        if (w->size_b != 0 && w->given && w->addr == addr && (size_b == 0 || w->size_b == size_b)) {
            drop(w);
            found = true;
        }
        more = more || (w->size_b != 0 && w->given);
    }
    want(BY_PROGRAM, more);
    release_lock();
    return found ? 0 : -ENOENT;
}

static size_t copy_name(char out[NAME_MAX_B], const char *s, size_t length_b)
{
    length_b = length_b < NAME_MAX_B ? length_b : NAME_MAX_B;
    memcpy(out, s, length_b);
    return length_b;
}

/* A number behind the last such character, which is then cut off. */
static uint32_t take_number(const char *s, size_t *length_b, char before, uint32_t none)
{
    size_t at = *length_b;
    uint64_t number = 0, unit = 1;
    while (at > 0 && s[at - 1] >= '0' && s[at - 1] <= '9' && unit < 10000000000ull) {
        number += unit * (uint64_t)(s[--at] - '0');
        unit *= 10;
    }
    if (at == *length_b || at < 2 || s[at - 1] != before || number > UINT32_MAX) {
        return none;
    }
    *length_b = at - 1;
    return (uint32_t)number;
}

void ms_watch_configure(const char *text)
{
    const char *comma = strchr(text, ',');
    if (!take_lock()) {
        return;
    }
    drop_outputs();
    memset(&config, 0, sizeof(config));
    if (comma != NULL) {
        size_t start_b = (size_t)(comma - text), end_b = strcspn(comma + 1, ",");
        config.output = take_number(text, &start_b, ':', UINT32_MAX);
        config.call = take_number(text, &start_b, '#', 0);
        config.start_b = copy_name(config.start, text, start_b);
        config.end_b = copy_name(config.end, comma + 1, end_b);
        config.full = strcmp(comma + 1 + end_b, ",full-content") == 0;
    }
    want(BY_OPTION, comma != NULL);
    release_lock();
}

void ms_watch_attached(void)
{
    static uint32_t owner;
    uint32_t pid = (uint32_t)syscall(SYS_getpid), before = owner;
    owner = pid;
    if (before == 0 || before == pid) {
        return;
    }
    __atomic_store_n(&lock_word, 0, __ATOMIC_RELAXED);
    memset(watched, 0, sizeof(watched));
    memset(&launch, 0, sizeof(launch));
    open_count = 0;
    config.active = false;
    config.starts = 0;
    want(BY_PROGRAM, false);
}
