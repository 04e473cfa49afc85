// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/calls/call_spec.h"

#include <ATen/ATen.h>

#include <span>
#include <utility>

#include "headroom/base/error.h"

namespace headroom::torch_runner {
namespace {

constexpr const char* kSource = "the call spec of the package";

std::size_t count_leaves(const Json& tree) {
  if (json_member(tree, "type", kSource).is_null()) return 1;
  std::size_t leaves = 0;
  for (const Json& child : json_array(tree, "children_spec", kSource)) leaves += count_leaves(child);
  return leaves;
}

/// Takes the leaves of `tree` from the front of `leaves`.
c10::IValue take(const Json& tree, std::span<const at::Tensor>& leaves) {
  if (tree.at("type").is_null()) {
    c10::IValue leaf(leaves.front());
    leaves = leaves.subspan(1);
    return leaf;
  }
  std::vector<c10::IValue> children;
  for (const Json& child : tree.at("children_spec")) children.push_back(take(child, leaves));
  return c10::ivalue::Tuple::create(std::move(children));
}

}  // namespace

CallSpec::CallSpec(const std::string& text) {
  const Json document = parse_json(text, kSource);
  if (!document.is_array() || document.size() != 2) {
    throw Error(std::string(kSource) + ": expected [1, {\"type\": ...}], found " + text.substr(0, 80));
  }
  tree_ = document[1];
  size_ = count_leaves(tree_);
}

c10::IValue CallSpec::arranged(const std::vector<at::Tensor>& leaves) const {
  std::span<const at::Tensor> rest(leaves);
  if (leaves.size() == size_) return take(tree_, rest);
  return c10::ivalue::Tuple::create(std::vector<c10::IValue>(leaves.begin(), leaves.end()));
}

}  // namespace headroom::torch_runner
