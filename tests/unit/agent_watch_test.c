/* SPDX-License-Identifier: Apache-2.0 */
/* --watch inside the target: what is watched, when, and under which names it is recorded; invalid sizes and names; and
 * all of it from several threads at once, while memory is freed. The hooks that use it have their own tests. */
#include "agent_fixture.h"

#include "agent/watch.h"

#include "acl/acl.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define OK(call)   assert_int_equal((call), 0)
#define TEXT(text) ((struct ms_agent_text){text, sizeof(text) - 1})
enum { CANARY = 4711, SIZE = 4096 };

static struct process *self;
static char *tensors; /* two of them, on the device */

static uint64_t addr_of(unsigned i)
{
    return (uintptr_t)tensors + (uint64_t)i * SIZE;
}

static void fill(unsigned i, int byte)
{
    char content[SIZE];
    memset(content, byte, sizeof(content));
    OK(aclrtMemcpy((void *)addr_of(i), SIZE, content, SIZE, ACL_MEMCPY_HOST_TO_DEVICE));
}

static uint64_t hash_of(int byte)
{
    char content[SIZE];
    memset(content, byte, sizeof(content));
    return ms_watch_hash(0, content, SIZE);
}

static int set_up(void **state)
{
    void *memory = NULL;
    OK(aclInit(NULL));
    OK(aclrtSetDevice(0));
    self = own_process();
    OK(aclrtMalloc(&memory, 2 * SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    tensors = memory;
    return 0;
}

static int start(void **state)
{
    self->shm->state = MS_STATE_ON;
    self->shm->event_mask = MS_WANT_LAUNCH | MS_WANT_OP; /* no memory events: only WATCH records remain */
    fill(0, 1);
    fill(1, 2);
    skip_records(self);
    errno = CANARY;
    return 0;
}

static int stop(void **state)
{
    ms_watch_configure("");
    ms_watch_remove(addr_of(0), 0);
    ms_watch_remove(addr_of(1), 0);
    return 0;
}

/* ---- operators ---- */

static void begin_op(const char *name)
{
    char text[512];
    snprintf(text, sizeof(text), "memscope-aten-b: name=%s", name);
    ms_watch_mark(text, NULL);
}

static void access_of(uint64_t addr, uint64_t size_b, bool write, bool output)
{
    char text[512];
    snprintf(text, sizeof(text), "memscope-aten-ac:ptr=%llu;is_write=%s;is_output=%s;name=n;tensor_size=%llu",
             (unsigned long long)addr, write ? "True" : "False", output ? "True" : "False", (unsigned long long)size_b);
    ms_watch_mark(text, NULL);
}

static void end_op(const char *name)
{
    char text[512];
    snprintf(text, sizeof(text), "memscope-aten-e: name=%s", name);
    ms_watch_mark(text, NULL);
}

static void run_op(const char *name)
{
    begin_op(name);
    end_op(name);
}

/* An operator whose results are both tensors. */
static void make_tensors(const char *name)
{
    begin_op(name);
    access_of(addr_of(0), SIZE, true, true);
    access_of(addr_of(1), SIZE, true, true);
    end_op(name);
}

/* The next WATCH record: of which tensor, where ("mul_1"), with which content and which flags. */
static void expect_note(unsigned tensor, const char *point, int byte, uint32_t flags)
{
    const struct ms_record *r;
    const struct ms_p_watch *w = next_record(self, MS_R_WATCH, &r);
    char wanted[512];
    snprintf(wanted, sizeof(wanted), "0_%ld/%s", syscall(SYS_gettid), point);
    assert_string_equal(text_of(self, r, &w->point, 0), wanted);
    assert_int_equal(w->addr, addr_of(tensor));
    assert_int_equal(w->flags, flags);
    assert_int_equal(w->hash, (flags & MS_WATCH_UNREADABLE) != 0 ? 0 : hash_of(byte));
    assert_int_equal(r->arg, 0);
}

static void from_start_to_end(void **state)
{
    ms_watch_configure("make,stop");
    run_op("before");
    make_tensors("make");
    expect_note(0, "make_1", 1, MS_WATCH_AFTER | MS_WATCH_FIRST | MS_WATCH_WRITTEN);
    expect_note(1, "make_1", 2, MS_WATCH_AFTER | MS_WATCH_FIRST | MS_WATCH_WRITTEN);
    begin_op("mul");
    access_of(addr_of(1) + 8, 8, true, false);
    fill(1, 3);
    end_op("mul");
    expect_note(0, "mul_1", 1, 0);
    expect_note(1, "mul_1", 2, 0);
    expect_note(0, "mul_1", 1, MS_WATCH_AFTER);
    expect_note(1, "mul_1", 3, MS_WATCH_AFTER | MS_WATCH_WRITTEN);
    run_op("stop");
    expect_note(0, "stop_1", 1, 0);
    expect_note(1, "stop_1", 3, 0);
    expect_note(0, "stop_1", 1, MS_WATCH_AFTER | MS_WATCH_LAST);
    expect_note(1, "stop_1", 3, MS_WATCH_AFTER | MS_WATCH_LAST);
    run_op("mul");
    no_more_records(self);
    assert_int_equal(errno, CANARY);
}

static void one_output_of_one_call(void **state)
{
    ms_watch_configure("pick#2:1,stop");
    make_tensors("pick"); /* the first call does not match */
    no_more_records(self);
    make_tensors("pick");
    expect_note(1, "pick_1", 2, MS_WATCH_AFTER | MS_WATCH_FIRST | MS_WATCH_WRITTEN);
    make_tensors("pick"); /* already watched */
    expect_note(1, "pick_3", 2, 0);
    expect_note(1, "pick_3", 2, MS_WATCH_AFTER | MS_WATCH_WRITTEN);
    no_more_records(self);
}

static void no_such_output(void **state)
{
    ms_watch_configure("odd:7,stop");
    make_tensors("odd");
    expect_note(0, "odd_1", 1, MS_WATCH_AFTER | MS_WATCH_FIRST | MS_WATCH_WRITTEN);
    expect_note(1, "odd_1", 2, MS_WATCH_AFTER | MS_WATCH_FIRST | MS_WATCH_WRITTEN);
    no_more_records(self);
}

static void nested_operators(void **state)
{
    OK(ms_watch_add(addr_of(0), SIZE, TEXT("mine"), -1));
    begin_op("outer");
    begin_op("inner");
    begin_op("lost"); /* never ends */
    end_op("inner");
    end_op("outer");
    end_op("unknown"); /* never began */
    expect_note(0, "outer_1", 1, MS_WATCH_FIRST);
    expect_note(0, "inner_1", 1, MS_WATCH_IN_OP);
    expect_note(0, "lost_1", 1, MS_WATCH_IN_OP);
    expect_note(0, "inner_1", 1, MS_WATCH_AFTER | MS_WATCH_IN_OP);
    expect_note(0, "outer_1", 1, MS_WATCH_AFTER);
    no_more_records(self);
}

static void paths_of_atb(void **state)
{
    ms_watch_configure("7/0_Add,7/1_Mul");
    struct ms_agent_text add = TEXT("0_42/7/0_Add"), mul = TEXT("0_42/7/1_Mul");
    struct ms_agent_range outputs[] = {{addr_of(0), SIZE}, {addr_of(0), SIZE}, {0, SIZE}, {addr_of(1), 0}};
    ms_watch_begin(add, NULL);
    ms_watch_end(add, NULL, outputs, 4); /* one of them is a tensor not named before */
    ms_watch_begin(mul, NULL);
    ms_watch_end(mul, NULL, NULL, 0);
    ms_watch_end(mul, NULL, NULL, 0);
    ms_watch_begin(TEXT("no path"), NULL);
    ms_watch_begin((struct ms_agent_text){"", 0}, NULL);
    ms_watch_end((struct ms_agent_text){"", 0}, NULL, NULL, 0);
    const struct ms_record *r;
    static const char *const points[] = {"0_42/7/0_Add_1", "0_42/7/1_Mul_1", "0_42/7/1_Mul_1"};
    for (unsigned i = 0; i < 3; i++) {
        const struct ms_p_watch *w = next_record(self, MS_R_WATCH, &r);
        assert_string_equal(text_of(self, r, &w->point, 0), points[i]);
        assert_int_equal(w->addr, addr_of(0));
    }
    no_more_records(self);
}

/* ---- kernels ---- */

static void kernel_names_are_known_late(void **state)
{
    ms_watch_configure(",stop");
    OK(ms_watch_add(addr_of(0), SIZE, TEXT("mine"), -1));
    ms_watch_launch_before();
    fill(0, 5);
    ms_watch_launch_named("axpy", 4);
    ms_watch_launch_after();
    ms_watch_launch_after(); /* of a launch that began before anything was watched */
    expect_note(0, "axpy_1", 1, MS_WATCH_KERNEL | MS_WATCH_FIRST);
    expect_note(0, "axpy_1", 5, MS_WATCH_KERNEL | MS_WATCH_AFTER);
    ms_watch_launch_before();
    ms_watch_launch_after();
    expect_note(0, "kernel_1", 5, MS_WATCH_KERNEL);
    expect_note(0, "kernel_1", 5, MS_WATCH_KERNEL | MS_WATCH_AFTER);
    no_more_records(self);
}

/* Tracing stops between the two halves: the kept content is discarded, and the next launch is recorded from its
 * beginning. */
static void tracing_stops_in_a_launch(void **state)
{
    OK(ms_watch_add(addr_of(0), SIZE, TEXT("mine"), -1));
    ms_watch_launch_before();
    ms_watch_launch_named("old", 3);
    self->shm->state = MS_STATE_OFF;
    ms_watch_launch_after();
    self->shm->state = MS_STATE_ON;
    fill(0, 6);
    ms_watch_launch_before();
    ms_watch_launch_named("new", 3);
    ms_watch_launch_after();
    expect_note(0, "new_1", 6, MS_WATCH_KERNEL | MS_WATCH_FIRST);
    expect_note(0, "new_1", 6, MS_WATCH_KERNEL | MS_WATCH_AFTER);
    no_more_records(self);
}

/* ---- ranges that the program watches itself ---- */

static void given_ranges(void **state)
{
    char name[80];
    memset(name, 'n', sizeof(name));
    assert_int_equal(ms_watch_add(0, SIZE, TEXT("x"), -1), -EINVAL);
    assert_int_equal(ms_watch_add(addr_of(0), 0, TEXT("x"), -1), -EINVAL);
    assert_int_equal(ms_watch_add(addr_of(0), UINT64_MAX, TEXT("x"), -1), -EINVAL);
    assert_int_equal(ms_watch_add(addr_of(0), SIZE, (struct ms_agent_text){name, 65}, -1), -EINVAL);
    assert_int_equal(ms_watch_add(addr_of(0), SIZE, (struct ms_agent_text){NULL, 1}, -1), -EINVAL);
    assert_int_equal(ms_watch_remove(addr_of(0), 0), -ENOENT);
    OK(ms_watch_add(addr_of(0), SIZE, TEXT("three"), 3));
    run_op("g");
    run_op("h");
    expect_note(0, "g_1", 1, MS_WATCH_FIRST);
    expect_note(0, "g_1", 1, MS_WATCH_AFTER);
    expect_note(0, "h_1", 1, 0);
    no_more_records(self);
    assert_int_equal(ms_watch_remove(addr_of(0), SIZE + 1), -ENOENT);
    OK(ms_watch_remove(addr_of(0), SIZE));
    unsigned added = 0;
    while (ms_watch_add(addr_of(1), SIZE, TEXT("many"), -1) == 0) {
        added++;
    }
    assert_int_equal(added, 128);
    assert_int_equal(ms_watch_add(addr_of(1), SIZE, TEXT("many"), -1), -ENOSPC);
    OK(ms_watch_remove(addr_of(1), SIZE));
}

static void freed_memory(void **state)
{
    OK(ms_watch_add(addr_of(0), SIZE, TEXT("mine"), -1));
    ms_watch_freed(addr_of(0) + 1);
    run_op("e");
    expect_note(0, "e_1", 1, MS_WATCH_FIRST);
    expect_note(0, "e_1", 1, MS_WATCH_AFTER);
    ms_watch_freed(addr_of(0));
    run_op("f");
    no_more_records(self);
}

/* ---- invalid input ---- */

static void invalid_sizes_and_names(void **state)
{
    static char name[2000];
    memset(name, 'n', sizeof(name) - 1);
    ms_watch_configure("make,stop,full-content");
    begin_op("make");
    access_of(addr_of(0), UINT64_MAX, true, true);
    access_of(addr_of(1), UINT64_MAX - addr_of(1), true, true);
    access_of(8, SIZE, true, true); /* not allocated */
    access_of(addr_of(0) - 1, 2, true, true);
    ms_watch_mark("memscope-aten-ac:", NULL);
    ms_watch_mark("memscope-aten-ac:ptr=99999999999999999999999;tensor_size=;is_write=Truely", NULL);
    ms_watch_mark("memscope-aten-x:", NULL);
    ms_watch_mark("memscope-aten-e", NULL);
    ms_watch_mark(NULL, NULL);
    ms_watch_text(name, sizeof(name) - 1, true);
    ms_watch_text(NULL, 0, false);
    ms_watch_configure("make,stop"); /* with full content, files would be requested */
    begin_op(name);
    end_op(name);
    end_op("make");
    ms_watch_configure(",,");
    ms_watch_configure("a:4294967296#0:,b,c,d");
    ms_watch_configure(name);            /* no comma */
    for (unsigned i = 0; i < 100; i++) { /* more than are kept */
        char text[32];
        snprintf(text, sizeof(text), "open%u", i);
        begin_op(text);
    }
    end_op("open36"); /* the outermost known one, and those nested in it */
    ms_watch_configure("");
    skip_records(self);
    run_op("a");
    no_more_records(self);
    assert_int_equal(errno, CANARY);
}

static void unreadable(void **state)
{
    void *gone = mmap(NULL, SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(gone, SIZE);
    OK(ms_watch_add((uintptr_t)gone, SIZE, TEXT("gone"), -1));
    OK(ms_watch_add(addr_of(0), (uint64_t)1 << 62, TEXT("huge"), -1));
    OK(ms_watch_add(addr_of(1), ((uint64_t)3 << 62) - addr_of(1), TEXT("wraps"), -1));
    ms_watch_configure("x,y,full-content");
    ms_watch_launch_before(); /* contents are kept up to a limit, whatever the sum of the sizes is */
    ms_watch_launch_named("u", 1);
    ms_watch_configure("x,y");
    ms_watch_launch_after();
    next_record(self, MS_R_LOG, NULL);
    for (unsigned i = 0; i < 6; i++) {
        const struct ms_p_watch *w = next_record(self, MS_R_WATCH, NULL);
        assert_int_equal(w->flags & MS_WATCH_UNREADABLE, MS_WATCH_UNREADABLE);
        assert_int_equal(w->hash, 0);
    }
    no_more_records(self);
    OK(ms_watch_remove((uintptr_t)gone, 0));
}

/* ---- contents in files ---- */

struct asked {
    int files[2];
    char names[2][300];
};

static void *give_files(void *argument)
{
    struct asked *asked = argument;
    for (unsigned i = 0; i < 2; i++) {
        session_give_file(asked->files[i], asked->names[i], sizeof(asked->names[i]));
    }
    return NULL;
}

static void check_file(int file, int byte)
{
    char content[SIZE + 1], wanted[SIZE];
    memset(wanted, byte, sizeof(wanted));
    assert_int_equal(pread(file, content, sizeof(content), 0), SIZE);
    assert_memory_equal(content, wanted, SIZE);
}

static void contents(void **state)
{
    for (unsigned refused = 0; refused < 2; refused++) {
        struct asked asked = {{memfd_create("before", MFD_CLOEXEC), refused ? -1 : memfd_create("after", MFD_CLOEXEC)},
                              {"", ""}};
        pthread_t giver;
        ms_watch_configure("x,y,full-content");
        OK(ms_watch_add(addr_of(0), SIZE, TEXT("a/b"), -1));
        pthread_create(&giver, NULL, give_files, &asked);
        fill(0, 1);
        ms_watch_launch_before();
        fill(0, 7);
        ms_watch_launch_named("k", 1);
        ms_watch_launch_after();
        pthread_join(giver, NULL);
        char name[64], wanted[128];
        snprintf(name, sizeof(name), "k_%u", refused + 1);
        expect_note(0, name, 1, MS_WATCH_KERNEL | MS_WATCH_FIRST | MS_WATCH_FULL);
        if (refused) {
            next_record(self, MS_R_LOG, NULL);
        }
        expect_note(0, name, 7, MS_WATCH_KERNEL | MS_WATCH_AFTER | (refused ? 0u : MS_WATCH_FULL));
        snprintf(wanted, sizeof(wanted), "0_%ld.%s-a.b_0_before.bin", syscall(SYS_gettid), name);
        assert_string_equal(asked.names[0], wanted);
        check_file(asked.files[0], 1);
        close(asked.files[0]);
        if (!refused) {
            check_file(asked.files[1], 7);
            close(asked.files[1]);
        }
        OK(ms_watch_remove(addr_of(0), 0));
        ms_watch_configure("");
        skip_records(self);
    }
}

/* ---- all at once ---- */

enum { THREADS = 4, TIMES = 60 };

static void *everything(void *argument)
{
    unsigned number = *(unsigned *)argument;
    char own[32];
    snprintf(own, sizeof(own), "op%u", number);
    aclrtSetDevice(0);
    for (unsigned i = 0; i < TIMES; i++) {
        make_tensors("make");
        begin_op(own);
        ms_watch_launch_before();
        ms_watch_launch_named(own, strlen(own));
        ms_watch_launch_after();
        ms_watch_access(addr_of(number % 2), 8, true);
        end_op(own);
        switch (i % 8) {
        case 0:
            ms_watch_freed(addr_of(number % 2));
            break;
        case 2:
            (void)ms_watch_add(addr_of(number % 2), 64, TEXT("mine"), 3);
            break;
        case 4:
            (void)ms_watch_remove(addr_of(number % 2), 64);
            break;
        case 6:
            ms_watch_configure(number % 2 != 0 ? "make,op1" : "make:0,op2");
            break;
        default:
            run_op("stop");
        }
    }
    return NULL;
}

static unsigned notes_of_this_thread(void)
{
    static struct seen seen[200000];
    unsigned notes = 0;
    size_t count = records_of(self, seen, 200000);
    for (size_t i = 0; i < count; i++) {
        notes += seen[i].record->kind == MS_R_WATCH && seen[i].tid == (uint32_t)syscall(SYS_gettid);
    }
    return notes;
}

static void several_threads(void **state)
{
    pthread_t threads[THREADS];
    unsigned numbers[THREADS];
    ms_watch_configure("make,stop");
    for (unsigned i = 0; i < THREADS; i++) {
        numbers[i] = i;
        OK(pthread_create(&threads[i], NULL, everything, &numbers[i]));
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    ms_watch_configure("");
    while (ms_watch_remove(addr_of(0), 64) == 0 || ms_watch_remove(addr_of(1), 64) == 0) {
    }
    unsigned before = notes_of_this_thread();
    OK(ms_watch_add(addr_of(0), SIZE, TEXT("after"), -1)); /* it still works */
    run_op("calm");
    assert_int_equal(notes_of_this_thread() - before, 2);
}

int main(int argc, char **argv)
{
    session_begin(argv, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(from_start_to_end, start, stop),
        cmocka_unit_test_setup_teardown(one_output_of_one_call, start, stop),
        cmocka_unit_test_setup_teardown(no_such_output, start, stop),
        cmocka_unit_test_setup_teardown(nested_operators, start, stop),
        cmocka_unit_test_setup_teardown(paths_of_atb, start, stop),
        cmocka_unit_test_setup_teardown(kernel_names_are_known_late, start, stop),
        cmocka_unit_test_setup_teardown(tracing_stops_in_a_launch, start, stop),
        cmocka_unit_test_setup_teardown(given_ranges, start, stop),
        cmocka_unit_test_setup_teardown(freed_memory, start, stop),
        cmocka_unit_test_setup_teardown(invalid_sizes_and_names, start, stop),
        cmocka_unit_test_setup_teardown(unreadable, start, stop),
        cmocka_unit_test_setup_teardown(contents, start, stop),
        cmocka_unit_test_setup_teardown(several_threads, start, stop),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
