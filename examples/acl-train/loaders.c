/* SPDX-License-Identifier: Apache-2.0 */
/* Threads beside the training, like data loaders: each creates noise samples on the device, on its own stream, and
 * drops them again. They do not affect the training; they exercise the allocator, the operators and the attached tools
 * from several threads at once. */
#include "train.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { SAMPLES_KEPT = 3 };

struct loader {
    struct npu npu; /* the trainer's, with its own stream and operator name */
    struct loaders *loaders;
    pthread_t thread;
    int64_t number, rows, width;
};

struct loaders {
    atomic_bool stop;
    int64_t count;
    struct loader loader[];
};

static void *load(void *arg)
{
    struct loader *loader = arg;
    struct npu *npu = &loader->npu;
    struct tensor *kept[SAMPLES_KEPT] = {NULL};
    check_acl(aclrtSetDevice(npu->device), "aclrtSetDevice");
    check_acl(aclrtCreateStream(&npu->stream), "aclrtCreateStream");
    for (uint64_t i = 0; !atomic_load(&loader->loaders->stop) || i < SAMPLES_KEPT; i++) {
        struct tensor **slot = &kept[i % SAMPLES_KEPT];
        tensor_free(npu, slot);
        struct tensor *noise = TENSOR(npu, loader->rows + (int64_t)(i % 7), loader->width);
        op_normal_(npu, noise, i * 64 + (uint64_t)loader->number, 0.1);
        *slot = op_gelu(npu, noise);
        tensor_free(npu, &noise);
        npu_synchronize(npu);
    }
    for (int i = 0; i < SAMPLES_KEPT; i++) {
        tensor_free(npu, &kept[i]);
    }
    npu_synchronize(npu);
    check_acl(aclrtDestroyStream(npu->stream), "aclrtDestroyStream");
    return NULL;
}

void loaders_open(struct trainer *trainer)
{
    int64_t count = trainer->options->loaders;
    if (count == 0) {
        return;
    }
    struct loaders *loaders = calloc(1, sizeof(*loaders) + (size_t)count * sizeof(struct loader));
    if (loaders == NULL) {
        fail("no host memory for %lld loaders", (long long)count);
    }
    for (; loaders->count < count; loaders->count++) {
        struct loader *loader = &loaders->loader[loaders->count];
        *loader = (struct loader){.npu = trainer->npu,
                                  .loaders = loaders,
                                  .number = loaders->count,
                                  .rows = trainer->options->batch,
                                  .width = trainer->options->hidden};
        loader->npu.hook = NULL;
        if (pthread_create(&loader->thread, NULL, load, loader) != 0) {
            fail("cannot start loader %lld", (long long)loaders->count);
        }
    }
    trainer->loaders = loaders;
}

void loaders_close(struct trainer *trainer)
{
    struct loaders *loaders = trainer->loaders;
    if (loaders == NULL) {
        return;
    }
    atomic_store(&loaders->stop, true);
    for (int64_t i = 0; i < loaders->count; i++) {
        pthread_join(loaders->loader[i].thread, NULL);
    }
    free(loaders);
    trainer->loaders = NULL;
}
