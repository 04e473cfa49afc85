// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace headroom {

/// Kernel counters for a sample; 0 if not reported.
struct SampleNoise {
  double steal_ms = 0;  ///< summed over all CPUs
  std::uint32_t involuntary_switches = 0;
  std::uint32_t page_faults = 0;  ///< minor and major
  double frequency_mhz = 0;
  double placement_ns = 0;  ///< core-to-core latency of the threads
};

/// Stores constant columns once, which halves large records.
class NoiseSeries {
 public:
  NoiseSeries() noexcept;
  NoiseSeries(const NoiseSeries& other);
  NoiseSeries(NoiseSeries&& other) noexcept;
  NoiseSeries& operator=(NoiseSeries other) noexcept;
  ~NoiseSeries();

  std::size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  SampleNoise operator[](std::size_t index) const;
  template <typename Field>
  Field value(std::size_t index, Field SampleNoise::*field) const;
  template <typename Field>
  std::size_t count_positive(Field SampleNoise::*field) const;

  void push_back(const SampleNoise& noise);
  void append(const NoiseSeries& other);
  void set(std::size_t index, const SampleNoise& noise);
  void resize(std::size_t count);
  /// Grows to the column's size. The buffer keeps its memory if values are constant or few.
  template <typename Field>
  void set_column(Field SampleNoise::*field, std::vector<Field>&& values);

 private:
  struct Columns;

  template <typename Work>
  void for_each_column(const Work& work);
  template <typename Field>
  const std::vector<Field>* varying_column(Field SampleNoise::*field) const;
  template <typename Column>
  bool has_column(Column Columns::*column) const;
  template <typename Field>
  std::vector<Field>& own(Field SampleNoise::*field, std::vector<Field> Columns::*column);

  std::size_t count_ = 0;
  SampleNoise same_{};  ///< of constant columns
  std::unique_ptr<Columns> columns_;
};

/// A bit of DeviceNoise::throttle. Source: NVML's nvmlClocksEventReason* (before driver 535
/// nvmlClocksThrottleReason*).
struct ThrottleReason {
  std::uint32_t bit;
  const char* name;
  bool is_chosen;  ///< requested by a user, independent of heat and power
};

inline constexpr std::array<ThrottleReason, 8> kThrottleReasons{{
    {0x002, "application clocks", true},
    {0x004, "power cap", false},
    {0x008, "hardware slowdown", false},
    {0x010, "sync boost", true},
    {0x020, "software thermal slowdown", false},
    {0x040, "hardware thermal slowdown", false},
    {0x080, "power brake", false},
    {0x100, "display clocks", true},
}};

inline constexpr std::uint32_t kDeviceIdle = 0x001;

/// Ignores clocks chosen by a user.
constexpr bool is_throttled(std::uint32_t reasons) {
  for (const ThrottleReason& reason : kThrottleReasons) {
    if (!reason.is_chosen && (reasons & reason.bit) != 0) return true;
  }
  return false;
}

/// In Model::extra_info: Record::huge_pages as "100 %".
inline constexpr const char* kHugePagesKey = "huge pages";
/// Whether a share rounds to at least 1 %.
constexpr bool has_huge_pages(double share) {
  return share >= 0.005;
}

}  // namespace headroom
