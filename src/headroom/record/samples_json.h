// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headroom/base/padded_text.h"
#include "headroom/record/record.h"

namespace headroom {

/// The same records as records_from_json_text gives, at the speed of the parser: the columns of samples,
/// which are nearly all of a large file, go straight into their vectors. Nothing where the text is in any way
/// unusual; then records_from_json_text says what is wrong with it, or reads it.
std::optional<std::vector<Record>> fast_records_from_json(const PaddedText& text, const std::string& source);

}  // namespace headroom
