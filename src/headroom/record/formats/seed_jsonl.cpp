// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/formats/seed_jsonl.h"

#include <fmt/format.h>

#include "headroom/base/json.h"
#include "headroom/base/text.h"

namespace headroom {
namespace {

struct NumberJson {
  Json operator()(std::monostate) const { return nullptr; }
  Json operator()(std::int64_t value) const { return value; }
  Json operator()(double value) const { return value; }
  Json operator()(const std::string& text) const {
    if (const auto integer = to_integer(text)) return *integer;
    if (const auto number = to_number(text)) return *number;
    return text;
  }
};

/// As Python's json.dumps writes it: characters outside ASCII escaped.
std::string dumped(const Json& value) {
  return dump_json_ascii(value);
}

/// With the blanks of Python's json.dumps, so that the lines differ from the benchmark's in the numbers
/// alone.
std::string json_line(const SeedRow& row) {
  return fmt::format(
      R"({{"benchmark": {{"name": "PyTorch gpt-fast benchmark", "mode": "inference", "dtype": {}, )"
      R"("extra_info": {{"device": {}, "arch": {}}}}}, )"
      R"("model": {{"name": {}, "type": "{}", "origins": ["pytorch"]}}, )"
      R"("metric": {{"name": {}, "benchmark_values": [{}], "target_value": {}}}}})"
      "\n",
      dumped(row.dtype), dumped(row.device), dumped(row.arch), dumped(row.name),
      row.is_model ? "OSS model" : "micro-benchmark", dumped(row.metric),
      dumped(std::visit(NumberJson{}, row.actual)), dumped(std::visit(NumberJson{}, row.target)));
}

std::string write(const std::vector<Record>& records, std::string_view previous, const std::string&) {
  return seed_jsonl_text(seed_rows(records), previous);
}

}  // namespace

std::string seed_jsonl_text(std::span<const SeedRow> rows, std::string_view previous) {
  std::string text(previous);
  // A last line without its end would swallow our first one.
  if (!rows.empty() && !text.empty() && !text.ends_with('\n')) text += '\n';
  for (const SeedRow& row : rows) text += json_line(row);
  return text;
}

std::filesystem::path seed_jsonl_path(const std::filesystem::path& csv) {
  return std::filesystem::path(csv).replace_extension(".json");
}

Format seed_jsonl_format() {
  return {.name = "seed-jsonl",
          .summary = "the JSON lines of PyTorch's gpt-fast benchmark: means over shapes, lines are added",
          .endings = {".jsonl"},
          .write = write,
          .appends = true};
}

}  // namespace headroom
