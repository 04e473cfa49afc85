// SPDX-License-Identifier: Apache-2.0
#include "headroom/experiment/buffer.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <string_view>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/machine/memory.h"

namespace headroom {
namespace {

constexpr std::size_t kReadableBehind = 128;
constexpr std::size_t kPage = 4096;

std::atomic<std::size_t> possible_bytes = 0, huge_bytes = 0;

std::size_t rounded_up(std::size_t value, std::size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// Gives each page its memory: unwritten pages share one cached page of zeros, and writing them faults; both
/// would distort a measurement.
void touch(std::byte* data, std::size_t bytes) {
#ifdef MADV_POPULATE_WRITE
  if (::madvise(data, bytes, MADV_POPULATE_WRITE) == 0) return;
#endif
  std::memset(data, 0, bytes);
}

}  // namespace

PagePolicy page_policy() {
  const char* value = std::getenv(kHugePagesVariable);
  const std::string_view text = value == nullptr ? "" : value;
  if (text.empty() || text == "yes") return PagePolicy::kHuge;
  if (text == "no") return PagePolicy::kSmall;
  if (text == "default") return PagePolicy::kNone;
  throw Error(std::string(kHugePagesVariable) + " is " + quote(text) +
              "; it must be yes, no or default, or unset");
}

BufferPages buffer_pages() {
  return {possible_bytes, huge_bytes};
}

std::optional<double> huge_share(const BufferPages& pages) {
  if (pages.possible == 0) return std::nullopt;
  return static_cast<double>(pages.huge) / static_cast<double>(pages.possible);
}

std::string text_of(const BufferPages& pages) {
  const std::optional<double> share = huge_share(pages);
  return share ? fmt::format("{:.0f} %", 100 * *share) : "";
}

Buffer::Buffer(std::size_t bytes) : bytes_(bytes) {
  if (bytes > std::numeric_limits<std::size_t>::max() / 2) throw std::bad_alloc();
  const PagePolicy wish = page_policy();
  const std::size_t alignment = bytes >= kHugePageBytes ? kHugePageBytes : kPage;
  const std::size_t used = rounded_up(bytes + kReadableBehind, kPage);
  // mmap aligns to a page only: adds space to move the start.
  mapping_bytes_ = used + (alignment > kPage ? alignment : 0);
  mapping_ = ::mmap(nullptr, mapping_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping_ == MAP_FAILED) throw std::bad_alloc();
  const auto start = reinterpret_cast<std::uintptr_t>(mapping_);
  data_ = static_cast<std::byte*>(mapping_) + (rounded_up(start, alignment) - start);
  if (alignment == kHugePageBytes && wish != PagePolicy::kNone)
    ::madvise(data_, used, wish == PagePolicy::kHuge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  touch(data_, used);
  note_pages(used);
}

void Buffer::note_pages(std::size_t used) {
  const std::size_t possible = used / kHugePageBytes * kHugePageBytes;
  if (possible == 0) return;
  const auto huge = huge_page_bytes(data_, used);
  if (!huge) return;  // unknown
  pages_ = {possible, std::min(*huge, possible)};
  possible_bytes += pages_.possible;
  huge_bytes += pages_.huge;
}

Buffer::~Buffer() {
  possible_bytes -= pages_.possible;
  huge_bytes -= pages_.huge;
  if (mapping_ != nullptr) ::munmap(mapping_, mapping_bytes_);
}

Buffer::Buffer(Buffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      pages_(std::exchange(other.pages_, {})),
      mapping_(std::exchange(other.mapping_, nullptr)),
      mapping_bytes_(std::exchange(other.mapping_bytes_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(pages_, other.pages_);
  std::swap(mapping_, other.mapping_);
  std::swap(mapping_bytes_, other.mapping_bytes_);
  return *this;
}

void Buffer::poison() {
  if (bytes_ > 0) std::memset(data_, 0xff, bytes_);
}

}  // namespace headroom
