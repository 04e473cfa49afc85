// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/TensorImpl.h>

#include "headroom_torch/dtensor/device_mesh.h"

namespace headroom::torch_runner::dtensor {

/// Fake is below autograd, as a distributed tensor must be, is used by no kernel of libtorch, and leaves the
/// other keys of the device in place, so that autograd and view tracking work on the wrapper.
inline constexpr c10::DispatchKey kKey = c10::DispatchKey::Fake;

/// The tensor that programs hold: sizes of the whole, no storage, this rank's part inside.
class Wrapper final : public c10::TensorImpl {
 public:
  Wrapper(at::Tensor local, const Spec* spec)
      : TensorImpl(keys(local), local.dtype(), local.device()),
        local_(std::move(local)),
        spec_(spec),
        mesh_(MeshPtr::reclaim_copy(const_cast<DeviceMesh*>(spec->mesh))) {
    set_sizes_contiguous(spec->sizes);
    set_storage_access_should_throw();
  }

  const at::Tensor& local() const { return local_; }
  const Spec* spec() const { return spec_; }
  const MeshPtr& mesh() const { return mesh_; }

  c10::intrusive_ptr<TensorImpl> shallow_copy_and_detach(const c10::VariableVersion& version,
                                                         bool allow_change) const override {
    return copy(version, allow_change);
  }
  c10::intrusive_ptr<TensorImpl> shallow_copy_and_detach(c10::VariableVersion&& version,
                                                         bool allow_change) const override {
    return copy(version, allow_change);
  }

 private:
  static c10::DispatchKeySet keys(const at::Tensor& local) {
    return c10::DispatchKeySet(kKey) |
           c10::DispatchKeySet(local.is_cuda() ? c10::DispatchKey::CUDA : c10::DispatchKey::CPU);
  }
  c10::intrusive_ptr<TensorImpl> copy(const c10::VariableVersion& version, bool allow_change) const {
    auto made = c10::make_intrusive<Wrapper>(local_, spec_);
    made->set_version_counter(version);
    made->set_allow_tensor_metadata_change(allow_change);
    return made;
  }

  at::Tensor local_;
  const Spec* spec_;
  MeshPtr mesh_;  // keeps spec_ alive
};

/// nullptr for a plain or undefined tensor.
inline const Wrapper* wrapper_of(const at::Tensor& tensor) {
  return tensor.key_set().has(kKey) ? static_cast<const Wrapper*>(tensor.unsafeGetTensorImpl()) : nullptr;
}

inline at::Tensor wrap(at::Tensor local, const Spec* spec) {
  return at::detail::make_tensor<Wrapper>(std::move(local), spec);
}

}  // namespace headroom::torch_runner::dtensor
