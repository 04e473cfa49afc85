// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/report/trace_json.h"

#include "headroom/record/codec.h"
#include "headroom/trace/report/trace_records.h"

namespace headroom {
namespace {

Json table_json(const trace::DataTable& table) {
  Json rows = Json::array();
  for (const std::vector<trace::Cell>& cells : table.rows) {
    Json row = Json::object();
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      row[table.columns[i].key] = i < cells.size() ? cell_json(cells[i]) : Json(nullptr);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

/// What the columns of a table are called, and the unit of their numbers.
Json columns_json(const trace::DataTable& table) {
  Json list = Json::array();
  for (const trace::Column& column : table.columns) {
    const bool is_number = column.kind != trace::Kind::kText;
    list.push_back({{"key", column.key},
                    {"title", column.title},
                    {"unit", is_number ? Json(trace_unit(column.kind)) : Json(nullptr)}});
  }
  return list;
}

Json headlines_json(const trace::AnalysisResult& result) {
  Json list = Json::array();
  for (const trace::Headline& headline : result.headlines) {
    Json entry{{"metric", headline.metric},
               {"unit", trace_unit(headline.kind)},
               {"lower_is_better", headline.lower_is_better},
               {"value", headline.value}};
    if (!headline.device.empty()) entry["device"] = headline.device;
    list.push_back(std::move(entry));
  }
  return list;
}

Json file_json(const trace::TraceFacts& facts) {
  Json problems = Json::array();
  for (const trace::Problem& problem : facts.problems.first) {
    problems.push_back({{"offset", problem.offset}, {"what", problem.what}});
  }
  Json file{{"file", facts.source},
            {"file_bytes", facts.file_bytes},
            {"json_bytes", facts.json_bytes},
            {"events", facts.events_seen},
            {"is_complete", facts.is_complete},
            {"problems", facts.problems.count},
            {"events_skipped", facts.problems.events_skipped},
            {"first_problems", std::move(problems)}};
  if (facts.rank) file["rank"] = *facts.rank;
  if (facts.world_size) file["world_size"] = *facts.world_size;
  Json devices = Json::array();
  for (const trace::DeviceProperties& device : facts.devices) {
    devices.push_back({{"device", device.id}, {"name", device.name}});
  }
  file["devices"] = std::move(devices);
  return file;
}

}  // namespace

Json cell_json(const trace::Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return *whole;
  if (const auto* number = std::get_if<double>(&cell)) return *number;
  return nullptr;
}

Json trace_json(const TraceReport& report) {
  Json files = Json::array();
  for (const trace::TraceFacts& facts : report.files) files.push_back(file_json(facts));
  Json tables = Json::object();
  Json columns = Json::object();
  for (const trace::DataTable& table : report.result.tables) {
    tables[table.key] = table_json(table);
    columns[table.key] = columns_json(table);
  }
  Json json{{"schema", 1},
            {"analysis", report.analysis},
            {"name", report.name},
            {"files", std::move(files)},
            {"headlines", headlines_json(report.result)},
            {"tables", std::move(tables)},
            {"columns", std::move(columns)},
            {"answer", report.result.answer},
            {"notes", report.result.notes}};
  if (report.ranks.empty()) return json;
  Json ranks = Json::array();
  for (const trace::RankResult& rank : report.ranks) {
    ranks.push_back({{"rank", rank.rank},
                     {"file", rank.source},
                     {"headlines", headlines_json(rank.result)},
                     {"notes", rank.result.notes}});
  }
  json["ranks"] = std::move(ranks);
  return json;
}

std::string trace_json_text(const TraceReport& report) {
  std::string text = to_json_text(trace_records(report));
  text.resize(text.rfind('}'));
  return text + ",\n\"trace\": " + dump_json_pretty(trace_json(report)) + "}\n";
}

}  // namespace headroom
