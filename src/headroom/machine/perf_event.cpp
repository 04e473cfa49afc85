// SPDX-License-Identifier: Apache-2.0
#include "headroom/machine/perf_event.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <iterator>
#include <string_view>
#include <system_error>

#include "headroom/base/text.h"
#include "headroom/machine/cpu_folder.h"

namespace headroom {
namespace {

class LinuxCounters final : public CounterKernel {
 public:
  int open(const CounterRequest& request) override {
    perf_event_attr attributes{};
    attributes.size = sizeof attributes;
    attributes.type = request.type;
    attributes.config = request.config[0];
    attributes.config1 = request.config[1];
    attributes.config2 = request.config[2];
    attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    // Group members follow their leader. If disabled, threads started later would inherit them disabled.
    const bool leads = request.leader < 0;
    attributes.disabled = leads ? 1 : 0;
    // Uncore units refuse per-thread options.
    const bool of_thread = request.cpu < 0;
    attributes.inherit = of_thread && request.descendants ? 1 : 0;
    attributes.enable_on_exec = request.from_exec ? 1 : 0;
    attributes.exclude_kernel = of_thread && request.user_space ? 1 : 0;
    attributes.exclude_hv = of_thread ? 1 : 0;
    const long file = ::syscall(SYS_perf_event_open, &attributes, of_thread ? request.thread : -1,
                                request.cpu, request.leader, PERF_FLAG_FD_CLOEXEC);
    return file < 0 ? -errno : static_cast<int>(file);
  }
  void start(int counter) override { ::ioctl(counter, PERF_EVENT_IOC_ENABLE, 0); }
  void stop(int counter) override { ::ioctl(counter, PERF_EVENT_IOC_DISABLE, 0); }
  std::optional<CounterReading> read(int counter) override {
    CounterReading reading;
    static_assert(sizeof reading == 3 * sizeof(std::uint64_t), "as read_format has the kernel write it");
    if (::read(counter, &reading, sizeof reading) != sizeof reading) return std::nullopt;
    return reading;
  }
  void close(int counter) override { ::close(counter); }
  std::vector<int> threads() override {
    std::vector<int> numbers;
    std::error_code error;
    for (std::filesystem::directory_iterator entry("/proc/self/task", error), end; !error && entry != end;
         entry.increment(error)) {
      if (const auto number = to_integer(entry->path().filename().native()))
        numbers.push_back(static_cast<int>(*number));
    }
    return numbers;
  }
};

using Traffic = ControllerEvent::Traffic;

constexpr double kMebibyte = 1024.0 * 1024;
/// A DDR burst fills a cache line.
constexpr double kBurstBytes = 64;

struct KnownEvent {
  Traffic traffic = Traffic::kBoth;
  const char* file = nullptr;   ///< file in the unit's events folder, with its scale; nullptr: use `terms`
  const char* terms = nullptr;  ///< of an unnamed event of kBurstBytes
};

struct ControllerKind {
  const char* unit;  ///< name without number
  std::vector<KnownEvent> events;
  const char* umask = nullptr;  ///< required content of the unit's format file; nullptr: any
};

/// The first kind with all events counts. Sources: arch/x86/events/intel/uncore_snb.c, uncore_snbep.c of
/// Linux; AMD, Processor Programming Reference, as in tools/perf/pmu-events/arch/x86/amdzen*: UMC CAS
/// commands (0x0a) and the DRAM channels of the data fabric (0x07, 0x47, ...).
const std::vector<ControllerKind>& known_kinds() {
  static const std::vector<ControllerKind> kKinds{
      {"uncore_imc", {{Traffic::kRead, "cas_count_read"}, {Traffic::kWrite, "cas_count_write"}}},
      {"uncore_imc",
       {{Traffic::kRead, "cas_count_read_sch0"},
        {Traffic::kRead, "cas_count_read_sch1"},
        {Traffic::kWrite, "cas_count_write_sch0"},
        {Traffic::kWrite, "cas_count_write_sch1"}}},
      {"uncore_imc", {{Traffic::kRead, "data_reads"}, {Traffic::kWrite, "data_writes"}}},
      {"uncore_imc_free_running", {{Traffic::kRead, "data_read"}, {Traffic::kWrite, "data_write"}}},
      {"amd_umc",
       {{Traffic::kRead, nullptr, "event=0x0a,rdwrmask=0x1"},
        {Traffic::kWrite, nullptr, "event=0x0a,rdwrmask=0x2"}}},
      {"amd_df",
       {{Traffic::kBoth, nullptr, "event=0x07,umask=0x38"},
        {Traffic::kBoth, nullptr, "event=0x47,umask=0x38"},
        {Traffic::kBoth, nullptr, "event=0x87,umask=0x38"},
        {Traffic::kBoth, nullptr, "event=0xc7,umask=0x38"},
        {Traffic::kBoth, nullptr, "event=0x107,umask=0x38"},
        {Traffic::kBoth, nullptr, "event=0x147,umask=0x38"},
        {Traffic::kBoth, nullptr, "event=0x187,umask=0x38"},
        {Traffic::kBoth, nullptr, "event=0x1c7,umask=0x38"}},
       "config:8-15"},
  };
  return kKinds;
}

std::optional<std::uint64_t> number_of(std::string_view text) {
  const int base = text.starts_with("0x") ? 16 : 10;
  if (base == 16) text.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// `layout`: "config1:0-7,32", lowest bit first. False if the value does not fit.
bool place_bits(std::uint64_t value, std::string_view layout, std::array<std::uint64_t, 3>& config) {
  const std::size_t colon = layout.find(':');
  if (colon == std::string_view::npos) return false;
  const std::string_view word = layout.substr(0, colon);
  const std::size_t index = word == "config" ? 0 : word == "config1" ? 1 : word == "config2" ? 2 : 3;
  const std::vector<int> bits = parse_cpu_list(layout.substr(colon + 1));
  if (index > 2 || bits.empty() || std::ranges::max(bits) > 63) return false;
  for (const int bit : bits) {
    config.at(index) |= (value & 1U) << bit;
    value >>= 1U;
  }
  return value == 0;
}

/// True for "uncore_imc" and "uncore_imc_12" of kind "uncore_imc".
bool is_of_kind(std::string_view unit, std::string_view kind) {
  if (!unit.starts_with(kind)) return false;
  const std::string_view rest = unit.substr(kind.size());
  return rest.empty() || (rest.size() > 1 && rest[0] == '_' && std::ranges::all_of(rest.substr(1), is_digit));
}

std::optional<double> bytes_per_count(const std::filesystem::path& file) {
  const auto scale = to_number(read_file_value(file.native() + ".scale"));
  if (!scale || !(*scale > 0) || read_file_value(file.native() + ".unit") != "MiB") return std::nullopt;
  return *scale * kMebibyte;
}

/// Empty if an event is missing.
std::vector<ControllerEvent> events_of(const std::filesystem::path& unit, const ControllerKind& kind) {
  const auto type = to_integer(read_file_value(unit / "type"));
  const std::vector<int> cpus = parse_cpu_list(read_file_or_empty(unit / "cpumask"));
  if (!type || *type < 0 || cpus.empty()) return {};
  if (kind.umask != nullptr && read_file_value(unit / "format" / "umask") != kind.umask) return {};
  std::vector<ControllerEvent> events;
  for (const KnownEvent& known : kind.events) {
    ControllerEvent event;
    event.unit = unit.filename();
    event.type = static_cast<std::uint32_t>(*type);
    event.traffic = known.traffic;
    std::string terms = known.terms == nullptr ? "" : known.terms;
    std::optional<double> bytes = kBurstBytes;
    if (known.file != nullptr) {
      const std::filesystem::path file = unit / "events" / known.file;
      terms = read_file_value(file);
      bytes = bytes_per_count(file);
    }
    if (terms.empty() || !bytes || !encode_event(terms, unit / "format", event.config)) return {};
    event.bytes_per_count = *bytes;
    for (const int cpu : cpus) {
      event.cpu = cpu;
      events.push_back(event);
    }
  }
  return events;
}

}  // namespace

std::string perf_event_absence(int error) {
  switch (error) {
    case ENOENT:
    case ENODEV:
    case EOPNOTSUPP:
      return "this machine does not offer them (virtual machines often do not)";
    case EACCES:
    case EPERM:
      return "not permitted; lower /proc/sys/kernel/perf_event_paranoid to 2 or less";
    case ENOSYS:
      return "this kernel has no perf_event_open";
    default:
      return std::strerror(error);
  }
}

std::optional<double> CounterReading::whole() const {
  if (running_ns == 0) return std::nullopt;
  return static_cast<double>(count) * (static_cast<double>(enabled_ns) / static_cast<double>(running_ns));
}

CounterKernel& linux_counters() {
  static LinuxCounters kernel;  // stateless
  return kernel;
}

bool CountableEvents::any() const {
  return std::ranges::find(available, true) != available.end();
}

CounterRequest CountableEvents::request(std::size_t event) const {
  return {.type = events[event].type, .config = {events[event].config, 0, 0}, .user_space = user_space};
}

CountableEvents countable_events(CounterKernel& kernel, std::span<const CounterEvent> events) {
  CountableEvents countable{{events.begin(), events.end()}, {}, false, {}};
  const auto error_of = [&](std::size_t event) {
    const int counter = kernel.open(countable.request(event));
    if (counter >= 0) kernel.close(counter);
    return std::max(-counter, 0);
  };
  for (std::size_t i = 0; i < events.size(); ++i) {
    int error = error_of(i);
    if ((error == EACCES || error == EPERM) && !countable.user_space) {
      countable.user_space = true;
      error = error_of(i);
      countable.user_space = error == 0;
    }
    countable.available.push_back(error == 0);
    if (error != 0 && countable.absence.empty()) countable.absence = perf_event_absence(error);
  }
  return countable;
}

InstructionCounter::InstructionCounter()
    : counter_(linux_counters().open({.type = PERF_TYPE_HARDWARE,
                                      .config = {PERF_COUNT_HW_INSTRUCTIONS, 0, 0},
                                      .user_space = true,
                                      .descendants = false})) {
  if (counter_ >= 0) linux_counters().start(counter_);
}

InstructionCounter::~InstructionCounter() {
  if (counter_ >= 0) linux_counters().close(counter_);
}

std::optional<double> InstructionCounter::read() const {
  const auto reading = linux_counters().read(counter_);
  // Multiplexed counts are too inexact for so little code.
  if (!reading || reading->running_ns != reading->enabled_ns) return std::nullopt;
  return reading->whole();
}

bool encode_event(const std::string& terms, const std::filesystem::path& format,
                  std::array<std::uint64_t, 3>& config) {
  for (const std::string& term : split(terms, ',')) {
    const std::size_t equals = term.find('=');
    const std::string name(trimmed(term.substr(0, equals)));
    // A term without a value means 1 (Documentation/ABI/testing/sysfs-bus-event_source-devices-events).
    const auto value =
        equals == std::string::npos ? std::uint64_t{1} : number_of(trimmed(term).substr(equals + 1));
    if (name.empty() || name.find('/') != std::string::npos || !value) return false;
    if (!place_bits(*value, read_file_value(format / name), config)) return false;
  }
  return true;
}

std::vector<ControllerEvent> memory_controllers(const std::filesystem::path& devices) {
  std::vector<std::filesystem::path> units;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(devices, error), end; !error && entry != end;
       entry.increment(error)) {
    units.push_back(entry->path());
  }
  std::ranges::sort(units);
  for (const ControllerKind& kind : known_kinds()) {
    std::vector<ControllerEvent> all;
    for (const std::filesystem::path& unit : units) {
      if (!is_of_kind(unit.filename().native(), kind.unit)) continue;
      std::ranges::move(events_of(unit, kind), std::back_inserter(all));
    }
    if (!all.empty()) return all;
  }
  return {};
}

}  // namespace headroom
