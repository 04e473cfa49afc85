// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cstdlib>
#include <random>

#include "headroom/base/error.h"
#include "rule_cases.h"
#include "test_world.h"

namespace headroom::torch_runner::dtensor {
namespace {

/// Placements of every input: all combinations, or where they are more than `most`, that many, the same on
/// every rank.
std::vector<std::vector<Placements>> combinations(const RuleCase& rule_case, const DeviceMesh& mesh,
                                                  std::size_t most) {
  std::mt19937 random(7);
  std::vector<std::vector<Placement>> choices;  // of each input along each mesh dimension
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

/// `one` where the mesh has one dimension, else `more`; a third of them on four ranks, where a collective
/// takes milliseconds, unless HEADROOM_LONG_TESTS is set.
std::size_t at_most(const DeviceMesh& mesh, std::size_t one, std::size_t more) {
  const std::size_t all = mesh.dims() == 1 ? one : more;
  return mesh.size() < 4 || std::getenv("HEADROOM_LONG_TESTS") != nullptr ? all : (all + 2) / 3;
}

std::string told(const RuleCase& rule_case, const std::vector<Placements>& placements) {
  std::string all = rule_case.name;
  for (const Placements& each : placements) all += " " + text(each);
  return all;
}

/// Whether this rank's part is that of `expected`. Every rank asks for its own, so that nothing is gathered.
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

/// Copies: a case may write.
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
    EXPECT_NE(std::string(error.what()).find("redistribute it before"), std::string::npos) << error.what();
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

/// The gradients of all results, each weighted by numbers of its own. Those of a distributed result begin as
/// it is placed.
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
