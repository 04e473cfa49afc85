// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/experiment/state.h"
#include "headroom/record/dispatch_expectation.h"
#include "headroom/record/record.h"
#include "headroom/tables/table.h"

namespace headroom {

/// The placement of a tensor along one dimension of the mesh.
struct PlacementText {
  enum class Kind { kShard, kReplicate, kPartial };
  Kind kind = Kind::kReplicate;
  int dim = 0;  ///< sharded dimension of the tensor

  bool operator==(const PlacementText&) const = default;
};
/// Parses "S(0)" or "Shard(0)", "R" or "Replicate", "P" or "Partial", ignoring case. Throws Error.
PlacementText parse_placement(std::string_view text);
/// "S(0)", "R", "P".
std::string placement_text(const PlacementText& placement);

/// The tensor that operators are measured on, placed over a mesh of ranks.
struct DispatchSetup {
  std::vector<int> mesh{4};
  std::vector<PlacementText> placements{{PlacementText::Kind::kShard, 0}};  ///< one per dimension of the mesh
  std::vector<std::int64_t> shape{512, 512};
  std::string dtype = "f32";  ///< "f32", "f64", "bf16"
  int repeats = 9;            ///< calls of each kind in a cycle, except the miss
};

/// Returns the axes mesh ("2x2"), placements ("S(0),R", or "S(0)xR" in a request), shape ("512x512"), dtype
/// and repeats.
AxisTexts axes_of(const DispatchSetup& setup);
/// Parses these axes, as returned by `axis`. Throws Error for an invalid value.
DispatchSetup dispatch_setup_of(const std::function<std::string(const char* axis)>& axis);

/// Parses "2x2" to numbers of at least `least`. Throws Error that begins with `what`.
std::vector<std::int64_t> parse_grid(std::string_view text, std::string_view what, std::int64_t least);

/// Throws Error if the mesh does not have `ranks` ranks, or the placements do not match it and the shape.
void require_fit(const DispatchSetup& setup, int ranks);

/// Prefix of an operator's experiment: "dispatch.add".
inline constexpr const char* kDispatchPrefix = "dispatch.";

/// Renames case_records() to the metrics of operators, in µs with the cycles of every rank as the samples of
/// a process: "hit" (the headline), "miss", "propagation" (miss - hit of the same cycle); with counterparts
/// on plain tensors "plain", "local", "hit over local", "miss over local"; steps such as "hit key", "miss
/// look-up"; and, if counted, "instructions plain" and so on.
std::vector<Record> dispatch_records(std::vector<Record> records);

/// The text of data/dispatch_pytorch.toml, embedded at build time.
extern const std::string_view kShippedDispatchExpectations;

/// The expectations of PyTorch's own distributed-tensor test, measured on another kind of machine. Shipped as
/// a reference.
std::vector<DispatchExpectation> pytorch_dispatch_expectations();

/// The comparison of a measurement with an expectation.
struct ExpectationVerdict {
  enum class Kind {
    kWithin,        ///< whole interval at most value * (1 + tolerance)
    kFaster,        ///< whole interval below value * (1 - tolerance): outdated expectation
    kOutside,       ///< whole interval above
    kInconclusive,  ///< interval on both sides, or missing
    kUnmeasured,    ///< no matching record
  };
  DispatchExpectation expectation;
  Kind kind = Kind::kUnmeasured;
  std::optional<Record> record;  ///< the compared record, without samples
};
std::vector<ExpectationVerdict> judge_expectations(const std::vector<DispatchExpectation>& expectations,
                                                   const std::vector<Record>& records);

/// Replaces expected values by measured ones and adds missing hits and propagations of each operator.
std::vector<DispatchExpectation> updated_expectations(std::vector<DispatchExpectation> expectations,
                                                      const std::vector<Record>& records);

/// Key in Model::extra_info: why instructions were not counted.
inline constexpr const char* kNoInstructionsKey = "no_instructions";

/// Returns the view of `headroom dispatch`: the cost of distribution and the verdict on expectations; times
/// per call, the slowest rank, the steps of a call, instructions if counted, what was not measured, and a
/// table of `verdicts` if any.
Sheet dispatch_sheet(const std::vector<Record>& records,
                     const std::vector<ExpectationVerdict>& verdicts = {});

/// Returns the median of each rank, a row per operator and rank.
Table dispatch_rank_table(const std::vector<Record>& records);

}  // namespace headroom
