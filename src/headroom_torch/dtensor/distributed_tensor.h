// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "headroom_torch/dtensor/device_mesh.h"

namespace headroom::torch_runner::dtensor {

// A distributed tensor is an at::Tensor: every operator of ATen that has a sharding rule (rules.cpp) takes
// and gives them. Plain tensors beside them count as replicated: every rank must hold the same. Gradients go
// through everything.

/// Cuts `whole`, which every rank holds, as the placements say. No communication. Throws Error when they do
/// not fit.
at::Tensor distribute(const at::Tensor& whole, const MeshPtr& mesh, const Placements& placements);

enum class LocalSizes : std::uint8_t {
  kChecked,  // the ranks tell each other their sizes: one small all-gather per mesh dimension
  kEqual,    // the caller knows that every rank's part has the same sizes: no communication
};

/// The tensor whose part here is `local`, which it shares. Throws Error when the parts are not those that
/// chunk() cuts of one whole.
at::Tensor from_local(const at::Tensor& local, const MeshPtr& mesh, const Placements& placements,
                      LocalSizes sizes = LocalSizes::kChecked);

/// The same values, placed otherwise; a collective of the mesh dimensions that change. May share memory with
/// `tensor` where no value moves.
at::Tensor redistribute(const at::Tensor& tensor, const Placements& placements);

/// The whole as a plain tensor, on every rank.
at::Tensor full(const at::Tensor& tensor);

/// This rank's part as a plain tensor that shares its memory.
at::Tensor local(const at::Tensor& tensor);

bool is_dtensor(const at::Tensor& tensor);
/// Throws Error for a plain tensor, as do redistribute, full, local and mesh_of.
const Spec& spec_of(const at::Tensor& tensor);
const MeshPtr& mesh_of(const at::Tensor& tensor);

}  // namespace headroom::torch_runner::dtensor
