// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/formats/ddp_report_walk.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/files/json_stream.h"
#include "headroom/record/formats.h"
#include "headroom/record/formats/file_outline.h"
#include "headroom/record/formats/tool_files.h"
#include "headroom/record/record_json.h"

namespace headroom {
namespace {

constexpr const char* kResultsPath = "/benchmark_results";

constexpr const char* kResults = "benchmark_results";

std::string number_text(double number) {
  return number == std::floor(number) && std::abs(number) < 1e15 ? fmt::format("{:.0f}", number)
                                                                 : fmt::format("{}", number);
}

class ReportReader : DdpReportWalk {
 public:
  ReportReader(JsonReader& stream, const std::string& source) : DdpReportWalk(stream, source) {}

  std::vector<Record> read() {
    walk();
    if (records_.empty()) {
      throw Error(fmt::format("{}: /{}: holds no measurement; there is nothing to read", source(), kResults));
    }
    for (Record& record : records_) record.environment = environment_;
    return std::move(records_);
  }

 private:
  void begin_results() override { records_.clear(); }

  void take_field(const std::string& key) override {
    environment_->extra_info[key] =
        stream().peek() == '"' ? stream().value().get<std::string>() : stream().raw_value();
  }

  void begin_model() override {
    first_ = records_.size();
    model_.clear();
    batch_size_.clear();
    more_axes_.clear();
    has_result_ = false;
  }

  /// `headroom ddp` writes these per model, PyTorch's benchmark once.
  void take_model_field(const std::string& key) override {
    if (key != "image_size" && key != "bucket_size") return stream().skip_value();
    const Json value = stream().value();
    if (!value.is_number()) throw Error(where() + ": expected a number");
    more_axes_.emplace_back(key, number_text(value.get<double>()));
  }

  void take_model() override {
    require('"', "a string");
    model_ = stream().value().get<std::string>();
  }

  void take_batch_size() override {
    const Json value = stream().value();
    if (!value.is_number()) throw Error(where() + ": expected a number");
    batch_size_ = number_text(value.get<double>());
  }

  void begin_rounds() override {
    records_.erase(records_.begin() + static_cast<std::ptrdiff_t>(first_), records_.end());
    has_result_ = true;
  }

  bool begin_round(std::size_t) override {
    ranks_.clear();
    seconds_.clear();
    return true;
  }

  void take_ranks() override {
    require('[', "a list");
    ranks_.clear();
    stream().elements([this] {
      const Json rank = stream().value();
      if (!rank.is_number_integer()) throw Error(where() + ": expected whole numbers");
      ranks_.push_back(rank.get<std::int64_t>());
    });
  }

  void take_measurements() override {
    read_number_column(stream(), seconds_, JsonPath(where()));
    for (std::size_t i = 0; i < seconds_.size(); ++i) {
      if (!(seconds_[i] > 0)) require_time(seconds_[i], fmt::format("{}/{}", where(), i));
    }
  }

  void end_round() override {
    if (ranks_.empty()) throw Error(where() + "/ranks: is empty or missing");
    if (seconds_.empty()) throw Error(where() + "/measurements: is empty or missing");
    // The first round is a single rank without DDP.
    records_.push_back(record_of_round(records_.size() == first_));
  }

  void end_model() override {
    if (model_.empty()) throw Error(where() + "/model: missing; expected a string");
    if (batch_size_.empty()) throw Error(where() + "/batch_size: missing; expected a number");
    if (!has_result_) throw Error(where() + "/result: missing; expected an array");
    for (std::size_t i = first_; i < records_.size(); ++i) {
      records_[i].model.name = model_;
      records_[i].axes.front().second = batch_size_;
      records_[i].axes.insert(records_[i].axes.end(), more_axes_.begin(), more_axes_.end());
    }
  }

  /// Model and batch size may follow later in the file.
  Record record_of_round(bool without_ddp) {
    Record record = headline_record("ddp", "", "latency", "s");
    record.benchmark.mode = "training";
    record.model.type = "OSS model";
    record.axes = {
        {"batch_size", ""}, {"ranks", std::to_string(ranks_.size())}, {"ddp", without_ddp ? "no" : "yes"}};
    record.metric.extra_info["rank_list"] = fmt::format("{}", fmt::join(ranks_, ","));
    // Measurements are grouped by rank.
    const bool divides = seconds_.size() % ranks_.size() == 0;
    const std::size_t processes = divides ? ranks_.size() : 1;
    const std::size_t each = seconds_.size() / processes;
    for (std::size_t i = 0; i < processes; ++i) {
      ProcessSamples& process = record.samples.emplace_back();
      process.pid = divides ? ranks_[i] : 0;
      const auto first = seconds_.begin() + static_cast<std::ptrdiff_t>(i * each);
      process.values.assign(first, first + static_cast<std::ptrdiff_t>(each));
    }
    record.metric.value = median_in_place(seconds_);
    return record;
  }

  std::shared_ptr<Environment> environment_ = std::make_shared<Environment>();
  std::vector<Record> records_;
  std::size_t first_ = 0;
  std::string model_, batch_size_;
  AxisValues more_axes_;
  bool has_result_ = false;
  std::vector<std::int64_t> ranks_;
  std::vector<double> seconds_;  ///< reused
};

bool is_ddp_report(const FileOutline& outline) {
  return outline.starts_with_object() && outline.has(kResults);
}

std::vector<Record> read_ddp_report(const PaddedText& text, const std::string& source) {
  JsonReader stream(text.view(), source);
  return ReportReader(stream, source).read();
}

std::vector<Record> read_ddp_report_file(const std::filesystem::path& path) {
  JsonStream stream(path);
  return ReportReader(stream, path.string()).read();
}

}  // namespace

void DdpReportWalk::require(char first, const char* what) {
  if (stream_.peek() != first) {
    stream_.refuse((path_.empty() ? "the report" : path_) + ": expected " + what);
  }
}

void DdpReportWalk::walk() {
  bool has_results = false;
  require('{', "an object");
  stream_.members([&](const std::string& key) {
    path_ = "/" + key;
    if (path_ == kResultsPath) {
      has_results = true;
      begin_results();
      walk_models();
    } else {
      take_field(key);
    }
  });
  stream_.finish();
  if (!has_results)
    throw Error(fmt::format("{}: {}: missing: this is not a DDP report", source_, kResultsPath));
}

void DdpReportWalk::walk_models() {
  require('[', "a list");
  std::size_t index = 0;
  stream_.elements([&] {
    path_ = fmt::format("{}/{}", kResultsPath, index++);
    require('{', "an object");
    begin_model();
    walk_model();
    end_model();
  });
}

void DdpReportWalk::walk_model() {
  const std::string path = path_;
  stream_.members([&](const std::string& key) {
    path_ = path + "/" + key;
    if (key == "model") {
      take_model();
    } else if (key == "batch_size") {
      take_batch_size();
    } else if (key == "result") {
      begin_rounds();
      walk_rounds();
    } else {
      take_model_field(key);
    }
  });
  path_ = path;
}

void DdpReportWalk::walk_rounds() {
  const std::string path = path_;
  require('[', "a list");
  std::size_t index = 0;
  stream_.elements([&] {
    path_ = fmt::format("{}/{}", path, index);
    if (begin_round(index++)) {
      walk_round();
      end_round();
    } else {
      stream_.skip_value();
    }
  });
}

void DdpReportWalk::walk_round() {
  const std::string path = path_;
  require('{', "an object");
  stream_.members([&](const std::string& key) {
    path_ = path + "/" + key;
    if (key == "measurements") require('[', "a list");
    if (key == "ranks") {
      take_ranks();
    } else if (key == "measurements") {
      take_measurements();
    } else {
      stream_.skip_value();
    }
  });
  path_ = path;
}

/// PyTorch's DDP report (read): a record for each model, batch size and number of ranks; a process per rank
/// if the measurements divide evenly.
Format ddp_report_format() {
  return {.name = "ddp",
          .summary = "the report of PyTorch's benchmark of distributed data parallel training",
          .recognises = is_ddp_report,
          .read = read_ddp_report,
          .read_file = read_ddp_report_file};
}

}  // namespace headroom
