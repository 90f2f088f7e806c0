#pragma once
#include <string>
#include <ck_tile/host.hpp>

struct layernorm2d_fwd_traits { std::string prec_i, prec_o, prec_sm, prec_sy; bool save_mean_var; int xbias, fused_add, fused_quant; };
struct layernorm2d_fwd_args { const void *p_x, *p_x_residual, *p_sm_scale, *p_x_bias, *p_gamma, *p_beta; void *p_y, *p_y_residual, *p_y_scale, *p_mean, *p_invStd; float epsilon; ck_tile::index_t m, n, x_stride, xr_stride, y_stride, yr_stride; };
float layernorm2d_fwd(layernorm2d_fwd_traits traits, layernorm2d_fwd_args args, const ck_tile::stream_config& config);
