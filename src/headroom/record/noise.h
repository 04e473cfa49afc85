// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace headroom {

/// Kernel counters for one sample. Zero if not reported.
struct SampleNoise {
  double steal_ms = 0;                     ///< time given to other virtual machines, summed over all CPUs
  std::uint32_t involuntary_switches = 0;  ///< of the runner's threads
  std::uint32_t page_faults = 0;           ///< minor and major
  double frequency_mhz = 0;
  double placement_ns = 0;  ///< core-to-core latency of the threads in this round
};

/// Kernel counters for the samples of a process, stored by column. A constant column is stored once, which
/// halves the memory of a large record from a quiet machine.
class NoiseSeries {
 public:
  NoiseSeries() noexcept;
  NoiseSeries(const NoiseSeries& other);
  NoiseSeries(NoiseSeries&& other) noexcept;
  NoiseSeries& operator=(NoiseSeries other) noexcept;
  ~NoiseSeries();

  std::size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  /// `index` below size().
  SampleNoise operator[](std::size_t index) const;
  template <typename Field>
  Field value(std::size_t index, Field SampleNoise::*field) const;
  /// Counts the samples with a value above 0.
  template <typename Field>
  std::size_t count_positive(Field SampleNoise::*field) const;

  void push_back(const SampleNoise& noise);
  void append(const NoiseSeries& other);
  void set(std::size_t index, const SampleNoise& noise);
  /// New samples are zero.
  void resize(std::size_t count);
  /// Replaces a column by `values`, and grows to at least their size. A buffer with constant or few values
  /// keeps its memory.
  template <typename Field>
  void set_column(Field SampleNoise::*field, std::vector<Field>&& values);

 private:
  struct Columns;  // of what differs; the others are empty

  template <typename Work>
  void for_each_column(const Work& work);
  template <typename Field>
  const std::vector<Field>* differing(Field SampleNoise::*field) const;
  template <typename Column>
  bool has_own(Column Columns::*column) const;
  template <typename Field>
  std::vector<Field>& own(Field SampleNoise::*field, std::vector<Field> Columns::*column);

  std::size_t count_ = 0;
  SampleNoise same_{};  ///< values of the constant columns
  std::unique_ptr<Columns> columns_;
};

/// A reason for reduced clocks of a device: a bit of DeviceNoise::throttle. Source: nvmlClocksEventReason* of
/// NVML (nvmlClocksThrottleReason* in drivers before 535), with the same values.
struct ThrottleReason {
  std::uint32_t bit;
  const char* name;
  bool is_chosen;  ///< requested by a user; does not vary with heat or power
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

/// Idle device: no reason to distrust a sample.
inline constexpr std::uint32_t kDeviceIdle = 0x001;

/// Whether heat, power or hardware reduced the clocks.
constexpr bool is_throttled(std::uint32_t reasons) {
  for (const ThrottleReason& reason : kThrottleReasons) {
    if (!reason.is_chosen && (reasons & reason.bit) != 0) return true;
  }
  return false;
}

/// Key in Model::extra_info for readers: Record::huge_pages as "100 %".
inline constexpr const char* kHugePagesKey = "huge pages";
/// Whether a share in huge pages is more than none, as far as it is shown.
constexpr bool has_huge_pages(double share) {
  return share >= 0.005;
}

}  // namespace headroom
