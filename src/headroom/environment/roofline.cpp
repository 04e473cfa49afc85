// SPDX-License-Identifier: Apache-2.0
#include "headroom/environment/roofline.h"

#include <algorithm>

namespace headroom {
namespace {

/// The first known rate.
double known(double first, double second, double third) {
  if (first > 0) return first;
  return second > 0 ? second : std::max(third, 0.0);
}

/// Bytes/s of two alternating streams of equal size.
double mixed(double read, double write) {
  return 2 / (1 / read + 1 / write);
}

}  // namespace

double memory_floor_seconds(const Traffic& traffic, const Rates& rates) {
  const double read = known(rates.read, rates.copy, rates.write);
  const double write = known(rates.write, rates.copy, rates.read);
  if (read <= 0) return 0;
  const double copy = rates.copy > 0 ? rates.copy : mixed(read, write);
  const double paired = std::min(traffic.bytes_read, traffic.bytes_written);
  return 2 * paired / copy + (traffic.bytes_read - paired) / read + (traffic.bytes_written - paired) / write;
}

double compute_floor_seconds(const Traffic& traffic, const Rates& rates) {
  return rates.peak > 0 ? traffic.flops / rates.peak : 0;
}

double exchange_floor_seconds(const Traffic& traffic, const Rates& rates) {
  return rates.exchange > 0 ? traffic.exchanged / rates.exchange : 0;
}

double floor_seconds(const Traffic& traffic, const Rates& rates) {
  return std::max({compute_floor_seconds(traffic, rates), memory_floor_seconds(traffic, rates),
                   exchange_floor_seconds(traffic, rates)});
}

}  // namespace headroom
