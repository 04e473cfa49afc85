// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "headroom/base/file_writer.h"
#include "headroom/base/json.h"

namespace headroom::trace {

/// What a trace says before its events.
struct KinetoHead {
  std::int64_t base_unix_ns = 0;           ///< from which the events' times count
  std::string recorded_by;                 ///< program and engine, with versions
  Json device_properties = Json::array();  ///< one object for each device, as Kineto writes them
  Json further_members = Json::object();   ///< beside the members that every trace has
};

/// A trace file in the form that PyTorch's Kineto writes ("traceEvents" of the Trace Event Format, times in
/// microseconds), which `headroom trace`, Perfetto and Holistic Trace Analysis read. Packed where its name
/// ends in .gz or .zst. Whole or absent: without finish() there is no file. Functions throw Error, naming the
/// file.
class KinetoFile {
 public:
  KinetoFile(const std::filesystem::path& file, const KinetoHead& head);

  void name_process(std::int64_t process, const std::string& name);
  /// "CPU", "GPU 0"; by "GPU" in them PyTorch's compute_utilization knows the work of a device.
  void label_process(std::int64_t process, const std::string& labels);
  void name_thread(std::int64_t process, std::int64_t thread, const std::string& name);
  /// Viewers draw the lowest index first.
  void place_process(std::int64_t process, std::int64_t sort_index);
  void place_thread(std::int64_t process, std::int64_t thread, std::int64_t sort_index);
  void add(const Json& event);
  /// Once, after the last event.
  void finish();

 private:
  void describe(const char* what, std::int64_t process, std::int64_t thread, Json arguments);

  FileWriter writer_;
  bool is_first_ = true;
};

/// Where an event stands: a process and thread of the host, or a device and its stream.
struct KinetoPlace {
  std::int64_t process = 0, thread = 0;
};

/// An event with a duration; `start_ns` counts from the base of the trace.
Json complete_event(const char* category, const std::string& name, KinetoPlace place, std::int64_t start_ns,
                    std::int64_t duration_ns, Json arguments);

/// "ProfilerStep#3": what readers take for the fourth step.
std::string step_name(std::size_t step);

}  // namespace headroom::trace
