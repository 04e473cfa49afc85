// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <string_view>

#include "headroom/base/error.h"
#include "headroom_torch/dtensor/rules.h"

namespace headroom::torch_runner::dtensor {
namespace {

/// A sum of products, a letter for each dimension: factors {"mk", "kn"}, result "mn". With an addend, which
/// broadcasts to the result, operands are the addend and the factors.
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
      if (op != ReduceOp::kSum && op != ReduceOp::kAvg) return;
      for (std::size_t factor = 0; factor < 2; ++factor) sharding.strategies.push_back(partial(op, factor));
    });
  }

 private:
  std::size_t first_factor() const { return product_.has_addend ? 1 : 0; }
  std::int64_t size_of(char letter) const { return sizes_[kLetters.find(letter)]; }

  void take_sizes(std::string_view letters, const Operand& operand) {
    if (operand.sizes.size() != letters.size()) {
      throw Error(fmt::format("a factor of {} dimensions where one of {} is due", operand.sizes.size(),
                              letters.size()));
    }
    for (std::size_t dim = 0; dim < letters.size(); ++dim) {
      std::int64_t& size = sizes_[kLetters.find(letters[dim])];
      if (size >= 0 && size != operand.sizes[dim]) {
        throw Error(fmt::format("factors whose sizes do not fit: {} and {} in one dimension", size,
                                operand.sizes[dim]));
      }
      size = operand.sizes[dim];
    }
  }

  static Placement place(std::string_view letters, char letter) {
    const std::size_t dim = letters.find(letter);
    return dim == std::string_view::npos ? Placement(Replicate()) : Placement(Shard(static_cast<int>(dim)));
  }

  /// The addend, where the result is placed so: its dimensions are the result's last, or 1.
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

void apply(const Product& product, const Call& call, Sharding& sharding) {
  const ProductRule rule(product, call);
  sharding.results.push_back(rule.result_sizes());
  rule.add_strategies(sharding);
}

}  // namespace

void mm(const Call& call, Sharding& sharding) {
  apply({{"mk", "kn"}, "mn"}, call, sharding);
}
void addmm(const Call& call, Sharding& sharding) {
  apply({{"mk", "kn"}, "mn", true}, call, sharding);
}
void bmm(const Call& call, Sharding& sharding) {
  apply({{"bmk", "bkn"}, "bmn"}, call, sharding);
}
void baddbmm(const Call& call, Sharding& sharding) {
  apply({{"bmk", "bkn"}, "bmn", true}, call, sharding);
}
void mv(const Call& call, Sharding& sharding) {
  apply({{"mk", "k"}, "m"}, call, sharding);
}
void addmv(const Call& call, Sharding& sharding) {
  apply({{"mk", "k"}, "m", true}, call, sharding);
}
void dot(const Call& call, Sharding& sharding) {
  apply({{"k", "k"}, ""}, call, sharding);
}

}  // namespace headroom::torch_runner::dtensor
