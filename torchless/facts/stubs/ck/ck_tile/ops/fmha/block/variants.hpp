#pragma once
#include <ck_tile/ops/fmha.hpp>
