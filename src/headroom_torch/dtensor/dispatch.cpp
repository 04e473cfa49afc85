// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/dtensor/dispatch.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>

#include "headroom/base/error.h"
#include "headroom_torch/dtensor/call_key.h"
#include "headroom_torch/dtensor/own_rows.h"
#include "headroom_torch/dtensor/propagation.h"
#include "headroom_torch/dtensor/redistribution.h"
#include "headroom_torch/dtensor/wrapper.h"

namespace headroom::torch_runner::dtensor {
namespace {

using c10::IValue;
using torch::jit::Stack;

void mark(DispatchTimes* times, std::int64_t DispatchTimes::*step) {
  if (times == nullptr) return;
  times->*step = std::chrono::duration_cast<std::chrono::nanoseconds>(
                     std::chrono::steady_clock::now().time_since_epoch())
                     .count();
}

/// The mesh of the first distributed tensor among the arguments, or nullptr.
const DeviceMesh* mesh_among(c10::ArrayRef<IValue> values) {
  for (const IValue& value : values) {
    if (value.isTensor()) {
      if (const Wrapper* wrapper = wrapper_of(value.toTensor())) return wrapper->spec()->mesh;
    } else if (value.isList()) {
      if (const DeviceMesh* mesh = mesh_among(value.toListRef())) return mesh;
    }
  }
  return nullptr;
}

/// Puts parts in the place of distributed tensors, redistributed where the plan says so.
class Unwrapping {
 public:
  Unwrapping(const Plan& plan, const DeviceMesh& mesh)
      : mesh_(mesh), contiguous_(plan.contiguous), move_(plan.moves.begin()), last_move_(plan.moves.end()) {}

  void unwrap(IValue& value) {
    if (value.isTensor()) {
      const at::Tensor& tensor = value.toTensor();
      if (!tensor.defined()) return;
      const Wrapper* wrapper = wrapper_of(tensor);
      at::Tensor part = wrapper == nullptr ? tensor : wrapper->local();
      if (move_ != last_move_ && move_->operand == operand_) {
        part = move_local(part, mesh_, move_->sizes, move_->from, move_->to);
        ++move_;
      }
      if (contiguous_ && operand_ == 0 && !part.is_contiguous()) part = part.contiguous();
      ++operand_;
      value = IValue(std::move(part));
    } else if (value.isList() && value.toListRef().size() > 0 && value.toListRef()[0].isTensor()) {
      c10::impl::GenericList parts(value.toList().elementType());
      for (const IValue& element : value.toListRef()) {
        IValue part = element;
        unwrap(part);
        parts.push_back(std::move(part));
      }
      value = IValue(std::move(parts));
    }
  }

 private:
  const DeviceMesh& mesh_;
  bool contiguous_;
  std::uint32_t operand_ = 0;
  const Plan::Move* move_;
  const Plan::Move* last_move_;
};

/// Calls `body` with each defined tensor among the results, and its place among them.
template <typename Body>
void for_each_result(Stack& stack, const OpTraits& op, Body&& body) {
  std::size_t place = 0;
  for (std::size_t i = stack.size() - op.results; i < stack.size(); ++i) {
    IValue& value = stack[i];
    if (value.isTensor()) {
      if (value.toTensor().defined()) value = IValue(body(value.toTensor(), place));
      ++place;
    } else if (value.isTensorList()) {
      c10::List<at::Tensor> wrapped;
      for (const IValue& element : value.toListRef()) wrapped.push_back(body(element.toTensor(), place++));
      value = IValue(std::move(wrapped));
    }
  }
}

/// The spec of a result, now that the local operator told its dtype.
const Spec* result_spec(const OpTraits& op, const Draft& draft, const DeviceMesh& mesh,
                        const at::Tensor& part, std::size_t place) {
  const Placements placements = place < draft.placements.size()
                                    ? draft.placements[place]
                                    : Placements(static_cast<std::size_t>(mesh.dims()), Replicate());
  const Sizes sizes =
      place < draft.sizes.size() ? draft.sizes[place] : Sizes(part.sizes().begin(), part.sizes().end());
  if (part.sizes() != c10::IntArrayRef(local_sizes(mesh, placements, sizes))) {
    throw Error(fmt::format(
        "the sharding rule of {} expects a part of {} of the result {} ({}), the operator gave {}: "
        "mend the rule, or the sizes that the call was given",
        op.name, fmt::join(local_sizes(mesh, placements, sizes), "x"), fmt::join(sizes, "x"),
        text(placements), fmt::join(part.sizes(), "x")));
  }
  return mesh.intern({&mesh, placements, sizes, part.scalar_type()});
}

/// Runs the operator on the parts. `wrapped` is called with each result and its place.
template <typename Wrap>
void run(const c10::OperatorHandle& op, const OpTraits& traits, const Plan& plan, const DeviceMesh& mesh,
         Stack& stack, Wrap&& wrapped) {
  DispatchTimes* const times = mesh.cache().times();
  IValue* const arguments = stack.data() + (stack.size() - traits.arguments);
  const at::Tensor written = traits.written < 0 ? at::Tensor() : arguments[traits.written].toTensor();
  Unwrapping unwrapping(plan, mesh);
  for (std::uint32_t i = 0; i < traits.arguments; ++i) unwrapping.unwrap(arguments[i]);
  for (const Plan::Replacement& replacement : plan.replacements)
    arguments[replacement.argument] = replacement.value;
  mark(times, &DispatchTimes::moved);
  if (plan.own_rows) {
    call_on_own_rows(op, *plan.own_rows, stack);
  } else {
    op.callBoxed(&stack);
  }
  mark(times, &DispatchTimes::computed);
  if (written.defined()) {
    if (traits.results == 1) stack.back() = IValue(written);
  } else {
    for_each_result(stack, traits, wrapped);
  }
  mark(times, &DispatchTimes::wrapped);
}

void run_new(const c10::OperatorHandle& op, const OpTraits& traits, const CallKey& key,
             const DeviceMesh& mesh, Stack& stack) {
  const c10::ArrayRef<IValue> arguments(stack.data() + (stack.size() - traits.arguments), traits.arguments);
  Draft draft = propagate(traits, arguments, mesh);
  draft.plan->key.assign(key.words().begin(), key.words().end());
  mark(mesh.cache().times(), &DispatchTimes::found);
  run(op, traits, *draft.plan, mesh, stack, [&](const at::Tensor& part, std::size_t place) {
    const Spec* spec = result_spec(traits, draft, mesh, part, place);
    draft.plan->results.resize(std::max(draft.plan->results.size(), place + 1), nullptr);
    draft.plan->results[place] = spec;
    return wrap(part, spec);
  });
  if (key.complete()) mesh.cache().insert(std::move(draft.plan), key.hash());
}

c10::DispatchKeySet without(c10::DispatchKeySet keys, c10::DispatchKey key) {
  // remove() leaves backends in the set, one of which the key may be.
  const c10::BackendComponent backend = c10::toBackendComponent(key);
  return backend == c10::BackendComponent::InvalidBit ? keys.remove(key) : keys.remove_backend(backend);
}

}  // namespace

void dispatch(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  const std::size_t count = op.schema().arguments().size();
  const c10::ArrayRef<IValue> arguments(stack->data() + (stack->size() - count), count);
  const DeviceMesh* const mesh = mesh_among(arguments);
  TORCH_INTERNAL_ASSERT(mesh != nullptr);
  // A local operator must not end the mesh that it works for: results hold it only once they are wrapped.
  const MeshPtr held = MeshPtr::reclaim_copy(const_cast<DeviceMesh*>(mesh));
  PropagationCache& cache = mesh->cache();
  mark(cache.times(), &DispatchTimes::started);
  const OpTraits& traits = cache.traits(op);
  if (traits.decomposes) {
    op.redispatchBoxed(without(keys, Wrapper::key()), stack);
    return;
  }
  const CallKey key(&op.schema(), arguments,
                    traits.rule == nullptr ? Statics::kValues : traits.rule->statics);
  mark(cache.times(), &DispatchTimes::keyed);
  const Plan* plan = cache.find(key.words(), key.hash());
  if (plan == nullptr || !key.complete()) return run_new(op, traits, key, *mesh, *stack);
  mark(cache.times(), &DispatchTimes::found);
  run(op, traits, *plan, *mesh, *stack,
      [&](const at::Tensor& part, std::size_t place) { return wrap(part, plan->results[place]); });
}

}  // namespace headroom::torch_runner::dtensor
