#pragma once
#include "mask.hpp"

struct bias_info { bias_enum type; int rank_info; void serialize(std::ostream& os) const; static bias_info decode(std::string str); };
