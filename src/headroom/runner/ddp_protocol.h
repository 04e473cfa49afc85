// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "headroom/base/json.h"

namespace headroom {

// The language between `headroom ddp` and the process of a rank, beside what rank_hello.h says of
// greeting and meeting. Ranks that a step leaves out answer {"idle": true}.
//
//   {"do": "train", "model": "resnet18", ...}  -> DdpReady     the model is made, the batch is not
//   {"do": "load"}                             -> {"loaded": true}   batch, buckets, equal parameters
//   {"do": "warm", "count": 5}                 -> {"warm": 5}  iterations that are not told
//   {"do": "rounds", "count": 2}               -> DdpRounds
//   {"do": "agree"}                            -> DdpAgreement
//   {"do": "reduce", "bytes": [4096], "count": 20} -> {"ns": [[...]]}  all-reduces alone, by size
//   {"do": "record", "folder": "/tmp/traces", "count": 2}  -> {"file": ...}  iterations as a rank's trace
//   {"do": "drop"}                             -> {"dropped": true}  gives the memory back

/// A step of a sweep: one model, trained by the first `ranks` of the world.
struct DdpSetup {
  std::string model = "resnet18";
  std::int64_t batch_size = 32;            ///< of each rank
  std::int64_t image_size = 64;            ///< pixels a side; models without images do not ask
  std::int64_t bucket_bytes = 25LL << 20;  ///< most that a bucket of gradients holds but for its last
  int ranks = 1;
  bool ddp = true;          ///< false: no reducer at all
  bool each_alone = false;  ///< every rank of the world by itself, as a warm-up
  int threads = 1;          ///< of each rank
  std::uint64_t seed = 1;
  std::string backend = "gloo";
  std::string reducer = "headroom";  ///< "headroom", or "c10d" for libtorch's own
};

/// What a rank says of a model before it takes memory for a batch.
struct DdpReady {
  bool idle = false;
  std::int64_t parameters = 0;  ///< numbers
  std::int64_t tensors = 0;
  bool takes_images = false;    ///< whether the size of images counts
  std::string layout;           ///< of names and shapes: ranks of one model have the same
  std::int64_t need_bytes = 0;  ///< that training will take beyond what is taken, estimated
  std::int64_t available_bytes = 0;
  std::string host;  ///< ranks that share memory have the same
};

/// One bucket of gradients in each of some iterations.
struct DdpBucket {
  std::int64_t bytes = 0;
  std::int64_t tensors = 0;
  std::vector<double> launched_ns;   ///< since the backward pass began
  std::vector<double> completed_ns;  ///< the same
};

/// What some rounds gave, in nanoseconds an iteration and in the order measured. A round has one iteration
/// with reduction and one without, in an order that changes and is the same on all ranks, each after a
/// barrier. All but `alone_ns` are of the one with reduction.
struct DdpRounds {
  bool idle = false;
  std::vector<double> iteration_ns;
  std::vector<double> alone_ns;  ///< without reduction; empty where nothing is reduced
  std::vector<double> forward_ns, backward_ns, step_ns;
  std::vector<double> wait_ns;           ///< from the end of the backward pass to that of the last bucket
  std::vector<double> communication_ns;  ///< while a bucket was on its way: launched, not completed
  std::vector<double> hidden_ns;         ///< the part of it before the backward pass ended
  std::vector<DdpBucket> buckets;        ///< in the order of their launch
};

/// Whether the replicas are what they should be.
struct DdpAgreement {
  bool idle = false;
  std::string parameters;           ///< checksum over the bits of all parameters
  std::vector<std::string> unused;  ///< parameters that no rank's backward pass reached
  double loss = 0;
};

Json to_json(const DdpSetup& setup);
Json to_json(const DdpReady& ready);
Json to_json(const DdpRounds& rounds);
Json to_json(const DdpAgreement& agreement);
/// Decoders throw Error naming what is missing or of another type.
DdpSetup ddp_setup_from_json(const Json& json);
DdpReady ddp_ready_from_json(const Json& json);
DdpRounds ddp_rounds_from_json(const Json& json);
DdpAgreement ddp_agreement_from_json(const Json& json);
/// Of {"ns": [[...]]}, the answer to "reduce"; nothing where the rank was idle.
std::vector<std::vector<double>> ddp_reductions_from_json(const Json& json);

}  // namespace headroom
