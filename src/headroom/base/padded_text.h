// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>

namespace headroom {

/// Text that owns its bytes and has room after them: parsers that read whole words may read past its end
/// without reading past the buffer. Cheap to move, never copied by accident.
class PaddedText {
 public:
  /// Bytes after the text that may be read; they are zero.
  static constexpr std::size_t kPadding = 64;

  PaddedText() : PaddedText(std::string_view()) {}
  /// A copy of `text`.
  explicit PaddedText(std::string_view text);
  /// What is moved from is empty, and has no room.
  PaddedText(PaddedText&& other) noexcept
      : bytes_(std::move(other.bytes_)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  PaddedText& operator=(PaddedText&& other) noexcept {
    bytes_ = std::move(other.bytes_);
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, 0);
    return *this;
  }

  std::string_view view() const { return {bytes_.get(), size_}; }
  std::size_t size() const { return size_; }
  /// Size of the buffer, at least size() + kPadding.
  std::size_t capacity() const { return capacity_; }

  /// Where at least `count` more bytes can be written before added() tells how many were.
  char* room_for(std::size_t count);
  void added(std::size_t count);
  /// Keeps the first `size` bytes (no more than there are), and the room of the rest.
  void shorten(std::size_t size);

 private:
  struct Free {
    void operator()(char* bytes) const { std::free(bytes); }
  };
  // malloc: growing a large block with realloc moves pages, not bytes.
  std::unique_ptr<char, Free> bytes_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace headroom
