#pragma once
#include <c10/hip/HIPException.h>
