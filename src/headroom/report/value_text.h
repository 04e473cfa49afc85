// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace headroom {

/// "4.10 µs" for a time in any of the units that records use; "5.00 tokens/s" for anything else.
std::string value_text(double value, const std::string& unit, const std::string& metric);

}  // namespace headroom
