// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/dtensor/dispatch.h"

#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/library.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstring>
#include <list>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom_torch/dtensor/propagation.h"
#include "headroom_torch/dtensor/redistribution.h"
#include "headroom_torch/dtensor/rules.h"

namespace headroom::torch_runner::dtensor {
namespace {

/// Operator, specs of its tensors, static arguments. Self-delimiting: equal words mean equal calls. Does not
/// allocate.
class CallKey {
 public:
  CallKey(const void* op, c10::ArrayRef<c10::IValue> arguments, Statics statics)
      : values_(statics == Statics::kValues) {
    add(reinterpret_cast<std::uintptr_t>(op));
    for (const c10::IValue& argument : arguments) add(argument);
  }

  /// False if the call does not fit; its plan is not cached.
  bool complete() const { return complete_; }
  c10::ArrayRef<std::uint64_t> words() const { return {words_.data(), count_}; }
  std::uint64_t hash() const { return hash_; }

 private:
  /// Low bits of a value's first word; zero for a Spec pointer (a distributed tensor).
  enum Kind : std::uint64_t { kNone = 1, kInt, kDouble, kBool, kList, kText, kPlain };
  static_assert(alignof(Spec) >= 8);

  void add(std::uint64_t word) {
    if (count_ == words_.size()) {
      complete_ = false;
      return;
    }
    words_[count_++] = word;
    hash_ = (hash_ ^ word) * 0x9E3779B97F4A7C15ULL;
    hash_ ^= hash_ >> 32;
  }

  void add(Kind kind, std::uint64_t beside) { add(kind | beside << 3); }

  void add(const at::Tensor& tensor) {
    if (const Wrapper* wrapper = wrapper_of(tensor))
      return add(reinterpret_cast<std::uintptr_t>(wrapper->spec()));
    if (!tensor.defined()) return add(kNone, 1);
    add(kPlain,
        static_cast<std::uint64_t>(tensor.scalar_type()) << 8 | static_cast<std::uint64_t>(tensor.dim()));
    for (const std::int64_t size : tensor.sizes()) add(static_cast<std::uint64_t>(size));
  }

  void add(const std::string& text) {
    add(kText, text.size());
    for (std::size_t place = 0; place < text.size(); place += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, text.data() + place, std::min(sizeof word, text.size() - place));
      add(word);
    }
  }

  void add(const c10::IValue& value) {
    if (value.isTensor()) return add(value.toTensor());
    if (value.isNone()) return add(kNone, 0);
    if (value.isInt()) {
      add(kInt, 0);
      return values_ ? add(static_cast<std::uint64_t>(value.toInt())) : void();
    }
    if (value.isDouble()) {
      add(kDouble, 0);
      return values_ ? add(std::bit_cast<std::uint64_t>(value.toDouble())) : void();
    }
    if (value.isBool()) return add(kBool, value.toBool() ? 1 : 0);
    if (value.isList()) {
      const c10::ArrayRef<c10::IValue> elements = value.toListRef();
      add(kList, elements.size());
      for (const c10::IValue& element : elements) add(element);
      return;
    }
    if (value.isString()) return add(value.toStringRef());
    if (value.isDevice()) {
      return add(kInt, 1 | static_cast<std::uint64_t>(value.toDevice().type()) << 8 |
                           static_cast<std::uint64_t>(static_cast<std::uint8_t>(value.toDevice().index()))
                               << 24);
    }
    complete_ = false;
  }

  std::array<std::uint64_t, 64> words_;  // only the first count_ are ever read
  std::size_t count_ = 0;
  std::uint64_t hash_ = 0;
  bool values_;
  bool complete_ = true;
};

using c10::IValue;
using torch::jit::Stack;

void mark(DispatchTimes* times, std::int64_t DispatchTimes::*step) {
  if (times == nullptr) return;
  times->*step = std::chrono::duration_cast<std::chrono::nanoseconds>(
                     std::chrono::steady_clock::now().time_since_epoch())
                     .count();
}

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

/// Only the local operator determines the dtype.
const Spec* result_spec(const OpTraits& op, const Draft& draft, const DeviceMesh& mesh,
                        const at::Tensor& part, std::size_t place) {
  const Placements placements = place < draft.placements.size()
                                    ? draft.placements[place]
                                    : Placements(static_cast<std::size_t>(mesh.dims()), Replicate());
  const Sizes sizes =
      place < draft.sizes.size() ? draft.sizes[place] : Sizes(part.sizes().begin(), part.sizes().end());
  if (part.sizes() != c10::IntArrayRef(local_sizes(mesh, placements, sizes))) {
    throw Error(
        fmt::format("the sharding rule of {} expects a part of {} of the result {} ({}), the operator "
                    "returned {}: correct the rule, or the sizes passed to the call",
                    op.name, fmt::join(local_sizes(mesh, placements, sizes), "x"), fmt::join(sizes, "x"),
                    text(placements), fmt::join(part.sizes(), "x")));
  }
  return mesh.intern({&mesh, placements, sizes, part.scalar_type()});
}

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
  // remove() leaves backends in the set.
  const c10::BackendComponent backend = c10::toBackendComponent(key);
  return backend == c10::BackendComponent::InvalidBit ? keys.remove(key) : keys.remove_backend(backend);
}

using Arguments = c10::ArrayRef<c10::IValue>;

// (gradient, dim, indices, sizes of the input, keepdim)
at::Tensor gradient_of_selection(Arguments arguments) {
  at::Tensor gradient = arguments[0].toTensor();
  at::Tensor indices = arguments[2].toTensor();
  const std::int64_t dim = arguments[1].toInt();
  const std::vector<std::int64_t> sizes = arguments[3].toIntVector();
  if (!arguments[4].toBool() && !sizes.empty()) {
    gradient = gradient.unsqueeze(dim);
    indices = indices.unsqueeze(dim);
  }
  return gradient.new_zeros(sizes).scatter(dim, indices, gradient);
}

// (gradient, input, dim, indices, sparse gradient)
at::Tensor gradient_of_gather(Arguments arguments) {
  const at::Tensor& gradient = arguments[0].toTensor();
  if (arguments[4].toBool())
    throw Error("gather of a distributed tensor has a dense gradient only: leave sparse_grad out");
  return gradient.new_zeros(arguments[1].toTensor().sizes())
      .scatter_add(arguments[2].toInt(), arguments[3].toTensor(), gradient);
}

/// An autograd kernel for an operator that ATen decomposes.
template <at::Tensor (*own)(Arguments)>
void compose(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  const std::size_t count = op.schema().arguments().size();
  const Arguments arguments(stack->data() + (stack->size() - count), count);
  const bool is_distributed = std::any_of(arguments.begin(), arguments.end(), [](const c10::IValue& value) {
    return value.isTensor() && wrapper_of(value.toTensor()) != nullptr;
  });
  if (!is_distributed) return op.redispatchBoxed(keys & c10::after_autograd_keyset, stack);
  at::Tensor result = own(arguments);
  stack->resize(stack->size() - count);
  stack->emplace_back(std::move(result));
}

/// Candidates: below autograd, unused by libtorch, compatible with autograd and view tracking. Fake leaves
/// the device's backend in place. The others are backends, for which ATen prefers composite kernels to a
/// fallback, so operators are registered one by one.
constexpr c10::DispatchKey kKeys[] = {c10::DispatchKey::Fake, c10::DispatchKey::PrivateUse3,
                                      c10::DispatchKey::PrivateUse2, c10::DispatchKey::PrivateUse1};
constexpr c10::DispatchKey kAutogradKeys[] = {
    c10::DispatchKey::AutogradCPU, c10::DispatchKey::AutogradCUDA, c10::DispatchKey::AutogradPrivateUse3,
    c10::DispatchKey::AutogradPrivateUse2, c10::DispatchKey::AutogradPrivateUse1};

using Registrations = std::list<torch::Library>;

torch::Library& library(Registrations& registrations, torch::Library::Kind kind, const char* space,
                        c10::DispatchKey key) {
  return registrations.emplace_back(kind, space, key, __FILE__, __LINE__);
}

std::optional<c10::OperatorHandle> find_operator(const std::string& name) {
  const std::size_t dot = name.find('.');
  const auto found = c10::Dispatcher::singleton().findSchema(
      {name.substr(0, dot), dot == std::string::npos ? "" : name.substr(dot + 1)});
  return found ? std::optional(*found) : std::nullopt;
}

bool has_kernels(c10::DispatchKey key) {
  for (const RuleEntry& entry : all_rules()) {
    for (const std::string_view name : entry.ops) {
      const auto op = find_operator(std::string(kAten) + std::string(name));
      if (op && op->hasKernelForDispatchKey(key)) return true;
    }
  }
  return false;
}

/// ATen's; except composites, for autograd too.
void register_operators(torch::Library& aten) {
  for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames()) {
    const auto op = c10::Dispatcher::singleton().findSchema(name);
    const bool is_composed = op && op->hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
    if (!op || is_composed || name.name.rfind("aten::", 0) != 0) continue;
    const std::string full = name.overload_name.empty() ? name.name : name.name + "." + name.overload_name;
    aten.impl(full.c_str(), torch::CppFunction::makeFromBoxedFunction<&dispatch>());
  }
}

/// For max over a dim and similar, and gather: ATen's gradients write into a plain tensor, which cannot
/// become a distributed one. Plain tensors still take ATen's.
void register_selecting_gradients(torch::Library& aten) {
  aten.impl("value_selecting_reduction_backward",
            torch::CppFunction::makeFromBoxedFunction<&compose<gradient_of_selection>>());
  aten.impl("gather_backward", torch::CppFunction::makeFromBoxedFunction<&compose<gradient_of_gather>>());
}

bool take(c10::DispatchKey key, Registrations& registrations) {
  if (has_kernels(key)) return false;
  try {
    library(registrations, torch::Library::IMPL, "_", key)
        .fallback(torch::CppFunction::makeFromBoxedFunction<&dispatch>());
  } catch (const c10::Error&) {
    return false;
  }
  if (key != c10::DispatchKey::Fake)
    register_operators(library(registrations, torch::Library::IMPL, "aten", key));
  for (const c10::DispatchKey autograd : kAutogradKeys) {
    register_selecting_gradients(library(registrations, torch::Library::IMPL, "aten", autograd));
  }
  return true;
}

c10::DispatchKey take_first_free(Registrations& registrations) {
  std::vector<std::string> names;
  for (const c10::DispatchKey key : kKeys) {
    if (take(key, registrations)) return key;
    names.emplace_back(c10::toString(key));
  }
  throw Error(
      fmt::format("distributed tensors need one of the dispatch keys {}, all used by other libraries of this "
                  "process: load fewer of them",
                  join(names, ", ")));
}

}  // namespace

void dispatch(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  const std::size_t count = op.schema().arguments().size();
  const c10::ArrayRef<IValue> arguments(stack->data() + (stack->size() - count), count);
  const DeviceMesh* const mesh = mesh_among(arguments);
  TORCH_INTERNAL_ASSERT(mesh != nullptr);
  // Results own the mesh only once they are wrapped.
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

void register_dispatch() {
  static const Registrations kRegistrations = [] {
    Registrations registrations;
    Wrapper::take(take_first_free(registrations));
    return registrations;
  }();
}

}  // namespace headroom::torch_runner::dtensor
