// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "headroom/base/error.h"
#include "headroom_torch/dtensor/rules.h"

namespace headroom::torch_runner::dtensor {
namespace {

std::int64_t product(c10::IntArrayRef sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
}

Sizes with_inferred(Sizes sizes, std::int64_t elements) {
  const auto open = std::find(sizes.begin(), sizes.end(), -1);
  if (open != sizes.end()) {
    *open = 1;
    const std::int64_t others = product(sizes);
    *open = others == 0 ? 0 : elements / others;
  }
  if (product(sizes) != elements) {
    throw Error(fmt::format("cannot view as {} a tensor of {} elements: use sizes with that product",
                            fmt::join(sizes, "x"), elements));
  }
  return sizes;
}

c10::SmallVector<int, 4> real_dims(c10::IntArrayRef sizes, std::size_t begin, std::size_t end) {
  c10::SmallVector<int, 4> dims;
  for (std::size_t dim = begin; dim < end; ++dim) {
    if (sizes[dim] != 1) dims.push_back(static_cast<int>(dim));
  }
  return dims;
}

/// Splits both into the shortest runs with equal element counts. A run's outermost dimension may be sharded
/// if both divide evenly, or it is alone.
void add_viewed_shards(const Call& call, Sharding& sharding) {
  const c10::IntArrayRef from = call.operand(0).sizes;
  const c10::IntArrayRef to = sharding.results[0];
  if (product(from) == 0) return;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < from.size() && j < to.size()) {
    const std::size_t first_i = i;
    const std::size_t first_j = j;
    std::int64_t from_elements = from[i++];
    std::int64_t to_elements = to[j++];
    while (from_elements != to_elements) {
      (from_elements < to_elements ? from_elements : to_elements) *=
          from_elements < to_elements ? from[i++] : to[j++];
    }
    const auto from_dims = real_dims(from, first_i, i);
    const auto to_dims = real_dims(to, first_j, j);
    if (from_dims.empty() || to_dims.empty()) continue;
    const bool alone = from_dims.size() == 1 && to_dims.size() == 1;
    add_uniform(call, sharding, Shard(from_dims[0]), Shard(to_dims[0]),
                alone ? Condition::kNone : Condition::kEven);
  }
}

/// Shards dimension d as the result's places[d]; negative: not sharded.
void add_placed_shards(const Call& call, Sharding& sharding, const c10::SmallVector<int, 5>& places) {
  for (std::size_t dim = 0; dim < places.size(); ++dim) {
    if (places[dim] >= 0) add_uniform(call, sharding, Shard(static_cast<int>(dim)), Shard(places[dim]));
  }
  add_partials(call, sharding, false);
}

/// Positions without dimension `gone`, or with it cut if `stays`.
c10::SmallVector<int, 5> places_without(int dims, int gone, bool stays) {
  c10::SmallVector<int, 5> places;
  for (int dim = 0; dim < dims; ++dim)
    places.push_back(dim == gone ? -1 : dim - (dim > gone && !stays ? 1 : 0));
  return places;
}

bool all_have(const Call& call, int dim) {
  for (const Operand& operand : call.operands) {
    if (dim >= operand.dims() || dim >= call.operand(0).dims()) return false;
    const auto place = static_cast<std::size_t>(dim);
    if (operand.sizes[place] != call.operand(0).sizes[place]) return false;
  }
  return true;
}

void add_shards_beside(const Call& call, Sharding& sharding, int along) {
  for (int dim = 0; dim < call.operand(0).dims(); ++dim) {
    if (dim != along && all_have(call, dim)) add_uniform(call, sharding, Shard(dim), Shard(dim));
  }
}

/// Indices are replicated, values partial.
void add_picked_partials(const Call& call, Sharding& sharding, bool linear_only) {
  for_each_partial(call, [&](ReduceOp op) {
    if (linear_only && !is_linear(op)) return;
    Strategy strategy{{Partial(op), Replicate()}, {Partial(op)}};
    if (call.operands.size() == 3) strategy.operands.push_back(Partial(op));
    sharding.strategies.push_back(std::move(strategy));
  });
}

void permuted(const Call& call, Sharding& sharding, const c10::SmallVector<int, 5>& places) {
  Sizes sizes(places.size(), 0);
  for (std::size_t dim = 0; dim < places.size(); ++dim) {
    sizes[static_cast<std::size_t>(places[dim])] = call.operand(0).sizes[dim];
  }
  sharding.results.push_back(std::move(sizes));
  add_placed_shards(call, sharding, places);
}

void swapped(const Call& call, Sharding& sharding, int one, int other) {
  c10::SmallVector<int, 5> places;
  for (int dim = 0; dim < call.operand(0).dims(); ++dim)
    places.push_back(dim == one ? other : dim == other ? one : dim);
  permuted(call, sharding, places);
}

/// (gradient, input_sizes, dim, …): gradient of an operator that cut or removed dimension `dim`.
template <bool stays>
void scattered(const Call& call, Sharding& sharding) {
  const Sizes sizes = call.integers(1);
  const int cut = call.dim(2, static_cast<int>(sizes.size()));
  sharding.results.push_back(sizes);
  sharding.sizes_argument = 1;
  for (int dim = 0; dim < static_cast<int>(sizes.size()); ++dim) {
    if (dim != cut) add_uniform(call, sharding, Shard(dim - (dim > cut && !stays ? 1 : 0)), Shard(dim));
  }
  add_partials(call, sharding, true);
}

void joined(const Call& call, Sharding& sharding, int dims, int along, bool added) {
  for (int dim = 0; dim < dims; ++dim) {
    if (dim != along) add_uniform(call, sharding, Shard(dim - (dim > along && added ? 1 : 0)), Shard(dim));
  }
  add_partials(call, sharding, false);
}

// (self, size)
void view(const Call& call, Sharding& sharding) {
  sharding.results.push_back(with_inferred(call.integers(1), product(call.operand(0).sizes)));
  sharding.sizes_argument = 1;
  sharding.contiguous = true;
  add_viewed_shards(call, sharding);
  add_partials(call, sharding, false);
}

// (self, size, stride)
void view_strided(const Call& call, Sharding& sharding) {
  view(call, sharding);
  sharding.strides_argument = 2;
}

void expand(const Call& call, Sharding& sharding) {
  const Operand& self = call.operand(0);
  Sizes sizes = call.integers(1);
  const int added = static_cast<int>(sizes.size()) - self.dims();
  if (added < 0)
    throw Error(
        fmt::format("cannot expand {} dimensions to {}: use as many or more", self.dims(), sizes.size()));
  c10::SmallVector<int, 5> places;
  for (int dim = 0; dim < self.dims(); ++dim) {
    std::int64_t& size = sizes[static_cast<std::size_t>(dim + added)];
    if (size == -1) size = self.sizes[static_cast<std::size_t>(dim)];
    places.push_back(size == self.sizes[static_cast<std::size_t>(dim)] ? dim + added : -1);
  }
  sharding.results.push_back(std::move(sizes));
  sharding.sizes_argument = 1;
  add_placed_shards(call, sharding, places);
}

// (self, dim0, dim1)
void transpose(const Call& call, Sharding& sharding) {
  const int dims = call.operand(0).dims();
  swapped(call, sharding, call.dim(1, dims), call.dim(2, dims));
}

void transpose_2d(const Call& call, Sharding& sharding) {
  swapped(call, sharding, 0, 1);
}

void permute(const Call& call, Sharding& sharding) {
  const int dims = call.operand(0).dims();
  const Sizes order = call.integers(1);
  c10::SmallVector<int, 5> places(order.size(), 0);
  for (std::size_t place = 0; place < order.size(); ++place) {
    places[static_cast<std::size_t>(wrapped_dim(order[place], dims))] = static_cast<int>(place);
  }
  permuted(call, sharding, places);
}

void flip(const Call& call, Sharding& sharding) {
  const Operand& self = call.operand(0);
  sharding.results.push_back(sizes_of(self));
  c10::SmallVector<int, 5> places;
  for (int dim = 0; dim < self.dims(); ++dim) places.push_back(dim);
  for (const std::int64_t dim : call.integers(1))
    places[static_cast<std::size_t>(wrapped_dim(dim, self.dims()))] = -1;
  add_placed_shards(call, sharding, places);
}

void unsqueeze(const Call& call, Sharding& sharding) {
  const int dims = call.operand(0).dims();
  const int added = call.dim(1, dims + 1);
  Sizes sizes = sizes_of(call.operand(0));
  sizes.insert(sizes.begin() + added, 1);
  sharding.results.push_back(std::move(sizes));
  c10::SmallVector<int, 5> places;
  for (int dim = 0; dim < dims; ++dim) places.push_back(dim < added ? dim : dim + 1);
  add_placed_shards(call, sharding, places);
}

void squeeze_dim(const Call& call, Sharding& sharding) {
  const Operand& self = call.operand(0);
  const int gone = call.dim(1, self.dims());
  Sizes sizes = sizes_of(self);
  const bool goes = !sizes.empty() && sizes[static_cast<std::size_t>(gone)] == 1;
  if (goes) sizes.erase(sizes.begin() + gone);
  sharding.results.push_back(std::move(sizes));
  // A remaining dimension of size 1 in a shard would be squeezed.
  add_placed_shards(call, sharding, places_without(self.dims(), gone, !goes));
}

void squeeze(const Call& call, Sharding& sharding) {
  Sizes sizes;
  for (const std::int64_t size : call.operand(0).sizes) {
    if (size != 1) sizes.push_back(size);
  }
  sharding.results.push_back(std::move(sizes));
  add_partials(call, sharding, false);  // no shards: a shard of size 1 would be squeezed
}

void select(const Call& call, Sharding& sharding) {
  const Operand& self = call.operand(0);
  const int gone = call.dim(1, self.dims());
  Sizes sizes = sizes_of(self);
  sizes.erase(sizes.begin() + gone);
  sharding.results.push_back(std::move(sizes));
  add_placed_shards(call, sharding, places_without(self.dims(), gone, false));
}

void slice(const Call& call, Sharding& sharding) {
  const Operand& self = call.operand(0);
  const int cut = call.dim(1, self.dims());
  Sizes sizes = sizes_of(self);
  std::int64_t& size = sizes[static_cast<std::size_t>(cut)];
  const auto bound = [&](std::size_t argument, std::int64_t otherwise) {
    if (call.arguments[argument].isNone()) return otherwise;
    const std::int64_t given = call.integer(argument);
    return std::clamp<std::int64_t>(given < 0 ? given + size : given, 0, size);
  };
  const std::int64_t start = bound(2, 0);
  const std::int64_t end = std::max(start, bound(3, size));
  const std::int64_t step = call.integer(4);
  size = (end - start + step - 1) / step;
  sharding.results.push_back(std::move(sizes));
  add_placed_shards(call, sharding, places_without(self.dims(), cut, true));
}

void cat(const Call& call, Sharding& sharding) {
  const Operand& first = call.operand(0);
  const int along = call.dim(1, first.dims());
  Sizes sizes = sizes_of(first);
  for (std::size_t i = 1; i < call.operands.size(); ++i) {
    const Operand& operand = call.operand(i);
    if (operand.dims() != first.dims()) {
      throw Error(fmt::format("cannot concatenate tensors of {} and {} dimensions: use equal numbers",
                              first.dims(), operand.dims()));
    }
    sizes[static_cast<std::size_t>(along)] += operand.sizes[static_cast<std::size_t>(along)];
  }
  sharding.results.push_back(std::move(sizes));
  joined(call, sharding, first.dims(), along, false);
}

void stack(const Call& call, Sharding& sharding) {
  const Operand& first = call.operand(0);
  const int along = call.dim(1, first.dims() + 1);
  Sizes sizes = sizes_of(first);
  sizes.insert(sizes.begin() + along, static_cast<std::int64_t>(call.operands.size()));
  sharding.results.push_back(std::move(sizes));
  joined(call, sharding, first.dims() + 1, along, true);
}

// (self, dim, index, …); the result has the sizes of the indices
void gather(const Call& call, Sharding& sharding) {
  const int along = call.dim(1, call.operand(0).dims());
  sharding.results.push_back(sizes_of(call.operand(1)));
  add_shards_beside(call, sharding, along);
  if (along < call.operand(1).dims())
    sharding.strategies.push_back({{Replicate(), Shard(along)}, {Shard(along)}});
  add_picked_partials(call, sharding, false);
}

// (self, dim, index, value)
void scatter_value(const Call& call, Sharding& sharding) {
  sharding.results.push_back(sizes_of(call.operand(0)));
  add_shards_beside(call, sharding, call.dim(1, call.operand(0).dims()));
}

// (self, dim, index, source)
void scatter(const Call& call, Sharding& sharding) {
  scatter_value(call, sharding);
  add_picked_partials(call, sharding, false);
}

// (self, dim, index, source)
void scatter_add(const Call& call, Sharding& sharding) {
  const int along = call.dim(1, call.operand(0).dims());
  sharding.results.push_back(sizes_of(call.operand(0)));
  add_shards_beside(call, sharding, along);
  if (along < call.operand(1).dims())
    sharding.strategies.push_back({{Partial(), Shard(along), Shard(along)}, {Partial()}});
  add_picked_partials(call, sharding, true);
}

// (weight, indices, …): rows of the weight
void embedding(const Call& call, Sharding& sharding) {
  const Operand& indices = call.operand(1);
  Sizes sizes = sizes_of(indices);
  sizes.push_back(call.operand(0).sizes[1]);
  sharding.results.push_back(std::move(sizes));
  for (int dim = 0; dim < indices.dims(); ++dim) {
    sharding.strategies.push_back({{Replicate(), Shard(dim)}, {Shard(dim)}});
  }
  sharding.strategies.push_back({{Shard(1), Replicate()}, {Shard(indices.dims())}});
  sharding.strategies.push_back(
      {.operands = {Shard(0), Replicate()}, .results = {Partial()}, .table = Table::kFirstOperand});
  for_each_partial(call, [&](ReduceOp op) {
    sharding.strategies.push_back({{Partial(op), Replicate()}, {Partial(op)}});
  });
}

// (gradient, indices, rows of the weight, padding index, scale by frequency)
void embedding_backward(const Call& call, Sharding& sharding) {
  const Operand& gradient = call.operand(0);
  const Operand& indices = call.operand(1);
  sharding.results.push_back({call.integer(2), gradient.sizes.back()});
  // If both are replicated, the weight was probably sharded by rows: a rank needs only its own.
  sharding.strategies.push_back(
      {.operands = {Replicate(), Replicate()}, .results = {Shard(0)}, .table = Table::kFirstResult});
  sharding.strategies.push_back({{Shard(indices.dims()), Replicate()}, {Shard(1)}});
  // Scaling by an index's frequency needs all indices, not a shard.
  for (int dim = 0; dim < indices.dims() && !call.flag(4); ++dim) {
    sharding.strategies.push_back({{Shard(dim), Shard(dim)}, {Partial()}});
  }
  add_picked_partials(call, sharding, true);
}

const RuleEntry kShapeRules[] = {
    {gather, Statics::kValues, {"gather"}},
    {scatter, Statics::kValues, {"scatter.src", "scatter_.src"}},
    {scatter_value, Statics::kValues, {"scatter.value", "scatter_.value"}},
    {scatter_add, Statics::kValues, {"scatter_add", "scatter_add_"}},
    {embedding, Statics::kValues, {"embedding"}},
    {embedding_backward, Statics::kValues, {"embedding_dense_backward"}},
    {view, Statics::kValues, {"view", "_unsafe_view"}},
    {view_strided, Statics::kValues, {"_reshape_alias"}},
    {expand, Statics::kValues, {"expand"}},
    {transpose, Statics::kValues, {"transpose.int"}},
    {transpose_2d, Statics::kValues, {"t"}},
    {permute, Statics::kValues, {"permute"}},
    {flip, Statics::kValues, {"flip"}},
    {unsqueeze, Statics::kValues, {"unsqueeze"}},
    {squeeze, Statics::kValues, {"squeeze"}},
    {squeeze_dim, Statics::kValues, {"squeeze.dim"}},
    {select, Statics::kValues, {"select.int"}},
    {scattered<false>, Statics::kValues, {"select_backward"}},
    {slice, Statics::kValues, {"slice.Tensor"}},
    {scattered<true>, Statics::kValues, {"slice_backward"}},
    {cat, Statics::kValues, {"cat"}},
    {stack, Statics::kValues, {"stack"}},
};

}  // namespace

c10::ArrayRef<RuleEntry> shape_rules() {
  return kShapeRules;
}

}  // namespace headroom::torch_runner::dtensor
