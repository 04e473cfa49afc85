// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "headroom/experiment/bf16.h"
#include "headroom/experiment/buffer.h"

namespace headroom::native {

/// Outputs of bf16, each between zones whose bytes are known: what writes beside its output is found out.
class GuardedOutput {
 public:
  GuardedOutput(std::size_t values, std::size_t copies);

  std::span<Bf16> copy(std::size_t index);
  /// "writes outside of y: 3 bytes from 16 bytes behind its end on", or empty.
  std::string damage() const;

  /// Bytes of memory for so many.
  static std::size_t bytes_for(std::size_t values, std::size_t copies);

 private:
  std::size_t values_, copies_, stride_;
  Buffer memory_;
};

}  // namespace headroom::native
