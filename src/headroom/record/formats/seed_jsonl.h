// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "headroom/record/formats.h"
#include "headroom/record/seed_rows.h"

namespace headroom {

/// The JSON lines of PyTorch's gpt-fast benchmark: one line a mean over shapes, added to what the file holds.
/// One difference: numbers are JSON numbers where that benchmark writes some of them as strings.
Format seed_jsonl_format();

/// The new content of the file after `rows` are added.
std::string seed_jsonl_text(std::span<const SeedRow> rows, std::string_view previous);

/// The file beside a CSV file that the benchmark writes: "results.csv" -> "results.json".
std::filesystem::path seed_jsonl_path(const std::filesystem::path& csv);

}  // namespace headroom
