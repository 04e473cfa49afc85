// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/TensorImpl.h>

#include "headroom_torch/dtensor/device_mesh.h"

namespace headroom::torch_runner::dtensor {

/// Has the sizes of the whole, no storage, and this rank's part.
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

  /// Undefined before register_dispatch().
  static c10::DispatchKey key() { return key_; }
  static bool is_among(c10::DispatchKeySet keys) { return (keys.raw_repr() & key_bits_) == key_bits_; }

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
    return c10::DispatchKeySet(key_) |
           c10::DispatchKeySet(local.is_cuda() ? c10::DispatchKey::CUDA : c10::DispatchKey::CPU);
  }
  c10::intrusive_ptr<TensorImpl> copy(const c10::VariableVersion& version, bool allow_change) const {
    auto made = c10::make_intrusive<Wrapper>(local_, spec_);
    made->set_version_counter(version);
    made->set_allow_tensor_metadata_change(allow_change);
    return made;
  }

  friend void register_dispatch();
  static void take(c10::DispatchKey key) {
    key_ = key;
    key_bits_ = c10::DispatchKeySet(key).raw_repr();
  }

  // Written once, before any tensor exists.
  static inline c10::DispatchKey key_ = c10::DispatchKey::Undefined;
  static inline std::uint64_t key_bits_ = ~std::uint64_t{0};

  at::Tensor local_;
  const Spec* spec_;
  MeshPtr mesh_;  // keeps spec_ alive
};

/// Returns nullptr for a plain or undefined tensor.
inline const Wrapper* wrapper_of(const at::Tensor& tensor) {
  return Wrapper::is_among(tensor.key_set()) ? static_cast<const Wrapper*>(tensor.unsafeGetTensorImpl())
                                             : nullptr;
}

inline at::Tensor wrap(at::Tensor local, const Spec* spec) {
  return at::detail::make_tensor<Wrapper>(std::move(local), spec);
}

/// Boxed kernel for calls with distributed tensors.
void dispatch(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack);

/// Sends calls with distributed tensors to dispatch() by the first free key of kKeys; once per process.
/// Throws Error if every key is taken.
void register_dispatch();

}  // namespace headroom::torch_runner::dtensor
