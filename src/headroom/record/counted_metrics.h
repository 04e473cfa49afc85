// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>

namespace headroom {

// What the hardware counted of a case, per iteration, beside what the case declares. The first three as those
// of a command; the volumes are LIKWID's "data volume", in bytes.
inline constexpr const char* kInstructions = "instructions";
inline constexpr const char* kCycles = "cycles";
inline constexpr const char* kCacheMisses = "cache_misses";
/// What the memory controllers moved, for whatever program.
inline constexpr const char* kDataVolume = "data_volume";
inline constexpr const char* kDataWritten = "data_volume_written";
/// What they moved in as long a time without the case.
inline constexpr const char* kBackground = "data_volume_background";
/// Misses (which level's is the processor's affair) times the line.
inline constexpr const char* kMissVolume = "miss_volume";

inline constexpr std::array<std::string_view, 7> kCountedMetrics{
    kInstructions, kCycles, kCacheMisses, kDataVolume, kDataWritten, kBackground, kMissVolume};

/// Where a record of one of them (Metric::extra_info) says that counters took turns on the hardware, and in
/// which share of the time the one counted that counted least.
inline constexpr const char* kCountedShare = "counted share";

}  // namespace headroom
