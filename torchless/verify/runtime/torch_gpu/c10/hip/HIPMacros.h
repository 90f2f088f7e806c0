#pragma once
#include <c10/macros/Macros.h>
#ifndef C10_HIP_API
#define C10_HIP_API
#endif
