// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "headroom/base/error.h"
#include "headroom/base/json_codec.h"
#include "headroom/record/formats/file_outline.h"
#include "headroom/record/formats/tool_files.h"

namespace headroom {
namespace {

/// Times in s, of the requests that succeeded.
struct VllmTimes {
  std::vector<double> ttft, itl, tpot;
  std::size_t requests = 0, failed = 0;
};

const Json* vllm_element(const Json* list, std::size_t index) {
  return list != nullptr && list->is_array() && index < list->size() ? &(*list)[index] : nullptr;
}

/// Lists of --save-detailed, an element for each request. Failed ones have an error and a TTFT of zero.
VllmTimes read_requests(const Json& result, const std::string& where) {
  VllmTimes times;
  if (json_optional(result, "ttfts", where) == nullptr) return times;
  const Json& ttfts = json_array(result, "ttfts", where);
  const Json* itls = json_optional(result, "itls", where);
  const Json* lengths = json_optional(result, "output_lens", where);
  times.requests = ttfts.size();
  for (std::size_t i = 0; i < ttfts.size(); ++i) {
    const std::string path = fmt::format("{}/ttfts/{}", where, i);
    const double ttft = tool_number(ttfts[i], path);
    if (ttft == 0) {
      ++times.failed;
      continue;
    }
    times.ttft.push_back(require_time(ttft, path));
    const Json* itl = vllm_element(itls, i);
    if (itl == nullptr) continue;
    const std::vector<double> steps =
        json_to<std::vector<double>>(*itl, JsonPath(fmt::format("{}/itls/{}", where, i)));
    for (const double step : steps) {
      if (step > 0) times.itl.push_back(step);
    }
    const Json* length = vllm_element(lengths, i);
    const double tokens =
        length == nullptr ? 0 : tool_number(*length, fmt::format("{}/output_lens/{}", where, i));
    const double sum = std::accumulate(steps.begin(), steps.end(), 0.0);
    if (tokens > 1 && sum > 0) times.tpot.push_back(sum / (tokens - 1));
  }
  return times;
}

Record vllm_case(const Json& result, const std::string& where) {
  Record record = tool_record("vllm bench", json_string_or(result, "model_id", "vllm", where), "", "s");
  record.model.type = "LLM serving";
  for (const char* key : {"backend", "request_rate", "max_concurrency", "num_prompts", "burstiness"}) {
    const Json* value = result.find(key);
    const bool is_default = value != nullptr && value->is_number() && key == std::string_view("burstiness") &&
                            value->get<double>() == 1;
    if (value != nullptr && !value->is_null() && !is_default)
      record.axes.emplace_back(key, plain_text(*value));
  }
  auto environment = imported_environment({});
  for (const auto& [key, value] : result.items()) {
    // Texts are settings, those of --metadata included.
    if (value.is_string() &&
        record.axes.end() == std::ranges::find(record.axes, key, &AxisValues::value_type::first))
      environment->extra_info[key] = value.string();
  }
  record.environment = environment;
  return record;
}

void add_vllm_result(const Json& result, const std::string& where, std::vector<Record>& records) {
  finite_number(result, "request_throughput", where);
  Record base = vllm_case(result, where);
  VllmTimes times = read_requests(result, where);
  if (times.failed > 0)
    base.notes.push_back(fmt::format("{} of {} requests failed.", times.failed, times.requests));
  const std::size_t first = records.size();
  const auto add_time = [&](const char* metric, std::vector<double> samples) {
    Record record = base;
    record.metric.name = metric;
    const std::string median = fmt::format("median_{}_ms", metric);
    if (!samples.empty()) {
      set_samples(record, std::move(samples));
    } else if (json_optional(result, median.c_str(), where) != nullptr &&
               finite_number(result, median.c_str(), where) != 0) {
      set_value(record,
                1e-3 * require_time(finite_number(result, median.c_str(), where), where + "/" + median));
    } else {
      return;
    }
    record.metric.headline = records.size() == first;
    records.push_back(std::move(record));
  };
  add_time("ttft", std::move(times.ttft));
  add_time("itl", std::move(times.itl));
  add_time("tpot", std::move(times.tpot));
  add_time("e2el", {});
  for (const auto& [metric, unit] :
       {std::pair{"request_throughput", "req/s"}, std::pair{"request_goodput", "req/s"},
        std::pair{"output_throughput", "tok/s"}, std::pair{"total_token_throughput", "tok/s"}}) {
    if (json_optional(result, metric, where) == nullptr) continue;
    Record record = base;
    set_metric(record, metric, unit, Direction::kHigherIsBetter);
    set_value(record, finite_number(result, metric, where));
    records.push_back(std::move(record));
  }
  if (records.size() == first || !records[first].metric.headline) {
    set_metric(base, "ttft", "s");
    base.metric.headline = true;
    base.outcome = {Outcome::Kind::kFailed, "no request was successful"};
    records.resize(first);
    records.push_back(std::move(base));
  }
}

bool is_vllm_bench(const FileOutline& outline) {
  return outline.has("request_throughput") && outline.has_any({"mean_ttft_ms", "ttfts"});
}

std::vector<Record> read_vllm_bench(const PaddedText& text, const std::string& source) {
  std::vector<Record> records;
  for (const JsonRow& row : parse_json_rows(text.view(), source))
    add_vllm_result(row.object, row.where, records);
  return records;
}

}  // namespace

/// JSON of `vllm bench serve --save-result` (read); has samples with --save-detailed.
Format vllm_bench_format() {
  return {.name = "vllm-bench",
          .summary = "JSON of vllm bench serve",
          .recognises = is_vllm_bench,
          .read = read_vllm_bench,
          .one_run = true};
}

}  // namespace headroom
