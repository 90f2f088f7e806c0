#pragma once
#include <ostream>
#include <string>
#include <ck_tile/core.hpp>

// From CK's attention examples; builds without CK take these from the target's shim, by way of core.hpp.
#if !defined(ENABLE_CK) || ENABLE_CK || !__has_include("ck_tile_shim.h")
enum class mask_enum { no_mask = 0, mask_top_left, mask_bottom_right, window_generic };
enum class bias_enum { no_bias = 0, elementwise_bias = 1, alibi = 2 };
struct mask_info {
  mask_enum type;
  ck_tile::index_t seqlen_q, seqlen_k, y, x, left, right, sink;
  void serialize(std::ostream& os) const;
  static mask_info decode(std::string str, ck_tile::index_t seqlen_q, ck_tile::index_t seqlen_k);
  friend std::ostream& operator<<(std::ostream& os, const mask_info& mi);
};
#endif
