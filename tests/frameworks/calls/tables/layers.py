# SPDX-License-Identifier: Apache-2.0
"""Functions of torch.nn: convolution, pooling, normalisation, interpolation, attention, losses."""

import torch
import torch.nn.functional as f

from ..table import B, F, I, call

# ---- convolution ----

call("conv2d", lambda a, b, c: f.conv2d(a, b, c, padding=1), F(2, 3, 8, 8), F(4, 3, 3, 3), F(4), halves=True, grad=True, tolerance=1e-4)
call("conv2d stride", lambda a, b: f.conv2d(a, b, stride=2), F(2, 3, 9, 8), F(4, 3, 3, 2), grad=True, tolerance=1e-4)
call("conv2d dilation", lambda a, b: f.conv2d(a, b, dilation=2, padding=2), F(1, 3, 9, 9), F(4, 3, 3, 3), grad=True, tolerance=1e-4)
call("conv2d groups", lambda a, b: f.conv2d(a, b, groups=2), F(2, 4, 6, 6), F(6, 2, 3, 3), grad=True, tolerance=1e-4)
call("conv2d depthwise", lambda a, b: f.conv2d(a, b, groups=4, padding=1), F(2, 4, 6, 6), F(4, 1, 3, 3), grad=True, tolerance=1e-4)
call("conv2d 1x1", f.conv2d, F(2, 4, 6, 6), F(5, 4, 1, 1), F(5), halves=True, grad=True, tolerance=1e-4)
call("conv1d", lambda a, b, c: f.conv1d(a, b, c, padding=1), F(2, 3, 9), F(4, 3, 3), F(4), halves=True, grad=True, tolerance=1e-4)
call("conv3d", lambda a, b, c: f.conv3d(a, b, c, padding=1), F(1, 2, 4, 5, 5), F(3, 2, 3, 3, 3), F(3), grad=True, tolerance=1e-4)
call("conv_transpose2d", lambda a, b, c: f.conv_transpose2d(a, b, c, stride=2, padding=1, output_padding=1), F(2, 3, 5, 5),
     F(3, 4, 3, 3), F(4), grad=True, tolerance=1e-4)
call("conv_transpose1d", lambda a, b: f.conv_transpose1d(a, b, stride=2), F(2, 3, 5), F(3, 4, 3), grad=True, tolerance=1e-4)
call("unfold 2d", lambda a: f.unfold(a, 3, padding=1), F(2, 3, 5, 5), grad=True)
call("fold 2d", lambda a: f.fold(a, (5, 5), 3, padding=1), F(2, 27, 25), grad=True)

# ---- pooling ----

call("max_pool2d", lambda a: f.max_pool2d(a, 2), F(2, 3, 8, 8), grad=True)
call("max_pool2d padding", lambda a: f.max_pool2d(a, 3, stride=2, padding=1), F(2, 3, 9, 9), grad=True)
call("max_pool2d with indices", lambda a: f.max_pool2d(a, 2, return_indices=True)[0], F(1, 2, 6, 6))
call("max_pool1d", lambda a: f.max_pool1d(a, 2), F(2, 3, 8))
call("max_pool3d", lambda a: f.max_pool3d(a, 2), F(1, 2, 4, 4, 4))
call("avg_pool2d", lambda a: f.avg_pool2d(a, 2), F(2, 3, 8, 8), halves=True, grad=True)
call("avg_pool2d padding", lambda a: f.avg_pool2d(a, 3, stride=2, padding=1, count_include_pad=False), F(2, 3, 9, 9), grad=True)
call("avg_pool1d", lambda a: f.avg_pool1d(a, 2), F(2, 3, 8), grad=True)
call("avg_pool3d", lambda a: f.avg_pool3d(a, 2), F(1, 2, 4, 4, 4))
call("adaptive_avg_pool2d 1", lambda a: f.adaptive_avg_pool2d(a, 1), F(2, 3, 7, 7), halves=True, grad=True)
call("adaptive_avg_pool2d", lambda a: f.adaptive_avg_pool2d(a, (3, 2)), F(2, 3, 7, 7), grad=True)
call("adaptive_max_pool2d", lambda a: f.adaptive_max_pool2d(a, 2), F(2, 3, 8, 8), grad=True)
call("adaptive_avg_pool1d", lambda a: f.adaptive_avg_pool1d(a, 4), F(2, 3, 8))
call("lp_pool2d", lambda a: f.lp_pool2d(a, 2, 2), F(2, 3, 8, 8, low=0.1))

# ---- normalisation ----

call("layer_norm", lambda a, b, c: f.layer_norm(a, (7,), b, c), F(5, 7), F(7), F(7), halves=True, grad=True, tolerance=1e-4)
call("layer_norm 2", lambda a: f.layer_norm(a, (3, 4)), F(5, 3, 4), grad=True, tolerance=1e-4)
call("group_norm", lambda a, b, c: f.group_norm(a, 2, b, c), F(2, 4, 5), F(4), F(4), grad=True, tolerance=1e-4)
call("instance_norm", f.instance_norm, F(2, 3, 5, 5), grad=True, tolerance=1e-4)
call("batch_norm train", lambda a, b, c: f.batch_norm(a, None, None, b, c, training=True), F(4, 3, 5, 5), F(3), F(3), grad=True,
     tolerance=1e-4)
call("batch_norm statistics", lambda a, b, c: (f.batch_norm(a, b := b.clone(), c := c.clone(), training=True), b, c), F(4, 3, 5), F(3),
     F(3, low=0.5), tolerance=1e-4)
call("batch_norm eval", lambda a, b, c: f.batch_norm(a, b, c), F(4, 3, 5, 5), F(3), F(3, low=0.5), tolerance=1e-4)
call("batch_norm 2d", lambda a: f.batch_norm(a, None, None, training=True), F(8, 3), grad=True, tolerance=1e-4)
call("rms_norm", lambda a, b: f.rms_norm(a, (7,), b), F(5, 7), F(7), grad=True, tolerance=1e-4)
call("local_response_norm", lambda a: f.local_response_norm(a, 2), F(2, 4, 5), tolerance=1e-4)

# ---- interpolation ----

call("interpolate nearest", lambda a: f.interpolate(a, scale_factor=2), F(1, 2, 4, 4), grad=True)
call("interpolate nearest 1d", lambda a: f.interpolate(a, size=7), F(1, 2, 4), grad=True)
call("interpolate nearest-exact", lambda a: f.interpolate(a, size=(7, 3), mode="nearest-exact"), F(1, 2, 4, 4))
call("interpolate bilinear", lambda a: f.interpolate(a, size=(7, 9), mode="bilinear"), F(1, 2, 4, 4), grad=True)
call("interpolate bilinear corners", lambda a: f.interpolate(a, size=(7, 9), mode="bilinear", align_corners=True), F(1, 2, 4, 4),
     grad=True)
call("interpolate linear", lambda a: f.interpolate(a, size=9, mode="linear"), F(1, 2, 4), grad=True)
call("interpolate bicubic", lambda a: f.interpolate(a, size=(7, 9), mode="bicubic"), F(1, 2, 4, 4), grad=True, tolerance=1e-4)
call("interpolate trilinear", lambda a: f.interpolate(a, size=(5, 6, 7), mode="trilinear"), F(1, 2, 3, 3, 3), tolerance=1e-4)
call("grid_sample", lambda a, b: f.grid_sample(a, b, align_corners=False), F(1, 2, 5, 5), F(1, 3, 3, 2, low=-0.9, high=0.9), grad=True,
     tolerance=1e-4)
call("affine_grid", lambda a: f.affine_grid(a, (1, 1, 4, 4), align_corners=False), F(1, 2, 3), tolerance=1e-4)

# ---- attention ----

QKV = F(2, 2, 5, 8), F(2, 2, 5, 8), F(2, 2, 5, 8)
call("sdpa", f.scaled_dot_product_attention, *QKV, halves=True, grad=True, tolerance=1e-4)
call("sdpa causal", lambda a, b, c: f.scaled_dot_product_attention(a, b, c, is_causal=True), *QKV, halves=True, grad=True,
     tolerance=1e-4)
call("sdpa mask", lambda a, b, c, d: f.scaled_dot_product_attention(a, b, c, d | torch.eye(5, device=d.device).bool()), *QKV, B(5, 5),
     grad=True, tolerance=1e-4)
call("sdpa bias", f.scaled_dot_product_attention, *QKV, F(5, 5), tolerance=1e-4)
call("sdpa other length", f.scaled_dot_product_attention, F(2, 2, 3, 8), F(2, 2, 6, 8), F(2, 2, 6, 8), halves=True, tolerance=1e-4)

# ---- losses ----

call("mse_loss", f.mse_loss, F(5, 7), F(5, 7), halves=True, grad=True)
call("mse_loss sum", lambda a, b: f.mse_loss(a, b, reduction="sum"), F(5, 7), F(5, 7), grad=True)
call("mse_loss none", lambda a, b: f.mse_loss(a, b, reduction="none"), F(5, 7), F(5, 7), grad=True)
call("l1_loss", f.l1_loss, F(5, 7), F(5, 7), grad=True)
call("smooth_l1_loss", f.smooth_l1_loss, F(5, 7), F(5, 7), grad=True)
call("huber_loss", f.huber_loss, F(5, 7), F(5, 7))
call("nll_loss", lambda a, b: f.nll_loss(a.log_softmax(-1), b), F(5, 7), I(5, high=7), grad=True)
call("nll_loss 2d", lambda a, b: f.nll_loss(a.log_softmax(1), b), F(2, 7, 3, 3), I(2, 3, 3, high=7), grad=True)
call("cross_entropy", f.cross_entropy, F(5, 7), I(5, high=7), halves=True, grad=True)
call("cross_entropy weight", lambda a, b, c: f.cross_entropy(a, b, c, reduction="sum"), F(5, 7), I(5, high=7), F(7, low=0.1), grad=False)
call("cross_entropy ignore", lambda a, b: f.cross_entropy(a, b, ignore_index=2), F(9, 4), I(9, high=4), grad=True)
call("cross_entropy smoothing", lambda a, b: f.cross_entropy(a, b, label_smoothing=0.1), F(5, 7), I(5, high=7), grad=True)
call("cross_entropy none", lambda a, b: f.cross_entropy(a, b, reduction="none"), F(5, 7), I(5, high=7), grad=True)
call("cross_entropy probabilities", lambda a, b: f.cross_entropy(a, b.softmax(-1)), F(5, 7), F(5, 7), grad=True)
call("binary_cross_entropy", lambda a, b: f.binary_cross_entropy(a.sigmoid(), b), F(5, 7), F(5, 7, low=0, high=1).then(torch.Tensor.detach),
     grad=False, tolerance=1e-4)
call("binary_cross_entropy grad", lambda a, b: f.binary_cross_entropy(a.sigmoid(), b.float()), F(5, 7), B(5, 7), grad=True, tolerance=1e-4)
call("bce_with_logits", lambda a, b: f.binary_cross_entropy_with_logits(a, b.to(a.dtype)), F(5, 7), B(5, 7), halves=True, grad=True)
call("bce_with_logits weight", lambda a, b, c: f.binary_cross_entropy_with_logits(a, b.float(), pos_weight=c), F(5, 7), B(5, 7),
     F(7, low=0.1, high=3))
call("kl_div", lambda a, b: f.kl_div(a.log_softmax(-1), b.softmax(-1), reduction="batchmean"), F(5, 7), F(5, 7, fixed=True), grad=True)
call("kl_div log", lambda a, b: f.kl_div(a.log_softmax(-1), b.log_softmax(-1), log_target=True), F(5, 7), F(5, 7))
call("margin_ranking_loss", lambda a, b, c: f.margin_ranking_loss(a, b, c.float() * 2 - 1), F(9), F(9), B(9))
call("hinge_embedding_loss", lambda a, b: f.hinge_embedding_loss(a, b.float() * 2 - 1), F(9), B(9))
call("cosine_embedding_loss", lambda a, b, c: f.cosine_embedding_loss(a, b, c.float() * 2 - 1), F(5, 7), F(5, 7), B(5))
call("triplet_margin_loss", f.triplet_margin_loss, F(5, 7), F(5, 7), F(5, 7))
call("soft_margin_loss", lambda a, b: f.soft_margin_loss(a, b.float() * 2 - 1), F(9), B(9), grad=True)
call("multilabel_soft_margin_loss", lambda a, b: f.multilabel_soft_margin_loss(a, b.float()), F(5, 7), B(5, 7))
call("poisson_nll_loss", f.poisson_nll_loss, F(9), F(9, low=0.1))
call("gaussian_nll_loss", f.gaussian_nll_loss, F(9), F(9), F(9, low=0.1))
call("dropout eval", lambda a: f.dropout(a, 0.5, training=False), F(9))
