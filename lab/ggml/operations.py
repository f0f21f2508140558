"""Signatures of ggml's functions that make an operation's tensor, without the context that all take first.

One letter per argument: t tensor (0: none), f float, i int or enum, q int64, z size_t, u uint32, b bool, p array.
"""

from __future__ import annotations

UNARY = (
    "dup sqr sqrt log expm1 softplus sin cos sum sum_rows cumsum mean argmax abs sgn neg step tanh elu relu sigmoid gelu "
    "gelu_erf gelu_quick silu hardswish hardsigmoid exp floor ceil round trunc reglu reglu_swapped geglu geglu_swapped "
    "swiglu swiglu_swapped geglu_erf geglu_erf_swapped geglu_quick geglu_quick_swapped cont transpose diag soft_max "
    "sqr_inplace sqrt_inplace log_inplace sin_inplace cos_inplace abs_inplace sgn_inplace neg_inplace step_inplace "
    "tanh_inplace elu_inplace relu_inplace sigmoid_inplace gelu_inplace gelu_erf_inplace gelu_quick_inplace silu_inplace "
    "exp_inplace floor_inplace ceil_inplace round_inplace trunc_inplace expm1_inplace softplus_inplace dup_inplace "
    "soft_max_inplace"
)
BINARY = (
    "add add_inplace sub sub_inplace mul mul_inplace div div_inplace count_equal repeat repeat_back silu_back reglu_split "
    "geglu_split swiglu_split geglu_erf_split geglu_quick_split mul_mat out_prod cpy reshape get_rows ssm_conv cross_entropy_loss "
    "conv_2d_sk_p0 conv_2d_s1_ph dsv4_hc_pre"
)
TERNARY = "add_id mul_mat_id get_rows_back set_rows cross_entropy_loss_back opt_step_sgd"

GONE = frozenset({"diag_mask_inf", "diag_mask_inf_inplace"})
"""Functions that ggml 0.27 has and 1.0 has not."""
ROPE = "fffff"
OPERATIONS = {
    **dict.fromkeys(UNARY.split(), "t"),
    **dict.fromkeys(BINARY.split(), "tt"),
    **dict.fromkeys(TERNARY.split(), "ttt"),
    "acc": "ttzzzz",
    "acc_inplace": "ttzzzz",
    "set": "ttzzzz",
    "set_inplace": "ttzzzz",
    "repeat_4d": "tqqqq",
    "concat": "tti",
    "leaky_relu": "tfb",
    "xielu": "tffff",
    "swiglu_oai": "ttff",
    "swiglu_clamp": "ttf",
    "norm": "tf",
    "norm_inplace": "tf",
    "rms_norm": "tf",
    "rms_norm_inplace": "tf",
    "group_norm": "tif",
    "group_norm_inplace": "tif",
    "l2_norm": "tf",
    "l2_norm_inplace": "tf",
    "rms_norm_back": "ttf",
    "scale": "tf",
    "scale_inplace": "tf",
    "scale_bias": "tff",
    "scale_bias_inplace": "tff",
    "cast": "ti",
    "cont_2d": "tqq",
    "cont_4d": "tqqqq",
    "reshape_2d": "tqq",
    "reshape_3d": "tqqq",
    "reshape_4d": "tqqqq",
    "view_1d": "tqz",
    "view_4d": "tqqqqzzzz",
    "permute": "tiiii",
    "diag_mask_inf": "ti",
    "diag_mask_inf_inplace": "ti",
    "clamp": "tff",
    "clamp_inplace": "tff",
    "soft_max_ext": "ttff",
    "soft_max_ext_inplace": "ttff",
    "soft_max_ext_back": "ttff",
    "soft_max_ext_back_inplace": "ttff",
    "rope_ext": "tttiiif" + ROPE,
    "rope_ext_inplace": "tttiiif" + ROPE,
    "rope_ext_back": "tttiiif" + ROPE,
    "rope_multi": "tttipiif" + ROPE,
    "rope_multi_inplace": "tttipiif" + ROPE,
    "rope_multi_back": "tttipiif" + ROPE,
    "im2col": "ttiiiiiibi",
    "col2im_1d": "tiii",
    "conv_1d": "ttiii",
    "conv_2d": "ttiiiiii",
    "conv_2d_dw": "ttiiiiii",
    "conv_2d_dw_direct": "ttiiiiii",
    "conv_2d_direct": "ttiiiiii",
    "conv_transpose_1d": "ttiii",
    "conv_transpose_2d_p0": "tti",
    "im2col_3d": "ttqiiiiiiiiii",
    "conv_3d_direct": "tt" + "i" * 12,
    "pool_1d": "tiiii",
    "pool_2d": "tiiiiiff",
    "upscale": "tii",
    "interpolate": "tqqqqu",
    "pad": "tiiii",
    "pad_circular": "tiiii",
    "pad_ext": "tiiiiiiii",
    "pad_ext_circular": "tiiiiiiii",
    "pad_reflect_1d": "tii",
    "roll": "tiiii",
    "tri": "ti",
    "fill": "tf",
    "fill_inplace": "tf",
    "timestep_embedding": "tii",
    "argsort": "ti",
    "top_k": "ti",
    "arange": "fff",
    "flash_attn_ext": "ttttfff",
    "ssm_scan": "tttttttq",
    "rwkv_wkv6": "tttttt",
    "rwkv_wkv7": "ttttttt",
    "gated_linear_attn": "tttttf",
    "solve_tri": "ttbbb",
    "gated_delta_net": "ttttttq",
    "lightning_indexer": "tttt",
    "dsv4_hc_comb": "tttfi",
    "dsv4_hc_pre_gated": "ttf",
    "dsv4_hc_post": "tttt",
    "opt_step_adamw": "ttttt",
}
