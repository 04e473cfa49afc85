// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <optional>
#include <string_view>

#include "headroom/base/error.h"
#include "headroom_torch/dtensor/rules.h"

namespace headroom::torch_runner::dtensor {
namespace {

/// A letter per dimension: factors {"mk", "kn"}, result "mn". An addend is the first operand and broadcasts.
struct Product {
  std::array<std::string_view, 2> factors;
  std::string_view result;
  bool has_addend = false;
};

constexpr std::string_view kLetters = "bmnk";

class ProductRule {
 public:
  ProductRule(const Product& product, const Call& call) : product_(product), call_(call) {
    for (std::size_t i = 0; i < 2; ++i) take_sizes(product.factors[i], call.operand(i + first_factor()));
  }

  Sizes result_sizes() const {
    Sizes sizes;
    for (const char letter : product_.result) sizes.push_back(size_of(letter));
    return sizes;
  }

  void add_strategies(Sharding& sharding) const {
    for (const char letter : kLetters) {
      if (product_.factors[0].find(letter) != std::string_view::npos ||
          product_.factors[1].find(letter) != std::string_view::npos) {
        sharding.strategies.push_back(sharded(letter));
      }
    }
    for_each_partial(call_, [&](ReduceOp op) {
      if (!is_linear(op)) return;
      for (std::size_t factor = 0; factor < 2; ++factor) sharding.strategies.push_back(partial(op, factor));
    });
  }

 private:
  std::size_t first_factor() const { return product_.has_addend ? 1 : 0; }
  std::int64_t size_of(char letter) const { return sizes_[kLetters.find(letter)]; }

  void take_sizes(std::string_view letters, const Operand& operand) {
    if (operand.sizes.size() != letters.size()) {
      throw Error(
          fmt::format("a factor has {} dimensions, expected {}", operand.sizes.size(), letters.size()));
    }
    for (std::size_t dim = 0; dim < letters.size(); ++dim) {
      std::int64_t& size = sizes_[kLetters.find(letters[dim])];
      if (size >= 0 && size != operand.sizes[dim]) {
        throw Error(
            fmt::format("factors have the sizes {} and {} in one dimension", size, operand.sizes[dim]));
      }
      size = operand.sizes[dim];
    }
  }

  static Placement place(std::string_view letters, char letter) {
    const std::size_t dim = letters.find(letter);
    return dim == std::string_view::npos ? Placement(Replicate()) : Placement(Shard(static_cast<int>(dim)));
  }

  /// The addend's dimensions are the result's last, or 1.
  Placement addend(Placement result) const {
    if (!result.is_shard()) return result;
    const int dims = call_.operand(0).dims();
    const int dim = result.dim() - (static_cast<int>(product_.result.size()) - dims);
    if (dim < 0 || call_.operand(0).sizes[static_cast<std::size_t>(dim)] !=
                       size_of(product_.result[static_cast<std::size_t>(result.dim())])) {
      return Replicate();
    }
    return Shard(dim);
  }

  Strategy with(Placement first, Placement second, Placement result) const {
    Strategy strategy;
    if (product_.has_addend) strategy.operands.push_back(addend(result));
    strategy.operands.push_back(first);
    strategy.operands.push_back(second);
    strategy.results.push_back(result);
    return strategy;
  }

  Strategy sharded(char letter) const {
    const Placement result = place(product_.result, letter);
    return with(place(product_.factors[0], letter), place(product_.factors[1], letter),
                result.is_shard() ? result : Placement(Partial()));
  }

  Strategy partial(ReduceOp op, std::size_t factor) const {
    const Placement part = Partial(op);
    return with(factor == 0 ? part : Replicate(), factor == 1 ? part : Replicate(), part);
  }

  const Product& product_;
  const Call& call_;
  std::array<std::int64_t, kLetters.size()> sizes_ = {-1, -1, -1, -1};
};

template <const Product& product>
void contraction(const Call& call, Sharding& sharding) {
  const ProductRule rule(product, call);
  sharding.results.push_back(rule.result_sizes());
  rule.add_strategies(sharding);
}

constexpr Product kMm{{"mk", "kn"}, "mn"}, kAddmm{{"mk", "kn"}, "mn", true};
constexpr Product kBmm{{"bmk", "bkn"}, "bmn"}, kBaddbmm{{"bmk", "bkn"}, "bmn", true};
constexpr Product kMv{{"mk", "k"}, "m"}, kAddmv{{"mk", "k"}, "m", true}, kDot{{"k", "k"}, ""};

/// As bits; all if `argument` is None or empty, as in ATen.
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

/// Over all dimensions (self, …) or some (self, dims, keepdim, …).
template <const Combination& combination, bool of_dims>
void reduction(const Call& call, Sharding& sharding) {
  const std::uint64_t reduced = of_dims ? reduced_dims(call, 1) : kAll;
  reduce(call, sharding, reduced, of_dims && call.flag(2), 1, combination);
  if (is_linear(combination.op)) return add_partials(call, sharding, true);
  // A maximum of partial maxima is a partial maximum.
  for_each_partial(call, [&](ReduceOp op) {
    if (op == combination.op) add_uniform(call, sharding, Partial(op), Partial(op));
  });
}

/// Places `count` operands from `first` on; others (weights) are replicated.
Strategy rows(const Call& call, std::size_t first, std::size_t count, Placement placement) {
  Strategy strategy;
  for (std::size_t i = 0; i < call.operands.size(); ++i) {
    strategy.operands.push_back(i >= first && i < first + count ? placement : Placement(Replicate()));
  }
  return strategy;
}

/// (self, dim, keepdim) -> values, indices
void extreme_at(const Call& call, Sharding& sharding) {
  reduce(call, sharding, reduced_dims(call, 1), call.flag(2), 2, std::nullopt);
}

/// (self, dim?, keepdim) -> indices
void argument_of_extreme(const Call& call, Sharding& sharding) {
  const std::uint64_t reduced = call.arguments[1].isNone() ? kAll : reduced_dims(call, 1);
  reduce(call, sharding, reduced, call.flag(2), 1, std::nullopt);
}

/// A number, equal on every rank: all replicated.
void item(const Call&, Sharding&) {}

/// (self, dim, …)
void softmax(const Call& call, Sharding& sharding) {
  const Operand& self = call.operand(0);
  const int whole = call.dim(1, self.dims());
  sharding.results.push_back(sizes_of(self));
  for (int dim = 0; dim < self.dims(); ++dim) {
    if (dim != whole) add_uniform(call, sharding, Shard(dim), Shard(dim));
  }
}

/// (gradient, output, dim, …)
void softmax_backward(const Call& call, Sharding& sharding) {
  const Operand& gradient = call.operand(0);
  const int whole = call.dim(2, gradient.dims());
  sharding.results.push_back(sizes_of(gradient));
  for (int dim = 0; dim < gradient.dims(); ++dim) {
    if (dim != whole) add_uniform(call, sharding, Shard(dim), Shard(dim));
  }
}

// (input, normalized_shape, weight?, bias?, eps) -> (output, mean, reciprocal deviation)
void layer_norm(const Call& call, Sharding& sharding) {
  const Operand& input = call.operand(0);
  const int leading = input.dims() - static_cast<int>(call.integers(1).size());
  const Sizes sizes(input.sizes.begin(), input.sizes.end());
  Sizes moments = sizes;
  for (int dim = leading; dim < input.dims(); ++dim) moments[static_cast<std::size_t>(dim)] = 1;
  sharding.results = {sizes, moments, moments};
  for (int dim = 0; dim < leading; ++dim) {
    Strategy strategy = rows(call, 0, 1, Shard(dim));
    strategy.results.assign(3, Shard(dim));
    sharding.strategies.push_back(std::move(strategy));
  }
}

// (gradient, input, normalized_shape, mean, reciprocal deviation, weight?, bias?, mask) -> gradients of
// input, weight, bias
void layer_norm_backward(const Call& call, Sharding& sharding) {
  const Operand& input = call.operand(1);
  const Sizes normalized = call.integers(2);
  sharding.results = {Sizes(input.sizes.begin(), input.sizes.end()), normalized, normalized};
  for (int dim = 0; dim < input.dims() - static_cast<int>(normalized.size()); ++dim) {
    Strategy strategy = rows(call, 0, 4, Shard(dim));
    strategy.results.push_back(Shard(dim));
    strategy.results.append(2, Partial());
    strategy.condition = Condition::kNonEmpty;  // ATen leaves the weights' gradients undefined for an input
                                                // without rows
    sharding.strategies.push_back(std::move(strategy));
  }
}

const RuleEntry kSumRules[] = {
    {contraction<kMm>, Statics::kKinds, {"mm"}},
    {contraction<kAddmm>, Statics::kKinds, {"addmm"}},
    {contraction<kBmm>, Statics::kKinds, {"bmm"}},
    {contraction<kBaddbmm>, Statics::kKinds, {"baddbmm"}},
    {contraction<kMv>, Statics::kKinds, {"mv"}},
    {contraction<kAddmv>, Statics::kKinds, {"addmv"}},
    {contraction<kDot>, Statics::kKinds, {"dot"}},
    {reduction<kSum, false>, Statics::kValues, {"sum"}},
    {reduction<kSum, true>, Statics::kValues, {"sum.dim_IntList"}},
    {reduction<kMean, false>, Statics::kValues, {"mean"}},
    {reduction<kMean, true>, Statics::kValues, {"mean.dim"}},
    {reduction<kMax, false>, Statics::kValues, {"max"}},
    {reduction<kMax, true>, Statics::kValues, {"amax"}},
    {reduction<kMin, false>, Statics::kValues, {"min"}},
    {reduction<kMin, true>, Statics::kValues, {"amin"}},
    {extreme_at, Statics::kValues, {"max.dim", "min.dim"}},
    {argument_of_extreme, Statics::kValues, {"argmax", "argmin"}},
    {item, Statics::kValues, {"_local_scalar_dense"}},
    {softmax, Statics::kValues, {"_softmax", "_log_softmax", "cumsum"}},
    {softmax_backward, Statics::kValues, {"_softmax_backward_data", "_log_softmax_backward_data"}},
    {layer_norm, Statics::kValues, {"native_layer_norm"}},
    {layer_norm_backward, Statics::kValues, {"native_layer_norm_backward"}},
};

}  // namespace

c10::ArrayRef<RuleEntry> sum_rules() {
  return kSumRules;
}

}  // namespace headroom::torch_runner::dtensor
