// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "test_world.h"

namespace headroom::torch_runner::dtensor {
namespace {

/// The part of `whole` that this rank holds.
at::Tensor part_of(const at::Tensor& whole, const Placements& placements) {
  return local(distribute(whole, line_mesh(), placements));
}

TEST(Gradients, OfAPlainTensorThatIsDistributedAreWhole) {
  const at::Tensor weights = whole_numbers({5, 6}, 2);
  for (const Placement placement : {Placement(Shard(0)), Placement(Shard(1)), Placement(Replicate())}) {
    at::Tensor x = whole_numbers({5, 6}, 1).requires_grad_(true);
    const at::Tensor y =
        distribute(x, line_mesh(), {placement}) * distribute(weights, line_mesh(), {Replicate()});
    full(y).sum().backward();
    EXPECT_FALSE(is_dtensor(x.grad()));
    EXPECT_TRUE(at::equal(x.grad(), weights)) << text(placement);
  }
}

TEST(Gradients, OfAPartAreThatPart) {
  const at::Tensor weights = whole_numbers({8, 6}, 2);
  for (const Placement placement :
       {Placement(Shard(0)), Placement(Shard(1)), Placement(Replicate()), Placement(Partial())}) {
    // Of a summand: the whole gradient of the sum.
    const Placement expected = placement.is_partial() ? Placement(Replicate()) : placement;
    at::Tensor part = part_of(whole_numbers({8, 6}, 1), {placement}).clone().requires_grad_(true);
    (full(from_local(part, line_mesh(), {placement})) * weights).sum().backward();
    EXPECT_TRUE(at::equal(part.grad(), part_of(weights, {expected}))) << text(placement);
  }
}

TEST(Gradients, GoThroughEveryRedistributionAndKeepThePlacement) {
  const at::Tensor weights = whole_numbers({5, 6}, 2);
  for (const Placement from : all_placements(2, true)) {
    for (const Placement to : all_placements(2, true)) {
      at::Tensor x = scattered(whole_numbers({5, 6}, 1), line_mesh(), {from}).requires_grad_(true);
      (full(redistribute(x, {to})) * weights).sum().backward();
      const std::string pair = text(from) + " to " + text(to);
      ASSERT_TRUE(is_dtensor(x.grad())) << pair;
      EXPECT_EQ(spec_of(x.grad()).placements[0], from.is_partial() ? Placement(Replicate()) : from) << pair;
      EXPECT_TRUE(at::equal(full(x.grad()), weights)) << pair;
    }
  }
}

TEST(Gradients, ThroughTheLocalPartAreThoseOfTheWhole) {
  at::Tensor x = distribute(whole_numbers({5, 6}, 1), line_mesh(), {Shard(0)}).requires_grad_(true);
  (local(x) * local(x)).sum().backward();
  EXPECT_TRUE(at::equal(full(x.grad()), whole_numbers({5, 6}, 1) * 2));
}

TEST(Gradients, OfANetworkEqualThoseOfOneProcess) {
  const at::Tensor input = whole_numbers({7, 6}, 1);
  const auto loss = [](const at::Tensor& x, const at::Tensor& first, const at::Tensor& second,
                       const at::Tensor& bias) {
    return at::linear(at::layer_norm(at::relu(at::matmul(x, first)), {8}), second, bias)
        .log_softmax(-1)
        .mean();
  };
  std::vector<at::Tensor> whole{whole_numbers({6, 8}, 2), whole_numbers({3, 8}, 3), whole_numbers({3}, 4)};
  std::vector<at::Tensor> parts;
  const std::vector<Placements> placements{{Shard(1)}, {Shard(1)}, {Replicate()}};
  for (std::size_t i = 0; i < whole.size(); ++i) {
    parts.push_back(distribute(whole[i], line_mesh(), placements[i]).requires_grad_(true));
    whole[i].requires_grad_(true);
  }
  loss(input, whole[0], whole[1], whole[2]).backward();
  full(loss(distribute(input, line_mesh(), {Replicate()}), parts[0], parts[1], parts[2])).backward();
  for (std::size_t i = 0; i < whole.size(); ++i) {
    EXPECT_TRUE(at::allclose(full(parts[i].grad()), whole[i].grad(), 1e-5, 1e-6)) << i;
  }
}

}  // namespace
}  // namespace headroom::torch_runner::dtensor
