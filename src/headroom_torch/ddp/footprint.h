// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace headroom::torch_runner {

class Model;

/// About how many bytes training will take beyond the model's own parameters: gradients, their buckets (where
/// `with_buckets`), momentum, the batch, and what the forward pass keeps for the backward pass. By two passes
/// over one and two small examples, whose memory the allocator tells; images scale by their area.
std::int64_t training_bytes(Model& model, std::int64_t batch_size, std::int64_t image_size,
                            bool with_buckets);

}  // namespace headroom::torch_runner
