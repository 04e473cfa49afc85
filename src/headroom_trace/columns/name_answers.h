// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "headroom_trace/columns/trace.h"

namespace headroom::trace {

/// A cached predicate of names.
class NameAnswers {
 public:
  NameAnswers(const Trace& trace, bool (*question)(std::string_view))
      : names_(trace.names), question_(question), answers_(trace.names.size(), kUnasked) {}
  bool operator()(NameId name) {
    if (name == kNoName) return question_("");
    std::uint8_t& answer = answers_[name];
    if (answer == kUnasked) answer = question_(names_[name]) ? 1 : 0;
    return answer == 1;
  }

 private:
  static constexpr std::uint8_t kUnasked = 2;
  const Names& names_;
  bool (*question_)(std::string_view);
  std::vector<std::uint8_t> answers_;
};

}  // namespace headroom::trace
