/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of libascend_hal.so.
 *     HAL_FN(status, result, name, (parameters))        status: IMPLEMENTED or UNSUPPORTED
 * Define the macro before including this file; it is undefined at the end. */

/* clang-format off */
/* device memory */
HAL_FN(IMPLEMENTED, drvError_t, halMemAlloc, (void **pp, unsigned long long size, unsigned long long flag))
HAL_FN(IMPLEMENTED, drvError_t, halMemFree, (void *pp))
HAL_FN(IMPLEMENTED, drvError_t, halMemAllocInner, (void **pp, unsigned long long size, unsigned long long flag))
HAL_FN(IMPLEMENTED, drvError_t, halMemFreeInner, (void *pp))

/* device memory */
HAL_FN(IMPLEMENTED, drvError_t, halMemAddressReserve, (void **ptr, size_t size, size_t alignment, void *addr,
       uint64_t flag))
HAL_FN(IMPLEMENTED, drvError_t, halMemAddressFree, (void *ptr))
HAL_FN(IMPLEMENTED, drvError_t, halMemCreate, (drv_mem_handle_t **handle, size_t size, const struct drv_mem_prop *prop,
       uint64_t flag))
HAL_FN(IMPLEMENTED, drvError_t, halMemRelease, (drv_mem_handle_t *handle))
HAL_FN(IMPLEMENTED, drvError_t, halMemCreateInner, (drv_mem_handle_t **handle, size_t size,
       const struct drv_mem_prop *prop, uint64_t flag))
HAL_FN(IMPLEMENTED, drvError_t, halMemReleaseInner, (drv_mem_handle_t *handle))
HAL_FN(IMPLEMENTED, drvError_t, halMemMap, (void *ptr, size_t size, size_t offset, drv_mem_handle_t *handle,
       uint64_t flag))
HAL_FN(IMPLEMENTED, drvError_t, halMemUnmap, (void *ptr))
HAL_FN(IMPLEMENTED, drvError_t, halMemSetAccess, (void *ptr, size_t size, struct drv_mem_access_desc *desc,
       size_t count))
HAL_FN(IMPLEMENTED, drvError_t, halMemGetAccess, (void *ptr, struct drv_mem_location *location, uint64_t *flags))
HAL_FN(IMPLEMENTED, drvError_t, halMemGetAllocationGranularity, (const struct drv_mem_prop *prop,
       drv_mem_granularity_options option, size_t *granularity))
HAL_FN(IMPLEMENTED, drvError_t, halMemGetAllocationPropertiesFromHandle, (struct drv_mem_prop *prop,
       drv_mem_handle_t *handle))
HAL_FN(IMPLEMENTED, drvError_t, halMemRetainAllocationHandle, (drv_mem_handle_t **handle, void *ptr))
HAL_FN(IMPLEMENTED, drvError_t, halMemGetAddressRange, (DVdeviceptr ptr, DVdeviceptr *pbase, size_t *psize))

/* physical memory shared between processes */
HAL_FN(IMPLEMENTED, drvError_t, halMemExportToShareableHandle, (drv_mem_handle_t *handle,
       drv_mem_handle_type handle_type, uint64_t flags, uint64_t *shareable_handle))
HAL_FN(IMPLEMENTED, drvError_t, halMemImportFromShareableHandle, (uint64_t shareable_handle, uint32_t devid,
       drv_mem_handle_t **handle))
HAL_FN(IMPLEMENTED, drvError_t, halMemExportToShareableHandleV2, (drv_mem_handle_t *handle,
       drv_mem_handle_type handle_type, uint64_t flags, struct MemShareHandle *share_handle))
HAL_FN(IMPLEMENTED, drvError_t, halMemImportFromShareableHandleV2, (drv_mem_handle_type handle_type,
       struct MemShareHandle *share_handle, uint32_t devid, drv_mem_handle_t **handle))
HAL_FN(IMPLEMENTED, drvError_t, halMemSetPidToShareableHandle, (uint64_t shareable_handle, int pid[], uint32_t pid_num))
HAL_FN(IMPLEMENTED, drvError_t, halMemTransShareableHandle, (drv_mem_handle_type handle_type,
       struct MemShareHandle *share_handle, uint32_t *server_id, uint64_t *shareable_handle))

/* allocations shared between processes by name */
HAL_FN(IMPLEMENTED, DVresult, halShmemCreateHandle, (DVdeviceptr vptr, size_t byte_count, char *name,
       uint32_t name_len))
HAL_FN(IMPLEMENTED, DVresult, halShmemDestroyHandle, (const char *name))
HAL_FN(IMPLEMENTED, DVresult, halShmemOpenHandle, (const char *name, DVdeviceptr *vptr))
HAL_FN(IMPLEMENTED, DVresult, halShmemOpenHandleByDevId, (DVdevice dev_id, const char *name, DVdeviceptr *vptr))
HAL_FN(IMPLEMENTED, DVresult, halShmemCloseHandle, (DVdeviceptr vptr))
HAL_FN(IMPLEMENTED, DVresult, halShmemSetPidHandle, (const char *name, int pid[], int num))

/* memory information */
HAL_FN(IMPLEMENTED, DVresult, halMemGetInfo, (DVdevice device, unsigned int type, struct MemInfo *info))
HAL_FN(IMPLEMENTED, DVresult, halMemGetInfoEx, (DVdevice device, unsigned int type, struct MemInfo *info))
HAL_FN(IMPLEMENTED, drvError_t, halGetMemUsageInfo, (uint32_t dev_id, struct mem_module_usage *mem_usage, size_t in_num,
       size_t *out_num))
HAL_FN(IMPLEMENTED, const char *, halGetMemModuleName, (uint32_t module_id))
HAL_FN(IMPLEMENTED, DVresult, drvMemGetAttribute, (DVdeviceptr vptr, struct DVattribute *attr))
HAL_FN(IMPLEMENTED, drvError_t, halMemCtl, (int type, void *param_value, size_t param_value_size, void *out_value,
       size_t *out_size_ret))

/* host memory accessible to devices */
HAL_FN(IMPLEMENTED, drvError_t, halHostRegister, (void *src_ptr, UINT64 size, UINT32 flag, UINT32 devid,
       void **dst_ptr))
HAL_FN(IMPLEMENTED, drvError_t, halHostUnregister, (void *src_ptr, UINT32 devid))
HAL_FN(IMPLEMENTED, drvError_t, halHostUnregisterEx, (void *src_ptr, UINT32 devid, UINT32 flag))
HAL_FN(IMPLEMENTED, drvError_t, halHostRegisterCapabilities, (uint32_t devid, uint32_t acc_module_type,
       uint32_t *mem_map_cap))

/* copy and fill */
HAL_FN(IMPLEMENTED, DVresult, drvMemcpy, (DVdeviceptr dst, size_t dest_max, DVdeviceptr src, size_t byte_count))
HAL_FN(IMPLEMENTED, drvError_t, halMemcpy, (void *dst, size_t dst_size, void *src, size_t count,
       struct memcpy_info *info))
HAL_FN(IMPLEMENTED, DVresult, halMemCpyAsync, (DVdeviceptr dst, size_t dest_max, DVdeviceptr src, size_t byte_count,
       uint64_t *copy_fd))
HAL_FN(IMPLEMENTED, DVresult, halMemCpyAsyncWaitFinish, (uint64_t copy_fd))
HAL_FN(IMPLEMENTED, DVresult, drvMemsetD8, (DVdeviceptr dst, size_t destMax, UINT8 value, size_t num))
HAL_FN(IMPLEMENTED, drvError_t, halMemAdvise, (DVdeviceptr ptr, size_t count, unsigned int type, DVdevice device))
HAL_FN(IMPLEMENTED, DVresult, drvMemPrefetchToDevice, (DVdeviceptr dev_ptr, size_t len, DVdevice device))

/* devices */
HAL_FN(IMPLEMENTED, drvError_t, drvGetDevNum, (uint32_t *num_dev))
HAL_FN(IMPLEMENTED, drvError_t, drvGetDevIDs, (uint32_t *devices, uint32_t len))
HAL_FN(IMPLEMENTED, drvError_t, drvGetDevIDByLocalDevID, (uint32_t localDevId, uint32_t *devId))
HAL_FN(IMPLEMENTED, drvError_t, drvGetLocalDevIDByHostDevID, (uint32_t host_dev_id, uint32_t *local_dev_id))
HAL_FN(IMPLEMENTED, drvError_t, drvDeviceGetPhyIdByIndex, (uint32_t devIndex, uint32_t *phyId))
HAL_FN(IMPLEMENTED, drvError_t, drvDeviceGetIndexByPhyId, (uint32_t phyId, uint32_t *devIndex))
HAL_FN(IMPLEMENTED, drvError_t, drvDeviceStatus, (uint32_t devId, drvStatus_t *status))
HAL_FN(IMPLEMENTED, drvError_t, drvDeviceOpen, (void **devInfo, uint32_t devId))
HAL_FN(IMPLEMENTED, drvError_t, drvDeviceClose, (uint32_t devId))
HAL_FN(IMPLEMENTED, drvError_t, halDeviceOpen, (uint32_t devid, halDevOpenIn *in, halDevOpenOut *out))
HAL_FN(IMPLEMENTED, drvError_t, halDeviceClose, (uint32_t devid, halDevCloseIn *in))
HAL_FN(IMPLEMENTED, pid_t, drvDeviceGetBareTgid, (void))
HAL_FN(IMPLEMENTED, drvError_t, halDeviceCanAccessPeer, (int *can_access_peer, uint32_t dev, uint32_t peer_dev))
HAL_FN(IMPLEMENTED, drvError_t, halDeviceEnableP2P, (uint32_t dev, uint32_t peer_dev, uint32_t flag))
HAL_FN(IMPLEMENTED, drvError_t, halDeviceDisableP2P, (uint32_t dev, uint32_t peer_dev, uint32_t flag))

/* device information */
HAL_FN(IMPLEMENTED, drvError_t, halGetDeviceInfo, (uint32_t devId, int32_t moduleType, int32_t infoType,
       int64_t *value))
HAL_FN(IMPLEMENTED, drvError_t, halGetDeviceInfoByBuff, (uint32_t devId, int32_t moduleType, int32_t infoType,
       void *buf, int32_t *size))
HAL_FN(IMPLEMENTED, drvError_t, halGetPhyDeviceInfo, (uint32_t phyId, int32_t moduleType, int32_t infoType,
       int64_t *value))
HAL_FN(IMPLEMENTED, drvError_t, halGetChipInfo, (unsigned int devId, halChipInfo *chipInfo))
HAL_FN(IMPLEMENTED, drvError_t, halGetAPIVersion, (int *halAPIVersion))
HAL_FN(IMPLEMENTED, drvError_t, halGetSocVersion, (uint32_t devId, char *socVersion, uint32_t len))
HAL_FN(IMPLEMENTED, drvError_t, halGetDeviceCountFromChip, (int chip_id, int *device_count))
HAL_FN(IMPLEMENTED, drvError_t, drvGetPlatformInfo, (uint32_t *info))

/* profiling channels */
HAL_FN(IMPLEMENTED, int, prof_drv_get_channels, (unsigned int device_id, channel_list_t *channels))
HAL_FN(IMPLEMENTED, int, prof_drv_start, (unsigned int device_id, unsigned int channel_id,
       struct prof_start_para *start_para))
HAL_FN(IMPLEMENTED, int, prof_stop, (unsigned int device_id, unsigned int channel_id))
HAL_FN(IMPLEMENTED, int, prof_channel_read, (unsigned int device_id, unsigned int channel_id, char *out_buf,
       unsigned int buf_size))
HAL_FN(IMPLEMENTED, int, prof_channel_poll, (struct prof_poll_info *out_buf, int num, int timeout))
HAL_FN(IMPLEMENTED, int, halProfDataFlush, (unsigned int device_id, unsigned int channel_id, unsigned int *data_len))

/* clang-format on */

#undef HAL_FN
