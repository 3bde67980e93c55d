# SPDX-License-Identifier: Apache-2.0
"""Where torch_npu on softnpu does not give the CPU's result for PyTorch's operator database, and why."""

import re

import torch

# Operators with random or uninitialised results.
RANDOM = ("rand", "dropout", "bernoulli", "multinomial", "normal", "exponential", "geometric", "cauchy", "uniform", "empty",
          "resize", "fractional", "rrelu")

WHOLE = (torch.int64, torch.int32, torch.uint8, torch.bool)
HALVES = (torch.float16, torch.bfloat16)

MISSING = "softnpu lacks an operator that torch_npu calls here"
COMPLEX = "softnpu has no complex numbers"
SVD = "softnpu has no singular value decomposition"
OWN = "torch_npu itself gives another type, shape or error"
INTEGER = "the vendor's operator has no integer types"
TIES = "equal values: another index is as good"
HALF = "half precision: the CPU rounds between the steps of this operator"

# pattern of the name, types (None: all), reason
DIFFERENCES = [
    (r"complex|polar|angle|cdouble|cfloat|chalf|stft|linalg.eig|fft\..*", None, COMPLEX),
    (r"svd_lowrank|pca_lowrank|pinverse|norm.nuc|linalg.(cond|matrix_norm|matrix_rank|pinv|pinv.singular|svdvals)", None, SVD),
    # LpNormReduceV2 for orders other than 0, 1, 2 and infinity
    (r"dist|norm|linalg.norm|linalg.norm.subgradients_at_zero|linalg.vector_norm|nn.functional.pairwise_distance", None, MISSING),
    (r"nn.functional.(multilabel_margin_loss|ctc_loss)", None, MISSING),
    # corrections that are not whole, channels_last, indices of pools, sparse tensors, types of statistics
    (r"sparse\..*|var|std|var_mean|std_mean|to|double|float_power|tensor_split|ones_like", None, OWN),
    (r"exp|erf|erfc|logit|nn.functional.(poisson_nll_loss|hardtanh)", WHOLE, OWN),
    (r"nn.functional.(max_pool[123]d|adaptive_max_pool3d)", None, OWN),
    (r"native_layer_norm|native_batch_norm|_native_batch_norm_legit", HALVES, OWN),
    (r"gather", None, "an empty index of another type"),
    (r"as_strided.partial_views", None, "the copy to the device does not keep the storage around the view"),
    (r"_upsample_bilinear2d_aa", None, "PyTorch's own result for a width of 1 repeats a row"),
    (r"nn.functional.multi_head_attention_forward", None, "its samples have dropout as a positional argument"),
    (r"(add|badd|addb|b)?(mm|mv|bmm)(.decomposed)?|matmul|__rmatmul__|einsum|inner|tensordot|addr", WHOLE, INTEGER),
    (r"linalg.multi_dot|nn.functional.(linear|bilinear|unfold|local_response_norm)", WHOLE, INTEGER),
    (r"nn.functional.((avg_pool|conv|conv_transpose)[123]d|interpolate.*|upsample_bilinear)", WHOLE, INTEGER),
    (r"index_add|_unsafe_masked_index_put_accumulate", (torch.bool,), "sums of truth values"),
    (r"topk|sort|argsort|kthvalue|msort", (*WHOLE, *HALVES), TIES),
    (r"nn.functional.(soft_margin_loss|conv_transpose[23]d)|histc|grid_sampler_2d|_unsafe_masked_index_put_accumulate", HALVES, HALF),
    (r"div.trunc_rounding|fmod|remainder", HALVES, HALF),
]


def difference(name, dtype):
    """The reason, or None if the result must be the CPU's."""
    for pattern, types, reason in DIFFERENCES:
        if re.fullmatch(pattern, name) and (types is None or dtype in types):
            return reason
    return None
