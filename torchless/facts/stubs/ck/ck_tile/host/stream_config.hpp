#pragma once
#include <ck_tile/host.hpp>
