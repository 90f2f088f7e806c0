#pragma once
#if defined(__HIP_DEVICE_COMPILE__)
#define __HIP_ARCH_HAS_WARP_SHUFFLE__ 1
#endif
