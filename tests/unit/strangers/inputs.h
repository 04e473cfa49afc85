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
  /// Takes them; what is wrong with them is an Error, which ends there. Anything else that is thrown goes on,
  /// and where what was taken is not what it says it is the program ends.
  void (*take)(std::string_view bytes);
  /// Valid inputs, for the mutations to start from.
  std::vector<std::string> (*seeds)();
};

/// All kinds except Chrome traces, which have their own fuzz targets.
std::span<const Input> inputs();

}  // namespace headroom::strangers
