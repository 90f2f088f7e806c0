#pragma once
// The part of this header that launchers use: tensors and factories, without modules, optimisers and Python. A third
// of the time of the whole.
#include <torch/types.h>
