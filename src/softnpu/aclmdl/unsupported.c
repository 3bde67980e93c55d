/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of offline models. softnpu does not load offline models (.om files): loading one fails with 545001, and
 * since no model is ever loaded, functions on one fail with 145003; everything else returns 200001, 0 or NULL. The message
 * names the function. Stateless. */
#include "abi/aclmdl_impl.h"

#include "softnpu/runtime/error.h"

#define LOAD_MODEL       545001
#define MODEL_ID_INVALID 145003

#define DEFINE_IMPLEMENTED(code, text, ret, name, params)
#define DEFINE_UNSUPPORTED(code, text, ret, name, params)                                                              \
    ret name##Impl params                                                                                              \
    {                                                                                                                  \
        snpu_fail(code, "%s: " text, #name);                                                                           \
        return (ret) _Generic((ret)0, aclError : code, default : 0);                                                   \
    }

#define ACLMDL_FN(status, ret, name, params, args)                                                                     \
    DEFINE_##status(ACL_ERROR_API_NOT_SUPPORT, "not supported: softnpu does not load offline models", ret, name, params)
#define ACLMDL_FN_LOAD(status, ret, name, params, args)                                                                \
    DEFINE_##status(LOAD_MODEL,                                                                                        \
                    "softnpu does not load offline models (.om); it executes operators and captured graphs", ret,      \
                    name, params)
#define ACLMDL_FN_MODEL(status, ret, name, params, args)                                                               \
    DEFINE_##status(MODEL_ID_INVALID, "this model is not loaded: softnpu does not load offline models", ret, name,     \
                    params)
#include "abi/aclmdl_functions.h"
