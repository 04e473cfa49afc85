// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <utility>

#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/record/metrics.h"
#include "headroom/stats/quantile.h"

namespace headroom {
namespace {

/// Exact: uses bytes if a larger unit would round.
std::string size_text(std::int64_t bytes) {
  std::string text = format_bytes(static_cast<double>(bytes));
  try {
    if (parse_bytes(text) == bytes) return text;
  } catch (const std::exception&) {
  }
  return fmt::format("{} B", bytes);
}

std::string axis_identity(const AxisValues::value_type& axis) {
  // Tools differ in dtype names.
  std::string text = axis.first;
  text += '=';
  if (axis.second.is_ambiguous_text()) {
    append_json_string(text, axis.second.text());
    return text;
  }
  return text += axis.first == "dtype" ? torch_dtype(axis.second.text()) : axis.second.text();
}

std::string case_identity(const Record& record) {
  std::vector<std::string> axes;
  axes.reserve(record.axes.size());
  for (const auto& axis : record.axes) axes.push_back(axis_identity(axis));
  std::ranges::sort(axes);
  // A JSON array separates parts with any characters.
  std::string text;
  text.reserve(192);
  text += '[';
  const auto add = [&text](const std::string& part) {
    append_json_string(text, part);
    text += ',';
  };
  add(record.benchmark.name);
  add(record.benchmark.mode);
  add(record.model.name);
  add(record.model.backend);
  text += '[';
  std::ranges::for_each(axes, add);
  if (!axes.empty()) text.pop_back();
  text += "],";
  add(torch_dtype(record.benchmark.dtype));
  add(record.device);
  add(record.caches);
  text += std::to_string(record.threads);
  return text;
}

/// is_same_metric() names map to the older one, to continue histories.
const std::string& metric_identity(const Record& record) {
  static const std::string kRate = kFloatRate;
  return is_operation_rate(record.metric.name) ? kRate : record.metric.name;
}

/// identity() treats all invalid UTF-8 bytes as equal.
std::size_t text_hash(const std::string& text) {
  const bool is_ascii =
      std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  if (is_ascii) return std::hash<std::string_view>()(text);
  std::string written;
  append_json_string(written, text);
  return std::hash<std::string_view>()(written);
}

bool same_fields(const Record& a, const Record& b) {
  return a.model.name == b.model.name && a.axes == b.axes && a.benchmark.name == b.benchmark.name &&
         a.benchmark.mode == b.benchmark.mode && a.benchmark.dtype == b.benchmark.dtype &&
         a.model.backend == b.model.backend && a.device == b.device && a.caches == b.caches &&
         a.threads == b.threads;
}

}  // namespace

AxisValue::AxisValue(const std::string& written) : value_(written) {
  if (const auto whole = to_integer(written); whole && fmt::format("{}", *whole) == written) {
    value_ = *whole;
  } else if (const auto real = to_number(written);
             real && std::isfinite(*real) && fmt::format("{}", *real) == written) {
    value_ = *real;
  } else if (written == "True" || written == "False") {
    value_ = written == "True";
  }
}

AxisValue::AxisValue(const std::string& text, AxisType type) : AxisValue(text) {
  if (type == AxisType::kText) value_ = text;
  if (type == AxisType::kReal) value_ = to_number(text).value_or(NAN);
  if (const auto* real = std::get_if<double>(&value_); real != nullptr && !std::isfinite(*real))
    *this = AxisValue(text);
}

std::string AxisValue::text() const {
  if (const auto* size = std::get_if<Size>(&value_)) return size_text(size->bytes);
  if (const auto* whole = std::get_if<std::int64_t>(&value_)) return std::to_string(*whole);
  if (const auto* real = std::get_if<double>(&value_)) return fmt::format("{}", *real);
  if (const auto* truth = std::get_if<bool>(&value_)) return *truth ? "True" : "False";
  return std::get<std::string>(value_);
}

bool AxisValue::is_ambiguous_text() const {
  const auto* text = std::get_if<std::string>(&value_);
  return text != nullptr && AxisValue(*text).value_.index() != value_.index();
}

bool AxisValue::operator==(const AxisValue& other) const {
  const auto is_number = [](const AxisValue& one) {
    return std::holds_alternative<std::int64_t>(one.value_) || std::holds_alternative<double>(one.value_);
  };
  return value_.index() == other.value_.index()
             ? value_ == other.value_
             : is_number(*this) && is_number(other) && text() == other.text();
}

std::optional<bool> AxisValue::boolean() const {
  const auto* truth = std::get_if<bool>(&value_);
  return truth != nullptr ? std::optional(*truth) : std::nullopt;
}

std::optional<double> AxisValue::number() const {
  if (const auto* real = std::get_if<double>(&value_)) return *real;
  const auto whole = integer();
  return whole ? std::optional(static_cast<double>(*whole)) : std::nullopt;
}

std::optional<std::int64_t> AxisValue::integer() const {
  if (const auto* size = std::get_if<Size>(&value_)) return size->bytes;
  if (const auto* whole = std::get_if<std::int64_t>(&value_)) return *whole;
  return std::nullopt;
}

Record::Record() = default;
Record::Record(const Record& other) = default;
Record::Record(Record&& other) noexcept = default;
Record& Record::operator=(const Record& other) = default;
Record& Record::operator=(Record&& other) noexcept = default;
Record::~Record() = default;

Environment::Environment() = default;
Environment::Environment(const Environment& other) = default;
Environment::Environment(Environment&& other) noexcept = default;
Environment& Environment::operator=(const Environment& other) = default;
Environment& Environment::operator=(Environment&& other) noexcept = default;
Environment::~Environment() = default;

std::string case_name(const Record& record) {
  std::string name = record.model.name;
  for (const auto& [axis, value] : record.axes) name += " " + axis + "=" + value.text();
  return name;
}

std::string limit_name(const Limit& limit) {
  std::string name;
  for (const LimitPart& part : limit.parts) {
    name += (name.empty() ? "" : " + ") + part.kind;
    if (!part.dtype.empty()) name += " " + part.dtype;
    if (part.bytes > 0) name += " " + format_bytes(static_cast<double>(part.bytes));
    if (!part.pattern.empty()) name += " " + part.pattern;
  }
  const int threads = limit.parts.empty() ? 0 : limit.parts.front().threads;
  if (threads > 0) name += ", " + counted(static_cast<std::size_t>(threads), "thread");
  return name;
}

const AxisValue* axis(const Record& record, std::string_view name) {
  const auto found = std::ranges::find(record.axes, name, &AxisValues::value_type::first);
  return found == record.axes.end() ? nullptr : &found->second;
}

std::string axis_text(const Record& record, std::string_view name) {
  const AxisValue* value = axis(record, name);
  return value == nullptr ? "" : value->text();
}

bool is_neutral_setting(const AxisValue& value) {
  const std::string text = value.text();
  const bool zero = !text.empty() && text.find_first_not_of("0.x") == std::string::npos;
  constexpr std::array<std::string_view, 6> kNeutral{"", "false", "off", "none", "auto", "default"};
  return zero || value.boolean() == false || std::ranges::find(kNeutral, text) != kNeutral.end();
}

std::optional<std::int64_t> whole_axis(const Record& record, std::string_view name) {
  const AxisValue* value = axis(record, name);
  return value == nullptr ? std::nullopt : value->integer();
}

std::span<const double> steady(const ProcessSamples& process) {
  return std::span(process.values).subspan(std::min(process.warmup, process.values.size()));
}

std::vector<double> steady_values(const Record& record, double factor) {
  std::vector<double> values;
  values.reserve(sample_count(record));
  for (const ProcessSamples& process : record.samples) {
    for (const double value : steady(process)) values.push_back(value * factor);
  }
  return values;
}

std::vector<std::size_t> steady_sizes(const Record& record) {
  std::vector<std::size_t> sizes;
  for (const ProcessSamples& process : record.samples) {
    if (const std::size_t size = steady(process).size(); size > 0) sizes.push_back(size);
  }
  return sizes;
}

Series steady(const Record& record, double factor) {
  Series series;
  series.values = steady_values(record, factor);
  series.group_sizes = steady_sizes(record);
  const bool in_rounds = std::ranges::all_of(record.samples, [](const ProcessSamples& process) {
    return process.rounds.size() == process.values.size();
  });
  for (const ProcessSamples& process : record.samples) {
    if (!in_rounds) break;
    series.rounds.insert(series.rounds.end(), process.rounds.end() - std::ssize(steady(process)),
                         process.rounds.end());
  }
  return series;
}

void estimate(Record& record) {
  if (const auto found = estimate(steady(record))) {
    record.metric.value = found->median;
    record.interval = found->interval;
  }
}

std::size_t sample_count(const Record& record) {
  std::size_t count = 0;
  for (const ProcessSamples& process : record.samples) count += steady(process).size();
  return count;
}

std::vector<double> process_medians(const Record& record) {
  std::vector<double> medians;
  for (const ProcessSamples& process : record.samples) {
    const std::span<const double> values = steady(process);
    const bool usable =
        !values.empty() && std::ranges::all_of(values, [](double v) { return std::isfinite(v); });
    medians.push_back(usable ? median(values) : std::numeric_limits<double>::quiet_NaN());
  }
  return medians;
}

bool any_outcome(std::span<const Record> records, Outcome::Kind kind) {
  return std::ranges::any_of(records, [&](const Record& record) { return record.outcome.kind == kind; });
}

std::string torch_dtype(std::string_view dtype) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kNames{{{"bf16", "bfloat16"},
                                                                                 {"f16", "float16"},
                                                                                 {"fp16", "float16"},
                                                                                 {"f32", "float32"},
                                                                                 {"fp32", "float32"},
                                                                                 {"f64", "float64"},
                                                                                 {"fp64", "float64"},
                                                                                 {"s8", "int8"}}};
  for (const auto& [name, torch] : kNames) {
    if (name == dtype) return std::string(torch);
  }
  return std::string(dtype);
}

std::string architecture(const Record& record) {
  const auto said = record.benchmark.extra_info.find("arch");
  if (said != record.benchmark.extra_info.end()) return said->second;
  if (!record.environment || record.environment->machines.empty()) return {};
  const Environment::Runner& machine = record.environment->machines.front();
  if (record.device.starts_with("cuda")) return machine.gpu_info;
  const auto arch = machine.extra_info.find("arch");
  if (arch != machine.extra_info.end()) return arch->second;
  const auto uname = machine.extra_info.find("machine");
  return uname != machine.extra_info.end() ? uname->second : machine.type;
}

std::string identity(const Record& record) {
  std::string text = case_identity(record);
  text += ',';
  append_json_string(text, metric_identity(record));
  return text += ']';
}

std::size_t case_hash(const Record& record) {
  std::size_t hash = 0;
  const auto add = [&hash](std::size_t part) { hash = (hash ^ part) * 0x9e3779b97f4a7c15U; };
  for (const std::string* part : {&record.benchmark.name, &record.benchmark.mode, &record.model.name,
                                  &record.model.backend, &record.device, &record.caches})
    add(text_hash(*part));
  add(text_hash(torch_dtype(record.benchmark.dtype)));
  add(static_cast<std::size_t>(record.threads));
  std::size_t axes = 0;  // order-independent
  for (const auto& axis : record.axes) axes += text_hash(axis_identity(axis));
  add(axes);
  return hash ^ hash >> 32;
}

bool same_case(const Record& a, const Record& b) {
  return same_fields(a, b) || case_identity(a) == case_identity(b);
}

std::size_t identity_hash(const Record& record) {
  return case_hash(record) * 31 + text_hash(metric_identity(record));
}

bool same_identity(const Record& a, const Record& b) {
  return (metric_identity(a) == metric_identity(b) && same_fields(a, b)) || identity(a) == identity(b);
}

namespace {

/// Finds the first number beyond the bounds.
class BoundsCheck {
 public:
  template <typename... Parts>
  void test(double number, fmt::format_string<Parts...> path, Parts&&... parts) {
    if (number_ || is_bounded(number) || std::isnan(number)) return;
    number_ = number;
    path_ = fmt::format(path, std::forward<Parts>(parts)...);
  }

  explicit operator bool() const { return number_.has_value(); }
  std::string text() const {
    return fmt::format("{}: {:g} is no measurement; a number is 0 or from {:g} to {:g}", path_, *number_,
                       kMinMagnitude, kMaxMagnitude);
  }

 private:
  std::optional<double> number_;
  std::string path_;
};

void check_samples(BoundsCheck& check, const Record& record) {
  for (std::size_t p = 0; p < record.samples.size(); ++p) {
    const ProcessSamples& process = record.samples[p];
    for (std::size_t i = 0; i < process.values.size(); ++i)
      check.test(process.values[i], "/samples/{}/values/{}", p, i);
    for (std::size_t i = 0; i < process.noise.size(); ++i) {
      const SampleNoise noise = process.noise[i];
      for (const double number : {noise.steal_ms, noise.frequency_mhz, noise.placement_ns})
        check.test(number, "/samples/{}/noise: sample {}", p, i);
    }
    for (std::size_t i = 0; i < process.device.size(); ++i) {
      const DeviceNoise& device = process.device[i];
      for (const double number : {device.sm_mhz, device.memory_mhz, device.power_w, device.temperature_c})
        check.test(number, "/samples/{}/device: sample {}", p, i);
    }
  }
}

void check_derived(BoundsCheck& check, const Record& record) {
  if (const auto& limit = record.limit) {
    check.test(limit->value, "/limit/value");
    check.test(limit->fraction, "/limit/fraction");
    if (limit->rounds) {
      check.test(limit->rounds->lower_quartile, "/limit/rounds/lower_quartile");
      check.test(limit->rounds->upper_quartile, "/limit/rounds/upper_quartile");
    }
  }
  if (record.ratio) check.test(record.ratio->ratio, "/ratio/ratio");
  for (const Mode& mode : record.modes.groups) {
    check.test(mode.median, "/modes/groups");
    check.test(mode.share, "/modes/groups");
  }
  for (const Note& note : record.notes) {
    for (const double number : note.numbers) check.test(number, "/note_values");
  }
  check.test(record.busy_cpus, "/busy_cpus");
  check.test(record.huge_pages.value_or(0), "/huge_pages");
  if (record.slowest) check.test(record.slowest->share, "/slowest/share");
  // Errors may be as small as a double.
  for (const double error : {record.max_error, record.error_bound}) {
    if (std::abs(error) > kMaxMagnitude) check.test(error, "/max_error");
  }
}

void drop_unbounded(std::optional<Interval>& interval) {
  if (interval && !(is_bounded(interval->low) && is_bounded(interval->high))) interval.reset();
}

}  // namespace

void fail_if_unbounded(Record& record, const std::function<std::string()>& where) {
  BoundsCheck check;
  check.test(record.metric.value, "/metric/value");
  check.test(record.metric.target.value_or(0), "/metric/target");
  check.test(record.metric.target_share.value_or(0), "/metric/target_share");
  for (const auto& [name, number] : record.metric.numbers) check.test(number, "/metric/numbers/{}", name);
  check_samples(check, record);
  check_derived(check, record);
  drop_unbounded(record.interval);
  if (record.limit) drop_unbounded(record.limit->interval);
  if (record.ratio) drop_unbounded(record.ratio->interval);
  if (!check) return;
  if (record.outcome.kind == Outcome::Kind::kMeasured || record.kept_wrong)
    record.outcome = {Outcome::Kind::kFailed, where() + check.text()};
  record.kept_wrong = record.verified = false;
  record.metric.value = record.max_error = record.error_bound = record.busy_cpus = 0;
  record.metric.target.reset();
  record.metric.target_share.reset();
  record.metric.numbers.clear();
  record.samples.clear();
  record.interval.reset();
  record.limit.reset();
  record.ratio.reset();
  record.modes = {};
  record.huge_pages.reset();
  record.slowest.reset();
  record.runs.clear();
  record.notes.clear();
}

}  // namespace headroom
