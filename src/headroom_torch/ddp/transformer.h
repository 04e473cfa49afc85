// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

namespace headroom::torch_runner {

class Model;

/// A causal language model: 64 tokens of a vocabulary of 1000, four pre-norm layers of 256 with four heads
/// and a feed-forward part of 1024 (GELU), learned positions, a head of its own. An example is a sequence.
std::unique_ptr<Model> transformer(std::uint64_t seed);

}  // namespace headroom::torch_runner
