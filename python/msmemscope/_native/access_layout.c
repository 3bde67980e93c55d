/* SPDX-License-Identifier: Apache-2.0 */
/* Where PyTorch stores the properties of a tensor: address, offset, sizes, type, device.
 *
 * Querying a tensor through its methods takes about a microsecond, several times per operator; reading its memory takes
 * nanoseconds. The layout is not documented and differs between versions, so it is not hard-coded: it is found once,
 * with probe tensors whose values are known. An offset is accepted if it is the only one that fits all of them. If one
 * is not found, tensors are queried through their methods.
 *
 *     PyObject --impl--> TensorImpl --storage--> StorageImpl --data--> elements
 *                        back: the PyObject (lowest bit may be a tag); offset, dimensions, sizes, type, device
 *
 * A later read is valid because the implementation points back to its object. Not readable: tensors without storage
 * (sparse, opaque, and those of transformations), tensors with more dimensions than fit in the object, and tensors with
 * a size of 0, which includes nested and symbolic ones: their real sizes are stored elsewhere. */
#include "access.h"

#include "base/peek.h"

#include <string.h>

static struct tensor_layout {
    uint32_t impl, back, storage, data, offset, dimensions, type, device;
} layout;
static bool known;

/* ---- reading ---- */

static inline uint64_t word_at(const void *thing, uint32_t at)
{
    uint64_t word;
    memcpy(&word, (const char *)thing + at, sizeof(word));
    return word;
}

static inline const void *pointer_at(const void *thing, uint32_t at)
{
    return (const void *)(uintptr_t)word_at(thing, at);
}

bool access_see(PyObject *tensor, struct access_view *out)
{
    if (MS_UNLIKELY(!known)) {
        return false;
    }
    const void *impl = pointer_at(tensor, layout.impl);
    if (MS_UNLIKELY(impl == NULL || (word_at(impl, layout.back) & ~1ull) != (uintptr_t)tensor)) {
        return false;
    }
    const void *storage = pointer_at(impl, layout.storage);
    uint64_t dimensions = word_at(impl, layout.dimensions);
    if (MS_UNLIKELY(storage == NULL || dimensions > MS_TENSOR_SIZES)) {
        return false;
    }
    const char *in = impl;
    out->sizes = (const int64_t *)(const void *)(in + layout.dimensions + sizeof(uint64_t));
    out->dimensions = (uint32_t)dimensions;
    for (uint32_t i = 0; i < dimensions; i++) {
        if (out->sizes[i] <= 0) {
            return false;
        }
    }
    out->base = word_at(storage, layout.data);
    out->offset = (int64_t)word_at(impl, layout.offset);
    memcpy(&out->type, in + layout.type, sizeof(out->type));
    out->device = (int8_t)in[layout.device];
    out->device_index = (int8_t)in[layout.device + 1];
    return out->base != 0;
}

/* ---- learning ---- */

enum { OBJECT_B = 64, IMPL_B = 208, STORAGE_B = 64, EXAMPLES_MAX = 16 };
#define NOWHERE UINT32_MAX

/* A probe tensor, its known values, and copies of its memory. */
struct layout_example {
    PyObject *tensor; /* borrowed */
    unsigned long long base;
    long long offset, sizes[MS_TENSOR_SIZES];
    Py_ssize_t dimensions;
    int type, device;
    char object[OBJECT_B], impl[IMPL_B], storage[STORAGE_B];
};

struct layout_lesson {
    struct layout_example examples[EXAMPLES_MAX];
    Py_ssize_t count;
};

/* One of the memory copies in an example. */
struct example_part {
    size_t copy, length_b;
};
#define PART(name)                                                                                                     \
    ((struct example_part){offsetof(struct layout_example, name), sizeof(((struct layout_example *)NULL)->name)})

typedef bool (*fits_fn)(const struct layout_example *example, uint32_t at);

static bool is_back(const struct layout_example *example, uint32_t at)
{
    return (word_at(example->impl, at) & ~1ull) == (uintptr_t)example->tensor;
}

static bool is_data(const struct layout_example *example, uint32_t at)
{
    return word_at(example->storage, at) == example->base;
}

static bool is_offset(const struct layout_example *example, uint32_t at)
{
    return (long long)word_at(example->impl, at) == example->offset;
}

/* The number of dimensions, followed by the sizes. */
static bool is_dimensions(const struct layout_example *example, uint32_t at)
{
    bool fits = at + 8 * (1 + MS_TENSOR_SIZES) <= IMPL_B && word_at(example->impl, at) == (uint64_t)example->dimensions;
    for (Py_ssize_t i = 0; i < example->dimensions && fits; i++) {
        fits = (long long)word_at(example->impl, at + 8 * (1 + (uint32_t)i)) == example->sizes[i];
    }
    return fits;
}

static bool is_type(const struct layout_example *example, uint32_t at)
{
    uint16_t type;
    memcpy(&type, example->impl + at, sizeof(type));
    return type == example->type;
}

/* The device type, followed by the index, which is -1 for all examples. */
static bool is_device(const struct layout_example *example, uint32_t at)
{
    return at + 1 < IMPL_B && example->impl[at] == example->device && (signed char)example->impl[at + 1] == -1;
}

/* The only offset that fits all examples; NOWHERE if there is none or more than one. */
static uint32_t find_place(const struct layout_lesson *lesson, size_t length_b, uint32_t step, fits_fn fits)
{
    uint32_t place = NOWHERE;
    for (uint32_t at = 0; at + step <= length_b; at += step) {
        Py_ssize_t fitting = 0;
        while (fitting < lesson->count && fits(&lesson->examples[fitting], at)) {
            fitting++;
        }
        if (fitting == lesson->count) {
            if (place != NOWHERE) {
                return NOWHERE;
            }
            place = at;
        }
    }
    return place;
}

/* Copies what the words at an offset point to. */
static bool follow(struct layout_lesson *lesson, struct example_part from, uint32_t at, struct example_part to)
{
    bool all = true;
    for (Py_ssize_t i = 0; i < lesson->count && all; i++) {
        char *example = (char *)&lesson->examples[i];
        all = ms_peek((uintptr_t)word_at(example + from.copy, at), example + to.copy, to.length_b);
    }
    return all;
}

/* The only pointer to an object that has a fitting offset; on success `to` holds copies of these objects. */
static uint32_t find_pointer(struct layout_lesson *lesson, struct example_part from, struct example_part to,
                             fits_fn fits)
{
    uint32_t place = NOWHERE;
    for (uint32_t at = 0; at + 8 <= from.length_b; at += 8) {
        if (follow(lesson, from, at, to) && find_place(lesson, to.length_b, 8, fits) != NOWHERE) {
            if (place != NOWHERE) {
                return NOWHERE;
            }
            place = at;
        }
    }
    return place != NOWHERE && follow(lesson, from, place, to) ? place : NOWHERE;
}

static bool read_example(PyObject *item, struct layout_example *out)
{
    PyObject *sizes;
    if (!PyTuple_Check(item) || !PyArg_ParseTuple(item, "OKLO!ii", &out->tensor, &out->base, &out->offset,
                                                  &PyTuple_Type, &sizes, &out->type, &out->device)) {
        return false;
    }
    out->dimensions = PyTuple_Size(sizes);
    for (Py_ssize_t i = 0; i < out->dimensions && i < (Py_ssize_t)MS_TENSOR_SIZES; i++) {
        out->sizes[i] = PyLong_AsLongLong(PyTuple_GetItem(sizes, i));
    }
    return !PyErr_Occurred() && out->dimensions <= (Py_ssize_t)MS_TENSOR_SIZES &&
           ms_peek((uintptr_t)out->tensor, out->object, sizeof(out->object));
}

bool access_learn(PyObject *examples)
{
    struct layout_lesson lesson = {.count = PyList_Size(examples)};
    bool readable = lesson.count > 0 && lesson.count <= EXAMPLES_MAX;
    for (Py_ssize_t i = 0; i < lesson.count && readable; i++) {
        readable = read_example(PyList_GetItem(examples, i), &lesson.examples[i]);
    }
    PyErr_Clear();
    if (!readable) {
        return false;
    }
    struct tensor_layout found;
    known = (found.impl = find_pointer(&lesson, PART(object), PART(impl), is_back)) != NOWHERE &&
            (found.back = find_place(&lesson, IMPL_B, 8, is_back)) != NOWHERE &&
            (found.storage = find_pointer(&lesson, PART(impl), PART(storage), is_data)) != NOWHERE &&
            (found.data = find_place(&lesson, STORAGE_B, 8, is_data)) != NOWHERE &&
            (found.offset = find_place(&lesson, IMPL_B, 8, is_offset)) != NOWHERE &&
            (found.dimensions = find_place(&lesson, IMPL_B, 8, is_dimensions)) != NOWHERE &&
            (found.type = find_place(&lesson, IMPL_B, 2, is_type)) != NOWHERE &&
            (found.device = find_place(&lesson, IMPL_B, 1, is_device)) != NOWHERE;
    if (known) {
        layout = found;
    }
    return known;
}
