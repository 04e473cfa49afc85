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
#include "headroom_torch/dtensor/world.h"

namespace headroom::torch_runner {

/// torch.optim.SGD with momentum, as in PyTorch's DDP benchmark. Parameters must stay on their device.
class Sgd {
 public:
  struct Settings {
    float rate = 0.001F, momentum = 0.9F, weight_decay = 1e-4F;
    bool by_operators = false;  ///< also on the CPU, where the single pass is faster
  };

  Sgd(std::vector<Parameter> parameters, Settings settings);

  /// Skips parameters without a gradient.
  void step();
  /// The same work for timing; changes no value.
  void idle_step();

 private:
  struct Coefficients {
    float rate, momentum, gradient, weight_decay;
  };
  void apply(const Coefficients& by);
  /// CPU only.
  void apply_in_one_pass(const Coefficients& by);
  /// Any device.
  void apply_by_operators(const Coefficients& by);

  std::vector<Parameter> parameters_;
  std::vector<at::Tensor> momentum_;
  Settings settings_;
};

/// Approximate memory besides the parameters.
struct TrainingBytes {
  std::int64_t kept = 0;     ///< gradients, buckets if any, momentum
  std::int64_t passing = 0;  ///< per iteration: the batch and saved activations
};

/// FLOPs per example, forward and backward.
double training_flops(Model& model, std::int64_t image_size);

/// Minimal, without activations, which may stay in caches.
struct TrainingTraffic {
  double read = 0, written = 0;
};
TrainingTraffic training_traffic(const Model& model);

/// Extrapolates from passes over one and two small examples. `image_size`: pixels a side; 0 without images.
TrainingBytes training_bytes(Model& model, std::int64_t batch_size, std::int64_t image_size,
                             bool with_buckets);

struct TrainingSetup {
  std::string model;
  std::int64_t batch_size = 32;   ///< per rank
  std::int64_t image_size = 0;    ///< pixels a side; 0 for a model without images
  std::int64_t bucket_bytes = 0;  ///< limit of a bucket; its last gradient may exceed it
  bool ddp = true;                ///< false: no reducer
  std::string reducer{};          ///< "headroom", or "c10d" for libtorch's
  std::uint64_t seed = 1;
};

/// Times in ns; all but `alone` belong to the iteration with reduction.
struct TrainingRound {
  double iteration = 0;
  double alone = 0;  ///< the iteration without reduction
  double forward = 0, backward = 0, step = 0;
  double wait = 0;           ///< from the end of the backward pass to that of the last bucket
  double communication = 0;  ///< while at least one bucket was in flight
  double hidden = 0;         ///< communication before the backward pass ended
};

struct BucketHistory {
  std::int64_t bytes = 0, tensors = 0;
  std::vector<double> launched_ns;  ///< since the backward pass began
  std::vector<double> completed_ns;
};

class Training {
 public:
  /// Broadcasts the first rank's parameters. Every rank of the group must call it with an equal setup. Throws
  /// Error on all ranks if models differ.
  Training(TrainingSetup setup, std::unique_ptr<Model> model, dtensor::Group group);

  bool is_reducing() const { return reducer_ && group_.size() > 1; }
  /// In random order, equal on all ranks.
  TrainingRound round();
  const std::vector<BucketHistory>& buckets() const { return buckets_; }
  std::vector<std::string> unused() const;
  /// Throws Error on all ranks if the replicas differ.
  void require_equal_replicas() const;
  double loss() const { return loss_; }
  /// A trace of `count` iterations of this rank; bucket reductions are collectives.
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
  std::unique_ptr<GradientReducer> reducer_;  ///< null without DDP
  std::vector<BucketHistory> buckets_;
  std::mt19937_64 order_;  ///< same sequence on every rank
  std::uint64_t rounds_ = 0;
  double loss_ = 0;
};

}  // namespace headroom::torch_runner
