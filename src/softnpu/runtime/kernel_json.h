/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel names in JSON descriptions: {"kernelName": "add", "kernelList": [{"kernelName": "add_1"}]} for AI core
 * operators, {"Add": {"opInfo": {...}}} for AI CPU operators. */
#ifndef SOFTNPU_RUNTIME_KERNEL_JSON_H
#define SOFTNPU_RUNTIME_KERNEL_JSON_H

#include "softnpu/runtime/kernel.h"

/* Does the text start like a JSON object? */
bool snpu__json_is(const void *text, size_t size_b);

/* Adds the kernels named in the text. 0, -EINVAL if the text is malformed or names no kernel, -ENOMEM. */
int snpu__json_names(struct snpu_image *image, const char *text, size_t size_b);

#endif
