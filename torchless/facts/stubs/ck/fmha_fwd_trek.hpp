#pragma once
#include "fmha_fwd.hpp"
