// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace headroom {

/// Bus bandwidth / algorithm bandwidth among n ranks, by nccl-tests' performance notes: 2 (n - 1) / n for
/// all_reduce, (n - 1) / n for reduce_scatter, all_gather and all_to_all, 1 for broadcast and reduce. Nothing
/// for other collectives and for n < 2.
std::optional<double> bus_factor(std::string_view collective, std::int64_t ranks);

}  // namespace headroom
