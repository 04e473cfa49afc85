// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <new>
#include <span>
#include <vector>

namespace headroom::cuda {

/// Memory of exactly so many bytes, from a multiple of 256 on, as a device gives it: address sanitizer finds
/// each access behind the end.
class ExactMemory {
 public:
  explicit ExactMemory(std::size_t bytes) : bytes_(bytes) {
    void* made = nullptr;
    if (posix_memalign(&made, 256, std::max<std::size_t>(bytes, 1)) != 0) throw std::bad_alloc();
    data_ = static_cast<std::byte*>(made);
    std::fill_n(data_, bytes, std::byte{0xff});
  }
  template <typename T>
  explicit ExactMemory(const std::vector<T>& values) : ExactMemory(values.size() * sizeof(T)) {
    std::ranges::copy(std::as_bytes(std::span(values)), data_);
  }
  ~ExactMemory() { std::free(data_); }
  ExactMemory(const ExactMemory&) = delete;
  ExactMemory& operator=(const ExactMemory&) = delete;

  /// As the launch before leaves it, which has not ended: poison here until the answer is called.
  std::function<void()> written_later() const {
    const std::vector<std::byte> values(begin(), end());
    std::fill_n(data_, bytes_, std::byte{0xff});
    return [this, values] { std::ranges::copy(values, data_); };
  }
  bool is_untouched() const {
    return std::all_of(begin(), end(), [](std::byte byte) { return byte == std::byte{0xff}; });
  }

  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(data_);
  }
  std::byte* begin() const { return data_; }
  std::byte* end() const { return data_ + bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_;
};

}  // namespace headroom::cuda
