// SPDX-License-Identifier: Apache-2.0
// rocprofv3 --output-format json (generateJSON.cpp of the ROCprofiler SDK). Records refer to tables, which
// mostly precede them.

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom_trace/formats/formats.h"
#include "headroom_trace/json/json_text.h"
#include "headroom_trace/json/text_feed.h"

namespace headroom::trace::readers {
namespace {

struct Agent {
  std::int64_t number = -1;  ///< index among the GPUs; -1: a CPU
};

struct RocprofProcess {
  std::string pid = "0";
  std::unordered_map<std::int64_t, Agent> agents;
  std::vector<std::vector<std::string>> operations;
  std::unordered_map<std::int64_t, std::string> kernels, markers;
  Json devices = Json::array();  ///< as deviceProperties
  std::int64_t gpus = 0;
};

std::int64_t handle_at(const Json& object, std::string_view key) {
  return integer_at(member_at(object, key), "handle");
}

class RocprofReader {
 public:
  RocprofReader(FormatInput& input, EventSink& events) : input_(input), events_(events) {}

  void read() {
    if (input_.again) read_processes(*input_.again(), true, false);
    read_processes(input_.bytes, !input_.again, true);
  }

 private:
  void read_processes(ByteSource& source, bool takes_tables, bool takes_records);

  void read_table(JsonDescent& json, const std::string& key, RocprofProcess& process) {
    if (key == "metadata") {
      if (const auto metadata = json.take()) process.pid = std::to_string(integer_at(*metadata, "pid", 0));
    } else if (key == "agents") {
      json.array([&] {
        if (const auto agent = json.take()) take_agent(*agent, process);
      });
    } else if (key == "strings") {
      read_texts(json, process);
    } else if (key == "kernel_symbols") {
      json.array([&] {
        const auto symbol = json.take();
        if (!symbol) return;
        for (const char* name : {"formatted_kernel_name", "demangled_kernel_name", "kernel_name"}) {
          const std::string_view text = text_at(*symbol, name);
          if (text.empty()) continue;
          process.kernels.emplace(integer_at(*symbol, "kernel_id"), text);
          break;
        }
      });
    }
  }
  void read_texts(JsonDescent& json, RocprofProcess& process);

  void take_agent(const Json& agent, RocprofProcess& process) {
    constexpr std::int64_t kGpu = 2;
    if (integer_at(agent, "type") != kGpu) return;
    const std::int64_t number = process.gpus++;
    process.agents[handle_at(agent, "id")] = {number};
    const std::string_view product = text_at(agent, "product_name");
    const std::int64_t wave = integer_at(agent, "wave_front_size", 64),
                       waves = integer_at(agent, "max_waves_per_cu", 0);
    Json device = {{"id", number},
                   {"name", product.empty() ? text_at(agent, "name") : product},
                   {"numSms", integer_at(agent, "cu_count", 0)},
                   {"warpSize", wave}};
    if (wave > 0 && wave <= 1024 && waves > 0 && waves <= 1024)
      device["maxThreadsPerMultiprocessor"] = wave * waves;
    process.devices.push_back(std::move(device));
  }

  void read_records(JsonDescent& json, const RocprofProcess& process) {
    json.object([&](const std::string& domain) {
      json.array([&] {
        const std::uint64_t offset = json.offset();
        const auto record = json.take();
        if (record) return take_record(domain, *record, process, offset);
        events_.skip(offset, fmt::format("a record of {} cannot be read: {}", quote(domain), json.problem()));
      });
    });
  }

  void take_record(const std::string& domain, const Json& record, const RocprofProcess& process,
                   std::uint64_t offset) {
    constexpr std::int64_t kNone = -kMaxNs - 1;
    offset_ = offset;
    arguments_.clear();
    const bool has_time =
        integer_at(record, "start_timestamp", kNone) >= 0 &&
        integer_at(record, "end_timestamp", kNone) >= integer_at(record, "start_timestamp", kNone) &&
        integer_at(record, "end_timestamp", kNone) <= kMaxNs;
    const bool is_call =
        domain == "hip_api" || domain == "hsa_api" || domain == "marker_api" || domain == "rccl_api";
    if (domain != "kernel_dispatch" && domain != "memory_copy" && !is_call)
      return events_.count_without_columns();
    if (!has_time) return events_.skip(offset, "a record with an invalid start or end");
    if (domain == "kernel_dispatch") return add_kernel(record, process);
    if (domain == "memory_copy") return add_copy(record, process);
    add_call(domain == "hip_api"      ? Category::kRuntime
             : domain == "hsa_api"    ? Category::kDriver
             : domain == "marker_api" ? Category::kUserAnnotation
                                      : Category::kCpuOp,
             record, process);
  }

  void add_kernel(const Json& record, const RocprofProcess& process) {
    const Json& info = member_at(record, "dispatch_info");
    const auto kernel = process.kernels.find(integer_at(info, "kernel_id"));
    std::string name = kernel == process.kernels.end() ? std::string() : kernel->second;
    if (name.empty()) {
      events_.problem(offset_, "a kernel whose name is not in the file");
      name = fmt::format("kernel {}", integer_at(info, "kernel_id"));
    }
    const Json &grid = member_at(info, "grid_size"), &group = member_at(info, "workgroup_size");
    if (grid.is_object() && group.is_object()) {
      // Converts work-items to groups.
      const auto groups = [&](const char* axis) {
        const std::int64_t size = std::max<std::int64_t>(integer_at(group, axis), 1);
        return std::max<std::int64_t>(integer_at(grid, axis), 0) / size +
               (integer_at(grid, axis) % size > 0 ? 1 : 0);
      };
      arguments_.add(Argument::kGrid, {groups("x"), groups("y"), groups("z")});
      arguments_.add(Argument::kBlock,
                     {integer_at(group, "x"), integer_at(group, "y"), integer_at(group, "z")});
    }
    add_work(Category::kKernel, name, handle_at(info, "agent_id"), record, process);
  }

  void add_copy(const Json& record, const RocprofProcess& process) {
    const std::int64_t bytes = integer_at(record, "bytes");
    const std::int64_t length = integer_at(record, "end_timestamp") - integer_at(record, "start_timestamp");
    if (bytes >= 0) arguments_.add(Argument::kBytes, bytes);
    if (bytes >= 0 && length > 0)
      arguments_.add(Argument::kBandwidth, static_cast<double>(bytes) / static_cast<double>(length));
    const std::int64_t to = handle_at(record, "dst_agent_id"), from = handle_at(record, "src_agent_id");
    add_work(Category::kGpuMemcpy, operation_of(record, process), process.agents.contains(to) ? to : from,
             record, process);
  }
  void add_call(Category category, const Json& record, const RocprofProcess& process);
  void add_work(Category category, std::string_view name, std::int64_t agent, const Json& record,
                const RocprofProcess& process);

  std::string operation_of(const Json& record, const RocprofProcess& process) const {
    const std::int64_t kind = integer_at(record, "kind"), operation = integer_at(record, "operation");
    if (kind >= 0 && static_cast<std::size_t>(kind) < process.operations.size()) {
      const auto& names = process.operations[static_cast<std::size_t>(kind)];
      if (operation >= 0 && static_cast<std::size_t>(operation) < names.size())
        return names[static_cast<std::size_t>(operation)];
    }
    return fmt::format("operation {} of kind {}", operation, kind);
  }

  FormatInput& input_;
  EventSink& events_;
  std::vector<RocprofProcess> processes_;
  std::unordered_set<std::string> named_;
  EventArguments arguments_;
  std::uint64_t offset_ = 0;
};

void RocprofReader::read_processes(ByteSource& source, bool takes_tables, bool takes_records) {
  JsonDescent json(source);
  std::size_t at = 0;
  json.object([&](const std::string& name) {
    if (name != "rocprofiler-sdk-tool") return;
    json.array([&] {
      if (takes_tables) processes_.emplace_back();
      if (at >= processes_.size()) return;
      RocprofProcess& process = processes_[at++];
      if (takes_records && !process.devices.empty())
        events_.member("deviceProperties", process.devices, json.offset());
      json.object([&](const std::string& key) {
        if (takes_tables) read_table(json, key, process);
        if (takes_records && key == "buffer_records") read_records(json, process);
        if (takes_records) events_.progress(source.done(), source.size());
      });
    });
  });
  if (!takes_records) return;
  if (!json.damage().empty()) events_.cut_off(json.offset(), json.damage());
  events_.finish(json.offset());
}

void RocprofReader::read_texts(JsonDescent& json, RocprofProcess& process) {
  json.object([&](const std::string& key) {
    if (key == "buffer_records") {
      json.array([&] {
        std::vector<std::string>& names = process.operations.emplace_back();
        const auto kind = json.take();
        if (!kind || !member_at(*kind, "operations").is_array()) return;
        for (const Json& name : member_at(*kind, "operations"))
          names.push_back(name.is_string() ? name.string() : "");
      });
    } else if (key == "marker_api") {
      json.array([&] {
        if (const auto marker = json.take())
          process.markers.emplace(integer_at(*marker, "key"), text_at(*marker, "value"));
      });
    }
  });
}

void RocprofReader::add_work(Category category, std::string_view name, std::int64_t agent, const Json& record,
                             const RocprofProcess& process) {
  const auto found = process.agents.find(agent);
  const std::int64_t device = found == process.agents.end() ? -1 : found->second.number;
  std::int64_t stream = handle_at(record, "stream_id");
  if (stream < 0) stream = handle_at(member_at(record, "dispatch_info"), "queue_id");
  const std::string pid = std::to_string(device), tid = std::to_string(stream);
  if (named_.insert(pid).second) events_.name_process(pid, "HIP", "GPU " + pid);
  if (named_.insert(pid + ' ' + tid).second) events_.name_thread({pid, tid}, "stream " + tid);
  arguments_.add(Argument::kDevice, device);
  arguments_.add(Argument::kStream, stream);
  arguments_.add(Argument::kCorrelation, integer_at(member_at(record, "correlation_id"), "internal"));
  events_.add({.category = category,
               .name = name,
               .place = {pid, tid},
               .start_ns = integer_at(record, "start_timestamp"),
               .duration_ns = integer_at(record, "end_timestamp") - integer_at(record, "start_timestamp"),
               .arguments = arguments_,
               .offset = offset_});
}

void RocprofReader::add_call(Category category, const Json& record, const RocprofProcess& process) {
  if (!events_.wants(category)) return events_.count_unneeded();
  const std::int64_t correlation = integer_at(member_at(record, "correlation_id"), "internal");
  std::string name = operation_of(record, process);
  if (category == Category::kUserAnnotation) {
    if (const auto marker = process.markers.find(correlation); marker != process.markers.end())
      name = marker->second;
  }
  arguments_.add(Argument::kCorrelation, correlation);
  const std::string thread = std::to_string(integer_at(record, "thread_id", 0));
  events_.add({.category = category,
               .name = name,
               .place = {process.pid, thread},
               .start_ns = integer_at(record, "start_timestamp"),
               .duration_ns = integer_at(record, "end_timestamp") - integer_at(record, "start_timestamp"),
               .arguments = arguments_,
               .offset = offset_});
}

bool is_rocprof(std::string_view first) {
  const std::size_t at = first.find_first_not_of(" \t\r\n");
  if (at == first.npos || first[at] != '{') return false;
  const std::size_t key = first.find_first_not_of(" \t\r\n", at + 1);
  return key != first.npos && first.substr(key).starts_with("\"rocprofiler-sdk-tool\"");
}

void read_rocprof(FormatInput& input, EventSink& events) {
  RocprofReader(input, events).read();
}

}  // namespace

namespace format {

extern const FileFormat rocprofv3{"rocprofv3's JSON", is_rocprof, read_rocprof, Writer::kRocprof};

}  // namespace format
}  // namespace headroom::trace::readers
