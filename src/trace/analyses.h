/* SPDX-License-Identifier: Apache-2.0 */
/* Analyses that run while recording; the bits of config.json and of the session string. */
#ifndef MS_TRACE_ANALYSES_H
#define MS_TRACE_ANALYSES_H

enum { MS_ANALYSE_LEAKS = 1, MS_ANALYSE_DECOMPOSE = 2, MS_ANALYSE_INEFFICIENT = 4, MS_ANALYSE_OOM = 8 };

#endif
