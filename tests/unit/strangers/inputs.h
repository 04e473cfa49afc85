// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::strangers {

/// One kind of untrusted input: bytes from files, programs or users.
struct Input {
  const char* name;
  /// Reads the bytes and swallows Error. Other exceptions propagate; an inconsistent result aborts.
  void (*take)(std::string_view bytes);
  /// Valid inputs, from which mutations start.
  std::vector<std::string> (*seeds)();
};

/// All kinds except Chrome traces, which have their own fuzz targets.
std::span<const Input> inputs();

}  // namespace headroom::strangers
