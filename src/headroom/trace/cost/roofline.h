// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "headroom/trace/columns/trace.h"
#include "headroom/trace/cost/device_peaks.h"
#include "headroom/trace/cost/op_cost.h"

namespace headroom::trace {

/// The calls of one operator with the same shapes, strides, types and peak, and of the same cost: two
/// convolutions of other strides are two rows.
struct RooflineRow {
  NameId op = kNoName, dims = kNoName, strides = kNoName, types = kNoName;
  NameId values = kNoName;  ///< of a convolution the arguments that are no tensors; of the others nothing
  MathType math = MathType::kF32;
  bool is_product = false;
  std::int64_t calls = 0;
  double device_ns = 0;         ///< of all that the calls launched
  double flops = 0, bytes = 0;  ///< of all calls
  double compute_ns = 0,
         memory_ns = 0;  ///< what they take at the device's peaks; 0 where a peak is not known
  double roof_ns = 0;    ///< sum over the calls of the longer of the two
  std::vector<std::uint32_t> call_events;  ///< rows of Trace::events
};

/// GPU work by whether its cost is known.
enum class Coverage : std::uint8_t {
  kKnown,
  kUnknown,        ///< launched by an operator whose cost is not known
  kNoOp,           ///< no operator is known to have launched it
  kCommunication,  ///< bounded by links
  kHostCopy        ///< copies to and from the host: bounded by the link to it
};
inline constexpr std::size_t kCoverages = 5;
const char* to_string(Coverage coverage);

struct Roofline {
  std::vector<RooflineRow> rows;  ///< by device time, longest first
  std::vector<std::uint32_t>
      call_of;  ///< by row of Trace::gpu: the call that it is of; kNone of unknown ones
  double covered_ns[kCoverages] = {};
  std::int64_t covered_works[kCoverages] = {};
  struct Unknown {
    NameId op = kNoName;
    std::int64_t works = 0;
    double device_ns = 0;
  };
  std::vector<Unknown> unknown;  ///< operators of Coverage::kUnknown, longest first
};

/// Each piece of GPU work goes to the innermost operator around its launch whose cost is known; to none where
/// that operator's own work is already known by operators inside it. Needs kLaunches, kOps and kOpArguments.
Roofline roofline(const Trace& trace, const DevicePeaks& peaks);

}  // namespace headroom::trace
