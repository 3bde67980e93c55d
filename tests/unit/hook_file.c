/* SPDX-License-Identifier: Apache-2.0 */
/* Nothing: the pools look for a preloaded file of a certain name, and this becomes one. */
