// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "headroom_torch/dtensor/device_mesh.h"

namespace headroom::torch_runner::dtensor {

// A distributed tensor is an at::Tensor for every operator with a sharding rule (rules.cpp). Plain tensors in
// the same call count as replicated. Supports autograd.

/// Cuts `whole`, held by every rank, without communication. Throws Error if the placements do not fit.
at::Tensor distribute(const at::Tensor& whole, const MeshPtr& mesh, const Placements& placements);

enum class LocalSizes : std::uint8_t {
  kChecked,  // exchanges sizes: one small all-gather per mesh dimension
  kEqual,    // guaranteed by the caller: no communication
};

/// Shares the memory of `local`. Throws Error if the parts are not the chunks (chunk()) of one whole.
at::Tensor from_local(const at::Tensor& local, const MeshPtr& mesh, const Placements& placements,
                      LocalSizes sizes = LocalSizes::kChecked);

/// Collective over the mesh dimensions that change. May share memory with `tensor` if no value moves.
at::Tensor redistribute(const at::Tensor& tensor, const Placements& placements);

/// Gathers the whole as a plain tensor on every rank.
at::Tensor full(const at::Tensor& tensor);

/// Shares memory with `tensor`.
at::Tensor local(const at::Tensor& tensor);

bool is_dtensor(const at::Tensor& tensor);
/// Throws Error for a plain tensor, as do redistribute, full, local and mesh_of.
const Spec& spec_of(const at::Tensor& tensor);
const MeshPtr& mesh_of(const at::Tensor& tensor);

}  // namespace headroom::torch_runner::dtensor
