/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of libacl_op_compiler.so.
 *     ACLCOMPILER_FN(status, result, name, (parameters))        status: IMPLEMENTED or UNSUPPORTED
 * Define the macro before including this file; it is undefined at the end. */

/* clang-format off */
ACLCOMPILER_FN(IMPLEMENTED, aclError, aclopCompile, (const char *opType, int numInputs, const aclTensorDesc *const
               inputDesc[], int numOutputs, const aclTensorDesc *const outputDesc[], const aclopAttr *attr,
               aclopEngineType engineType, aclopCompileType compileFlag, const char *opPath))
ACLCOMPILER_FN(IMPLEMENTED, aclError, aclopCompileAndExecute, (const char *opType, int numInputs, const aclTensorDesc
               *const inputDesc[], const aclDataBuffer *const inputs[], int numOutputs, const aclTensorDesc *const
               outputDesc[], aclDataBuffer *const outputs[], const aclopAttr *attr, aclopEngineType engineType,
               aclopCompileType compileFlag, const char *opPath, aclrtStream stream))
ACLCOMPILER_FN(IMPLEMENTED, aclError, aclopCompileAndExecuteV2, (const char *opType, int numInputs, aclTensorDesc
               *inputDesc[], aclDataBuffer *inputs[], int numOutputs, aclTensorDesc *outputDesc[], aclDataBuffer
               *outputs[], aclopAttr *attr, aclopEngineType engineType, aclopCompileType compileFlag, const char
               *opPath, aclrtStream stream))
ACLCOMPILER_FN(IMPLEMENTED, aclError, aclSetCompileopt, (aclCompileOpt opt, const char *value))
ACLCOMPILER_FN(IMPLEMENTED, size_t, aclGetCompileoptSize, (aclCompileOpt opt))
ACLCOMPILER_FN(IMPLEMENTED, aclError, aclGetCompileopt, (aclCompileOpt opt, char *value, size_t length))
ACLCOMPILER_FN(IMPLEMENTED, aclError, aclopSetCompileFlag, (aclOpCompileFlag flag))
ACLCOMPILER_FN(IMPLEMENTED, aclGraphDumpOption *, aclCreateGraphDumpOpt, (void))
ACLCOMPILER_FN(IMPLEMENTED, aclError, aclDestroyGraphDumpOpt, (const aclGraphDumpOption *graphDumpOpt))
ACLCOMPILER_FN(UNSUPPORTED, aclError, aclGenGraphAndDumpForOp, (const char *opType, int numInputs, const aclTensorDesc
               *const inputDesc[], const aclDataBuffer *const inputs[], int numOutputs, const aclTensorDesc *const
               outputDesc[], aclDataBuffer *const outputs[], const aclopAttr *attr, aclopEngineType engineType, const
               char *graphDumpPath, const aclGraphDumpOption *graphDumpOpt))
/* clang-format on */

#undef ACLCOMPILER_FN
