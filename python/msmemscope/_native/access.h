/* SPDX-License-Identifier: Apache-2.0 */
/* Accesses of operators: what the files about them share.
 *
 *   access.c          operators, and the call that PyTorch makes for each
 *   access_tensor.c   what is asked of a tensor, and its record
 *   access_layout.c   where PyTorch keeps it
 *
 * Everything here has the GIL. */
#ifndef MS_PYTHON_ACCESS_H
#define MS_PYTHON_ACCESS_H

#include "native.h"

/* ---- access_layout.c ---- */

#define ACCESS_SIZES 5u /* as many sizes stand in a tensor itself */

/* A tensor as it lies in memory. */
struct access_view {
    uint64_t base;  /* where its storage begins */
    int64_t offset; /* in elements */
    const int64_t *sizes;
    uint32_t dimensions; /* up to ACCESS_SIZES */
    uint16_t type;
    int8_t device, device_index;
};

/* False: this tensor has to be asked by the methods of its class. */
bool access_see(PyObject *tensor, struct access_view *out);
/* Finds out where everything is, by tensors of which it is known: (tensor, data_ptr, base, offset, sizes, type, device)
 * each. False, without an exception: it cannot be found here. */
bool access_learn(PyObject *examples);

/* ---- access_tensor.c ---- */

/* The classes whose objects have memory: those that only stand for tensors, as for tracers, have others. -1: exception.
 */
int access_tensors(PyObject *tensor, PyObject *parameter);
/* Records what an operator does with an object: a tensor, or a list of some; anything else is passed over. No
 * exceptions. type: enum ms_access. */
void access_record(const struct ms_agent_v1 *agent, PyObject *object, unsigned type, struct ms_agent_text operation);
/* What is recorded of a tensor, (address, bytes, description, pool, device), as it is seen or as it is asked; None:
 * nothing. */
PyObject *access_of(const struct ms_agent_v1 *agent, PyObject *tensor, bool seen);

#endif
