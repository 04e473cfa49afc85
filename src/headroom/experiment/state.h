// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <typeindex>
#include <utility>
#include <vector>

#include "headroom/base/precision.h"
#include "headroom/experiment/bf16.h"
#include "headroom/experiment/sum_tolerance.h"
#include "headroom/machine/noise.h"
#include "headroom/process/thread_state.h"
#include "headroom/record/metrics.h"
#include "headroom/record/record.h"

namespace headroom {

/// Forces the computation of an unused `value`, without run-time cost.
template <typename T>
[[gnu::always_inline]] inline void keep(const T& value) {
  asm volatile("" : : "r,m"(value) : "memory");
}
template <typename T>
[[gnu::always_inline]] inline void keep(T& value) {
  if constexpr (sizeof(T) <= sizeof(void*)) {
    asm volatile("" : "+m,r"(value) : : "memory");
  } else {
    asm volatile("" : "+m"(value) : : "memory");
  }
}

/// Makes the compiler write pending stores and reload memory.
[[gnu::always_inline]] inline void keep_memory() {
  asm volatile("" : : : "memory");
}

/// Nullopt for events that were not counted.
struct WorkCounts {
  std::optional<double> instructions{}, cycles{}, cache_misses{};  ///< of all threads of the process
  /// Moved by the memory controllers, for all programs.
  std::optional<double> memory_bytes{}, memory_bytes_written{};
  /// Moved in an equally long time afterwards, while the process slept.
  double background_bytes = 0;
  double share = 1;  ///< time share of the least-scheduled counter: 1 without multiplexing

  bool operator==(const WorkCounts&) const = default;
};

enum class Caches {
  kCold,  ///< inputs rotate through copies that together exceed twice the last-level cache
  kHot
};

struct CaseSpec {
  std::string experiment;
  AxisTexts axes;
  std::string backend = "native";
  int threads = 1;
  Caches caches = Caches::kCold;
  std::uint64_t seed = 1;
  std::string variant{};          ///< one of Experiment::variants; empty: the implementation decides
  bool keep_wrong = false;        ///< time and flag the case despite a wrong answer
  std::size_t most_bytes = 0;     ///< skip cases that need more memory; 0: the machine's memory
  std::vector<AxisType> types{};  ///< of the axes; empty: all as written
};

struct Work {
  double flops = 0;
  double bytes = 0;  ///< all bytes moved between memory and processor, both ways
  double bytes_written = 0;
  std::string dtype{};   ///< "f32", "bf16", "int8": selects the peak for `flops`; may be empty
  double exchanged = 0;  ///< mean of the bytes that a rank sends and receives
};

struct ReportedMetric {
  enum class Kind {
    kValue,
    kRate,   ///< amount / time of an iteration
    kColumn  ///< per iteration, from the columns of each sample
  };
  std::string name;
  std::string unit;
  Direction direction = Direction::kHigherIsBetter;
  Kind kind = Kind::kValue;
  double amount = 0;  ///< per iteration for a rate
};

struct CaseInfo {
  Work work;
  std::size_t copies = 1;
  bool verified = false;
  double max_error = 0;
  double tolerance = 0;  ///< bound for max_error
  std::vector<ReportedMetric> metrics;
  StringMap inputs;                    ///< name -> "bf16[1024,1024] normal(0,1)"
  StringMap notes;                     ///< further properties: "isa" -> "avx512_bf16"
  std::optional<double> huge_pages{};  ///< share of inputs and outputs in huge pages; empty: none is possible
  std::optional<Precision> sums_in{};  ///< accumulation dtype of the tolerance; empty: unknown
  /// Reason of a wrong answer, with CaseSpec::keep_wrong.
  std::string wrong{};
};

struct ReportedSeries {
  std::string name;
  std::string unit;
  std::vector<double> values;  ///< by iteration, the last sampled one at the end
  StringMap info{};
  NumberMap numbers{};  ///< further properties: "bytes" -> 4096
};

struct Conclusion {
  std::string failure;  ///< reason to discard its samples; empty: keep them
  StringMap notes{};    ///< added to those of CaseInfo
  std::vector<ReportedSeries> series{};
  std::string wrong{};                 ///< as CaseInfo::wrong, found after ready()
  std::vector<std::string> changed{};  ///< settings that the case changed and State restored (ThreadState)
};

/// Thrown by State::skip.
struct SkipCase {
  std::string reason;
};
/// Thrown by State::wrong_answer.
struct WrongAnswer {
  std::string reason;
};

using RunWrapper = std::function<void(const std::function<void()>& run)>;

struct SampleRequest {
  std::uint64_t iterations = 1;
  std::uint64_t lead_in = 0;            ///< untimed iterations before the clock starts
  const RunWrapper* wrapper = nullptr;  ///< if set: run the iterations inside it, untimed
};
struct Sample {
  double elapsed_ns = 0;  ///< of all iterations together
  std::uint64_t iterations = 1;
  SampleNoise noise;
  DeviceNoise device{};           ///< from State::watch_device
  std::vector<double> columns{};  ///< per iteration, in the order of the State::column calls
};

/// Quantity measured in each iteration: State::column.
class Column {
 public:
  explicit Column(double& sum) : sum_(&sum) {}
  void add(double amount) { *sum_ += amount; }

 private:
  double* sum_;
};

class SampleSource {
 public:
  virtual ~SampleSource() = default;
  /// Called once, before the first next().
  virtual void ready(const CaseInfo& info) = 0;
  /// Blocks. Nullopt when the case is released.
  virtual std::optional<SampleRequest> next() = 0;
  virtual void deliver(const Sample& sample) = 0;
  /// Whether the case was released after its last sample: its conclusion counts.
  virtual bool is_concluding() const { return false; }
  /// Runs `work` on the thread that serves the cases, and waits. Rethrows.
  virtual void on_server(const std::function<void()>& work) { work(); }
};

/// Objects shared by live cases of one runner, destroyed with the last user.
class SharedObjects {
 public:
  template <typename T, typename Make>
  std::shared_ptr<T> get(const std::string& key, Make&& make) {
    const std::string full_key = std::string(typeid(T).name()) + "/" + key;
    if (auto found = std::static_pointer_cast<T>(find(full_key))) return found;
    std::shared_ptr<T> made = std::forward<Make>(make)();
    put(full_key, made);
    return made;
  }

 private:
  std::shared_ptr<void> find(const std::string& key);
  void put(const std::string& key, const std::shared_ptr<void>& object);
  std::vector<std::pair<std::string, std::weak_ptr<void>>> objects_;
};

class State {
 public:
  State(CaseSpec spec, SampleSource& source, SharedObjects& shared);
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  /// Throws std::logic_error for an undeclared axis, or if integer() reads a text.
  std::int64_t integer(std::string_view axis) const;
  const std::string& text(std::string_view axis) const;

  const CaseSpec& spec() const { return spec_; }
  const std::string& backend() const { return spec_.backend; }
  const std::string& variant() const { return spec_.variant; }
  int threads() const { return spec_.threads; }
  Caches caches() const { return spec_.caches; }
  std::uint64_t seed() const { return spec_.seed; }

  /// Returns the number of input copies to rotate through; measure() passes the copy's index to its body.
  /// `bytes`: inputs of one iteration. 1 with hot caches, else at least 2 that together exceed twice the
  /// last-level cache.
  std::size_t rotate(std::size_t bytes);

  /// Sets the last-level cache for rotate(). Default: the host's.
  void last_level_cache(std::size_t bytes) { cache_bytes_ = bytes; }
  /// 1 before rotate().
  std::size_t copies() const { return info_.copies; }

  /// Skips the case if `bytes` more are not available.
  void require_memory(std::size_t bytes) const;

  /// Per iteration. measure() throws std::logic_error for negative, non-finite or unbounded (is_bounded)
  /// numbers, here and in rate() and value(), and for more bytes written than moved.
  void work(Work work) { info_.work = std::move(work); }
  /// `description`: shape and distribution, "bf16[1024,1024] normal(0,1)".
  void input(const std::string& name, const std::string& description) { info_.inputs[name] = description; }
  void note(const std::string& name, const std::string& text) {
    (measured_ ? conclusion_.notes : info_.notes)[name] = text;
  }
  /// `amount` is per iteration: state.rate("token_per_sec", 1, "tokens/s").
  void rate(const std::string& name, double amount, const std::string& unit);
  void value(const std::string& name, double value, const std::string& unit, Direction direction);
  /// Reports a quantity that the body measures, with an interval like the time: `Column forward =
  /// state.column("forward", "ns");`, and in the body `forward.add(ns)`. A sample is the mean over its
  /// iterations, which must be finite. The State must outlive the column.
  Column column(const std::string& name, const std::string& unit,
                Direction direction = Direction::kLowerIsBetter);

  [[noreturn]] void skip(const std::string& reason) const { throw SkipCase{reason}; }

  /// Poisons `output`, calls `run` once, and compares with `expected` (float64, same length). Records the
  /// largest error, the tolerance and its precision. A wrong answer fails the case. NaN only matches NaN.
  ///
  /// Repeats this after the last sample of each process, before measure() returns: `output` and what `run`
  /// refers to must live until then. Keeps a copy of `expected`: at most a million evenly spaced values.
  void verify(const std::function<void()>& run, std::span<float> output, std::span<const double> expected,
              Tolerance tolerance);
  void verify(const std::function<void()>& run, std::span<double> output, std::span<const double> expected,
              Tolerance tolerance);
  void verify(const std::function<void()>& run, std::span<Bf16> output, std::span<const double> expected,
              Tolerance tolerance);

  void check(std::span<const float> actual, std::span<const double> expected, Tolerance tolerance);
  void check(std::span<const double> actual, std::span<const double> expected, Tolerance tolerance);
  void check(std::span<const Bf16> actual, std::span<const double> expected, Tolerance tolerance);

  /// Runs `work` on the thread that serves the cases, for that thread's state. Rethrows.
  void on_server(const std::function<void()>& work) { source_.on_server(work); }

  /// After measure(): whether the case has all its samples, so that note(), series() and wrong_answer()
  /// count. Otherwise end at once.
  bool is_concluding() const { return source_.is_concluding(); }
  /// After measure(): reports series with names unknown before.
  void series(ReportedSeries series) { conclusion_.series.push_back(std::move(series)); }
  const Conclusion& conclusion() const { return conclusion_; }

  /// Calls `check` after the last sample of each process, before measure() returns; note(), series() and
  /// wrong_answer() still count.
  void after_samples(std::function<void()> check) { after_samples_.push_back(std::move(check)); }

  /// Declares the threads of the body: `each(f)` calls f on all of them. Default: the measuring thread. After
  /// each sample, their settings (ThreadState) are restored to those before the case, and changes reported.
  void threads_of_body(std::function<void(const std::function<void()>& f)> each) {
    on_threads_ = std::move(each);
  }

  /// Reports settings that the case changed and others restored (ThreadState::restore).
  void restored(const std::vector<std::string>& settings);

  /// Declares that every sample is checked, untimed; wrong_answer() then ends the case.
  void verifies_samples() { info_.verified = true; }

  /// Fails the case. With `headroom run --keep-wrong` it continues, flagged.
  void wrong_answer(const std::string& reason);

  /// state.shared<Pool>("2", [] { ... }): see SharedObjects.
  template <typename T, typename Make>
  std::shared_ptr<T> shared(const std::string& key, Make&& make) {
    return shared_.get<T>(key, std::forward<Make>(make));
  }

  /// Records device state from `read`, called untimed around each sample: clocks, power and temperature after
  /// it, throttle reasons from both. Unreadable values stay zero; `read` must not throw.
  void watch_device(std::function<DeviceNoise()> read) { read_device_ = std::move(read); }

  /// Samples body() or body(copy) until the case is released, with copy cycling below the result of rotate().
  /// Only the loop over `body` is timed.
  template <typename Body>
  requires std::invocable<Body&> || std::invocable<Body&, std::size_t>
  void measure(Body&& body) {
    std::size_t copy = 0;
    begin();
    while (const auto request = next()) {
      if (request->wrapper != nullptr) {
        run_wrapped(*request, [&] { copy = repeat(body, request->iterations, copy, info_.copies); });
        continue;
      }
      const DeviceNoise before = read_device_noise();
      copy = repeat(body, request->lead_in, copy, info_.copies);
      clear_columns();
      noise_.start();
      const auto start = std::chrono::steady_clock::now();
      copy = repeat(body, request->iterations, copy, info_.copies);
      const auto stop = std::chrono::steady_clock::now();
      deliver({std::chrono::duration<double, std::nano>(stop - start).count(), request->iterations,
               noise_.stop(), device_noise_since(before), columns_of(request->iterations)});
    }
  }

  /// Samples a `body` with an untimed `setup` before each call. The clock's overhead per call is measured in
  /// every sample and reported as the column kClockOverhead.
  template <typename Body, typename Setup>
  requires(std::invocable<Body&> || std::invocable<Body&, std::size_t>) &&
      (std::invocable<Setup&> || std::invocable<Setup&, std::size_t>)void measure(Body&& body,
                                                                                  Setup&& setup) {
    Column clock = column(kClockOverhead, "ns");
    std::size_t copy = 0;
    const auto nothing = [] {};
    measure_batches([&](std::uint64_t iterations) {
      constexpr std::uint64_t kEnough = 1000;
      const std::uint64_t empty = std::min(iterations, kEnough);
      std::size_t unused = 0;
      const double clock_ns = each_timed(nothing, nothing, empty, unused) / static_cast<double>(empty);
      clock.add(clock_ns * static_cast<double>(iterations));
      return each_timed(body, setup, iterations, copy);
    });
  }

  /// Samples work with another clock, such as device events: `batch(iterations)` runs that many and returns
  /// their nanoseconds. A negative or non-finite time fails the case.
  template <typename Batch>
  requires std::is_invocable_r_v<double, Batch&, std::uint64_t>
  void measure_batches(Batch&& batch) {
    begin();
    while (const auto request = next()) take_batch(batch, *request);
  }

  template <typename Batch>
  requires std::is_invocable_r_v<double, Batch&, std::uint64_t>
  void measure_batches_on_server(Batch&& batch) {
    begin();
    while (const auto request = next()) on_server([&] { take_batch(batch, *request); });
  }

 private:
  template <typename Batch>
  void take_batch(Batch& batch, const SampleRequest& request) {
    if (request.wrapper != nullptr) {
      run_wrapped(request, [&] { batch(request.iterations); });
      return;
    }
    const DeviceNoise before = read_device_noise();
    if (request.lead_in > 0) batch(request.lead_in);
    clear_columns();
    noise_.start();
    const double elapsed_ns = batch(request.iterations);
    deliver({elapsed_ns, request.iterations, noise_.stop(), device_noise_since(before),
             columns_of(request.iterations)});
  }

  template <typename Function>
  static void call(Function& function, std::size_t copy) {
    if constexpr (std::invocable<Function&, std::size_t>) {
      function(copy);
    } else {
      function();
    }
  }
  /// Sum of the timed calls of `body` in ns.
  template <typename Body, typename Setup>
  [[gnu::noinline]] double each_timed(Body& body, Setup& setup, std::uint64_t iterations, std::size_t& copy) {
    std::chrono::steady_clock::duration sum{};
    for (; iterations > 0; --iterations) {
      call(setup, copy);
      const auto start = std::chrono::steady_clock::now();
      call(body, copy);
      sum += std::chrono::steady_clock::now() - start;
      if (++copy >= info_.copies) copy = 0;
    }
    return std::chrono::duration<double, std::nano>(sum).count();
  }
  /// Not inlined: lead-in and timed part run the same machine code.
  template <typename Body>
  [[gnu::noinline]] static std::size_t repeat(Body& body, std::uint64_t iterations, std::size_t copy,
                                              std::size_t copies) {
    for (; iterations > 0; --iterations) {
      if constexpr (std::invocable<Body&, std::size_t>) {
        body(copy);
        if (++copy == copies) copy = 0;
      } else {
        body();
      }
      asm volatile("");  // keeps the loop, even around an empty body
    }
    return copy;
  }

  void begin();
  std::optional<SampleRequest> next();
  void restore_threads();
  void deliver(const Sample& sample);
  void clear_columns();
  std::vector<double> columns_of(std::uint64_t iterations) const;
  DeviceNoise read_device_noise() const { return read_device_ ? read_device_() : DeviceNoise{}; }
  DeviceNoise device_noise_since(const DeviceNoise& before) const;
  void run_wrapped(const SampleRequest& request, const std::function<void()>& run);
  struct Errors;
  void judge(const Errors& errors, std::size_t values, const Tolerance& tolerance);
  template <typename T>
  void verify_values(const std::function<void()>& run, std::span<T> output, std::span<const double> expected,
                     Tolerance tolerance);
  struct Reference;
  template <typename T>
  void check_values(std::span<const T> actual, const Reference& reference, Tolerance tolerance);
  template <typename T>
  void check_all(std::span<const T> actual, std::span<const double> expected, Tolerance tolerance);

  CaseSpec spec_;
  SampleSource& source_;
  SharedObjects& shared_;
  CaseInfo info_;
  Conclusion conclusion_;
  NoiseMeter noise_;
  std::optional<std::size_t> cache_bytes_;
  std::function<DeviceNoise()> read_device_;
  std::deque<double> column_sums_;  ///< a deque: Columns hold addresses
  const ThreadState before_;
  std::function<void(const std::function<void()>&)> on_threads_ = [](const auto& f) { f(); };
  std::vector<std::function<void()>> after_samples_;
  bool measured_ = false;
  bool is_after_samples_ = false;
};

/// 31 years; the least time of a sample is the reciprocal.
inline constexpr double kMaxNanoseconds = 1e18;

/// Describes the impossible number of a case as the end of a sentence, "says a work of -1 FLOPs"; empty if
/// none. Checked in the runner for a clear error, and in the client because runners are untrusted.
std::string invalid_number_text(const CaseInfo& info);
/// "measured a time of nan ns".
std::string invalid_number_text(const Sample& sample);
/// "counted nan instructions".
std::string invalid_number_text(const WorkCounts& counts);

}  // namespace headroom
