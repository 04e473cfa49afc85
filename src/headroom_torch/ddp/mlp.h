// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

namespace headroom::torch_runner {

class Model;

/// Four hidden layers of 1024 with ReLU on 1024 inputs, 1000 classes.
std::unique_ptr<Model> mlp(std::uint64_t seed);

}  // namespace headroom::torch_runner
