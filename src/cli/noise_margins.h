// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "headroom/record/record.h"

namespace headroom::cli {

/// By identity() of a record: how far apart two measurements of the same thing came out on this machine, as a
/// share.
using NoiseMargins = std::map<std::string, double>;

/// From the records of an A/A run (the same runner twice): for each quantity the smallest margin at which its
/// two measurements would be called the same, that is the end of the ratio's 95 % interval that lies farther
/// from 1. Quantities without an interval are left out.
NoiseMargins margins_of(const std::vector<Record>& records);

/// What was stored for a machine; empty where nothing was. Throws Error when the file is damaged.
NoiseMargins stored_margins(const std::string& fingerprint);

/// Puts the margins beside those stored before, which they replace where they are of the same quantity.
/// Returns the path of the file.
std::string store_margins(const std::string& fingerprint, const NoiseMargins& margins);

}  // namespace headroom::cli
