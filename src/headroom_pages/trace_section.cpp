// SPDX-License-Identifier: Apache-2.0
#include "headroom_pages/trace_section.h"

#include <algorithm>
#include <utility>

#include "headroom/base/json.h"
#include "headroom_trace/findings/findings.h"
#include "headroom_trace/report/trace_json.h"
#include "headroom_trace/tables/data_table.h"

namespace headroom {
namespace {

using trace::DataTable;
using trace::Finding;

Json unit_json(trace::Kind kind) {
  if (kind == trace::Kind::kText) return nullptr;
  if (kind == trace::Kind::kCount) return "count";
  return kind == trace::Kind::kShare ? "share" : trace_unit(kind);
}

Json table_json(const DataTable& table) {
  Json columns = Json::array(), rows = Json::array();
  for (const trace::Column& column : table.columns)
    columns.push_back({{"title", column.title}, {"unit", unit_json(column.kind)}});
  for (const std::vector<trace::Cell>& cells : table.rows) {
    Json row = Json::array();
    for (const trace::Cell& cell : cells) row.push_back(cell_json(cell));
    rows.push_back(std::move(row));
  }
  return {{"title", table.title}, {"columns", std::move(columns)}, {"rows", std::move(rows)}};
}

Json known_or_null(std::int64_t value) {
  return value < 0 ? Json(nullptr) : Json(value);
}

/// Where an instant of a rank's clock is on the timeline; null where the rank is not known, or the time not
/// its.
Json place_of(const Finding& finding, const trace::JobTimeline& timeline) {
  const auto& ranks = timeline.ranks;
  const auto rank = std::ranges::find_if(ranks, [&](const trace::RankTimeline& one) {
    // What all ranks lose is said of the time of one of them.
    const bool is_its = finding.rank < 0 || finding.rank == one.rank || ranks.size() == 1;
    return is_its && finding.at_ns >= one.start_ns && finding.at_ns <= one.end_ns;
  });
  if (rank == ranks.end() || finding.at_ns == 0) return nullptr;
  return finding.at_ns - rank->offset_ns - timeline.start_ns;
}

Json findings_json(const TraceReport& report, const trace::JobTimeline& timeline) {
  Json all = Json::array();
  const auto& tables = report.result.tables;
  const auto table = std::ranges::find(tables, trace::kFindingTable, &DataTable::key);
  if (table == tables.end()) return all;
  const trace::StoredRows rows(*table);
  for (const Finding& finding : trace::findings_of(*table)) {
    all.push_back({{"kind", trace::to_string(finding.kind)},
                   {"recoverable_ns", finding.recoverable_ns},
                   {"share", finding.share},
                   {"rank", known_or_null(finding.rank)},
                   {"step", known_or_null(finding.step)},
                   {"at", place_of(finding, timeline)},
                   {"where", rows.text(all.size(), "where")},
                   {"evidence", finding.evidence},
                   {"fix", finding.fix}});
  }
  return all;
}

}  // namespace

PageSection trace_section(std::string title, const TraceReport& report, const trace::JobTimeline& timeline) {
  Json tables = Json::array();
  for (const DataTable& table : report.result.tables) {
    if (!table.is_for_combining && !table.is_in_answer) tables.push_back(table_json(table));
  }
  std::vector<std::string> notes = report.result.notes;
  notes.insert(notes.end(), timeline.notes.begin(), timeline.notes.end());
  Json data{{"answer", report.result.answer},
            {"findings", findings_json(report, timeline)},
            {"tables", std::move(tables)},
            {"notes", std::move(notes)}};
  PageSection section{"trace", std::move(title), std::move(data), {}};
  // As text: as values of JSON it would be several times as large.
  section.texts.emplace_back("timeline", trace::timeline_json(timeline));
  return section;
}

}  // namespace headroom
