/* SPDX-License-Identifier: Apache-2.0 */
/* The machine with several processes: sharing, death, fork, exec, configuration, a damaged file. */
#include "hal_test.h"

#include "softnpu/hal/machine_internal.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define CAPACITY (256 * MIB)

/* ---- roles of children ---- */

/* "hold": allocates the given size on device 0, reports it, waits. */
static int role_hold(const char *argument)
{
    char line[64];
    void *p;
    int rc = halMemAlloc(&p, strtoull(argument, NULL, 10), DEV_FLAGS);
    snprintf(line, sizeof(line), "%d", rc);
    child_say(line);
    while (child_listen() != NULL) {
    }
    return 0;
}

/* "look": prints what it sees of the machine. */
static int role_look(const char *argument)
{
    char line[256];
    uint32_t n;
    drvGetDevNum(&n);
    snprintf(line, sizeof(line), "devices %u capacity %" PRIu64 " used %" PRIu64 " %s", n, snpu_hal_capacity_b(0),
             used_b(0), snpu_hal_message() != NULL ? snpu_hal_message() : "fine");
    if (strchr(line, '\n') != NULL) {
        *strchr(line, '\n') = ' ';
    }
    child_say(line);
    while (child_listen() != NULL) {
    }
    return 0;
}

/* "exec": allocates, then becomes "look" by exec. */
static int role_exec(const char *argument)
{
    must_alloc(8 * MIB, DEV_FLAGS);
    execl("/proc/self/exe", program_invocation_name, "look", "", (char *)NULL);
    return 127;
}

/* "occupy": claims all slots of the machine, as 256 processes would. */
static int role_occupy(const char *path)
{
    int fd = open(path, O_RDWR);
    struct flock all = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = SNPU_LOCK_SLOT(1), .l_len = SNPU_MAX_PROCESSES};
    child_say(fcntl(fd, F_SETLK, &all) == 0 ? "occupied" : "failed");
    while (child_listen() != NULL) {
    }
    return 0;
}

/* "lock": keeps other processes from changing the file. */
static int role_lock(const char *path)
{
    int fd = open(path, O_RDWR);
    struct flock file = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = SNPU_LOCK_FILE, .l_len = 1};
    child_say(fcntl(fd, F_SETLK, &file) == 0 ? "locked" : "failed");
    while (child_listen() != NULL) {
    }
    return 0;
}

/* "watch": observes without joining. */
static int role_watch(const char *name)
{
    static struct snpu_machine *machine; /* stays open like every machine that is observed */
    child_say(snpu_machine_observe(name, &machine) == 0 ? "watching" : "failed");
    while (child_listen() != NULL) {
    }
    return 0;
}

static int role_context(const char *argument)
{
    char line[64];
    uint64_t before_b = used_b(0);
    void *p;
    int rc = halMemAlloc(&p, 4096, DEV_FLAGS);
    halMemFree(p);
    uint64_t opened_b = used_b(0);
    snpu_hal_release_device(0);
    snprintf(line, sizeof(line), "%d %" PRIu64 " %" PRIu64 " %" PRIu64, rc, before_b, opened_b, used_b(0));
    child_say(line);
    return 0;
}

/* "grab": allocates 2 MiB blocks until refused, prints their number, waits. */
static int role_grab(const char *argument)
{
    char line[64];
    int n = 0;
    child_say("ready");
    child_listen();
    for (void *p; halMemAlloc(&p, 2 * MIB, DEV_FLAGS | MEM_PAGE_HUGE) == 0;) {
        n++;
    }
    snprintf(line, sizeof(line), "%d", n);
    child_say(line);
    while (child_listen() != NULL) {
    }
    return 0;
}

/* "churn": allocates and frees until it is killed. */
static int role_churn(const char *argument)
{
    void *p[8] = {NULL};
    child_say("ready");
    for (unsigned i = 0; getppid() != 1; i = (i + 1) % 8) {
        if (p[i] != NULL) {
            halMemFree(p[i]);
        }
        if (halMemAlloc(&p[i], 40 * MIB, DEV_FLAGS | MEM_PAGE_HUGE) != 0) {
            p[i] = NULL;
        }
    }
    return 0;
}

static int role_giant(const char *argument)
{
    struct MemInfo info;
    struct MemPhyInfo *pool = &info.phy_info;
    void *p, *q;
    halMemGetInfo(0, MEM_INFO_TYPE_HBM_SIZE, &info);
    bool ok = pool->giant_total == 2 * GIB && pool->giant_free == 2 * GIB; /* 3 GiB less the normal pool */
    ok = ok && halMemAlloc(&p, 5, 0x2100000080004400) == 0 && (uintptr_t)p % GIB == 0;
    halMemGetInfo(0, MEM_INFO_TYPE_HBM_SIZE, &info);
    ok = ok && used_b(0) == GIB && pool->giant_free == GIB;
    ok = ok && halMemAlloc(&q, 2 * GIB + 1, 0x2100000080004400) == DRV_ERROR_OUT_OF_MEMORY;
    ok = ok && halMemAlloc(&q, 2 * GIB, 0x2100000080004400) == 0;
    ok = ok && halMemFree(p) == 0 && halMemFree(q) == 0 && used_b(0) == 0;
    child_say(ok ? "ok" : "wrong");
    return 0;
}

static const struct {
    const char *name;
    int (*run)(const char *argument);
} roles[] = {{"hold", role_hold},   {"look", role_look},   {"exec", role_exec},       {"occupy", role_occupy},
             {"lock", role_lock},   {"watch", role_watch}, {"context", role_context}, {"grab", role_grab},
             {"churn", role_churn}, {"giant", role_giant}};

/* ---- helpers ---- */

static struct machine_file *map_machine(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC); /* stays open: closing it would release this process's own slot */
    assert_true(fd >= 0);
    void *p = mmap(NULL, sizeof(struct machine_file), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(p, MAP_FAILED);
    return p;
}

/* Runs `look` on another machine with another configuration and returns what it prints. */
static const char *look_at(const char *machine, const char *devices, struct hal_child *keep)
{
    static char line[512];
    char *mine = strdup(getenv("SOFTNPU_MACHINE"));
    setenv("SOFTNPU_MACHINE", machine, 1);
    setenv("SOFTNPU_DEVICES", devices, 1);
    struct hal_child c = hal_spawn("look", "");
    setenv("SOFTNPU_MACHINE", mine, 1);
    setenv("SOFTNPU_DEVICES", "2", 1);
    free(mine);
    snprintf(line, sizeof(line), "%s", hal_hear(&c));
    if (keep != NULL) {
        *keep = c;
    } else {
        assert_int_equal(hal_end(&c), 0);
    }
    return line;
}

static char other_name[64], other_path[128];

static void use_other_machine(void)
{
    snprintf(other_name, sizeof(other_name), "test-other-%d", (int)getpid());
    snprintf(other_path, sizeof(other_path), "/dev/shm/softnpu-%u-%s", (unsigned)geteuid(), other_name);
    unlink(other_path);
}

/* ---- tests ---- */

static void processes_share_one_device(void **state)
{
    struct hal_child c = hal_spawn("hold", "104857600");
    assert_string_equal(hal_hear(&c), "0");
    assert_int_equal(used_b(0), 100 * MIB);
    void *mine = must_alloc(CAPACITY - 100 * MIB, DEV_FLAGS), *none;
    assert_int_equal(halMemAlloc(&none, 1, DEV_FLAGS), DRV_ERROR_OUT_OF_MEMORY);
    struct hal_child d = hal_spawn("hold", "1");
    assert_string_equal(hal_hear(&d), "6");
    assert_int_equal(used_b(1), 0);
    assert_int_equal(hal_end(&c), 0);
    assert_int_equal(used_b(0), CAPACITY - 100 * MIB);
    halMemFree(mine);
    hal_end(&d);
    assert_int_equal(used_b(0), 0);
}

static void memory_of_a_killed_process_returns(void **state)
{
    struct hal_child c = hal_spawn("hold", "268435456"); /* everything */
    assert_string_equal(hal_hear(&c), "0");
    void *p;
    assert_int_equal(halMemAlloc(&p, 1, DEV_FLAGS), DRV_ERROR_OUT_OF_MEMORY);
    kill(c.pid, SIGKILL);
    assert_int_equal(hal_end(&c), 128 + SIGKILL);
    /* An allocation detects it without a previous query... */
    p = must_alloc(CAPACITY, DEV_FLAGS);
    halMemFree(p);
    /* ...and so does a query. */
    c = hal_spawn("hold", "1048576");
    assert_string_equal(hal_hear(&c), "0");
    assert_int_equal(used_b(0), MIB);
    kill(c.pid, SIGKILL);
    hal_end(&c);
    assert_int_equal(used_b(0), 0);
}

static void a_forked_child_starts_from_scratch(void **state)
{
    char *p = must_alloc(MIB, DEV_FLAGS);
    strcpy(p, "parent's");
    int up[2], down[2];
    assert_int_equal(pipe(up), 0);
    assert_int_equal(pipe(down), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct snpu_range r;
        char verdict = 'y', go;
        void *mine = NULL;
        /* The parent's memory is neither mapped nor known; its capacity is still charged. */
        if (msync(p, 4096, MS_ASYNC) == 0 || snpu_hal_lookup(p, &r) || halMemFree(p) == 0 || used_b(0) != MIB ||
            halMemAlloc(&mine, 2 * MIB, DEV_FLAGS) != 0 || used_b(0) != 3 * MIB) {
            verdict = 'n';
        }
        memset(mine, 7, 2 * MIB);
        if (write(up[1], &verdict, 1) != 1 || read(down[0], &go, 1) != 1) {
            _exit(2);
        }
        _exit(0);
    }
    char verdict;
    assert_int_equal(read(up[0], &verdict, 1), 1);
    assert_int_equal(verdict, 'y');
    assert_int_equal(used_b(0), 3 * MIB);
    assert_string_equal(p, "parent's");
    assert_int_equal(write(down[1], "x", 1), 1);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(used_b(0), MIB);
    assert_int_equal(halMemFree(p), 0);
    close(up[0]), close(up[1]), close(down[0]), close(down[1]);
}

static void an_execd_program_starts_from_scratch(void **state)
{
    struct hal_child c = hal_spawn("exec", "");
    assert_string_equal(hal_hear(&c), "devices 2 capacity 268435456 used 0 fine");
    hal_end(&c);
}

static void observers_see_processes(void **state)
{
    static struct snpu_machine *m; /* stays open like every machine that is observed */
    static struct snpu_process seen[SNPU_MAX_PROCESSES];
    void *p = must_alloc(3 * MIB, DEV_FLAGS | 1), *h = must_alloc(8 * MIB, MEM_HOST | APP);
    snpu_hal_activity(1)->tasks = 77;
    struct hal_child c = hal_spawn("hold", "4096");
    assert_string_equal(hal_hear(&c), "0");
    assert_int_equal(snpu_machine_observe(getenv("SOFTNPU_MACHINE"), &m), 0);
    assert_true(snpu_machine_in_use(m));
    assert_int_equal(snpu_machine_config(m)->devices, 2);
    assert_int_equal(snpu_machine_processes(m, seen, SNPU_MAX_PROCESSES), 2);
    const struct snpu_process *me = seen[0].pid == getpid() ? &seen[0] : &seen[1];
    const struct snpu_process *it = me == &seen[0] ? &seen[1] : &seen[0];
    assert_int_equal(me->pid, getpid());
    assert_int_equal(it->pid, c.pid);
    assert_int_equal(me->device[1].used_b[SNPU_PAGE_NORMAL], 3 * MIB);
    assert_int_equal(me->device[1].activity.tasks, 77);
    assert_int_equal(me->pinned_b, 8 * MIB);
    assert_int_equal(it->device[0].used_b[SNPU_PAGE_NORMAL], 4096);
    assert_true(strncmp(me->name, "hal_machine", 11) == 0);
    uint64_t used[SNPU_PAGE_TYPES];
    snpu_machine_used(m, 0, used);
    assert_int_equal(used[SNPU_PAGE_NORMAL], 4096);
    kill(c.pid, SIGKILL);
    hal_end(&c);
    assert_int_equal(snpu_machine_processes(m, seen, SNPU_MAX_PROCESSES), 1);
    snpu_machine_used(m, 0, used);
    assert_int_equal(used[SNPU_PAGE_NORMAL], 0);
    halMemFree(p);
    halMemFree(h);
    assert_int_equal(snpu_machine_observe("no-such-machine", &m), -ENOENT);
    /* Observing has not released this process's own slot on the machine. */
    c = hal_spawn("look", "");
    p = must_alloc(MIB, DEV_FLAGS);
    hal_hear(&c);
    hal_end(&c);
    c = hal_spawn("look", "");
    assert_string_equal(hal_hear(&c), "devices 2 capacity 268435456 used 1048576 fine");
    hal_end(&c);
    halMemFree(p);
}

static void the_first_user_configures(void **state)
{
    struct hal_child keep;
    use_other_machine();
    assert_non_null(strstr(look_at(other_name, "5", &keep), "devices 5 "));
    assert_non_null(strstr(look_at(other_name, "3", NULL), "devices 5 ")); /* in use: the existing configuration
                                                                            * applies */
    hal_end(&keep);
    assert_non_null(strstr(look_at(other_name, "3", NULL), "devices 3 "));
    assert_non_null(strstr(look_at(other_name, "0", NULL), "devices 2 ")); /* invalid: the default, and a message */
    assert_non_null(strstr(look_at(other_name, "0", NULL), "SOFTNPU_DEVICES=0 ignored"));
    struct stat st;
    assert_int_equal(stat(other_path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    unlink(other_path);
}

static void a_damaged_file_is_replaced_unless_in_use(void **state)
{
    struct hal_child keep;
    use_other_machine();
    int fd = open(other_path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(write(fd, "garbage\n", 8), 8);
    }
    close(fd);
    assert_string_equal(look_at(other_name, "4", &keep), "devices 4 capacity 268435456 used 0 fine");
    map_machine(other_path)->version++;
    struct snpu_machine *m;
    int first_fd = dup(0), then_fd;
    for (int i = 0; i < 20; i++) {
        assert_int_equal(snpu_machine_observe(other_name, &m), -EPROTO);
    }
    then_fd = dup(0);
    assert_in_range(then_fd, first_fd, first_fd + 2); /* retries cost no descriptors */
    close(first_fd), close(then_fd);
    const char *seen = look_at(other_name, "3", NULL);
    assert_non_null(strstr(seen, "devices 3 ")); /* with private devices */
    assert_non_null(strstr(seen, "cannot share machine"));
    hal_end(&keep);
    assert_string_equal(look_at(other_name, "6", NULL), "devices 6 capacity 268435456 used 0 fine");
    unlink(other_path);
    assert_int_equal(mkdir(other_path, 0700), 0);
    assert_non_null(strstr(look_at(other_name, "3", NULL), "cannot share machine"));
    rmdir(other_path);
    assert_int_equal(symlink("/dev/null", other_path), 0);
    assert_non_null(strstr(look_at(other_name, "3", NULL), "cannot share machine"));
    unlink(other_path);
}

static void a_full_machine_yields_a_private_one(void **state)
{
    struct hal_child keep;
    use_other_machine();
    look_at(other_name, "2", &keep);
    struct hal_child c = hal_spawn("occupy", other_path);
    assert_string_equal(hal_hear(&c), "occupied");
    assert_non_null(strstr(look_at(other_name, "2", NULL), "already has the maximum number of processes"));
    hal_end(&c);
    assert_non_null(strstr(look_at(other_name, "2", NULL), "fine"));
    hal_end(&keep);
    unlink(other_path);
}

/* A process may die at any point of charging; what it leaves must not obstruct others. */
static void leftovers_of_a_dead_process_are_harmless(void **state)
{
    struct machine_file *file = map_machine(own_machine_path);
    struct hal_child c = hal_spawn("hold", "4096");
    hal_hear(&c);
    for (uint32_t i = 0; i < SNPU_MAX_PROCESSES; i++) {
        if (file->slots[i].pid == c.pid) {
            file->slots[i].use[0].in_flight = 3;
            file->slots[i].use[0].used_b[SNPU_PAGE_HUGE] = CAPACITY;
        }
    }
    kill(c.pid, SIGKILL);
    hal_end(&c);
    file->exclusive[0] = 1;
    uint64_t start_ns = ms_clock_raw_ns();
    void *p = must_alloc(CAPACITY, DEV_FLAGS);
    assert_true(ms_clock_raw_ns() - start_ns < 1000000000u);
    assert_int_equal(file->exclusive[0], 0);
    halMemFree(p);
    assert_int_equal(used_b(0), 0);
}

static void processes_at_the_limit_get_exactly_the_capacity(void **state)
{
    for (int round = 0; round < 5; round++) {
        struct hal_child c[4];
        int sum = 0;
        for (size_t i = 0; i < MS_COUNT_OF(c); i++) {
            c[i] = hal_spawn("grab", "");
            assert_string_equal(hal_hear(&c[i]), "ready");
        }
        for (size_t i = 0; i < MS_COUNT_OF(c); i++) {
            hal_tell(&c[i], "go");
        }
        for (size_t i = 0; i < MS_COUNT_OF(c); i++) {
            sum += atoi(hal_hear(&c[i]));
        }
        assert_int_equal(sum, CAPACITY / (2 * MIB));
        for (size_t i = 0; i < MS_COUNT_OF(c); i++) {
            hal_end(&c[i]);
        }
    }
}

static void a_kill_at_any_instant_leaks_nothing(void **state)
{
    for (unsigned round = 0; round < 20; round++) {
        struct hal_child c = hal_spawn("churn", ""), d = hal_spawn("churn", "");
        assert_string_equal(hal_hear(&c), "ready");
        assert_string_equal(hal_hear(&d), "ready");
        /* A different moment each time; what this process does meanwhile races with the others. */
        for (unsigned i = 0; i < 50 + round * 37; i++) {
            void *p;
            if (halMemAlloc(&p, 30 * MIB, DEV_FLAGS | MEM_PAGE_HUGE) == 0) {
                assert_int_equal(halMemFree(p), 0);
            }
        }
        kill(c.pid, SIGKILL);
        kill(d.pid, SIGKILL);
        hal_end(&c);
        hal_end(&d);
        assert_int_equal(used_b(0), 0);
        halMemFree(must_alloc(CAPACITY, DEV_FLAGS));
    }
}

static void giant_pages(void **state)
{
    use_other_machine();
    char *mine = strdup(getenv("SOFTNPU_MACHINE"));
    setenv("SOFTNPU_MACHINE", other_name, 1);
    setenv("SOFTNPU_HBM", "3G", 1);
    struct hal_child c = hal_spawn("giant", "");
    setenv("SOFTNPU_MACHINE", mine, 1);
    setenv("SOFTNPU_HBM", "256M", 1);
    free(mine);
    assert_string_equal(hal_hear(&c), "ok");
    hal_end(&c);
    unlink(other_path);
}

static void note_name(void *argument, const char *name)
{
    *(bool *)argument = *(bool *)argument || strcmp(name, other_name) == 0;
}

static void unused_machines_are_removed(void **state)
{
    bool listed = false;
    struct hal_child c;
    use_other_machine();
    assert_int_equal(snpu_machine_remove(other_name), -ENOENT);
    look_at(other_name, "1", &c);
    assert_int_equal(snpu_machine_remove(other_name), -EBUSY);
    kill(c.pid, SIGKILL);
    hal_end(&c);
    snpu_machine_each(note_name, &listed);
    assert_true(listed);
    c = hal_spawn("watch", other_name);
    assert_string_equal(hal_hear(&c), "watching");
    assert_int_equal(snpu_machine_remove(other_name), -EBUSY);
    hal_end(&c);
    assert_int_equal(snpu_machine_remove(other_name), 0);
    assert_int_equal(access(other_path, F_OK), -1);
    int fd = open(other_path, O_RDWR | O_CREAT, 0600);
    assert_int_equal(write(fd, "something else", 14), 14);
    close(fd);
    assert_int_equal(snpu_machine_remove(other_name), -EPROTO);
    unlink(other_path);
}

static bool has_open(pid_t pid, const char *path)
{
    char link[64], target[256];
    bool found = false;
    for (int fd = 0; fd < 64 && !found; fd++) {
        snprintf(link, sizeof(link), "/proc/%d/fd/%d", (int)pid, fd);
        ssize_t n = readlink(link, target, sizeof(target) - 1);
        target[n > 0 ? n : 0] = '\0';
        found = strcmp(target, path) == 0;
    }
    return found;
}

static void joining_a_machine_being_removed_recreates_it(void **state)
{
    use_other_machine();
    look_at(other_name, "2", NULL);
    struct hal_child lock = hal_spawn("lock", other_path);
    assert_string_equal(hal_hear(&lock), "locked");
    char *mine = strdup(getenv("SOFTNPU_MACHINE"));
    setenv("SOFTNPU_MACHINE", other_name, 1);
    struct hal_child c = hal_spawn("look", "");
    setenv("SOFTNPU_MACHINE", mine, 1);
    free(mine);
    for (uint64_t end = ms_clock_raw_ns() + 10000000000u; !has_open(c.pid, other_path) && ms_clock_raw_ns() < end;) {
        sched_yield();
    }
    assert_int_equal(unlink(other_path), 0);
    hal_end(&lock);
    assert_string_equal(hal_hear(&c), "devices 2 capacity 268435456 used 0 fine");
    assert_int_equal(access(other_path, F_OK), 0);
    hal_end(&c);
    assert_int_equal(snpu_machine_remove(other_name), 0);
}

static void *alloc_half(void *arg)
{
    void *p = NULL;
    return halMemAlloc(&p, CAPACITY / 2, DEV_FLAGS) == 0 ? p : NULL;
}

/* Another process has added a charge that it will have to undo in a moment: the final decision waits for it. */
static void a_charge_in_flight_is_waited_for(void **state)
{
    struct machine_file *file = map_machine(own_machine_path);
    struct hal_child c = hal_spawn("hold", "4096");
    hal_hear(&c);
    struct machine_use *its = NULL;
    for (uint32_t i = 0; i < SNPU_MAX_PROCESSES; i++) {
        its = file->slots[i].pid == c.pid ? &file->slots[i].use[0] : its;
    }
    assert_non_null(its);
    __atomic_store_n(&its->in_flight, 1, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&its->used_b[SNPU_PAGE_HUGE], CAPACITY, __ATOMIC_SEQ_CST);
    pthread_t t;
    pthread_create(&t, NULL, alloc_half, NULL);
    for (uint64_t end = ms_clock_raw_ns() + 10000000000u;
         !__atomic_load_n(&file->exclusive[0], __ATOMIC_SEQ_CST) && ms_clock_raw_ns() < end;) {
        sched_yield();
    }
    __atomic_fetch_sub(&its->used_b[SNPU_PAGE_HUGE], CAPACITY, __ATOMIC_SEQ_CST);
    __atomic_store_n(&its->in_flight, 0, __ATOMIC_SEQ_CST);
    void *p;
    pthread_join(t, &p);
    assert_non_null(p);
    halMemFree(p);
    hal_end(&c);
}

static void a_context_is_charged(void **state)
{
    setenv("SOFTNPU_CONTEXT_B", "5M", 1);
    struct hal_child c = hal_spawn("context", "");
    unsetenv("SOFTNPU_CONTEXT_B");
    assert_string_equal(hal_hear(&c), "0 0 6291456 0");
    hal_end(&c);
}

static void settings_are_checked(void **state)
{
    char why[128];
    static const struct {
        const char *name, *value;
        int rc;
    } cases[] = {
        {"SOFTNPU_DEVICES", "64", 0},         {"SOFTNPU_DEVICES", "65", -EINVAL},  {"SOFTNPU_DEVICES", "", -EINVAL},
        {"SOFTNPU_HBM", "1.5G", 0},           {"SOFTNPU_HBM", "1K", -EINVAL},      {"SOFTNPU_HBM", "lots", -EINVAL},
        {"SOFTNPU_SOC", "Ascend910B4", 0},    {"SOFTNPU_SOC", "Ascend1", -EINVAL}, {"SOFTNPU_MACHINE", "a.b-c_9", 0},
        {"SOFTNPU_MACHINE", "../x", -EINVAL}, {"SOFTNPU_MACHINE", "a/b", -EINVAL}, {"SOFTNPU_CORES", "0", -EINVAL},
        {"SOFTNPU_CONTEXT_B", "300M", 0},     {"SOFTNPU_NONSENSE", "1", -ENOENT},
    };
    for (size_t i = 0; i < MS_COUNT_OF(cases); i++) {
        assert_int_equal(snpu_settings_check(cases[i].name, cases[i].value, why, sizeof(why)), cases[i].rc);
    }
    const char *meaning;
    assert_string_equal(snpu_settings_name(0, &meaning), "SOFTNPU_DEVICES");
    assert_null(snpu_settings_name(100, NULL));
}

int main(int argc, char **argv)
{
    hal_use_machine("2", "256M");
    for (size_t i = 0; argc > 2 && i < MS_COUNT_OF(roles); i++) {
        if (strcmp(argv[1], roles[i].name) == 0) {
            return roles[i].run(argv[2]);
        }
    }
    assert_int_equal(argc, 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_share_one_device),
        cmocka_unit_test(memory_of_a_killed_process_returns),
        cmocka_unit_test(a_forked_child_starts_from_scratch),
        cmocka_unit_test(an_execd_program_starts_from_scratch),
        cmocka_unit_test(observers_see_processes),
        cmocka_unit_test(the_first_user_configures),
        cmocka_unit_test(a_damaged_file_is_replaced_unless_in_use),
        cmocka_unit_test(a_full_machine_yields_a_private_one),
        cmocka_unit_test(leftovers_of_a_dead_process_are_harmless),
        cmocka_unit_test(processes_at_the_limit_get_exactly_the_capacity),
        cmocka_unit_test(a_kill_at_any_instant_leaks_nothing),
        cmocka_unit_test(a_charge_in_flight_is_waited_for),
        cmocka_unit_test(giant_pages),
        cmocka_unit_test(unused_machines_are_removed),
        cmocka_unit_test(joining_a_machine_being_removed_recreates_it),
        cmocka_unit_test(a_context_is_charged),
        cmocka_unit_test(settings_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
