// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/show.h"

#include <cstdio>
#include <iterator>

#include "cli/shared/diff_operand.h"
#include "cli/shared/max_memory.h"
#include "cli/shared/option_table.h"
#include "cli/shared/print_table.h"
#include "cli/shared/record_files.h"
#include "cli/shared/record_options.h"
#include "cli/shared/say.h"
#include "cli/shared/shown_records.h"
#include "headroom/history/store.h"

namespace headroom::cli {
namespace {

constexpr const char* kShowFooter =
    "Each RESULT is a file of results of any format that headroom reads, a folder of them, or a run of the\n"
    "history: @last, @ID (headroom history lists them), @git:REV; or @unfinished, what the newest command "
    "had\n"
    "measured that was killed before it ended.\n"
    "examples:\n"
    "  headroom show result.json             the table of a run that was kept\n"
    "  headroom show @last --markdown        the last run, for a report\n"
    "  headroom show pytest.json --json -    another tool's results as headroom's records, with samples";

}  // namespace

ExitCode show(const Arguments& arguments) {
  std::vector<std::string> operands;
  std::string json, oss, max_memory, store = default_store();
  bool markdown = false;
  OptionTable table("Shows results: of any tool, of a folder, of a run of the history.", "headroom show");
  table.footer(kShowFooter);
  table.add_option("RESULT", operands, "a file, a folder, or a run of the history")
      .completed_by(Completes::kRun)
      .required();
  table.add_flag("--markdown", markdown, "the tables in Markdown");
  declare_record_files(table, json, oss);
  table.add_option("--store", store, "history that runs are taken from").completed_by(Completes::kFile);
  declare_max_memory(table, max_memory);
  if (const auto done = parse_arguments(table, arguments)) return *done;
  const RecordFiles files(json, oss);
  std::vector<Record> records;
  for (const std::string& operand : operands) {
    OperandRecords found = records_of_operand(operand, store, max_memory);
    for (const std::string& warning : found.warnings) say_sentence(warning);
    std::ranges::move(found.records, std::back_inserter(records));
  }
  if (!files.uses_stdout()) print_sheet(shown_records(records), stdout, markdown);
  files.finish(records);
  return ExitCode::kFine;
}

}  // namespace headroom::cli
