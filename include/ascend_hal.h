/* SPDX-License-Identifier: Apache-2.0 */
/* The driver's interface (libascend_hal.so): devices, memory, profiling channels. Device numbers are driver ids. */
#ifndef ASCEND_HAL_H
#define ASCEND_HAL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* ---- basic types ---- */
typedef unsigned char UINT8;
typedef unsigned int UINT32;
typedef unsigned long long UINT64;

typedef enum {
    DRV_ERROR_NONE = 0,
    DRV_ERROR_NO_DEVICE = 1,
    DRV_ERROR_INVALID_DEVICE = 2,
    DRV_ERROR_INVALID_VALUE = 3,
    DRV_ERROR_INVALID_HANDLE = 4,
    DRV_ERROR_INVALID_MALLOC_TYPE = 5,
    DRV_ERROR_OUT_OF_MEMORY = 6,
    DRV_ERROR_INNER_ERR = 7,
    DRV_ERROR_PARA_ERROR = 8,
    DRV_ERROR_UNINIT = 9,
    DRV_ERROR_REPEATED_INIT = 10,
    DRV_ERROR_NOT_EXIST = 11,
    DRV_ERROR_REPEATED_USERD = 12,
    DRV_ERROR_BUSY = 13,
    DRV_ERROR_NO_RESOURCES = 14,
    DRV_ERROR_OUT_OF_CMD_SLOT = 15,
    DRV_ERROR_WAIT_TIMEOUT = 16,
    DRV_ERROR_IOCRL_FAIL = 17,
    DRV_ERROR_SOCKET_CREATE = 18,
    DRV_ERROR_SOCKET_CONNECT = 19,
    DRV_ERROR_SOCKET_BIND = 20,
    DRV_ERROR_SOCKET_LISTEN = 21,
    DRV_ERROR_SOCKET_ACCEPT = 22,
    DRV_ERROR_CLIENT_BUSY = 23,
    DRV_ERROR_SOCKET_SET = 24,
    DRV_ERROR_SOCKET_CLOSE = 25,
    DRV_ERROR_RECV_MESG = 26,
    DRV_ERROR_SEND_MESG = 27,
    DRV_ERROR_SERVER_BUSY = 28,
    DRV_ERROR_CONFIG_READ_FAIL = 29,
    DRV_ERROR_STATUS_FAIL = 30,
    DRV_ERROR_SERVER_CREATE_FAIL = 31,
    DRV_ERROR_WAIT_INTERRUPT = 32,
    DRV_ERROR_BUS_DOWN = 33,
    DRV_ERROR_DEVICE_NOT_READY = 34,
    DRV_ERROR_REMOTE_NOT_LISTEN = 35,
    DRV_ERROR_NON_BLOCK = 36,
    DRV_ERROR_OVER_LIMIT = 37,
    DRV_ERROR_FILE_OPS = 38,
    DRV_ERROR_MBIND_FAIL = 39,
    DRV_ERROR_MALLOC_FAIL = 40,
    DRV_ERROR_REPEATED_SUBSCRIBED = 41,
    DRV_ERROR_PROCESS_EXIT = 42,
    DRV_ERROR_DEV_PROCESS_HANG = 43,
    DRV_ERROR_REMOTE_NO_SESSION = 44,
    DRV_ERROR_HOT_RESET_IN_PROGRESS = 45,
    DRV_ERROR_OPER_NOT_PERMITTED = 46,
    DRV_ERROR_NO_EVENT_RESOURCES = 47,
    DRV_ERROR_NO_STREAM_RESOURCES = 48,
    DRV_ERROR_NO_NOTIFY_RESOURCES = 49,
    DRV_ERROR_NO_MODEL_RESOURCES = 50,
    DRV_ERROR_TRY_AGAIN = 51,
    DRV_ERROR_DST_PATH_ILLEGAL = 52,
    DRV_ERROR_OPEN_FAILED = 53,
    DRV_ERROR_NO_FREE_SPACE = 54,
    DRV_ERROR_LOCAL_ABNORMAL_FILE = 55,
    DRV_ERROR_DST_PERMISSION_DENIED = 56,
    DRV_ERROR_DST_NO_SUCH_FILE = 57,
    DRV_ERROR_MEMORY_OPT_FAIL = 58,
    DRV_ERROR_RUNTIME_ON_OTHER_PLAT = 59,
    DRV_ERROR_SQID_FULL = 60,
    DRV_ERROR_SERVER_HAS_BEEN_CREATED = 61,
    DRV_ERROR_NO_PROCESS = 62,
    DRV_ERROR_NO_SUBSCRIBE_THREAD = 63,
    DRV_ERROR_NON_SCHED_GRP_MUL_THREAD = 64,
    DRV_ERROR_NO_GROUP = 65,
    DRV_ERROR_GROUP_EXIST = 66,
    DRV_ERROR_THREAD_EXCEEDS_SPEC = 67,
    DRV_ERROR_THREAD_NOT_RUNNIG = 68,
    DRV_ERROR_PROCESS_NOT_MATCH = 69,
    DRV_ERROR_EVENT_NOT_MATCH = 70,
    DRV_ERROR_PROCESS_REPEAT_ADD = 71,
    DRV_ERROR_GROUP_NON_SCHED = 72,
    DRV_ERROR_NO_EVENT = 73,
    DRV_ERROR_COPY_USER_FAIL = 74,
    DRV_ERROR_QUEUE_EMPTY = 75,
    DRV_ERROR_QUEUE_FULL = 76,
    DRV_ERROR_RUN_IN_ILLEGAL_CPU = 77,
    DRV_ERROR_SUBSCRIBE_THREAD_TIMEOUT = 78,
    DRV_ERROR_BAD_ADDRESS = 79,
    DRV_ERROR_DST_FILE_IS_BEING_WRITTEN = 80,
    DRV_ERROR_EPOLL_CLOSE = 81,
    DRV_ERROR_CDQ_ABNORMAL = 82,
    DRV_ERROR_CDQ_NOT_EXIST = 83,
    DRV_ERROR_NO_CDQ_RESOURCES = 84,
    DRV_ERROR_CDQ_QUIT = 85,
    DRV_ERROR_PARTITION_NOT_RIGHT = 86,
    DRV_ERROR_RESOURCE_OCCUPIED = 87,
    DRV_ERROR_PERMISSION = 88,
    DRV_ERROR_RESUME = 89,
    DRV_ERROR_POWER_OP_FAIL = 94,
    DRV_ERROR_NET_UNREACH = 95,
    DRV_ERROR_TRANS_LINK_ABNORMAL = 96,
    DRV_ERROR_TRANS_LINK_ACK_TIMEOUT_ERR = 97,
    DRV_ERROR_CALL_NO_RETRY = 98,
    DRV_ERROR_CONNECT = 99,
    DRV_ERROR_NOT_SUPPORT = 0xfffe,
    DRV_ERROR_RESERVED = 0xffff,
} drvError_t;

typedef drvError_t DVresult;
typedef uint32_t DVdevice;
typedef uint64_t DVdeviceptr;

/* ---- device memory: flag word of halMemAlloc ---- */
#define MEM_DEVID_MASK        0x3FFULL /* bits 0-9: device */

#define MEM_VIRT_BIT          10
#define MEM_VIRT_MASK         (0xFULL << MEM_VIRT_BIT) /* bits 10-13 */
#define MEM_SVM               (0ULL << MEM_VIRT_BIT)
#define MEM_DEV               (1ULL << MEM_VIRT_BIT)
#define MEM_HOST              (2ULL << MEM_VIRT_BIT)
#define MEM_DVPP              (3ULL << MEM_VIRT_BIT)
#define MEM_HOST_AGENT        (4ULL << MEM_VIRT_BIT)
#define MEM_RESERVE           (5ULL << MEM_VIRT_BIT)
#define MEM_HOST_UVA          (6ULL << MEM_VIRT_BIT)
#define MEM_UVM               (7ULL << MEM_VIRT_BIT)

#define MEM_PHY_BIT           14
#define MEM_TYPE_DDR          (0ULL << MEM_PHY_BIT)
#define MEM_TYPE_HBM          (1ULL << MEM_PHY_BIT)

#define MEM_PAGE_BIT          17
#define MEM_PAGE_NORMAL       (0ULL << MEM_PAGE_BIT)
#define MEM_PAGE_HUGE         (1ULL << MEM_PAGE_BIT)

#define MEM_CONTIGUOUS_PHY    (1ULL << 19)

#define MEM_ALIGN_BIT         20
#define MEM_SET_ALIGN_SIZE(x) ((unsigned long long)(x) << MEM_ALIGN_BIT) /* log2 of the bytes */

#define MEM_ADVISE_P2P        (1ULL << 25)
#define MEM_ADVISE_4G         (1ULL << 26)
#define MEM_ADVISE_TS         (1ULL << 27)
#define MEM_ADVISE_BAR        (1ULL << 28)
#define MEM_READONLY          (1ULL << 29)
#define MEM_HOST_RW_DEV_RO    (1ULL << 30)
#define MEM_PAGE_GIANT        (1ULL << 31)
#define MEM_DEV_CP_ONLY       (1ULL << 32)

#define MEM_MODULE_ID_BIT     56 /* owner, bits 56-63 */

drvError_t halMemAlloc(void **pp, unsigned long long size, unsigned long long flag);
drvError_t halMemFree(void *pp);
/* The same functions under the names by which a preloaded tool calls the driver. */
drvError_t halMemAllocInner(void **pp, unsigned long long size, unsigned long long flag);
drvError_t halMemFreeInner(void *pp);

/* ---- device memory: physical handles and virtual addresses ---- */
typedef struct drv_mem_handle drv_mem_handle_t;

enum drv_mem_side { MEM_HOST_SIDE, MEM_DEV_SIDE, MEM_HOST_NUMA_SIDE, MEM_MAX_SIDE };
enum drv_mem_pg_type { MEM_NORMAL_PAGE_TYPE, MEM_HUGE_PAGE_TYPE, MEM_GIANT_PAGE_TYPE, MEM_MAX_PAGE_TYPE };
enum drv_mem_type { MEM_HBM_TYPE, MEM_DDR_TYPE, MEM_P2P_HBM_TYPE, MEM_P2P_DDR_TYPE, MEM_TS_DDR_TYPE, MEM_MAX_TYPE };

struct drv_mem_prop {
    uint32_t side;  /* enum drv_mem_side */
    uint32_t devid; /* or NUMA node */
    uint32_t module_id;
    uint32_t pg_type;  /* enum drv_mem_pg_type */
    uint32_t mem_type; /* enum drv_mem_type */
    uint64_t reserve;
};

typedef enum {
    MEM_ALLOC_GRANULARITY_MINIMUM,
    MEM_ALLOC_GRANULARITY_RECOMMENDED,
    MEM_ALLOC_GRANULARITY_INVALID,
} drv_mem_granularity_options;

typedef enum {
    MEM_ACCESS_TYPE_NONE = 0,
    MEM_ACCESS_TYPE_READ = 1,
    MEM_ACCESS_TYPE_READWRITE = 3,
} drv_mem_access_type;

struct drv_mem_location {
    uint32_t id;
    enum drv_mem_side side;
};

struct drv_mem_access_desc {
    drv_mem_access_type type;
    struct drv_mem_location location;
    uint32_t rsv[2];
};

drvError_t halMemAddressReserve(void **ptr, size_t size, size_t alignment, void *addr, uint64_t flag);
drvError_t halMemAddressFree(void *ptr);
drvError_t halMemCreate(drv_mem_handle_t **handle, size_t size, const struct drv_mem_prop *prop, uint64_t flag);
drvError_t halMemRelease(drv_mem_handle_t *handle);
drvError_t halMemCreateInner(drv_mem_handle_t **handle, size_t size, const struct drv_mem_prop *prop, uint64_t flag);
drvError_t halMemReleaseInner(drv_mem_handle_t *handle);
drvError_t halMemMap(void *ptr, size_t size, size_t offset, drv_mem_handle_t *handle, uint64_t flag);
drvError_t halMemUnmap(void *ptr);
drvError_t halMemSetAccess(void *ptr, size_t size, struct drv_mem_access_desc *desc, size_t count);
drvError_t halMemGetAccess(void *ptr, struct drv_mem_location *location, uint64_t *flags);
drvError_t halMemGetAllocationGranularity(const struct drv_mem_prop *prop, drv_mem_granularity_options option,
                                          size_t *granularity);
drvError_t halMemGetAllocationPropertiesFromHandle(struct drv_mem_prop *prop, drv_mem_handle_t *handle);
drvError_t halMemRetainAllocationHandle(drv_mem_handle_t **handle, void *ptr);
drvError_t halMemGetAddressRange(DVdeviceptr ptr, DVdeviceptr *pbase, size_t *psize);

/* ---- physical memory shared between processes ---- */
typedef enum {
    MEM_HANDLE_TYPE_NONE,
    MEM_HANDLE_TYPE_FABRIC,
    MEM_HANDLE_TYPE_POSIX,
    MEM_HANDLE_TYPE_MAX,
} drv_mem_handle_type;

struct MemShareHandle {
    uint8_t share_info[128];
};

drvError_t halMemExportToShareableHandle(drv_mem_handle_t *handle, drv_mem_handle_type handle_type, uint64_t flags,
                                         uint64_t *shareable_handle);
drvError_t halMemImportFromShareableHandle(uint64_t shareable_handle, uint32_t devid, drv_mem_handle_t **handle);
drvError_t halMemExportToShareableHandleV2(drv_mem_handle_t *handle, drv_mem_handle_type handle_type, uint64_t flags,
                                           struct MemShareHandle *share_handle);
drvError_t halMemImportFromShareableHandleV2(drv_mem_handle_type handle_type, struct MemShareHandle *share_handle,
                                             uint32_t devid, drv_mem_handle_t **handle);
drvError_t halMemSetPidToShareableHandle(uint64_t shareable_handle, int pid[], uint32_t pid_num);
drvError_t halMemTransShareableHandle(drv_mem_handle_type handle_type, struct MemShareHandle *share_handle,
                                      uint32_t *server_id, uint64_t *shareable_handle);

/* ---- allocations shared between processes by name ---- */
DVresult halShmemCreateHandle(DVdeviceptr vptr, size_t byte_count, char *name, uint32_t name_len);
DVresult halShmemDestroyHandle(const char *name);
DVresult halShmemOpenHandle(const char *name, DVdeviceptr *vptr);
DVresult halShmemOpenHandleByDevId(DVdevice dev_id, const char *name, DVdeviceptr *vptr);
DVresult halShmemCloseHandle(DVdeviceptr vptr);
DVresult halShmemSetPidHandle(const char *name, int pid[], int num);

/* ---- memory information ---- */
#define MEM_INFO_TYPE_DDR_SIZE     1
#define MEM_INFO_TYPE_HBM_SIZE     2
#define MEM_INFO_TYPE_DDR_P2P_SIZE 3
#define MEM_INFO_TYPE_HBM_P2P_SIZE 4
#define MEM_INFO_TYPE_ADDR_CHECK   5
#define MEM_INFO_TYPE_MAX          12

struct MemPhyInfo {
    unsigned long long total; /* of normal pages */
    unsigned long long free;
    unsigned long long huge_total;
    unsigned long long huge_free;
    unsigned long long giant_total;
    unsigned long long giant_free;
};

struct MemAddrInfo {
    DVdeviceptr **addr;
    unsigned int cnt;
    unsigned int mem_type;
    unsigned int flag;
};

struct MemInfo {
    __extension__ union {
        struct MemPhyInfo phy_info;
        struct MemAddrInfo addr_info;
    };
    uint64_t reserved[27];
};

struct mem_module_usage {
    char name[32];
    size_t cur_mem_size;
    size_t mem_peak_size;
    uint64_t reserved[8];
};

/* DVattribute.memType */
#define DV_MEM_SVM             0x1
#define DV_MEM_SVM_HOST        0x2
#define DV_MEM_SVM_DEVICE      0x4
#define DV_MEM_LOCK_HOST       0x8
#define DV_MEM_LOCK_DEV        0x10
#define DV_MEM_LOCK_DEV_DVPP   0x20
#define DV_MEM_LOCK_HOST_AGENT 0x40
#define DV_MEM_USER_MALLOC     0x80
#define DV_MEM_USER_REGISTER   0x100
#define DV_MEM_UVM             0x200
#define DV_MEM_SOMA            0x400

struct DVattribute {
    uint32_t memType;
    uint32_t resv1;
    uint32_t resv2;
    uint32_t devId;
    uint32_t pageSize;
    uint32_t resv[8];
};

DVresult halMemGetInfo(DVdevice device, unsigned int type, struct MemInfo *info);
DVresult halMemGetInfoEx(DVdevice device, unsigned int type, struct MemInfo *info);
drvError_t halGetMemUsageInfo(uint32_t dev_id, struct mem_module_usage *mem_usage, size_t in_num, size_t *out_num);
const char *halGetMemModuleName(uint32_t module_id);
DVresult drvMemGetAttribute(DVdeviceptr vptr, struct DVattribute *attr);
drvError_t halMemCtl(int type, void *param_value, size_t param_value_size, void *out_value, size_t *out_size_ret);

/* ---- host memory accessible to devices ---- */
drvError_t halHostRegister(void *src_ptr, UINT64 size, UINT32 flag, UINT32 devid, void **dst_ptr);
drvError_t halHostUnregister(void *src_ptr, UINT32 devid);
drvError_t halHostUnregisterEx(void *src_ptr, UINT32 devid, UINT32 flag);
drvError_t halHostRegisterCapabilities(uint32_t devid, uint32_t acc_module_type, uint32_t *mem_map_cap);

/* ---- copy and fill ---- */
typedef enum {
    DRV_MEMCPY_HOST_TO_HOST,
    DRV_MEMCPY_HOST_TO_DEVICE,
    DRV_MEMCPY_DEVICE_TO_HOST,
    DRV_MEMCPY_DEVICE_TO_DEVICE,
} drvMemcpyKind_t;

struct memcpy_info {
    drvMemcpyKind_t dir;
    uint32_t devid;
    uint64_t reserve[2];
};

DVresult drvMemcpy(DVdeviceptr dst, size_t dest_max, DVdeviceptr src, size_t byte_count);
drvError_t halMemcpy(void *dst, size_t dst_size, void *src, size_t count, struct memcpy_info *info);
DVresult halMemCpyAsync(DVdeviceptr dst, size_t dest_max, DVdeviceptr src, size_t byte_count, uint64_t *copy_fd);
DVresult halMemCpyAsyncWaitFinish(uint64_t copy_fd);
DVresult drvMemsetD8(DVdeviceptr dst, size_t destMax, UINT8 value, size_t num);
drvError_t halMemAdvise(DVdeviceptr ptr, size_t count, unsigned int type, DVdevice device);
DVresult drvMemPrefetchToDevice(DVdeviceptr dev_ptr, size_t len, DVdevice device);

/* ---- devices ---- */
typedef enum {
    DRV_STATUS_INITING,
    DRV_STATUS_WORK,
    DRV_STATUS_EXCEPTION,
    DRV_STATUS_SLEEP,
    DRV_STATUS_COMMUNICATION_LOST,
} drvStatus_t;

typedef struct {
    uint64_t reserve[8];
} halDevOpenIn;

typedef struct {
    uint64_t reserve[8];
} halDevOpenOut;

typedef struct {
    uint32_t close_type;
    uint32_t reserve0;
    uint64_t reserve[7];
} halDevCloseIn;

drvError_t drvGetDevNum(uint32_t *num_dev);
drvError_t drvGetDevIDs(uint32_t *devices, uint32_t len);
drvError_t drvGetDevIDByLocalDevID(uint32_t localDevId, uint32_t *devId);
drvError_t drvGetLocalDevIDByHostDevID(uint32_t host_dev_id, uint32_t *local_dev_id);
drvError_t drvDeviceGetPhyIdByIndex(uint32_t devIndex, uint32_t *phyId);
drvError_t drvDeviceGetIndexByPhyId(uint32_t phyId, uint32_t *devIndex);
drvError_t drvDeviceStatus(uint32_t devId, drvStatus_t *status);
drvError_t drvDeviceOpen(void **devInfo, uint32_t devId);
drvError_t drvDeviceClose(uint32_t devId);
drvError_t halDeviceOpen(uint32_t devid, halDevOpenIn *in, halDevOpenOut *out);
drvError_t halDeviceClose(uint32_t devid, halDevCloseIn *in);
pid_t drvDeviceGetBareTgid(void);
drvError_t halDeviceCanAccessPeer(int *can_access_peer, uint32_t dev, uint32_t peer_dev);
drvError_t halDeviceEnableP2P(uint32_t dev, uint32_t peer_dev, uint32_t flag);
drvError_t halDeviceDisableP2P(uint32_t dev, uint32_t peer_dev, uint32_t flag);

/* ---- device information ---- */
typedef enum {
    MODULE_TYPE_SYSTEM = 0,
    MODULE_TYPE_AICPU = 1,
    MODULE_TYPE_CCPU = 2,
    MODULE_TYPE_DCPU = 3,
    MODULE_TYPE_AICORE = 4,
    MODULE_TYPE_TSCPU = 5,
    MODULE_TYPE_PCIE = 6,
    MODULE_TYPE_VECTOR_CORE = 7,
    MODULE_TYPE_HOST_AICPU = 8,
    MODULE_TYPE_QOS = 9,
    MODULE_TYPE_MEMORY = 10,
} DEV_MODULE_TYPE;

typedef enum {
    INFO_TYPE_ENV = 0,
    INFO_TYPE_VERSION = 1,
    INFO_TYPE_CORE_NUM = 3,
    INFO_TYPE_SYS_COUNT = 13,
    INFO_TYPE_MONOTONIC_RAW = 14,
    INFO_TYPE_HOST_OSC_FREQUE = 24, /* kHz */
    INFO_TYPE_DEV_OSC_FREQUE = 25,  /* kHz */
    INFO_TYPE_SDID = 26,
} DEV_INFO_TYPE;

typedef struct {
    unsigned char type[32];
    unsigned char name[32];
    unsigned char version[32];
} halChipInfo;

drvError_t halGetDeviceInfo(uint32_t devId, int32_t moduleType, int32_t infoType, int64_t *value);
drvError_t halGetDeviceInfoByBuff(uint32_t devId, int32_t moduleType, int32_t infoType, void *buf, int32_t *size);
drvError_t halGetPhyDeviceInfo(uint32_t phyId, int32_t moduleType, int32_t infoType, int64_t *value);
drvError_t halGetChipInfo(unsigned int devId, halChipInfo *chipInfo);
drvError_t halGetAPIVersion(int *halAPIVersion);
drvError_t halGetSocVersion(uint32_t devId, char *socVersion, uint32_t len);
drvError_t halGetDeviceCountFromChip(int chip_id, int *device_count);
drvError_t drvGetPlatformInfo(uint32_t *info);

/* ---- profiling channels ---- */
#define CHANNEL_TSFW                 44
#define CHANNEL_STARS_SOC_LOG_BUFFER 50
#define PROF_CHANNEL_NUM_MAX         160

struct channel_info {
    char channel_name[32];
    unsigned int channel_type;
    unsigned int channel_id;
};

typedef struct {
    unsigned int chip_type;
    unsigned int channel_num;
    struct channel_info channel[PROF_CHANNEL_NUM_MAX];
} channel_list_t;

struct prof_start_para {
    unsigned int channel_type;
    unsigned int sample_period;
    unsigned int real_time;
    void *user_data;
    unsigned int user_data_size;
};

struct prof_poll_info {
    unsigned int device_id;
    unsigned int channel_id;
};

int prof_drv_get_channels(unsigned int device_id, channel_list_t *channels);
int prof_drv_start(unsigned int device_id, unsigned int channel_id, struct prof_start_para *start_para);
int prof_stop(unsigned int device_id, unsigned int channel_id);
/** @brief Number of bytes read, 0 if there are none, negative on error. */
int prof_channel_read(unsigned int device_id, unsigned int channel_id, char *out_buf, unsigned int buf_size);
/** @brief Number of channels with data, 0 after timeout seconds, negative on error. */
int prof_channel_poll(struct prof_poll_info *out_buf, int num, int timeout);
int halProfDataFlush(unsigned int device_id, unsigned int channel_id, unsigned int *data_len);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
