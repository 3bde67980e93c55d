/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNTIME_KERNEL_H
#define RUNTIME_KERNEL_H

#include "base.h"
#include "stream.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* ---- binaries and functions ---- */
#define RT_DEV_BINARY_MAGIC_ELF        0x43554245U
#define RT_DEV_BINARY_MAGIC_ELF_AICPU  0x41415243U
#define RT_DEV_BINARY_MAGIC_ELF_AIVEC  0x41415246U
#define RT_DEV_BINARY_MAGIC_ELF_AICUBE 0x41494343U

typedef struct tagRtDevBinary {
    uint32_t magic;
    uint32_t version;
    const void *data;
    uint64_t length;
} rtDevBinary_t;

typedef enum {
    RT_LOAD_BINARY_OPT_LAZY_LOAD = 1,
    RT_LOAD_BINARY_OPT_MAGIC = 2,
    RT_LOAD_BINARY_OPT_CPU_KERNEL_MODE = 3,
} rtLoadBinaryOption;

typedef union {
    uint32_t isLazyLoad;
    uint32_t magic;
    int32_t cpuKernelMode;
    uint32_t rsv[4];
} rtLoadBinaryOptionValue_t;

typedef struct {
    rtLoadBinaryOption optionId;
    rtLoadBinaryOptionValue_t value;
} rtLoadBinaryOption_t;

typedef struct {
    rtLoadBinaryOption_t *options;
    size_t numOpt;
} rtLoadBinaryConfig_t;

rtError_t rtDevBinaryRegister(const rtDevBinary_t *bin, void **hdl);
rtError_t rtRegisterAllKernel(const rtDevBinary_t *bin, void **hdl);
rtError_t rtDevBinaryUnRegister(void *hdl);
/** @brief Associates a stub address (any unique pointer) with the name of a kernel. */
rtError_t rtFunctionRegister(void *binHandle, const void *stubFunc, const char_t *stubName, const void *kernelInfoExt,
                             uint32_t funcMode);
rtError_t rtGetFunctionByName(const char_t *stubName, void **stubFunc);
rtError_t rtQueryFunctionRegistered(const char_t *stubName);

rtError_t rtBinaryLoad(const rtDevBinary_t *bin, rtBinHandle *binHandle);
rtError_t rtBinaryUnLoad(rtBinHandle binHandle);
rtError_t rtBinaryGetFunction(const rtBinHandle binHandle, const uint64_t tilingKey, rtFuncHandle *funcHandle);
rtError_t rtBinaryGetFunctionByName(const rtBinHandle binHandle, const char *kernelName, rtFuncHandle *funcHandle);
rtError_t rtsBinaryLoadFromFile(const char_t *const binPath, const rtLoadBinaryConfig_t *const optionalCfg,
                                rtBinHandle *handle);
rtError_t rtsBinaryLoadFromData(const void *const data, const uint64_t length,
                                const rtLoadBinaryConfig_t *const optionalCfg, rtBinHandle *handle);
rtError_t rtsFuncGetByName(const rtBinHandle binHandle, const char_t *kernelName, rtFuncHandle *funcHandle);
rtError_t rtsFuncGetByEntry(const rtBinHandle binHandle, const uint64_t funcEntry, rtFuncHandle *funcHandle);
rtError_t rtsFuncGetName(const rtFuncHandle funcHandle, const uint32_t maxLen, char_t *const name);
rtError_t rtsFuncGetAddr(const rtFuncHandle funcHandle, void **aicAddr, void **aivAddr);

/* ---- launch arguments ---- */
typedef struct tagRtHostInputInfo {
    uint32_t addrOffset;
    uint32_t dataOffset;
} rtHostInputInfo_t;

/* Only args, hostInputInfoPtr and argsSize have the same offsets in all releases. */
typedef struct tagRtArgsEx {
    void *args;
    rtHostInputInfo_t *hostInputInfoPtr;
    uint32_t argsSize;
    uint32_t tilingAddrOffset;
    uint32_t tilingDataOffset;
    uint16_t hostInputInfoNum;
    uint8_t hasTiling;
    uint8_t isNoNeedH2DCopy;
    uint8_t reserved[4];
} rtArgsEx_t;

typedef struct tagRtAicpuArgsEx {
    void *args;
    rtHostInputInfo_t *hostInputInfoPtr;
    rtHostInputInfo_t *kernelOffsetInfoPtr;
    uint32_t argsSize;
    uint16_t hostInputInfoNum;
    uint16_t kernelOffsetInfoNum;
    uint32_t soNameAddrOffset;
    uint32_t kernelNameAddrOffset;
    bool isNoNeedH2DCopy;
    uint16_t timeout;
    uint8_t reserved;
} rtAicpuArgsEx_t;

typedef struct rtSmData {
    uint64_t L2_mirror_addr;
    uint32_t L2_data_section_size;
    uint8_t L2_preload;
    uint8_t reserved[11];
} rtSmData_t;

typedef struct tagRtSmCtrl {
    rtSmData_t data[8];
    uint64_t size;
    uint8_t remap[64];
    uint8_t l2_in_main;
    uint8_t reserved[3];
} rtSmDesc_t;

typedef struct tagRtTaskCfgInfo {
    uint8_t qos;
    uint8_t partId;
    uint8_t schemMode;
    uint8_t d2dCrossFlag;
    uint32_t blockDimOffset;
    uint8_t dumpflag;
    uint8_t reserved[7];
} rtTaskCfgInfo_t;

typedef struct {
    uint32_t timeoutLow;
    uint32_t timeoutHigh;
} rtTimeoutUs;

/* Ids and values are those of aclrtLaunchKernelAttr. */
typedef union {
    uint8_t schemMode;
    uint32_t localMemorySize;
    uint32_t dynUBufSize;
    uint32_t engineType;
    uint32_t blockDimOffset;
    uint8_t isBlockTaskPrefetch;
    uint8_t isDataDump;
    uint16_t timeout;
    rtTimeoutUs timeoutUs;
    uint32_t rsv[4];
} rtLaunchKernelAttrVal_t;

typedef struct {
    uint32_t id;
    rtLaunchKernelAttrVal_t value;
} rtLaunchKernelAttr_t;

typedef struct {
    rtLaunchKernelAttr_t *attrs;
    size_t numAttrs;
} rtKernelLaunchCfg_t;

typedef struct {
    uint32_t addrOffset;
    uint32_t dataOffset;
} rtPlaceHolderInfo_t;

/* ---- launches by stub, by binary and tiling key, by function ---- */
rtError_t rtKernelLaunch(const void *stubFunc, uint32_t numBlocks, void *args, uint32_t argsSize, rtSmDesc_t *smDesc,
                         rtStream_t stm);
rtError_t rtKernelLaunchWithFlag(const void *stubFunc, uint32_t numBlocks, rtArgsEx_t *argsInfo, rtSmDesc_t *smDesc,
                                 rtStream_t stm, uint32_t flags);
rtError_t rtKernelLaunchWithFlagV2(const void *stubFunc, uint32_t numBlocks, rtArgsEx_t *argsInfo, rtSmDesc_t *smDesc,
                                   rtStream_t stm, uint32_t flags, const rtTaskCfgInfo_t *cfgInfo);
rtError_t rtVectorCoreKernelLaunch(const void *stubFunc, uint32_t numBlocks, rtArgsEx_t *argsInfo, rtSmDesc_t *smDesc,
                                   rtStream_t stm, uint32_t flags, const rtTaskCfgInfo_t *cfgInfo);
rtError_t rtKernelLaunchWithHandle(void *hdl, const uint64_t tilingKey, uint32_t numBlocks, rtArgsEx_t *argsInfo,
                                   rtSmDesc_t *smDesc, rtStream_t stm, const void *kernelInfo);
rtError_t rtKernelLaunchWithHandleV2(void *hdl, const uint64_t tilingKey, uint32_t numBlocks, rtArgsEx_t *argsInfo,
                                     rtSmDesc_t *smDesc, rtStream_t stm, const rtTaskCfgInfo_t *cfgInfo);
rtError_t rtVectorCoreKernelLaunchWithHandle(void *hdl, const uint64_t tilingKey, uint32_t numBlocks,
                                             rtArgsEx_t *argsInfo, rtSmDesc_t *smDesc, rtStream_t stm,
                                             const rtTaskCfgInfo_t *cfgInfo);
rtError_t rtLaunchKernelByFuncHandle(rtFuncHandle funcHandle, uint32_t numBlocks, rtLaunchArgsHandle argsHandle,
                                     rtStream_t stm);
rtError_t rtLaunchKernelByFuncHandleV2(rtFuncHandle funcHandle, uint32_t numBlocks, rtLaunchArgsHandle argsHandle,
                                       rtStream_t stm, const rtTaskCfgInfo_t *cfgInfo);
rtError_t rtLaunchKernelByFuncHandleV3(rtFuncHandle funcHandle, uint32_t numBlocks, const rtArgsEx_t *const argsInfo,
                                       rtStream_t stm, const rtTaskCfgInfo_t *const cfgInfo);
rtError_t rtsLaunchKernelWithConfig(rtFuncHandle funcHandle, uint32_t numBlocks, rtStream_t stm,
                                    rtKernelLaunchCfg_t *cfg, rtArgsHandle argsHandle, void *reserve);
rtError_t rtsLaunchKernelWithDevArgs(rtFuncHandle funcHandle, uint32_t numBlocks, rtStream_t stm,
                                     rtKernelLaunchCfg_t *cfg, const void *args, uint32_t argsSize, void *reserve);
rtError_t rtsLaunchKernelWithHostArgs(rtFuncHandle funcHandle, uint32_t numBlocks, rtStream_t stm,
                                      rtKernelLaunchCfg_t *cfg, void *hostArgs, uint32_t argsSize,
                                      rtPlaceHolderInfo_t *placeHolderArray, uint32_t placeHolderNum);
rtError_t rtAicpuKernelLaunchExWithArgs(const uint32_t kernelType, const char_t *const opName, const uint32_t numBlocks,
                                        const rtAicpuArgsEx_t *argsInfo, rtSmDesc_t *const smDesc, const rtStream_t stm,
                                        const uint32_t flags);
rtError_t rtCpuKernelLaunchWithFlag(const void *soName, const void *kernelName, uint32_t numBlocks,
                                    const rtArgsEx_t *argsInfo, rtSmDesc_t *smDesc, rtStream_t stm, uint32_t flags);

/* ---- launch in three steps ---- */
rtError_t rtConfigureCall(uint32_t numBlocks, rtSmDesc_t *smDesc, rtStream_t stm);
rtError_t rtSetupArgument(const void *args, uint32_t size, uint32_t offset);
rtError_t rtLaunch(const void *stubFunc);

/* ---- information on launched tasks ---- */
rtError_t rtSetTaskTag(const char_t *taskTag);
rtError_t rtGetTaskIdAndStreamID(uint32_t *taskId, uint32_t *streamId);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
