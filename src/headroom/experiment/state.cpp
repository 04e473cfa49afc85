// SPDX-License-Identifier: Apache-2.0
#include "headroom/experiment/state.h"

#include <fmt/format.h>

#include <cmath>
#include <mutex>
#include <stdexcept>

#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/experiment/buffer.h"
#include "headroom/machine/cpu_folder.h"
#include "headroom/machine/memory.h"
#include "headroom/record/noise.h"

namespace headroom {
namespace {

double as_double(float value) {
  return value;
}
double as_double(double value) {
  return value;
}
double as_double(Bf16 value) {
  return to_float(value);
}

template <typename T>
void poison(std::span<T> output) {
  const auto bytes = std::as_writable_bytes(output);
  std::fill(bytes.begin(), bytes.end(), std::byte{0xff});
}

/// Of a verification that is repeated.
constexpr std::size_t kMaxRepeatedValues = std::size_t{1} << 20;

struct Amount {
  double number;
  const char* unit;
};

/// False for NaN, too.
bool is_within(double number, double least, double most) {
  return number >= least && number <= most;
}

bool is_amount(double number) {
  return number >= 0 && is_bounded(number);
}

}  // namespace

std::shared_ptr<void> SharedObjects::find(const std::string& key) {
  for (const auto& [name, object] : objects_) {
    if (name == key) return object.lock();
  }
  return nullptr;
}

void SharedObjects::put(const std::string& key, const std::shared_ptr<void>& object) {
  std::erase_if(objects_, [&](const auto& entry) { return entry.second.expired(); });
  objects_.emplace_back(key, object);
}

State::State(CaseSpec spec, SampleSource& source, SharedObjects& shared)
    : spec_(std::move(spec)), source_(source), shared_(shared) {}

State::~State() {
  restore_threads();
}

const std::string& State::text(std::string_view axis) const {
  for (const auto& [name, value] : spec_.axes) {
    if (name == axis) return value;
  }
  throw std::logic_error("experiment " + spec_.experiment + " has no axis " + quote(axis));
}

std::int64_t State::integer(std::string_view axis) const {
  const auto value = to_integer(text(axis));
  if (!value)
    throw std::logic_error("axis " + quote(axis) + " of " + spec_.experiment + " is not an integer");
  return *value;
}

std::size_t State::rotate(std::size_t bytes) {
  info_.copies = 1;
  if (spec_.caches == Caches::kCold && bytes > 0) {
    const std::size_t target =
        2 * (cache_bytes_ ? *cache_bytes_ : static_cast<std::size_t>(last_level_cache_bytes()));
    info_.copies = std::max<std::size_t>(2, (target + bytes - 1) / bytes);
  }
  return info_.copies;
}

void State::require_memory(std::size_t bytes) const {
  if (spec_.most_bytes > 0 && bytes > spec_.most_bytes) {
    skip(fmt::format("needs {} of memory, more than the {} of a quick first run",
                     format_bytes(static_cast<double>(bytes)),
                     format_bytes(static_cast<double>(spec_.most_bytes))));
  }
  const std::int64_t available = available_memory_bytes();
  if (static_cast<std::int64_t>(bytes) <= available) return;
  skip(fmt::format("needs {} of memory, only {} are available", format_bytes(static_cast<double>(bytes)),
                   format_bytes(static_cast<double>(available))));
}

void State::rate(const std::string& name, double amount, const std::string& unit) {
  info_.metrics.push_back({name, unit, Direction::kHigherIsBetter, ReportedMetric::Kind::kRate, amount});
}

void State::value(const std::string& name, double value, const std::string& unit, Direction direction) {
  info_.metrics.push_back({name, unit, direction, ReportedMetric::Kind::kValue, value});
}

Column State::column(const std::string& name, const std::string& unit, Direction direction) {
  info_.metrics.push_back({name, unit, direction, ReportedMetric::Kind::kColumn, 0});
  return Column(column_sums_.emplace_back(0));
}

void State::wrong_answer(const std::string& reason) {
  const std::string said = (is_after_samples_ ? "after its samples: " : "") + reason;
  if (!spec_.keep_wrong) throw WrongAnswer{said};
  std::string& wrong = measured_ ? conclusion_.wrong : info_.wrong;
  if (wrong.empty()) wrong = said;
  info_.verified = false;
}

/// Every `stride`-th expected value, and the root mean square of all.
struct State::Reference {
  std::span<const double> values;
  std::size_t stride = 1;
  double rms = root_mean_square(values);
};

struct State::Errors {
  double largest = 0;   ///< of the finite scaled_error()
  double squares = 0;   ///< sum of (actual - expected)^2 where finite
  double rms = 0;       ///< of the expected values
  std::string first{};  ///< sentence about the first excessive error; empty without one
};

void State::judge(const Errors& errors, std::size_t values, const Tolerance& tolerance) {
  const double together = values == 0 || errors.rms == 0
                              ? 0
                              : std::sqrt(errors.squares / static_cast<double>(values)) / errors.rms;
  info_.max_error = std::max(info_.max_error, errors.largest);
  info_.tolerance = std::max(info_.tolerance, tolerance.relative);
  if (!info_.sums_in || (tolerance.sums_in && *tolerance.sums_in < *info_.sums_in)) {
    info_.sums_in = tolerance.sums_in;
  }
  if (!errors.first.empty()) return wrong_answer(errors.first);
  if (together > tolerance.root_mean_square) {
    return wrong_answer(
        fmt::format("wrong answer: the root mean square error of all {} values is {:.2g} of the float64 "
                    "reference (tolerance {:.2g} for sums in {}); no single error is too large",
                    values, together, tolerance.root_mean_square,
                    to_string(tolerance.sums_in.value_or(Precision::kF32))));
  }
  info_.verified = info_.wrong.empty();
}

template <typename T>
void State::verify_values(const std::function<void()>& run, std::span<T> output,
                          std::span<const double> expected, Tolerance tolerance) {
  poison(output);
  run();
  check(std::span<const T>(output), expected, tolerance);
  // Odd, to meet all columns of a matrix.
  const std::size_t stride = (expected.size() + kMaxRepeatedValues - 1) / kMaxRepeatedValues | 1;
  std::vector<double> kept;
  for (std::size_t i = 0; i < expected.size(); i += stride) kept.push_back(expected[i]);
  after_samples([=, this, kept = std::move(kept), rms = root_mean_square(expected)] {
    poison(output);
    run();
    check_values<T>(output, {kept, stride, rms}, tolerance);
  });
}

template <typename T>
void State::check_values(std::span<const T> output, const Reference& reference, Tolerance tolerance) {
  Errors errors;
  errors.rms = reference.rms;
  for (std::size_t k = 0; k < reference.values.size(); ++k) {
    const std::size_t i = k * reference.stride;
    const double actual = as_double(output[i]), expected = reference.values[k];
    const double difference = std::fabs(actual - expected);
    const double error = scaled_error(actual, expected, errors.rms);
    if (std::isfinite(error) && difference > tolerance.absolute)
      errors.largest = std::max(errors.largest, error);
    if (std::isfinite(difference)) errors.squares += difference * difference;
    const bool near = difference <= tolerance.absolute || error <= tolerance.relative;
    if (near || !errors.first.empty()) continue;
    errors.first = fmt::format(
        "wrong answer at index {} of {}: {:.7g}, the float64 reference is {:.7g} (error {:.2g}, tolerance "
        "{:.2g}{})",
        i, output.size(), actual, expected, error, tolerance.relative,
        tolerance.sums_in ? fmt::format(" for sums in {}", to_string(*tolerance.sums_in)) : "");
  }
  judge(errors, reference.values.size(), tolerance);
}

template <typename T>
void State::check_all(std::span<const T> actual, std::span<const double> expected, Tolerance tolerance) {
  if (actual.size() != expected.size()) {
    throw WrongAnswer{
        fmt::format("the result has {} values, the reference {}", actual.size(), expected.size())};
  }
  check_values(actual, Reference{expected}, tolerance);
}

void State::verify(const std::function<void()>& run, std::span<float> output,
                   std::span<const double> expected, Tolerance tolerance) {
  verify_values(run, output, expected, tolerance);
}
void State::verify(const std::function<void()>& run, std::span<double> output,
                   std::span<const double> expected, Tolerance tolerance) {
  verify_values(run, output, expected, tolerance);
}
void State::verify(const std::function<void()>& run, std::span<Bf16> output, std::span<const double> expected,
                   Tolerance tolerance) {
  verify_values(run, output, expected, tolerance);
}

void State::check(std::span<const float> actual, std::span<const double> expected, Tolerance tolerance) {
  check_all(actual, expected, tolerance);
}
void State::check(std::span<const double> actual, std::span<const double> expected, Tolerance tolerance) {
  check_all(actual, expected, tolerance);
}
void State::check(std::span<const Bf16> actual, std::span<const double> expected, Tolerance tolerance) {
  check_all(actual, expected, tolerance);
}

void State::begin() {
  if (measured_) throw std::logic_error("experiment " + spec_.experiment + " measures twice");
  measured_ = true;
  restore_threads();
  const BufferPages pages = buffer_pages();
  info_.huge_pages = huge_share(pages);
  if (info_.huge_pages) info_.notes.emplace(kHugePagesKey, text_of(pages));
  if (const std::string what = invalid_number_text(info_); !what.empty())
    throw std::logic_error("experiment " + spec_.experiment + " " + what);
  source_.ready(info_);
}

std::optional<SampleRequest> State::next() {
  std::optional<SampleRequest> request = source_.next();
  if (request || !source_.is_concluding()) return request;
  is_after_samples_ = true;
  for (const std::function<void()>& check : after_samples_) check();
  is_after_samples_ = false;
  restore_threads();
  return request;
}

void State::restore_threads() {
  std::mutex mutex;
  on_threads_([&] {
    const std::vector<std::string> changed = before_.restore();
    const std::lock_guard lock(mutex);
    restored(changed);
  });
}

void State::restored(const std::vector<std::string>& settings) {
  for (const std::string& setting : settings) {
    if (std::ranges::find(conclusion_.changed, setting) == conclusion_.changed.end())
      conclusion_.changed.push_back(setting);
  }
}

void State::run_wrapped(const SampleRequest& request, const std::function<void()>& run) {
  (*request.wrapper)(run);
  restore_threads();
  source_.deliver({0, request.iterations, {}, {}, {}});
}

DeviceNoise State::device_noise_since(const DeviceNoise& before) const {
  DeviceNoise now = read_device_noise();
  now.throttle |= before.throttle;
  return now;
}

void State::clear_columns() {
  std::ranges::fill(column_sums_, 0);
}

std::vector<double> State::columns_of(std::uint64_t iterations) const {
  std::vector<double> columns;
  for (const double sum : column_sums_) columns.push_back(sum / static_cast<double>(iterations));
  return columns;
}

void State::deliver(const Sample& sample) {
  restore_threads();
  if (const std::string what = invalid_number_text(sample); !what.empty())
    throw std::runtime_error("experiment " + spec_.experiment + " " + what);
  source_.deliver(sample);
}

std::string invalid_number_text(const CaseInfo& info) {
  const Work& work = info.work;
  for (const auto& [number, unit] :
       {Amount{work.flops, "FLOPs"}, Amount{work.bytes, "bytes"}, Amount{work.bytes_written, "bytes written"},
        Amount{work.exchanged, "bytes exchanged"}}) {
    if (!is_amount(number)) return fmt::format("reports work of {} {}", number, unit);
  }
  if (work.bytes_written > work.bytes) {
    return fmt::format("writes {} bytes of {} bytes in all; bytes counts both reads and writes",
                       work.bytes_written, work.bytes);
  }
  for (const ReportedMetric& metric : info.metrics) {
    if (!is_bounded(metric.amount)) return fmt::format("reports {} = {}", metric.name, metric.amount);
  }
  if (!is_within(info.max_error, 0, kMaxMagnitude) || !is_within(info.tolerance, 0, kMaxMagnitude))
    return fmt::format("has an error of {} (tolerance {})", info.max_error, info.tolerance);
  if (info.verified && info.max_error > info.tolerance)
    return fmt::format("reports a verified result with an error of {} (tolerance {})", info.max_error,
                       info.tolerance);
  if (!is_within(static_cast<double>(info.copies), 1, 1e12))
    return fmt::format("rotates through {} copies of its inputs", info.copies);
  return {};
}

std::string invalid_number_text(const Sample& sample) {
  if (sample.elapsed_ns != 0 && !is_within(sample.elapsed_ns, 1 / kMaxNanoseconds, kMaxNanoseconds))
    return fmt::format("measured a time of {} ns", sample.elapsed_ns);
  for (const double column : sample.columns) {
    if (!is_bounded(column)) return fmt::format("measured {} in a column", column);
  }
  const SampleNoise& noise = sample.noise;
  const DeviceNoise& device = sample.device;
  for (const auto& [number, unit] :
       {Amount{noise.steal_ms, "ms stolen"}, Amount{noise.frequency_mhz, "MHz"}, Amount{device.sm_mhz, "MHz"},
        Amount{device.memory_mhz, "MHz of memory"}, Amount{device.power_w, "W"}}) {
    if (!is_within(number, 0, kMaxNanoseconds))
      return fmt::format("reported {} {} in a sample", number, unit);
  }
  if (!is_within(device.temperature_c, -300, kMaxNanoseconds))
    return fmt::format("reported {} °C in a sample", device.temperature_c);
  return {};
}

std::string invalid_number_text(const WorkCounts& counts) {
  for (const auto& [number, unit] :
       {Amount{counts.instructions.value_or(0), "instructions"}, Amount{counts.cycles.value_or(0), "cycles"},
        Amount{counts.cache_misses.value_or(0), "cache misses"},
        Amount{counts.memory_bytes.value_or(0), "bytes"},
        Amount{counts.memory_bytes_written.value_or(0), "bytes written"},
        Amount{counts.background_bytes, "bytes of others"}}) {
    if (!is_amount(number)) return fmt::format("counted {} {}", number, unit);
  }
  if (!is_within(counts.share, 0, 1)) return fmt::format("counted in {} of the time", counts.share);
  return {};
}

}  // namespace headroom
