/* SPDX-License-Identifier: Apache-2.0 */
/* Windows of an image as columns (Im2col), and the sum of columns as an image (Im2colBackward). */
#include "softnpu/aclnn/op.h"

enum { HEIGHT, WIDTH, PLANE };

struct unfold {
    int64_t kernel[PLANE], dilation[PLANE], padding[PLANE], stride[PLANE];
};

/* One or two numbers that are at least `least`; one number is for both dimensions. */
static aclnnStatus read_pair(struct nn_plan *p, uint32_t param, int64_t least, int64_t *pair)
{
    const int64_t *values;
    uint64_t count;
    NN_CHECK(nn_ints(p, param, &values, &count));
    if (count != 1 && count != PLANE) {
        return NN_INVALID(p, "%s has %llu values, 2 are required", p->params[param].name, (unsigned long long)count);
    }
    for (uint64_t i = 0; i < PLANE; i++) {
        pair[i] = values[count == 1 ? 0 : i];
        if (pair[i] < least || pair[i] > INT32_MAX) {
            return NN_INVALID(p, "%s: %lld is out of range", p->params[param].name, (long long)pair[i]);
        }
    }
    return ACLNN_SUCCESS;
}

/* The numbers begin at parameter `first`: kernelSize, dilation, padding, stride. */
static aclnnStatus read_unfold(struct nn_plan *p, uint32_t first, struct unfold *unfold)
{
    NN_CHECK(read_pair(p, first, 1, unfold->kernel));
    NN_CHECK(read_pair(p, first + 1, 1, unfold->dilation));
    NN_CHECK(read_pair(p, first + 2, 0, unfold->padding));
    return read_pair(p, first + 3, 1, unfold->stride);
}

/* Adds a batch of 1 to a view without batch. */
static aclnnStatus add_batch(struct nn_plan *p, const char *name, uint64_t rank, struct nn_view *view)
{
    if (view->rank + 1 == rank) {
        for (uint64_t i = rank - 1; i > 0; i--) {
            view->dims[i] = view->dims[i - 1];
            view->steps[i] = view->steps[i - 1];
        }
        view->dims[0] = 1;
        view->steps[0] = 0;
        view->rank = rank;
    }
    if (view->rank != rank) {
        return NN_INVALID(p, "%s has %llu dimensions, %llu or %llu are required", name, (unsigned long long)view->rank,
                          (unsigned long long)rank - 1, (unsigned long long)rank);
    }
    return ACLNN_SUCCESS;
}

/* image: [n, c, h, w]; columns: [n, c * kernel, outputs] */
static aclnnStatus launch_unfold(struct nn_plan *p, const struct unfold *unfold, const struct nn_view *image,
                                 const struct nn_view *columns, uint64_t result_count)
{
    struct op_unfold_args args = {.type = image->type};
    int64_t outputs[PLANE];
    for (int i = 0; i < PLANE; i++) {
        const int64_t room =
            (int64_t)image->dims[2 + i] + 2 * unfold->padding[i] - unfold->dilation[i] * (unfold->kernel[i] - 1) - 1;
        outputs[i] = room / unfold->stride[i] + 1;
        if (room < 0) {
            return NN_INVALID(p, "the window does not fit an image of %s with its padding",
                              nn_shape_text(image->rank, image->dims));
        }
        args.stride[i] = unfold->stride[i];
        args.padding[i] = unfold->padding[i];
        args.dilation[i] = unfold->dilation[i];
    }
    const uint64_t window = (uint64_t)(unfold->kernel[HEIGHT] * unfold->kernel[WIDTH]);
    uint64_t shape[] = {image->dims[0], 0, 0};
    if (__builtin_mul_overflow(image->dims[1], window, &shape[1]) ||
        __builtin_mul_overflow((uint64_t)outputs[HEIGHT], (uint64_t)outputs[WIDTH], &shape[2])) {
        return NN_INVALID(p, "the number of columns is out of range");
    }
    NN_CHECK(nn_expect_shape(p, "the tensor of columns", columns, 3, shape));
    if (result_count == 0) {
        return ACLNN_SUCCESS;
    }
    const uint64_t dims[] = {image->dims[0],
                             image->dims[1],
                             (uint64_t)unfold->kernel[HEIGHT],
                             (uint64_t)unfold->kernel[WIDTH],
                             (uint64_t)outputs[HEIGHT],
                             (uint64_t)outputs[WIDTH]};
    const int64_t steps[] = {
        columns->steps[0], columns->steps[1] * (int64_t)window, columns->steps[1] * unfold->kernel[WIDTH],
        columns->steps[1], columns->steps[2] * outputs[WIDTH],  columns->steps[2]};
    for (int i = 0; i < OP_UNFOLD_COLUMNS; i++) {
        args.column_dims[i] = dims[i];
        args.column_steps[i] = steps[i];
    }
    for (int i = 0; i < OP_UNFOLD_IMAGE; i++) {
        args.image_dims[i] = image->dims[i];
        args.image_steps[i] = image->steps[i];
    }
    return nn_launch(p, p->op->kernel, &args, sizeof args,
                     (const struct nn_address *[]){&image->address, &columns->address}, 2,
                     columns->count > image->count ? columns->count : image->count);
}

/* (self, kernelSize, dilation, padding, stride, out) */
static aclnnStatus plan_im2col(struct nn_plan *p)
{
    struct nn_view x, z;
    struct unfold unfold;
    NN_CHECK(nn_tensor(p, 0, p->op->types, &x));
    NN_CHECK(read_unfold(p, 1, &unfold));
    NN_CHECK(nn_tensor(p, 5, NN_TYPE(x.type), &z));
    NN_CHECK(add_batch(p, "self", 4, &x));
    NN_CHECK(add_batch(p, "out", 3, &z));
    return launch_unfold(p, &unfold, &x, &z, z.count);
}
NN_OPERATOR(Im2col, plan_im2col, .kernel = "Im2col", .types = NN_FLOATS16_32)

/* (gradOutput, inputSize, kernelSize, dilation, padding, stride, out) */
static aclnnStatus plan_col2im(struct nn_plan *p)
{
    struct nn_view x, z;
    struct unfold unfold;
    int64_t size[PLANE];
    NN_CHECK(nn_tensor(p, 0, p->op->types, &x));
    NN_CHECK(read_pair(p, 1, 1, size));
    NN_CHECK(read_unfold(p, 2, &unfold));
    NN_CHECK(nn_tensor(p, 6, NN_TYPE(x.type), &z));
    NN_CHECK(add_batch(p, "gradOutput", 3, &x));
    NN_CHECK(add_batch(p, "out", 4, &z));
    NN_CHECK(nn_expect_shape(p, "out", &z, 4,
                             (uint64_t[]){z.dims[0], z.dims[1], (uint64_t)size[HEIGHT], (uint64_t)size[WIDTH]}));
    return launch_unfold(p, &unfold, &z, &x, z.count);
}
NN_OPERATOR(Im2colBackward, plan_col2im, .kernel = "Col2im", .types = NN_FLOATS16_32)
