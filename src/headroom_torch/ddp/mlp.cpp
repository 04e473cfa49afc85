// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/ddp/mlp.h"

#include <fmt/format.h>

#include "headroom_torch/ddp/layers.h"

namespace headroom::torch_runner {
namespace {

constexpr std::int64_t kMlpWidth = 1024, kMlpClasses = 1000;
constexpr int kHidden = 4;

class Mlp final : public Model {
 public:
  explicit Mlp(std::uint64_t seed) {
    LayerMaker maker(parameters_, buffers_, seed);
    for (int i = 0; i <= kHidden; ++i) {
      layers_.emplace_back(maker, fmt::format("{}", 2 * i), kMlpWidth, i < kHidden ? kMlpWidth : kMlpClasses);
    }
  }

  at::Tensor forward(const at::Tensor& input) override {
    at::Tensor x = input;
    for (int i = 0; i < kHidden; ++i) x = at::relu(layers_[static_cast<std::size_t>(i)](x));
    return layers_.back()(x);
  }

  Batch batch(std::int64_t size, std::int64_t /*image_size*/, std::uint64_t seed) const override {
    return {at::rand({size, kMlpWidth}, seeded(seed), at::TensorOptions(at::kFloat)),
            at::ones({size}, at::kLong)};
  }

 private:
  std::vector<Linear> layers_;
};

}  // namespace

std::unique_ptr<Model> mlp(std::uint64_t seed) {
  return std::make_unique<Mlp>(seed);
}

}  // namespace headroom::torch_runner
