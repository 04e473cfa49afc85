// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/formats.h"

#include <fmt/format.h>

#include "headroom/base/error.h"
#include "headroom/base/json_codec.h"
#include "headroom/record/formats/file_outline.h"
#include "headroom/record/formats/tool_files.h"

namespace headroom {
namespace {

/// Times of a request, ours in s; inter-token latencies are means over the request's tokens.
struct GuidellmTime {
  const char* key;
  const char* metric;
  double factor;
};
constexpr GuidellmTime kGuidellmTimes[]{{"time_to_first_token_ms", "ttft", 1e-3},
                                        {"inter_token_latency_ms", "itl", 1e-3},
                                        {"time_per_output_token_ms", "tpot", 1e-3},
                                        {"request_latency", "request_latency", 1}};

/// Members of newer files, else of those before 0.4.
const Json& guidellm_settings(const Json& benchmark, const std::string& where) {
  return json_member(benchmark, benchmark.contains("config") ? "config" : "args", where);
}

Record guidellm_case(const Json& benchmark, const std::string& where) {
  const Json& settings = guidellm_settings(benchmark, where);
  const Json* backend = json_optional(settings, "backend", where);
  std::string model = backend == nullptr ? "" : json_string_or(*backend, "model", "", where);
  Record record = tool_record("guidellm", model.empty() ? "guidellm" : model, "", "s");
  record.model.type = "LLM serving";
  const std::string path = where + "/config/strategy";
  const Json& strategy = require_object(json_member(settings, "strategy", where + "/config"), path);
  for (const char* key : {"type_", "streams", "rate", "max_concurrency"}) {
    const Json* value = strategy.find(key);
    const bool repeats = std::string_view(key) == "max_concurrency" && strategy.contains("streams");
    if (value == nullptr || value->is_null() || repeats) continue;
    record.axes.emplace_back(std::string_view(key) == "type_" ? "strategy" : key, plain_text(*value));
  }
  return record;
}

/// The statistic of all successful requests, if there is one above zero.
std::optional<double> guidellm_statistic(const Json& benchmark, const char* metric, const char* statistic,
                                         const std::string& where) {
  const Json* metrics = json_optional(benchmark, "metrics", where);
  const Json* found = metrics == nullptr ? nullptr : json_optional(*metrics, metric, where + "/metrics");
  if (found == nullptr) return std::nullopt;
  const std::string path = fmt::format("{}/metrics/{}", where, metric);
  const Json* successful = json_optional(*found, "successful", path);
  if (successful == nullptr || json_optional(*successful, statistic, path) == nullptr) return std::nullopt;
  const double value = finite_number(*successful, statistic, path + "/successful");
  return value > 0 ? std::optional(value) : std::nullopt;
}

void add_guidellm_benchmark(const Json& benchmark, const std::string& where,
                            const std::shared_ptr<const Environment>& environment,
                            std::vector<Record>& records) {
  Record base = guidellm_case(benchmark, where);
  base.environment = environment;
  const std::size_t first = records.size();
  const Json* requests = json_optional(benchmark, "requests", where);
  for (const GuidellmTime& time : kGuidellmTimes) {
    Record record = base;
    record.metric.name = time.metric;
    std::vector<double> values;
    if (requests != nullptr && json_optional(*requests, "successful", where + "/requests") != nullptr) {
      std::size_t position = 0;
      for (const Json& request : json_array(*requests, "successful", where + "/requests")) {
        const std::string path = fmt::format("{}/requests/successful/{}", where, position++);
        // A request of one token has no inter-token latency.
        if (json_optional(request, time.key, path) == nullptr) continue;
        if (const double value = finite_number(request, time.key, path); value != 0)
          values.push_back(require_time(time.factor * value, path + "/" + time.key));
      }
    }
    if (!values.empty()) {
      set_samples(record, std::move(values));
    } else if (const auto median = guidellm_statistic(benchmark, time.key, "median", where)) {
      set_value(record, time.factor * *median);
    } else {
      continue;
    }
    record.metric.headline = records.size() == first;
    records.push_back(std::move(record));
  }
  for (const auto& [metric, unit] :
       {std::pair{"requests_per_second", "req/s"}, std::pair{"output_tokens_per_second", "tok/s"},
        std::pair{"tokens_per_second", "tok/s"}}) {
    const auto mean = guidellm_statistic(benchmark, metric, "mean", where);
    if (!mean) continue;
    Record record = base;
    set_metric(record, metric, unit, Direction::kHigherIsBetter);
    set_value(record, *mean);
    records.push_back(std::move(record));
  }
  if (records.size() > first) return;
  set_metric(base, "ttft", "s");
  base.metric.headline = true;
  base.outcome = {Outcome::Kind::kFailed, "no request was successful"};
  records.push_back(std::move(base));
}

bool is_guidellm(const FileOutline& outline) {
  return outline.starts_with_object() && outline.has_all({"benchmarks/type_", "benchmarks/metrics"});
}

std::vector<Record> read_guidellm(const PaddedText& text, const std::string& source) {
  const Json document = parse_tool_json(text.view(), source);
  const std::string root = source + ": ";
  auto environment = imported_environment({});
  if (const Json* metadata = json_optional(document, "metadata", root))
    environment->extra_info = plain_texts(*metadata);
  std::vector<Record> records;
  std::size_t position = 0;
  for (const Json& benchmark : json_array(document, "benchmarks", root))
    add_guidellm_benchmark(benchmark, fmt::format("{}/benchmarks/{}", root, position++), environment,
                           records);
  if (records.empty()) throw Error(root + "/benchmarks: is empty; there is nothing to read");
  return records;
}

}  // namespace

/// guidellm's JSON (read): a sample for each successful request.
Format guidellm_format() {
  return {.name = "guidellm",
          .summary = "JSON of guidellm",
          .recognises = is_guidellm,
          .read = read_guidellm,
          .one_run = true};
}

}  // namespace headroom
