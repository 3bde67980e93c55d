/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of libascend_dump.so.
 *     ACLDUMP_FN(status, result, name, (parameters))        status: IMPLEMENTED or UNSUPPORTED
 * Define the macro before including this file; it is undefined at the end. */

/* clang-format off */
ACLDUMP_FN(IMPLEMENTED, aclError, acldumpRegCallback, (int32_t (*const messageCallback)(const acldumpChunk *, int32_t),
           int32_t flag))
ACLDUMP_FN(IMPLEMENTED, void, acldumpUnregCallback, (void))
ACLDUMP_FN(IMPLEMENTED, const char *, acldumpGetPath, (acldumpType dumpType))
ACLDUMP_FN(UNSUPPORTED, aclError, acldumpSaveExceptionInfo, (const char *fileName, const char *userTag,
           const acldumpTensorInfo *tensors, size_t tensorCount))
ACLDUMP_FN(UNSUPPORTED, aclError, acldumpGetExceptionInfoPath, (char *path, size_t maxLen))
/* clang-format on */

#undef ACLDUMP_FN
