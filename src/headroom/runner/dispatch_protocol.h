// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/base/blas_library.h"
#include "headroom/base/json.h"

namespace headroom {

/// The language between `headroom dispatch` and the process of a rank: JSON, one message a line, over the
/// descriptor whose number is in kSocketVariable. The rank speaks first (RankHello), as soon as it runs;
/// after that it answers each request with one line, which is {"error": reason} where it cannot.
///
///   {"do": "meet", "timeout_s": 70}       -> {"met": 4}              connected with all others
///   {"do": "backend", "backend": "nccl"}  -> {"backend": "nccl"}     has what that needs
///   {"do": "dispatch", "op": "add", ...}  -> {"ready": "add"}        operands made, warm for nothing yet
///   {"do": "cycles", "count": 20}         -> DispatchCycles
///   {"do": "steps", "count": 50}          -> DispatchDetails         of the same operator
///   {"do": "calls", "kind": "hit", "count": 100} -> {"calls": 100}   for a tool that watches from outside
/// The rank ends when its channel closes.

/// Where a tensor lies along one dimension of the mesh.
struct PlacementText {
  enum class Kind { kShard, kReplicate, kPartial };
  Kind kind = Kind::kReplicate;
  int dim = 0;  ///< the sharded dimension of the tensor

  bool operator==(const PlacementText&) const = default;
};
/// "S(0)" or "Shard(0)", "R" or "Replicate", "P" or "Partial"; case does not matter. Throws Error.
PlacementText parse_placement(std::string_view text);
/// "S(0)", "R", "P".
std::string placement_text(const PlacementText& placement);

/// What operators are measured on: a tensor of `shape`, placed over a mesh of ranks.
struct DispatchSetup {
  std::vector<int> mesh{4};
  std::vector<PlacementText> placements{
      {PlacementText::Kind::kShard, 0}};  ///< one for each dimension of the mesh
  std::vector<std::int64_t> shape{512, 512};
  std::string dtype = "f32";  ///< "f32", "f64", "bf16"
  int repeats = 9;            ///< calls of each kind in a cycle, the miss apart
  int threads = 1;            ///< of one operator
  std::uint64_t seed = 1;
  std::string backend = "gloo";  ///< or "nccl": tensors on GPUs
};

/// Throws Error where the mesh does not hold `ranks` ranks, or the placements fit neither it nor the shape.
void require_fit(const DispatchSetup& setup, int ranks);

/// What a rank is told that it was asked, see RankHello::arguments.
inline constexpr const char* kRankArgumentsVariable = "HEADROOM_RANK_ARGUMENTS";

struct RankHello {
  struct Op {
    std::string name, summary;
    bool by_default = false;
  };
  int rank = 0, size = 1;
  std::int64_t pid = 0;
  std::string library;                ///< "libtorch 1.13.1"
  std::string no_counters;            ///< why instructions are not counted there; empty where they are
  std::vector<Op> ops;                ///< what can be measured
  std::vector<Op> models;             ///< what can be trained
  std::string arguments;              ///< of kRankArgumentsVariable, for the leader to compare
  std::string host{};                 ///< name of its machine
  std::vector<int> cores{};           ///< of that machine, which it keeps to; empty where it does not say
  std::optional<BlasLibrary> blas{};  ///< that it computes with; empty: it tells of none
};

/// What some cycles gave, in nanoseconds a call and in the order measured. A cycle calls, in an order that
/// changes, the operator on the whole tensor (plain), on the part that this rank holds (local), and on the
/// distributed tensor, there first with the propagation cache cleared (miss) and then again (hit). Of calls
/// of one kind the median counts. plain and local are empty for what has no counterpart on a plain tensor.
struct DispatchCycles {
  std::vector<double> plain_ns, local_ns, miss_ns, hit_ns;
};

/// Nanoseconds of the steps of a call, one value a cycle, by name: key, look-up (on a miss with the
/// propagation), redistribute (with unwrapping), local, wrap.
using DispatchSteps = std::map<std::string, std::vector<double>>;
inline constexpr const char* kDispatchSteps[] = {"key", "look-up", "redistribute", "local", "wrap"};

/// What is found out outside of the timed cycles.
struct DispatchDetails {
  DispatchSteps miss, hit;
  std::uint64_t cache_hits = 0, cache_misses = 0;  ///< of one cycle
  std::uint64_t cache_size = 0;                    ///< plans that are kept after one cycle
  /// Instructions of one call in user space: "plain", "local", "hit", "miss"; empty where they are not
  /// counted.
  std::map<std::string, double> instructions;
};

Json to_json(const RankHello& hello);
Json to_json(const DispatchSetup& setup);
Json to_json(const DispatchCycles& cycles);
Json to_json(const DispatchDetails& details);
/// Decoders throw Error naming what is missing or of another type.
RankHello rank_hello_from_json(const Json& json);
DispatchSetup dispatch_setup_from_json(const Json& json);
DispatchCycles dispatch_cycles_from_json(const Json& json);
DispatchDetails dispatch_details_from_json(const Json& json);

}  // namespace headroom
