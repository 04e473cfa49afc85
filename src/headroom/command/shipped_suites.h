// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace headroom {

struct ShippedSuite {
  std::string_view name;
  std::string_view text;
};

/// The files of suites/, put into the library at build time. What they refer to by {here} lies in the folder
/// that they are installed in, or in the source tree.
std::span<const ShippedSuite> shipped_suites();

}  // namespace headroom
