// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace headroom::cuda {

/// Launches that are captured together as one graph: `launches` of them, on the input copies first_copy,
/// first_copy + 1, …, beginning again at 0 after the last one.
struct GraphShape {
  std::size_t first_copy = 0;
  std::size_t launches = 0;

  auto operator<=>(const GraphShape&) const = default;
};
struct GraphRuns {
  GraphShape shape;
  std::uint64_t runs = 0;

  bool operator==(const GraphRuns&) const = default;
};

/// How a sample of `iterations`, beginning on `first_copy` of `copies`, is made of graphs of at most `most`
/// launches: graphs that begin at fixed copies, the same in every sample, and what is left at both ends.
/// `copies` and `most` are positive, `first_copy` is below `copies`.
std::vector<GraphRuns> plan_sample(std::uint64_t iterations, std::size_t first_copy, std::size_t copies,
                                   std::size_t most);

/// The copy that follows `iterations` iterations begun on `first_copy`.
std::size_t copy_after(std::size_t first_copy, std::uint64_t iterations, std::size_t copies);

}  // namespace headroom::cuda
