// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "headroom/base/error.h"
#include "test_world.h"

namespace headroom::torch_runner::dtensor {
namespace {

using Tensors = std::vector<at::Tensor>;

/// Results must agree on distributed and plain tensors.
struct RuleCase {
  std::string name;
  Tensors inputs;
  std::function<Tensors(const Tensors&)> run;
  bool exact = true;           // integers only, so no rounding
  bool differentiable = true;  // in its floating-point inputs
  bool writes = false;         // into input 0: unsupported placements must be refused
};

using Run = std::function<Tensors(const Tensors&)>;

/// Sizes do not divide by the number of ranks unless needed.
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

/// The results of a case with the inputs t.
#define RESULTS(...) [](const Tensors& t) { return Tensors{__VA_ARGS__}; }

void add_pointwise(Cases& cases) {
  cases.add("relu", {{5, 6}}, RESULTS(t[0].relu()));
  cases.add("neg", {{5, 6}}, RESULTS(t[0].neg()));
  cases.rounded("exp", {{5, 6}}, RESULTS(t[0].exp()));
  cases.rounded("gelu", {{3, 7}}, RESULTS(at::gelu(t[0])));
  cases.rounded("sigmoid tanh silu", {{3, 7}}, RESULTS(t[0].sigmoid(), t[0].tanh(), at::silu(t[0])));
  cases.add("add", {{5, 6}, {5, 6}}, RESULTS(t[0] + t[1]));
  cases.add("add with alpha", {{5, 3}, {5, 3}}, RESULTS(at::add(t[0], t[1], 3)));
  cases.add("sub, broadcast", {{5, 6}, {6}}, RESULTS(t[0] - t[1]));
  cases.add("mul, broadcast both ways", {{5, 1}, {4, 1, 6}}, RESULTS(t[0] * t[1]));
  cases.rounded("div", {{5, 6}, {5, 6}}, RESULTS(t[0] / (t[1].abs() + 1)));
  cases.add("mul scalar, add scalar", {{5, 6}}, RESULTS(t[0] * 2.0, t[0] + 1));
  cases.add("with a plain tensor", {{5, 6}}, [plain = whole_numbers({6}, 99)](const Tensors& t) {
    return Tensors{t[0] * plain, plain + t[0]};
  });
  cases.add("where", {{5, 6}, {5, 6}}, RESULTS(at::where(t[0].gt(0), t[0], t[1])));
  cases.add("masked_fill clamp maximum", {{5, 6}, {6}},
            RESULTS(t[0].masked_fill(t[0].lt(0), 7), t[0].clamp(-2, 2), at::maximum(t[0], t[1])));
  cases.rounded("pow addcmul lerp", {{5, 6}, {5, 6}},
                RESULTS(t[0].pow(2), at::addcmul(t[0], t[1], t[1]), at::lerp(t[0], t[1], 0.5)));
  cases.constant("comparisons", {{5, 6}, {5, 6}},
                 RESULTS(t[0].eq(t[1]), t[0].ge(1), t[0].lt(t[1]).logical_and(t[0].ne(0))));
  cases.constant("clone detach like", {{5, 6}},
                 RESULTS(t[0].clone(), t[0].detach(), at::zeros_like(t[0]), at::ones_like(t[0]),
                         at::full_like(t[0], 3)));
  cases.add("cast to double and back", {{5, 6}},
            RESULTS(t[0].to(at::kDouble), t[0].to(at::kDouble).to(at::kFloat)));
  cases.constant("cast to whole numbers", {{5, 6}}, RESULTS(t[0].to(at::kLong)));
}

void add_writing(Cases& cases) {
  cases.writing("add_", {{5, 6}, {5, 6}}, RESULTS(t[0].add_(t[1])));
  cases.writing("sub_ of a row", {{5, 6}, {6}}, RESULTS(t[0].sub_(t[1])));
  cases.writing("mul_", {{5, 6}, {5, 6}}, RESULTS(t[0].mul_(t[1])));
  cases.writing("mul_ scalar", {{5, 6}}, RESULTS(t[0].mul_(3)));
  cases.writing("relu_", {{5, 6}}, RESULTS(t[0].relu_()));
  cases.writing("zero_ fill_", {{5, 6}}, RESULTS(t[0].zero_().fill_(2)));
  cases.writing("scatter_add_", {{5, 6}, {5, 6}},
                RESULTS(t[0].scatter_add_(0, t[1].abs().to(at::kLong), t[1])));
  cases.writing("copy_", {{5, 6}, {5, 6}}, RESULTS(t[0].copy_(t[1])));
}

void add_products(Cases& cases) {
  cases.add("mm", {{5, 6}, {6, 3}}, RESULTS(t[0].mm(t[1])));
  cases.add("mm of transposes", {{6, 5}, {3, 6}}, RESULTS(t[0].t().mm(t[1].t())));
  cases.add("addmm of a row", {{3}, {5, 6}, {6, 3}}, RESULTS(at::addmm(t[0], t[1], t[2])));
  cases.add("addmm with factors", {{5, 3}, {5, 6}, {6, 3}}, RESULTS(at::addmm(t[0], t[1], t[2], 2, 3)));
  cases.add("bmm", {{3, 2, 5}, {3, 5, 4}}, RESULTS(t[0].bmm(t[1])));
  cases.add("baddbmm", {{3, 2, 4}, {3, 2, 5}, {3, 5, 4}}, RESULTS(at::baddbmm(t[0], t[1], t[2])));
  cases.add("matmul of matrix and vector", {{5, 6}, {6}}, RESULTS(at::matmul(t[0], t[1])));
  cases.add("matmul of vectors", {{7}, {7}}, RESULTS(at::matmul(t[0], t[1])));
  cases.add("matmul of a batch", {{2, 4, 5}, {5, 3}}, RESULTS(at::matmul(t[0], t[1])));
  cases.add("matmul of batches", {{2, 3, 4, 5}, {3, 5, 2}}, RESULTS(at::matmul(t[0], t[1])));
  cases.add("linear", {{2, 4, 5}, {3, 5}, {3}}, RESULTS(at::linear(t[0], t[1], t[2])));
}

void add_reductions(Cases& cases) {
  cases.add("sum", {{5, 6}}, RESULTS(t[0].sum()));
  cases.add("sum over dims", {{5, 6, 3}},
            RESULTS(t[0].sum(0), t[0].sum(at::IntArrayRef{0, 2}, true), t[0].sum(-1)));
  cases.rounded("mean, even and not", {{5, 8}}, RESULTS(t[0].mean(), t[0].mean(0), t[0].mean(1, true)));
  cases.rounded("max min of all", {{5, 6}}, RESULTS(t[0].max(), t[0].min()));
  cases.rounded("amax amin", {{5, 3}}, RESULTS(t[0].amax(0), t[0].amin({1}, true), t[0].amax({0, 1})));
  cases.constant("max over a dim, argmax", {{5, 6}}, [](const Tensors& t) {
    const auto [values, indices] = t[0].max(0);
    return Tensors{values, indices, t[0].argmax(1, true), t[0].argmax()};
  });
  cases.add("values of max and min over a dim", {{5, 6, 3}},
            RESULTS(std::get<0>(t[0].max(0)), std::get<0>(t[0].max(-1, true)), std::get<0>(t[0].min(1)),
                    std::get<0>(t[0].flatten().max(0))));
  cases.constant("item", {{5, 6}}, RESULTS(at::full({1}, t[0].sum().item<double>())));
}

void add_normalizations(Cases& cases) {
  cases.rounded("softmax", {{5, 6}}, RESULTS(t[0].softmax(1), t[0].softmax(0)));
  cases.rounded("log_softmax", {{2, 5, 3}}, RESULTS(t[0].log_softmax(-1)));
  cases.rounded("layer_norm", {{5, 6}, {6}, {6}}, RESULTS(at::layer_norm(t[0], {6}, t[1], t[2])));
  cases.rounded("layer_norm without weights", {{4, 3, 6}},
                RESULTS(at::layer_norm(t[0], {6}), at::layer_norm(t[0], {3, 6})));
  cases.add("cumsum", {{5, 6}}, RESULTS(t[0].cumsum(0)));
}

at::Tensor as_indices(const at::Tensor& tensor) {
  return tensor.detach().abs().to(at::kLong);
}

void add_indexed(Cases& cases) {
  cases.add("embedding", {{9, 5}, {3, 4}}, RESULTS(at::embedding(t[0], as_indices(t[1]))));
  cases.add("embedding with padding", {{6, 4}, {7}}, RESULTS(at::embedding(t[0], as_indices(t[1]), 2)));
  cases.rounded("embedding, scaled by frequency", {{5, 3}, {4, 2}},
                RESULTS(at::embedding(t[0], as_indices(t[1]), 1, true)));
  cases.add("gather", {{6, 5}, {6, 5}},
            RESULTS(t[0].gather(0, as_indices(t[1])), t[0].gather(1, as_indices(t[1]))));
  cases.add("gather of fewer", {{5, 6}, {3, 6}}, RESULTS(t[0].gather(0, as_indices(t[1]))));
  cases.add("scatter", {{5, 6}, {2, 6}}, [](const Tensors& t) {
    const at::Tensor indices = at::arange(12).view({6, 2}).t().remainder(5);  // each index once
    return Tensors{t[0].scatter(0, indices, t[1]), t[0].scatter(0, indices, 7),
                   t[0].scatter_add(0, as_indices(t[1]), t[1])};
  });
  cases.add("scatter_add", {{5, 6}, {5, 6}}, RESULTS(t[0].scatter_add(1, as_indices(t[1]), t[1])));
}

void add_shapes(Cases& cases) {
  cases.add("transpose t permute", {{5, 6}}, RESULTS(t[0].t(), t[0].transpose(0, 1), t[0].permute({1, 0})));
  cases.add("view: split and join", {{4, 6}},
            RESULTS(t[0].view({24}), t[0].view({2, 2, 6}), t[0].view({4, 2, -1}), t[0].view({8, 3})));
  cases.add("view: ones", {{5, 6}}, RESULTS(t[0].view({1, 5, 1, 6, 1})));
  cases.add("reshape of a transpose", {{5, 6, 2}},
            RESULTS(t[0].transpose(0, 1).reshape({6, 10}), t[0].flatten()));
  cases.add("expand", {{5, 1}, {6}},
            RESULTS(t[0].expand({5, 6}), t[1].expand({5, -1}), t[0].expand({2, 5, 3})));
  cases.add("unsqueeze squeeze", {{5, 1, 6}},
            RESULTS(t[0].unsqueeze(1), t[0].squeeze(1), t[0].squeeze(0), t[0].squeeze(), t[0].unsqueeze(-1)));
  cases.add("select slice narrow", {{5, 6}},
            RESULTS(t[0].select(0, 2), t[0].slice(1, 1, 6, 2), t[0].narrow(0, 1, 3),
                    t[0].slice(0, 1, 4).reshape({-1})));
  cases.add("cat", {{5, 6}, {2, 6}, {1, 6}}, RESULTS(at::cat({t[0], t[1], t[2]}, 0)));
  cases.add("cat with a plain one, stack", {{5, 3}, {5, 3}},
            [plain = whole_numbers({5, 2}, 98)](const Tensors& t) {
              return Tensors{at::cat({t[0], plain, t[1]}, 1), at::stack({t[0], t[1]}, 1)};
            });
}

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

/// Of the inputs' placements, or the same random `most` on every rank.
std::vector<std::vector<Placements>> combinations(const RuleCase& rule_case, const DeviceMesh& mesh,
                                                  std::size_t most) {
  std::mt19937 random(7);
  std::vector<std::vector<Placement>> choices;
  std::size_t count = 1;
  for (const at::Tensor& input : rule_case.inputs) {
    for (int dim = 0; dim < mesh.dims(); ++dim) {
      choices.push_back(all_placements(input.dim(), input.is_floating_point()));
      count *= choices.back().size();
    }
  }
  std::vector<std::vector<Placements>> all;
  for (std::size_t i = 0; i < std::min(count, most); ++i) {
    std::size_t number = count <= most ? i : random() % count;
    all.emplace_back();
    std::size_t choice = 0;
    for (std::size_t input = 0; input < rule_case.inputs.size(); ++input) {
      Placements placements;
      for (int dim = 0; dim < mesh.dims(); ++dim, ++choice) {
        placements.push_back(choices[choice][number % choices[choice].size()]);
        number /= choices[choice].size();
      }
      all.back().push_back(placements);
    }
  }
  return all;
}

/// `one` for one mesh dimension, else `more`; a third on four ranks, as collectives are slow, unless
/// HEADROOM_LONG_TESTS is set.
std::size_t at_most(const DeviceMesh& mesh, std::size_t one, std::size_t more) {
  const std::size_t all = mesh.dims() == 1 ? one : more;
  return mesh.size() < 4 || std::getenv("HEADROOM_LONG_TESTS") != nullptr ? all : (all + 2) / 3;
}

std::string told(const RuleCase& rule_case, const std::vector<Placements>& placements) {
  std::string all = rule_case.name;
  for (const Placements& each : placements) all += " " + text(each);
  return all;
}

/// Compares only this rank's part, without gathering.
testing::AssertionResult same(const at::Tensor& actual, const at::Tensor& expected, bool exact) {
  if (actual.sizes() != expected.sizes() || actual.scalar_type() != expected.scalar_type())
    return testing::AssertionFailure() << actual.toString() << actual.sizes() << " instead of "
                                       << expected.toString() << expected.sizes();
  const at::Tensor part = settled(actual);
  const at::Tensor due =
      is_dtensor(actual) ? part_here(expected, *mesh_of(actual), spec_of(actual).placements) : expected;
  if (part.sizes() == due.sizes() && (exact ? at::equal(part, due) : at::allclose(part, due, 1e-5, 1e-5)))
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << part << "\nexpected\n" << due;
}

Tensors distributed(const RuleCase& rule_case, const MeshPtr& mesh,
                    const std::vector<Placements>& placements) {
  Tensors inputs;
  for (std::size_t i = 0; i < placements.size(); ++i) {
    inputs.push_back(scattered(rule_case.inputs[i], mesh, placements[i]));
  }
  return inputs;
}

Tensors copies(const Tensors& tensors) {
  Tensors copied;
  for (const at::Tensor& tensor : tensors) copied.push_back(tensor.clone());
  return copied;
}

void expect_results(const RuleCase& rule_case, const MeshPtr& mesh, const std::vector<Placements>& placements,
                    const Tensors& expected) {
  Tensors inputs = distributed(rule_case, mesh, placements);
  Tensors results;
  try {
    results = rule_case.run(inputs);
  } catch (const Error& error) {
    ASSERT_TRUE(rule_case.writes) << error.what();
    EXPECT_NE(std::string(error.what()).find("redistribute it first"), std::string::npos) << error.what();
    return;
  }
  ASSERT_EQ(results.size(), expected.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    ASSERT_TRUE(same(results[i], expected[i], rule_case.exact)) << "result " << i;
  }
}

TEST(Rules, GiveWhatOneProcessGives) {
  for (const auto& shape : mesh_shapes()) {
    const MeshPtr mesh = test_mesh(shape);
    for (const RuleCase& rule_case : rule_cases()) {
      const Tensors expected = rule_case.run(copies(rule_case.inputs));
      for (const auto& placements : combinations(rule_case, *mesh, at_most(*mesh, 36, 8))) {
        SCOPED_TRACE(told(rule_case, placements));
        ASSERT_NO_THROW(expect_results(rule_case, mesh, placements, expected)) << told(rule_case, placements);
      }
    }
  }
}

/// Weights all results differently. A distributed result's gradient starts with its placement.
Tensors gradients(const RuleCase& rule_case, Tensors inputs) {
  for (at::Tensor& input : inputs) input.requires_grad_(true);
  torch::autograd::variable_list results, weights;
  std::int64_t seed = 1000;
  for (const at::Tensor& result : rule_case.run(inputs)) {
    ++seed;
    if (!result.requires_grad()) continue;
    const at::Tensor weight = whole_numbers(result.sizes(), seed).to(result.scalar_type());
    weights.push_back(is_dtensor(result)
                          ? distribute(weight, mesh_of(result), settled(spec_of(result).placements))
                          : weight);
    results.push_back(result);
  }
  torch::autograd::backward(results, weights);
  Tensors found;
  for (const at::Tensor& input : inputs) found.push_back(input.grad());
  return found;
}

TEST(Rules, GiveTheGradientsThatOneProcessGives) {
  for (const auto& shape : mesh_shapes()) {
    const MeshPtr mesh = test_mesh(shape);
    for (const RuleCase& rule_case : rule_cases()) {
      if (!rule_case.differentiable) continue;
      const Tensors expected = gradients(rule_case, copies(rule_case.inputs));
      for (const auto& placements : combinations(rule_case, *mesh, at_most(*mesh, 12, 4))) {
        SCOPED_TRACE(told(rule_case, placements));
        Tensors found;
        ASSERT_NO_THROW(found = gradients(rule_case, distributed(rule_case, mesh, placements)))
            << told(rule_case, placements);
        for (std::size_t i = 0; i < expected.size(); ++i) {
          ASSERT_EQ(found[i].defined(), expected[i].defined()) << told(rule_case, placements);
          if (!expected[i].defined()) continue;
          ASSERT_TRUE(is_dtensor(found[i])) << told(rule_case, placements);
          ASSERT_TRUE(same(found[i], expected[i], rule_case.exact)) << "input " << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace headroom::torch_runner::dtensor
