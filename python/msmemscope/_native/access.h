/* SPDX-License-Identifier: Apache-2.0 */
/* Memory accesses of PyTorch operators: declarations shared by these files.
 *
 *   access.c          operators, and the function that PyTorch calls for each
 *   access_tensor.c   properties of a tensor, and the record of an access to it
 *   access_layout.c   where PyTorch stores these properties
 *
 * All functions need the GIL. */
#ifndef MS_PYTHON_ACCESS_H
#define MS_PYTHON_ACCESS_H

#include "native.h"

/* ---- access_layout.c ---- */

#define MS_TENSOR_SIZES 5u /* number of sizes that PyTorch stores in the tensor itself */

/* The fields of a tensor, read from its memory. */
struct access_view {
    uint64_t base;  /* start of its storage */
    int64_t offset; /* in elements */
    const int64_t *sizes;
    uint32_t dimensions; /* at most MS_TENSOR_SIZES */
    uint16_t type;
    int8_t device, device_index;
};

/* False: this tensor's memory cannot be read; use the methods of its class. */
bool access_see(PyObject *tensor, struct access_view *out);
/* Finds the offsets of all fields with probe tensors: tuples (tensor, base, offset, sizes, type, device). False,
 * without an exception, if an offset is not found. */
bool access_learn(PyObject *examples);

/* ---- access_tensor.c ---- */

/* Sets the classes whose objects have memory; placeholders for tensors, as tracers use them, are of other classes. -1
 * with an exception. */
int access_tensors(PyObject *tensor, PyObject *parameter);
/* Whether an object is a tensor of another class than these, or a list that has one. */
bool access_derived(PyObject *object);
/* Records an operator's access to an object: a tensor, or a list or tuple of tensors; anything else is skipped. Raises
 * no exception. type: enum ms_access. */
void access_record(const struct ms_agent_v1 *agent, PyObject *object, unsigned type, struct ms_agent_text operation);
/* What is recorded for a tensor, (address, bytes, description, pool, device), read from its memory (seen) or through
 * its methods; None: nothing is recorded. */
PyObject *access_of(const struct ms_agent_v1 *agent, PyObject *tensor, bool seen);

#endif
