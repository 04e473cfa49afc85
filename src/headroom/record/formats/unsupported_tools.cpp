// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>

#include "headroom/record/formats/file_outline.h"

namespace headroom {
namespace {

bool contains_words(const FileOutline& outline, std::initializer_list<std::string_view> words) {
  constexpr std::size_t kHead = std::size_t{64} << 10;
  const std::string_view head = outline.text().substr(0, kHead);
  return std::ranges::all_of(
      words, [head](std::string_view word) { return head.find(word) != std::string_view::npos; });
}

struct UnsupportedTool {
  const char* name;
  bool (*wrote)(const FileOutline& file);
};

constexpr std::array<UnsupportedTool, 6> kUnsupportedTools{{
    {"Criterion's text (read target/criterion/**/new/sample.json)",
     [](const FileOutline& file) {
       return file.is_text() &&
              (contains_words(file, {" time:   ["}) || contains_words(file, {"Criterion", "bench:"}));
     }},
    {"cargo bench",
     [](const FileOutline& file) {
       return file.is_text() && contains_words(file, {"test ", "... bench:", " (+/- "});
     }},
    {"benchmark.js",
     [](const FileOutline& file) {
       return file.is_text() && contains_words(file, {" ops/sec ", " runs sampled)"});
     }},
    {"BenchmarkTools.jl", [](const FileOutline& file) { return file.has("BenchmarkTools"); }},
    {"Catch2's text (use --reporter xml)",
     [](const FileOutline& file) {
       return file.is_text() && contains_words(file, {"benchmark name", "samples", "iterations"});
     }},
    {"vllm bench latency or throughput",
     [](const FileOutline& file) {
       return file.has_all({"avg_latency", "latencies", "percentiles"}) ||
              file.has_all({"elapsed_time", "num_requests", "tokens_per_second"});
     }},
}};

}  // namespace

std::string unsupported_tool(const FileOutline& outline) {
  const auto found = std::ranges::find_if(kUnsupportedTools,
                                          [&](const UnsupportedTool& tool) { return tool.wrote(outline); });
  return found == kUnsupportedTools.end() ? "" : found->name;
}

}  // namespace headroom
