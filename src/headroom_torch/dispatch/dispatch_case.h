// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "headroom/runner/dispatch_protocol.h"

namespace headroom::torch_runner {

/// An operator on operands that are there, ready to be measured. Every rank calls the same in the same order:
/// what is measured may communicate.
class DispatchCase {
 public:
  virtual ~DispatchCase() = default;
  virtual DispatchCycles cycles(int count) = 0;
  virtual DispatchDetails steps(int count) = 0;
  /// Calls of one kind ("plain", "local", "miss", "hit") and nothing else, for whoever counts instructions
  /// from outside.
  virtual void calls(std::string_view kind, int count) = 0;
};

}  // namespace headroom::torch_runner
