// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "headroom_trace/columns/trace.h"

namespace headroom::trace {

/// A cached predicate of names.
class NamePredicate {
 public:
  NamePredicate(const Trace& trace, bool (*predicate)(std::string_view))
      : names_(trace.names), predicate_(predicate), cache_(trace.names.size(), kUnknown) {}
  bool operator()(NameId name) {
    if (name == kNoName) return predicate_("");
    std::uint8_t& cached = cache_[name];
    if (cached == kUnknown) cached = predicate_(names_[name]) ? 1 : 0;
    return cached == 1;
  }

 private:
  static constexpr std::uint8_t kUnknown = 2;
  const Names& names_;
  bool (*predicate_)(std::string_view);
  std::vector<std::uint8_t> cache_;
};

}  // namespace headroom::trace
