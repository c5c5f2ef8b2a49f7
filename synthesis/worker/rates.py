# SPDX-License-Identifier: Apache-2.0
# How long operators take on a nominal CPU core and a nominal GPU, in operations per element.
#
# Measured once on one core of an AMD EPYC, rounded to 1, 2 or 5 times a power of ten; operators that are not listed
# take USUAL. Only sizes depend on these numbers, so an error costs only a second try.

USUAL = 10
_GROUPS = {
    2: "amin floor nll_loss_forward sgn",
    50: "_euclidean_dist acos adaptive_max_pool2d affine_grid_generator all aminmax argmax argmin atan2 atanh celu "
        "col2im cosh cummax cummin elu erf erfc erfinv expm1 floor_divide fmax fmin ge hypot index_fill linalg_cross "
        "linalg_solve_triangular log1p logaddexp2 logical_not logical_or logit lt multi_margin_loss ne pixel_unshuffle "
        "native_layer_norm pow remainder replication_pad1d replication_pad3d softplus special_entr "
        "special_hermite_polynomial_h special_hermite_polynomial_he special_i1e tan tanh "
        "native_batch_norm native_group_norm",
    100: "_adaptive_avg_pool3d _linalg_slogdet adaptive_max_pool3d any atan avg_pool2d ldexp logaddexp logical_and "
         "binary_cross_entropy_with_logits heaviside logical_xor masked_fill max_pool3d_with_indices pixel_shuffle "
         "scatter_reduce soft_margin_loss special_bessel_j0 special_chebyshev_polynomial_u std_mean trunc where xlogy "
         "special_legendre_polynomial_p cumprod mkldnn_rnn_layer special_shifted_chebyshev_polynomial_t triu "
         "special_shifted_chebyshev_polynomial_u",
    200: "_fft_c2c _fft_r2c _linalg_det _linalg_solve_ex _pdist_forward complex conv_tbc eq histc im2col lgamma "
         "log_sigmoid_forward max_pool2d_with_indices mish mvlgamma polar polygamma sinc special_bessel_j1 std topk "
         "special_bessel_y0 special_bessel_y1 special_chebyshev_polynomial_t special_laguerre_polynomial_l "
         "kthvalue reflection_pad1d special_ndtri special_spherical_bessel_j0 upsample_bilinear2d upsample_nearest2d",
    500: "_trilinear acosh addr asinh binary_cross_entropy digamma gcd lcm linalg_inv_ex logcumsumexp median "
         "nanmedian sort special_erfcx special_i1 special_log_ndtr special_xlog1py var var_mean",
    1000: "bucketize i0 igamma mode searchsorted special_airy_ai special_i0e special_modified_bessel_i0 "
          "special_modified_bessel_i1 special_modified_bessel_k0 special_modified_bessel_k1 upsample_bicubic2d "
          "special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1",
    2000: "igammac linalg_matrix_exp",
    5000: "linalg_pinv special_zeta _linalg_svd _linalg_eigh",
    10000: "multilabel_margin_loss_forward",
}
OPERATIONS = {name: count for count, names in _GROUPS.items() for name in names.split()}
# Bytes and operations per millisecond, and milliseconds per call of an operator.
NOMINAL = {"cpu": (1.2e7, 2e7, 4e-3), "cuda": (1.5e9, 2e10, 6e-3)}
# Bytes and multiplications per millisecond that no kernel exceeds: a core's, and an H100's in float32.
PEAKS = {"cpu": (2e7, 1e8), "cuda": (3.35e9, 6.7e10)}
