/* SPDX-License-Identifier: Apache-2.0 */
/* Memory shared between processes: exported handles and named memory. The child is this program in another role. */
#include "hal_test.h"

#include <inttypes.h>

#define UNIT (2 * MIB)

static const struct drv_mem_prop huge_on_1 = {
    .side = MEM_DEV_SIDE, .devid = 1, .module_id = 33, .pg_type = MEM_HUGE_PAGE_TYPE};

/* ---- the child: executes one command per line, prints the error code ---- */

static drv_mem_handle_t *child_handle;
static char *child_at;

static int child_import(uint64_t token)
{
    void *at = NULL;
    int rc = halMemImportFromShareableHandle(token, 0, &child_handle);
    if (rc != 0) {
        return rc;
    }
    rc = halMemAddressReserve(&at, UNIT, 0, NULL, 0);
    child_at = at;
    return rc != 0 ? rc : (int)halMemMap(child_at, UNIT, 0, child_handle, 0);
}

static int child_open(const char *name)
{
    DVdeviceptr p = 0;
    int rc = halShmemOpenHandle(name, &p);
    child_at = (char *)(uintptr_t)p;
    return rc;
}

static int run_child(void)
{
    char answer[256];
    child_say("ready");
    for (const char *line; (line = child_listen()) != NULL;) {
        char word[16] = "", rest[200] = "";
        int rc = -1;
        sscanf(line, "%15s %199s", word, rest);
        if (strcmp(word, "import") == 0) {
            rc = child_import(strtoull(rest, NULL, 16));
        } else if (strcmp(word, "open") == 0) {
            rc = child_open(rest);
        } else if (strcmp(word, "close") == 0) {
            rc = halShmemCloseHandle((uintptr_t)child_at);
        } else if (strcmp(word, "drop") == 0) {
            rc = halMemRelease(child_handle) != 0 || halMemUnmap(child_at) != 0;
        } else if (strcmp(word, "destroy") == 0) {
            rc = halShmemDestroyHandle(rest);
        } else if (strcmp(word, "read") == 0) {
            snprintf(answer, sizeof(answer), "%s", child_at);
            child_say(answer);
            continue;
        } else if (strcmp(word, "write") == 0) {
            strcpy(child_at, rest);
            rc = 0;
        } else if (strcmp(word, "used") == 0) {
            snprintf(answer, sizeof(answer), "%" PRIu64, used_b((uint32_t)atoi(rest)));
            child_say(answer);
            continue;
        } else if (strcmp(word, "kind") == 0) {
            struct snpu_range r;
            snpu_hal_lookup(child_at, &r);
            snprintf(answer, sizeof(answer), "%d dev %u size %" PRIu64, r.kind, r.dev, r.size_b);
            child_say(answer);
            continue;
        }
        snprintf(answer, sizeof(answer), "%d", rc);
        child_say(answer);
    }
    return 0;
}

static const char *ask(struct hal_child *c, const char *format, ...)
{
    char line[256];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    hal_tell(c, line);
    return hal_hear(c);
}

static struct hal_child start(void)
{
    struct hal_child c = hal_spawn("child", "");
    assert_string_equal(hal_hear(&c), "ready");
    return c;
}

/* ---- tests ---- */

static drv_mem_handle_t *map_new(char **at)
{
    drv_mem_handle_t *h;
    void *p;
    assert_int_equal(halMemCreate(&h, UNIT, &huge_on_1, 0), 0);
    assert_int_equal(halMemAddressReserve(&p, UNIT, 0, NULL, 0), 0);
    assert_int_equal(halMemMap(p, UNIT, 0, h, 0), 0);
    *at = p;
    return h;
}

static void handles_cross_processes(void **state)
{
    char *at;
    uint64_t token;
    drv_mem_handle_t *h = map_new(&at);
    strcpy(at, "from-parent");
    assert_int_equal(halMemExportToShareableHandle(h, MEM_HANDLE_TYPE_NONE, 0, &token), 0);
    struct hal_child c = start();
    assert_string_equal(ask(&c, "import %" PRIx64, token), "46"); /* not on the list */
    int pids[] = {c.pid};
    assert_int_equal(halMemSetPidToShareableHandle(token, pids, 1), 0);
    assert_string_equal(ask(&c, "import %" PRIx64, token), "0");
    assert_string_equal(ask(&c, "read"), "from-parent");
    assert_string_equal(ask(&c, "kind"), "5 dev 1 size 2097152");
    assert_string_equal(ask(&c, "write from-child"), "0");
    assert_string_equal(at, "from-child");
    assert_int_equal(used_b(1), UNIT); /* charged once */
    assert_string_equal(ask(&c, "used 1"), "2097152");

    /* The exporter frees it while the importer still uses it: the importer keeps the memory, and it stays charged. */
    assert_int_equal(halMemRelease(h), 0);
    assert_int_equal(halMemUnmap(at), 0);
    assert_int_equal(used_b(1), UNIT);
    void *fill = must_alloc(UNIT, DEV_FLAGS | MEM_PAGE_HUGE | 1);
    memset(fill, 0xff, UNIT);
    assert_string_equal(ask(&c, "read"), "from-child");
    halMemFree(fill);
    assert_string_equal(ask(&c, "import %" PRIx64, token), "11"); /* and no other process can import it */
    assert_string_equal(ask(&c, "drop"), "0");
    /* It is reclaimed when it is needed, at the latest. */
    fill = must_alloc(256 * MIB, DEV_FLAGS | 1);
    halMemFree(fill);
    assert_int_equal(used_b(1), 0);
    assert_int_equal(hal_end(&c), 0);
    halMemAddressFree(at);
}

static void version_two_handles_and_open_to_all(void **state)
{
    char *at;
    uint64_t token;
    uint32_t server = 9;
    struct MemShareHandle share, junk = {{0}};
    drv_mem_handle_t *h = map_new(&at), *again;
    assert_int_equal(halMemExportToShareableHandleV2(h, MEM_HANDLE_TYPE_FABRIC, 1, &share), 0);
    assert_int_equal(halMemTransShareableHandle(MEM_HANDLE_TYPE_FABRIC, &share, &server, &token), 0);
    assert_int_equal(server, 0);
    struct hal_child c = start();
    assert_string_equal(ask(&c, "import %" PRIx64, token), "0");
    assert_int_equal(hal_end(&c), 0);
    /* The exporter itself may import. */
    assert_int_equal(halMemImportFromShareableHandleV2(MEM_HANDLE_TYPE_FABRIC, &share, 0, &again), 0);
    assert_ptr_not_equal(again, h);
    assert_int_equal(halMemRelease(again), 0);

    assert_int_equal(halMemImportFromShareableHandleV2(MEM_HANDLE_TYPE_FABRIC, &junk, 0, &again),
                     DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halMemImportFromShareableHandle(0, 0, &again), DRV_ERROR_NOT_EXIST);
    assert_int_equal(halMemImportFromShareableHandle(token ^ 1ULL << 40, 0, &again), DRV_ERROR_NOT_EXIST);
    assert_int_equal(halMemImportFromShareableHandle(token, 2, &again), DRV_ERROR_INVALID_DEVICE);
    assert_int_equal(halMemImportFromShareableHandle(token, 0, NULL), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halMemExportToShareableHandle(h, MEM_HANDLE_TYPE_POSIX, 0, &token), DRV_ERROR_NOT_SUPPORT);
    assert_int_equal(halMemExportToShareableHandle(h, MEM_HANDLE_TYPE_NONE, 8, &token), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halMemExportToShareableHandle(NULL, MEM_HANDLE_TYPE_NONE, 0, &token), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halMemSetPidToShareableHandle(token, NULL, 1), DRV_ERROR_INVALID_VALUE);
    int pid = 1;
    assert_int_equal(halMemSetPidToShareableHandle(12345, &pid, 1), DRV_ERROR_NOT_EXIST);
    halMemRelease(h);
    halMemUnmap(at);
    halMemAddressFree(at);
    assert_int_equal(used_b(1), 0);
}

static void names_cross_processes(void **state)
{
    char name[65];
    char *p = must_alloc(3 * UNIT, DEV_FLAGS | MEM_PAGE_HUGE);
    strcpy(p + UNIT + 100, "named");
    DVdeviceptr part = (uintptr_t)p + UNIT + 100;
    assert_int_equal(halShmemCreateHandle(part, 4096, name, 65), 0);
    assert_true(strlen(name) < 65);
    struct hal_child c = start(), d = start();
    assert_string_equal(ask(&c, "open %s", name), "46");
    int pids[] = {c.pid};
    assert_int_equal(halShmemSetPidHandle(name, pids, 1), 0);
    assert_string_equal(ask(&d, "open %s", name), "46");
    assert_string_equal(ask(&c, "open %s", name), "0");
    assert_string_equal(ask(&c, "kind"), "7 dev 0 size 4096");
    assert_string_equal(ask(&c, "read"), "named");
    assert_string_equal(ask(&c, "write back"), "0");
    assert_string_equal(p + UNIT + 100, "back");
    assert_int_equal(snpu_hal_shmem_open_to_all(name), 0);
    assert_string_equal(ask(&d, "open %s", name), "0");
    assert_string_equal(ask(&d, "read"), "back");
    assert_string_equal(ask(&d, "destroy %s", name), "46"); /* not its own */
    assert_string_equal(ask(&d, "close"), "0");
    assert_string_equal(ask(&d, "close"), "3");

    /* Freed while imported: the block is not reused before the importer has released it. */
    assert_int_equal(halMemFree(p), 0);
    assert_int_equal(halMemFree(p), DRV_ERROR_INVALID_VALUE);
    assert_string_equal(ask(&d, "open %s", name), "11");
    assert_int_equal(used_b(0), 3 * UNIT);
    kill(c.pid, SIGKILL);
    assert_int_equal(hal_end(&c), 128 + SIGKILL);
    void *all = must_alloc(256 * MIB, DEV_FLAGS);
    halMemFree(all);
    assert_int_equal(used_b(0), 0);
    hal_end(&d);
}

static void invalid_names_are_refused(void **state)
{
    char name[65], local[64];
    DVdeviceptr at;
    char *p = must_alloc(4096, DEV_FLAGS);
    assert_int_equal(halShmemCreateHandle((uintptr_t)p, 4096, name, 64), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halShmemCreateHandle((uintptr_t)p, 4097, name, 65), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halShmemCreateHandle((uintptr_t)p, 0, name, 65), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halShmemCreateHandle((uintptr_t)p, 1, NULL, 65), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halShmemCreateHandle((uintptr_t)local, 1, name, 65), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halShmemOpenHandle(NULL, &at), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halShmemOpenHandle("", &at), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halShmemOpenHandle("softnpu-ipc-zz", &at), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halShmemOpenHandle("softnpu-ipc-4000000000000123", &at), DRV_ERROR_NOT_EXIST);
    assert_int_equal(halShmemDestroyHandle("softnpu-ipc-4000000000000123"), DRV_ERROR_NOT_EXIST);
    assert_int_equal(halShmemSetPidHandle(NULL, NULL, 1), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halShmemCloseHandle((uintptr_t)p), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halShmemCloseHandle(0), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halShmemCreateHandle((uintptr_t)p, 4096, name, 65), 0);
    assert_int_equal(halShmemOpenHandle(name, NULL), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halShmemOpenHandleByDevId(7, name, &at), DRV_ERROR_INVALID_DEVICE);
    assert_int_equal(halShmemOpenHandleByDevId(1, name, &at), 0);
    assert_int_equal(halMemFree((void *)(uintptr_t)at), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halShmemCloseHandle(at), 0);
    assert_int_equal(halShmemDestroyHandle(name), 0);
    assert_int_equal(halShmemDestroyHandle(name), DRV_ERROR_NOT_EXIST);
    assert_int_equal(halShmemOpenHandle(name, &at), DRV_ERROR_NOT_EXIST);
    halMemFree(p);
}

static void a_dead_exporter_is_not_found(void **state)
{
    struct hal_child c = hal_spawn("exporter", "");
    char name[65];
    snprintf(name, sizeof(name), "%.64s", hal_hear(&c));
    DVdeviceptr at;
    assert_int_equal(halShmemOpenHandle(name, &at), 0);
    assert_string_equal((char *)(uintptr_t)at, "orphan");
    assert_int_equal(used_b(0), 4096);
    kill(c.pid, SIGKILL);
    hal_end(&c);
    assert_int_equal(used_b(0), 0);
    assert_string_equal((char *)(uintptr_t)at, "orphan"); /* an open import stays valid */
    assert_int_equal(halShmemCloseHandle(at), 0);
    assert_int_equal(halShmemOpenHandle(name, &at), DRV_ERROR_NOT_EXIST);
}

static int run_exporter(void)
{
    char name[65];
    char *p = must_alloc(4096, DEV_FLAGS);
    strcpy(p, "orphan");
    halShmemCreateHandle((uintptr_t)p, 4096, name, 65);
    snpu_hal_shmem_open_to_all(name);
    child_say(name);
    child_listen();
    return 0;
}

static void many_exports_come_and_go(void **state)
{
    char name[65];
    void *p = must_alloc(4096, DEV_FLAGS);
    for (int i = 0; i < 5000; i++) {
        assert_int_equal(halShmemCreateHandle((uintptr_t)p, 4096, name, 65), 0);
        assert_int_equal(halShmemDestroyHandle(name), 0);
    }
    int n = 0;
    while (halShmemCreateHandle((uintptr_t)p, 4096, name, 65) == 0) {
        n++;
    }
    assert_in_range(n, 4000, 4096); /* all that a machine has */
    assert_int_equal(halMemFree(p), 0);
    assert_int_equal(used_b(0), 0);
    p = must_alloc(4096, DEV_FLAGS);
    assert_int_equal(halShmemCreateHandle((uintptr_t)p, 4096, name, 65), 0);
    halMemFree(p);
}

int main(int argc, char **argv)
{
    hal_use_machine("2", "256M");
    if (argc > 1) {
        return strcmp(argv[1], "exporter") == 0 ? run_exporter() : run_child();
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(handles_cross_processes),      cmocka_unit_test(version_two_handles_and_open_to_all),
        cmocka_unit_test(names_cross_processes),        cmocka_unit_test(invalid_names_are_refused),
        cmocka_unit_test(a_dead_exporter_is_not_found), cmocka_unit_test(many_exports_come_and_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
