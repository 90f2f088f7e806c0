#pragma once
#include <ATen/torchless_std.h>
#include <ATen/Context.h>
#include <ATen/DeviceGuard.h>
#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <ATen/TensorIndexing.h>
#include <c10/util/irange.h>
