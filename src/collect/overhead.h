/* SPDX-License-Identifier: Apache-2.0 */
/* What recording itself costs, for whoever asks (msmemscope info). */
#ifndef MS_COLLECT_OVERHEAD_H
#define MS_COLLECT_OVERHEAD_H

#include <stdint.h>

/* Measures once what the recorder needs for one record on this machine: the same code as in the program, into memory of
 * our own. Takes about a millisecond. From one thread. */
void ms_overhead_measure(void);
/* Picoseconds per record without stacks; 0: not measured yet. From any thread. */
uint64_t ms_overhead_record_ps(void);

/* Resident memory of this process, in bytes. */
uint64_t ms_overhead_resident_b(void);

#endif
