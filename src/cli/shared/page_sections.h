// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "headroom/page/page.h"
#include "headroom/record/record.h"

namespace headroom::cli {

/// What a page shows of the records, a section for each instrument that made some (shown_records.h).
std::vector<PageSection> page_sections(std::vector<Record> records, const std::string& title);

}  // namespace headroom::cli
