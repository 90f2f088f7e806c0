#pragma once
#include <functional>
#include <memory>
#include <string>
#include <ck_tile/host.hpp>
#include <ck_tile/ops/fmha.hpp>
#include "bias.hpp"
#include "mask.hpp"

struct fmha_bwd_traits { fmha_bwd_traits() = default; template <typename A, typename B, typename... Rest> fmha_bwd_traits(A&& a, B&& b, Rest&&... rest) {} };
struct fmha_bwd_args { fmha_bwd_args() = default; template <typename A, typename B, typename... Rest> fmha_bwd_args(A&& a, B&& b, Rest&&... rest) {} };
struct fmha_bwd_launcher {
  explicit fmha_bwd_launcher(const fmha_bwd_traits& traits);
  std::size_t workspace_size;
  template <typename... Args> void prepare_workspace_async(void* workspace, const int* seqstart_q, const int* seqstart_k, const ck_tile::stream_config& config, Args&&... rest) {}
  float run(fmha_bwd_args args, const ck_tile::stream_config& config);
};
float fmha_bwd(fmha_bwd_traits traits, fmha_bwd_args args, const ck_tile::stream_config& config);
