// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::trace {

using NameId = std::uint32_t;
inline constexpr NameId kNoName = 0xffffffffU;

/// Interned text: each distinct text once, numbered in the order of first sight. Texts stay where they are
/// for the life of the table, so that a string_view of one stays good; hence it moves but does not copy.
class Names {
 public:
  Names() = default;
  Names(Names&&) = default;
  Names& operator=(Names&&) = default;

  NameId intern(std::string_view text);
  /// kNoName when the text was never interned.
  NameId find(std::string_view text) const;
  /// "" for kNoName.
  std::string_view operator[](NameId id) const { return id == kNoName ? std::string_view{} : texts_[id]; }
  std::size_t size() const { return texts_.size(); }

 private:
  std::vector<std::string_view> texts_;
  std::vector<std::uint64_t> hashes_;
  std::vector<NameId> slots_;  ///< open addressing; a power of two; kNoName is free
  std::deque<std::string> blocks_;
  void grow();
  std::size_t slot_of(std::string_view text, std::uint64_t hash) const;
};

}  // namespace headroom::trace
