// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::strangers {

/// A kind of untrusted input.
struct Input {
  const char* name;
  /// Swallows Error only; aborts for an inconsistent result.
  void (*take)(std::string_view bytes);
  /// Valid inputs, from which mutations start.
  std::vector<std::string> (*seeds)();
};

/// Without Chrome traces, which have their own fuzz targets.
std::span<const Input> inputs();

}  // namespace headroom::strangers
