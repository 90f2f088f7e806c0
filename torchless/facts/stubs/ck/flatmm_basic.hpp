#pragma once
#include <ck_tile/ops/epilogue.hpp>
#include <ck_tile/ops/flatmm.hpp>

// From CK's flatmm example: the types that go with a type of A.
template <typename A, typename B = A, typename C = ck_tile::half_t> struct GemmBasicTypeConfig { using ADataType = A; using BDataType = B; using AccDataType = float; using CDataType = C; };
