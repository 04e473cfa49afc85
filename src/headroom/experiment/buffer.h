// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace headroom {

/// What Buffers ask of the kernel from 2 MiB up: huge pages, small ones, or nothing.
enum class PageWish { kHuge, kSmall, kNone };
/// Says which: "yes" (and unset), "no" or "default".
inline constexpr const char* kHugePagesVariable = "HEADROOM_HUGE_PAGES";
/// That of kHugePagesVariable. Throws Error for another value.
PageWish page_wish();

/// Bytes of Buffers that could lie in huge pages (of 5 MiB these are 4), and those of them that did after the
/// first touch.
struct BufferPages {
  std::size_t possible = 0, huge = 0;
};
/// Of all Buffers of this process: cases share theirs, and threads make them for others.
BufferPages buffer_pages();
/// "100 %"; empty where none can lie in huge pages.
std::string text_of(const BufferPages& pages);

/// Zeroed memory for the inputs and outputs of an experiment: aligned to 64 bytes at least; from 2 MiB up
/// aligned to 2 MiB and backed by huge pages where the kernel gives them and page_wish() is for it. 128
/// readable bytes lie behind the end, so that a kernel may load a whole vector there.
class Buffer {
 public:
  Buffer() = default;
  /// Throws std::bad_alloc, and what page_wish() throws.
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

  /// Fills with 0xFF: a NaN for every float type, -1 for integers.
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
