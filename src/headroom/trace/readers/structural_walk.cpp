// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/readers/structural_walk.h"

#include <array>

namespace headroom::trace {
namespace {

enum Role : std::uint8_t { kValue, kOpen, kClose, kSeparator };

constexpr std::array<std::uint8_t, 256> roles() {
  std::array<std::uint8_t, 256> table{};
  table['{'] = table['['] = kOpen;
  table['}'] = table[']'] = kClose;
  table[':'] = table[','] = kSeparator;
  return table;
}
constexpr std::array<std::uint8_t, 256> kRoles = roles();

Role role_of(const Walk& walk) {
  return static_cast<Role>(kRoles[static_cast<unsigned char>(walk.token())]);
}

}  // namespace

bool skip_value(Walk& walk) {
  if (walk.at_end()) return false;
  const Role first = role_of(walk);
  ++walk.at;
  if (first == kValue) return true;
  if (first != kOpen) return false;
  std::int64_t depth = 1;
  Role before = first;
  for (; !walk.at_end(); ++walk.at) {
    const Role role = role_of(walk);
    if (role == kClose) {
      if (--depth == 0) {
        ++walk.at;
        return true;
      }
    } else if (role == kOpen) {
      ++depth;
    }
    if (role == kValue && before == kValue) return false;
    before = role;
  }
  return false;
}

bool take_value(Walk& walk, Raw& value) {
  if (walk.at_end()) return false;
  if (walk.token() != '{' && walk.token() != '[') {
    value = scalar_at(walk);
    ++walk.at;
    return !value.empty();
  }
  const std::uint32_t first = *walk.at;
  if (!skip_value(walk)) return false;
  value = Raw(walk.text + first, walk.at[-1] + 1 - first);
  return true;
}

}  // namespace headroom::trace
