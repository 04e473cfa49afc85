// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/experiment/state.h"
#include "headroom/record/instrument.h"
#include "headroom/record/record.h"
#include "headroom/tables/table.h"

namespace headroom {

/// Along one mesh dimension.
struct PlacementText {
  enum class Kind { kShard, kReplicate, kPartial };
  Kind kind = Kind::kReplicate;
  int dim = 0;  ///< sharded dimension

  bool operator==(const PlacementText&) const = default;
};
/// "S(0)" or "Shard(0)", "R" or "Replicate", "P" or "Partial", ignoring case. Throws Error.
PlacementText parse_placement(std::string_view text);
/// "S(0)", "R", "P".
std::string placement_text(const PlacementText& placement);

struct DispatchSetup {
  std::vector<int> mesh{4};
  std::vector<PlacementText> placements{{PlacementText::Kind::kShard, 0}};  ///< one per dimension of the mesh
  std::vector<std::int64_t> shape{512, 512};
  std::string dtype = "f32";  ///< "f32", "f64", "bf16"
  int repeats = 9;            ///< calls of each kind in a cycle, except the miss
};

/// mesh ("2x2"), placements ("S(0),R"; "S(0)xR" in a request), shape ("512x512"), dtype and repeats.
AxisTexts axes_of(const DispatchSetup& setup);
/// Throws Error for an invalid value.
DispatchSetup dispatch_setup_of(const std::function<std::string(const char* axis)>& axis);

/// Parses "2x2". Errors begin with `what`.
std::vector<std::int64_t> parse_grid(std::string_view text, std::string_view what, std::int64_t least);

/// Throws Error unless mesh, placements, shape and `ranks` fit together.
void require_fit(const DispatchSetup& setup, int ranks);

inline constexpr const char* kDispatchPrefix = "dispatch.";

/// Converts to µs per call, with each rank's cycles as the samples of a process: "hit" (the headline),
/// "miss", "propagation" (miss - hit of the same cycle), "plain", "local", "hit over local", "miss over
/// local"; steps such as "hit key"; "instructions plain" and so on.
std::vector<Record> dispatch_records(std::vector<Record> records);

/// data/dispatch_pytorch.toml, embedded at build time.
extern const std::string_view kShippedDispatchExpectations;

/// From PyTorch's distributed-tensor test on another kind of machine: a reference.
std::vector<DispatchExpectation> pytorch_dispatch_expectations();

struct ExpectationVerdict {
  enum class Kind {
    kWithin,        ///< interval at most value * (1 + tolerance)
    kFaster,        ///< interval below value * (1 - tolerance): outdated
    kOutside,       ///< interval above
    kInconclusive,  ///< interval on both sides, or missing
    kUnmeasured,    ///< no matching record
  };
  DispatchExpectation expectation;
  Kind kind = Kind::kUnmeasured;
  std::optional<Record> record;  ///< without samples
};
std::vector<ExpectationVerdict> judge_expectations(const std::vector<DispatchExpectation>& expectations,
                                                   const std::vector<Record>& records);

/// Adds missing hits and propagations.
std::vector<DispatchExpectation> updated_expectations(std::vector<DispatchExpectation> expectations,
                                                      const std::vector<Record>& records);

/// In Model::extra_info: why instructions were not counted.
inline constexpr const char* kNoInstructionsKey = "no_instructions";

View dispatch_view(const std::vector<Record>& records, const std::vector<ExpectationVerdict>& verdicts = {});

Table dispatch_rank_table(const std::vector<Record>& records);

}  // namespace headroom
