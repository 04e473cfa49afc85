// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/noise.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace headroom {

struct NoiseSeries::Columns {
  std::vector<double> steal_ms, frequency_mhz, placement_ns;
  std::vector<std::uint32_t> involuntary_switches, page_faults;
};

namespace {

/// Fewest values for which a column takes over the buffer.
constexpr std::size_t kManyValues = std::size_t{1} << 17;

/// NaN equals itself; 0 differs from -0.
template <typename Field>
bool same_bits(const Field& a, const Field& b) {
  using Bytes = std::array<std::byte, sizeof(Field)>;
  return std::bit_cast<Bytes>(a) == std::bit_cast<Bytes>(b);
}

}  // namespace

template <typename Work>
void NoiseSeries::for_each_column(const Work& work) {
  work(&SampleNoise::steal_ms, &Columns::steal_ms);
  work(&SampleNoise::involuntary_switches, &Columns::involuntary_switches);
  work(&SampleNoise::page_faults, &Columns::page_faults);
  work(&SampleNoise::frequency_mhz, &Columns::frequency_mhz);
  work(&SampleNoise::placement_ns, &Columns::placement_ns);
}

NoiseSeries::NoiseSeries() noexcept = default;
NoiseSeries::NoiseSeries(const NoiseSeries& other)
    : count_(other.count_),
      same_(other.same_),
      columns_(other.columns_ ? std::make_unique<Columns>(*other.columns_) : nullptr) {}
NoiseSeries::NoiseSeries(NoiseSeries&& other) noexcept
    : count_(std::exchange(other.count_, 0)),
      same_(std::exchange(other.same_, {})),
      columns_(std::move(other.columns_)) {}
NoiseSeries& NoiseSeries::operator=(NoiseSeries other) noexcept {
  std::swap(count_, other.count_);
  std::swap(same_, other.same_);
  std::swap(columns_, other.columns_);
  return *this;
}
NoiseSeries::~NoiseSeries() = default;

/// nullptr if constant.
template <typename Field>
const std::vector<Field>* NoiseSeries::varying_column(Field SampleNoise::*field) const {
  if (!columns_) return nullptr;
  const std::vector<Field>* found = nullptr;
  if constexpr (std::is_same_v<Field, double>) {
    found = field == &SampleNoise::steal_ms        ? &columns_->steal_ms
            : field == &SampleNoise::frequency_mhz ? &columns_->frequency_mhz
                                                   : &columns_->placement_ns;
  } else {
    found = field == &SampleNoise::page_faults ? &columns_->page_faults : &columns_->involuntary_switches;
  }
  return found->empty() ? nullptr : found;
}

template <typename Field>
Field NoiseSeries::value(std::size_t index, Field SampleNoise::*field) const {
  const std::vector<Field>* each = varying_column(field);
  return each == nullptr ? same_.*field : (*each)[index];
}

SampleNoise NoiseSeries::operator[](std::size_t index) const {
  return {value(index, &SampleNoise::steal_ms), value(index, &SampleNoise::involuntary_switches),
          value(index, &SampleNoise::page_faults), value(index, &SampleNoise::frequency_mhz),
          value(index, &SampleNoise::placement_ns)};
}

template <typename Field>
std::size_t NoiseSeries::count_positive(Field SampleNoise::*field) const {
  const std::vector<Field>* each = varying_column(field);
  if (each == nullptr) return same_.*field > 0 ? count_ : 0;
  return static_cast<std::size_t>(std::ranges::count_if(*each, [](Field value) { return value > 0; }));
}

void NoiseSeries::push_back(const SampleNoise& noise) {
  if (empty()) same_ = noise;
  for_each_column([&](auto field, auto column) {
    const auto value = noise.*field;
    if (!has_column(column) && same_bits(same_.*field, value)) return;
    own(field, column).push_back(value);
  });
  ++count_;
}

void NoiseSeries::append(const NoiseSeries& other) {
  const std::size_t count = other.size();
  for (std::size_t i = 0; i < count; ++i) push_back(other[i]);
}

void NoiseSeries::set(std::size_t index, const SampleNoise& noise) {
  for_each_column([&](auto field, auto column) {
    const auto value = noise.*field;
    if (!has_column(column) && same_bits(same_.*field, value)) return;
    own(field, column)[index] = value;
  });
}

void NoiseSeries::resize(std::size_t count) {
  if (count == 0) *this = {};
  for_each_column([&](auto field, auto column) {
    const bool are_zero = empty() || count <= count_ || same_bits(same_.*field, {});
    if (has_column(column) || !are_zero) own(field, column).resize(count);
  });
  count_ = count;
}

template <typename Field>
void NoiseSeries::set_column(Field SampleNoise::*field, std::vector<Field>&& values) {
  if (values.size() > count_) resize(values.size());
  if (empty()) return;
  values.resize(count_);
  const bool all_same =
      std::ranges::all_of(values, [&](const Field& value) { return same_bits(value, values.front()); });
  for_each_column([&](auto of_sample, auto column) {
    if constexpr (std::is_same_v<decltype(of_sample), Field SampleNoise::*>) {
      if (of_sample != field) return;
      if (all_same) {
        if (has_column(column)) (*columns_).*column = {};
        same_.*field = values.front();
      } else if (values.size() < kManyValues) {
        own(field, column).assign(values.begin(), values.end());
      } else {
        own(field, column) = std::exchange(values, {});
      }
    }
  });
}

template <typename Column>
bool NoiseSeries::has_column(Column Columns::*column) const {
  return columns_ && !((*columns_).*column).empty();
}

/// Expands a constant column.
template <typename Field>
std::vector<Field>& NoiseSeries::own(Field SampleNoise::*field, std::vector<Field> Columns::*column) {
  if (!columns_) columns_ = std::make_unique<Columns>();
  std::vector<Field>& each = (*columns_).*column;
  if (each.empty()) each.assign(count_, same_.*field);
  return each;
}

template double NoiseSeries::value(std::size_t, double SampleNoise::*) const;
template std::uint32_t NoiseSeries::value(std::size_t, std::uint32_t SampleNoise::*) const;
template std::size_t NoiseSeries::count_positive(double SampleNoise::*) const;
template std::size_t NoiseSeries::count_positive(std::uint32_t SampleNoise::*) const;
template void NoiseSeries::set_column(double SampleNoise::*, std::vector<double>&&);
template void NoiseSeries::set_column(std::uint32_t SampleNoise::*, std::vector<std::uint32_t>&&);

}  // namespace headroom
