/* SPDX-License-Identifier: Apache-2.0 */
/* Memory hooks on the software NPU: every field of every record, in order; results and errno untouched. */
#include "agent_fixture.h"

#include "acl/acl.h"
#include "ascend_hal.h"

#include <errno.h>
#include <string.h>

#define OK(call) assert_int_equal((call), 0)
enum { CANARY = 4711 };

static struct process *self;

static int set_up(void **state)
{
    OK(aclInit(NULL));
    OK(aclrtSetDevice(0));
    self = own_process();
    return 0;
}

static int start(void **state)
{
    self->shm->state = MS_STATE_ON;
    self->shm->event_mask = MS_WANT_ALLOC | MS_WANT_FREE;
    skip_records(self);
    errno = CANARY;
    return 0;
}

static void registration_identifies_the_process(void **state)
{
    assert_int_equal(self->hello.head.kind, MS_MESSAGE_HELLO);
    assert_true(self->hello.start_time != 0);
    assert_non_null(strstr(self->text, "agent_memory_test"));
    assert_int_equal(self->shm->pid, self->hello.pid);
}

static void alloc_and_free(void **state)
{
    const struct ms_record *r;
    unsigned long long flag = MEM_DEV | MEM_TYPE_HBM | MEM_PAGE_HUGE | 1ull | 33ull << MEM_MODULE_ID_BIT;
    void *p = NULL;
    OK(halMemAlloc(&p, 3 << 20, flag));
    assert_int_equal(errno, CANARY);
    const struct ms_p_hal_alloc *a = next_record(self, MS_R_HAL_ALLOC, &r);
    assert_int_equal(a->addr, (uintptr_t)p);
    assert_int_equal(a->size_b, 3 << 20);
    assert_true(a->flag == flag);
    assert_int_equal(r->flags, 0);
    assert_int_equal(r->words, 5);
    uint64_t born = r->stamp;
    OK(halMemFree(p));
    assert_int_equal(errno, CANARY);
    assert_int_equal(((const struct ms_p_addr *)next_record(self, MS_R_HAL_FREE, &r))->addr, (uintptr_t)p);
    assert_int_equal(r->words, 3);
    assert_true(r->stamp >= born);
    no_more_records(self);
}

/* The runtime reaches the driver through the same hooks. */
static void runtime_allocations_are_seen(void **state)
{
    void *p = NULL;
    OK(aclrtMalloc(&p, 1000, ACL_MEM_MALLOC_NORMAL_ONLY));
    const struct ms_p_hal_alloc *a = next_record(self, MS_R_HAL_ALLOC, NULL);
    assert_int_equal(a->addr, (uintptr_t)p);
    assert_int_equal(a->size_b, 1056);
    assert_true(a->flag == 0x2100000000904400ull);
    OK(aclrtFree(p));
    assert_int_equal(((const struct ms_p_addr *)next_record(self, MS_R_HAL_FREE, NULL))->addr, (uintptr_t)p);
    no_more_records(self);
}

static void failed_free_is_revoked(void **state)
{
    char mine;
    assert_int_not_equal(halMemFree(&mine), 0);
    assert_int_equal(((const struct ms_p_addr *)next_record(self, MS_R_HAL_FREE, NULL))->addr, (uintptr_t)&mine);
    assert_int_equal(((const struct ms_p_addr *)next_record(self, MS_R_HAL_FREE_FAILED, NULL))->addr, (uintptr_t)&mine);
    no_more_records(self);
}

static void failed_allocation_leaves_nothing(void **state)
{
    void *p = NULL;
    assert_int_equal(halMemAlloc(NULL, 4096, MEM_DEV), DRV_ERROR_INVALID_VALUE);
    assert_int_not_equal(halMemAlloc(&p, 0, MEM_DEV), 0);
    assert_int_equal(halMemCreate(NULL, 2 << 20, NULL, 0) == DRV_ERROR_NONE, 0);
    no_more_records(self);
}

static void out_of_memory_is_recorded(void **state)
{
    const struct ms_record *r;
    unsigned long long flag = MEM_DEV | MEM_TYPE_HBM | 1ull;
    void *p = NULL;
    assert_int_equal(halMemAlloc(&p, 1ull << 40, flag), DRV_ERROR_OUT_OF_MEMORY);
    const struct ms_p_oom *oom = next_record(self, MS_R_OOM, &r);
    assert_int_equal(r->arg, 1);
    assert_int_equal(oom->function, MS_OOM_MEM_ALLOC);
    assert_true(oom->size_b == 1ull << 40 && oom->flag == flag);
    assert_true((r->flags & MS_RECORD_STACKS) != 0); /* although no stacks are configured */
    const struct ms_stack_ids *ids = (const void *)((const uint64_t *)(const void *)r + r->words - 1);
    assert_true(ids->c != 0);

    drv_mem_handle_t *handle = NULL;
    struct drv_mem_prop prop = {.side = MEM_DEV_SIDE, .devid = 0, .module_id = 33, .pg_type = MEM_HUGE_PAGE_TYPE};
    assert_int_equal(halMemCreate(&handle, 1ull << 40, &prop, 0), DRV_ERROR_OUT_OF_MEMORY);
    oom = next_record(self, MS_R_OOM, &r);
    assert_int_equal(r->arg, 0);
    assert_int_equal(oom->function, MS_OOM_MEM_CREATE);
    no_more_records(self);
}

static void virtual_memory(void **state)
{
    const struct ms_record *r;
    drv_mem_handle_t *handle = NULL;
    struct drv_mem_prop prop = {
        .side = MEM_DEV_SIDE, .devid = 1, .module_id = 33, .pg_type = MEM_HUGE_PAGE_TYPE, .mem_type = MEM_HBM_TYPE};
    size_t size = 4 << 20;
    void *range = NULL;
    OK(halMemAddressReserve(&range, size, 0, NULL, 0));
    OK(halMemCreate(&handle, size, &prop, 0));
    OK(halMemMap(range, size, 0, handle, 0));
    OK(halMemUnmap(range));
    OK(halMemRelease(handle));
    OK(halMemAddressFree(range));
    assert_int_equal(errno, CANARY);

    const struct ms_p_range *reserve = next_record(self, MS_R_RESERVE, NULL);
    assert_true(reserve->addr == (uintptr_t)range && reserve->size_b == size);
    const struct ms_p_hal_create *create = next_record(self, MS_R_HAL_CREATE, &r);
    assert_true(create->handle == (uintptr_t)handle && create->size_b == size);
    assert_int_equal(r->arg, 1);
    assert_int_equal(create->side, MEM_DEV_SIDE);
    assert_int_equal(create->module_id, 33);
    assert_int_equal(create->page_type, MEM_HUGE_PAGE_TYPE);
    assert_int_equal(create->mem_type, MEM_HBM_TYPE);
    const struct ms_p_map *map = next_record(self, MS_R_MAP, NULL);
    assert_true(map->addr == (uintptr_t)range && map->size_b == size && map->offset_b == 0 &&
                map->handle == (uintptr_t)handle);
    assert_true(((const struct ms_p_addr *)next_record(self, MS_R_UNMAP, NULL))->addr == (uintptr_t)range);
    assert_true(((const struct ms_p_addr *)next_record(self, MS_R_HAL_RELEASE, NULL))->addr == (uintptr_t)handle);
    assert_true(((const struct ms_p_addr *)next_record(self, MS_R_ADDRESS_FREE, NULL))->addr == (uintptr_t)range);

    char nothing;
    assert_int_not_equal(halMemUnmap(&nothing), 0);
    assert_int_not_equal(halMemAddressFree(&nothing), 0);
    assert_int_not_equal(halMemRelease((drv_mem_handle_t *)&nothing), 0);
    static const enum ms_record_kind expected[] = {MS_R_UNMAP,        MS_R_UNMAP_FAILED,
                                                   MS_R_ADDRESS_FREE, MS_R_ADDRESS_FREE_FAILED,
                                                   MS_R_HAL_RELEASE,  MS_R_HAL_RELEASE_FAILED};
    for (unsigned i = 0; i < 6; i++) {
        assert_true(((const struct ms_p_addr *)next_record(self, expected[i], NULL))->addr == (uintptr_t)&nothing);
    }
    no_more_records(self);
}

static void pinned_host_memory(void **state)
{
    static _Alignas(4096) char memory[8192];
    const struct ms_record *r;
    OK(aclrtHostRegisterV2(memory, sizeof(memory), ACL_HOST_REG_PINNED));
    OK(aclrtHostUnregister(memory));
    const struct ms_p_host_register *pinned = next_record(self, MS_R_HOST_REGISTER, &r);
    assert_true(pinned->addr == (uintptr_t)memory && pinned->size_b == sizeof(memory));
    assert_int_equal(r->arg, ACL_HOST_REG_PINNED);
    assert_true(((const struct ms_p_addr *)next_record(self, MS_R_HOST_UNREGISTER, NULL))->addr == (uintptr_t)memory);
    no_more_records(self);

    OK(aclrtHostRegisterV2(memory, sizeof(memory), ACL_HOST_REG_MAPPED)); /* mapped, not pinned */
    no_more_records(self);
    OK(aclrtHostUnregister(memory));
    next_record(self, MS_R_HOST_UNREGISTER, NULL);
    assert_int_not_equal(aclrtHostUnregister(memory), 0);
    next_record(self, MS_R_HOST_UNREGISTER, NULL);
    next_record(self, MS_R_HOST_UNREGISTER_FAILED, NULL);
    no_more_records(self);
}

static void shadow_and_off(void **state)
{
    const struct ms_record *r;
    void *p = NULL;
    self->shm->state = MS_STATE_SHADOW;
    OK(halMemAlloc(&p, 4096, MEM_DEV | MEM_TYPE_HBM));
    next_record(self, MS_R_HAL_ALLOC, &r);
    assert_int_equal(r->flags, MS_RECORD_SHADOW);
    self->shm->state = MS_STATE_OFF;
    OK(halMemFree(p));
    OK(halMemAlloc(&p, 4096, MEM_DEV | MEM_TYPE_HBM));
    no_more_records(self);
    self->shm->state = MS_STATE_ON;
    OK(halMemFree(p));
    next_record(self, MS_R_HAL_FREE, &r);
    assert_int_equal(r->flags, 0);
    self->shm->event_mask = MS_WANT_LAUNCH;
    OK(halMemAlloc(&p, 4096, MEM_DEV | MEM_TYPE_HBM));
    OK(halMemFree(p));
    no_more_records(self);
}

static void life_of_the_library(void **state)
{
    const struct ms_record *r;
    OK(aclrtSetDevice(1));
    const struct ms_p_device *set = next_record(self, MS_R_SET_DEVICE, &r);
    assert_int_equal(r->arg, 1);
    assert_int_equal(set->result, 0);
    int failed = aclrtSetDevice(77);
    assert_int_not_equal(failed, 0);
    set = next_record(self, MS_R_SET_DEVICE, &r);
    assert_int_equal(set->result, failed);
    OK(aclrtResetDevice(1));
    assert_int_equal(aclInit(NULL), ACL_ERROR_REPEAT_INITIALIZE);
    next_record(self, MS_R_ACL_INIT, &r);
    assert_int_equal(r->words, 2);
    self->shm->state = MS_STATE_SHADOW;
    OK(aclFinalize());
    no_more_records(self);
    OK(aclInit(NULL));
    self->shm->state = MS_STATE_ON;
    OK(aclFinalize());
    next_record(self, MS_R_ACL_FINI, NULL);
    assert_int_not_equal(aclFinalize(), 0);
    no_more_records(self);
}

int main(int argc, char **argv)
{
    session_begin(argv, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(registration_identifies_the_process),
        cmocka_unit_test_setup(alloc_and_free, start),
        cmocka_unit_test_setup(runtime_allocations_are_seen, start),
        cmocka_unit_test_setup(failed_free_is_revoked, start),
        cmocka_unit_test_setup(failed_allocation_leaves_nothing, start),
        cmocka_unit_test_setup(out_of_memory_is_recorded, start),
        cmocka_unit_test_setup(virtual_memory, start),
        cmocka_unit_test_setup(pinned_host_memory, start),
        cmocka_unit_test_setup(shadow_and_off, start),
        cmocka_unit_test_setup(life_of_the_library, start),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
