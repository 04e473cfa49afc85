// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cmath>
#include <limits>
#include <random>

#include "headroom/schedule/group_run.h"
#include "headroom/schedule/runner.h"

namespace headroom {

struct FakeCase {
  double ns = 1e6;        ///< per iteration
  double prepare_ns = 0;  ///< time to prepare
  Work work{};
  Outcome outcome{};                                ///< of preparing
  std::function<double(double clock_ns)> factor{};  ///< on the time: noise, drift
  int lost_in_prepare = 0;                          ///< preparations that kill the runner
  int fails_at = std::numeric_limits<int>::max();   ///< first sample that fails
  int lost_at = std::numeric_limits<int>::max();    ///< this sample kills the runner
  int samples = 0;                                  ///< samples taken
  std::string untraced{};                           ///< reason for not recording a trace
  bool lost_in_trace = false;                       ///< recording kills the runner
  std::optional<Precision> sums_in{};
  std::vector<double> columns{};  ///< per sample
  std::vector<std::string> column_names{};
  std::vector<Conclusion> reported{};  ///< sent after the last sample
  double conclude_ns = 0;
  bool verified = false;
  CountReply counts{};         ///< per iteration
  bool lost_in_count = false;  ///< counting kills the runner
  bool wrong = false;          ///< a wrong result, timed only on request
};

struct FakeEvent {
  char what;  ///< 'p'repare, 's'ample, 'c'ount, 't'race, 'r'elease, 'x' stop
  std::size_t runner;
  std::string name;
  std::uint64_t iterations = 0;
};

/// Runners on a virtual clock that samples advance. Cases are named "experiment/backend@runner" or
/// "experiment/backend variant@runner" (axis "pattern"). As strict as a real runner: samples and releases
/// only cases prepared in the current process.
class FakeWorkers final : public Workers {
 public:
  std::map<std::string, FakeCase> cases;
  std::vector<FakeEvent> events;
  double clock_ns = 0;
  double deadline_ns = std::numeric_limits<double>::infinity();
  std::vector<int> started;           ///< processes so far, by runner
  double starting_ns = 0;             ///< reported duration of a start
  std::function<void()> on_sample{};  ///< before each sample
  std::vector<std::string> traces{};  ///< requested trace files

  explicit FakeWorkers(std::size_t runners) : started(runners), workers_(runners) {}

  Worker& at(std::size_t runner) override {
    if (!workers_.at(runner)) {
      workers_[runner] =
          std::make_unique<One>(*this, runner, 1000 * (static_cast<int>(runner) + 1) + ++started[runner]);
    }
    return *workers_[runner];
  }
  double start_ns(std::size_t) const override { return starting_ns; }
  void set_deadline(double ns) override { deadline_ns = ns; }
  void stop(std::size_t runner) override {
    workers_.at(runner).reset();
    events.push_back({'x', runner, ""});
  }
  std::size_t prepared_now(std::size_t runner) {
    return workers_.at(runner) ? workers_[runner]->names.size() : 0;
  }
  std::size_t count(char what, const std::string& name) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        events, [&](const FakeEvent& event) { return event.what == what && event.name == name; }));
  }

 private:
  struct One final : Worker {
    One(FakeWorkers& all_workers, std::size_t index, std::int64_t number)
        : all(all_workers), runner(index), process(number) {}

    std::int64_t pid() const override { return process; }
    PrepareReply prepare(int id, const CaseSpec& spec) override {
      std::string variant = spec.variant.empty() ? "" : " " + spec.variant;
      for (const auto& [axis, value] : spec.axes) {
        if (axis == "pattern" && value != "linear") variant += " " + value;
      }
      const std::string name = spec.experiment + "/" + spec.backend + variant + "@" + std::to_string(runner);
      all.events.push_back({'p', runner, name});
      FakeCase& fake = all.cases[name];
      all.take(fake.prepare_ns);
      if (fake.lost_in_prepare-- > 0) throw RunnerLost{"was killed by signal 11"};
      if (fake.outcome.kind != Outcome::Kind::kMeasured) return {fake.outcome, {}};
      if (fake.wrong && !spec.keep_wrong) return {{Outcome::Kind::kFailed, "wrong answer"}, {}};
      names[id] = name;
      PrepareReply reply;
      reply.info.sums_in = fake.sums_in;
      reply.info.verified = fake.verified;
      if (fake.wrong) reply.info.wrong = "wrong answer";
      reply.info.work = fake.work;
      for (const std::string& column : fake.column_names)
        reply.info.metrics.push_back(
            {column, "1", Direction::kLowerIsBetter, ReportedMetric::Kind::kColumn, 0});
      return reply;
    }
    SampleReply sample(int id, const SampleRequest& request) override {
      if (!names.contains(id)) throw RunnerLost{"refused sample: that case is not prepared"};
      if (all.on_sample) all.on_sample();
      all.events.push_back({'s', runner, names[id], request.iterations});
      FakeCase& fake = all.cases[names[id]];
      const int number = fake.samples++;
      if (number == fake.lost_at) throw RunnerLost{"was killed by signal 9"};
      if (number >= fake.fails_at) return {{}, "boom"};
      const double factor = fake.factor ? fake.factor(all.clock_ns) : 1;
      SampleReply reply;
      reply.sample.iterations = request.iterations;
      reply.sample.elapsed_ns = fake.ns * factor * static_cast<double>(request.iterations);
      reply.sample.columns = fake.columns;
      all.take(reply.sample.elapsed_ns);
      return reply;
    }
    CountReply count(int id, const SampleRequest& request) override {
      if (!names.contains(id)) throw RunnerLost{"refused count: that case is not prepared"};
      all.events.push_back({'c', runner, names[id], request.iterations});
      const FakeCase& fake = all.cases[names[id]];
      if (fake.lost_in_count) throw RunnerLost{"was killed by signal 11"};
      CountReply reply = fake.counts;
      if (reply.counts.instructions) *reply.counts.instructions *= static_cast<double>(request.iterations);
      if (reply.counts.memory_bytes) *reply.counts.memory_bytes *= static_cast<double>(request.iterations);
      reply.counts.background_bytes *= static_cast<double>(request.iterations);
      return reply;
    }
    std::string trace(int id, const std::string& file) override {
      if (!names.contains(id)) throw RunnerLost{"refused trace: that case is not prepared"};
      all.events.push_back({'t', runner, names[id]});
      if (all.cases[names[id]].lost_in_trace) throw RunnerLost{"was killed by signal 11"};
      all.traces.push_back(file);
      return all.cases[names[id]].untraced;
    }
    void release(int id) override {
      if (!names.contains(id)) throw RunnerLost{"refused release: that case is not prepared"};
      all.events.push_back({'r', runner, names[id]});
      names.erase(id);
    }
    std::vector<Conclusion> conclude(int id) override {
      const std::string name = names.at(id);
      release(id);
      all.take(all.cases[name].conclude_ns);
      return all.cases[name].reported;
    }

    FakeWorkers& all;
    std::size_t runner;
    std::int64_t process;
    std::map<int, std::string> names;
  };

  void take(double ns) {
    clock_ns += ns;
    if (clock_ns <= deadline_ns) return;
    clock_ns = std::max(clock_ns - ns, deadline_ns);
    throw OutOfTime{};
  }

  std::vector<std::unique_ptr<One>> workers_;
};

inline PlannedCase planned_case(const std::string& backend, std::size_t runner = 0) {
  PlannedCase planned;
  planned.runner = runner;
  planned.spec.experiment = "dot";
  planned.spec.backend = backend;
  planned.device = "cpu";
  return planned;
}

struct GroupFixture {
  GroupFixture() : workers(2) {
    settings.now_ns = [this] { return workers.clock_ns; };
    settings.limits = false;
    settings.stop.min_samples = 30;
    settings.stop.max_samples = 40;
  }
  GroupResult run(std::vector<PlannedCase> planned) {
    const Group group{"dot", std::move(planned)};
    GroupRun made(
        group, offers, workers, settings, [this](const Progress& now) { progress.push_back(now); },
        interrupted);
    return made.run();
  }
  /// Cases of these backends; "b@1" is on runner 1.
  template <typename... Names>
  GroupResult run(const std::string& first, const Names&... more) {
    std::vector<PlannedCase> planned;
    for (const std::string& name : {first, std::string(more)...})
      planned.push_back(planned_case(name.substr(0, name.find('@')), name.ends_with("@1") ? 1 : 0));
    return run(std::move(planned));
  }
  FakeCase& fake(const std::string& name) {
    return workers.cases["dot/" + name + (name.find('@') == std::string::npos ? "@0" : "")];
  }

  FakeWorkers workers;
  std::vector<RunnerOffer> offers;
  RoundSettings settings;
  std::atomic<bool> interrupted = false;
  std::vector<Progress> progress;
};

/// Normal noise around 1, with correlation `rho` between calls.
inline std::function<double(double)> noise_of(double sigma, double rho, std::uint64_t seed) {
  return [random = std::mt19937_64(seed), normal = std::normal_distribution<double>(), state = 0.0, sigma,
          rho](double) mutable {
    state = rho * state + std::sqrt(1 - rho * rho) * normal(random);
    return std::exp(sigma * state);
  };
}

}  // namespace headroom
