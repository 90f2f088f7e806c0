#pragma once
#include <string>
#include <ck_tile/host.hpp>

struct rmsnorm2d_fwd_traits { std::string prec_i, prec_o, prec_sm, prec_sy; bool save_rms, save_unquant; int fused_add, fused_quant, use_model_sensitive_rmsnorm; };
struct rmsnorm2d_fwd_args { const void *p_x, *p_x_residual, *p_sm_scale, *p_gamma; void *p_y, *p_y_residual, *p_y_scale, *p_invRms, *p_y_unquant; float epsilon; ck_tile::index_t m, n, x_stride, xr_stride, y_stride, yr_stride; };
float rmsnorm2d_fwd(rmsnorm2d_fwd_traits traits, rmsnorm2d_fwd_args args, const ck_tile::stream_config& config);
