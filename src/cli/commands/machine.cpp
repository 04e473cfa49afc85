// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "cli/commands/machine_devices.h"
#include "cli/commands/machine_sweep_text.h"
#include "cli/shared/busy_warning.h"
#include "cli/shared/interrupt.h"
#include "cli/shared/known_runners.h"
#include "cli/shared/machine_sweep.h"
#include "cli/shared/option_table.h"
#include "cli/shared/print_table.h"
#include "cli/shared/say.h"
#include "cli/shared/terminal_progress.h"
#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/experiment/process_counters.h"
#include "headroom/machine/fingerprint.h"
#include "headroom/machine/memory.h"
#include "headroom/machine/topology.h"
#include "headroom/process/affinity.h"
#include "headroom/record/formats.h"
#include "headroom/report/run_sheet.h"
#include "headroom/schedule/session.h"

namespace headroom::cli {
namespace {

struct MachineOptions {
  bool quick = false, topology_only = false, stored = false;
  int threads = 0;
  std::string json;
};

std::string topology_text(const Topology& topology, const std::string& fingerprint) {
  std::string text = fingerprint + "\n";
  text += fmt::format("  {}\n  {} cores, {} hardware threads, {} packages, {} NUMA nodes, {} of memory\n",
                      topology.cpu_model, topology.cores, topology.processing_units, topology.packages,
                      topology.numa_nodes, format_bytes(static_cast<double>(total_memory_bytes())));
  for (const Cache& cache : topology.caches) {
    text += fmt::format("  L{} {}: {} x {}\n", cache.level, cache.type, cache.instances,
                        format_bytes(static_cast<double>(cache.bytes)));
  }
  text += fmt::format("  {}\n", join(topology.isa, " "));
  return text + fmt::format("  hardware counters: {}\n", ProcessCounters().text());
}

std::string topology_answer(const Topology& topology) {
  return fmt::format("{} cores, {} hardware threads, {} of memory: {}", topology.cores,
                     topology.processing_units, format_bytes(static_cast<double>(total_memory_bytes())),
                     topology.cpu_model);
}

std::vector<Record> measure(const MachineOptions& options, const Arguments& arguments,
                            const std::string& device_runner, const std::atomic<bool>& interrupted) {
  SessionRequest request;
  const std::string native = find_native_runner();
  if (native.empty())
    throw Error("headroom-native, which holds the limits, was not found beside this program or in PATH");
  RunnerCommand command;
  command.path = native;
  request.runners.push_back(command);
  if (!device_runner.empty()) {
    command.path = device_runner;
    request.runners.push_back(command);
  }
  request.stop.precision = 0.03;
  request.stop.min_samples = 10;
  request.stop.max_time_ns = options.quick ? 0.15e9 : 0.5e9;
  request.limits = false;
  request.processes = 1;
  std::vector<std::string> line{"headroom", "machine"};
  line.insert(line.end(), arguments.begin(), arguments.end());
  const int threads = options.threads > 0 ? options.threads : static_cast<int>(allowed_cpus().size());
  const auto busy = warn_when_busy(threads);
  Environment environment = read_environment(line);
  environment.extra_info["hardware_counters"] = ProcessCounters().text();
  Session session(request, std::make_shared<const Environment>(std::move(environment)), interrupted);
  std::vector<Record> records;
  TerminalProgress progress([&](std::vector<Record> finished) {
    note_busy(finished, busy);
    records.insert(records.end(), finished.begin(), finished.end());
  });
  session.run(sweep_groups(session.offers(), threads, options.quick), progress);
  return records;
}

MachineOptions parse(const Arguments& arguments, std::optional<ExitCode>& done) {
  MachineOptions options;
  OptionTable table(
      "Shows this machine: its topology, what its memory and its arithmetic reach, by working set.",
      "headroom machine");
  table.footer(
      "examples:\n  headroom machine                  measure (about a minute), show and store\n"
      "  headroom machine --quick          every other size, shorter\n"
      "  headroom machine --stored         show what was measured last, measure nothing\n"
      "  headroom machine --json peaks.json\n");
  table.add_flag("--quick", options.quick, "every other working set, at most 0.15 s a point");
  table.add_flag("--topology", options.topology_only, "only what the system says, without measuring");
  table.add_flag("--stored", options.stored, "show the last measurement of this machine");
  table.add_option("--threads", options.threads, "threads of the second column (default: all CPUs)")
      .range(1, 4096);
  table.add_option("--json", options.json,
                   "also write the records to this file ('-': to standard output alone)");
  table.add_no_follow();
  done = parse_arguments(table, arguments);
  if (options.topology_only && (options.stored || !options.json.empty())) {
    throw Error("--topology measures nothing: leave --stored and --json away, or --topology");
  }
  return options;
}

ExitCode show(const MachineOptions& options, const Arguments& arguments) {
  const bool json_alone = options.json == "-";
  const std::string json = json_alone ? "/dev/stdout" : options.json;
  std::FILE* const shown = json_alone ? stderr : stdout;
  if (!json.empty()) require_writable(json);
  const std::string fingerprint = machine_fingerprint();
  const Topology topology = read_topology();
  const std::atomic<bool>& interrupted = interrupt_flag();
  const MachineDevices devices = find_devices(interrupted);
  Sheet facts;
  facts.drawing(topology_text(topology, fingerprint) + devices_text(devices));
  if (options.topology_only) {
    print_sheet(Sheet().answer(topology_answer(topology)).append(facts), shown);
    return ExitCode::kFine;
  }

  const std::filesystem::path path = stored_sweep(fingerprint);
  std::vector<Record> records;
  if (options.stored) {
    if (!std::filesystem::exists(path))
      throw Error("this machine was not measured yet; run headroom machine once");
    records = read_records(path);
  } else {
    records = measure(options, arguments, devices.runner, interrupted);
    // A sweep that was cut short must not take the place of a whole one.
    if (!interrupted) write_records(path, format_named("headroom-json"), records);
  }
  if (!json.empty()) write_records(json, format_named("headroom-json"), records);
  const std::string gpu = devices.devices.empty() ? "" : devices.devices.front().name;
  std::vector<const Record*> measured;
  for (const Record& record : records) measured.push_back(&record);
  Sheet sheet;
  sheet.append(facts).append(sweep_sheet(sweep_points(records), gpu));
  answer_doubts(sheet, measured, "points");
  print_sheet(sheet, shown);
  if (interrupted) {
    say("interrupted; what was stored before is kept");
    return ExitCode::kInterrupted;
  }
  if (!options.stored) print_text(fmt::format("\nstored in {}\n", path.string()), shown);
  return ExitCode::kFine;
}

}  // namespace

ExitCode machine(const Arguments& arguments) {
  std::optional<ExitCode> done;
  const MachineOptions options = parse(arguments, done);
  if (done) return *done;
  try {
    return show(options, arguments);
  } catch (const Interrupted&) {
    say("interrupted before anything was measured");
    return ExitCode::kInterrupted;
  }
}

}  // namespace headroom::cli
