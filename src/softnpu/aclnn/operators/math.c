/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of one number: rounding, exponentials, trigonometry, special functions. */
#include "softnpu/aclnn/operators/map.h"

#include <math.h>

/* NN_MAP(operator, roles, function, types, flags), NN_MAP_OR(..., value of scalars that are NULL) */
/* signs and rounding */
NN_MAP(Neg, "io", Neg, NN_ARITHMETIC, 0)
NN_MAP(InplaceNeg, "r", Neg, NN_ARITHMETIC, 0)
NN_MAP(Abs, "io", Abs, NN_ARITHMETIC, 0)
NN_MAP(Ceil, "io", Ceil, NN_ARITHMETIC, 0)
NN_MAP(InplaceCeil, "r", Ceil, NN_ARITHMETIC, 0)
NN_MAP(Floor, "io", Floor, NN_ARITHMETIC, 0)
NN_MAP(InplaceFloor, "r", Floor, NN_ARITHMETIC, 0)
NN_MAP(Trunc, "io", Trunc, NN_ARITHMETIC, 0)
NN_MAP(InplaceTrunc, "r", Trunc, NN_ARITHMETIC, 0)
NN_MAP(Round, "io", Round, NN_ARITHMETIC, 0)
NN_MAP(InplaceRound, "r", Round, NN_ARITHMETIC, 0)
NN_MAP(Frac, "io", Frac, NN_ARITHMETIC, 0)
NN_MAP(InplaceFrac, "r", Frac, NN_ARITHMETIC, 0)
NN_MAP(Sign, "io", Sign, NN_ARITHMETIC, 0)
NN_MAP(Signbit, "io", Signbit, NN_ARITHMETIC, NN_MAP_BOOL)
NN_MAP(Heaviside, "iio", Heaviside, NN_ARITHMETIC, 0)

/* exponentials and logarithms */
NN_MAP(Sqrt, "io", Sqrt, NN_ARITHMETIC, 0)
NN_MAP(InplaceSqrt, "r", Sqrt, NN_ARITHMETIC, 0)
NN_MAP(Rsqrt, "io", Rsqrt, NN_ARITHMETIC, 0)
NN_MAP(InplaceRsqrt, "r", Rsqrt, NN_ARITHMETIC, 0)
NN_MAP(Exp, "io", Exp, NN_ARITHMETIC, 0)
NN_MAP(InplaceExp, "r", Exp, NN_ARITHMETIC, 0)
NN_MAP(Exp2, "io", Exp2, NN_ARITHMETIC, 0)
NN_MAP(InplaceExp2, "r", Exp2, NN_ARITHMETIC, 0)
NN_MAP(Expm1, "io", Expm1, NN_ARITHMETIC, 0)
NN_MAP(InplaceExpm1, "r", Expm1, NN_ARITHMETIC, 0)
NN_MAP(Log, "io", Log, NN_ARITHMETIC, 0)
NN_MAP(InplaceLog, "r", Log, NN_ARITHMETIC, 0)
NN_MAP(Log2, "io", Log2, NN_ARITHMETIC, 0)
NN_MAP(InplaceLog2, "r", Log2, NN_ARITHMETIC, 0)
NN_MAP(Log10, "io", Log10, NN_ARITHMETIC, 0)
NN_MAP(InplaceLog10, "r", Log10, NN_ARITHMETIC, 0)
NN_MAP(Log1p, "io", Log1p, NN_ARITHMETIC, 0)
NN_MAP(InplaceLog1p, "r", Log1p, NN_ARITHMETIC, 0)
NN_MAP(SqrtBackward, "iio", SqrtGrad, NN_REALS, 0)
NN_MAP(LogAddExp, "iio", LogAddExp, NN_REALS, 0)
NN_MAP(LogAddExp2, "iio", LogAddExp2, NN_REALS, 0)
NN_MAP(XLogYTensor, "iio", Xlogy, NN_ARITHMETIC, 0)
NN_MAP(XLogYScalarOther, "ino", Xlogy, NN_ARITHMETIC, 0)
NN_MAP(XLogYScalarSelf, "nio", Xlogy, NN_ARITHMETIC, 0)
NN_MAP(InplaceXLogYTensor, "ri", Xlogy, NN_ARITHMETIC, 0)
NN_MAP(InplaceXLogYScalarOther, "rn", Xlogy, NN_ARITHMETIC, 0)
NN_MAP(Xlog1py, "iio", Xlog1py, NN_ARITHMETIC, 0)

/* trigonometric and hyperbolic functions */
NN_MAP(Sin, "io", Sin, NN_ARITHMETIC, 0)
NN_MAP(InplaceSin, "r", Sin, NN_ARITHMETIC, 0)
NN_MAP(Cos, "io", Cos, NN_ARITHMETIC, 0)
NN_MAP(InplaceCos, "r", Cos, NN_ARITHMETIC, 0)
NN_MAP(Tan, "io", Tan, NN_ARITHMETIC, 0)
NN_MAP(InplaceTan, "r", Tan, NN_ARITHMETIC, 0)
NN_MAP(Asin, "io", Asin, NN_ARITHMETIC, 0)
NN_MAP(InplaceAsin, "r", Asin, NN_ARITHMETIC, 0)
NN_MAP(Acos, "io", Acos, NN_ARITHMETIC, 0)
NN_MAP(InplaceAcos, "r", Acos, NN_ARITHMETIC, 0)
NN_MAP(Atan, "io", Atan, NN_ARITHMETIC, 0)
NN_MAP(InplaceAtan, "r", Atan, NN_ARITHMETIC, 0)
NN_MAP(Sinh, "io", Sinh, NN_ARITHMETIC, 0)
NN_MAP(InplaceSinh, "r", Sinh, NN_ARITHMETIC, 0)
NN_MAP(Cosh, "io", Cosh, NN_ARITHMETIC, 0)
NN_MAP(InplaceCosh, "r", Cosh, NN_ARITHMETIC, 0)
NN_MAP(Tanh, "io", Tanh, NN_ARITHMETIC, 0)
NN_MAP(InplaceTanh, "r", Tanh, NN_ARITHMETIC, 0)
NN_MAP(Asinh, "io", Asinh, NN_ARITHMETIC, 0)
NN_MAP(InplaceAsinh, "r", Asinh, NN_ARITHMETIC, 0)
NN_MAP(Acosh, "io", Acosh, NN_ARITHMETIC, 0)
NN_MAP(InplaceAcosh, "r", Acosh, NN_ARITHMETIC, 0)
NN_MAP(Atanh, "io", Atanh, NN_ARITHMETIC, 0)
NN_MAP(InplaceAtanh, "r", Atanh, NN_ARITHMETIC, 0)
NN_MAP(Atan2, "iio", Atan2, NN_ARITHMETIC, 0)
NN_MAP(InplaceAtan2, "ri", Atan2, NN_ARITHMETIC, 0)
NN_MAP(Sinc, "io", Sinc, NN_ARITHMETIC, 0)
NN_MAP(InplaceSinc, "r", Sinc, NN_ARITHMETIC, 0)
NN_MAP(AcosGrad, "iio", AcosGrad, NN_REALS, 0)
NN_MAP(AsinhGrad, "iio", AsinhGrad, NN_REALS, 0)
NN_MAP(AtanGrad, "iio", AtanGrad, NN_REALS, 0)

/* special functions */
NN_MAP(Erf, "io", Erf, NN_ARITHMETIC, 0)
NN_MAP(InplaceErf, "r", Erf, NN_ARITHMETIC, 0)
NN_MAP(Erfc, "io", Erfc, NN_ARITHMETIC, 0)
NN_MAP(InplaceErfc, "r", Erfc, NN_ARITHMETIC, 0)
NN_MAP(Erfinv, "io", Erfinv, NN_ARITHMETIC, 0)
NN_MAP(InplaceErfinv, "r", Erfinv, NN_ARITHMETIC, 0)
NN_MAP(Ndtri, "io", Ndtri, NN_REALS, 0)
NN_MAP(Lgamma, "io", Lgamma, NN_ARITHMETIC, 0)
NN_MAP(Digamma, "io", Digamma, NN_ARITHMETIC, 0)
NN_MAP(Logit, "ido", Logit, NN_ARITHMETIC, 0)
NN_MAP(LogitGrad, "iido", LogitGrad, NN_REALS, 0)

/* Parameter 1 of the signature with out, the last one otherwise: how many decimals stay. */
static aclnnStatus plan_round_decimals(struct nn_plan *p)
{
    struct nn_view x, z;
    NN_CHECK(nn_tensor(p, 0, p->op->types, &x));
    NN_CHECK(nn_tensor(p, p->count == 3 ? 2 : 0, p->op->types, &z));
    NN_CHECK(nn_expect_shape(p, "out", &z, x.rank, x.dims));
    if (!nn_can_cast(x.type, z.type)) {
        return NN_INVALID(p, "a result of type %s cannot be stored as %s", nn_type_name(x.type), nn_type_name(z.type));
    }
    const int64_t decimals = nn_whole(p, 1);
    const double power = pow(10, fabs((double)decimals));
    const double numbers[] = {power, decimals > 0};
    return nn_map(p, NN_MAP_KERNEL(RoundDecimals), x.type, &(struct nn_map_input){.view = &x}, 1, numbers, 2, &z);
}
NN_OPERATOR(RoundDecimals, plan_round_decimals, .types = NN_ARITHMETIC)
NN_OPERATOR(InplaceRoundDecimals, plan_round_decimals, .types = NN_ARITHMETIC)
