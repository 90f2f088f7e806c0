#include "memory.h"

#include <cstdint>
#include <map>
#include <sys/mman.h>

namespace torchless {
namespace {

constexpr size_t kPage = 4096;

struct Range {
  size_t bytes, mapped;
  std::string name;
  int device;
};

std::map<uintptr_t, Range>& ranges() {
  static std::map<uintptr_t, Range> all;
  return all;
}

}  // namespace

void* reserve(const std::string& name, size_t bytes, int device) {
  if (bytes > (size_t{1} << 46)) return nullptr;
  const size_t body = (bytes + kPage - 1) / kPage * kPage + (bytes ? 0 : kPage);
  void* p = ::mmap(nullptr, body + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return nullptr;
  ::mprotect(static_cast<char*>(p) + body, kPage, PROT_NONE);
  ranges()[reinterpret_cast<uintptr_t>(p)] = {bytes, body + kPage, name, device};
  return p;
}

bool release(const void* p) {
  const auto found = ranges().find(reinterpret_cast<uintptr_t>(p));
  if (found == ranges().end()) return false;
  ::munmap(const_cast<void*>(p), found->second.mapped);
  ranges().erase(found);
  return true;
}

void release_all_but(const std::string& kept) {
  for (auto it = ranges().begin(); it != ranges().end();) {
    if (it->second.name.compare(0, kept.size(), kept) == 0) {
      ++it;
      continue;
    }
    ::munmap(reinterpret_cast<void*>(it->first), it->second.mapped);
    it = ranges().erase(it);
  }
}

Place place_of(const void* p) {
  const auto address = reinterpret_cast<uintptr_t>(p);
  auto it = ranges().upper_bound(address);
  if (it == ranges().begin()) return {};
  --it;
  const size_t offset = address - it->first;
  if (offset >= it->second.mapped) return {};
  return {it->second.name, offset, offset < it->second.bytes ? it->second.bytes - offset : 0, it->second.device};
}

std::string shown(const void* p) {
  if (!p) return "null";
  const Place place = place_of(p);
  if (place.name.empty()) return "?";
  return place.offset ? place.name + "+" + std::to_string(place.offset) : place.name;
}

}  // namespace torchless
