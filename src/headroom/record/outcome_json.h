// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <tuple>

#include "headroom/base/json_codec.h"
#include "headroom/record/codec.h"
#include "headroom/record/record.h"

namespace headroom {

template <>
struct JsonNames<Outcome::Kind> {
  static constexpr std::array kChoices{Outcome::Kind::kMeasured, Outcome::Kind::kSkipped,
                                       Outcome::Kind::kFailed};
};

template <>
struct JsonMembers<Outcome> {
  static constexpr std::tuple kTable{required("kind", &Outcome::kind), optional("reason", &Outcome::reason)};
};

}  // namespace headroom
