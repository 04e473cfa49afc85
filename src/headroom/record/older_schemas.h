// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "headroom/record/record.h"

namespace headroom::record_json {

/// Schemas 1 and 2 kept as texts in metric.extra_info what has members of its own since schema 3: headline,
/// target_share, of_limit_quartiles and of_limit_rounds, ratio, ratio_low, ratio_high, ratio_pairs and
/// ratio_to, modes, mode_shares and mode_order. They are moved where they belong, and so is what of them the
/// rows of the OSS database hold. What does not read as such stays a text.
void take_members_from_texts(Record& record);

/// The same as texts: for forms that have no place for members.
StringMap texts_of_members(const Record& record);

/// What the name of a limit says, as limit_name() and these schemas wrote it: "read 32 MiB linear, 2
/// threads". Sizes are as exact as the text. Empty where it is no such name.
std::vector<LimitPart> limit_parts_of_name(std::string_view name);

}  // namespace headroom::record_json
