// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/dtensor/propagation.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <limits>
#include <utility>

#include "headroom/base/error.h"
#include "headroom_torch/dtensor/dispatch.h"
#include "headroom_torch/dtensor/redistribution.h"

namespace headroom::torch_runner::dtensor {
namespace {

using c10::IValue;

constexpr std::size_t kArguments = 5;  // of both operators

void require_rows(const at::Tensor& indices, std::int64_t whole) {
  if (indices.numel() == 0) return;
  const auto [least, most] = indices.aminmax();
  const auto low = least.item<std::int64_t>(), high = most.item<std::int64_t>();
  if (low >= 0 && high < whole) return;
  throw Error(fmt::format("embedding: no index {} in a table of {} rows: use 0 to {}", low < 0 ? low : high,
                          whole, whole - 1));
}

/// `own` is relative to this rank's first row.
at::Tensor foreign_rows(const at::Tensor& own, const OwnRows& rows) {
  return own.lt(0).logical_or(own.ge(rows.count));
}

// (weight, indices, padding index, scale by frequency, sparse)
void look_up(const c10::OperatorHandle& op, const OwnRows& rows, torch::jit::Stack& stack) {
  IValue* const arguments = stack.data() + (stack.size() - kArguments);
  const at::Tensor weight = arguments[0].toTensor();
  const at::Tensor own = arguments[1].toTensor() - rows.first;
  const at::Tensor foreign = foreign_rows(own, rows);
  // A rank without rows looks up a dummy row.
  if (rows.count == 0) arguments[0] = at::zeros({1, weight.size(1)}, weight.options());
  arguments[1] = own.masked_fill(foreign, 0);
  op.callBoxed(&stack);
  stack.back() = stack.back().toTensor().masked_fill(foreign.unsqueeze(-1), 0);
}

// (gradient, indices, rows of the weight, padding index, scale by frequency)
void sum_gradient(const c10::OperatorHandle& op, const OwnRows& rows, torch::jit::Stack& stack) {
  IValue* const arguments = stack.data() + (stack.size() - kArguments);
  const at::Tensor indices = arguments[1].toTensor();
  const std::int64_t padding = arguments[3].toInt();
  const at::Tensor own = indices - rows.first;
  at::Tensor unused = foreign_rows(own, rows);
  if (padding >= 0) unused = unused.logical_or(indices.eq(padding));
  // Indices of other rows go to an extra row, which is cut off.
  arguments[1] = own.masked_fill(unused, rows.count);
  arguments[2] = rows.count + 1;
  arguments[3] = rows.count;
  op.callBoxed(&stack);
  stack.back() = stack.back().toTensor().narrow(0, 0, rows.count);
}

void add_operand(Call& call, const at::Tensor& tensor, std::size_t argument, const OpTraits& op,
                 const DeviceMesh& mesh) {
  if (!tensor.defined()) return;
  const Wrapper* wrapper = wrapper_of(tensor);
  if (wrapper != nullptr && wrapper->spec()->mesh != &mesh) {
    throw Error(
        fmt::format("{}: operands on two meshes, {} and {}: move them to one with full and distribute",
                    op.name, mesh.text(), wrapper->mesh()->text()));
  }
  call.operands.push_back(
      {.spec = wrapper == nullptr ? nullptr : wrapper->spec(),
       .sizes = wrapper == nullptr ? tensor.sizes() : c10::IntArrayRef(wrapper->spec()->sizes),
       .dtype = tensor.scalar_type(),
       .argument = static_cast<std::uint32_t>(argument)});
}

Call call_of(const OpTraits& op, c10::ArrayRef<c10::IValue> arguments, const DeviceMesh& mesh) {
  Call call{.arguments = arguments, .operands = {}};
  for (std::size_t argument = 0; argument < arguments.size(); ++argument) {
    const c10::IValue& value = arguments[argument];
    if (value.isTensor()) {
      add_operand(call, value.toTensor(), argument, op, mesh);
    } else if (value.isList()) {
      for (const c10::IValue& element : value.toListRef()) {
        if (element.isTensor()) add_operand(call, element.toTensor(), argument, op, mesh);
      }
    }
  }
  return call;
}

std::string placements_of(const Call& call) {
  std::string all;
  for (const Operand& operand : call.operands) {
    all += (all.empty() ? "" : ", ") + (operand.spec == nullptr ? "plain" : text(operand.spec->placements));
  }
  return all;
}

class Chooser {
 public:
  Chooser(const OpTraits& op, const Call& call, const Sharding& sharding, const DeviceMesh& mesh)
      : op_(op), call_(call), sharding_(sharding), mesh_(mesh) {
    replicate_.operands.assign(call.operands.size(), Replicate());
    replicate_.results.assign(op.results, Replicate());
  }

  const Strategy& choose(int mesh_dim) {
    const Strategy* best = nullptr;
    double least = std::numeric_limits<double>::infinity();
    for (const Strategy& strategy : sharding_.strategies) consider(strategy, mesh_dim, best, least);
    consider(replicate_, mesh_dim, best, least);
    if (best == nullptr) {
      throw Error(
          fmt::format("{} cannot write in place to a tensor that needs redistribution (placements {}): "
                      "redistribute it first, or use the out-of-place operator",
                      op_.name, placements_of(call_)));
    }
    chosen_.push_back(best);
    return *best;
  }

 private:
  void consider(const Strategy& strategy, int mesh_dim, const Strategy*& best, double& least) const {
    double cost = 0;
    for (std::size_t i = 0; i < call_.operands.size(); ++i) {
      const Operand& operand = call_.operands[i];
      const Placement from = operand.placement(mesh_dim);
      const Placement to = strategy.operands[i];
      // A written operand keeps its placement.
      const bool written = static_cast<int>(operand.argument) == op_.written;
      if (written && (from != to || (!strategy.results.empty() && strategy.results[0] != from))) return;
      if (from == to) continue;
      cost += move_cost(bytes(operand, mesh_dim), mesh_.size(mesh_dim), from, to);
    }
    if (cost >= least || !holds(strategy, mesh_dim)) return;
    best = &strategy;
    least = cost;
  }

  /// If replicated along the mesh dimension.
  double bytes(const Operand& operand, int mesh_dim) const {
    double bytes = static_cast<double>(at::elementSize(operand.dtype));
    for (const std::int64_t size : operand.sizes) bytes *= static_cast<double>(size);
    for (int other = 0; other < mesh_.dims(); ++other) {
      if (other != mesh_dim && operand.placement(other).is_shard()) bytes /= mesh_.size(other);
    }
    return bytes;
  }

  bool holds(const Strategy& strategy, int mesh_dim) const {
    if (strategy.condition == Condition::kNone) return true;
    for (std::size_t i = 0; i < strategy.operands.size(); ++i) {
      if (!holds(strategy, mesh_dim, strategy.operands[i], call_.operands[i].sizes, &Strategy::operands, i))
        return false;
    }
    for (std::size_t i = 0; i < strategy.results.size() && strategy.condition == Condition::kEven; ++i) {
      if (!holds(strategy, mesh_dim, strategy.results[i], sharding_.results[i], &Strategy::results, i))
        return false;
    }
    return true;
  }

  template <typename Member>
  bool holds(const Strategy& strategy, int mesh_dim, Placement placement, c10::IntArrayRef sizes,
             Member member, std::size_t index) const {
    if (!placement.is_shard()) return true;
    const std::int64_t size = sizes[static_cast<std::size_t>(placement.dim())];
    std::int64_t parts = mesh_.size(mesh_dim);
    for (int outer = 0; outer < mesh_dim; ++outer) {
      if ((chosen_[static_cast<std::size_t>(outer)]->*member)[index] == placement) parts *= mesh_.size(outer);
    }
    if (strategy.condition == Condition::kEven || parts != mesh_.size(mesh_dim)) return size % parts == 0;
    return chunk(size, static_cast<int>(parts), static_cast<int>(parts) - 1).size > 0;
  }

  const OpTraits& op_;
  const Call& call_;
  const Sharding& sharding_;
  const DeviceMesh& mesh_;
  Strategy replicate_;
  c10::SmallVector<const Strategy*, 4> chosen_;  // of the outer mesh dimensions
};

void add_moves(const Call& call, const c10::SmallVector<Placements, 4>& targets, const DeviceMesh& mesh,
               Plan& plan) {
  const Placements replicated(static_cast<std::size_t>(mesh.dims()), Replicate());
  for (std::size_t i = 0; i < call.operands.size(); ++i) {
    const Operand& operand = call.operands[i];
    const Placements& from = operand.spec == nullptr ? replicated : operand.spec->placements;
    if (from == targets[i]) continue;
    plan.moves.push_back(
        {static_cast<std::uint32_t>(i), from, targets[i], Sizes(operand.sizes.begin(), operand.sizes.end())});
  }
}

void add_replacements(const Sharding& sharding, const DeviceMesh& mesh, const Placements& placements,
                      Plan& plan) {
  if (sharding.sizes_argument < 0) return;
  const Sizes local = local_sizes(mesh, placements, sharding.results[0]);
  plan.replacements.push_back({static_cast<std::uint32_t>(sharding.sizes_argument), c10::IntArrayRef(local)});
  if (sharding.strides_argument < 0) return;
  Sizes strides(local.size(), 1);
  for (std::size_t dim = local.size(); dim-- > 1;) {
    strides[dim - 1] = strides[dim] * std::max<std::int64_t>(1, local[dim]);
  }
  plan.replacements.push_back(
      {static_cast<std::uint32_t>(sharding.strides_argument), c10::IntArrayRef(strides)});
}

OwnRows own_rows(const DeviceMesh& mesh, const Placements& placements, c10::IntArrayRef sizes,
                 bool of_result) {
  const Extent held = local_extent(mesh, placements, sizes, 0, mesh.dims());
  return {held.offset, held.size, sizes[0], of_result};
}

Sharding sharding_of(const OpTraits& op, const Call& call, const DeviceMesh& mesh) {
  Sharding sharding;
  if (op.rule != nullptr) {
    op.rule->rule(call, sharding);
  } else if (mesh.fallback() == Fallback::kError) {
    throw Error(
        fmt::format("{} has no sharding rule (placements {}): write one and name it in a table of "
                    "src/headroom_torch/dtensor/*rules.cpp (docs/how-to/add-code.md, \"A sharding rule\"), "
                    "or set fallback=replicate to gather its operands and compute the whole on every rank",
                    op.name, placements_of(call)));
  }
  return sharding;
}

}  // namespace

void call_on_own_rows(const c10::OperatorHandle& op, const OwnRows& rows, torch::jit::Stack& stack) {
  require_rows(stack[stack.size() - kArguments + 1].toTensor(), rows.whole);
  rows.of_result ? sum_gradient(op, rows, stack) : look_up(op, rows, stack);
}

const OpTraits& PropagationCache::traits(const c10::OperatorHandle& op) {
  std::unique_ptr<const OpTraits>& found = ops_[&op.schema()];
  if (!found) found = std::make_unique<const OpTraits>(traits_of(op));
  return *found;
}

void PropagationCache::insert(std::unique_ptr<Plan> plan, std::uint64_t hash) {
  std::unique_ptr<Plan>& first = plans_[hash];
  plan->next = std::move(first);
  first = std::move(plan);
  ++size_;
}

void PropagationCache::clear() {
  plans_.clear();
  size_ = 0;
}

PropagationCache::PropagationCache() = default;
PropagationCache::~PropagationCache() = default;

OpTraits traits_of(const c10::OperatorHandle& op) {
  const c10::FunctionSchema& schema = op.schema();
  OpTraits traits;
  traits.name = schema.operator_name().name;
  if (!schema.operator_name().overload_name.empty())
    traits.name += "." + schema.operator_name().overload_name;
  traits.rule = find_rule(traits.name);
  traits.arguments = static_cast<std::uint32_t>(schema.arguments().size());
  traits.results = static_cast<std::uint32_t>(schema.returns().size());
  traits.decomposes =
      traits.rule == nullptr && op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
  for (std::size_t i = 0; i < schema.arguments().size(); ++i) {
    const c10::AliasInfo* alias = schema.arguments()[i].alias_info();
    if (alias != nullptr && alias->isWrite()) traits.written = static_cast<int>(i);
  }
  return traits;
}

Draft propagate(const OpTraits& op, c10::ArrayRef<c10::IValue> arguments, const DeviceMesh& mesh) {
  const Call call = call_of(op, arguments, mesh);
  const Sharding sharding = sharding_of(op, call, mesh);
  Draft draft{std::make_unique<Plan>(), sharding.results, {}};
  Chooser chooser(op, call, sharding, mesh);
  c10::SmallVector<Placements, 4> targets(call.operands.size());
  draft.placements.resize(op.results);
  Table table = Table::kNone;
  for (int mesh_dim = 0; mesh_dim < mesh.dims(); ++mesh_dim) {
    const Strategy& strategy = chooser.choose(mesh_dim);
    if (strategy.table != Table::kNone) table = strategy.table;
    for (std::size_t i = 0; i < targets.size(); ++i) targets[i].push_back(strategy.operands[i]);
    for (std::size_t i = 0; i < op.results; ++i) draft.placements[i].push_back(strategy.results[i]);
  }
  draft.plan->contiguous = sharding.contiguous;
  if (table == Table::kFirstOperand)
    draft.plan->own_rows = own_rows(mesh, targets[0], call.operand(0).sizes, false);
  if (table == Table::kFirstResult)
    draft.plan->own_rows = own_rows(mesh, draft.placements[0], sharding.results[0], true);
  add_moves(call, targets, mesh, *draft.plan);
  add_replacements(sharding, mesh, draft.placements.empty() ? Placements() : draft.placements[0],
                   *draft.plan);
  return draft;
}

}  // namespace headroom::torch_runner::dtensor
