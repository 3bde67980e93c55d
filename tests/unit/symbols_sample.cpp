/* SPDX-License-Identifier: Apache-2.0 */
// Code whose addresses the symbol tests know: each call of `here` returns to the line of its number.
#include <cstdint>

extern "C" __attribute__((noinline, visibility("default"))) uintptr_t sample_here(void)
{
    return reinterpret_cast<uintptr_t>(__builtin_return_address(0));
}

namespace shop {

struct Basket {
    uintptr_t weigh(int apples) const;
    template <typename T> uintptr_t add(const T &thing) const;
};

static inline __attribute__((always_inline)) uintptr_t innermost(volatile int *count)
{
    ++*count;
    uintptr_t pc = sample_here(); // line 19
    ++*count;
    return pc;
}

static inline __attribute__((always_inline)) uintptr_t middle(volatile int *count)
{
    uintptr_t pc = innermost(count); // line 26
    ++*count;
    return pc;
}

__attribute__((noipa, visibility("default"))) uintptr_t Basket::weigh(int apples) const
{
    volatile int count = apples;
    uintptr_t pc = middle(&count); // line 34
    ++count;
    return pc;
}

template <typename T> __attribute__((noipa, visibility("default"))) uintptr_t Basket::add(const T &thing) const
{
    volatile T copy = thing;
    uintptr_t pc = sample_here(); // line 42
    return copy == thing ? pc : 0;
}

} // namespace shop

extern "C" __attribute__((visibility("default"))) uintptr_t sample_inlined(void)
{
    shop::Basket basket;
    volatile uintptr_t pc = basket.weigh(3);
    return pc;
}

extern "C" __attribute__((visibility("default"))) uintptr_t sample_template(void)
{
    shop::Basket basket;
    volatile uintptr_t pc = basket.add(2.5);
    return pc;
}

static __attribute__((noipa)) uintptr_t hidden_function()
{
    volatile uintptr_t pc = sample_here(); // line 64
    return pc;
}

extern "C" __attribute__((visibility("default"))) uintptr_t sample_static(void)
{
    volatile uintptr_t pc = hidden_function();
    return pc;
}
