/* SPDX-License-Identifier: Apache-2.0 */
/* A library that is only a name: people preload it by hand. The recorder, libascend_kernel_hook.so, is attached to it
 * as an auxiliary filter (DT_AUXILIARY): the loader takes it from the same folder and puts it in front of this library
 * in the search order, so that its hooks come before the driver's functions whichever of our names is preloaded, in any
 * order. If it is missing, nothing is hooked and the program runs. */
typedef int ms_only_a_name;
