// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

namespace headroom {

/// By what a value in unit `from` is multiplied to be in unit `to`: 1000 from "ms" to "us". Times, bytes,
/// rates of bytes and rates of operations; any unit to itself is 1. Nothing where they do not measure the
/// same.
std::optional<double> unit_factor(std::string_view from, std::string_view to);

}  // namespace headroom
