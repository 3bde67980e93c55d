/* SPDX-License-Identifier: Apache-2.0 */
/* The mstx front end: how it finds a tool and what it forwards. This file tests the header-only variant;
 * mstx_lib_test.c compiles it against libms_tools_ext.so. A front end looks for its tool once, so each case is a
 * separate process. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "mstx/ms_tools_ext.h"
#include "mstx_tool.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(x)                                                                                                       \
    if (!(x)) {                                                                                                        \
        fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x);                                                        \
        return 1;                                                                                                      \
    }

static char tool_path[4096];

static void in_child(int (*body)(void), const char *injection_path, const char *fill)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        unsetenv("MSTX_INJECTION_PATH");
        unsetenv("MSTX_TOOL_FILL");
        if (injection_path != NULL) {
            setenv("MSTX_INJECTION_PATH", injection_path, 1);
        }
        if (fill != NULL) {
            setenv("MSTX_TOOL_FILL", fill, 1);
        }
        exit(body());
    }
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* The tool's counters: present only if the front end has loaded it. */
static struct mstx_tool *injected(void)
{
    void *handle = dlopen(tool_path, RTLD_LAZY | RTLD_NOLOAD);
    return handle != NULL ? dlsym(handle, "mstx_tool") : NULL;
}

/* A tool in the global scope: this program. */
static int global_inits;
static int global_marks;

static void global_mark(const char *message, void *stream)
{
    global_marks++;
}

int InitInjectionMstx(mstxGetModuleFuncTableFunc get);

__attribute__((visibility("default"))) int InitInjectionMstx(mstxGetModuleFuncTableFunc get)
{
    mstxFuncTable table;
    unsigned int size;
    global_inits++;
    mstxMarkA("from inside", NULL); /* must neither deadlock nor reach the tool */
    if (get(MSTX_API_MODULE_CORE, &table, &size) != MSTX_SUCCESS) {
        return MSTX_FAIL;
    }
    *table[MSTX_API_CORE_MARK_A] = (mstxFuncPointer)global_mark;
    return MSTX_SUCCESS;
}

static int everything_arrives(void)
{
    CHECK(injected() == NULL); /* nothing happens before the first call */
    mstxMarkA("hello", (aclrtStream)0x11);
    struct mstx_tool *t = injected();
    CHECK(t != NULL && global_inits == 0);
    CHECK(dlsym(RTLD_DEFAULT, "mstx_tool") == NULL); /* loaded with RTLD_LOCAL */
    CHECK(t->table_size[1] == 5 && t->table_size[2] == 6 && t->table_size[3] == 6 && t->refused_unknown_modules == 4);
    CHECK(strcmp(t->last_message, "hello") == 0 && t->last_stream == (void *)0x11);

    CHECK(mstxRangeStartA("range", (aclrtStream)0x22) == 42);
    CHECK(strcmp(t->last_message, "range") == 0 && t->last_stream == (void *)0x22);
    mstxRangeEnd(42);
    CHECK(t->last_id == 42);
    uint64_t id = 0;
    mstxGetToolId(&id);
    CHECK(id == 0x1003);

    mstxDomainHandle_t domain = mstxDomainCreateA("ptaCaching");
    CHECK(domain != NULL && strcmp(t->last_message, "ptaCaching") == 0);
    mstxDomainMarkA(domain, "m", (aclrtStream)0x33);
    CHECK(t->last_domain == domain && t->last_stream == (void *)0x33);
    CHECK(mstxDomainRangeStartA(domain, "r", NULL) == 43 && t->last_stream == NULL);
    mstxDomainRangeEnd(domain, 43);
    CHECK(t->last_domain == domain && t->last_id == 43);

    mstxMemHeapDesc_t heap_desc = {0};
    mstxMemHeapHandle_t heap = mstxMemHeapRegister(domain, &heap_desc);
    CHECK(heap != NULL && t->last_desc == &heap_desc);
    mstxMemRegionsRegisterBatch_t regions = {0};
    mstxMemRegionsRegister(domain, &regions);
    CHECK(t->last_desc == &regions);
    mstxMemPermissionsAssignBatch_t permissions = {0};
    mstxMemPermissionsAssign(domain, &permissions);
    CHECK(t->last_desc == &permissions);
    mstxMemRegionsUnregisterBatch_t unregister = {0};
    mstxMemRegionsUnregister(domain, &unregister);
    CHECK(t->last_desc == &unregister);
    mstxMemHeapUnregister(domain, heap);
    CHECK(t->last_desc == heap);
    mstxDomainDestroy(domain);
    for (int module = 1; module <= 3; module++) {
        for (unsigned int slot = 1; slot < t->table_size[module]; slot++) {
            CHECK(t->calls[module][slot] == 1);
        }
    }
    CHECK(t->inits == 1);
    return 0;
}

static int calls_without_function_do_nothing(void)
{
    uint64_t id = 7;
    CHECK(mstxRangeStartA("x", NULL) == 0);
    mstxRangeEnd(1);
    mstxGetToolId(&id);
    CHECK(id == 7);
    CHECK(mstxDomainCreateA("x") == NULL);
    mstxDomainMarkA(NULL, "x", NULL);
    CHECK(mstxDomainRangeStartA(NULL, "x", NULL) == 0);
    mstxDomainRangeEnd(NULL, 1);
    mstxDomainDestroy(NULL);
    CHECK(mstxMemHeapRegister(NULL, NULL) == NULL);
    mstxMemHeapUnregister(NULL, NULL);
    mstxMemRegionsRegister(NULL, NULL);
    mstxMemRegionsUnregister(NULL, NULL);
    mstxMemPermissionsAssign(NULL, NULL);
    return 0;
}

static int unfilled_slots_are_empty(void)
{
    mstxMarkA("counted", NULL);
    struct mstx_tool *t = injected();
    CHECK(t != NULL && t->calls[1][1] == 1);
    return calls_without_function_do_nothing();
}

static int failure_clears_everything(void)
{
    mstxMarkA("lost", NULL);
    struct mstx_tool *t = injected();
    CHECK(t != NULL && t->inits == 1 && t->calls[1][1] == 0);
    CHECK(calls_without_function_do_nothing() == 0);
    CHECK(t->inits == 1 && global_inits == 0);
    return 0;
}

static int global_scope(void)
{
    mstxMarkA("one", NULL);
    mstxMarkA("two", NULL);
    CHECK(global_inits == 1 && global_marks == 2 && injected() == NULL);
    return 0;
}

static pthread_barrier_t gate;

static void *mark_once(void *arg)
{
    pthread_barrier_wait(&gate);
    mstxMarkA("together", NULL);
    return NULL;
}

static int one_search_for_all_threads(void)
{
    enum { THREADS = 8 };
    pthread_t threads[THREADS];
    pthread_barrier_init(&gate, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&threads[i], NULL, mark_once, NULL) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    struct mstx_tool *t = injected();
    CHECK(t != NULL && t->inits == 1 && t->calls[1][1] == THREADS);
    return 0;
}

static void a_tool_by_path(void **state)
{
    in_child(everything_arrives, tool_path, "all");
    in_child(unfilled_slots_are_empty, tool_path, "mark");
    in_child(failure_clears_everything, tool_path, "fail");
    in_child(one_search_for_all_threads, tool_path, "all");
}

static void a_tool_in_the_global_scope(void **state)
{
    in_child(global_scope, NULL, NULL);
    in_child(global_scope, "/nonexistent/libtool.so", NULL); /* falls back silently */
}

int main(void)
{
    const char *build = getenv("NPUSCOPE_BUILD");
    snprintf(tool_path, sizeof(tool_path), "%s/tests/unit/libmstx_tool.so", build != NULL ? build : ".");
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_tool_by_path), cmocka_unit_test(a_tool_in_the_global_scope)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
