/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers as a device task.
 *
 * Element i of a task is derived from word i of the sequence Philox4x32-10 (J. Salmon and others, "Parallel random
 * numbers: as easy as 1, 2, 3", 2011) under the task's seed, starting at the offset stored at the counter's address.
 * The same seed and offset produce the same numbers, in any order of execution. Operands are values, or addresses that
 * are read when the task runs.
 *
 * Threads: runs on the stream's thread. Failure: wrong types and sizes are refused in the call with 107000, invalid
 * addresses fail the task with 507013. */
#include "softnpu/runtime/random.h"

#include "base/half.h"
#include "softnpu/runtime/error.h"
#include "softnpu/runtime/memory.h"
#include "softnpu/runtime/prof.h"
#include "softnpu/runtime/task.h"

#include <math.h>
#include <string.h>

#define KEEP_WITHIN 2.0 /* standard deviations of the truncated normal distribution */
#define MAX_TRIES   64

/* ---- the sequence ---- */
struct sequence {
    uint64_t key, offset;
};

static void philox(uint64_t key, uint64_t counter, uint32_t stream, uint32_t out[4])
{
    uint32_t c[4] = {(uint32_t)counter, (uint32_t)(counter >> 32), stream, 0};
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t a = UINT64_C(0xD2511F53) * c[0], b = UINT64_C(0xCD9E8D57) * c[2];
        uint32_t next[4] = {(uint32_t)(b >> 32) ^ c[1] ^ k0, (uint32_t)b, (uint32_t)(a >> 32) ^ c[3] ^ k1, (uint32_t)a};
        memcpy(c, next, sizeof(c));
        k0 += 0x9E3779B9;
        k1 += 0xBB67AE85;
    }
    memcpy(out, c, sizeof(c));
}

/* Uniform in [0, 1), from 53 bits. */
static double unit(const uint32_t words[2])
{
    return (double)(((uint64_t)words[0] << 32 | words[1]) >> 11) * 0x1p-53;
}

/* Standard normal (Box and Muller, 1958). Attempts after the first are for callers that reject values. */
static double normal(const struct sequence *s, uint64_t index, uint32_t attempt)
{
    uint32_t w[4];
    philox(s->key, s->offset + index, attempt, w);
    return sqrt(-2 * log(1 - unit(w))) * cos(2 * M_PI * unit(w + 2));
}

static double truncated(const struct sequence *s, uint64_t index)
{
    double x = 0;
    for (uint32_t attempt = 0; attempt < MAX_TRIES; attempt++) {
        x = normal(s, index, attempt);
        if (fabs(x) <= KEEP_WITHIN) {
            return x;
        }
    }
    return fmin(fmax(x, -KEEP_WITHIN), KEEP_WITHIN);
}

/* ---- types ---- */
static const struct {
    aclDataType type;
    uint8_t size_b;
    bool real, is_signed;
} types[] = {
    {ACL_FLOAT, 4, true, true},    {ACL_FLOAT16, 2, true, true}, {ACL_BF16, 2, true, true},
    {ACL_INT32, 4, false, true},   {ACL_INT64, 8, false, true},  {ACL_UINT32, 4, false, false},
    {ACL_UINT64, 8, false, false},
};

static int type_row(aclDataType type)
{
    for (size_t i = 0; i < MS_COUNT_OF(types); i++) {
        if (types[i].type == type) {
            return (int)i;
        }
    }
    return -1;
}

static void store_real(aclDataType type, void *to, double value)
{
    float f = (float)value;
    uint16_t half = type == ACL_BF16 ? ms_float_to_bf16(f) : ms_float_to_half(f);
    if (type == ACL_FLOAT) {
        memcpy(to, &f, sizeof(f));
    } else {
        memcpy(to, &half, sizeof(half));
    }
}

static double load_real(aclDataType type, const void *from, size_t size_b)
{
    float f;
    uint16_t half;
    if (size_b == sizeof(f)) {
        memcpy(&f, from, sizeof(f));
        return f;
    }
    memcpy(&half, from, sizeof(half));
    return type == ACL_BF16 ? ms_bf16_to_float(half) : ms_half_to_float(half);
}

/* ---- operands ---- */
struct operand {
    uint8_t bytes[8];
    size_t size_b;
};

/* The value itself, or the value at its address (as many bytes as the type has). */
static bool fetch(const aclrtRandomParaInfo *info, size_t wanted_b, struct operand *out)
{
    memset(out, 0, sizeof(*out));
    if (!info->isAddr) {
        out->size_b = info->size;
        memcpy(out->bytes, info->valueOrAddr, sizeof(out->bytes));
        return true;
    }
    void *address;
    memcpy(&address, info->valueOrAddr, sizeof(address));
    out->size_b = wanted_b;
    if (!snpu__mem_touchable(address, wanted_b, SNPU_READ)) {
        return false;
    }
    memcpy(out->bytes, address, wanted_b);
    return true;
}

static uint64_t as_number(const struct operand *operand)
{
    uint64_t number = 0;
    memcpy(&number, operand->bytes, operand->size_b < sizeof(number) ? operand->size_b : sizeof(number));
    return number;
}

/* ---- distributions ---- */
struct random_job {
    struct sequence sequence;
    aclDataType type;
    uint8_t element_b;
    bool real, is_signed;
    uint64_t count;
    char *out;
    struct operand a, b;
};

static void uniform_real(const struct random_job *o)
{
    double low = load_real(o->type, o->a.bytes, o->a.size_b), high = load_real(o->type, o->b.bytes, o->b.size_b);
    for (uint64_t i = 0; i < o->count; i++) {
        uint32_t w[4];
        philox(o->sequence.key, o->sequence.offset + i, 0, w);
        store_real(o->type, o->out + i * o->element_b, low + (high - low) * unit(w));
    }
}

/* In [low, high); the full range if they are equal. */
static void uniform_integer(const struct random_job *o)
{
    uint64_t low = as_number(&o->a), high = as_number(&o->b);
    if (o->is_signed && o->element_b == 4) {
        low = (uint64_t)(int64_t)(int32_t)low;
        high = (uint64_t)(int64_t)(int32_t)high;
    }
    uint64_t span = high - low;
    for (uint64_t i = 0; i < o->count; i++) {
        uint32_t w[4];
        philox(o->sequence.key, o->sequence.offset + i, 0, w);
        uint64_t word = (uint64_t)w[0] << 32 | w[1];
        uint64_t value = low + (span == 0 ? word : (uint64_t)((unsigned __int128)word * span >> 64));
        memcpy(o->out + i * o->element_b, &value, o->element_b);
    }
}

static void uniform(const struct random_job *o)
{
    (o->real ? uniform_real : uniform_integer)(o);
}

static void normals(const struct random_job *o)
{
    double mean = load_real(o->type, o->a.bytes, o->a.size_b), deviation = load_real(o->type, o->b.bytes, o->b.size_b);
    for (uint64_t i = 0; i < o->count; i++) {
        store_real(o->type, o->out + i * o->element_b, mean + deviation * normal(&o->sequence, i, 0));
    }
}

static void truncated_normals(const struct random_job *o)
{
    double mean = load_real(o->type, o->a.bytes, o->a.size_b), deviation = load_real(o->type, o->b.bytes, o->b.size_b);
    for (uint64_t i = 0; i < o->count; i++) {
        store_real(o->type, o->out + i * o->element_b, mean + deviation * truncated(&o->sequence, i));
    }
}

/* One bit per element, set for elements that are kept. */
static void bit_mask(const struct random_job *o)
{
    double dropped = load_real(o->type, o->a.bytes, o->a.size_b);
    memset(o->out, 0, (o->count + 7) / 8);
    for (uint64_t i = 0; i < o->count; i++) {
        uint32_t w[4];
        philox(o->sequence.key, o->sequence.offset + i, 0, w);
        o->out[i / 8] = (char)(o->out[i / 8] | (unit(w) >= dropped) << (i % 8));
    }
}

static const struct {
    void (*make)(const struct random_job *o);
    bool integers; /* also available for integers */
    bool two;      /* has two operands */
} distributions[] = {
    [ACL_RT_RANDOM_NUM_FUNC_TYPE_DROPOUT_BITMASK] = {bit_mask, false, false},
    [ACL_RT_RANDOM_NUM_FUNC_TYPE_UNIFORM_DIS] = {uniform, true, true},
    [ACL_RT_RANDOM_NUM_FUNC_TYPE_NORMAL_DIS] = {normals, false, true},
    [ACL_RT_RANDOM_NUM_FUNC_TYPE_TRUNCATED_NORMAL_DIS] = {truncated_normals, false, true},
};

/* ---- the task ---- */
static int32_t run_random(struct snpu_task *task)
{
    aclrtRandomNumTaskInfo info;
    memcpy(&info, task->payload, sizeof(info));
    uint32_t kind = info.randomNumFuncParaInfo.funcType;
    int row = type_row(info.dataType);
    struct random_job o = {.type = info.dataType,
                           .element_b = types[row].size_b,
                           .real = types[row].real,
                           .is_signed = types[row].is_signed,
                           .out = info.randomResultAddr};
    const aclrtRandomParaInfo *operands = (const aclrtRandomParaInfo *)&info.randomNumFuncParaInfo.paramInfo;
    struct operand seed, count;
    if (!fetch(&info.randomSeed, sizeof(uint64_t), &seed) || !fetch(&info.randomNum, sizeof(uint64_t), &count) ||
        !fetch(&operands[0], o.element_b, &o.a) ||
        (distributions[kind].two && !fetch(&operands[1], o.element_b, &o.b)) ||
        !snpu__mem_touchable(info.randomCounterAddr, sizeof(uint64_t), SNPU_READ)) {
        return ACL_ERROR_RT_SYS_DMA;
    }
    uint64_t out_b;
    o.sequence.key = as_number(&seed);
    o.count = as_number(&count);
    memcpy(&o.sequence.offset, info.randomCounterAddr, sizeof(o.sequence.offset));
    bool bits = kind == ACL_RT_RANDOM_NUM_FUNC_TYPE_DROPOUT_BITMASK;
    if (__builtin_mul_overflow(o.count, o.element_b, &out_b) ||
        !snpu__mem_touchable(o.out, bits ? o.count / 8 + (o.count % 8 != 0) : out_b, SNPU_WRITE)) {
        return ACL_ERROR_RT_SYS_DMA;
    }
    distributions[kind].make(&o);
    return 0;
}

static const struct snpu_task_kind random_kind = {
    .name = "STARS_COMMON",
    .prof_type = SNPU_TASK_STARS_COMMON,
    .ri_type = ACL_MODEL_RI_TASK_DEFAULT,
    .captures = true,
    .run = run_random,
};

/* A value must have the size of its type (or float, for 16-bit types). Addresses are checked when the task runs. */
static bool operand_valid(const aclrtRandomParaInfo *info, size_t wanted_b)
{
    return info->isAddr || info->size == wanted_b || (wanted_b == 2 && info->size == sizeof(float));
}

int32_t snpu_random_async(const aclrtRandomNumTaskInfo *info, void *handle)
{
    static const char function[] = "aclrtRandomNumAsync";
    struct snpu_stream *stream;
    uint32_t kind = info->randomNumFuncParaInfo.funcType;
    int row = type_row(info->dataType);
    const aclrtRandomParaInfo *operands = (const aclrtRandomParaInfo *)&info->randomNumFuncParaInfo.paramInfo;
    if (kind >= MS_COUNT_OF(distributions) || row < 0 || !(types[row].real || distributions[kind].integers)) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: unsupported distribution %u of data type %d", function, kind,
                         (int)info->dataType);
    }
    if (!operand_valid(&operands[0], types[row].size_b) ||
        (distributions[kind].two && !operand_valid(&operands[1], types[row].size_b)) ||
        (!info->randomSeed.isAddr && info->randomSeed.size > sizeof(uint64_t)) ||
        (!info->randomNum.isAddr && info->randomNum.size > sizeof(uint64_t))) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: an operand has the wrong size", function);
    }
    int32_t code = snpu__mem_check(function, "randomCounterAddr", info->randomCounterAddr, sizeof(uint64_t), SNPU_READ);
    if (code == 0) {
        code = snpu__mem_check(function, "randomResultAddr", info->randomResultAddr, 1, SNPU_WRITE);
    }
    if (code == 0) {
        code = snpu_stream_resolve(function, handle, &stream);
    }
    return code != 0 ? code : snpu_stream_submit(stream, &random_kind, info, sizeof(*info), NULL, 0, NULL);
}
