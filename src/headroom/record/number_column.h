// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "headroom/base/json_codec.h"
#include "headroom/base/json_stream.h"

namespace headroom {

/// Takes an array of numbers from the stream into `column`, in place of what that held; its memory is kept.
/// Null is not-a-number among doubles. `path` names the array in errors. Throws Error.
void read_number_column(JsonStream& stream, std::vector<double>& column, const JsonPath& path);
/// Whole numbers; null is none of them.
void read_number_column(JsonStream& stream, std::vector<std::uint32_t>& column, const JsonPath& path);

}  // namespace headroom
