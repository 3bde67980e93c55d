/* SPDX-License-Identifier: Apache-2.0 */
/* Message buffers and the overflow status. */
#include "rt_test.h"

static void buffers_share_their_block(void **state)
{
    aclrtMbuf one, two;
    void *data = NULL, *same = NULL;
    size_t size = 0, length = 0;
    OK(aclrtAllocBuf(&one, 100));
    OK(aclrtGetBufData(one, &data, &size));
    assert_int_equal(size, 100);
    assert_int_equal((uintptr_t)data % 64, 0);
    memset(data, 7, size);
    OK(aclrtSetBufDataLen(one, 60));
    FAILS(aclrtSetBufDataLen(one, 101), ACL_ERROR_INVALID_PARAM);
    OK(aclrtCopyBufRef(one, &two));
    OK(aclrtFreeBuf(one));
    OK(aclrtGetBufData(two, &same, &size));
    assert_ptr_equal(same, data);
    assert_int_equal(((char *)same)[99], 7);
    OK(aclrtGetBufDataLen(two, &length));
    assert_int_equal(length, 60);
    OK(aclrtFreeBuf(two));
    FAILS(aclrtFreeBuf(two), ACL_ERROR_INVALID_PARAM);
    FAILS(aclrtAllocBuf(&one, 0), ACL_ERROR_INVALID_PARAM);
    FAILS(aclrtAllocBuf(NULL, 10), ACL_ERROR_INVALID_PARAM);
}

static void the_user_area_has_96_bytes(void **state)
{
    aclrtMbuf buf;
    char in[8] = "abcdefg", out[8] = "";
    OK(aclrtAllocBuf(&buf, 8));
    OK(aclrtSetBufUserData(buf, in, 8, 88));
    OK(aclrtGetBufUserData(buf, out, 8, 88));
    assert_string_equal(out, in);
    FAILS(aclrtSetBufUserData(buf, in, 8, 89), ACL_ERROR_INVALID_PARAM);
    FAILS(aclrtGetBufUserData(buf, out, SIZE_MAX, 8), ACL_ERROR_INVALID_PARAM);
    FAILS(aclrtGetBufUserData(buf, NULL, 1, 0), ACL_ERROR_INVALID_PARAM);
    OK(aclrtFreeBuf(buf));
}

static void chains_are_freed_by_their_head(void **state)
{
    aclrtMbuf chain[4], got = NULL;
    uint32_t count = 0;
    for (int i = 0; i < 4; i++) {
        OK(aclrtAllocBuf(&chain[i], 16));
    }
    OK(aclrtAppendBufChain(chain[0], chain[1]));
    OK(aclrtAppendBufChain(chain[0], chain[2]));
    FAILS(aclrtAppendBufChain(chain[0], chain[1]), ACL_ERROR_INVALID_PARAM);
    FAILS(aclrtAppendBufChain(chain[0], chain[0]), ACL_ERROR_INVALID_PARAM);
    FAILS(aclrtAppendBufChain(chain[1], chain[3]), ACL_ERROR_INVALID_PARAM);
    OK(aclrtGetBufChainNum(chain[0], &count));
    assert_int_equal(count, 3);
    OK(aclrtGetBufFromChain(chain[0], 2, &got));
    assert_ptr_equal(got, chain[2]);
    FAILS(aclrtGetBufFromChain(chain[0], 3, &got), ACL_ERROR_INVALID_PARAM);
    FAILS(aclrtFreeBuf(chain[1]), ACL_ERROR_INVALID_PARAM);
    OK(aclrtFreeBuf(chain[0]));
    FAILS(aclrtGetBufChainNum(chain[2], &count), ACL_ERROR_INVALID_PARAM);
    OK(aclrtFreeBuf(chain[3]));
}

static void no_overflow_is_reported(void **state)
{
    uint64_t *status;
    OK(aclrtMalloc((void **)&status, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    memset(status, 0xff, 64);
    OK(aclrtGetOverflowStatus(status, 64, NULL));
    OK(aclrtSynchronizeStream(NULL));
    for (int i = 0; i < 8; i++) {
        assert_int_equal(status[i], 0);
    }
    OK(aclrtNpuGetFloatOverFlowStatus(status, 64, 0, NULL));
    OK(aclrtResetOverflowStatus(NULL));
    OK(aclrtNpuClearFloatOverFlowStatus(0, NULL));
    FAILS(aclrtGetOverflowStatus(status, 32, NULL), ACL_ERROR_INVALID_PARAM);
    FAILS(aclrtGetFloatOverflowStatus(NULL, 64, NULL), ACL_ERROR_INVALID_PARAM);
    FAILS(aclrtNpuClearFloatOverFlowStatus(3, NULL), ACL_ERROR_INVALID_PARAM);
    OK(aclrtSynchronizeStream(NULL));
    OK(aclrtFree(status));
    void *address = NULL, *again = NULL, *other = NULL;
    aclrtPtrAttributes attributes;
    OK(aclrtCtxGetFloatOverflowAddr(&address));
    OK(aclrtCtxGetFloatOverflowAddr(&again));
    assert_ptr_equal(address, again);
    OK(aclrtPointerGetAttributes(address, &attributes));
    assert_int_equal(attributes.location.type, ACL_MEM_LOCATION_TYPE_DEVICE);
    OK(aclrtGetHardwareSyncAddr(&other));
    assert_ptr_not_equal(other, address);
    assert_int_equal(*(uint64_t *)address, 0);
}

int main(void)
{
    own_machine();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buffers_share_their_block),
        cmocka_unit_test(the_user_area_has_96_bytes),
        cmocka_unit_test(chains_are_freed_by_their_head),
        cmocka_unit_test(no_overflow_is_reported),
    };
    return cmocka_run_group_tests(tests, on_device, off_device);
}
