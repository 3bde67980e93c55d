/* SPDX-License-Identifier: Apache-2.0 */
/* The cost of recording itself, shown by 'msmemscope info'. */
#ifndef MS_COLLECT_OVERHEAD_H
#define MS_COLLECT_OVERHEAD_H

#include <stdint.h>

/* Measures once how long one record takes on this machine: the same code as in the program, writing to private memory.
 * Takes about a millisecond. One thread only. */
void ms_overhead_measure(void);
/* Picoseconds per record without stacks; 0: not measured yet. Any thread. */
uint64_t ms_overhead_record_ps(void);

/* Resident memory of this process, in bytes. */
uint64_t ms_overhead_resident_b(void);

#endif
