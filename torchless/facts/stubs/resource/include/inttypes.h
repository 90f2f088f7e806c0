#pragma once
#include_next <inttypes.h>
