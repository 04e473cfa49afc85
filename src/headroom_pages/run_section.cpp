// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "headroom/base/text.h"
#include "headroom/report/case_rows.h"
#include "headroom/report/roofline.h"
#include "headroom/report/run_sheet.h"
#include "headroom_pages/case_columns.h"
#include "headroom_pages/sections.h"

namespace headroom {
namespace {

Json marks_json(const std::vector<CaseRow>& rows) {
  std::string marks;
  for (const CaseRow& row : rows) marks += noise_marks(row.latency != nullptr ? *row.latency : row.any());
  Json lines = Json::array();
  for (const std::string& line : split(marks_legend(marks), '\n')) {
    if (!trimmed(line).empty()) lines.push_back(trimmed(line));
  }
  return lines;
}

}  // namespace

PageSection run_section(std::string title, const std::vector<Record>& records,
                        const std::vector<std::string>& answers) {
  const std::vector<CaseRow> rows = case_rows(records);
  const Roofline roofline = roofline_of(records);
  const std::vector<const Environment*> environments = environments_of(records);
  Json told = Json::array();
  for (const Environment* environment : environments) told.push_back(environment_facts(*environment));
  TextIndex texts;
  Json cases = case_columns(records, rows, environments, texts);
  Json data{{"answers", answers},
            {"run", run_json(records)},
            {"count", rows.size()},
            {"cases", std::move(cases)},
            {"texts", texts.json()},
            {"environments", std::move(told)},
            {"marks", marks_json(rows)},
            {"roofline", roofline.cases.empty() ? Json(nullptr) : roofline_json(roofline)}};
  return {"run", std::move(title), std::move(data)};
}

}  // namespace headroom
