// SPDX-License-Identifier: Apache-2.0
#include "headroom/experiment/buffer.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

namespace headroom {
namespace {

constexpr std::size_t kReadableBehind = 128;
constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kPage = 4096;

std::size_t rounded_up(std::size_t value, std::size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

Buffer::Buffer(std::size_t bytes) : bytes_(bytes) {
  if (bytes > std::numeric_limits<std::size_t>::max() / 2) throw std::bad_alloc();
  const std::size_t alignment = bytes >= kHugePage ? kHugePage : kPage;
  const std::size_t used = rounded_up(bytes + kReadableBehind, kPage);
  // An anonymous mapping is aligned to a page only: one alignment more leaves room to move the start.
  mapping_bytes_ = used + (alignment > kPage ? alignment : 0);
  mapping_ = ::mmap(nullptr, mapping_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping_ == MAP_FAILED) throw std::bad_alloc();
  const auto start = reinterpret_cast<std::uintptr_t>(mapping_);
  data_ = static_cast<std::byte*>(mapping_) + (rounded_up(start, alignment) - start);
  // Best effort: without huge pages everything works, a little slower.
  if (alignment == kHugePage) ::madvise(data_, used, MADV_HUGEPAGE);
    // Pages that were never written all read one shared page of zeros, which lies in the caches: each page
    // gets its own memory now, so that neither faults nor that page are ever part of a measurement.
#ifdef MADV_POPULATE_WRITE
  if (::madvise(data_, used, MADV_POPULATE_WRITE) == 0) return;
#endif
  std::memset(data_, 0, used);
}

Buffer::~Buffer() {
  if (mapping_ != nullptr) ::munmap(mapping_, mapping_bytes_);
}

Buffer::Buffer(Buffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      mapping_(std::exchange(other.mapping_, nullptr)),
      mapping_bytes_(std::exchange(other.mapping_bytes_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(mapping_, other.mapping_);
  std::swap(mapping_bytes_, other.mapping_bytes_);
  return *this;
}

void Buffer::poison() {
  if (bytes_ > 0) std::memset(data_, 0xff, bytes_);
}

}  // namespace headroom
