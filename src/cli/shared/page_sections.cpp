// SPDX-License-Identifier: Apache-2.0
#include "cli/shared/page_sections.h"

#include <string_view>
#include <utility>

#include "cli/shared/shown_records.h"
#include "headroom/page/instrument_section.h"
#include "headroom/page/run_section.h"

namespace headroom::cli {

std::vector<PageSection> page_sections(std::vector<Record> records, const std::string& title) {
  std::vector<PageSection> sections;
  for (const InstrumentRecords& part : by_instrument(std::move(records))) {
    const std::vector<std::string> answers = part.sheet.answers();
    const bool is_run = std::string_view(part.kind) == "run";
    sections.push_back(is_run ? run_section(title, part.records, answers)
                              : instrument_section(part.kind, title, part.records, answers));
  }
  return sections;
}

}  // namespace headroom::cli
