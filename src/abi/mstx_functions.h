/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of libms_tools_ext.so.
 *     MSTX_FN(status, result, name, (parameters))        status: IMPLEMENTED or UNSUPPORTED
 * Define the macro before including this file; it is undefined at the end. */

/* clang-format off */
/* marks and ranges */
MSTX_FN(IMPLEMENTED, void, mstxMarkA, (const char *message, aclrtStream stream))
MSTX_FN(IMPLEMENTED, mstxRangeId, mstxRangeStartA, (const char *message, aclrtStream stream))
MSTX_FN(IMPLEMENTED, void, mstxRangeEnd, (mstxRangeId id))
MSTX_FN(IMPLEMENTED, void, mstxGetToolId, (uint64_t *id))

/* the same in a domain */
MSTX_FN(IMPLEMENTED, mstxDomainHandle_t, mstxDomainCreateA, (const char *name))
MSTX_FN(IMPLEMENTED, void, mstxDomainDestroy, (mstxDomainHandle_t domain))
MSTX_FN(IMPLEMENTED, void, mstxDomainMarkA, (mstxDomainHandle_t domain, const char *message, aclrtStream stream))
MSTX_FN(IMPLEMENTED, mstxRangeId, mstxDomainRangeStartA, (mstxDomainHandle_t domain, const char *message,
        aclrtStream stream))
MSTX_FN(IMPLEMENTED, void, mstxDomainRangeEnd, (mstxDomainHandle_t domain, mstxRangeId id))
MSTX_FN(IMPLEMENTED, mstxMemHeapHandle_t, mstxMemHeapRegister, (mstxDomainHandle_t domain,
        const mstxMemHeapDesc_t *desc))
MSTX_FN(IMPLEMENTED, void, mstxMemHeapUnregister, (mstxDomainHandle_t domain, mstxMemHeapHandle_t heap))
MSTX_FN(IMPLEMENTED, void, mstxMemRegionsRegister, (mstxDomainHandle_t domain,
        const mstxMemRegionsRegisterBatch_t *desc))
MSTX_FN(IMPLEMENTED, void, mstxMemRegionsUnregister, (mstxDomainHandle_t domain,
        const mstxMemRegionsUnregisterBatch_t *desc))
MSTX_FN(IMPLEMENTED, void, mstxMemPermissionsAssign, (mstxDomainHandle_t domain,
        const mstxMemPermissionsAssignBatch_t *desc))

/* clang-format on */

#undef MSTX_FN
