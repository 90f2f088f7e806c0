#pragma once
#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <numeric>
#include <optional>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>
#include <ck_tile/core.hpp>

namespace ck_tile {
template <int Arch = 0> struct kernel_attr {};
template <int MinBlockPerCu = 1, typename Attr = void, typename Kernel, typename... Args> CK_TILE_HOST auto make_kernel(Kernel k, dim3 grid, dim3 block, std::size_t lds, Args... args) { return [=](const stream_config& s) {}; }
struct HostTensorDescriptor { std::size_t get_element_space_size() const; };
template <typename Layout> HostTensorDescriptor host_tensor_descriptor(std::size_t row, std::size_t col, std::size_t stride, Layout layout) { return {}; }
template <typename T> struct HostTensor { explicit HostTensor(const HostTensorDescriptor& d) {} std::size_t get_element_space_size_in_bytes() const; T* data(); };
struct DeviceMem { DeviceMem(std::size_t bytes); void* GetDeviceBuffer() const; void ToDevice(const void* p) const; void FromDevice(void* p) const; };
template <typename A, typename B> struct RotatingMemWrapper { RotatingMemWrapper() = delete; RotatingMemWrapper(const void* a, const void* b, std::size_t count, std::size_t size_a, std::size_t size_b); void Next(); void Print(); };
}  // namespace ck_tile
