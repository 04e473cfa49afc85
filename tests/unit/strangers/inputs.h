// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::strangers {

/// One kind of bytes that we take from files, programs and people.
struct Input {
  const char* name;
  /// Takes them; what is wrong with them is an Error, which ends there. Anything else that is thrown goes on,
  /// and where what was taken is not what it says it is the program ends.
  void (*take)(std::string_view bytes);
  /// Whole ones, to be changed.
  std::vector<std::string> (*seeds)();
};

/// All of them but Chrome traces, which have fuzz targets of their own.
std::span<const Input> inputs();

}  // namespace headroom::strangers
