// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/ddp/ddp_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/json_stream.h"
#include "headroom/base/text.h"
#include "headroom/ranks/ddp/decimal_text.h"
#include "headroom/ranks/ddp/python_text.h"
#include "headroom/record/ddp_report_walk.h"

namespace headroom {
namespace {

class Reader : DdpReportWalk {
 public:
  Reader(JsonStream& stream, const std::string& source) : DdpReportWalk(stream, source) {
    report_.source = source;
  }

  DdpReport read() {
    walk();
    return std::move(report_);
  }

 private:
  void begin_results() override { report_.models.clear(); }
  void take_field(const std::string& key) override { report_.fields[key] = python_str(stream()); }
  void begin_model() override { report_.models.emplace_back(); }
  void take_model() override { report_.models.back().name = python_str(stream()); }
  void take_batch_size() override { report_.models.back().batch_size = read_batch_size(); }
  void begin_rounds() override { report_.models.back().rounds.emplace(); }

  /// The first is the one without DDP: nobody looks at it.
  bool begin_round(std::size_t index) override {
    report_.models.back().rounds->emplace_back();
    return index > 0;
  }

  /// As many as Python's len() says: of a list, of the different keys of an object, of the characters of a
  /// text.
  void take_ranks() override {
    std::size_t count = 0;
    std::set<std::string> keys;
    switch (stream().peek()) {
      case '{':
        stream().members([&](const std::string& key) {
          stream().skip_value();
          keys.insert(key);
        });
        count = keys.size();
        break;
      case '"': {
        const std::string text = stream().value().get<std::string>();
        count = display_width(text);
        break;
      }
      default:
        require('[', "a list");
        stream().elements([&] {
          stream().skip_value();
          ++count;
        });
    }
    report_.models.back().rounds->back().ranks = count;
  }

  void take_measurements() override {
    DdpReport::Round& round = report_.models.back().rounds->back();
    sample_.clear();
    read_numbers(stream(), sample_);
    round.measurements = sample_.size();
    if (sample_.size() > 0)
      std::ranges::copy(sample_.percentiles(DdpReport::kPercentiles), round.percentiles.begin());
  }

  DdpReport::BatchSize read_batch_size() {
    DdpReport::BatchSize size;
    size.is_text = stream().peek() == '"';
    const std::string text = python_str(stream());
    if (text == "True" || text == "False") {
      size.value = text == "True" ? 1 : 0;
      size.text = text == "True" ? "1" : "0";
      return size;
    }
    const auto number = to_number(trimmed(text));
    const bool whole = text.find_first_of(".eEni") == std::string::npos;
    if (!number || !std::isfinite(*number) || (size.is_text && !whole)) {
      throw Error(where() + ": expected a number, found " + in_quotes(text));
    }
    size.value = *number;
    // As int() gives it: towards zero, and without the sign of a zero.
    size.text = whole ? std::string(trimmed(text)) : fmt::format("{:.0f}", std::trunc(*number) + 0.0);
    return size;
  }

  DdpReport report_;
  DecimalSample sample_;
};

}  // namespace

DdpReport read_ddp_report(const std::filesystem::path& path) {
  JsonStream stream(path);
  stream.accept_python_numbers();
  return Reader(stream, path.string()).read();
}

}  // namespace headroom
