// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace headroom::torch_runner {

class Model;

/// About how many bytes training takes beyond the model's own parameters.
struct TrainingBytes {
  std::int64_t kept = 0;  ///< gradients, their buckets (where there are any), momentum
  std::int64_t passing =
      0;  ///< in an iteration: the batch, what the forward pass keeps for the backward pass
};

/// FLOPs of an iteration for each example, forward and backward, counted in a pass over one.
double training_flops(Model& model, std::int64_t image_size);

/// Bytes of parameters, gradients and momentum that an iteration reads and writes at the least: the weights
/// in both passes, the gradients that the backward pass writes and the optimizer reads, and momentum and
/// weights, both of which that reads and writes. What the passes keep of each example may stay in caches.
struct TrainingTraffic {
  double read = 0, written = 0;
};
TrainingTraffic training_traffic(const Model& model);

/// By two passes over one and two small examples, whose memory the allocator tells; images, of `image_size`
/// pixels a side, scale by their area. `image_size` is 0 for a model without images.
TrainingBytes training_bytes(Model& model, std::int64_t batch_size, std::int64_t image_size,
                             bool with_buckets);

}  // namespace headroom::torch_runner
