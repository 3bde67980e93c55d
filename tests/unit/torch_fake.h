/* SPDX-License-Identifier: Apache-2.0 */
/* Controls the fake PyTorch of torch_fake.cpp. */
#ifndef TORCH_FAKE_H
#define TORCH_FAKE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

void *fake_tensor(size_t size); /* on the CPU */
void fake_free(void *ptr);
/* Of any device; old: as 1.13 reports it. */
void fake_report(void *ptr, int64_t change, int type, int index, int old);
void fake_profile(int on);
unsigned fake_calls(void); /* reports that reached PyTorch */

void fake_operator(const char *name, const char *overload);
void fake_operator_that(void (*kernel)(void), const char *name, const char *overload); /* kernel: what the operator
                                                                                        * does */
void fake_beneath_autograd(int on);
void fake_range(const char *name); /* another kind of range that observers see */
void fake_range_around(void (*inside)(void), const char *name);
unsigned fake_observers(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
