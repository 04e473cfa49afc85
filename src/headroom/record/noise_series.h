// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace headroom {

/// What the kernel said about one sample. Zero where it does not say.
struct SampleNoise {
  double steal_ms = 0;                     ///< time that the hypervisor gave to others, all CPUs
  std::uint32_t involuntary_switches = 0;  ///< of the runner's threads
  std::uint32_t page_faults = 0;           ///< minor and major
  double frequency_mhz = 0;
  double placement_ns = 0;  ///< core-to-core latency of the threads in this round
};

/// What the kernel said about each sample of a process. By column, and a column in which all samples are the
/// same is held once: on a quiet machine most are, and a record of many samples weighs half of what it would.
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
  /// One column of it.
  template <typename Field>
  Field value(std::size_t index, Field SampleNoise::*field) const;
  /// How many samples have more than 0 there.
  template <typename Field>
  std::size_t count_positive(Field SampleNoise::*field) const;

  void push_back(const SampleNoise& noise);
  void append(const NoiseSeries& other);
  void set(std::size_t index, const SampleNoise& noise);
  /// What is added is zero.
  void resize(std::size_t count);
  /// Takes `values` for a column, and is as long as these at least. A buffer whose values are all the same,
  /// or few, keeps its memory.
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
  SampleNoise same_{};  ///< of the columns that have no values of their own
  std::unique_ptr<Columns> columns_;
};

}  // namespace headroom
