// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "headroom/record/formats.h"
#include "headroom/record/seed_rows.h"

namespace headroom {

/// The CSV of PyTorch's gpt-fast benchmark: one row a mean over shapes, added to what the file holds.
Format seed_csv_format();

/// The new content of the CSV file after `rows` are added. A header shorter than ours is replaced by ours,
/// any other is kept; lines shorter than the header are filled up with "0". Throws Error where `previous` is
/// not CSV.
std::string seed_csv_text(std::span<const SeedRow> rows, std::string_view previous,
                          const std::string& source);

}  // namespace headroom
