/* SPDX-License-Identifier: Apache-2.0 */
/* The tests of the mstx front end, run against the library. */
#define MSTX_NO_IMPL
#include "mstx_test.c"
