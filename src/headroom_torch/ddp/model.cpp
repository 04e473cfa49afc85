// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/ddp/model.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "headroom/base/error.h"
#include "headroom/base/text.h"

namespace headroom::torch_runner {
namespace {

at::Generator seeded(std::uint64_t seed) {
  return at::detail::createCPUGenerator(seed);
}

class LayerMaker {
 public:
  LayerMaker(std::vector<Parameter>& parameters, std::vector<at::Tensor>& buffers, std::uint64_t seed)
      : parameters_(parameters), buffers_(buffers), generator_(seeded(seed)) {}

  at::Tensor add(const std::string& name, at::Tensor value) {
    value.requires_grad_(true);
    parameters_.push_back({name, value});
    return value;
  }
  at::Tensor buffer(at::Tensor value) {
    buffers_.push_back(value);
    return value;
  }
  at::Tensor normal(const std::string& name, at::IntArrayRef sizes, double deviation) {
    return add(name, at::randn(sizes, generator_, at::TensorOptions(at::kFloat)).mul_(deviation));
  }
  at::Tensor uniform(const std::string& name, at::IntArrayRef sizes, double bound) {
    return add(name, at::rand(sizes, generator_, at::TensorOptions(at::kFloat)).sub_(0.5).mul_(2 * bound));
  }

 private:
  std::vector<Parameter>& parameters_;
  std::vector<at::Tensor>& buffers_;
  at::Generator generator_;
};

/// Square kernels, no bias: [out, in / groups, kernel, kernel].
struct Convolution {
  Convolution() = default;
  Convolution(LayerMaker& maker, const std::string& name, std::int64_t in, std::int64_t out,
              std::int64_t kernel, std::int64_t stride_, std::int64_t groups_ = 1)
      : stride(stride_), padding(kernel / 2), groups(groups_) {
    // Kaiming's, by fan-out, as in torchvision's ResNet.
    const double deviation = std::sqrt(2.0 / static_cast<double>(out * kernel * kernel));
    weight = maker.normal(name + ".weight", {out, in / groups, kernel, kernel}, deviation);
  }
  /// [n, in, h, w] -> [n, out, h', w'], padded by half the kernel.
  at::Tensor operator()(const at::Tensor& x) const {
    return at::conv2d(x, weight, {}, {stride, stride}, {padding, padding}, {1, 1}, groups);
  }

  at::Tensor weight;
  std::int64_t stride = 1, padding = 0, groups = 1;
};

struct BatchNorm {
  BatchNorm() = default;
  BatchNorm(LayerMaker& maker, const std::string& name, std::int64_t channels)
      : weight(maker.add(name + ".weight", at::ones({channels}, at::kFloat))),
        bias(maker.add(name + ".bias", at::zeros({channels}, at::kFloat))),
        mean(maker.buffer(at::zeros({channels}, at::kFloat))),
        variance(maker.buffer(at::ones({channels}, at::kFloat))) {}
  at::Tensor operator()(const at::Tensor& x, bool training) const {
    return at::batch_norm(x, weight, bias, mean, variance, training, 0.1, 1e-5, true);
  }

  at::Tensor weight, bias, mean, variance;
};

struct Linear {
  Linear() = default;
  Linear(LayerMaker& maker, const std::string& name, std::int64_t in, std::int64_t out) {
    const double bound = 1 / std::sqrt(static_cast<double>(in));
    weight = maker.uniform(name + ".weight", {out, in}, bound);
    bias = maker.uniform(name + ".bias", {out}, bound);
  }
  /// [..., in] -> [..., out].
  at::Tensor operator()(const at::Tensor& x) const { return at::linear(x, weight, bias); }

  at::Tensor weight, bias;
};

struct LayerNorm {
  LayerNorm() = default;
  LayerNorm(LayerMaker& maker, const std::string& name, std::int64_t size)
      : weight(maker.add(name + ".weight", at::ones({size}, at::kFloat))),
        bias(maker.add(name + ".bias", at::zeros({size}, at::kFloat))) {}
  at::Tensor operator()(const at::Tensor& x) const { return at::layer_norm(x, weight.sizes(), weight, bias); }

  at::Tensor weight, bias;
};

constexpr std::int64_t kMlpWidth = 1024, kMlpClasses = 1000;
constexpr int kHidden = 4;

/// Hidden layers have ReLU.
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

constexpr std::int64_t kImageClasses = 1000;

struct Shape {
  std::array<int, 4> blocks;
  bool bottleneck = true;
  std::int64_t groups = 1, width = 64;  ///< per group, at 64 planes
};

/// Two 3x3 convolutions or a 1x1, 3x3, 1x1 bottleneck, plus identity or projection.
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

/// torchvision's: He et al., "Deep residual learning for image recognition" (2015), with the stride in the
/// 3x3 convolution; Xie et al., "Aggregated residual transformations" (2016).
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

constexpr std::int64_t kTokens = 64, kVocabulary = 1000, kModelWidth = 256, kHeads = 4, kInner = 1024;
constexpr int kLayers = 4;

class Layer {
 public:
  Layer(LayerMaker& maker, const std::string& name)
      : attention_norm_(maker, name + ".ln_1", kModelWidth),
        query_key_value_(maker, name + ".attn.c_attn", kModelWidth, 3 * kModelWidth),
        output_(maker, name + ".attn.c_proj", kModelWidth, kModelWidth),
        inner_norm_(maker, name + ".ln_2", kModelWidth),
        inner_(maker, name + ".mlp.c_fc", kModelWidth, kInner),
        outer_(maker, name + ".mlp.c_proj", kInner, kModelWidth) {}

  /// [n, tokens, width]; `mask` is added to the scores [tokens, tokens].
  at::Tensor operator()(const at::Tensor& x, const at::Tensor& mask) const {
    const at::Tensor y = x + attention(attention_norm_(x), mask);
    return y + outer_(at::gelu(inner_(inner_norm_(y))));
  }

 private:
  at::Tensor attention(const at::Tensor& x, const at::Tensor& mask) const {
    const std::int64_t n = x.size(0), tokens = x.size(1);
    const at::Tensor heads =
        query_key_value_(x).view({n, tokens, 3, kHeads, kModelWidth / kHeads}).permute({2, 0, 3, 1, 4});
    const double scale = 1 / std::sqrt(static_cast<double>(kModelWidth / kHeads));
    const at::Tensor scores = at::matmul(heads[0], heads[1].transpose(-2, -1)) * scale + mask;
    const at::Tensor mixed = at::matmul(at::softmax(scores, -1), heads[2]);
    return output_(mixed.transpose(1, 2).reshape({n, tokens, kModelWidth}));
  }

  LayerNorm attention_norm_;
  Linear query_key_value_, output_;
  LayerNorm inner_norm_;
  Linear inner_, outer_;
};

/// A causal language model: pre-norm layers, GELU, learned positions, untied head.
class Transformer final : public Model {
 public:
  explicit Transformer(std::uint64_t seed) {
    LayerMaker maker(parameters_, buffers_, seed);
    tokens_ = maker.normal("wte.weight", {kVocabulary, kModelWidth}, 0.02);
    positions_ = maker.normal("wpe.weight", {kTokens, kModelWidth}, 0.02);
    for (int i = 0; i < kLayers; ++i) layers_.emplace_back(maker, fmt::format("h.{}", i));
    norm_ = LayerNorm(maker, "ln_f", kModelWidth);
    head_ = Linear(maker, "lm_head", kModelWidth, kVocabulary);
    mask_ = maker.buffer(
        at::full({kTokens, kTokens}, -std::numeric_limits<float>::infinity(), at::kFloat).triu(1));
  }

  at::Tensor forward(const at::Tensor& input) override {
    at::Tensor x = at::embedding(tokens_, input) + positions_;
    for (const Layer& layer : layers_) x = layer(x, mask_);
    return head_(norm_(x)).view({-1, kVocabulary});
  }

  Batch batch(std::int64_t size, std::int64_t /*image_size*/, std::uint64_t seed) const override {
    return {at::randint(0, kVocabulary, {size, kTokens}, seeded(seed), at::TensorOptions(at::kLong)),
            at::ones({size * kTokens}, at::kLong)};
  }

 private:
  at::Tensor tokens_, positions_, mask_;
  std::vector<Layer> layers_;
  LayerNorm norm_;
  Linear head_;
};

template <Shape shape>
std::unique_ptr<Model> resnet(std::uint64_t seed) {
  return std::make_unique<ResNet>(shape, seed);
}

template <typename Made>
std::unique_ptr<Model> made(std::uint64_t seed) {
  return std::make_unique<Made>(seed);
}

}  // namespace

const std::vector<ModelEntry>& model_table() {
  static const std::vector<ModelEntry> kModels{
      {"resnet18", "11.7 million parameters, basic blocks", resnet<Shape{{2, 2, 2, 2}, false}>, true},
      {"resnet50", "25.6 million parameters, bottlenecks", resnet<Shape{{3, 4, 6, 3}}>, true},
      {"resnet101", "44.5 million parameters, bottlenecks", resnet<Shape{{3, 4, 23, 3}}>, true},
      {"resnext50_32x4d", "25.0 million parameters, 32 groups of 4 channels",
       resnet<Shape{{3, 4, 6, 3}, true, 32, 4}>, true},
      {"resnext101_32x8d", "88.8 million parameters, 32 groups of 8 channels",
       resnet<Shape{{3, 4, 23, 3}, true, 32, 8}>, true},
      {"mlp", "5.2 million parameters: five layers of 1024, few FLOPs for each gradient", made<Mlp>},
      {"transformer", "3.7 million parameters: four layers of 256, 64 tokens", made<Transformer>},
  };
  return kModels;
}

std::unique_ptr<Model> make_model(std::string_view name, std::uint64_t seed) {
  const auto& table = model_table();
  const auto found = std::ranges::find_if(table, [&](const ModelEntry& entry) { return name == entry.name; });
  if (found != table.end()) return found->make(seed);
  std::vector<std::string> names;
  for (const ModelEntry& entry : table) names.emplace_back(entry.name);
  throw Error("unknown model " + quote(name) + did_you_mean(name, names) + "; known: " + join(names, ", "));
}

void Model::move_to(c10::Device device) {
  if (device.is_cpu()) return;  // never moved back
  const at::NoGradGuard no_grad;
  for (const Parameter& parameter : parameters_) parameter.value.set_data(parameter.value.to(device));
  for (const at::Tensor& buffer : buffers_) buffer.set_data(buffer.to(device));
}

void drop_gradients(const Model& model) {
  for (const Parameter& parameter : model.parameters()) parameter.value.mutable_grad() = at::Tensor();
}

std::int64_t parameter_count(const Model& model) {
  std::int64_t count = 0;
  for (const Parameter& parameter : model.parameters()) count += parameter.value.numel();
  return count;
}

}  // namespace headroom::torch_runner
