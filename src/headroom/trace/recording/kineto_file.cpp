// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/recording/kineto_file.h"

#include <utility>

namespace headroom::trace {

KinetoFile::KinetoFile(const std::filesystem::path& file, const KinetoHead& head) : writer_(file) {
  Json json{{"schemaVersion", 1},         {"deviceProperties", head.device_properties},
            {"displayTimeUnit", "ms"},    {"baseTimeNanoseconds", head.base_unix_ns},
            {"traceName", file.string()}, {"recorded_by", head.recorded_by}};
  json.update(head.further_members);
  // The events follow the other members, as in Kineto's files: a tool that looks for the rank reads no
  // further.
  std::string text = dump_json(json);
  text.back() = ',';
  writer_.write(text + "\n\"traceEvents\":[\n");
}

void KinetoFile::describe(const char* what, std::int64_t process, std::int64_t thread, Json arguments) {
  add({{"ph", "M"},
       {"name", what},
       {"pid", process},
       {"tid", thread},
       {"ts", 0},
       {"args", std::move(arguments)}});
}

void KinetoFile::name_process(std::int64_t process, const std::string& name) {
  describe("process_name", process, 0, {{"name", name}});
}

void KinetoFile::label_process(std::int64_t process, const std::string& labels) {
  describe("process_labels", process, 0, {{"labels", labels}});
}

void KinetoFile::name_thread(std::int64_t process, std::int64_t thread, const std::string& name) {
  describe("thread_name", process, thread, {{"name", name}});
}

void KinetoFile::place_process(std::int64_t process, std::int64_t sort_index) {
  describe("process_sort_index", process, 0, {{"sort_index", sort_index}});
}

void KinetoFile::place_thread(std::int64_t process, std::int64_t thread, std::int64_t sort_index) {
  describe("thread_sort_index", process, thread, {{"sort_index", sort_index}});
}

void KinetoFile::add(const Json& event) {
  writer_.write((is_first_ ? "" : ",\n") + dump_json(event));
  is_first_ = false;
}

void KinetoFile::finish() {
  writer_.write("\n]}\n");
  writer_.finish();
}

Json complete_event(const char* category, const std::string& name, KinetoPlace place, std::int64_t start_ns,
                    std::int64_t duration_ns, Json arguments) {
  return {{"ph", "X"},
          {"cat", category},
          {"name", name},
          {"pid", place.process},
          {"tid", place.thread},
          {"ts", static_cast<double>(start_ns) / 1e3},
          {"dur", static_cast<double>(duration_ns) / 1e3},
          {"args", std::move(arguments)}};
}

std::string step_name(std::size_t step) {
  return "ProfilerStep#" + std::to_string(step);
}

}  // namespace headroom::trace
