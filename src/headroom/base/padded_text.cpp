// SPDX-License-Identifier: Apache-2.0
#include "headroom/base/padded_text.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>

namespace headroom {
namespace {

/// A file of 100 MB read into pages of 4 KiB takes 25,000 page faults. Where the kernel does not want to, it
/// stays so.
void use_large_pages(char* bytes, std::size_t size) {
  constexpr std::size_t kWorthIt = std::size_t{8} << 20;
  constexpr std::size_t kPage = 4096;
  if (size < kWorthIt) return;
  const std::size_t offset = (kPage - reinterpret_cast<std::uintptr_t>(bytes) % kPage) % kPage;
  static_cast<void>(::madvise(bytes + offset, (size - offset) / kPage * kPage, MADV_HUGEPAGE));
}

}  // namespace

PaddedText::PaddedText(std::string_view text) {
  char* room = room_for(text.size());
  if (!text.empty()) std::memcpy(room, text.data(), text.size());
  added(text.size());
}

char* PaddedText::room_for(std::size_t count) {
  const std::size_t needed = size_ + count + kPadding;
  if (needed > capacity_) {
    // Half as much again, so that reading a stream of unknown length stays linear.
    const std::size_t capacity = std::max(needed, capacity_ + capacity_ / 2);
    auto* larger = static_cast<char*>(std::realloc(bytes_.get(), capacity));
    if (larger == nullptr) throw std::bad_alloc();
    static_cast<void>(bytes_.release());
    bytes_.reset(larger);
    use_large_pages(larger, capacity);
    capacity_ = capacity;
  }
  return bytes_.get() + size_;
}

void PaddedText::added(std::size_t count) {
  size_ += count;
  std::memset(bytes_.get() + size_, 0, kPadding);
}

void PaddedText::shorten(std::size_t size) {
  size_ = size;
  room_for(0);
  added(0);
}

}  // namespace headroom
