/* SPDX-License-Identifier: Apache-2.0 */
/* Names of kernels in JSON descriptions: {"kernelName": "add", "kernelList": [{"kernelName": "add_1"}]} of AI core
 * operators, {"Add": {"opInfo": {...}}} of AI CPU operators. */
#ifndef SOFTNPU_RUNTIME_KERNEL_JSON_H
#define SOFTNPU_RUNTIME_KERNEL_JSON_H

#include "softnpu/runtime/kernel.h"

/* Does the text begin like a JSON object? */
bool snpu__json_is(const void *text, size_t size_b);

/* Adds the kernels that the text names. 0, -EINVAL if the text is not well formed or names none, -ENOMEM. */
int snpu__json_names(struct snpu_image *image, const char *text, size_t size_b);

#endif
