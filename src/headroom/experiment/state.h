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

#include "headroom/experiment/bf16.h"
#include "headroom/experiment/case_spec.h"
#include "headroom/experiment/keep.h"
#include "headroom/experiment/tolerance.h"
#include "headroom/machine/noise.h"
#include "headroom/record/overhead_metrics.h"

namespace headroom {

/// Thrown by State::skip; the runner reports the case as skipped.
struct SkipCase {
  std::string reason;
};
/// Thrown by State::wrong_answer; the runner reports the case as failed.
struct WrongAnswer {
  std::string reason;
};

/// Calls `run` once, with whatever it does before and after.
using Surround = std::function<void(const std::function<void()>& run)>;

/// One sample as the scheduler asks for it.
struct SampleRequest {
  std::uint64_t iterations = 1;
  std::uint64_t lead_in = 0;           ///< iterations before the clock starts
  const Surround* surround = nullptr;  ///< not a sample: the iterations are run inside it, and not timed
};
struct Sample {
  double elapsed_ns = 0;  ///< of all iterations together
  std::uint64_t iterations = 1;
  SampleNoise noise;
  DeviceNoise device{};           ///< by State::watch_device
  std::vector<double> columns{};  ///< per iteration, in the order in which State::column declared them
};

/// A number that an experiment measures in each iteration, beside its time: State::column.
class Column {
 public:
  explicit Column(double& sum) : sum_(&sum) {}
  /// What this iteration adds: the nanoseconds of a phase, bytes, events.
  void add(double amount) { *sum_ += amount; }

 private:
  double* sum_;
};

/// The side of a case that asks for samples: a runner's protocol, or a test.
class SampleSource {
 public:
  virtual ~SampleSource() = default;
  /// The case is ready to be sampled. Called once, before the first next().
  virtual void ready(const CaseInfo& info) = 0;
  /// Blocks until a sample is wanted; nothing when the case is released.
  virtual std::optional<SampleRequest> next() = 0;
  virtual void deliver(const Sample& sample) = 0;
  /// Whether the case was released because it has all its samples, and what it then says is heard.
  virtual bool is_concluding() const { return false; }
};

/// Objects that several cases of one runner use at the same time (a thread pool, weights), kept while any
/// does.
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

/// What an experiment sees of the case that it is asked to run.
class State {
 public:
  State(CaseSpec spec, SampleSource& source, SharedObjects& shared);
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  /// The value of an axis. Throws std::logic_error for an axis that the experiment did not declare, or an
  /// integer axis that holds text.
  std::int64_t integer(std::string_view axis) const;
  const std::string& text(std::string_view axis) const;

  /// The case as it was asked for.
  const CaseSpec& spec() const { return spec_; }
  const std::string& backend() const { return spec_.backend; }
  /// One of Experiment::variants, or empty: what the implementation takes by itself.
  const std::string& variant() const { return spec_.variant; }
  int threads() const { return spec_.threads; }
  Caches caches() const { return spec_.caches; }
  std::uint64_t seed() const { return spec_.seed; }

  /// How many copies of inputs of `bytes` (what one iteration touches) to make and rotate through: 1 when
  /// hot, else enough to exceed twice the last-level cache, at least 2. measure() then calls its body with
  /// the copy's index.
  std::size_t rotate(std::size_t bytes);

  /// The last-level cache of the device that the case runs on, for rotate(); without it that of the host.
  void last_level_cache(std::size_t bytes) { cache_bytes_ = bytes; }
  /// How many copies rotate() said; 1 before.
  std::size_t copies() const { return info_.copies; }

  /// Skips the case when `bytes` more cannot be had, saying both sizes.
  void require_memory(std::size_t bytes) const;

  /// FLOPs and bytes of one iteration. measure() refuses (std::logic_error) what is negative, not finite
  /// or above 1e100, and more bytes written than bytes in all; so it does for the numbers of rate() and
  /// value().
  void work(Work work) { info_.work = std::move(work); }
  /// Describes an input: name, "bf16[1024,1024]", its distribution.
  void input(const std::string& name, const std::string& description) { info_.inputs[name] = description; }
  /// Says more about the case, for the record: state.note("isa", "avx512_bf16").
  void note(const std::string& name, const std::string& text) {
    (measured_ ? conclusion_.notes : info_.notes)[name] = text;
  }
  /// Reports `amount` per iteration as a rate: state.rate("token_per_sec", 1, "tokens/s").
  void rate(const std::string& name, double amount, const std::string& unit);
  /// Reports a value that does not depend on time.
  void value(const std::string& name, double value, const std::string& unit, Direction direction);
  /// Reports what the body measures itself in each iteration, with samples and an interval as the time has:
  /// `Column forward = state.column("forward", "ns");`, and in the body `forward.add(ns)`. A sample has the
  /// mean over its iterations; it must be finite. The column lives as long as this.
  Column column(const std::string& name, const std::string& unit,
                Direction direction = Direction::kLowerIsBetter);

  [[noreturn]] void skip(const std::string& reason) const { throw SkipCase{reason}; }

  /// Poisons `output`, calls `run` once, and compares with `expected` (float64, same length). The largest
  /// error goes into the record, with the tolerance and the precision that it is for; a wrong answer fails
  /// the case (wrong_answer), naming the index and both values. A NaN is right only where the reference is
  /// NaN too.
  void verify(const std::function<void()>& run, std::span<float> output, std::span<const double> expected,
              Tolerance tolerance);
  void verify(const std::function<void()>& run, std::span<double> output, std::span<const double> expected,
              Tolerance tolerance);
  void verify(const std::function<void()>& run, std::span<Bf16> output, std::span<const double> expected,
              Tolerance tolerance);

  /// Compares values that were computed already, as verify() does.
  void check(std::span<const float> actual, std::span<const double> expected, Tolerance tolerance);
  void check(std::span<const double> actual, std::span<const double> expected, Tolerance tolerance);
  void check(std::span<const Bf16> actual, std::span<const double> expected, Tolerance tolerance);

  /// Once measure() has returned: whether the case has all its samples. What it then says with note(),
  /// series() and wrong_answer() is heard; a case that failed or that nobody waits for is to end without more
  /// ado.
  bool is_concluding() const { return source_.is_concluding(); }
  /// Reports numbers of the iterations, where their names were not known before they ran: after measure().
  void series(ToldSeries series) { conclusion_.series.push_back(std::move(series)); }
  const Conclusion& conclusion() const { return conclusion_; }

  /// For what checks its results in every sample, outside of what is timed: wrong_answer() ends it there.
  void verifies_samples() { info_.verified = true; }

  /// Says why the answer is wrong: the case fails here. Where `headroom run --keep-wrong` wants it timed all
  /// the same, it goes on, and its record is marked.
  void wrong_answer(const std::string& reason);

  /// Objects shared with the other cases of this runner that live now: state.shared<Pool>("2", [] { ... }).
  template <typename T, typename Make>
  std::shared_ptr<T> shared(const std::string& key, Make&& make) {
    return shared_.get<T>(key, std::forward<Make>(make));
  }

  /// For work on a device: `read` asks its driver how it is now, outside of what is timed. The record then
  /// has clocks, power and temperature as they are after each sample, and what held the clocks down before or
  /// after it. What cannot be read is left zero; `read` does not throw.
  void watch_device(std::function<DeviceNoise()> read) { read_device_ = std::move(read); }

  /// Gives samples of `body` until the case is released. `body` is called as body() or body(copy), copy <
  /// rotate()'s result, cycling. Between the two clock readings runs nothing but the loop over `body`.
  template <typename Body>
  requires std::invocable<Body&> || std::invocable<Body&, std::size_t>
  void measure(Body&& body) {
    std::size_t copy = 0;
    begin();
    while (const auto request = next()) {
      if (request->surround != nullptr) {
        surrounded(*request, [&] { copy = repeat(body, request->iterations, copy, info_.copies); });
        continue;
      }
      const DeviceNoise before = device_now();
      copy = repeat(body, request->lead_in, copy, info_.copies);
      clear_columns();
      noise_.start();
      const auto start = std::chrono::steady_clock::now();
      copy = repeat(body, request->iterations, copy, info_.copies);
      const auto stop = std::chrono::steady_clock::now();
      deliver({std::chrono::duration<double, std::nano>(stop - start).count(), request->iterations,
               noise_.stop(), device_since(before), columns_of(request->iterations)});
    }
  }

  /// The same for a body that must find something prepared in each iteration: `setup` runs before each call
  /// of `body` and is not timed. The clock is read around each call then: what that costs is measured in
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

  /// For work that has a clock of its own (a device's events): `batch(iterations)` runs that many and returns
  /// the nanoseconds that they took. A time that is negative or not finite fails the case.
  template <typename Batch>
  requires std::is_invocable_r_v<double, Batch&, std::uint64_t>
  void measure_batches(Batch&& batch) {
    begin();
    while (const auto request = next()) {
      if (request->surround != nullptr) {
        surrounded(*request, [&] { batch(request->iterations); });
        continue;
      }
      const DeviceNoise before = device_now();
      if (request->lead_in > 0) batch(request->lead_in);
      clear_columns();
      noise_.start();
      const double elapsed_ns = batch(request->iterations);
      deliver({elapsed_ns, request->iterations, noise_.stop(), device_since(before),
               columns_of(request->iterations)});
    }
  }

 private:
  template <typename Function>
  static void call(Function& function, std::size_t copy) {
    if constexpr (std::invocable<Function&, std::size_t>) {
      function(copy);
    } else {
      function();
    }
  }
  /// The nanoseconds of all calls of `body`, each timed by itself.
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
  /// One body of machine code for the lead-in and the timed part.
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
      asm volatile("");  // the loop stays, even around an empty body
    }
    return copy;
  }

  void begin();
  std::optional<SampleRequest> next() { return source_.next(); }
  void deliver(const Sample& sample);
  void clear_columns();
  std::vector<double> columns_of(std::uint64_t iterations) const;
  DeviceNoise device_now() const { return read_device_ ? read_device_() : DeviceNoise{}; }
  DeviceNoise device_since(const DeviceNoise& before) const;
  void surrounded(const SampleRequest& request, const std::function<void()>& run);
  struct Errors;
  void judge(const Errors& errors, std::size_t values, const Tolerance& tolerance);
  template <typename T>
  void verify_values(const std::function<void()>& run, std::span<T> output, std::span<const double> expected,
                     Tolerance tolerance);
  template <typename T>
  void check_values(std::span<const T> actual, std::span<const double> expected, Tolerance tolerance);

  CaseSpec spec_;
  SampleSource& source_;
  SharedObjects& shared_;
  CaseInfo info_;
  Conclusion conclusion_;
  NoiseMeter noise_;
  std::optional<std::size_t> cache_bytes_;
  std::function<DeviceNoise()> read_device_;
  std::deque<double> column_sums_;  ///< each Column has the address of its own
  bool measured_ = false;
};

}  // namespace headroom
