/* SPDX-License-Identifier: Apache-2.0 */
/* What is loaded where: the module of an address, and its unwind tables.
 *
 * Lock-free where the C library supports it (_dl_find_object), else by dl_iterate_phdr; so only for addresses seen for
 * the first time, never for each event. */
#ifndef MS_AGENT_LOADED_H
#define MS_AGENT_LOADED_H

#include "trace/definitions.h"

/* Looks for what the C library offers; from constructors. May be repeated. wanted: modules will be queried. */
void ms_loaded_setup(bool wanted);

/* A ms_module_fn. Offsets from base are addresses as in the module's file, so they can be looked up there later; the
 * build id shows whether a file is the right one. */
bool ms_loaded_module(uintptr_t pc, struct ms_module_info *out);

/* The .eh_frame_hdr table of the module that contains pc; NULL: none. */
const uint8_t *ms_loaded_unwind_table(uintptr_t pc);

#endif
