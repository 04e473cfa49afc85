// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/calls/call_spec.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headroom/base/error.h"
#include "headroom_torch/modules/answer.h"

namespace headroom::torch_runner {
namespace {

const std::string kLeaf = R"({"type": null, "context": null, "children_spec": []})";

std::string tree(const std::string& type, const std::string& children) {
  return R"({"type": "builtins.)" + type + R"(", "context": "null", "children_spec": [)" + children + "]}";
}

CallSpec spec_of(const std::string& tree) {
  return CallSpec("[1, " + tree + "]");
}

std::string shapes_of(const CallSpec& spec, const std::vector<at::Tensor>& leaves) {
  return answer_of(spec.arranged(leaves)).shapes;
}

TEST(CallSpec, CountsTheTensorsOfArgumentsAndKeywords) {
  EXPECT_EQ(spec_of(kLeaf).size(), 1U);
  EXPECT_EQ(spec_of(tree("tuple", tree("tuple", "") + ", " + tree("dict", ""))).size(), 0U);
  const std::string positional = tree("tuple", kLeaf + ", " + tree("list", kLeaf + ", " + kLeaf));
  EXPECT_EQ(spec_of(tree("tuple", positional + ", " + tree("dict", kLeaf))).size(), 4U);
}

TEST(CallSpec, PutsTheTensorsWhereTheSourceReturnedThem) {
  const at::Tensor a = at::zeros({2}), b = at::zeros({3}), c = at::zeros({4});
  EXPECT_EQ(shapes_of(spec_of(kLeaf), {a}), "Float[2]");
  EXPECT_EQ(shapes_of(spec_of(tree("tuple", kLeaf)), {a}), "(Float[2])");
  const CallSpec nested = spec_of(tree("tuple", kLeaf + ", " + tree("dict", kLeaf + ", " + kLeaf)));
  EXPECT_EQ(shapes_of(nested, {a, b, c}), "(Float[2], (Float[3], Float[4]))");
  EXPECT_TRUE(nested.arranged({a, b, c}).toTuple()->elements()[0].toTensor().is_same(a));
}

TEST(CallSpec, OfAnotherNumberOfTensorsIsFlat) {
  const at::Tensor a = at::zeros({2}), b = at::zeros({3});
  EXPECT_EQ(shapes_of(spec_of(kLeaf), {a, b}), "(Float[2], Float[3])");
  EXPECT_EQ(shapes_of(spec_of(tree("tuple", kLeaf + ", " + kLeaf)), {a}), "(Float[2])");
}

TEST(CallSpec, RefusesWhatIsNoTree) {
  for (const char* text : {"", "{", "[]", "[1]", "[1, 2]", "{}", R"([1, {"type": "builtins.tuple"}])",
                           R"([1, {"type": "builtins.tuple", "children_spec": [3]}])"}) {
    EXPECT_THROW(CallSpec{text}, Error) << text;
  }
}

}  // namespace
}  // namespace headroom::torch_runner
