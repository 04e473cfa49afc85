// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "headroom/record/record.h"

namespace headroom {

/// Letters for what a reader must know about a result before trusting it ("US"); empty where there is
/// nothing.
std::string noise_marks(const Record& record);

/// What the letters in `marks` mean, one line each; empty for no marks.
std::string marks_legend(std::string_view marks);

/// The same of marks that every row has, a sentence each: "  all rows: ...".
std::string all_rows_legend(std::string_view marks);

}  // namespace headroom
