/* SPDX-License-Identifier: Apache-2.0 */
/* Data dump of executing models. */
#ifndef ACL_ACL_DUMP_H
#define ACL_ACL_DUMP_H

#include "acl/acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

aclError aclmdlInitDump(void);
aclError aclmdlSetDump(const char *dumpCfgPath);
aclError aclmdlFinalizeDump(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
