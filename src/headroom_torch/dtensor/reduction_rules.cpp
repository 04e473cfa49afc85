// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "headroom_torch/dtensor/rules.h"

namespace headroom::torch_runner::dtensor {
namespace {

/// The dimensions that go, as bits; all where `argument` is None or empty, as ATen reads it.
std::uint64_t reduced_dims(const Call& call, std::size_t argument) {
  const int dims = call.operand(0).dims();
  Sizes given;
  if (call.arguments[argument].isInt()) {
    given.push_back(call.integer(argument));
  } else {
    given = call.integers(argument);
  }
  if (given.empty()) return ~std::uint64_t{0};
  std::uint64_t bits = 0;
  for (const std::int64_t dim : given) bits |= std::uint64_t{1} << wrapped_dim(dim, dims);
  return bits;
}

/// How shards of a reduced dimension are put together, where they can be.
struct Combination {
  ReduceOp op;
  Condition condition = Condition::kNone;
};

void reduce(const Call& call, Sharding& sharding, std::uint64_t reduced, bool keep, std::size_t results,
            const std::optional<Combination>& combination) {
  const Operand& self = call.operand(0);
  Sizes sizes;
  c10::SmallVector<Strategy, 4> combined;
  for (int dim = 0; dim < self.dims(); ++dim) {
    const bool goes = reduced >> dim & 1;
    if (!goes || keep) sizes.push_back(goes ? 1 : self.sizes[static_cast<std::size_t>(dim)]);
  }
  sharding.results.assign(results, sizes);
  int place = 0;
  for (int dim = 0; dim < self.dims(); ++dim) {
    const bool goes = reduced >> dim & 1;
    if (!goes) add_uniform(call, sharding, Shard(dim), Shard(place));
    if (goes && combination)
      add_uniform(call, sharding, Shard(dim), Partial(combination->op), combination->condition);
    if (!goes || keep) ++place;
  }
}

constexpr std::uint64_t kAll = ~std::uint64_t{0};
constexpr Combination kSum{ReduceOp::kSum};
constexpr Combination kMean{ReduceOp::kAvg, Condition::kEven};
constexpr Combination kMax{ReduceOp::kMax, Condition::kNonEmpty};
constexpr Combination kMin{ReduceOp::kMin, Condition::kNonEmpty};

/// A maximum of partial maxima is one.
void add_own_partial(const Call& call, Sharding& sharding, ReduceOp own) {
  for_each_partial(call, [&](ReduceOp op) {
    if (op == own) add_uniform(call, sharding, Partial(op), Partial(op));
  });
}

void linear(const Call& call, Sharding& sharding, std::uint64_t reduced, bool keep,
            const Combination& combination) {
  reduce(call, sharding, reduced, keep, 1, combination);
  add_partials(call, sharding, true);
}

void extreme(const Call& call, Sharding& sharding, std::uint64_t reduced, bool keep,
             const Combination& combination) {
  reduce(call, sharding, reduced, keep, 1, combination);
  add_own_partial(call, sharding, combination.op);
}

}  // namespace

void sum_all(const Call& call, Sharding& sharding) {
  linear(call, sharding, kAll, false, kSum);
}
void sum_dims(const Call& call, Sharding& sharding) {
  linear(call, sharding, reduced_dims(call, 1), call.flag(2), kSum);
}
void mean_all(const Call& call, Sharding& sharding) {
  linear(call, sharding, kAll, false, kMean);
}
void mean_dims(const Call& call, Sharding& sharding) {
  linear(call, sharding, reduced_dims(call, 1), call.flag(2), kMean);
}
void max_all(const Call& call, Sharding& sharding) {
  extreme(call, sharding, kAll, false, kMax);
}
void max_dims(const Call& call, Sharding& sharding) {
  extreme(call, sharding, reduced_dims(call, 1), call.flag(2), kMax);
}
void min_all(const Call& call, Sharding& sharding) {
  extreme(call, sharding, kAll, false, kMin);
}
void min_dims(const Call& call, Sharding& sharding) {
  extreme(call, sharding, reduced_dims(call, 1), call.flag(2), kMin);
}

void extreme_at(const Call& call, Sharding& sharding) {
  reduce(call, sharding, reduced_dims(call, 1), call.flag(2), 2, std::nullopt);
}

void argument_of_extreme(const Call& call, Sharding& sharding) {
  const std::uint64_t reduced = call.arguments[1].isNone() ? kAll : reduced_dims(call, 1);
  reduce(call, sharding, reduced, call.flag(2), 1, std::nullopt);
}

void item(const Call&, Sharding&) {}  // all replicated is always a strategy

}  // namespace headroom::torch_runner::dtensor
