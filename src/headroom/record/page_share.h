// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace headroom {

/// Where a record (Model::extra_info) says which share of its inputs and outputs lies in huge pages: "100 %",
/// of what can.
inline constexpr const char* kHugePagesKey = "huge pages";
inline constexpr const char* kNoHugePages = "0 %";
/// How a note of a record begins whose case lies in other pages than its limit.
inline constexpr const char* kOtherPages = "pages: ";

}  // namespace headroom
