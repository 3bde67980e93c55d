/* SPDX-License-Identifier: Apache-2.0 */
/* The "AI cores": a process-wide pool of threads that run the blocks of kernels.
 *
 * A job is on the stack of the thread that runs a kernel. That thread always works on its own job; pool threads join
 * while there are blocks left. Every participant takes one block at a time from an atomic counter. With several jobs, a
 * pool thread moves to the next job after each block, so streams share the pool evenly.
 *
 * Most kernels in real programs are short, and waking a thread costs more than running them. The caller therefore runs
 * the first block alone and requests help only if the remaining work is worth it, judged by the time that block took.
 *
 * Threads and locks: pool.lock protects the job list, the number of helpers in each job and the thread count; it is a
 * leaf. Pool threads start on first need, sleep on pool.work when idle, and never end. A thread that is running a block
 * and calls snpu_cores_run again runs that job alone: the pool never waits for itself.
 *
 * Failure: if no thread can be started, the caller does all the work. After a fault in one block no further block is
 * started; the first fault is the one reported. */
#include "softnpu/runtime/trap.h"

#include "base/clock.h"
#include "softnpu/hal/hal_ext.h"

#include <pthread.h>
#include <signal.h>

/* Rough cost of waking a sleeping thread and waiting for it; less work than this stays on the calling thread. */
#define WAKE_WORTH_NS 8000

struct job {
    snpu_block_fn fn;
    void *args;
    uint32_t blocks;
    uint32_t next;    /* atomic: the next block to take; may run past blocks */
    uint32_t helpers; /* pool threads working on this job */
    uint32_t failed;  /* atomic: a thread has claimed trap */
    struct snpu_trap trap;
    pthread_cond_t left;
    struct job *link_prev, *link_next;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t work;
    struct job *jobs;   /* circular list, starting with the next job to help */
    uint32_t job_count; /* written under the lock, read without it as a hint */
    uint32_t threads, idle;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .work = PTHREAD_COND_INITIALIZER};

static __thread bool inside;

/* Runs one block if any is left. */
static bool run_block(struct job *job)
{
    if (__atomic_load_n(&job->next, __ATOMIC_RELAXED) >= job->blocks) {
        return false;
    }
    uint32_t block = __atomic_fetch_add(&job->next, 1, __ATOMIC_RELAXED);
    if (block >= job->blocks) {
        return false;
    }
    struct snpu_trap trap;
    if (MS_UNLIKELY(!snpu__trap_run(job->fn, job->args, block, block + 1, job->blocks, &trap))) {
        __atomic_store_n(&job->next, job->blocks, __ATOMIC_RELAXED);
        if (__atomic_exchange_n(&job->failed, 1, __ATOMIC_RELAXED) == 0) {
            job->trap = trap; /* read by the caller after the last helper has left */
        }
    }
    return true;
}

/* The next job with blocks left; rotates the list so that another job comes first next time. */
static struct job *pick(void)
{
    struct job *first = pool.jobs;
    if (first == NULL) {
        return NULL;
    }
    struct job *job = first;
    do {
        if (__atomic_load_n(&job->next, __ATOMIC_RELAXED) < job->blocks) {
            pool.jobs = job->link_next;
            return job;
        }
        job = job->link_next;
    } while (job != first);
    return NULL;
}

static void *core_main(void *unused)
{
    inside = true;
    snpu__trap_stack_begin();
    pthread_mutex_lock(&pool.lock);
    for (;;) {
        struct job *job = pick();
        if (job == NULL) {
            pool.idle++;
            pthread_cond_wait(&pool.work, &pool.lock);
            pool.idle--;
            continue;
        }
        job->helpers++;
        pthread_mutex_unlock(&pool.lock);
        while (run_block(job) && __atomic_load_n(&pool.job_count, __ATOMIC_RELAXED) == 1) {
        }
        pthread_mutex_lock(&pool.lock);
        if (--job->helpers == 0) {
            pthread_cond_signal(&job->left);
        }
    }
    return unused;
}

static bool start_thread(void)
{
    pthread_attr_t attr;
    pthread_t thread;
    sigset_t all, before;
    snpu__mask_but_faults(&all);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&thread, &attr, core_main, NULL) == 0;
    if (started) {
        pthread_setname_np(thread, "softnpu-core");
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return started;
}

static void post(struct job *job, uint32_t helpers_wanted, uint32_t helpers_max)
{
    pthread_mutex_lock(&pool.lock);
    if (pool.jobs == NULL) {
        job->link_prev = job->link_next = job;
        pool.jobs = job;
    } else {
        struct job *head = pool.jobs;
        job->link_next = head;
        job->link_prev = head->link_prev;
        head->link_prev->link_next = job;
        head->link_prev = job;
    }
    __atomic_store_n(&pool.job_count, pool.job_count + 1, __ATOMIC_RELAXED);
    uint32_t wake = helpers_wanted < pool.idle ? helpers_wanted : pool.idle;
    for (uint32_t i = 0; i < wake; i++) {
        pthread_cond_signal(&pool.work);
    }
    while (wake < helpers_wanted && pool.threads < helpers_max && start_thread()) {
        pool.threads++;
        wake++;
    }
    pthread_mutex_unlock(&pool.lock);
}

static void withdraw(struct job *job)
{
    pthread_mutex_lock(&pool.lock);
    if (job->link_next == job) {
        pool.jobs = NULL;
    } else {
        job->link_prev->link_next = job->link_next;
        job->link_next->link_prev = job->link_prev;
        if (pool.jobs == job) {
            pool.jobs = job->link_next;
        }
    }
    __atomic_store_n(&pool.job_count, pool.job_count - 1, __ATOMIC_RELAXED);
    while (job->helpers > 0) {
        pthread_cond_wait(&job->left, &pool.lock);
    }
    pthread_mutex_unlock(&pool.lock);
}

bool snpu__cores_run(snpu_block_fn fn, void *args, uint32_t blocks, struct snpu_trap *trap)
{
    if (blocks <= 1 || inside) {
        return snpu__trap_run(fn, args, 0, blocks, blocks, trap);
    }
    uint32_t cores = snpu_hal_cores();
    uint32_t helpers_max = cores > 1 ? cores - 1 : 0;
    bool good;
    inside = true;
    if (helpers_max == 0) {
        good = snpu__trap_run(fn, args, 0, blocks, blocks, trap);
        inside = false;
        return good;
    }
    uint64_t begin = ms_clock_raw_ns();
    good = snpu__trap_run(fn, args, 0, 1, blocks, trap);
    uint64_t block_ns = ms_clock_raw_ns() - begin;
    if (MS_UNLIKELY(!good)) {
        inside = false;
        return false;
    }
    if (block_ns < WAKE_WORTH_NS && block_ns * (blocks - 1) < WAKE_WORTH_NS) {
        good = snpu__trap_run(fn, args, 1, blocks, blocks, trap);
    } else {
        struct job job = {.fn = fn, .args = args, .blocks = blocks, .next = 1};
        pthread_cond_init(&job.left, NULL);
        post(&job, blocks - 2 < helpers_max ? blocks - 2 : helpers_max, helpers_max);
        while (run_block(&job)) {
        }
        withdraw(&job);
        pthread_cond_destroy(&job.left);
        good = !job.failed;
        if (!good) {
            *trap = job.trap;
        }
    }
    inside = false;
    return good;
}

bool snpu_cores_run(snpu_block_fn fn, void *args, uint32_t blocks)
{
    struct snpu_trap trap;
    return snpu__cores_run(fn, args, blocks, &trap);
}
