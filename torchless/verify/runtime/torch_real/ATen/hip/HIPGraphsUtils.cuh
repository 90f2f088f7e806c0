#pragma once
#include <ATen/hip/HIPGeneratorImpl.h>
