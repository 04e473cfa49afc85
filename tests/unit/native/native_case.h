// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "headroom/experiment/registry.h"
#include "headroom/experiment/state.h"
#include "headroom_native/experiments.h"
#include "headroom_native/kernels/isa.h"

namespace headroom::native {

/// Restores the earlier value, which may apply to the whole suite.
class ForcedIsa {
 public:
  explicit ForcedIsa(const char* name) {
    if (const char* found = std::getenv("HEADROOM_ISA")) before_ = found;
    set(name);
  }
  ~ForcedIsa() { set(before_ ? before_->c_str() : nullptr); }
  ForcedIsa(const ForcedIsa&) = delete;
  ForcedIsa& operator=(const ForcedIsa&) = delete;

 private:
  static void set(const char* name) {
    name == nullptr ? unsetenv("HEADROOM_ISA") : setenv("HEADROOM_ISA", name, 1);
  }

  std::optional<std::string> before_;
};

class FewSamples : public SampleSource {
 public:
  explicit FewSamples(std::uint64_t iterations = 3) : iterations_(iterations) {}

  void ready(const CaseInfo& said) override { info = said; }
  std::optional<SampleRequest> next() override {
    if (samples.size() == 3) return std::nullopt;
    return SampleRequest{iterations_, 1};
  }
  void deliver(const Sample& sample) override { samples.push_back(sample); }

  CaseInfo info;
  std::vector<Sample> samples;

 private:
  std::uint64_t iterations_;
};

inline std::string isa_name(const testing::TestParamInfo<Isa>& suite) {
  return name_of(suite.param);
}

struct Outcome {
  CaseInfo info;
  std::vector<Sample> samples;
  std::string skipped;
};

inline CaseSpec hot_case(const std::string& experiment, AxisTexts axes, int threads = 2) {
  CaseSpec spec;
  spec.experiment = experiment;
  spec.axes = std::move(axes);
  spec.threads = threads;
  spec.caches = Caches::kHot;
  return spec;
}

inline Outcome run(const CaseSpec& spec) {
  Registry registry;
  register_native_experiments(registry);
  const Experiment* experiment = registry.find(spec.experiment);
  if (experiment == nullptr) throw std::logic_error("no experiment " + spec.experiment);
  FewSamples source;
  SharedObjects shared;
  State state(spec, source, shared);
  try {
    experiment->function()(state);
  } catch (const SkipCase& skip) {
    return {{}, {}, skip.reason};
  }
  return {source.info, source.samples, {}};
}

inline void expect_measured(const Outcome& outcome, const std::string& what) {
  EXPECT_EQ(outcome.skipped, "") << what;
  ASSERT_EQ(outcome.samples.size(), 3U) << what;
  for (const Sample& sample : outcome.samples) EXPECT_GT(sample.elapsed_ns, 0) << what;
}

inline void expect_right(const Outcome& outcome, const std::string& what) {
  expect_measured(outcome, what);
  EXPECT_TRUE(outcome.info.verified) << what;
  EXPECT_LE(outcome.info.max_error, outcome.info.tolerance) << what;
  EXPECT_LT(outcome.info.tolerance, 0.01) << what;
}

}  // namespace headroom::native
