/* SPDX-License-Identifier: Apache-2.0 */
/* A library that is only a name: users preload it by hand. The recorder, libascend_kernel_hook.so, is attached to it as
 * an auxiliary filter (DT_AUXILIARY): the loader takes it from the same folder and puts it before this library in the
 * search order, so its hooks come before the driver's functions whichever of these names is preloaded, in any order. If
 * it is missing, nothing is hooked and the program runs. */
typedef int ms_only_a_name;
