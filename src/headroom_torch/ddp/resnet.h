// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

namespace headroom::torch_runner {

class Model;

// The residual networks of torchvision, 1000 classes: He et al., "Deep residual learning for image
// recognition" (2015), with the stride in the 3x3 convolution; Xie et al., "Aggregated residual
// transformations" (2016). Initialised by `seed`.
std::unique_ptr<Model> resnet18(std::uint64_t seed);
std::unique_ptr<Model> resnet50(std::uint64_t seed);
std::unique_ptr<Model> resnet101(std::uint64_t seed);
std::unique_ptr<Model> resnext50_32x4d(std::uint64_t seed);
std::unique_ptr<Model> resnext101_32x8d(std::uint64_t seed);

}  // namespace headroom::torch_runner
