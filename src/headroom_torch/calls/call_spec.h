// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/ivalue.h>

#include <cstddef>
#include <string>
#include <vector>

#include "headroom/base/json.h"

namespace headroom::torch_runner {

/// The tree of arguments, or of results, that an AOTInductor package was compiled for. A tensor is a leaf.
class CallSpec {
 public:
  /// `text` is what torch.utils._pytree.treespec_dumps writes, [1, {"type": "builtins.tuple", "context":
  /// "null", "children_spec": [...]}], where the type of a leaf is null. Throws Error where it is something
  /// else.
  explicit CallSpec(const std::string& text);

  /// Number of leaves.
  std::size_t size() const { return size_; }

  /// The leaves, in their order, in their places: a tensor where the tree is one leaf, else a tuple of what
  /// its children are (also of a list or a dictionary). Of more or fewer leaves than the tree has, one flat
  /// tuple.
  c10::IValue arranged(const std::vector<at::Tensor>& leaves) const;

 private:
  Json tree_;
  std::size_t size_;
};

}  // namespace headroom::torch_runner
