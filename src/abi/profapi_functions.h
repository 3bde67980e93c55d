/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of libprofapi.so.
 *     PROFAPI_FN(status, result, name, (parameters))        status: IMPLEMENTED or UNSUPPORTED
 * Define the macro before including this file; it is undefined at the end. */

/* clang-format off */
/* switching */
PROFAPI_FN(IMPLEMENTED, int32_t, MsprofInit, (uint32_t dataType, void *data, uint32_t dataLen))
PROFAPI_FN(UNSUPPORTED, int32_t, MsprofStart, (uint32_t dataType, const void *data, uint32_t length))
PROFAPI_FN(UNSUPPORTED, int32_t, MsprofStop, (uint32_t dataType, const void *data, uint32_t length))
PROFAPI_FN(IMPLEMENTED, int32_t, MsprofFinalize, (void))
PROFAPI_FN(IMPLEMENTED, int32_t, MsprofSetConfig, (uint32_t configType, const char *config, size_t configLength))
PROFAPI_FN(IMPLEMENTED, int32_t, MsprofRegisterCallback, (uint32_t moduleId, ProfCommandHandle handle))
PROFAPI_FN(IMPLEMENTED, int32_t, profSetProfCommand, (VOID_PTR command, uint32_t len))
PROFAPI_FN(IMPLEMENTED, int32_t, profSetStepInfo, (const uint64_t indexId, const uint16_t tagId, void *const stream))
PROFAPI_FN(IMPLEMENTED, int32_t, MsprofNotifySetDevice, (uint32_t chipId, uint32_t deviceId, bool isOpen))
PROFAPI_FN(IMPLEMENTED, int32_t, MsprofSetDeviceIdByGeModelIdx, (const uint32_t geModelIdx, const uint32_t deviceId))
PROFAPI_FN(IMPLEMENTED, int32_t, MsprofUnsetDeviceIdByGeModelIdx, (const uint32_t geModelIdx, const uint32_t deviceId))
PROFAPI_FN(IMPLEMENTED, bool, MsprofCheckOpSwitch, (uint32_t type, const char *op, size_t len))
PROFAPI_FN(IMPLEMENTED, char *, MsprofGetPath, (void))

/* reporting */
PROFAPI_FN(IMPLEMENTED, int32_t, MsprofReportApi, (uint32_t nonPersistantFlag, const struct MsprofApi *api))
PROFAPI_FN(IMPLEMENTED, int32_t, MsprofReportEvent, (uint32_t nonPersistantFlag, const struct MsprofEvent *event))
PROFAPI_FN(IMPLEMENTED, int32_t, MsprofReportCompactInfo, (uint32_t nonPersistantFlag, const VOID_PTR data,
           uint32_t length))
PROFAPI_FN(IMPLEMENTED, int32_t, MsprofReportAdditionalInfo, (uint32_t nonPersistantFlag, const VOID_PTR data,
           uint32_t length))
PROFAPI_FN(IMPLEMENTED, int32_t, MsprofReportBatchAdditionalInfo, (uint32_t nonPersistantFlag, const VOID_PTR data,
           uint32_t length))
PROFAPI_FN(IMPLEMENTED, size_t, MsprofGetBatchReportMaxSize, (uint32_t type))
PROFAPI_FN(IMPLEMENTED, int32_t, MsprofReportData, (uint32_t moduleId, uint32_t type, VOID_PTR data, uint32_t len))
PROFAPI_FN(IMPLEMENTED, int32_t, MsprofRegTypeInfo, (uint16_t level, uint32_t typeId, const char *typeName))
PROFAPI_FN(IMPLEMENTED, int32_t, MsprofRegDataFormat, (uint16_t level, uint32_t typeId, const char *dataFormat))
PROFAPI_FN(IMPLEMENTED, uint64_t, MsprofGetHashId, (const char *hashInfo, size_t length))
PROFAPI_FN(IMPLEMENTED, uint64_t, MsprofStr2Id, (const char *hashInfo, size_t length))
PROFAPI_FN(IMPLEMENTED, char *, MsprofId2Str, (const uint64_t Id))
PROFAPI_FN(IMPLEMENTED, uint64_t, MsprofSysCycleTime, (void))

/* callbacks */
PROFAPI_FN(IMPLEMENTED, int32_t, MsprofRegisterProfileCallback, (int32_t callbackType, VOID_PTR callback, uint32_t len))
PROFAPI_FN(IMPLEMENTED, int32_t, profRegDeviceStateCallback, (int32_t (*handle)(void *para, uint32_t len)))

/* mstx functions shared by two tools */
PROFAPI_FN(IMPLEMENTED, int, InitInjectionMstx, (mstxGetModuleFuncTableFunc getModuleFuncTable))
PROFAPI_FN(IMPLEMENTED, void, ProfRegisterMstxFunc, (int (*init)(mstxGetModuleFuncTableFunc), int module))
PROFAPI_FN(IMPLEMENTED, void, ProfEnableMstxFunc, (int module))

/* clang-format on */

#undef PROFAPI_FN
