// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/ddp/resnet.h"

#include <fmt/format.h>

#include <array>
#include <optional>

#include "headroom_torch/ddp/layers.h"

namespace headroom::torch_runner {
namespace {

constexpr std::int64_t kImageClasses = 1000;

struct Shape {
  std::array<int, 4> blocks;
  bool bottleneck = true;
  std::int64_t groups = 1, width = 64;  ///< of a group, at 64 planes
};

/// Two 3x3 convolutions, or 1x1, 3x3, 1x1 around a bottleneck, beside the identity (or its projection).
class Block {
 public:
  Block(LayerMaker& maker, const std::string& name, const Shape& shape, std::int64_t in, std::int64_t planes,
        std::int64_t stride) {
    if (shape.bottleneck) {
      const std::int64_t width = planes * shape.width / 64 * shape.groups;
      add(maker, name, in, width, 1, 1, 1);
      add(maker, name, width, width, 3, stride, shape.groups);
      add(maker, name, width, planes * 4, 1, 1, 1);
    } else {
      add(maker, name, in, planes, 3, stride, 1);
      add(maker, name, planes, planes, 3, 1, 1);
    }
    const std::int64_t out = planes * (shape.bottleneck ? 4 : 1);
    if (stride == 1 && in == out) return;
    const Convolution convolution(maker, name + ".downsample.0", in, out, 1, stride);
    projection_.emplace(Stage{convolution, BatchNorm(maker, name + ".downsample.1", out)});
  }

  at::Tensor operator()(const at::Tensor& x, bool training) const {
    at::Tensor y = x;
    for (std::size_t i = 0; i < stages_.size(); ++i) {
      y = stages_[i].norm(stages_[i].convolution(y), training);
      if (i + 1 < stages_.size()) y.relu_();
    }
    y += projection_ ? projection_->norm(projection_->convolution(x), training) : x;
    return y.relu_();
  }

 private:
  struct Stage {
    Convolution convolution;
    BatchNorm norm;
  };

  void add(LayerMaker& maker, const std::string& name, std::int64_t in, std::int64_t out, std::int64_t kernel,
           std::int64_t stride, std::int64_t groups) {
    const std::size_t number = stages_.size() + 1;
    const Convolution convolution(maker, fmt::format("{}.conv{}", name, number), in, out, kernel, stride,
                                  groups);
    stages_.push_back({convolution, BatchNorm(maker, fmt::format("{}.bn{}", name, number), out)});
  }

  std::vector<Stage> stages_;
  std::optional<Stage> projection_;
};

class ResNet final : public Model {
 public:
  ResNet(const Shape& shape, std::uint64_t seed) {
    LayerMaker maker(parameters_, buffers_, seed);
    stem_ = Convolution(maker, "conv1", 3, 64, 7, 2);
    stem_norm_ = BatchNorm(maker, "bn1", 64);
    const std::int64_t expansion = shape.bottleneck ? 4 : 1;
    std::int64_t in = 64;
    for (int layer = 0; layer < 4; ++layer) {
      const std::int64_t planes = 64LL << layer;
      for (int i = 0; i < shape.blocks[static_cast<std::size_t>(layer)]; ++i) {
        const std::int64_t stride = layer > 0 && i == 0 ? 2 : 1;
        blocks_.emplace_back(maker, fmt::format("layer{}.{}", layer + 1, i), shape, in, planes, stride);
        in = planes * expansion;
      }
    }
    head_ = Linear(maker, "fc", in, kImageClasses);
  }

  at::Tensor forward(const at::Tensor& input) override {
    at::Tensor x = stem_norm_(stem_(input), training_).relu_();
    x = at::max_pool2d(x, {3, 3}, {2, 2}, {1, 1});
    for (const Block& block : blocks_) x = block(x, training_);
    return head_(at::adaptive_avg_pool2d(x, {1, 1}).flatten(1));
  }

  Batch batch(std::int64_t size, std::int64_t image_size, std::uint64_t seed) const override {
    return {at::rand({size, 3, image_size, image_size}, seeded(seed), at::TensorOptions(at::kFloat)),
            at::ones({size}, at::kLong)};
  }

  void set_training(bool training) override { training_ = training; }

 private:
  Convolution stem_;
  BatchNorm stem_norm_;
  std::vector<Block> blocks_;
  Linear head_;
  bool training_ = true;
};

}  // namespace

std::unique_ptr<Model> resnet18(std::uint64_t seed) {
  return std::make_unique<ResNet>(Shape{{2, 2, 2, 2}, false}, seed);
}
std::unique_ptr<Model> resnet50(std::uint64_t seed) {
  return std::make_unique<ResNet>(Shape{{3, 4, 6, 3}}, seed);
}
std::unique_ptr<Model> resnet101(std::uint64_t seed) {
  return std::make_unique<ResNet>(Shape{{3, 4, 23, 3}}, seed);
}
std::unique_ptr<Model> resnext50_32x4d(std::uint64_t seed) {
  return std::make_unique<ResNet>(Shape{{3, 4, 6, 3}, true, 32, 4}, seed);
}
std::unique_ptr<Model> resnext101_32x8d(std::uint64_t seed) {
  return std::make_unique<ResNet>(Shape{{3, 4, 23, 3}, true, 32, 8}, seed);
}

}  // namespace headroom::torch_runner
