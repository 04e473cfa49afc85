// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "headroom/process/descriptor.h"
#include "headroom/record/record.h"

namespace headroom {

/// Reads what the kernel offers about disturbance (steal time, involuntary switches and page faults of all
/// threads of this process, frequency of the first CPU that it may use) before and after a sample. Files are
/// opened once; a reading takes some tens of microseconds and is never part of a timed region.
class NoiseMeter {
 public:
  NoiseMeter();

  void start();
  /// What happened since start(), or since the meter was made. May be called again.
  SampleNoise stop();

 private:
  struct Reading {
    std::uint64_t steal_ticks = 0, involuntary = 0, faults = 0;
  };
  Reading read() const;

  Descriptor stat_file_;
  Descriptor frequency_file_;
  double ms_per_tick_ = 10;
  Reading start_;
};

/// The steal field of the first line of /proc/stat: ticks that the hypervisor gave to others, all CPUs
/// together. Nothing where the kernel counts none (before Linux 2.6.11) or the text is another.
std::optional<std::uint64_t> steal_ticks(std::string_view proc_stat);

/// "performance", "powersave", ...; empty where the kernel tells none (virtual machines).
std::string cpu_governor();

}  // namespace headroom
