// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "headroom_torch/dtensor/device_mesh.h"

namespace headroom::torch_runner::dtensor {

// A distributed tensor is an at::Tensor that every ATen operator with a sharding rule (rules.cpp) accepts.
// Plain tensors beside it count as replicated: every rank must hold the same values. Autograd works through
// all of it.

/// Cuts `whole`, which every rank holds, by the placements, without communication. Throws Error if they do
/// not fit.
at::Tensor distribute(const at::Tensor& whole, const MeshPtr& mesh, const Placements& placements);

enum class LocalSizes : std::uint8_t {
  kChecked,  // the ranks exchange their sizes: one small all-gather per mesh dimension
  kEqual,    // the caller guarantees equal sizes on all ranks: no communication
};

/// Makes a tensor whose part on this rank is `local`; shares its memory. Throws Error if the parts are not
/// the chunks (chunk()) of one whole.
at::Tensor from_local(const at::Tensor& local, const MeshPtr& mesh, const Placements& placements,
                      LocalSizes sizes = LocalSizes::kChecked);

/// Returns the same values with other placements; a collective over the mesh dimensions that change. May
/// share memory with `tensor` if no value moves.
at::Tensor redistribute(const at::Tensor& tensor, const Placements& placements);

/// Gathers the whole as a plain tensor on every rank.
at::Tensor full(const at::Tensor& tensor);

/// This rank's part as a plain tensor that shares its memory.
at::Tensor local(const at::Tensor& tensor);

bool is_dtensor(const at::Tensor& tensor);
/// Throws Error for a plain tensor, as do redistribute, full, local and mesh_of.
const Spec& spec_of(const at::Tensor& tensor);
const MeshPtr& mesh_of(const at::Tensor& tensor);

}  // namespace headroom::torch_runner::dtensor
