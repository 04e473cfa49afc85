// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/formats/ddp_report.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <cmath>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/record/tool_json.h"
#include "headroom/record/tool_record.h"

namespace headroom {
namespace {

namespace ondemand = simdjson::ondemand;

static_assert(PaddedText::kPadding >= simdjson::SIMDJSON_PADDING);

constexpr const char* kResults = "benchmark_results";

/// Walks over the report without building it as a value: a report is one list of numbers after another, and
/// reads at the speed of the parser.
class ReportReader {
 public:
  ReportReader(const PaddedText& text, const std::string& source) : text_(text), source_(source) {}

  std::vector<Record> read() {
    try {
      ondemand::document document = parser_.iterate(text_.view().data(), text_.size(), text_.capacity());
      for (ondemand::field member : document.get_object()) read_member(member);
      if (document.current_location().error() != simdjson::OUT_OF_BOUNDS)
        throw Error(source_ + ": there is more text after the end of the report");
    } catch (const simdjson::simdjson_error& error) {
      refuse(error);
    }
    if (!has_results_) throw Error(fmt::format("{}: /{}: missing; expected an array", source_, kResults));
    if (records_.empty()) {
      throw Error(fmt::format("{}: /{}: holds no measurement; there is nothing to read", source_, kResults));
    }
    for (Record& record : records_) record.environment = environment_;
    return std::move(records_);
  }

 private:
  void read_member(ondemand::field& member) {
    const std::string key = unescaped(member);
    where_ = "/" + key;
    if (key != kResults) {
      environment_->extra_info[key] = value_text(member.value());
      return;
    }
    has_results_ = true;
    std::size_t index = 0;
    for (ondemand::object benchmark : member.value().get_array()) {
      read_benchmark(benchmark, fmt::format("/{}/{}", kResults, index++));
    }
    where_ = "/" + std::string(kResults);
  }

  void read_benchmark(ondemand::object benchmark, const std::string& path) {
    std::string model, batch_size;
    const std::size_t first = records_.size();
    bool has_result = false;
    for (ondemand::field member : benchmark) {
      const std::string key = unescaped(member);
      where_ = path + "/" + key;
      if (key == "model") {
        model = std::string(std::string_view(member.value().get_string()));
      } else if (key == "batch_size") {
        batch_size = number_text(member.value().get_double());
      } else if (key == "result") {
        has_result = true;
        read_rounds(member.value().get_array(), where_);
      }
    }
    if (model.empty()) throw Error(source_ + ": " + path + "/model: missing; expected a string");
    if (batch_size.empty()) throw Error(source_ + ": " + path + "/batch_size: missing; expected a number");
    if (!has_result) throw Error(source_ + ": " + path + "/result: missing; expected an array");
    for (std::size_t i = first; i < records_.size(); ++i) {
      records_[i].model.name = model;
      records_[i].axes.front().second = batch_size;
    }
  }

  void read_rounds(ondemand::array result, const std::string path) {
    std::size_t index = 0;
    for (ondemand::object entry : result) {
      const std::string at = fmt::format("{}/{}", path, index);
      std::vector<std::int64_t> ranks;
      seconds_.clear();
      for (ondemand::field member : entry) {
        const std::string key = unescaped(member);
        where_ = at + "/" + key;
        if (key == "ranks") {
          ranks.clear();
          for (const std::int64_t rank : member.value().get_array()) ranks.push_back(rank);
        } else if (key == "measurements") {
          read_seconds(member.value().get_array());
        }
      }
      if (ranks.empty()) throw Error(source_ + ": " + at + "/ranks: is empty or missing");
      if (seconds_.empty()) throw Error(source_ + ": " + at + "/measurements: is empty or missing");
      // The first round is a single rank without data parallel training.
      records_.push_back(record_of(ranks, index++ == 0));
    }
    where_ = path;
  }

  /// Into seconds_, which keeps its memory from one list to the next.
  void read_seconds(ondemand::array array) {
    seconds_.clear();
    for (ondemand::value value : array) {
      const double time = value.get_double();
      if (!(time > 0)) require_time(time, fmt::format("{}: {}/{}", source_, where_, seconds_.size()));
      seconds_.push_back(time);
    }
  }

  /// Before the model and the batch size of the record are known: they may stand after the measurements.
  Record record_of(const std::vector<std::int64_t>& ranks, bool without_ddp) {
    Record record = headline_record("ddp", "", "latency", "s");
    record.benchmark.mode = "training";
    record.model.type = "OSS model";
    record.axes = {
        {"batch_size", ""}, {"ranks", std::to_string(ranks.size())}, {"ddp", without_ddp ? "no" : "yes"}};
    record.metric.extra_info["rank_list"] = fmt::format("{}", fmt::join(ranks, ","));
    // The report lists what the first rank measured, then the second, and so on.
    const bool divides = seconds_.size() % ranks.size() == 0;
    const std::size_t processes = divides ? ranks.size() : 1;
    const std::size_t each = seconds_.size() / processes;
    for (std::size_t i = 0; i < processes; ++i) {
      ProcessSamples& process = record.samples.emplace_back();
      process.pid = divides ? ranks[i] : 0;
      const auto first = seconds_.begin() + static_cast<std::ptrdiff_t>(i * each);
      process.values.assign(first, first + static_cast<std::ptrdiff_t>(each));
    }
    record.metric.value = median_in_place(seconds_);
    return record;
  }

  static std::string unescaped(ondemand::field& member) {
    return std::string(std::string_view(member.unescaped_key()));
  }

  static std::string number_text(double number) {
    return number == std::floor(number) && std::abs(number) < 1e15 ? fmt::format("{:.0f}", number)
                                                                   : fmt::format("{}", number);
  }

  static std::string value_text(ondemand::value value) {
    if (value.type() == ondemand::json_type::string) return std::string(std::string_view(value.get_string()));
    return std::string(trimmed(std::string_view(simdjson::to_json_string(value))));
  }

  /// simdjson knows neither where a text breaks off nor what was expected; both are found out here.
  [[noreturn]] void refuse(const simdjson::simdjson_error& error) const {
    require_json(text_.view(), source_);
    switch (error.error()) {
      case simdjson::INCORRECT_TYPE:
      case simdjson::NUMBER_ERROR:
      case simdjson::NUMBER_OUT_OF_RANGE:
        throw Error(
            fmt::format("{}: {}: a value there is not of the type that a report has; expected times, "
                        "ranks and batch sizes as numbers, the model as a string",
                        source_, where_));
      default:
        throw Error(fmt::format("{}: {}: {}", source_, where_, error.what()));
    }
  }

  const PaddedText& text_;
  const std::string& source_;
  ondemand::parser parser_;
  std::shared_ptr<Environment> environment_ = std::make_shared<Environment>();
  std::vector<Record> records_;
  std::vector<double> seconds_;
  bool has_results_ = false;
  std::string where_ = "/";
};

bool recognises(std::string_view text) {
  if (!trimmed(text.substr(0, 256)).starts_with('{')) return false;
  return holds_keys(text, {kResults});
}

std::vector<Record> read(const PaddedText& text, const std::string& source) {
  return ReportReader(text, source).read();
}

}  // namespace

Format ddp_report_format() {
  return {.name = "ddp",
          .summary = "the report of PyTorch's benchmark of distributed data parallel training",
          .recognises = recognises,
          .read = read};
}

}  // namespace headroom
