// Goes in front of every unit (-include), as clang's own HIP wrapper header does.
// The C library is declared for both passes here, before anything else can declare it for the host alone:
// device code may then call expf, printf, memcpy or assert, and no name exists twice (a host and a device
// twin), which a precompiled header would merge into one.
#pragma once
#if defined(__HIP__)
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
#endif
