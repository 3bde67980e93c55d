/* SPDX-License-Identifier: Apache-2.0 */
/* Two processes: the parent shares physical memory, memory by key, notifies and events with the child. */
#include "check.h"

#include <sys/wait.h>
#include <unistd.h>

#define VALUE 123

static int to_child[2], to_parent[2];

static void send_bytes(int fd, const void *data, size_t size)
{
    EXPECT(write(fd, data, size) == (ssize_t)size);
}

static void receive(int fd, void *data, size_t size)
{
    for (size_t have = 0; have < size;) {
        ssize_t n = read(fd, (char *)data + have, size - have);
        EXPECT(n > 0);
        have += (size_t)n;
    }
}

static void step_done(int fd)
{
    send_bytes(fd, "", 1);
}

static void await_step(int fd)
{
    char c;
    receive(fd, &c, 1);
}

static size_t granularity(aclrtPhysicalMemProp *prop)
{
    size_t size = 0;
    memset(prop, 0, sizeof(*prop));
    prop->handleType = ACL_MEM_HANDLE_TYPE_NONE;
    prop->allocationType = ACL_MEM_ALLOCATION_TYPE_PINNED;
    prop->location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    prop->memAttr = ACL_HBM_MEM_HUGE;
    OK(aclrtMemGetAllocationGranularity(prop, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, &size));
    return size;
}

static void *map(aclrtDrvMemHandle handle, size_t size)
{
    void *where = NULL;
    aclrtMemAccessDesc access = {.flags = ACL_RT_MEM_ACCESS_FLAGS_READWRITE,
                                 .location = {0, ACL_MEM_LOCATION_TYPE_DEVICE}};
    OK(aclrtReserveMemAddress(&where, size, 0, NULL, 0));
    OK(aclrtMapMem(where, size, 0, handle, 0));
    OK(aclrtMemSetAccess(where, size, &access, 1));
    return where;
}

static void unmap(void *where, aclrtDrvMemHandle handle)
{
    OK(aclrtUnmapMem(where));
    OK(aclrtReleaseMemAddress(where));
    OK(aclrtFreePhysical(handle));
}

static void set(void *device, int value)
{
    OK(aclrtMemcpy(device, sizeof(value), &value, sizeof(value), ACL_MEMCPY_HOST_TO_DEVICE));
}

static int get(const void *device)
{
    int value = 0;
    OK(aclrtMemcpy(&value, sizeof(value), device, sizeof(value), ACL_MEMCPY_DEVICE_TO_HOST));
    return value;
}

static void parent(aclrtStream stream)
{
    aclrtPhysicalMemProp prop;
    size_t size = granularity(&prop);
    aclrtDrvMemHandle handle;
    OK(aclrtMallocPhysical(&handle, size, &prop, 0));
    void *where = map(handle, size);
    set(where, VALUE);
    int32_t child;
    receive(to_parent[0], &child, sizeof(child));

    /* Physical memory: for one process by pid, for all, and as a handle that other servers could use. */
    uint64_t shareable = 0, open = 0;
    OK(aclrtMemExportToShareableHandle(handle, ACL_MEM_HANDLE_TYPE_NONE, 0, &shareable));
    send_bytes(to_child[1], &shareable, sizeof(shareable));
    await_step(to_parent[0]); /* refused so far */
    OK(aclrtMemSetPidToShareableHandle(shareable, &child, 1));
    step_done(to_child[1]);
    await_step(to_parent[0]);
    EXPECT(get(where) == VALUE + 1); /* both see the same memory */
    OK(aclrtMemExportToShareableHandle(handle, ACL_MEM_HANDLE_TYPE_NONE, 1, &open));
    send_bytes(to_child[1], &open, sizeof(open));
    await_step(to_parent[0]);
    aclrtMemFabricHandle fabric;
    OK(aclrtMemExportToShareableHandleV2(handle, ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION,
                                         ACL_MEM_SHARE_HANDLE_TYPE_FABRIC, &fabric));
    send_bytes(to_child[1], &fabric, sizeof(fabric));
    await_step(to_parent[0]);
    unmap(where, handle);

    /* Allocations by key. */
    void *block;
    char key[65] = "";
    OK(aclrtMalloc(&block, 1 << 20, ACL_MEM_MALLOC_HUGE_FIRST));
    set(block, VALUE);
    OK(aclrtIpcMemGetExportKey(block, 1 << 20, key, sizeof(key), 0));
    send_bytes(to_child[1], key, sizeof(key));
    await_step(to_parent[0]);
    OK(aclrtIpcMemSetImportPid(key, &child, 1));
    step_done(to_child[1]);
    await_step(to_parent[0]);
    OK(aclrtIpcMemClose(key));

    /* A notify: this stream waits until the child's stream records it. */
    aclrtNotify notify;
    char name[65] = "";
    OK(aclrtCreateNotify(&notify, 0));
    OK(aclrtNotifyGetExportKey(notify, name, sizeof(name), 0));
    OK(aclrtNotifySetImportPid(notify, &child, 1));
    send_bytes(to_child[1], name, sizeof(name));
    OK(aclrtWaitAndResetNotify(notify, stream, 0));
    aclrtStreamStatus status;
    OK(aclrtStreamQuery(stream, &status));
    EXPECT(status == ACL_STREAM_STATUS_NOT_READY);
    step_done(to_child[1]);
    OK(aclrtSynchronizeStream(stream));
    OK(aclrtDestroyNotify(notify));

    /* An event, recorded here, waited for there, and vice versa. */
    aclrtEvent event;
    aclrtIpcEventHandle event_handle;
    OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC));
    OK(aclrtIpcGetEventHandle(event, &event_handle));
    OK(aclrtRecordEvent(event, stream));
    send_bytes(to_child[1], &event_handle, sizeof(event_handle));
    await_step(to_parent[0]);
    OK(aclrtSynchronizeEvent(event));
    aclrtEventRecordedStatus recorded;
    OK(aclrtQueryEventStatus(event, &recorded));
    EXPECT(recorded == ACL_EVENT_RECORDED_STATUS_COMPLETE);
    OK(aclrtDestroyEvent(event));
    OK(aclrtFree(block));
}

static void child(aclrtStream stream)
{
    aclrtPhysicalMemProp prop;
    size_t size = granularity(&prop);
    int32_t self;
    OK(aclrtDeviceGetBareTgid(&self));
    EXPECT(self == getpid());
    send_bytes(to_parent[1], &self, sizeof(self));

    uint64_t shareable;
    aclrtDrvMemHandle handle = NULL;
    receive(to_child[0], &shareable, sizeof(shareable));
    EXPECT(aclrtMemImportFromShareableHandle(shareable, 0, &handle) != ACL_SUCCESS);
    step_done(to_parent[1]);
    await_step(to_child[0]);
    OK(aclrtMemImportFromShareableHandle(shareable, 0, &handle));
    void *where = map(handle, size);
    EXPECT(get(where) == VALUE);
    set(where, VALUE + 1);
    unmap(where, handle);
    step_done(to_parent[1]);
    receive(to_child[0], &shareable, sizeof(shareable));
    OK(aclrtMemImportFromShareableHandle(shareable, 0, &handle));
    OK(aclrtFreePhysical(handle));
    step_done(to_parent[1]);
    aclrtMemFabricHandle fabric;
    receive(to_child[0], &fabric, sizeof(fabric));
    OK(aclrtMemImportFromShareableHandleV2(&fabric, ACL_MEM_SHARE_HANDLE_TYPE_FABRIC,
                                           ACL_RT_IPC_MEM_EXPORT_FLAG_DEFAULT, &handle));
    where = map(handle, size);
    EXPECT(get(where) == VALUE + 1);
    unmap(where, handle);
    step_done(to_parent[1]);

    char key[65];
    void *block = NULL;
    receive(to_child[0], key, sizeof(key));
    EXPECT(aclrtIpcMemImportByKey(&block, key, 0) != ACL_SUCCESS);
    step_done(to_parent[1]);
    await_step(to_child[0]);
    OK(aclrtIpcMemImportByKey(&block, key, 0));
    EXPECT(get(block) == VALUE);
    OK(aclrtIpcMemClose(key));
    EXPECT(aclrtFree(block) != ACL_SUCCESS);
    step_done(to_parent[1]);

    aclrtNotify notify;
    char name[65];
    receive(to_child[0], name, sizeof(name));
    OK(aclrtNotifyImportByKey(&notify, name, 0));
    await_step(to_child[0]);
    OK(aclrtRecordNotify(notify, stream));
    OK(aclrtSynchronizeStream(stream));
    OK(aclrtDestroyNotify(notify));

    aclrtIpcEventHandle event_handle;
    aclrtEvent event;
    receive(to_child[0], &event_handle, sizeof(event_handle));
    OK(aclrtIpcOpenEventHandle(event_handle, &event));
    OK(aclrtStreamWaitEvent(stream, event));
    OK(aclrtSynchronizeStream(stream));
    OK(aclrtRecordEvent(event, stream));
    OK(aclrtSynchronizeEvent(event));
    OK(aclrtDestroyEvent(event));
    step_done(to_parent[1]);
}

int main(void)
{
    EXPECT(pipe(to_child) == 0 && pipe(to_parent) == 0);
    pid_t pid = fork(); /* before the first call: each process is a separate user */
    EXPECT(pid >= 0);
    /* Close the other side's ends, so that each process notices when the other ends. */
    close(pid == 0 ? to_child[1] : to_child[0]);
    close(pid == 0 ? to_parent[0] : to_parent[1]);
    aclrtStream stream;
    OK(aclInit(NULL));
    OK(aclrtSetDevice(0));
    OK(aclrtCreateStream(&stream));
    if (pid == 0) {
        child(stream);
    } else {
        parent(stream);
    }
    OK(aclrtDestroyStream(stream));
    OK(aclrtResetDevice(0));
    OK(aclFinalize());
    if (pid == 0) {
        return 0;
    }
    int status;
    EXPECT(waitpid(pid, &status, 0) == pid && status == 0);
    puts("share: all good");
    return 0;
}
