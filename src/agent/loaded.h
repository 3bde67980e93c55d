/* SPDX-License-Identifier: Apache-2.0 */
/* What is loaded where: the module of an address, and its unwind tables.
 *
 * Without lock where the C library can (_dl_find_object), else by dl_iterate_phdr; so for addresses that were not seen
 * before, never for each event. */
#ifndef MS_AGENT_LOADED_H
#define MS_AGENT_LOADED_H

#include "trace/definitions.h"

/* Looks for what the C library offers; from constructors. May be repeated. wanted: modules will be asked for. */
void ms_loaded_setup(bool wanted);

/* A ms_module_fn. Offsets from base are addresses as they stand in the file of the module, so that they can be looked
 * up there later; the build id tells whether a file is the right one. */
bool ms_loaded_module(uintptr_t pc, struct ms_module_info *out);

/* The table .eh_frame_hdr of the module that holds pc; NULL: none. */
const uint8_t *ms_loaded_unwind_table(uintptr_t pc);

#endif
