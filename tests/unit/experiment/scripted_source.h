// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "headroom/experiment/state.h"

namespace headroom {

class ScriptedSource final : public SampleSource {
 public:
  explicit ScriptedSource(std::vector<SampleRequest> requests = {}) : requests_(std::move(requests)) {}

  void ready(const CaseInfo& info) override { infos.push_back(info); }
  std::optional<SampleRequest> next() override {
    if (asked_ == requests_.size()) return std::nullopt;
    return requests_[asked_++];
  }
  void deliver(const Sample& sample) override { samples.push_back(sample); }
  bool is_concluding() const override { return concludes; }

  bool concludes = false;
  std::vector<CaseInfo> infos;
  std::vector<Sample> samples;

 private:
  std::vector<SampleRequest> requests_;
  std::size_t asked_ = 0;
};

}  // namespace headroom
