// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::torch_runner {

/// A trained tensor.
struct Parameter {
  std::string name;  ///< as PyTorch's state_dict has it: "layer1.0.conv1.weight"
  at::Tensor value;
};

/// Data of one step; the loss is the cross entropy of the logits of `input` and `target`.
struct Batch {
  at::Tensor input, target;
};

/// A network with its float parameters, made on the CPU.
class Model {
 public:
  virtual ~Model() = default;
  /// Logits [n, classes] of a batch's input.
  virtual at::Tensor forward(const at::Tensor& input) = 0;
  /// Random values in [0, 1) or random tokens as inputs and class 1 as every target, as in PyTorch's
  /// benchmark. `image_size`: pixels a side for models that take images, else 0.
  virtual Batch batch(std::int64_t size, std::int64_t image_size, std::uint64_t seed) const = 0;
  /// In training (the default) batch normalisation uses the statistics of the batch.
  virtual void set_training(bool /*training*/) {}

  /// Moves parameters and buffers in place, so that other holders of them see the move. Batches are still
  /// made on the CPU.
  void move_to(c10::Device device);

  /// In torchvision's registration order.
  const std::vector<Parameter>& parameters() const { return parameters_; }

 protected:
  std::vector<Parameter> parameters_;
  std::vector<at::Tensor> buffers_;  ///< other tensors, on the device of the parameters
};

struct ModelEntry {
  const char* name;
  const char* summary;
  std::unique_ptr<Model> (*make)(std::uint64_t seed);
  bool takes_images = false;
};

/// All models.
const std::vector<ModelEntry>& model_table();

/// Throws Error for an unknown name.
std::unique_ptr<Model> make_model(std::string_view name, std::uint64_t seed);

/// Undefines all gradients, so that the next backward pass need not add to them.
void drop_gradients(const Model& model);

/// Number of values in all parameters.
std::int64_t parameter_count(const Model& model);

}  // namespace headroom::torch_runner
