// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "headroom_torch/ddp/model.h"
#include "headroom_torch/ddp/reducer.h"
#include "headroom_torch/ddp/sgd.h"
#include "headroom_torch/ddp/work_clock.h"
#include "headroom_torch/dtensor/world.h"

namespace headroom::torch_runner {

/// How a model is trained by the ranks of a group.
struct TrainingSetup {
  std::string model;
  std::int64_t batch_size = 32;   ///< of each rank
  std::int64_t image_size = 0;    ///< pixels a side; 0 for a model without images
  std::int64_t bucket_bytes = 0;  ///< most that a bucket of gradients holds but for its last
  bool ddp = true;                ///< false: no reducer at all
  std::string reducer{};          ///< "headroom", or "c10d" for libtorch's own
  std::uint64_t seed = 1;
};

/// An iteration with reduction and, where there is anything to reduce, one without, in nanoseconds. All but
/// `alone` are of the one with reduction.
struct TrainingRound {
  double iteration = 0;
  double alone = 0;  ///< without reduction
  double forward = 0, backward = 0, step = 0;
  double wait = 0;           ///< from the end of the backward pass to that of the last bucket
  double communication = 0;  ///< while a bucket was on its way: launched, not completed
  double hidden = 0;         ///< the part of it before the backward pass ended
};

/// One bucket of gradients in each of the last rounds.
struct BucketHistory {
  std::int64_t bytes = 0, tensors = 0;
  std::vector<double> launched_ns;   ///< since the backward pass began
  std::vector<double> completed_ns;  ///< the same
};

/// A model being trained by the ranks of a group, and the times of that.
class Training {
 public:
  /// Makes batch, momentum and buckets, and gives all ranks the parameters of the first; every rank of the
  /// group does, with an equal setup. Throws Error, on all ranks alike, where their models differ.
  Training(TrainingSetup setup, std::unique_ptr<Model> model, dtensor::Group group);

  /// Whether there is a reducer and another rank.
  bool is_reducing() const { return reducer_ && group_.size() > 1; }
  /// The order of its two iterations changes, and is the same on all ranks.
  TrainingRound round();
  const std::vector<BucketHistory>& buckets() const { return buckets_; }
  /// Parameters that no rank's backward pass reached.
  std::vector<std::string> unused() const;
  /// Throws Error, on all ranks alike, where the replicas have drifted apart.
  void require_equal_replicas() const;
  double loss() const { return loss_; }
  /// Iterations as a trace of this rank, in `file`, with the reductions of buckets as its collectives.
  void record(const std::string& file, int count);

 private:
  struct Times;
  Times iterate(Reduction reduction);
  void note_buckets(const Times& times, TrainingRound& round);

  TrainingSetup setup_;
  dtensor::Group group_;
  WorkClock clock_;
  std::unique_ptr<Model> model_;
  Batch batch_;
  std::optional<Sgd> optimizer_;
  std::unique_ptr<GradientReducer> reducer_;  ///< none without DDP
  std::vector<BucketHistory> buckets_;
  std::mt19937_64 order_;  ///< the same on every rank
  std::uint64_t rounds_ = 0;
  double loss_ = 0;
};

}  // namespace headroom::torch_runner
