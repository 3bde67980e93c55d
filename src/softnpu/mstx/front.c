/* SPDX-License-Identifier: Apache-2.0 */
/* libms_tools_ext.so: the mstx front end as a library.
 *
 * The implementation is the same as in the header, with external linkage: the same search for a tool
 * (MSTX_INJECTION_PATH, otherwise the global scope), once per process instead of once per shared object, and the
 * same cost per call. See mstx/ms_tools_ext_impl.h for threads and failure. */
#define MSTX_DECL
#include "mstx/ms_tools_ext.h"
