/* SPDX-License-Identifier: Apache-2.0 */
/* Comparisons and selections, element by element. */
#include "softnpu/aclnn/operators/map.h"

/* NN_MAP(operator, roles, function, types, flags) */
NN_MAP(EqTensor, "iio", Equal, NN_ARITHMETIC, NN_MAP_BOOL)
NN_MAP(EqScalar, "ino", Equal, NN_ARITHMETIC, NN_MAP_BOOL)
NN_MAP(GtTensor, "iio", Greater, NN_ARITHMETIC, NN_MAP_BOOL)
NN_MAP(GtScalar, "ino", Greater, NN_ARITHMETIC, NN_MAP_BOOL)
NN_MAP(Maximum, "iio", Maximum, NN_ARITHMETIC, 0)
NN_MAP(Minimum, "iio", Minimum, NN_ARITHMETIC, 0)
NN_MAP(Clamp, "ilho", ClipByValueV2, NN_ARITHMETIC, 0)
NN_MAP(SWhere, "miio", SelectV2, NN_ARITHMETIC, 0)
NN_MAP(InplaceMaskedFillScalar, "rmn", MaskedFill, NN_ARITHMETIC, 0)
