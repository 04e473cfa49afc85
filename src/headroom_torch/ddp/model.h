// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::torch_runner {

struct Parameter {
  std::string name;  ///< PyTorch's state_dict key: "layer1.0.conv1.weight"
  at::Tensor value;
};

/// Loss: cross entropy of the logits of `input` against `target`.
struct Batch {
  at::Tensor input, target;
};

class Model {
 public:
  virtual ~Model() = default;
  /// Returns logits [n, classes].
  virtual at::Tensor forward(const at::Tensor& input) = 0;
  /// Random inputs (in [0, 1), or tokens) and class 1 as every target, as in PyTorch's benchmark.
  /// `image_size`: pixels a side; 0 without images.
  virtual Batch batch(std::int64_t size, std::int64_t image_size, std::uint64_t seed) const = 0;
  /// Training (the default) uses batch statistics for batch normalisation.
  virtual void set_training(bool /*training*/) {}

  /// Parameters and buffers, in place. Batches are still created on the CPU.
  void move_to(c10::Device device);

  const std::vector<Parameter>& parameters() const { return parameters_; }

 protected:
  std::vector<Parameter> parameters_;
  std::vector<at::Tensor> buffers_;  ///< untrained tensors, on the device of the parameters
};

struct ModelEntry {
  const char* name;
  const char* summary;
  std::unique_ptr<Model> (*make)(std::uint64_t seed);
  bool takes_images = false;
};

const std::vector<ModelEntry>& model_table();

/// Throws Error for an unknown name.
std::unique_ptr<Model> make_model(std::string_view name, std::uint64_t seed);

void drop_gradients(const Model& model);

std::int64_t parameter_count(const Model& model);

}  // namespace headroom::torch_runner
