/* SPDX-License-Identifier: Apache-2.0 */
/* Types of single operators (aclopExecuteV2, aclopCompileAndExecute) and the two-phase function that computes each.
 *     ACLOP_TYPE(type, function, inputs, outputs, arguments)
 *
 * inputs and outputs are how many the operator has; inputs -1: any number from 1. A type may have several rows that
 * differ in their number of inputs. arguments has one word for each
 * parameter of aclnn<function> before workspaceSize:
 *     iN  oN      input or output N               iN~attr   input N, its last two dimensions exchanged if attr is true
 *     iN?         input N, or NULL if the call has fewer than N + 1 inputs, which it may have then
 *     i*          all inputs, as a list           tN        data type of output N
 *     sN  s:attr  scalar: first element of input N, or an attribute; s:attr=2 has a default; s=2 is a constant
 *     nN  n:attr  whole number, likewise          vN  v:attr   list of whole numbers, likewise; v=0,0 is a constant
 *     v:attr>2    such a list without its first two numbers; v:attr/2 every second number
 *     f:attr      float, likewise                 d:attr    double, likewise
 *     b:attr      truth value, false if not given
 *     m=100       list of truth values            -         NULL
 * Define the macro before including this file; it is undefined at the end. */

/* clang-format off */
/* ==== one input ==== */
ACLOP_TYPE("Abs", "Abs", 1, 1, "i0 o0")
ACLOP_TYPE("Acos", "Acos", 1, 1, "i0 o0")
ACLOP_TYPE("Acosh", "Acosh", 1, 1, "i0 o0")
ACLOP_TYPE("Asin", "Asin", 1, 1, "i0 o0")
ACLOP_TYPE("Asinh", "Asinh", 1, 1, "i0 o0")
ACLOP_TYPE("Atan", "Atan", 1, 1, "i0 o0")
ACLOP_TYPE("Atanh", "Atanh", 1, 1, "i0 o0")
ACLOP_TYPE("Ceil", "Ceil", 1, 1, "i0 o0")
ACLOP_TYPE("Cos", "Cos", 1, 1, "i0 o0")
ACLOP_TYPE("Cosh", "Cosh", 1, 1, "i0 o0")
ACLOP_TYPE("Erf", "Erf", 1, 1, "i0 o0")
ACLOP_TYPE("Erfc", "Erfc", 1, 1, "i0 o0")
ACLOP_TYPE("Exp", "Exp", 1, 1, "i0 o0")
ACLOP_TYPE("Expm1", "Expm1", 1, 1, "i0 o0")
ACLOP_TYPE("Floor", "Floor", 1, 1, "i0 o0")
ACLOP_TYPE("Gelu", "Gelu", 1, 1, "i0 o0")
ACLOP_TYPE("HardSwish", "Hardswish", 1, 1, "i0 o0")
ACLOP_TYPE("Invert", "BitwiseNot", 1, 1, "i0 o0")
ACLOP_TYPE("IsFinite", "IsFinite", 1, 1, "i0 o0")
ACLOP_TYPE("IsInf", "IsInf", 1, 1, "i0 o0")
ACLOP_TYPE("LeakyRelu", "LeakyRelu", 1, 1, "i0 s:negative_slope=0 o0")
ACLOP_TYPE("Log", "Log", 1, 1, "i0 o0")
ACLOP_TYPE("Log1p", "Log1p", 1, 1, "i0 o0")
ACLOP_TYPE("LogicalNot", "LogicalNot", 1, 1, "i0 o0")
ACLOP_TYPE("Mish", "Mish", 1, 1, "i0 o0")
ACLOP_TYPE("Neg", "Neg", 1, 1, "i0 o0")
ACLOP_TYPE("Reciprocal", "Reciprocal", 1, 1, "i0 o0")
ACLOP_TYPE("Relu", "Relu", 1, 1, "i0 o0")
ACLOP_TYPE("Rint", "Round", 1, 1, "i0 o0")
ACLOP_TYPE("Round", "Round", 1, 1, "i0 o0")
ACLOP_TYPE("Rsqrt", "Rsqrt", 1, 1, "i0 o0")
ACLOP_TYPE("Sigmoid", "Sigmoid", 1, 1, "i0 o0")
ACLOP_TYPE("Sign", "Sign", 1, 1, "i0 o0")
ACLOP_TYPE("Sin", "Sin", 1, 1, "i0 o0")
ACLOP_TYPE("Sinh", "Sinh", 1, 1, "i0 o0")
ACLOP_TYPE("SoftplusV2", "Softplus", 1, 1, "i0 s:beta=1 s:threshold=20 o0")
ACLOP_TYPE("Sqrt", "Sqrt", 1, 1, "i0 o0")
ACLOP_TYPE("Square", "Square", 1, 1, "i0 o0")
ACLOP_TYPE("Swish", "Silu", 1, 1, "i0 o0")
ACLOP_TYPE("Tan", "Tan", 1, 1, "i0 o0")
ACLOP_TYPE("Tanh", "Tanh", 1, 1, "i0 o0")
ACLOP_TYPE("Trunc", "Trunc", 1, 1, "i0 o0")
ACLOP_TYPE("Adds", "Adds", 1, 1, "i0 s:value s=1 o0")
ACLOP_TYPE("Muls", "Muls", 1, 1, "i0 s:value o0")
ACLOP_TYPE("Cast", "Cast", 1, 1, "i0 n:dst_type o0")
ACLOP_TYPE("Identity", "InplaceCopy", 1, 1, "o0 i0")
ACLOP_TYPE("TensorMove", "InplaceCopy", 1, 1, "o0 i0")
ACLOP_TYPE("ZerosLike", "InplaceZero", 1, 1, "o0")
ACLOP_TYPE("OnesLike", "InplaceOne", 1, 1, "o0")
/* ==== two inputs ==== */
ACLOP_TYPE("Add", "Add", 2, 1, "i0 i1 s=1 o0")
ACLOP_TYPE("AddV2", "Add", 2, 1, "i0 i1 s=1 o0")
ACLOP_TYPE("BitwiseAnd", "BitwiseAndTensor", 2, 1, "i0 i1 o0")
ACLOP_TYPE("BitwiseOr", "BitwiseOrTensor", 2, 1, "i0 i1 o0")
ACLOP_TYPE("BitwiseXor", "BitwiseXorTensor", 2, 1, "i0 i1 o0")
ACLOP_TYPE("Div", "Div", 2, 1, "i0 i1 o0")
ACLOP_TYPE("Equal", "EqTensor", 2, 1, "i0 i1 o0")
ACLOP_TYPE("FloorDiv", "FloorDivide", 2, 1, "i0 i1 o0")
ACLOP_TYPE("Greater", "GtTensor", 2, 1, "i0 i1 o0")
ACLOP_TYPE("GreaterEqual", "GeTensor", 2, 1, "i0 i1 o0")
ACLOP_TYPE("Less", "LtTensor", 2, 1, "i0 i1 o0")
ACLOP_TYPE("LessEqual", "LeTensor", 2, 1, "i0 i1 o0")
ACLOP_TYPE("Cdist", "Cdist", 2, 1, "i0 i1 f:p=2 n=0 o0")
ACLOP_TYPE("LeftShift", "LeftShift", 2, 1, "i0 i1 o0")
ACLOP_TYPE("RightShift", "RightShift", 2, 1, "i0 i1 o0")
ACLOP_TYPE("LogicalAnd", "LogicalAnd", 2, 1, "i0 i1 o0")
ACLOP_TYPE("LogicalOr", "LogicalOr", 2, 1, "i0 i1 o0")
ACLOP_TYPE("Maximum", "Maximum", 2, 1, "i0 i1 o0")
ACLOP_TYPE("Minimum", "Minimum", 2, 1, "i0 i1 o0")
ACLOP_TYPE("Mod", "FmodTensor", 2, 1, "i0 i1 o0")
ACLOP_TYPE("Mul", "Mul", 2, 1, "i0 i1 o0")
ACLOP_TYPE("NotEqual", "NeTensor", 2, 1, "i0 i1 o0")
ACLOP_TYPE("Pow", "PowTensorTensor", 2, 1, "i0 i1 o0")
ACLOP_TYPE("RealDiv", "Div", 2, 1, "i0 i1 o0")
ACLOP_TYPE("Sub", "Sub", 2, 1, "i0 i1 s=1 o0")
ACLOP_TYPE("GeluGrad", "GeluBackward", 3, 1, "i0 i1 o0")
ACLOP_TYPE("ReluGrad", "ThresholdBackward", 2, 1, "i0 i1 s=0 o0")
/* ==== products ==== */
ACLOP_TYPE("MatMul", "Matmul", 2, 1, "i0~transpose_x1 i1~transpose_x2 o0 n=0")
ACLOP_TYPE("MatMulV2", "Matmul", 2, 1, "i0~transpose_x1 i1~transpose_x2 o0 n=0")
ACLOP_TYPE("BatchMatMul", "Matmul", 2, 1, "i0~adj_x1 i1~adj_x2 o0 n=0")
ACLOP_TYPE("BatchMatMulV2", "Matmul", 2, 1, "i0~adj_x1 i1~adj_x2 o0 n=0")
ACLOP_TYPE("MatMul", "Addmm", 3, 1, "i2 i0~transpose_x1 i1~transpose_x2 s=1 s=1 o0 n=0")
ACLOP_TYPE("MatMulV2", "Addmm", 3, 1, "i2 i0~transpose_x1 i1~transpose_x2 s=1 s=1 o0 n=0")
/* ==== convolutions; lists of four numbers are in the order of NCHW, pads are top, bottom, left, right. The two-phase
 * function wants input and weight even where only their shape matters: the output has it. ==== */
ACLOP_TYPE("Conv2D", "Convolution", 2, 1, "i0 i1 i2? v:strides>2 v:pads/2 v:dilations>2 n=0 v=0,0 n:groups=1 o0 n=0")
ACLOP_TYPE("Conv2DTranspose", "Convolution", 3, 1, "i1 i2 i3? v:strides>2 v:pads/2 v:dilations>2 n=1 v:output_padding>2 n:groups=1 o0 n=0")
ACLOP_TYPE("Conv2DBackpropInput", "ConvolutionBackward", 3, 1, "i2 o0 i1 - v:strides>2 v:pads/2 v:dilations>2 n=0 v=0,0 n:groups=1 m=100 n=0 o0 - -")
ACLOP_TYPE("Conv2DBackpropFilter", "ConvolutionBackward", 3, 1, "i2 i0 o0 - v:strides>2 v:pads/2 v:dilations>2 n=0 v=0,0 n:groups=1 m=010 n=0 - o0 -")
ACLOP_TYPE("BNTrainingReduce", "BatchNormReduce", 1, 2, "i0 o0 o1")
/* ==== reductions ==== */
ACLOP_TYPE("ArgMaxV2", "ArgMax", 2, 1, "i0 n1 b:keep_dims o0")
ACLOP_TYPE("ArgMin", "ArgMin", 2, 1, "i0 n1 b:keep_dims o0")
ACLOP_TYPE("LogSoftmaxV2", "LogSoftmax", 1, 1, "i0 n:axes=-1 o0")
ACLOP_TYPE("ReduceAll", "All", 2, 1, "i0 v1 b:keep_dims o0")
ACLOP_TYPE("ReduceAny", "Any", 2, 1, "i0 v1 b:keep_dims o0")
ACLOP_TYPE("ReduceMax", "Amax", 2, 1, "i0 v1 b:keep_dims o0")
ACLOP_TYPE("ReduceMaxD", "Amax", 1, 1, "i0 v:axes b:keep_dims o0")
ACLOP_TYPE("ReduceMean", "Mean", 2, 1, "i0 v1 b:keep_dims t0 o0")
ACLOP_TYPE("ReduceMeanD", "Mean", 1, 1, "i0 v:axes b:keep_dims t0 o0")
ACLOP_TYPE("ReduceMin", "Amin", 2, 1, "i0 v1 b:keep_dims o0")
ACLOP_TYPE("ReduceMinD", "Amin", 1, 1, "i0 v:axes b:keep_dims o0")
ACLOP_TYPE("ReduceSum", "ReduceSum", 2, 1, "i0 v1 b:keep_dims t0 o0")
ACLOP_TYPE("ReduceSumD", "ReduceSum", 1, 1, "i0 v:axes b:keep_dims t0 o0")
ACLOP_TYPE("SoftmaxV2", "Softmax", 1, 1, "i0 n:axes=-1 o0")
/* ==== layout and choice ==== */
ACLOP_TYPE("BroadcastTo", "InplaceCopy", 2, 1, "o0 i0")
ACLOP_TYPE("ClipByValue", "Clamp", 3, 1, "i0 s1 s2 o0")
ACLOP_TYPE("ConcatD", "Cat", -1, 1, "i* n:concat_dim o0")
ACLOP_TYPE("Fill", "InplaceFillScalar", 2, 1, "o0 s1")
ACLOP_TYPE("GatherV2", "GatherV2", 3, 1, "i0 n2 i1 o0")
ACLOP_TYPE("LogSpaceD", "LogSpace", 1, 1, "s:start s:end n:steps=100 d:base=10 o0")
ACLOP_TYPE("Range", "Arange", 3, 1, "s0 s1 s2 o0")
ACLOP_TYPE("ReverseV2", "Flip", 2, 1, "i0 v1 o0")
ACLOP_TYPE("Select", "SWhere", 3, 1, "i0 i1 i2 o0")
ACLOP_TYPE("SelectV2", "SWhere", 3, 1, "i0 i1 i2 o0")
ACLOP_TYPE("Tile", "Repeat", 2, 1, "i0 v1 o0")
ACLOP_TYPE("Transpose", "Permute", 2, 1, "i0 v1 o0")
ACLOP_TYPE("TransposeD", "Permute", 1, 1, "i0 v:perm o0")
/* clang-format on */

#undef ACLOP_TYPE
