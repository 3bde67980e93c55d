/* SPDX-License-Identifier: Apache-2.0 */
/* Empty: pools look for a preloaded file of a certain name, which is built from this. */
