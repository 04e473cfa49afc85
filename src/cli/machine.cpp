// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/measuring/machine_sweep.h"
#include "cli/measuring/progress.h"
#include "cli/measuring/runners.h"
#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/console/interrupt.h"
#include "headroom/console/option_table.h"
#include "headroom/console/output.h"
#include "headroom/console/program.h"
#include "headroom/environment/fingerprint.h"
#include "headroom/environment/processor.h"
#include "headroom/experiment/process_counters.h"
#include "headroom/experiment/registry.h"
#include "headroom/machine/memory.h"
#include "headroom/process/affinity.h"
#include "headroom/record/formats.h"
#include "headroom/record/metrics.h"
#include "headroom/report/run_view.h"
#include "headroom/report/text_plot.h"
#include "headroom/schedule/runner.h"
#include "headroom/schedule/session.h"
#include "headroom/tables/table.h"

namespace headroom::cli {
namespace {

struct MachineDevices {
  std::string runner;  ///< path; empty if missing or unusable
  std::vector<DeviceDescription> devices;
  std::string problem;  ///< why the runner is unusable
};

std::string text_of(const DeviceDescription& device, std::size_t index) {
  std::vector<std::string> chip{device.name.empty() ? "unnamed" : device.name};
  if (!device.compute_capability.empty()) chip.push_back("compute capability " + device.compute_capability);
  if (device.multiprocessors > 0) chip.push_back(fmt::format("{} multiprocessors", device.multiprocessors));
  if (device.l2_bytes > 0) {
    chip.push_back(format_bytes(static_cast<double>(device.l2_bytes)) + " of L2");
  }
  if (device.memory_bytes > 0) {
    chip.push_back(format_bytes(static_cast<double>(device.memory_bytes)) + " of memory");
  }
  std::vector<std::string> state;
  if (!device.driver.empty()) {
    state.push_back("driver " + device.driver + (device.cuda.empty() ? "" : " for CUDA " + device.cuda));
  }
  if (device.max_sm_mhz > 0) state.push_back(fmt::format("clocks up to {:g} MHz", device.max_sm_mhz));
  if (device.max_memory_mhz > 0) {
    state.push_back(fmt::format("memory {:g} MHz", device.max_memory_mhz) +
                    (device.memory_bus_bits > 0 ? fmt::format(" on {} bits", device.memory_bus_bits) : ""));
  }
  if (device.power_limit_w > 0) state.push_back(fmt::format("power limit {:g} W", device.power_limit_w));
  if (!device.ecc.empty()) state.push_back("ECC " + device.ecc);
  if (!device.mig.empty()) state.push_back("MIG " + device.mig);
  std::string text = fmt::format("  GPU {}: {}\n", index, join(chip, ", "));
  if (!state.empty()) text += "    " + join(state, ", ") + "\n";
  return text;
}

struct Bandwidth {
  const char* limit;
  const char* title;
  Priority priority;
};
constexpr Bandwidth kBandwidths[] = {{"read", "read", Priority::kFirst},
                                     {"write", "write", Priority::kNormal},
                                     {"zero_fill", "zero fill", Priority::kLast},
                                     {"copy", "copy", Priority::kFirst}};

/// "read 16t"; GPUs have no thread count.
std::string column_title(const std::string& what, int threads, bool on_cpu) {
  return on_cpu ? fmt::format("{} {}t", what, threads) : what;
}

struct SweepAxes {
  std::set<int> threads;
  std::set<std::int64_t> sizes;
  std::set<std::string> dtypes;
};

SweepAxes axes_of(const std::vector<SweepPoint>& points) {
  SweepAxes axes;
  for (const SweepPoint& point : points) {
    axes.threads.insert(point.threads);
    if (point.bytes > 0) axes.sizes.insert(point.bytes);
    if (!point.dtype.empty()) axes.dtypes.insert(point.dtype);
  }
  return axes;
}

/// The largest working set, and those below it by factors of at least four.
std::set<std::int64_t> shown_sizes(const std::set<std::int64_t>& sizes) {
  constexpr std::int64_t kFactor = 4;
  std::set<std::int64_t> shown;
  for (auto size = sizes.rbegin(); size != sizes.rend(); ++size) {
    if (shown.empty() || *size <= *shown.begin() / kFactor) shown.insert(*size);
  }
  return shown;
}

/// The points of a table: their rates are its cells.
class SweepCells {
 public:
  explicit SweepCells(const std::vector<SweepPoint>& points) : points_(points) {}

  std::string cell(const std::string& limit, int threads, std::int64_t bytes, const std::string& dtype) {
    for (const SweepPoint& point : points_) {
      if (point.limit != limit || point.threads != threads || point.bytes != bytes || point.dtype != dtype)
        continue;
      shown_.push_back(&point);
      return format_number(point.rate);
    }
    return "-";
  }

  /// "medians of 10 samples or more, 95 % intervals within ±3.2 %; 2 rates have too few samples for one".
  std::string precision() const {
    std::size_t samples = 0, without = 0;
    std::optional<double> widest;
    for (const SweepPoint* point : shown_) {
      samples = samples == 0 ? point->samples : std::min(samples, point->samples);
      if (point->spread) widest = std::max(widest.value_or(0), *point->spread);
      without += point->spread ? 0 : 1;
    }
    std::string text = fmt::format("  medians of {} or more", counted(samples, "sample"));
    if (widest) text += ", 95 % intervals within ±" + format_percent(*widest);
    if (without > 0)
      text += fmt::format("; {} {} too few samples for an interval", counted(without, "rate"),
                          without == 1 ? "has" : "have");
    return text + "\n";
  }

 private:
  const std::vector<SweepPoint>& points_;
  std::vector<const SweepPoint*> shown_;
};

void add_tables(View& view, const std::vector<SweepPoint>& points, const std::string& gpu) {
  const SweepAxes axes = axes_of(points);
  const std::set<std::int64_t> sizes = shown_sizes(axes.sizes);
  const bool on_cpu = gpu.empty();
  const std::string of = on_cpu ? "" : gpu + ": ", by = on_cpu ? ", by threads (t)" : "";
  Columns columns = Columns().right({"working set"}), peak_columns = Columns().left({"peak"});
  std::vector<std::pair<std::string, int>> measured;
  for (const int count : axes.threads) {
    for (const Bandwidth& bandwidth : kBandwidths) {
      if (std::ranges::find(points, bandwidth.limit, &SweepPoint::limit) == points.end()) continue;
      columns.priority(bandwidth.priority).right({column_title(bandwidth.title, count, on_cpu)});
      measured.emplace_back(bandwidth.limit, count);
    }
    peak_columns.right({on_cpu ? fmt::format("{}t", count) : "rate"});
  }
  Table bandwidth(columns), peaks(peak_columns);
  SweepCells rates(points), peak_rates(points);
  for (const std::int64_t bytes : sizes) {
    std::vector<std::string> row{format_bytes(static_cast<double>(bytes))};
    for (const auto& [limit, count] : measured) row.push_back(rates.cell(limit, count, bytes, ""));
    bandwidth.row(row);
  }
  for (const std::string& dtype : axes.dtypes) {
    std::vector<std::string> row{dtype};
    for (const int count : axes.threads) row.push_back(peak_rates.cell("peak", count, 0, dtype));
    peaks.row(row);
  }
  if (bandwidth.size() > 0) {
    view.title(of + "bandwidth in GB/s of the best access pattern" + by)
        .table(std::move(bandwidth))
        .notes(rates.precision());
  }
  if (sizes.size() < axes.sizes.size()) {
    view.notes(fmt::format("  {} of {} working sets; the plot has all, --json FILE also their patterns\n",
                           sizes.size(), axes.sizes.size()));
  }
  if (peaks.size() == 0) return;
  view.title(fmt::format("{}peaks in GFLOP/s (GOP/s for integers) of the best instruction{}", of, by))
      .table(std::move(peaks))
      .notes(peak_rates.precision());
}

std::string plot(const std::vector<SweepPoint>& points, bool on_cpu) {
  std::vector<PlotLine> lines;
  for (const SweepPoint& point : points) {
    if (point.bytes == 0) continue;
    const std::string name = on_cpu ? fmt::format("{} {}t", point.limit, point.threads) : point.limit;
    auto line = std::ranges::find(lines, name, &PlotLine::name);
    if (line == lines.end()) line = lines.insert(lines.end(), PlotLine{name, {}});
    line->points.emplace_back(static_cast<double>(point.bytes), point.rate);
  }
  return lines.empty() ? "" : line_plot(lines);
}

std::string rate_of(const SweepPoint& point, const char* unit) {
  return fmt::format("{} {}{}", format_number(point.rate), unit,
                     point.spread ? " ±" + format_percent(*point.spread) : "");
}

/// Adds the read bandwidth of the largest working set and the highest peak.
void answer_device(View& view, const std::vector<SweepPoint>& points, const std::string& device) {
  const SweepPoint *memory = nullptr, *peak = nullptr;
  for (const SweepPoint& point : points) {
    const bool is_larger = memory == nullptr || point.bytes > memory->bytes ||
                           (point.bytes == memory->bytes && point.threads > memory->threads);
    if (point.limit == "read" && is_larger) memory = &point;
    if (point.limit == "peak" && (peak == nullptr || point.rate > peak->rate)) peak = &point;
  }
  std::vector<std::string> parts;
  if (memory != nullptr) {
    parts.push_back(fmt::format("reads {} at {}", format_bytes(static_cast<double>(memory->bytes)),
                                rate_of(*memory, "GB/s")));
  }
  if (peak != nullptr) {
    parts.push_back("computes at most " + rate_of(*peak, operation_rate(peak->dtype)) + " in " + peak->dtype);
  }
  if (!parts.empty()) view.answer(device + " " + join(parts, ", "));
}

struct MachineOptions {
  bool quick = false, topology_only = false, stored = false;
  int threads = 0;
  std::string json;
};

std::string topology_text(const Topology& topology, const std::string& fingerprint) {
  std::string text = fingerprint + "\n";
  text += fmt::format("  {}\n  {}, {}, {}, {}, {} of memory\n", topology.cpu_model,
                      counted(topology.cores, "core"), counted(topology.processing_units, "hardware thread"),
                      counted(topology.packages, "package"), counted(topology.numa_nodes, "NUMA node"),
                      format_bytes(static_cast<double>(total_memory_bytes())));
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
    throw Error(
        "headroom-native, which measures the limits, not found next to this program or in PATH; build it "
        "with make build");
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
  const ProcessCounters counters;
  environment.options.counters = counters.scope();
  environment.options.no_counters = counters.absence();
  environment.extra_info["hardware_counters"] = counters.text();
  Session session(request, std::make_shared<const Environment>(std::move(environment)), interrupted);
  std::vector<Record> records;
  TerminalProgress progress([&](const std::vector<Record>& finished) {
    records.insert(records.end(), finished.begin(), finished.end());
  });
  session.run(sweep_groups(session.offers(), threads, options.quick), progress,
              [&](std::vector<Record>& finished) { note_busy(finished, busy); });
  return records;
}

MachineDevices find_devices(const std::atomic<bool>& interrupted) {
  MachineDevices found;
  const std::string path = find_program_of_ours("headroom-cuda");
  if (path.empty()) {
    found.problem = "no details of the GPU: headroom-cuda not found next to this program or in PATH";
    return found;
  }
  RunnerCommand command;
  command.path = path;
  try {
    RunnerProcess runner(command, interrupted);
    found.devices = runner.describe().devices;
    found.runner = path;
  } catch (const Error& error) {
    found.problem = error.what();
  } catch (const RunnerLost& lost) {
    found.problem = "headroom-cuda " + lost.reason;
  }
  return found;
}

/// Falls back to the system's files. Empty without a GPU.
std::string devices_text(const MachineDevices& found) {
  std::string text;
  for (std::size_t index = 0; index < found.devices.size(); ++index)
    text += text_of(found.devices[index], index);
  if (!text.empty()) return text;
  const GpuFiles files = read_gpu_files();
  if (files.kinds.empty()) return "";
  const std::vector<std::string>& names = files.names.empty() ? files.kinds : files.names;
  text = fmt::format("  {}: {}\n", counted(names.size(), "GPU"), join(names, ", "));
  if (!found.problem.empty()) text += "    " + found.problem + "\n";
  return text;
}

/// `gpu`: the device that is not the CPU; empty: "cuda".
View sweep_view(const std::vector<SweepPoint>& points, const std::string& gpu) {
  std::vector<std::string> devices;
  for (const SweepPoint& point : points) {
    if (std::ranges::find(devices, point.device) == devices.end()) devices.push_back(point.device);
  }
  if (devices.empty()) devices.emplace_back("cpu");
  View view;
  for (const std::string& device : devices) {
    std::vector<SweepPoint> own;
    std::ranges::copy_if(points, std::back_inserter(own),
                         [&](const SweepPoint& point) { return point.device == device; });
    const bool on_cpu = device == "cpu";
    const std::string name = on_cpu ? "" : gpu.empty() ? device : gpu;
    answer_device(view, own, on_cpu ? "this CPU" : name);
    add_tables(view, own, name);
    view.drawing(plot(own, on_cpu));
  }
  return view;
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
  View facts;
  facts.notes(topology_text(topology, fingerprint) + devices_text(devices), Tone::kPlain);
  if (options.topology_only) {
    print_view(View().answer(topology_answer(topology)).append(facts), shown);
    return ExitCode::kSuccess;
  }

  const std::filesystem::path path = stored_sweep(fingerprint);
  std::vector<Record> records;
  if (options.stored) {
    if (!std::filesystem::exists(path))
      throw Error("this machine has not been measured; run headroom machine first");
    records = read_records(path);
  } else {
    records = measure(options, arguments, devices.runner, interrupted);
    // A partial sweep must not replace a complete one.
    if (!interrupted) {
      make_folders_above(path);
      write_records(path, format_named("headroom-json"), records);
    }
  }
  if (!json.empty()) write_records(json, format_named("headroom-json"), records);
  const std::string gpu = devices.devices.empty() ? "" : devices.devices.front().name;
  std::vector<const Record*> measured;
  for (const Record& record : records) measured.push_back(&record);
  View view;
  view.append(facts).append(sweep_view(sweep_points(records), gpu));
  answer_doubts(view, measured, "points");
  print_view(view, shown);
  if (interrupted) {
    print_message("interrupted; the stored measurement is unchanged");
    return ExitCode::kInterrupted;
  }
  if (!options.stored) print_text(fmt::format("\nstored in {}\n", path.string()), shown);
  return ExitCode::kSuccess;
}

}  // namespace

OptionTable machine_options(Arguments& arguments) {
  OptionTable table("Show this machine: topology, caches, bandwidth by working set, and peaks.",
                    "headroom machine");
  auto& options = table.own<MachineOptions>();
  table.examples({{"headroom machine", "measure (about a minute), show and store"},
                  {"headroom machine --quick", "every other working set, shorter"},
                  {"headroom machine --stored", "show the last measurement, measure nothing"},
                  {"headroom machine --json peaks.json", ""}});
  table.add_flag("--quick", options.quick, "measure every other working set, at most 0.15 s per point");
  table.add_flag("--topology", options.topology_only, "show only the topology, without measuring");
  table.add_flag("--stored", options.stored, "show the last measurement of this machine");
  table.add_option("--threads", options.threads, "threads of the second column (default: all CPUs)")
      .range(1, 4096);
  table.add_option("--json", options.json,
                   "also write the records to this file ('-': only to standard output)");
  table.add_no_follow();
  table.finish([&options, arguments] {
    if (options.topology_only && (options.stored || !options.json.empty())) {
      throw Error("--topology conflicts with --stored and --json: it measures nothing");
    }
    try {
      return show(options, arguments);
    } catch (const Interrupted&) {
      print_message("interrupted before anything was measured");
      return ExitCode::kInterrupted;
    }
  });
  return table;
}

}  // namespace headroom::cli
