/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the arguments of a two-phase function from the words of its row (src/abi/aclop_types.h).
 *
 * Inputs in host memory and constants are copied to device memory first, because the caller may reuse its memory when
 * the call has returned. Tensors in a private format are copied to plain ones before the operator, or from plain ones
 * after it. Numbers that the two-phase function takes as values, but the single operator as an input, are
 * read here; if the input is in device memory, the stream must be idle for that.
 *
 * Threads: no state.
 * Failure: the vendor's codes for inputs and attributes that do not match, with the names of operator and attribute. */
#include "softnpu/aclop/arguments.h"

#include "abi/acl_impl.h"
#include "abi/aclop_impl.h"
#include "acl/acl_rt.h"
#include "aclnn/acl_meta.h"
#include "base/half.h"
#include "softnpu/aclop/layout.h"
#include "softnpu/runtime/error.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum object_kind { OBJECT_TENSOR, OBJECT_SCALAR, OBJECT_INTS, OBJECT_BOOLS, OBJECT_LIST, OBJECT_BLOCK };

struct snpu_op_object {
    struct snpu_op_object *next;
    enum object_kind kind;
    const void *object;
};

/* ---- the library of operators ---- */
static void *library;

static void load_library(void)
{
    library = dlopen("libopapi.so", RTLD_NOW | RTLD_GLOBAL);
}

void *snpu_op_symbol(const char *prefix, const char *name, const char *suffix)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    char symbol[128];
    pthread_once(&once, load_library);
    return library != NULL && snprintf(symbol, sizeof(symbol), "%s%s%s", prefix, name, suffix) < (int)sizeof(symbol)
               ? dlsym(library, symbol)
               : NULL;
}

/* Calls a function of the library by its prototype in aclnn/acl_meta.h. */
#define META(name) ((__typeof__(&(name)))snpu_op_symbol("", #name, ""))

static const struct {
    const char *destroy;
} kinds[] = {
    [OBJECT_TENSOR] = {"aclDestroyTensor"},   [OBJECT_SCALAR] = {"aclDestroyScalar"},
    [OBJECT_INTS] = {"aclDestroyIntArray"},   [OBJECT_BOOLS] = {"aclDestroyBoolArray"},
    [OBJECT_LIST] = {"aclDestroyTensorList"},
};

static aclError keep(struct snpu_op_arguments *out, enum object_kind kind, const void *object)
{
    struct snpu_op_object *entry = object != NULL ? malloc(sizeof(*entry)) : NULL;
    if (entry == NULL) {
        return snpu_fail(ACL_ERROR_BAD_ALLOC, "single operator: cannot create an argument: out of memory");
    }
    *entry = (struct snpu_op_object){.next = out->objects, .kind = kind, .object = object};
    out->objects = entry;
    return ACL_SUCCESS;
}

void snpu_op_arguments_free(struct snpu_op_arguments *arguments)
{
    for (struct snpu_op_object *entry = arguments->objects, *next; entry != NULL; entry = next) {
        next = entry->next;
        if (entry->kind == OBJECT_BLOCK) {
            (void)aclrtFreeImpl((void *)(uintptr_t)entry->object);
        } else {
            aclnnStatus (*destroy)(const void *) = snpu_op_symbol("", kinds[entry->kind].destroy, "");
            (void)destroy(entry->object);
        }
        free(entry);
    }
    arguments->objects = NULL;
}

/* ---- one call ---- */
struct builder {
    const struct snpu_op_call *call;
    const struct snpu_op_type *type;
    aclrtStream stream;
    struct snpu_op_arguments *out;
    double real; /* of the last number */
};

#define BAD(builder, code, format, ...)                                                                                \
    snpu_fail(code, "%s: operator %s: " format, (builder)->call->function, (builder)->call->type, __VA_ARGS__)

static size_t bytes_of(const aclTensorDesc *desc)
{
    return aclGetTensorDescSizeImpl(desc);
}

/* Where the elements of input n are; *host says that this is memory of the caller or of the descriptor. */
static aclError data_of(const struct builder *b, int n, const void **data, bool *host)
{
    const aclTensorDesc *desc = b->call->input_descs[n];
    size_t have = desc->constant_b, need = bytes_of(desc);
    *host = desc->constant != NULL || desc->placement != ACL_MEMTYPE_DEVICE;
    *data = desc->constant;
    if (desc->constant == NULL) {
        *data = aclGetDataBufferAddrImpl(b->call->inputs[n]);
        have = aclGetDataBufferSizeV2Impl(b->call->inputs[n]);
    }
    if (have < need || (need > 0 && *data == NULL)) {
        return BAD(b, ACL_ERROR_OP_INPUT_NOT_MATCH, "input %d needs %zu bytes, its buffer %p has %zu", n, need, *data,
                   have);
    }
    return ACL_SUCCESS;
}

/* A copy of host memory in device memory; freed after the call. */
static aclError stage(struct builder *b, const void *from, size_t bytes, void **to)
{
    aclError rc = aclrtMallocImpl(to, bytes, ACL_MEM_MALLOC_HUGE_FIRST);
    if (rc != ACL_SUCCESS) {
        return rc;
    }
    rc = keep(b->out, OBJECT_BLOCK, *to);
    b->out->staged = true;
    return rc != ACL_SUCCESS ? rc : aclrtMemcpyImpl(*to, bytes, from, bytes, ACL_MEMCPY_HOST_TO_DEVICE);
}

/* ---- private formats ---- */

/* Queues to = from, both tensors of the library. */
static aclError copy_tensor(const char *function, const void *to, const void *from, aclrtStream stream)
{
    aclnnStatus (*plan)(const void *, const void *, uint64_t *, aclOpExecutor **) =
        snpu_op_symbol("aclnn", "InplaceCopy", "GetWorkspaceSize");
    aclnnStatus (*launch)(void *, uint64_t, aclOpExecutor *, aclrtStream) = snpu_op_symbol("aclnn", "InplaceCopy", "");
    uint64_t workspace_b = 0;
    aclOpExecutor *executor = NULL;
    aclnnStatus status = plan != NULL && launch != NULL ? plan(to, from, &workspace_b, &executor) : -1;
    status = status == 0 && workspace_b == 0 ? launch(NULL, 0, executor, stream) : status;
    return status == 0 && workspace_b == 0
               ? ACL_SUCCESS
               : snpu_fail(ACL_ERROR_GE_FAILURE, "%s: cannot copy a tensor in a private format", function);
}

/* A plain tensor for one in a private format: filled from it, or copied to it after the operator. */
static aclError make_plain(struct builder *b, const aclTensorDesc *desc, void *data, size_t data_b, bool fill,
                           const aclTensor **out)
{
    struct snpu_layout l;
    (void)snpu_layout_of(desc, &l); /* checked before */
    const int64_t count = (int64_t)l.count;
    const size_t bytes = l.count * aclDataTypeSizeImpl(desc->type);
    if (data_b < bytes || data == NULL || (!fill && b->out->store_count == SNPU_OP_STORES)) {
        return BAD(b, ACL_ERROR_STORAGE_OVER_LIMIT, "a tensor in format %d needs %zu bytes, its buffer has %zu",
                   (int)desc->storage_format, bytes, data_b);
    }
    void *room = NULL;
    aclError rc = aclrtMallocImpl(&room, bytes, ACL_MEM_MALLOC_HUGE_FIRST);
    rc = rc != ACL_SUCCESS ? rc : keep(b->out, OBJECT_BLOCK, room);
    b->out->staged = true;
    int64_t dense[SNPU_LAYOUT_DIMS], step = 1;
    for (uint32_t i = l.rank; i-- > 0; step *= l.dims[i]) {
        dense[i] = step;
    }
    const aclTensor *blocks = NULL, *plain = NULL;
    if (rc == ACL_SUCCESS) {
        blocks = META(aclCreateTensor)(l.dims, l.rank, desc->type, dense, 0, ACL_FORMAT_ND, &count, 1, data);
        rc = keep(b->out, OBJECT_TENSOR, blocks);
    }
    if (rc == ACL_SUCCESS) {
        plain = META(aclCreateTensor)(l.dims, l.rank, desc->type, l.steps, 0, ACL_FORMAT_ND, &count, 1, room);
        rc = keep(b->out, OBJECT_TENSOR, plain);
    }
    if (rc == ACL_SUCCESS && fill) {
        rc = copy_tensor(b->call->function, plain, blocks, b->stream);
    } else if (rc == ACL_SUCCESS) {
        rc = aclrtMemsetAsyncImpl(room, bytes, 0, bytes, b->stream); /* the rest of the blocks */
        b->out->stores[b->out->store_count].blocks = blocks;
        b->out->stores[b->out->store_count++].plain = plain;
    }
    if (rc == ACL_SUCCESS) {
        *out = META(aclCreateTensor)(l.plain_dims, l.plain_rank, desc->type, l.plain_steps, 0, desc->format, &count, 1,
                                     room);
        rc = keep(b->out, OBJECT_TENSOR, *out);
    }
    return rc;
}

aclError snpu_op_arguments_store(const struct snpu_op_call *call, const struct snpu_op_arguments *arguments,
                                 aclrtStream stream)
{
    aclError rc = ACL_SUCCESS;
    for (uint32_t i = 0; rc == ACL_SUCCESS && i < arguments->store_count; i++) {
        rc = copy_tensor(call->function, arguments->stores[i].blocks, arguments->stores[i].plain, stream);
    }
    return rc;
}

/* exchanged: with its last two dimensions exchanged. without > 0: its first slice along that dimension, from the end. */
static aclError make_tensor(struct builder *b, const aclTensorDesc *desc, void *data, bool exchanged, size_t without,
                            const aclTensor **out)
{
    int64_t dims[SNPU_DESC_MAX_DIMS], strides[SNPU_DESC_MAX_DIMS], step = 1;
    uint32_t rank = desc->shape.count;
    for (uint32_t i = rank; i-- > 0;) {
        dims[i] = desc->shape.dims[i];
        strides[i] = step;
        step *= dims[i] > 0 ? dims[i] : 1;
    }
    if (exchanged && rank >= 2) {
        int64_t dim = dims[rank - 1], stride = strides[rank - 1];
        dims[rank - 1] = dims[rank - 2], strides[rank - 1] = strides[rank - 2];
        dims[rank - 2] = dim, strides[rank - 2] = stride;
    }
    uint32_t view = rank;
    if (without > 0 && without <= rank) {
        for (uint32_t i = rank - (uint32_t)without; i + 1 < rank; i++) {
            dims[i] = dims[i + 1], strides[i] = strides[i + 1];
        }
        view--;
    }
    *out = META(aclCreateTensor)(dims, view, desc->type, strides, 0, desc->format, desc->shape.dims, rank, data);
    return keep(b->out, OBJECT_TENSOR, *out);
}

static aclError input(struct builder *b, int n, bool exchanged, size_t without, const aclTensor **out)
{
    const void *data;
    bool host;
    aclError rc = data_of(b, n, &data, &host);
    void *device = (void *)(uintptr_t)data;
    size_t bytes = bytes_of(b->call->input_descs[n]);
    if (rc == ACL_SUCCESS && !snpu_format_plain(b->call->input_descs[n]->storage_format)) {
        return make_plain(b, b->call->input_descs[n], device, aclGetDataBufferSizeV2Impl(b->call->inputs[n]), true,
                          out);
    }
    if (rc == ACL_SUCCESS && host && bytes > 0) {
        rc = stage(b, data, bytes, &device);
    }
    return rc != ACL_SUCCESS ? rc : make_tensor(b, b->call->input_descs[n], device, exchanged, without, out);
}

static aclError output(struct builder *b, int n, const aclTensor **out)
{
    const aclTensorDesc *desc = b->call->output_descs[n];
    void *data = aclGetDataBufferAddrImpl(b->call->outputs[n]);
    size_t have = aclGetDataBufferSizeV2Impl(b->call->outputs[n]), need = bytes_of(desc);
    if (have < need || (need > 0 && data == NULL)) {
        return BAD(b, ACL_ERROR_OP_OUTPUT_NOT_MATCH, "output %d needs %zu bytes, its buffer %p has %zu", n, need, data,
                   have);
    }
    return snpu_format_plain(desc->storage_format) ? make_tensor(b, desc, data, false, 0, out)
                                                   : make_plain(b, desc, data, have, false, out);
}

/* ---- numbers ---- */
struct number {
    bool real;
    double r;
    int64_t i;
};

static bool number_at(aclDataType type, const void *values, size_t index, struct number *out)
{
    *out = (struct number){0};
    switch (type) {
#define WHOLE(constant, c_type)                                                                                        \
    case constant:                                                                                                     \
        out->i = (int64_t)((const c_type *)values)[index];                                                             \
        break;
        WHOLE(ACL_INT8, int8_t)
        WHOLE(ACL_INT16, int16_t)
        WHOLE(ACL_INT32, int32_t)
        WHOLE(ACL_INT64, int64_t)
        WHOLE(ACL_UINT8, uint8_t)
        WHOLE(ACL_UINT32, uint32_t)
        WHOLE(ACL_BOOL, uint8_t)
#undef WHOLE
    case ACL_FLOAT:
        *out = (struct number){true, (double)((const float *)values)[index], 0};
        break;
    case ACL_DOUBLE:
        *out = (struct number){true, ((const double *)values)[index], 0};
        break;
    case ACL_FLOAT16:
        *out = (struct number){true, (double)ms_half_to_float(((const uint16_t *)values)[index]), 0};
        break;
    case ACL_BF16: {
        uint32_t bits = (uint32_t)((const uint16_t *)values)[index] << 16;
        float wide;
        memcpy(&wide, &bits, sizeof(wide));
        *out = (struct number){true, (double)wide, 0};
        break;
    }
    default:
        return false;
    }
    return true;
}

/* The elements of input n as numbers; the caller frees them. */
static aclError read_input(struct builder *b, int n, struct number **out, size_t *count)
{
    const aclTensorDesc *desc = b->call->input_descs[n];
    const void *data;
    bool host;
    aclError rc = data_of(b, n, &data, &host);
    if (rc != ACL_SUCCESS) {
        return rc;
    }
    size_t bytes = bytes_of(desc);
    *count = aclGetTensorDescElementCountImpl(desc);
    void *copy = malloc(bytes + 1);
    *out = calloc(*count + 1, sizeof(**out));
    if (copy == NULL || *out == NULL) {
        rc = snpu_fail(ACL_ERROR_BAD_ALLOC, "%s: out of host memory", b->call->function);
    } else if (host) {
        memcpy(copy, data, bytes);
    } else if ((rc = aclrtSynchronizeStreamImpl(b->stream)) == ACL_SUCCESS) {
        rc = aclrtMemcpyImpl(copy, bytes, data, bytes, ACL_MEMCPY_DEVICE_TO_HOST);
    }
    for (size_t i = 0; rc == ACL_SUCCESS && i < *count; i++) {
        if (!number_at(desc->type, copy, i, &(*out)[i])) {
            rc = BAD(b, ACL_ERROR_UNSUPPORTED_DATA_TYPE, "input %d must be of a numeric type, not %d", n,
                     (int)desc->type);
        }
    }
    free(copy);
    if (rc != ACL_SUCCESS) {
        free(*out);
    }
    return rc;
}

/* The values of attribute `name`, or its default; the caller frees them. */
static aclError read_attr(struct builder *b, const char *name, const char *missing, struct number **out, size_t *count)
{
    static const aclDataType types[] = {[SNPU_ATTR_BOOL] = ACL_BOOL,
                                        [SNPU_ATTR_INT] = ACL_INT64,
                                        [SNPU_ATTR_FLOAT] = ACL_FLOAT,
                                        [SNPU_ATTR_TYPE] = ACL_INT32};
    const struct snpu_attr *attr = *name != '\0' ? snpu_attr_find(b->call->attr, name) : NULL;
    if (attr == NULL && missing == NULL) {
        return BAD(b, ACL_ERROR_OP_ATTR_NOT_MATCH, "attribute '%s' is missing", name);
    }
    if (attr != NULL && (attr->kind == SNPU_ATTR_STRING || attr->kind == SNPU_ATTR_LIST_LIST_INT)) {
        return BAD(b, ACL_ERROR_OP_ATTR_NOT_MATCH, "attribute '%s' must be a number or a list of numbers", name);
    }
    *count = attr != NULL ? attr->count : 1;
    for (const char *comma = missing; attr == NULL && (comma = strchr(comma, ',')) != NULL; comma++) {
        ++*count;
    }
    *out = calloc(*count + 1, sizeof(**out));
    if (*out == NULL) {
        return snpu_fail(ACL_ERROR_BAD_ALLOC, "%s: out of host memory", b->call->function);
    }
    for (size_t i = 0; attr != NULL && i < *count; i++) {
        (void)number_at(types[attr->kind], attr->values, i, &(*out)[i]);
    }
    for (size_t i = 0; attr == NULL && i < *count; i++) {
        char *end;
        (*out)[i].i = strtoll(missing, &end, 10);
        missing = end + (*end == ',');
    }
    return ACL_SUCCESS;
}

/* ---- words of a row ---- */
struct word {
    char kind;     /* i o t s n v f d b m - */
    bool optional; /* an input that may be missing */
    int index;     /* of an input or output; -1: an attribute or a constant; -2: all inputs */
    char *name;    /* of an attribute, "" for a constant */
    char *value;   /* default or constant, or NULL */
    size_t skip, step;
    char text[64];
};

static void split(const char **at, struct word *w)
{
    size_t n = strcspn(*at, " ");
    snprintf(w->text, sizeof(w->text), "%.*s", (int)n, *at);
    *at += n + ((*at)[n] == ' ');
    w->kind = w->text[0];
    w->skip = 0;
    w->step = 1;
    char *part = strpbrk(w->text, ">/");
    if (part != NULL) {
        *(*part == '>' ? &w->skip : &w->step) = (size_t)(part[1] - '0');
        *part = '\0';
    }
    w->optional = strchr(w->text, '?') != NULL;
    w->index = -1;
    w->name = w->text + strlen(w->text); /* "" */
    w->value = strchr(w->text, '=');
    if (w->value != NULL) {
        *w->value++ = '\0';
    }
    if (w->text[1] == '*') {
        w->index = -2;
    } else if (w->text[1] >= '0' && w->text[1] <= '9') {
        w->index = w->text[1] - '0';
        w->name = w->text[2] == '~' ? w->text + 3 : w->name;
    } else if (w->text[1] == ':') {
        w->name = w->text + 2;
    }
}

static aclError numbers_of(struct builder *b, const struct word *w, struct number **out, size_t *count)
{
    return w->index >= 0 ? read_input(b, w->index, out, count) : read_attr(b, w->name, w->value, out, count);
}

static int64_t whole(const struct number *n)
{
    return n->real ? (int64_t)n->r : n->i;
}

static aclError flag_of(struct builder *b, const char *name, bool *out)
{
    struct number *numbers;
    size_t count;
    aclError rc = read_attr(b, name, "0", &numbers, &count);
    if (rc == ACL_SUCCESS) {
        *out = count > 0 && whole(numbers) != 0;
        free(numbers);
    }
    return rc;
}

static aclError number_word(struct builder *b, const struct word *w, intptr_t *out)
{
    struct number *numbers;
    size_t count;
    aclError rc = numbers_of(b, w, &numbers, &count);
    if (rc != ACL_SUCCESS) {
        return rc;
    }
    if (w->kind == 'v') {
        int64_t *values = calloc(count + 1, sizeof(*values));
        size_t used = 0;
        for (size_t i = w->skip; values != NULL && i < count; i += w->step) {
            values[used++] = whole(&numbers[i]);
        }
        const void *array = values != NULL ? META(aclCreateIntArray)(values, used) : NULL;
        rc = keep(b->out, OBJECT_INTS, array);
        *out = (intptr_t)array;
        free(values);
    } else if (count == 0) {
        rc = BAD(b, w->index >= 0 ? ACL_ERROR_OP_INPUT_NOT_MATCH : ACL_ERROR_OP_ATTR_NOT_MATCH,
                 "%s%s has no value where one number is needed", w->index >= 0 ? "input " : "attribute ",
                 w->index >= 0 ? w->text + 1 : w->name);
    } else if (w->kind == 's') {
        float real = (float)numbers[0].r;
        const void *scalar =
            numbers[0].real ? META(aclCreateScalar)(&real, ACL_FLOAT) : META(aclCreateScalar)(&numbers[0].i, ACL_INT64);
        rc = keep(b->out, OBJECT_SCALAR, scalar);
        *out = (intptr_t)scalar;
    } else {
        *out = (intptr_t)whole(&numbers[0]);
        b->real = numbers[0].real ? numbers[0].r : (double)numbers[0].i;
    }
    free(numbers);
    return rc;
}

static aclError list_word(struct builder *b, intptr_t *out)
{
    int n = b->call->input_count;
    const aclTensor **tensors = calloc((size_t)n, sizeof(*tensors));
    aclError rc =
        tensors != NULL ? ACL_SUCCESS : snpu_fail(ACL_ERROR_BAD_ALLOC, "%s: out of memory", b->call->function);
    for (int i = 0; rc == ACL_SUCCESS && i < n; i++) {
        const aclTensor *tensor = NULL;
        rc = input(b, i, false, 0, &tensor);
        /* The list owns its tensors. */
        if (rc == ACL_SUCCESS && b->out->objects->object == tensor) {
            struct snpu_op_object *entry = b->out->objects;
            b->out->objects = entry->next;
            free(entry);
            tensors[i] = tensor;
        }
    }
    const void *list = rc == ACL_SUCCESS ? META(aclCreateTensorList)(tensors, (uint64_t)n) : NULL;
    if (rc == ACL_SUCCESS) {
        rc = keep(b->out, OBJECT_LIST, list);
        *out = (intptr_t)list;
    } else if (tensors != NULL) {
        for (int i = 0; i < n && tensors[i] != NULL; i++) {
            (void)META(aclDestroyTensor)(tensors[i]);
        }
    }
    free(tensors);
    return rc;
}

static aclError mask_word(struct builder *b, const struct word *w, intptr_t *out)
{
    bool values[8] = {false};
    size_t count = strlen(w->value);
    for (size_t i = 0; i < count && i < MS_COUNT_OF(values); i++) {
        values[i] = w->value[i] == '1';
    }
    const void *array = META(aclCreateBoolArray)(values, count);
    *out = (intptr_t)array;
    return keep(b->out, OBJECT_BOOLS, array);
}

/* A float or a double: it is not among the whole numbers. */
static aclError real_word(struct builder *b, const struct word *w)
{
    intptr_t ignored;
    aclError rc = number_word(b, w, &ignored);
    double *place = &b->out->reals[b->out->real_count++];
    *place = b->real;
    if (w->kind == 'f') {
        const float narrow = (float)b->real;
        memcpy(place, &narrow, sizeof(narrow));
    }
    return rc;
}

static aclError one_word(struct builder *b, const struct word *w, intptr_t *out)
{
    const aclTensor *tensor = NULL;
    bool flag = false;
    aclError rc;
    switch (w->kind) {
    case '-':
        *out = 0;
        return ACL_SUCCESS;
    case 'm':
        return mask_word(b, w, out);
    case 'i':
        if (w->index == -2) {
            return list_word(b, out);
        }
        if (w->optional && w->index >= b->call->input_count) {
            *out = 0;
            return ACL_SUCCESS;
        }
        rc = *w->name != '\0' ? flag_of(b, w->name, &flag) : ACL_SUCCESS;
        rc = rc != ACL_SUCCESS ? rc : input(b, w->index, flag, w->skip, &tensor);
        *out = (intptr_t)tensor;
        return rc;
    case 'o':
        rc = output(b, w->index, &tensor);
        *out = (intptr_t)tensor;
        return rc;
    case 't':
        *out = (intptr_t)b->call->output_descs[w->index]->type;
        return ACL_SUCCESS;
    case 'b':
        rc = flag_of(b, w->name, &flag);
        *out = flag;
        return rc;
    default:
        return number_word(b, w, out);
    }
}

aclError snpu_op_arguments_build(const struct snpu_op_call *call, const struct snpu_op_type *type, aclrtStream stream,
                                 struct snpu_op_arguments *out)
{
    struct builder builder = {call, type, stream, out, 0.0};
    *out = (struct snpu_op_arguments){0};
    aclError rc = ACL_SUCCESS;
    for (const char *at = type->arguments; rc == ACL_SUCCESS && *at != '\0';) {
        struct word w;
        split(&at, &w);
        if (w.kind == 'f' || w.kind == 'd') {
            rc = real_word(&builder, &w);
        } else {
            rc = one_word(&builder, &w, &out->values[out->count]);
            out->count++;
        }
    }
    if (rc != ACL_SUCCESS) {
        snpu_op_arguments_free(out);
    }
    return rc;
}
