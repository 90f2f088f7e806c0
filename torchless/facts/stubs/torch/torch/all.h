#pragma once
#include <torch/types.h>
#include <torch/cuda.h>
#include <torch/library.h>
#include <torch/nn/functional.h>
#include <ATen/autocast_mode.h>
