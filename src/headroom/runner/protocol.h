// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/base/json.h"
#include "headroom/experiment/axis.h"
#include "headroom/experiment/case_spec.h"
#include "headroom/experiment/experiment.h"
#include "headroom/experiment/state.h"
#include "headroom/experiment/work_counts.h"

namespace headroom {

/// The language between the command line and a runner: JSON, one message a line, over the socket whose number
/// is in kSocketVariable. The runner speaks first (Hello, or {"error": "reason"} where the machine lacks what
/// it needs, or it cannot do what its own command line asks: `headroom run --module FILE --input SPEC` starts
/// the runner with these arguments); after that it answers each request with one reply, and says nothing that
/// it was not asked. A runner whose Hello has "ids" repeats the "id" of the request in its reply.
///
///   {"do": "describe"}                                        -> {"experiments": [...]}, and "devices":
///   [...]
///                                                                where they are not the CPU
///                                                                (device_protocol.h), "blas": {...}
///                                                                where one computes (blas_protocol.h)
///   {"do": "prepare", "case": 7, "spec": {...}}               -> {"outcome": "ready", "info": {...}}
///                                                                or "skipped" / "failed" with a "reason"
///   {"do": "sample", "case": 7, "iterations": 100, "lead_in": 1} -> {"elapsed_ns": ..., "noise": {...},
///                                                                   "device": {...} where a driver tells of
///                                                                   one, "columns": [...] where "info" has
///                                                                   metrics with "is_column": as many, in
///                                                                   that order, each per iteration}
///                                                                or {"failed": "reason"}
///   {"do": "count", "case": 7, "iterations": 100, "lead_in": 1}  -> {"counts": {"instructions": ...}}, of
///   all
///                                                                   these iterations, not timed
///                                                                or {"uncounted": "reason"}
///   {"do": "trace", "case": 7, "file": "/full/path.json"}     -> {"traced": "/full/path.json"}
///                                                                or {"untraced": "reason"}
///   {"do": "release", "case": 7, "conclude": true}            -> {"released": 7, "conclusion": {...}}
///                                                                without "conclude", which is for a case
///                                                                that has all its samples, {"released": 7}
///   Where a failure leaves the process unable to go on (Registry::end_where_lost_with), any of these is
///   answered with {"error": "reason"}, and the runner ends.
///   {"do": "quit"}                                            (the runner ends; so it does when the socket
///   closes)
inline constexpr int kProtocolVersion = 1;
inline constexpr const char* kSocketVariable = "HEADROOM_FD";
/// Iterations of a case that "trace" records.
inline constexpr std::uint64_t kTracedIterations = 1;

struct Hello {
  std::string name;  ///< "native" for headroom-native
  std::string version;
  int protocol = kProtocolVersion;
  bool traces = false;  ///< understands "trace"; absent: it does not
  bool ids = false;     ///< its replies repeat the "id" of their request; absent: they do not
  bool counts = false;  ///< understands "count", and something is counted here; absent: it does not
};

/// What a runner tells of one experiment.
struct ExperimentDescription {
  std::string name, summary, metric, device;
  std::vector<Axis> axes;
  std::vector<std::string> backends;
  bool is_limit = false;
  std::map<std::string, std::vector<std::string>> variants{};  ///< by backend; absent: none
  std::vector<std::string> also_metrics{};                     ///< absent in a message: none
  std::string model{};                                         ///< absent: none
  bool is_on_request = false;                                  ///< absent: it runs by default
  bool each_rank_counts = false;                               ///< absent: the slowest does
  std::vector<int> threads{};                                  ///< absent: all CPUs
};

struct PrepareReply {
  Outcome outcome;  ///< kMeasured means ready
  CaseInfo info;
};

/// What one rank of a rank job measured in a sample.
struct RankSample {
  std::int64_t pid = 0;
  double elapsed_ns = 0;
  std::vector<double> columns{};  ///< as those of a Sample
};

struct SampleReply {
  Sample sample;
  std::string failure;              ///< empty when there is a sample
  std::vector<RankSample> ranks{};  ///< of a rank job, those that took part: `sample` is the slowest one's
};

/// What the hardware counted in the iterations of a request.
struct CountReply {
  WorkCounts counts{};
  std::string failure{};  ///< empty where they were counted
};

ExperimentDescription describe(const Experiment& experiment);

/// Most experiments of one runner, and most points of the axes of one of them.
inline constexpr std::size_t kMostExperiments = 10'000;
inline constexpr std::size_t kMostPoints = 1'000'000;

/// Encoders and decoders of each message. Decoders throw Error naming the member that is missing or of
/// another type, or saying what no runner can honestly say (sound_numbers.h).
Json to_json(const Hello& hello);
Json to_json(const ExperimentDescription& description);
Json to_json(const CaseSpec& spec);
Json to_json(const PrepareReply& reply);
Json to_json(const SampleReply& reply);
Json to_json(const CountReply& reply);
Json to_json(const Conclusion& conclusion);
Hello hello_from_json(const Json& json);
ExperimentDescription description_from_json(const Json& json);
/// Those of the reply to "describe", of different names.
std::vector<ExperimentDescription> descriptions_from_json(const Json& reply);
CaseSpec case_spec_from_json(const Json& json);
PrepareReply prepare_reply_from_json(const Json& json);
SampleReply sample_reply_from_json(const Json& json);
CountReply count_reply_from_json(const Json& json);
/// Of the reply to "release": an empty one where it has none.
Conclusion conclusion_from_json(const Json& json);

}  // namespace headroom
