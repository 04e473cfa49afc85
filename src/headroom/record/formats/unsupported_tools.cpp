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

bool is_text(const FileOutline& outline) {
  return !outline.text().starts_with('{') && !outline.text().starts_with('[');
}

struct UnsupportedTool {
  const char* name;
  bool (*wrote)(const FileOutline& file);
};

constexpr std::array<UnsupportedTool, 13> kUnsupportedTools{{
    {"pyperf", [](const FileOutline& file) { return file.has("benchmarks/runs"); }},
    {"asv",
     [](const FileOutline& file) {
       return file.has_all({"commit_hash", "results"}) &&
              file.has_any({"result_columns", "env_name", "params"});
     }},
    {"Criterion",
     [](const FileOutline& file) {
       return file.has("mean/confidence_interval") || file.has_all({"reason", "typical"}) ||
              (is_text(file) &&
               (contains_words(file, {" time:   ["}) || contains_words(file, {"Criterion", "bench:"})));
     }},
    {"cargo bench",
     [](const FileOutline& file) {
       return is_text(file) && contains_words(file, {"test ", "... bench:", " (+/- "});
     }},
    {"benchmark.js",
     [](const FileOutline& file) {
       return is_text(file) && contains_words(file, {" ops/sec ", " runs sampled)"});
     }},
    {"BenchmarkTools.jl", [](const FileOutline& file) { return file.has("BenchmarkTools"); }},
    {"github-action-benchmark (custom)",
     [](const FileOutline& file) {
       return !file.starts_with_object() && file.has_all({"name", "unit", "value"});
     }},
    {"JMH", [](const FileOutline& file) { return file.has("jmhVersion"); }},
    {"BenchmarkDotNet",
     [](const FileOutline& file) {
       return file.has_all({"HostEnvironmentInfo", "Benchmarks"});
     }},
    {"Catch2",
     [](const FileOutline& file) {
       return is_text(file) && (contains_words(file, {"<Catch"}) ||
                                contains_words(file, {"benchmark name", "samples", "iterations"}));
     }},
    {"Go's testing package",
     [](const FileOutline& file) {
       return is_text(file) && contains_words(file, {"Benchmark", " ns/op"});
     }},
    {"nccl-tests",
     [](const FileOutline& file) {
       return contains_words(file, {"busbw", "algbw"}) || contains_words(file, {"# nThread "});
     }},
    {"vllm bench",
     [](const FileOutline& file) {
       return file.has_all({"request_throughput", "mean_ttft_ms"}) ||
              file.has_all({"avg_latency", "latencies", "percentiles"}) ||
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
