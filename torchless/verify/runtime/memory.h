// Address ranges with a name. A pointer is reported as the range it points into and the distance from its start.
#pragma once
#include <cstddef>
#include <string>

namespace torchless {

// Reserves `bytes` of zeroed memory that costs nothing until it is touched, calls it `name`, and says that it lies on
// `device` (-1: the host). Behind it lies an unmapped page, so that a pointer to its end belongs to nothing else.
// Null when the address space does not hold that much.
void* reserve(const std::string& name, size_t bytes, int device);

// Gives a reserved range back. False when `p` is not the start of one.
bool release(const void* p);

// Forgets and gives back every range whose name does not start with `kept`.
void release_all_but(const std::string& kept);

struct Place {
  std::string name;   // "" when the pointer lies in no known range
  size_t offset = 0;  // bytes from the start of the range
  size_t left = 0;    // bytes from the pointer to the end of the range
  int device = -1;
};

// The range that `p` points into, or just behind.
Place place_of(const void* p);

// "out+16", "out", "null", or "?" for memory that has no name (a host variable).
std::string shown(const void* p);

}  // namespace torchless
