// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "headroom/runner/ddp_protocol.h"
#include "headroom_torch/ddp/model.h"
#include "headroom_torch/ddp/reducer.h"
#include "headroom_torch/ddp/sgd.h"
#include "headroom_torch/ddp/work_clock.h"
#include "headroom_torch/dtensor/world.h"

namespace headroom::torch_runner {

/// A model being trained by the ranks of a group, and the times of that.
class Training {
 public:
  /// Makes the model; every rank of the group does, with an equal setup. Throws Error.
  Training(const DdpSetup& setup, dtensor::Group group);

  /// What the next call will need.
  DdpReady ready();
  /// Makes batch, momentum and buckets, and gives all ranks the parameters of the first.
  void load();
  /// Iterations that are not told.
  void warm(int count);
  DdpRounds rounds(int count);
  DdpAgreement agree();
  /// Iterations as a trace of this rank, in `file`, with the reductions of buckets as its collectives.
  void record(const std::string& file, int count);
  /// Times of all-reduces of `bytes` alone, each after a barrier; empty in a group of one.
  std::vector<double> reductions_ns(std::int64_t bytes, int count);

 private:
  struct Times;
  void begin_iteration();
  Times iterate(Reduction reduction);
  void add(const Times& times, DdpRounds& rounds) const;

  DdpSetup setup_;
  dtensor::Group group_;
  WorkClock clock_;
  std::unique_ptr<Model> model_;
  Batch batch_;
  std::optional<Sgd> optimizer_;
  std::unique_ptr<GradientReducer> reducer_;  ///< none without DDP
  std::mt19937_64 order_;                     ///< the same on every rank
  double loss_ = 0;
};

}  // namespace headroom::torch_runner
