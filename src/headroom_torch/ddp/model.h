// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::torch_runner {

/// A leaf that is trained.
struct Parameter {
  std::string name;  ///< as PyTorch's state_dict has it: "layer1.0.conv1.weight"
  at::Tensor value;
};

/// What one step trains on: the logits of `input` are held against `target` by cross entropy.
struct Batch {
  at::Tensor input, target;
};

/// A network with its parameters, float, made on the CPU.
class Model {
 public:
  virtual ~Model() = default;
  /// Logits [n, classes] of a batch's input.
  virtual at::Tensor forward(const at::Tensor& input) = 0;
  /// Random values in [0, 1) as inputs (or random tokens), class 1 as every target, as PyTorch's benchmark
  /// has it. `image_size`: pixels a side, for models that take images, else 0.
  virtual Batch batch(std::int64_t size, std::int64_t image_size, std::uint64_t seed) const = 0;
  /// In training (the default) batch normalisation takes the statistics of the batch.
  virtual void set_training(bool /*training*/) {}

  /// Parameters and buffers to that device, in place: whoever holds one of them sees it there. Batches are
  /// still made on the CPU.
  void move_to(c10::Device device);

  /// In the order of registration, which is that of torchvision.
  const std::vector<Parameter>& parameters() const { return parameters_; }

 protected:
  std::vector<Parameter> parameters_;
  std::vector<at::Tensor> buffers_;  ///< what is no parameter, and lies where they do
};

struct ModelEntry {
  const char* name;
  const char* summary;
  std::unique_ptr<Model> (*make)(std::uint64_t seed);
  bool takes_images = false;
};

/// All models that can be trained.
const std::vector<ModelEntry>& model_table();

/// Throws Error for a name that is none.
std::unique_ptr<Model> make_model(std::string_view name, std::uint64_t seed);

/// Leaves every parameter without a gradient: the next backward pass need not add to one.
void drop_gradients(const Model& model);

/// Numbers in all parameters.
std::int64_t parameter_count(const Model& model);

}  // namespace headroom::torch_runner
