/* SPDX-License-Identifier: Apache-2.0 */
/* Labelled points where tests stop, kill or delay a thread. Compiled to nothing without MS_TESTPOINTS. */
#ifndef MS_TRACE_TESTPOINT_H
#define MS_TRACE_TESTPOINT_H

#ifdef MS_TESTPOINTS
extern void (*ms_testpoint_hook)(const char *label);
#define MS_TESTPOINT(label) (ms_testpoint_hook != 0 ? ms_testpoint_hook(label) : (void)0)
#else
#define MS_TESTPOINT(label) ((void)0)
#endif

#endif
