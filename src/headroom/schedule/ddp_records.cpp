// SPDX-License-Identifier: Apache-2.0
#include "headroom/schedule/ddp_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/schedule/rank_record.h"
#include "headroom/schedule/round_values.h"
#include "headroom/stats/line_fit.h"
#include "headroom/stats/quantile.h"
#include "headroom/stats/trend.h"

namespace headroom {
namespace {

constexpr double kMebibyte = 1 << 20;

/// In MiB, as --bucket-size and PyTorch's benchmark have it: the shortest number that is so many whole bytes,
/// which is what was asked for.
std::string bucket_mebibytes(std::int64_t bytes) {
  constexpr int kAllDigits = 17;
  std::string text;
  for (int digits = 1; digits <= kAllDigits; ++digits) {
    const double mebibytes =
        std::stod(fmt::format("{:.{}g}", static_cast<double>(bytes) / kMebibyte, digits));
    text = fmt::format("{}", mebibytes);
    if (static_cast<std::int64_t>(mebibytes * kMebibyte) == bytes) break;
  }
  return text;
}

using Values = std::function<std::vector<double>(const DdpRank&)>;

Record base_record(const DdpResult& result, const std::string& library,
                   const std::shared_ptr<const Environment>& environment) {
  const DdpSetup& setup = result.step.setup;
  Record record;
  record.benchmark.name = "ddp";
  record.benchmark.mode = "training";
  record.benchmark.dtype = "f32";
  record.model.name = setup.model;
  record.model.type = "OSS model";
  record.model.backend = setup.ddp ? setup.reducer : "";
  record.model.extra_info["library"] = library;
  record.model.extra_info["step"] = result.step.label;
  record.model.extra_info["parameters"] = std::to_string(result.ready.parameters);
  record.axes = {{"batch_size", std::to_string(setup.batch_size)},
                 {"ranks", std::to_string(setup.ranks)},
                 {"ddp", setup.ddp ? "yes" : "no"}};
  if (result.ready.takes_images) record.axes.emplace_back("image_size", std::to_string(setup.image_size));
  if (setup.ddp)
    record.axes.emplace_back("bucket_size", bucket_mebibytes(static_cast<std::int64_t>(setup.bucket_bytes)));
  record.device = setup.backend == "nccl" ? "cuda" : "cpu";
  record.runner = "torch-rank";
  record.threads = setup.threads;
  record.outcome = result.outcome;
  record.stop = result.stop;
  record.environment = environment;
  return record;
}

std::vector<double> shares(const std::vector<double>& part, const std::vector<double>& whole) {
  std::vector<double> values;
  for (std::size_t i = 0; i < std::min(part.size(), whole.size()); ++i) {
    if (whole[i] > 0) values.push_back(part[i] / whole[i]);
  }
  return values;
}

class DdpRecordMaker {
 public:
  DdpRecordMaker(const DdpResult& result, Record base) : result_(result), base_(std::move(base)) {}

  /// Nothing where a rank has no values.
  Record* add(const std::string& metric, const std::string& unit, double divisor, const Values& values,
              bool in_rounds = true) {
    std::vector<RankColumn> columns;
    for (const DdpRank& rank : result_.ranks) {
      columns.push_back({rank.pid, values(rank), in_rounds ? warmup_length(rank.rounds.iteration_ns) : 0});
    }
    auto record = rank_record(base_, metric, unit, divisor, std::move(columns), in_rounds);
    if (!record) return nullptr;
    records_.push_back(std::move(*record));
    return &records_.back();
  }

  void add_value(const std::string& metric, const std::string& unit, double value, double worst_error) {
    Record record = base_;
    record.metric.name = metric;
    record.metric.unit = unit;
    record.metric.value = value;
    record.metric.extra_info["worst error of the line"] = format_percent(worst_error);
    records_.push_back(std::move(record));
  }

  std::vector<Record> take() { return std::move(records_); }

 private:
  const DdpResult& result_;
  Record base_;
  std::vector<Record> records_;
};

void add_iteration(DdpRecordMaker& maker) {
  const auto time = [&](const char* metric, std::vector<double> DdpRounds::*column) {
    maker.add(metric, "s", kNsPerSecond, [column](const DdpRank& rank) { return rank.rounds.*column; });
  };
  time("latency", &DdpRounds::iteration_ns);
  time("without reduction", &DdpRounds::alone_ns);
  maker.add("exposed communication", "s", kNsPerSecond, [](const DdpRank& rank) {
    return round_differences(rank.rounds.iteration_ns, rank.rounds.alone_ns);
  });
  time("forward", &DdpRounds::forward_ns);
  time("backward", &DdpRounds::backward_ns);
  time("wait", &DdpRounds::wait_ns);
  time("step", &DdpRounds::step_ns);
}

void add_throughput(DdpRecordMaker& maker, const DdpSetup& setup) {
  const double examples = static_cast<double>(setup.batch_size) * setup.ranks;
  Record* throughput = maker.add("throughput", "examples/s", 1, [&](const DdpRank& rank) {
    std::vector<double> rates;
    for (const double ns : rank.rounds.iteration_ns) rates.push_back(examples * kNsPerSecond / ns);
    return rates;
  });
  if (throughput != nullptr) throughput->metric.direction = Direction::kHigherIsBetter;
}

void add_communication(DdpRecordMaker& maker, const DdpResult& result) {
  maker.add("communication", "s", kNsPerSecond,
            [](const DdpRank& rank) { return rank.rounds.communication_ns; });
  Record* overlap = maker.add("overlap", "1", 1, [](const DdpRank& rank) {
    return shares(rank.rounds.hidden_ns, rank.rounds.communication_ns);
  });
  if (overlap != nullptr) overlap->metric.direction = Direction::kHigherIsBetter;
  const std::vector<DdpBucket>& buckets = result.ranks.front().rounds.buckets;
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    for (const auto& [what, column] :
         {std::pair{"launched", &DdpBucket::launched_ns}, std::pair{"completed", &DdpBucket::completed_ns}}) {
      Record* record = maker.add(fmt::format("bucket {} {}", i, what), "us", kNsPerUs,
                                 [i, column = column](const DdpRank& rank) {
                                   const auto& all = rank.rounds.buckets;
                                   return i < all.size() ? all[i].*column : std::vector<double>();
                                 });
      if (record == nullptr) continue;
      record->metric.extra_info["bytes"] = std::to_string(buckets[i].bytes);
      record->metric.extra_info["tensors"] = std::to_string(buckets[i].tensors);
    }
  }
}

/// What an all-reduce costs by its size: alpha + beta * size.
void add_reductions(DdpRecordMaker& maker, const DdpResult& result) {
  std::vector<double> mebibytes, medians_us;
  for (std::size_t i = 0; i < result.reduced_bytes.size(); ++i) {
    const Record* record = maker.add(
        fmt::format("all-reduce {}", format_bytes(static_cast<double>(result.reduced_bytes[i]))), "us",
        kNsPerUs,
        [i](const DdpRank& rank) {
          return i < rank.reductions_ns.size() ? rank.reductions_ns[i] : std::vector<double>();
        },
        false);
    if (record == nullptr) continue;
    mebibytes.push_back(static_cast<double>(result.reduced_bytes[i]) / kMebibyte);
    medians_us.push_back(record->metric.value);
  }
  const auto fit = fit_line(mebibytes, medians_us);
  if (!fit) return;
  maker.add_value("all-reduce alpha", "us", fit->intercept, fit->worst_error);
  maker.add_value("all-reduce beta", "us/MiB", fit->slope, fit->worst_error);
}

}  // namespace

std::vector<Record> ddp_records(const DdpResult& result, const std::string& library,
                                const std::shared_ptr<const Environment>& environment) {
  if (result.step.is_warmup) return {};
  Record base = base_record(result, library, environment);
  const bool any = std::ranges::any_of(result.ranks,
                                       [](const DdpRank& rank) { return !rank.rounds.iteration_ns.empty(); });
  if (!any || result.outcome.kind != Outcome::Kind::kMeasured) {
    if (base.outcome.kind == Outcome::Kind::kMeasured) {
      base.outcome = {Outcome::Kind::kSkipped, "ended before its first iteration"};
    }
    base.metric.name = "latency";
    base.metric.unit = "s";
    base.metric.headline = true;
    return {base};
  }
  DdpRecordMaker maker(result, std::move(base));
  add_iteration(maker);
  add_throughput(maker, result.step.setup);
  if (result.ranks.size() > 1) {
    add_communication(maker, result);
    add_reductions(maker, result);
  }
  std::vector<Record> records = maker.take();
  records.front().metric.headline = true;
  const std::vector<std::string>& unused = result.ranks.front().agreement.unused;
  if (!unused.empty()) records.front().notes.push_back("no rank used the parameters " + join(unused, ", "));
  if (!result.no_trace.empty()) records.front().notes.push_back("no trace: " + result.no_trace);
  return records;
}

}  // namespace headroom
