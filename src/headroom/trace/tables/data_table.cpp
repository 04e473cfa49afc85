// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/tables/data_table.h"

namespace headroom::trace {

Cell::Cell() noexcept = default;
Cell::Cell(const Cell& other) = default;
Cell::Cell(Cell&& other) noexcept = default;
Cell& Cell::operator=(const Cell& other) = default;
Cell& Cell::operator=(Cell&& other) noexcept = default;
Cell::~Cell() = default;

}  // namespace headroom::trace
