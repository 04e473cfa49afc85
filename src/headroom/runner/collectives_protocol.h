// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "headroom/base/json.h"

namespace headroom {

// The language between `headroom ddp --collectives` and the process of a rank, beside what
// dispatch_protocol.h says of greeting and meeting. Ranks that take no part answer {"idle": true}.
//
//   {"do": "collective", "op": "all_reduce", ...}   -> CollectiveReady   memory is taken, nothing is sent yet
//   {"do": "collective_samples", "count": 20}       -> CollectiveSamples

/// All that can be measured, by the names that traces have for them.
inline constexpr const char* kCollectives[] = {"all_reduce", "all_gather", "reduce_scatter", "broadcast",
                                               "all_to_all"};
inline constexpr const char* kCollectiveDtypes[] = {"f32", "f64", "f16", "i32", "i64"};

/// One collective of one size, by the first `ranks` of the world.
struct CollectiveSetup {
  std::string op = "all_reduce";
  /// The size of nccl-tests: what every rank ends with for all_gather, begins with for the others.
  std::int64_t bytes = 0;
  std::string dtype = "f32";
  int ranks = 2;
  std::uint64_t seed = 1;
};

/// What a rank will measure.
struct CollectiveReady {
  bool idle = false;
  std::int64_t bytes = 0;  ///< as asked, but a whole number of elements for each rank
  std::string how;         ///< of what it is composed where the backend does not have it; else empty
  std::string skipped;     ///< why it cannot be measured here (memory); empty where it can
};

/// What some calls gave, each after a barrier and with new data: the time from the call to its end on this
/// rank, in the order measured.
struct CollectiveSamples {
  bool idle = false;
  std::vector<double> ns;
  std::string wrong;  ///< what is wrong with the data of the last call; empty where nothing is
};

Json to_json(const CollectiveSetup& setup);
Json to_json(const CollectiveReady& ready);
Json to_json(const CollectiveSamples& samples);
/// Decoders throw Error naming what is missing or of another type.
CollectiveSetup collective_setup_from_json(const Json& json);
CollectiveReady collective_ready_from_json(const Json& json);
CollectiveSamples collective_samples_from_json(const Json& json);

}  // namespace headroom
