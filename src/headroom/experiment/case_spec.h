// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "headroom/base/precision.h"
#include "headroom/record/record.h"

namespace headroom {

/// Where the inputs of one iteration lie.
enum class Caches {
  kCold,  ///< inputs rotate through copies that together exceed twice the last-level cache
  kHot    ///< one copy
};

/// One case as the scheduler asks a runner for it.
struct CaseSpec {
  std::string experiment;
  AxisTexts axes;
  std::string backend = "native";
  int threads = 1;
  Caches caches = Caches::kCold;
  std::uint64_t seed = 1;
  std::string variant{};  ///< one of Experiment::variants of this backend; empty: the implementation decides
  bool keep_wrong = false;     ///< a wrong answer does not end the case: it is timed, and marked
  std::size_t most_bytes = 0;  ///< a case that needs more memory is skipped; 0: what the machine has counts
};

/// FLOPs and bytes of one iteration.
struct Work {
  double flops = 0;
  double bytes = 0;          ///< all bytes moved between memory and the processor, read and written
  double bytes_written = 0;  ///< the part of `bytes` that is written
  std::string dtype{};       ///< "f32", "bf16", "int8": the peak that `flops` is held against; empty: none
  double exchanged = 0;      ///< bytes that a rank of a job sends to the others, and receives: their mean
};

/// A number that a case reports beside its time.
struct ReportedMetric {
  enum class Kind {
    kValue,  ///< amount
    kRate,   ///< amount / time of an iteration
    kColumn  ///< what each sample has in its columns, per iteration
  };
  std::string name;  ///< "token_per_sec"
  std::string unit;  ///< "tokens/s"
  Direction direction = Direction::kHigherIsBetter;
  Kind kind = Kind::kValue;
  double amount = 0;  ///< of a value, or per iteration of a rate
};

/// What a case says of itself once it is ready to be sampled.
struct CaseInfo {
  Work work;
  std::size_t copies = 1;  ///< input copies in rotation
  bool verified = false;
  double max_error = 0;
  double tolerance = 0;  ///< what max_error was held against
  std::vector<ReportedMetric> metrics;
  StringMap inputs;                    ///< name -> "bf16[1024,1024] normal(0,1)"
  StringMap notes;                     ///< what else the case says of itself: "isa" -> "avx512_bf16"
  std::optional<Precision> sums_in{};  ///< the precision that the tolerance is for; empty: not known
  /// Why the answer is wrong, where the case is timed all the same (CaseSpec::keep_wrong); empty: it is not.
  std::string wrong{};
};

/// Numbers that a case tells once it was sampled: State::series.
struct ToldSeries {
  std::string name;            ///< "bucket 0 launched"
  std::string unit;            ///< "us"
  std::vector<double> values;  ///< of iterations, the last sampled one last
  StringMap info{};            ///< what else there is to say of it: "bytes" -> "4096"
};

/// What a case says after its last sample.
struct Conclusion {
  std::string failure;  ///< why its samples count for nothing; empty: they count
  StringMap notes{};    ///< beside those of CaseInfo
  std::vector<ToldSeries> series{};
};

}  // namespace headroom
