// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "headroom/schedule/track.h"
#include "headroom/stats/stopping.h"

namespace headroom {

/// Which cases of a group are precise enough while others are not, in one process: these are sampled in every
/// other round only, so that the time goes where an interval is wide. All of them in the same rounds, which
/// leaves their ratios to each other and to the limits paired; what others are held against, in every round.
/// A case is settled by the rule that would end its sampling if it were alone (Stopping), and no more where
/// its interval has grown again: when it is sampled never depends on a sample of the same round.
class SettledCases {
 public:
  SettledCases(const StopRule& rule, std::size_t cases) : stopping_(cases, Stopping(rule)), settled_(cases) {}

  /// To be called with the half_widths() of `cases` at each look at them. `first_round`: of this process.
  void look(std::span<const Track> cases, std::span<const double> half_widths, double elapsed_ns,
            std::uint32_t first_round);

  /// Whether the case is to be sampled in this round.
  bool is_due(std::size_t index, std::uint32_t round) const { return round % 2 == 0 || !spared_.at(index); }

 private:
  std::vector<Stopping> stopping_;
  std::vector<bool> settled_;
  std::vector<bool> spared_ = std::vector<bool>(stopping_.size());
};

/// The fewest readings from `first_round` on of a case that is alive; 0 where none is.
std::size_t fewest_readings(std::span<const Track> cases, std::uint32_t first_round);

}  // namespace headroom
