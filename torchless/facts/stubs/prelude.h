// Goes in front of every unit (-include), as clang's own HIP wrapper header does, and brings what that one brings:
// the qualifiers (__device__ ...), <cmath>, <cstdlib> and device math.
#pragma once
#if defined(__HIP__)
#include "hip/hip/amd_detail/host_defines.h"
#include "hip/hip/amd_detail/newer_builtins.h"

// The C library is declared for both passes here, before anything else can declare it for the host alone:
// device code may then call expf, printf, memcpy or assert, and no name exists twice (a host and a device
// twin), which a precompiled header would merge into one.
#define _GLIBCXX_INCLUDE_NEXT_C_HEADERS  // past libstdc++'s wrappers: their templates must keep their targets
#pragma clang force_cuda_host_device begin
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#pragma clang force_cuda_host_device end
#undef _GLIBCXX_INCLUDE_NEXT_C_HEADERS
#include <cmath>
#include <cstdlib>
// Device code may call these by their bare names (clang's wrapper has device functions of its own for them); the
// wrapped <math.h> gives the standard library's, which are constexpr and so for both sides, to the global namespace.
#include <math.h>
#include "hip/hip/amd_detail/amd_math_functions.h"

// Sources ask the compiler's version for the types that ROCm 7's clang has; an older parser has them by now.
#if __clang_major__ < 20
#undef __clang_major__
#define __clang_major__ 20
#endif
#endif
