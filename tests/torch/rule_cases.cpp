// SPDX-License-Identifier: Apache-2.0
#include "rule_cases.h"

#include "test_world.h"

namespace headroom::torch_runner::dtensor {
namespace {

using Run = std::function<Tensors(const Tensors&)>;

/// Collects cases; sizes are no multiples of the number of ranks where that is not what a case is about.
class Cases {
 public:
  std::vector<RuleCase> all;

  RuleCase& add(const std::string& name, const std::vector<std::vector<std::int64_t>>& sizes, Run run) {
    RuleCase made{.name = name, .inputs = {}, .run = std::move(run)};
    for (const auto& each : sizes) made.inputs.push_back(whole_numbers(each, ++seed_));
    return all.emplace_back(std::move(made));
  }
  void rounded(const std::string& name, const std::vector<std::vector<std::int64_t>>& sizes, Run run) {
    add(name, sizes, std::move(run)).exact = false;
  }
  void constant(const std::string& name, const std::vector<std::vector<std::int64_t>>& sizes, Run run) {
    add(name, sizes, std::move(run)).differentiable = false;
  }
  void writing(const std::string& name, const std::vector<std::vector<std::int64_t>>& sizes, Run run) {
    RuleCase& made = add(name, sizes, std::move(run));
    made.writes = true;
    made.differentiable = false;
  }

 private:
  std::int64_t seed_ = 0;
};

void add_pointwise(Cases& cases) {
  cases.add("relu", {{5, 6}}, [](const Tensors& t) { return Tensors{t[0].relu()}; });
  cases.add("neg", {{5, 6}}, [](const Tensors& t) { return Tensors{t[0].neg()}; });
  cases.rounded("exp", {{5, 6}}, [](const Tensors& t) { return Tensors{t[0].exp()}; });
  cases.rounded("gelu", {{3, 7}}, [](const Tensors& t) { return Tensors{at::gelu(t[0])}; });
  cases.rounded("sigmoid tanh silu", {{3, 7}}, [](const Tensors& t) {
    return Tensors{t[0].sigmoid(), t[0].tanh(), at::silu(t[0])};
  });
  cases.add("add", {{5, 6}, {5, 6}}, [](const Tensors& t) { return Tensors{t[0] + t[1]}; });
  cases.add("add with alpha", {{5, 3}, {5, 3}},
            [](const Tensors& t) { return Tensors{at::add(t[0], t[1], 3)}; });
  cases.add("sub, broadcast", {{5, 6}, {6}}, [](const Tensors& t) { return Tensors{t[0] - t[1]}; });
  cases.add("mul, broadcast both ways", {{5, 1}, {4, 1, 6}},
            [](const Tensors& t) { return Tensors{t[0] * t[1]}; });
  cases.rounded("div", {{5, 6}, {5, 6}}, [](const Tensors& t) { return Tensors{t[0] / (t[1].abs() + 1)}; });
  cases.add("mul scalar, add scalar", {{5, 6}}, [](const Tensors& t) {
    return Tensors{t[0] * 2.0, t[0] + 1};
  });
  cases.add("with a plain tensor", {{5, 6}}, [plain = whole_numbers({6}, 99)](const Tensors& t) {
    return Tensors{t[0] * plain, plain + t[0]};
  });
  cases.add("where", {{5, 6}, {5, 6}},
            [](const Tensors& t) { return Tensors{at::where(t[0].gt(0), t[0], t[1])}; });
  cases.add("masked_fill clamp maximum", {{5, 6}, {6}}, [](const Tensors& t) {
    return Tensors{t[0].masked_fill(t[0].lt(0), 7), t[0].clamp(-2, 2), at::maximum(t[0], t[1])};
  });
  cases.rounded("pow addcmul lerp", {{5, 6}, {5, 6}}, [](const Tensors& t) {
    return Tensors{t[0].pow(2), at::addcmul(t[0], t[1], t[1]), at::lerp(t[0], t[1], 0.5)};
  });
  cases.constant("comparisons", {{5, 6}, {5, 6}}, [](const Tensors& t) {
    return Tensors{t[0].eq(t[1]), t[0].ge(1), t[0].lt(t[1]).logical_and(t[0].ne(0))};
  });
  cases.constant("clone detach like", {{5, 6}}, [](const Tensors& t) {
    return Tensors{t[0].clone(), t[0].detach(), at::zeros_like(t[0]), at::ones_like(t[0]),
                   at::full_like(t[0], 3)};
  });
  cases.add("cast to double and back", {{5, 6}}, [](const Tensors& t) {
    return Tensors{t[0].to(at::kDouble), t[0].to(at::kDouble).to(at::kFloat)};
  });
  cases.constant("cast to whole numbers", {{5, 6}},
                 [](const Tensors& t) { return Tensors{t[0].to(at::kLong)}; });
}

void add_writing(Cases& cases) {
  cases.writing("add_", {{5, 6}, {5, 6}}, [](const Tensors& t) { return Tensors{t[0].add_(t[1])}; });
  cases.writing("sub_ of a row", {{5, 6}, {6}}, [](const Tensors& t) { return Tensors{t[0].sub_(t[1])}; });
  cases.writing("mul_", {{5, 6}, {5, 6}}, [](const Tensors& t) { return Tensors{t[0].mul_(t[1])}; });
  cases.writing("mul_ scalar", {{5, 6}}, [](const Tensors& t) { return Tensors{t[0].mul_(3)}; });
  cases.writing("relu_", {{5, 6}}, [](const Tensors& t) { return Tensors{t[0].relu_()}; });
  cases.writing("zero_ fill_", {{5, 6}}, [](const Tensors& t) { return Tensors{t[0].zero_().fill_(2)}; });
  cases.writing("scatter_add_", {{5, 6}, {5, 6}}, [](const Tensors& t) {
    return Tensors{t[0].scatter_add_(0, t[1].abs().to(at::kLong), t[1])};
  });
  cases.writing("copy_", {{5, 6}, {5, 6}}, [](const Tensors& t) { return Tensors{t[0].copy_(t[1])}; });
}

void add_products(Cases& cases) {
  cases.add("mm", {{5, 6}, {6, 3}}, [](const Tensors& t) { return Tensors{t[0].mm(t[1])}; });
  cases.add("mm of transposes", {{6, 5}, {3, 6}},
            [](const Tensors& t) { return Tensors{t[0].t().mm(t[1].t())}; });
  cases.add("addmm of a row", {{3}, {5, 6}, {6, 3}},
            [](const Tensors& t) { return Tensors{at::addmm(t[0], t[1], t[2])}; });
  cases.add("addmm with factors", {{5, 3}, {5, 6}, {6, 3}},
            [](const Tensors& t) { return Tensors{at::addmm(t[0], t[1], t[2], 2, 3)}; });
  cases.add("bmm", {{3, 2, 5}, {3, 5, 4}}, [](const Tensors& t) { return Tensors{t[0].bmm(t[1])}; });
  cases.add("baddbmm", {{3, 2, 4}, {3, 2, 5}, {3, 5, 4}},
            [](const Tensors& t) { return Tensors{at::baddbmm(t[0], t[1], t[2])}; });
  cases.add("matmul of matrix and vector", {{5, 6}, {6}},
            [](const Tensors& t) { return Tensors{at::matmul(t[0], t[1])}; });
  cases.add("matmul of vectors", {{7}, {7}},
            [](const Tensors& t) { return Tensors{at::matmul(t[0], t[1])}; });
  cases.add("matmul of a batch", {{2, 4, 5}, {5, 3}},
            [](const Tensors& t) { return Tensors{at::matmul(t[0], t[1])}; });
  cases.add("matmul of batches", {{2, 3, 4, 5}, {3, 5, 2}},
            [](const Tensors& t) { return Tensors{at::matmul(t[0], t[1])}; });
  cases.add("linear", {{2, 4, 5}, {3, 5}, {3}},
            [](const Tensors& t) { return Tensors{at::linear(t[0], t[1], t[2])}; });
}

void add_reductions(Cases& cases) {
  cases.add("sum", {{5, 6}}, [](const Tensors& t) { return Tensors{t[0].sum()}; });
  cases.add("sum over dims", {{5, 6, 3}}, [](const Tensors& t) {
    return Tensors{t[0].sum(0), t[0].sum(at::IntArrayRef{0, 2}, true), t[0].sum(-1)};
  });
  cases.rounded("mean, even and not", {{5, 8}}, [](const Tensors& t) {
    return Tensors{t[0].mean(), t[0].mean(0), t[0].mean(1, true)};
  });
  cases.add("max min of all", {{5, 6}},
            [](const Tensors& t) {
              return Tensors{t[0].max(), t[0].min()};
            })
      .exact = false;
  cases.rounded("amax amin", {{5, 3}}, [](const Tensors& t) {
    return Tensors{t[0].amax(0), t[0].amin({1}, true), t[0].amax({0, 1})};
  });
  cases.constant("max over a dim, argmax", {{5, 6}}, [](const Tensors& t) {
    const auto [values, indices] = t[0].max(0);
    return Tensors{values, indices, t[0].argmax(1, true), t[0].argmax()};
  });
  cases.add("values of max and min over a dim", {{5, 6, 3}}, [](const Tensors& t) {
    return Tensors{std::get<0>(t[0].max(0)), std::get<0>(t[0].max(-1, true)), std::get<0>(t[0].min(1)),
                   std::get<0>(t[0].flatten().max(0))};
  });
  cases.constant("item", {{5, 6}},
                 [](const Tensors& t) { return Tensors{at::full({1}, t[0].sum().item<double>())}; });
}

void add_normalizations(Cases& cases) {
  cases.rounded("softmax", {{5, 6}}, [](const Tensors& t) {
    return Tensors{t[0].softmax(1), t[0].softmax(0)};
  });
  cases.rounded("log_softmax", {{2, 5, 3}}, [](const Tensors& t) { return Tensors{t[0].log_softmax(-1)}; });
  cases.rounded("layer_norm", {{5, 6}, {6}, {6}},
                [](const Tensors& t) { return Tensors{at::layer_norm(t[0], {6}, t[1], t[2])}; });
  cases.rounded("layer_norm without weights", {{4, 3, 6}}, [](const Tensors& t) {
    return Tensors{at::layer_norm(t[0], {6}), at::layer_norm(t[0], {3, 6})};
  });
  cases.add("cumsum", {{5, 6}}, [](const Tensors& t) { return Tensors{t[0].cumsum(0)}; });
}

at::Tensor as_indices(const at::Tensor& tensor) {
  return tensor.detach().abs().to(at::kLong);  // 0 to 4
}

void add_indexed(Cases& cases) {
  cases.add("embedding", {{9, 5}, {3, 4}},
            [](const Tensors& t) { return Tensors{at::embedding(t[0], as_indices(t[1]))}; });
  cases.add("embedding with padding", {{6, 4}, {7}},
            [](const Tensors& t) { return Tensors{at::embedding(t[0], as_indices(t[1]), 2)}; });
  cases.rounded("embedding, scaled by frequency", {{5, 3}, {4, 2}},
                [](const Tensors& t) { return Tensors{at::embedding(t[0], as_indices(t[1]), 1, true)}; });
  cases.add("gather", {{6, 5}, {6, 5}}, [](const Tensors& t) {
    return Tensors{t[0].gather(0, as_indices(t[1])), t[0].gather(1, as_indices(t[1]))};
  });
  cases.add("gather of fewer", {{5, 6}, {3, 6}},
            [](const Tensors& t) { return Tensors{t[0].gather(0, as_indices(t[1]))}; });
  cases.add("scatter", {{5, 6}, {2, 6}}, [](const Tensors& t) {
    const at::Tensor indices = at::arange(12).view({6, 2}).t().remainder(5);  // each place once
    return Tensors{t[0].scatter(0, indices, t[1]), t[0].scatter(0, indices, 7),
                   t[0].scatter_add(0, as_indices(t[1]), t[1])};
  });
  cases.add("scatter_add", {{5, 6}, {5, 6}},
            [](const Tensors& t) { return Tensors{t[0].scatter_add(1, as_indices(t[1]), t[1])}; });
}

void add_shapes(Cases& cases) {
  cases.add("transpose t permute", {{5, 6}}, [](const Tensors& t) {
    return Tensors{t[0].t(), t[0].transpose(0, 1), t[0].permute({1, 0})};
  });
  cases.add("view: split and join", {{4, 6}}, [](const Tensors& t) {
    return Tensors{t[0].view({24}), t[0].view({2, 2, 6}), t[0].view({4, 2, -1}), t[0].view({8, 3})};
  });
  cases.add("view: ones", {{5, 6}}, [](const Tensors& t) { return Tensors{t[0].view({1, 5, 1, 6, 1})}; });
  cases.add("reshape of a transpose", {{5, 6, 2}}, [](const Tensors& t) {
    return Tensors{t[0].transpose(0, 1).reshape({6, 10}), t[0].flatten()};
  });
  cases.add("expand", {{5, 1}, {6}}, [](const Tensors& t) {
    return Tensors{t[0].expand({5, 6}), t[1].expand({5, -1}), t[0].expand({2, 5, 3})};
  });
  cases.add("unsqueeze squeeze", {{5, 1, 6}}, [](const Tensors& t) {
    return Tensors{t[0].unsqueeze(1), t[0].squeeze(1), t[0].squeeze(0), t[0].squeeze(), t[0].unsqueeze(-1)};
  });
  cases.add("select slice narrow", {{5, 6}}, [](const Tensors& t) {
    return Tensors{t[0].select(0, 2), t[0].slice(1, 1, 6, 2), t[0].narrow(0, 1, 3),
                   t[0].slice(0, 1, 4).reshape({-1})};
  });
  cases.add("cat", {{5, 6}, {2, 6}, {1, 6}}, [](const Tensors& t) {
    return Tensors{at::cat({t[0], t[1], t[2]}, 0)};
  });
  cases.add("cat with a plain one, stack", {{5, 3}, {5, 3}},
            [plain = whole_numbers({5, 2}, 98)](const Tensors& t) {
              return Tensors{at::cat({t[0], plain, t[1]}, 1), at::stack({t[0], t[1]}, 1)};
            });
}

}  // namespace

std::vector<RuleCase> rule_cases() {
  Cases cases;
  add_pointwise(cases);
  add_writing(cases);
  add_products(cases);
  add_reductions(cases);
  add_normalizations(cases);
  add_indexed(cases);
  add_shapes(cases);
  return cases.all;
}

}  // namespace headroom::torch_runner::dtensor
