/* SPDX-License-Identifier: Apache-2.0 */
/* Sums, products, quotients, powers: element-wise arithmetic. */
#include "softnpu/aclnn/operators/map.h"

/* NN_MAP(operator, roles, function, types, flags), NN_MAP_OR(..., value of scalars that are NULL) */
/* sums */
NN_MAP(Add, "iiso", Add, NN_ARITHMETIC, NN_MAP_ALPHA)
NN_MAP(Adds, "inso", Add, NN_ARITHMETIC, NN_MAP_ALPHA)
NN_MAP(InplaceAdd, "ris", Add, NN_ARITHMETIC, NN_MAP_ALPHA)
NN_MAP(InplaceAdds, "rns", Add, NN_ARITHMETIC, NN_MAP_ALPHA)
NN_MAP(Sub, "iiso", Sub, NN_ARITHMETIC, NN_MAP_ALPHA)
NN_MAP(Subs, "inso", Sub, NN_ARITHMETIC, NN_MAP_ALPHA)
NN_MAP(InplaceSub, "ris", Sub, NN_ARITHMETIC, NN_MAP_ALPHA)
NN_MAP(InplaceSubs, "rns", Sub, NN_ARITHMETIC, NN_MAP_ALPHA)
NN_MAP(AddV3, "niso", Add, NN_ARITHMETIC, NN_MAP_ALPHA)
NN_MAP(Rsub, "iiso", Rsub, NN_ARITHMETIC, NN_MAP_ALPHA)
NN_MAP(Rsubs, "inso", Rsub, NN_ARITHMETIC, NN_MAP_ALPHA)
NN_MAP(Addcmul, "iiiso", Addcmul, NN_ARITHMETIC, 0)
NN_MAP(InplaceAddcmul, "riis", Addcmul, NN_ARITHMETIC, 0)
NN_MAP(Addcdiv, "iiiso", Addcdiv, NN_REALS, 0)
NN_MAP(InplaceAddcdiv, "riis", Addcdiv, NN_REALS, 0)
NN_MAP(Lerp, "iiio", Lerp, NN_REALS, 0)
NN_MAP(Lerps, "iino", Lerp, NN_REALS, 0)
NN_MAP(InplaceLerp, "rii", Lerp, NN_REALS, 0)
NN_MAP(InplaceLerps, "rin", Lerp, NN_REALS, 0)
NN_MAP(AddMatMatElements, "iiisso", AddMatMatElements, NN_REALS, 0)

/* products and quotients */
NN_MAP(Mul, "iio", Mul, NN_ARITHMETIC, 0)
NN_MAP(Muls, "ino", Mul, NN_ARITHMETIC, 0)
NN_MAP(InplaceMul, "ri", Mul, NN_ARITHMETIC, 0)
NN_MAP(InplaceMuls, "rn", Mul, NN_ARITHMETIC, 0)
NN_MAP(Div, "iio", RealDiv, NN_ARITHMETIC, 0)
NN_MAP(Divs, "ino", RealDiv, NN_ARITHMETIC, 0)
NN_MAP(InplaceDiv, "ri", RealDiv, NN_ARITHMETIC, 0)
NN_MAP(InplaceDivs, "rn", RealDiv, NN_ARITHMETIC, 0)
NN_MAP(MulNoNan, "iio", MulNoNan, NN_ARITHMETIC, 0)
NN_MAP(MaskedScale, "imdo", MaskedScale, NN_REALS, 0)
NN_MAP(FloorDivide, "iio", FloorDiv, NN_ARITHMETIC, 0)
NN_MAP(FloorDivides, "ino", FloorDiv, NN_ARITHMETIC, 0)
NN_MAP(InplaceFloorDivide, "ri", FloorDiv, NN_ARITHMETIC, 0)
NN_MAP(InplaceFloorDivides, "rn", FloorDiv, NN_ARITHMETIC, 0)
NN_MAP(FmodTensor, "iio", Mod, NN_ARITHMETIC, 0)
NN_MAP(FmodScalar, "ino", Mod, NN_ARITHMETIC, 0)
NN_MAP(InplaceFmodTensor, "ri", Mod, NN_ARITHMETIC, 0)
NN_MAP(InplaceFmodScalar, "rn", Mod, NN_ARITHMETIC, 0)
NN_MAP(RemainderTensorTensor, "iio", FloorMod, NN_ARITHMETIC, 0)
NN_MAP(RemainderTensorScalar, "ino", FloorMod, NN_ARITHMETIC, 0)
NN_MAP(RemainderScalarTensor, "nio", FloorMod, NN_ARITHMETIC, 0)
NN_MAP(InplaceRemainderTensorTensor, "ri", FloorMod, NN_ARITHMETIC, 0)
NN_MAP(InplaceRemainderTensorScalar, "rn", FloorMod, NN_ARITHMETIC, 0)
NN_MAP(Gcd, "iio", Gcd, NN_INTEGERS, 0)
NN_MAP(Reciprocal, "io", Reciprocal, NN_ARITHMETIC, 0)
NN_MAP(InplaceReciprocal, "r", Reciprocal, NN_ARITHMETIC, 0)

/* powers */
NN_MAP(PowTensorTensor, "iio", Pow, NN_ARITHMETIC, 0)
NN_MAP(PowTensorScalar, "ino", Pow, NN_ARITHMETIC, 0)
NN_MAP(PowScalarTensor, "nio", Pow, NN_ARITHMETIC, 0)
NN_MAP(InplacePowTensorTensor, "ri", Pow, NN_ARITHMETIC, 0)
NN_MAP(InplacePowTensorScalar, "rn", Pow, NN_ARITHMETIC, 0)
NN_MAP(Square, "io", Square, NN_ARITHMETIC, 0)

/* Parameter 2 is the mode: quotient as it is, towards zero, towards minus infinity. */
static aclnnStatus plan_div_mode(struct nn_plan *p)
{
    switch (nn_whole(p, 2)) {
    case 0:
        return nn_plan_map_as(p, NN_MAP_KERNEL(RealDiv));
    case 1:
        return nn_plan_map_as(p, NN_MAP_KERNEL(TruncateDiv));
    case 2:
        return nn_plan_map_as(p, NN_MAP_KERNEL(FloorDiv));
    default:
        return NN_INVALID(p, "mode is %lld, 0 to 2 are possible", (long long)nn_whole(p, 2));
    }
}
NN_MAP_BY(DivMod, "ii-o", plan_div_mode, NN_ARITHMETIC)
NN_MAP_BY(DivMods, "in-o", plan_div_mode, NN_ARITHMETIC)
NN_MAP_BY(DivV3, "ii-o", plan_div_mode, NN_ARITHMETIC)
NN_MAP_BY(InplaceDivMod, "ri-", plan_div_mode, NN_ARITHMETIC)
NN_MAP_BY(InplaceDivMods, "rn-", plan_div_mode, NN_ARITHMETIC)
