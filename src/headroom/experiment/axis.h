// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

/// One parameter of an experiment and the values that it takes when nobody asks for others.
struct Axis {
  enum class Kind {
    kInteger,  ///< any positive integer may be asked for
    kText,     ///< only the listed values may
    kFree      ///< any text: the experiment says what it cannot take
  };
  std::string name;
  Kind kind = Kind::kText;
  std::vector<std::string> values;
};

/// What the user asked of one axis: "D=1024,4096", "D=1024-16384*2", "D=64-512+64", "dtype=int8".
struct AxisRequest {
  std::string name;
  std::vector<std::string> values;  ///< ranges already expanded
};

/// Parses "name=values". Ranges are first-last*factor, first-last+step, or first-last (step 1), both ends
/// included. Throws Error: no '=', empty list, a range that never ends or has over 10,000 values.
AxisRequest parse_axis_request(std::string_view text);

/// Whether `axis` can take `value`.
bool accepts(const Axis& axis, std::string_view value);
/// "one of int8, bf16" or "a positive integer".
std::string valid_values(const Axis& axis);

/// The values that `axis` takes under `requests`: those of the requested values that it accepts where it is
/// named (integers in plain form, duplicates once, several requests of one axis together), else its own.
std::vector<std::string> select_values(const Axis& axis, std::span<const AxisRequest> requests);

}  // namespace headroom
