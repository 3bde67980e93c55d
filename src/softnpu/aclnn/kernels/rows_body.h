/* SPDX-License-Identifier: Apache-2.0 */
/* The row engine in one type: included by kernels/rows.c with T (the type), R(name) (the name in this type), ROOM
 * (elements that are converted at a time) and LOAD, STORE (runs of any element type as T). */

/* One row: addresses of its operands, and the runs that are already converted. */
struct R(row) {
    const struct op_rows_args *a;
    char *data[OP_ROW_OPERANDS];
    const T *run[OP_ROW_OPERANDS];
    uint64_t at[OP_ROW_OPERANDS];
    T buffer[OP_ROW_OPERANDS][ROOM];
};

/* Elements at, at + 1, ... of an operand; `missing` if it was not given. */
static const T *R(load)(struct R(row) * r, int i, uint64_t at, uint64_t n, T missing)
{
    if (r->at[i] == at && r->run[i] != NULL) {
        return r->run[i];
    }
    if (r->data[i] == NULL) {
        for (uint64_t j = 0; j < ROOM; j++) {
            r->buffer[i][j] = missing;
        }
        r->run[i] = r->buffer[i];
    } else {
        const int64_t type = r->a->side[i].type, step = r->a->step[i];
        r->run[i] = LOAD(r->buffer[i], op_element(r->data[i], (int64_t)at * step, type), step, type, n);
    }
    r->at[i] = at;
    return r->run[i];
}

static T R(one)(const struct R(row) * r, int i)
{
    T value;
    const int64_t type = r->a->side[i].type;
    return *LOAD(&value, r->data[i], 1, type, 1);
}

static void R(store_one)(const struct R(row) * r, int i, T value)
{
    if (r->data[i] != NULL) {
        STORE(&value, r->data[i], 1, r->a->side[i].type, 1);
    }
}

/* Where a run of an output is computed: in place, or in the operand's buffer, from which R(done) stores it. */
static T *R(target)(struct R(row) * r, int i, uint64_t at)
{
    const int64_t type = r->a->side[i].type;
    return type == TYPE && r->a->step[i] == 1 ? (T *)r->data[i] + at : r->buffer[i];
}

static void R(done)(struct R(row) * r, int i, uint64_t at, const T *z, uint64_t n)
{
    if (z == r->buffer[i]) {
        const int64_t type = r->a->side[i].type, step = r->a->step[i];
        STORE(z, (void *)op_element(r->data[i], (int64_t)at * step, type), step, type, n);
    }
}

/* For every run of the row. */
#define RUNS(n) for (uint64_t at = 0, n; at < count && ((n = count - at < ROOM ? count - at : ROOM), true); at += n)

/* Combines an expression in `i` over a run, in lanes. */
#define LANE_REDUCE(result, n, start, combine, expression)                                                             \
    do {                                                                                                               \
        T lane_[LANES];                                                                                                \
        for (int l_ = 0; l_ < LANES; l_++) {                                                                           \
            lane_[l_] = (start);                                                                                       \
        }                                                                                                              \
        uint64_t done_ = 0;                                                                                            \
        for (; done_ + LANES <= (n); done_ += LANES) {                                                                 \
            for (int l_ = 0; l_ < LANES; l_++) {                                                                       \
                const uint64_t i = done_ + (uint64_t)l_;                                                               \
                const T v_ = (expression);                                                                             \
                lane_[l_] = combine(lane_[l_], v_);                                                                    \
            }                                                                                                          \
        }                                                                                                              \
        for (int l_ = 0; done_ + (uint64_t)l_ < (n); l_++) {                                                           \
            const uint64_t i = done_ + (uint64_t)l_;                                                                   \
            const T v_ = (expression);                                                                                 \
            lane_[l_] = combine(lane_[l_], v_);                                                                        \
        }                                                                                                              \
        for (int w_ = LANES / 2; w_ > 0; w_ /= 2) {                                                                    \
            for (int l_ = 0; l_ < w_; l_++) {                                                                          \
                lane_[l_] = combine(lane_[l_], lane_[l_ + w_]);                                                        \
            }                                                                                                          \
        }                                                                                                              \
        (result) = lane_[0];                                                                                           \
    } while (0)
#define LANE_ADD(a, v) ((a) + (v))
#define LANE_TOP(a, v) ((((v) > (a)) | ((v) != (v))) ? (v) : (a))

/* z = expression in `i` over a run. */
#define EACH_OF(n, statement)                                                                                          \
    do {                                                                                                               \
        TK_INDEPENDENT                                                                                                 \
        for (uint64_t i = 0; i < (n); i++) {                                                                           \
            statement;                                                                                                 \
        }                                                                                                              \
    } while (0)

static void R(softmax)(struct R(row) * r, bool logarithm)
{
    const uint64_t count = r->a->count;
    T top = -(T)INFINITY, part;
    double total = 0;
    RUNS(n)
    {
        const T *x = R(load)(r, 0, at, n, 0);
        LANE_REDUCE(part, n, -(T)INFINITY, LANE_TOP, x[i]);
        top = LANE_TOP(top, part);
    }
    const bool keep = !logarithm && (count <= ROOM || R(target)(r, 1, 0) == (T *)r->data[1]);
    RUNS(n)
    {
        const T *x = R(load)(r, 0, at, n, 0);
        if (keep) {
            T *z = R(target)(r, 1, at);
            EACH_OF(n, z[i] = R(exp)(x[i] - top));
            LANE_REDUCE(part, n, 0, LANE_ADD, z[i]);
        } else {
            LANE_REDUCE(part, n, 0, LANE_ADD, R(exp)(x[i] - top));
        }
        total += (double)part;
    }
    const T scale = (T)(1 / total), lse = (T)log(total);
    RUNS(n)
    {
        T *z = R(target)(r, 1, at);
        if (keep) {
            EACH_OF(n, z[i] *= scale);
        } else {
            const T *x = R(load)(r, 0, at, n, 0);
            if (logarithm) {
                EACH_OF(n, z[i] = (x[i] - top) - lse);
            } else {
                EACH_OF(n, z[i] = R(exp)(x[i] - top) * scale);
            }
        }
        R(done)(r, 1, at, z, n);
    }
}

static void R(softmax_grad)(struct R(row) * r, bool logarithm)
{
    const uint64_t count = r->a->count;
    double total = 0;
    RUNS(n)
    {
        const T *dy = R(load)(r, 0, at, n, 0), *y = R(load)(r, 1, at, n, 0);
        T part;
        if (logarithm) {
            LANE_REDUCE(part, n, 0, LANE_ADD, dy[i]);
        } else {
            LANE_REDUCE(part, n, 0, LANE_ADD, dy[i] * y[i]);
        }
        total += (double)part;
    }
    const T dot = (T)total;
    RUNS(n)
    {
        const T *dy = R(load)(r, 0, at, n, 0), *y = R(load)(r, 1, at, n, 0);
        T *dx = R(target)(r, 2, at);
        if (logarithm) {
            EACH_OF(n, dx[i] = dy[i] - R(exp)(y[i]) * dot);
        } else {
            EACH_OF(n, dx[i] = y[i] * (dy[i] - dot));
        }
        R(done)(r, 2, at, dx, n);
    }
}

static void R(norm)(struct R(row) * r)
{
    const uint64_t count = r->a->count;
    double total = 0, spread = 0;
    T part;
    RUNS(n)
    {
        const T *x = R(load)(r, 0, at, n, 0);
        LANE_REDUCE(part, n, 0, LANE_ADD, x[i]);
        total += (double)part;
    }
    const T mean = (T)(total / (double)count);
    RUNS(n)
    {
        const T *x = R(load)(r, 0, at, n, 0);
        LANE_REDUCE(part, n, 0, LANE_ADD, (x[i] - mean) * (x[i] - mean));
        spread += (double)part;
    }
    const T rstd = (T)(1 / sqrt(spread / (double)count + r->a->s));
    RUNS(n)
    {
        const T *x = R(load)(r, 0, at, n, 0), *weight = R(load)(r, 1, at, n, 1), *bias = R(load)(r, 2, at, n, 0);
        T *z = R(target)(r, 3, at);
        EACH_OF(n, z[i] = (x[i] - mean) * rstd * weight[i] + bias[i]);
        R(done)(r, 3, at, z, n);
    }
    R(store_one)(r, 4, mean);
    R(store_one)(r, 5, rstd);
}

/* With n = (x - mean) rstd and h = dy weight: dx = rstd (h - mean(h) - n mean(h n)). */
static void R(norm_grad)(struct R(row) * r)
{
    const uint64_t count = r->a->count;
    const T mean = R(one)(r, 2), rstd = R(one)(r, 3);
    double total = 0, dot = 0;
    T part;
    RUNS(n)
    {
        const T *dy = R(load)(r, 0, at, n, 0), *x = R(load)(r, 1, at, n, 0), *weight = R(load)(r, 4, at, n, 1);
        LANE_REDUCE(part, n, 0, LANE_ADD, dy[i] * weight[i]);
        total += (double)part;
        LANE_REDUCE(part, n, 0, LANE_ADD, dy[i] * weight[i] * (x[i] - mean));
        dot += (double)part;
    }
    const T mean_h = (T)(total / (double)count), mean_hn = (T)(dot * (double)rstd / (double)count);
    RUNS(n)
    {
        const T *dy = R(load)(r, 0, at, n, 0), *x = R(load)(r, 1, at, n, 0), *weight = R(load)(r, 4, at, n, 1);
        T *dx = R(target)(r, 5, at);
        EACH_OF(n, dx[i] = rstd * (dy[i] * weight[i] - mean_h - (x[i] - mean) * rstd * mean_hn));
        R(done)(r, 5, at, dx, n);
    }
}

static void R(rms)(struct R(row) * r)
{
    const uint64_t count = r->a->count;
    const T more = (T)r->a->t;
    double total = 0;
    RUNS(n)
    {
        const T *x = R(load)(r, 0, at, n, 0);
        T part;
        LANE_REDUCE(part, n, 0, LANE_ADD, x[i] * x[i]);
        total += (double)part;
    }
    const T rstd = (T)(1 / sqrt(total / (double)count + r->a->s));
    RUNS(n)
    {
        const T *x = R(load)(r, 0, at, n, 0), *weight = R(load)(r, 1, at, n, 1);
        T *z = R(target)(r, 2, at);
        EACH_OF(n, z[i] = x[i] * rstd * (weight[i] + more));
        R(done)(r, 2, at, z, n);
    }
    R(store_one)(r, 3, rstd);
}

static void R(rms_grad)(struct R(row) * r)
{
    const uint64_t count = r->a->count;
    const T rstd = R(one)(r, 2);
    double dot = 0;
    RUNS(n)
    {
        const T *dy = R(load)(r, 0, at, n, 0), *x = R(load)(r, 1, at, n, 0), *weight = R(load)(r, 3, at, n, 1);
        T part;
        LANE_REDUCE(part, n, 0, LANE_ADD, dy[i] * weight[i] * x[i]);
        dot += (double)part;
    }
    const T mean_hn = (T)(dot * (double)rstd / (double)count);
    RUNS(n)
    {
        const T *dy = R(load)(r, 0, at, n, 0), *x = R(load)(r, 1, at, n, 0), *weight = R(load)(r, 3, at, n, 1);
        T *dx = R(target)(r, 4, at);
        EACH_OF(n, dx[i] = rstd * (dy[i] * weight[i] - x[i] * rstd * mean_hn));
        R(done)(r, 4, at, dx, n);
    }
}

/* loss = sum of labels (log of the sum of exp(x) - x), dx = softmax(x) - labels. */
static void R(cross_entropy)(struct R(row) * r)
{
    const uint64_t count = r->a->count;
    T top = -(T)INFINITY, part;
    double total = 0, loss = 0;
    RUNS(n)
    {
        const T *x = R(load)(r, 0, at, n, 0);
        LANE_REDUCE(part, n, -(T)INFINITY, LANE_TOP, x[i]);
        top = LANE_TOP(top, part);
    }
    RUNS(n)
    {
        const T *x = R(load)(r, 0, at, n, 0);
        LANE_REDUCE(part, n, 0, LANE_ADD, R(exp)(x[i] - top));
        total += (double)part;
    }
    const T lse = (T)log(total), scale = (T)(1 / total);
    RUNS(n)
    {
        const T *x = R(load)(r, 0, at, n, 0), *labels = R(load)(r, 1, at, n, 0);
        LANE_REDUCE(part, n, 0, LANE_ADD, labels[i] * (lse - (x[i] - top)));
        loss += (double)part;
        if (r->data[3] != NULL) {
            T *dx = R(target)(r, 3, at);
            EACH_OF(n, dx[i] = R(exp)(x[i] - top) * scale - labels[i]);
            R(done)(r, 3, at, dx, n);
        }
    }
    R(store_one)(r, 2, (T)loss);
}

/* Softmax of rows that lie side by side: n <= COLUMNS neighbours together, so that memory is read in order. */
static void R(columns)(const struct op_rows_args *a, char *const *data, uint64_t n)
{
    const bool grad = a->code == OP_ROW_SOFTMAX_GRAD || a->code == OP_ROW_LOG_SOFTMAX_GRAD;
    const bool logarithm = a->code == OP_ROW_LOG_SOFTMAX || a->code == OP_ROW_LOG_SOFTMAX_GRAD;
    const int last = grad ? 2 : 1;
    T buffer[3][COLUMNS], top[COLUMNS], total[COLUMNS];
    for (uint64_t i = 0; i < n; i++) {
        top[i] = -(T)INFINITY;
        total[i] = 0;
    }
    for (int pass = grad ? 1 : 0; pass < 3; pass++) {
        for (uint64_t at = 0; at < a->count; at++) {
            const T *v[2] = {NULL, NULL};
            for (int k = 0; k < last; k++) {
                v[k] = LOAD(buffer[k], op_element(data[k], (int64_t)at * a->step[k], a->side[k].type), 1,
                            a->side[k].type, n);
            }
            const T *x = v[0], *y = v[1];
            T *z = buffer[2];
            if (pass == 0) {
                EACH_OF(n, top[i] = LANE_TOP(top[i], x[i]));
            } else if (pass == 1 && grad) {
                if (logarithm) {
                    EACH_OF(n, total[i] += x[i]);
                } else {
                    EACH_OF(n, total[i] += x[i] * y[i]);
                }
            } else if (pass == 1) {
                EACH_OF(n, total[i] += R(exp)(x[i] - top[i]));
            } else {
                if (grad && logarithm) {
                    EACH_OF(n, z[i] = x[i] - R(exp)(y[i]) * total[i]);
                } else if (grad) {
                    EACH_OF(n, z[i] = y[i] * (x[i] - total[i]));
                } else if (logarithm) {
                    EACH_OF(n, z[i] = (x[i] - top[i]) - total[i]);
                } else {
                    EACH_OF(n, z[i] = R(exp)(x[i] - top[i]) * total[i]);
                }
                STORE(z, (char *)op_element(data[last], (int64_t)at * a->step[last], a->side[last].type), 1,
                      a->side[last].type, n);
            }
        }
        for (uint64_t i = 0; pass == 1 && !grad && i < n; i++) {
            total[i] = logarithm ? (T)log((double)total[i]) : 1 / total[i];
        }
    }
}

/* Items are runs of neighbouring rows. */
static void R(run_columns)(const struct op_rows_args *a, uint32_t block, uint32_t num_blocks)
{
    const uint64_t side = a->loop.dims[a->loop.rank - 1], tiles = (side + COLUMNS - 1) / COLUMNS;
    const struct tk_range mine = tk_share(op_loop_count(&a->loop) / side * tiles, 1, block, num_blocks);
    for (uint64_t item = mine.begin; item < mine.end; item++) {
        const uint64_t within = item % tiles * COLUMNS, first = item / tiles * side + within;
        const struct op_walk w = op_walk_start(&a->loop, (struct tk_range){first, first + 1});
        char *data[3] = {NULL};
        for (int i = 0; i < 3; i++) {
            if (a->data[i] != NULL) {
                data[i] = (char *)op_element(a->data[i], op_walk_offset(&w, &a->side[i]), a->side[i].type);
            }
        }
        R(columns)(a, data, side - within < COLUMNS ? side - within : COLUMNS);
    }
}

static void R(run)(const struct op_rows_args *a, struct tk_range rows)
{
    struct R(row) r;
    r.a = a;
    memset(r.run, 0, sizeof r.run);
    struct op_walk w = op_walk_start(&a->loop, rows);
    for (; op_walk_run(&w, 1) > 0; op_walk_advance(&w, 1)) {
        for (int i = 0; i < OP_ROW_OPERANDS; i++) {
            char *before = w.at > rows.begin ? r.data[i] : NULL;
            r.data[i] = a->data[i] == NULL
                            ? NULL
                            : (char *)op_element(a->data[i], op_walk_offset(&w, &a->side[i]), a->side[i].type);
            /* What is the same for all rows stays converted. */
            r.run[i] = w.at > rows.begin && r.data[i] == before ? r.run[i] : NULL;
        }
        switch (a->code) {
        case OP_ROW_SOFTMAX:
        case OP_ROW_LOG_SOFTMAX:
            R(softmax)(&r, a->code == OP_ROW_LOG_SOFTMAX);
            break;
        case OP_ROW_SOFTMAX_GRAD:
        case OP_ROW_LOG_SOFTMAX_GRAD:
            R(softmax_grad)(&r, a->code == OP_ROW_LOG_SOFTMAX_GRAD);
            break;
        case OP_ROW_NORM:
            R(norm)(&r);
            break;
        case OP_ROW_NORM_GRAD:
            R(norm_grad)(&r);
            break;
        case OP_ROW_RMS:
            R(rms)(&r);
            break;
        case OP_ROW_RMS_GRAD:
            R(rms_grad)(&r);
            break;
        case OP_ROW_CROSS_ENTROPY:
            R(cross_entropy)(&r);
            break;
        default:
            break;
        }
    }
}

#undef RUNS
#undef LANE_REDUCE
#undef LANE_ADD
#undef LANE_TOP
#undef EACH_OF
#undef T
#undef R
#undef ROOM
#undef LOAD
#undef STORE
#undef TYPE
