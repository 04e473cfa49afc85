// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/samples_json.h"

#include <simdjson.h>

#include <limits>
#include <string_view>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/record/codec.h"

namespace headroom {
namespace {

namespace ondemand = simdjson::ondemand;

/// Thrown where the text is not what we write; never leaves this file.
struct Unusual {};

double read_number(ondemand::value value) {
  double number = 0;
  if (value.get_double().get(number) == simdjson::SUCCESS) return number;
  if (!value.is_null()) throw Unusual();
  return std::numeric_limits<double>::quiet_NaN();
}

template <typename Integer>
Integer read_whole(ondemand::value value) {
  const std::uint64_t number = value.get_uint64();
  if (number > std::numeric_limits<Integer>::max()) throw Unusual();
  return static_cast<Integer>(number);
}

/// One column of `noise`, into the samples that it belongs to.
template <typename Field>
void read_column(ondemand::array array, Field SampleNoise::*field, std::vector<SampleNoise>& noise) {
  std::size_t index = 0;
  for (ondemand::value value : array) {
    if (noise.size() <= index) noise.emplace_back();
    if constexpr (std::is_same_v<Field, double>) {
      noise[index++].*field = read_number(value);
    } else {
      noise[index++].*field = read_whole<Field>(value);
    }
  }
  if (index != noise.size()) throw Unusual();
}

void read_noise(ondemand::object object, std::vector<SampleNoise>& noise) {
  for (ondemand::field member : object) {
    const std::string_view key = member.unescaped_key();
    const ondemand::array column = member.value().get_array();
    if (key == "steal_ms") {
      read_column(column, &SampleNoise::steal_ms, noise);
    } else if (key == "involuntary_switches") {
      read_column(column, &SampleNoise::involuntary_switches, noise);
    } else if (key == "page_faults") {
      read_column(column, &SampleNoise::page_faults, noise);
    } else if (key == "frequency_mhz") {
      read_column(column, &SampleNoise::frequency_mhz, noise);
    } else if (key == "placement_ns") {
      read_column(column, &SampleNoise::placement_ns, noise);
    } else {
      throw Unusual();
    }
  }
}

ProcessSamples read_process(ondemand::object object) {
  ProcessSamples process;
  bool has_values = false;
  for (ondemand::field member : object) {
    const std::string_view key = member.unescaped_key();
    if (key == "values" && !has_values) {
      has_values = true;
      for (ondemand::value value : member.value().get_array()) process.values.push_back(read_number(value));
    } else if (key == "rounds" && process.rounds.empty()) {
      for (ondemand::value value : member.value().get_array()) {
        process.rounds.push_back(read_whole<std::uint32_t>(value));
      }
    } else if (key == "noise" && process.noise.empty()) {
      read_noise(member.value().get_object(), process.noise);
    } else if (key == "pid") {
      process.pid = member.value().get_int64();
    } else if (key == "iterations") {
      process.iterations = read_whole<std::uint64_t>(member.value());
    } else if (key == "warmup") {
      process.warmup = read_whole<std::size_t>(member.value());
    } else {
      throw Unusual();
    }
  }
  const std::size_t count = process.values.size();
  if (!has_values || process.warmup > count || (!process.rounds.empty() && process.rounds.size() != count) ||
      (!process.noise.empty() && process.noise.size() != count)) {
    throw Unusual();
  }
  return process;
}

/// Takes the samples out of a text. What is left is a text of the same form with empty lists of samples.
class SampleExtraction {
 public:
  explicit SampleExtraction(const PaddedText& text) : text_(text.view()) {
    ondemand::document document = parser_.iterate(text_.data(), text_.size(), text.capacity());
    for (ondemand::field member : document.get_object()) {
      if (std::string_view(member.unescaped_key()) != "records") continue;
      // A second list would replace the first one.
      if (!samples_.empty()) throw Unusual();
      for (ondemand::object record : member.value().get_array()) read_record(record);
    }
    left_ += text_.substr(copied_);
  }

  const std::string& left() const { return left_; }
  std::vector<std::vector<ProcessSamples>>& samples() { return samples_; }

 private:
  void read_record(ondemand::object record) {
    std::vector<ProcessSamples>& samples = samples_.emplace_back();
    bool is_first = true;
    for (ondemand::field member : record) {
      if (std::string_view(member.unescaped_key()) != "samples") continue;
      if (!std::exchange(is_first, false)) throw Unusual();
      ondemand::value value = member.value();
      const char* begin = value.current_location();
      for (ondemand::object process : value.get_array()) samples.push_back(read_process(process));
      const char* end = value.current_location();
      left_ += text_.substr(copied_, static_cast<std::size_t>(begin - text_.data()) - copied_);
      left_ += "[]";
      copied_ = static_cast<std::size_t>(end - text_.data());
    }
  }

  std::string_view text_;
  ondemand::parser parser_;
  std::string left_;
  std::size_t copied_ = 0;
  std::vector<std::vector<ProcessSamples>> samples_;
};

}  // namespace

std::optional<std::vector<Record>> fast_records_from_json(const PaddedText& text, const std::string& source) {
  try {
    SampleExtraction extraction(text);
    std::vector<Record> records = records_from_json_text(extraction.left(), source);
    if (records.size() != extraction.samples().size()) return std::nullopt;
    for (std::size_t i = 0; i < records.size(); ++i) records[i].samples = std::move(extraction.samples()[i]);
    return records;
  } catch (const simdjson::simdjson_error&) {
    return std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  } catch (const Unusual&) {
    return std::nullopt;
  }
}

}  // namespace headroom
