// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace headroom {

/// An event of one memory controller: its transfers in one direction, by whatever program.
struct ControllerEvent {
  enum class Traffic { kRead, kWrite, kBoth };
  std::string unit;  ///< "uncore_imc_0"
  std::uint32_t type = 0;
  std::array<std::uint64_t, 3> config{};
  int cpu = 0;  ///< by which the kernel reaches the unit
  double bytes_per_count = 0;
  Traffic traffic = Traffic::kBoth;
};

/// The transfers of all memory controllers whose counters the kernel lists: Intel's uncore_imc, else
/// uncore_imc_free_running, AMD's amd_umc, else amd_df where its events are those of Zen to Zen 3. Empty
/// where it lists none, or none whose events are known. Whether they may be opened is another question.
std::vector<ControllerEvent> memory_controllers(
    const std::filesystem::path& devices = "/sys/bus/event_source/devices");

/// "event=0x04,umask=0x03" as the words of perf_event_attr, by the files of `format`, each of which says
/// where the bits of a term lie ("config:0-7,32-35"). False where a term has no file, or does not fit.
bool encode_event(const std::string& terms, const std::filesystem::path& format,
                  std::array<std::uint64_t, 3>& config);

}  // namespace headroom
