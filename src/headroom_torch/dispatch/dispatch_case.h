// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace headroom {
class State;
}

namespace headroom::torch_runner {

/// An operator on operands that are there, ready to be measured. Every rank calls the same in the same order:
/// what is measured may communicate.
class DispatchCase {
 public:
  virtual ~DispatchCase() = default;
  /// Gives samples until the case is released. An iteration is a cycle: in an order that changes it calls the
  /// operator on the whole tensor (plain), on the part that this rank holds (local), and on the distributed
  /// tensor, there first with the propagation cache cleared (miss) and then again (hit); of calls of one kind
  /// the median counts. The time is that of the hit, everything else a column, in us: the kinds, their
  /// differences in the cycle, the steps of a hit and of a miss (key, look-up, on a miss with the
  /// propagation, redistribute with unwrapping, local, wrap) of two calls more at the end of the cycle, and
  /// instructions of a call in user space, counted once.
  virtual void measure(State& state) = 0;
};

}  // namespace headroom::torch_runner
