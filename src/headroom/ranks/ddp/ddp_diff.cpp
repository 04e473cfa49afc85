// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/ddp/ddp_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <future>
#include <set>

#include "headroom/base/error.h"
#include "headroom/ranks/ddp/ddp_report.h"
#include "headroom/ranks/ddp/python_text.h"

namespace headroom {
namespace {

/// Where a value stands, for messages.
struct Place {
  const DdpReport& report;
  std::size_t model = 0;

  template <typename T>
  const T& required(const std::optional<T>& member, const std::string& name) const {
    if (!member) {
      throw Error(fmt::format("{}: /benchmark_results/{}/{}: missing", report.source, model, name));
    }
    return *member;
  }
};

std::string value_of(const DdpReport& report, const std::string& key) {
  const auto found = report.fields.find(key);
  return found == report.fields.end() ? "-" : found->second;
}

std::string head(const DdpReport& a, const DdpReport& b) {
  const std::string rule(20, '-');
  std::string out = fmt::format("{:20} {:>20}      {:>20}\n", "", "baseline", "test");
  out += fmt::format("{:20} {:>20}      {:>20}\n", "", rule, rule);
  std::set<std::string> keys;
  for (const auto& [key, value] : a.fields) keys.insert(key);
  for (const auto& [key, value] : b.fields) keys.insert(key);
  for (const std::string& key : keys) {
    out += python_padded(key + ":", 20, false) + " " + python_padded(value_of(a, key), 20, true) + "  vs  " +
           python_padded(value_of(b, key), 20, true) + "\n";
  }
  return out + "\n";
}

std::string measurement(int percentile, double before, double after, double batch_size, const Place& test) {
  const double rate = std::trunc(batch_size / after);
  if (!std::isfinite(rate)) {
    throw Error(fmt::format("{}: /benchmark_results/{}: a time of {} has no rate", test.report.source,
                            test.model, after == 0 ? "zero" : python_float(after)));
  }
  const double delta = -100 * ((after - before) / before);
  // Adding zero takes the sign off a zero: it is printed as a whole number.
  return fmt::format("  p{:02}: {}s {:7.0f}/s {}%", percentile, python_fixed(after, 8, 3, false), rate + 0.0,
                     python_fixed(std::isnan(delta) ? std::fabs(delta) : delta, 8, 1, true));
}

void append_round(std::string& out, const Place& a, const Place& b, std::size_t index, double batch_size) {
  const DdpReport::Round& before = (*a.report.models[a.model].rounds)[index];
  const DdpReport::Round& after = (*b.report.models[b.model].rounds)[index];
  const std::string path = fmt::format("result/{}/", index);
  const std::size_t ranks = a.required(before.ranks, path + "ranks");
  if (ranks != b.required(after.ranks, path + "ranks")) return;
  for (const auto& [place, round] : {std::pair{&a, &before}, std::pair{&b, &after}}) {
    if (round->measurements == 0) {
      throw Error(fmt::format("{}: /benchmark_results/{}/{}measurements: missing or empty",
                              place->report.source, place->model, path));
    }
  }
  out += fmt::format("{:>4} GPUs:", ranks);
  for (std::size_t p = 0; p < DdpReport::kPercentiles.size(); ++p) {
    out +=
        measurement(DdpReport::kPercentiles[p], before.percentiles[p], after.percentiles[p], batch_size, b);
  }
  out += '\n';
}

void append_model(std::string& out, const Place& a, const Place& b) {
  const DdpReport::Model& before = a.report.models[a.model];
  const DdpReport::Model& after = b.report.models[b.model];
  const std::string& name = a.required(before.name, "model");
  if (name != b.required(after.name, "model")) return;
  const DdpReport::BatchSize& size = a.required(before.batch_size, "batch_size");
  const DdpReport::BatchSize& other = b.required(after.batch_size, "batch_size");
  if (size.is_text != other.is_text || size.value != other.value) return;
  out += fmt::format("Benchmark: {} with batch size {}\n\n{:10}", name, size.text, "");
  for (std::size_t p = 0; p < DdpReport::kPercentiles.size(); ++p) {
    out += fmt::format("{:>16}{:>10}{:>10}", "sec/iter", "ex/sec", "diff");
  }
  out += '\n';
  const std::size_t rounds =
      std::min(a.required(before.rounds, "result").size(), b.required(after.rounds, "result").size());
  const double batch_size = std::trunc(size.value);
  for (std::size_t i = 1; i < rounds; ++i) append_round(out, a, b, i, batch_size);
  out += '\n';
}

}  // namespace

std::string ddp_diff(const DdpReport& baseline, const DdpReport& test) {
  std::string out = head(baseline, test);
  const std::size_t models = std::min(baseline.models.size(), test.models.size());
  for (std::size_t i = 0; i < models; ++i) append_model(out, {baseline, i}, {test, i});
  return out;
}

std::string ddp_diff(const std::filesystem::path& baseline, const std::filesystem::path& test) {
  constexpr std::uintmax_t kWorthAThread = 1 << 20;
  std::error_code ignored;
  const std::uintmax_t bytes = std::filesystem::file_size(test, ignored);
  const bool large = !ignored && bytes > kWorthAThread;
  auto other = std::async(large ? std::launch::async : std::launch::deferred, read_ddp_report, test);
  const DdpReport before = read_ddp_report(baseline);
  return ddp_diff(before, other.get());
}

}  // namespace headroom
