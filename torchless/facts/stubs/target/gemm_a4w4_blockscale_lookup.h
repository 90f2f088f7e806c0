#pragma once
#include <generated_lookup.h>
