// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace headroom {

/// Pages that Buffers of 2 MiB and more request.
enum class PagePolicy { kHuge, kSmall, kNone };
/// "yes" (default), "no" or "default" for PagePolicy.
inline constexpr const char* kHugePagesVariable = "HEADROOM_HUGE_PAGES";
/// Reads kHugePagesVariable. Throws Error for an invalid value.
PagePolicy page_policy();

/// Bytes of Buffers that could lie in huge pages (4 MiB of a 5 MiB buffer), and that did after the first
/// touch.
struct BufferPages {
  std::size_t possible = 0, huge = 0;
};
/// Over all Buffers of this process. Thread-safe.
BufferPages buffer_pages();
/// Nullopt if no huge page is possible.
std::optional<double> huge_share(const BufferPages& pages);
/// Empty if no huge page is possible.
std::string text_of(const BufferPages& pages);

/// Zeroed memory, aligned to 64 bytes; from 2 MiB up aligned to 2 MiB and in huge pages if page_policy()
/// requests and the kernel grants them. 128 readable bytes follow the end, so that kernels may load whole
/// vectors.
class Buffer {
 public:
  Buffer() = default;
  /// Throws std::bad_alloc, and as page_policy() does.
  explicit Buffer(std::size_t bytes);
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;

  std::size_t bytes() const { return bytes_; }
  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }

  template <typename T>
  std::span<T> as() {
    return {reinterpret_cast<T*>(data_), bytes_ / sizeof(T)};
  }
  template <typename T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(data_), bytes_ / sizeof(T)};
  }

  /// With 0xFF: NaN for every float type, -1 for integers.
  void poison();

 private:
  void note_pages(std::size_t used);

  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  BufferPages pages_{};
  void* mapping_ = nullptr;
  std::size_t mapping_bytes_ = 0;
};

}  // namespace headroom
