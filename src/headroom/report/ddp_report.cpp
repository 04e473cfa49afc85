// SPDX-License-Identifier: Apache-2.0
#include "headroom/report/ddp_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/json_stream.h"
#include "headroom/base/text.h"
#include "headroom/report/decimal_text.h"
#include "headroom/report/python_text.h"

namespace headroom {
namespace {

class Reader {
 public:
  explicit Reader(const std::filesystem::path& path) : stream_(path) { report_.source = path.string(); }

  DdpReport read() {
    require('{', "the report", "an object");
    stream_.members([&](const std::string& key) {
      if (key == "benchmark_results") {
        read_models();
      } else {
        report_.fields[key] = python_str(stream_.raw_value(), report_.source + ": /" + key);
      }
    });
    stream_.finish();
    if (!has_results_) throw Error(report_.source + ": /benchmark_results: missing: this is no DDP report");
    return std::move(report_);
  }

 private:
  void require(char first, const std::string& path, const char* wanted) {
    if (stream_.peek() != first) stream_.refuse(path + ": expected " + wanted);
  }

  std::string where(const std::string& key) const {
    return fmt::format("/benchmark_results/{}/{}", report_.models.size() - 1, key);
  }

  void read_models() {
    has_results_ = true;
    report_.models.clear();
    require('[', "/benchmark_results", "a list");
    stream_.elements([&] {
      report_.models.emplace_back();
      require('{', fmt::format("/benchmark_results/{}", report_.models.size() - 1), "an object");
      stream_.members([&](const std::string& key) { read_member(key); });
    });
  }

  void read_member(const std::string& key) {
    DdpReport::Model& model = report_.models.back();
    if (key == "model") {
      model.name = python_str(stream_.raw_value(), report_.source + ": " + where(key));
    } else if (key == "batch_size") {
      model.batch_size = read_batch_size();
    } else if (key == "result") {
      read_rounds(model.rounds.emplace());
    } else {
      stream_.skip_value();
    }
  }

  DdpReport::BatchSize read_batch_size() {
    DdpReport::BatchSize size;
    size.is_text = stream_.peek() == '"';
    const std::string text = python_str(stream_.raw_value(), report_.source + ": " + where("batch_size"));
    if (text == "True" || text == "False") {
      size.value = text == "True" ? 1 : 0;
      size.text = text == "True" ? "1" : "0";
      return size;
    }
    const auto number = to_number(trimmed(text));
    const bool whole = text.find_first_of(".eEni") == std::string::npos;
    if (!number || !std::isfinite(*number) || (size.is_text && !whole)) {
      throw Error(report_.source + ": " + where("batch_size") + ": expected a number, found " +
                  in_quotes(text));
    }
    size.value = *number;
    // As int() gives it: towards zero, and without the sign of a zero.
    size.text = whole ? std::string(trimmed(text)) : fmt::format("{:.0f}", std::trunc(*number) + 0.0);
    return size;
  }

  void read_rounds(std::vector<DdpReport::Round>& rounds) {
    require('[', where("result"), "a list");
    stream_.elements([&] {
      // The first is the one without DDP: nobody looks at it.
      const bool needed = !rounds.empty();
      rounds.emplace_back();
      if (needed) {
        read_round(rounds.back(), fmt::format("{}/{}", where("result"), rounds.size() - 1));
      } else {
        stream_.skip_value();
      }
    });
  }

  void read_round(DdpReport::Round& round, const std::string& path) {
    require('{', path, "an object");
    stream_.members([&](const std::string& key) {
      if (key == "ranks") {
        require('[', path + "/ranks", "a list");
        std::size_t count = 0;
        stream_.elements([&] {
          stream_.skip_value();
          ++count;
        });
        round.ranks = count;
      } else if (key == "measurements") {
        require('[', path + "/measurements", "a list");
        sample_.clear();
        read_numbers(stream_, sample_);
        round.measurements = sample_.size();
        if (sample_.size() > 0)
          std::ranges::copy(sample_.percentiles(DdpReport::kPercentiles), round.percentiles.begin());
      } else {
        stream_.skip_value();
      }
    });
  }

  JsonStream stream_;
  DdpReport report_;
  DecimalSample sample_;
  bool has_results_ = false;
};

}  // namespace

DdpReport read_ddp_report(const std::filesystem::path& path) {
  return Reader(path).read();
}

}  // namespace headroom
