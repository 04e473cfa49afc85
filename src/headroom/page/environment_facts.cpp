// SPDX-License-Identifier: Apache-2.0
#include "headroom/page/environment_facts.h"

#include <algorithm>
#include <set>
#include <string>

#include "headroom/base/text.h"
#include "headroom/record/environment_sources.h"

namespace headroom {
namespace {

/// What is longer is data of an instrument, which shows it itself.
constexpr std::size_t kLongest = 2'000;

class Facts {
 public:
  void add(const std::string& name, const std::string& value) {
    if (!value.empty() && value.size() <= kLongest) list_.push_back(Json::array({Json(name), Json(value)}));
  }
  void add(const std::string& name, std::uint32_t count) {
    if (count > 0) add(name, std::to_string(count));
  }
  Json json() && { return std::move(list_); }

 private:
  Json list_ = Json::array();
};

void add_machine(Facts& facts, const Environment::Runner& machine) {
  facts.add("processor", machine.cpu_info);
  facts.add("CPUs", machine.cpu_count);
  facts.add("memory", machine.mem_info);
  facts.add("GPU", machine.gpu_info);
  facts.add("GPUs", machine.gpu_count);
  facts.add("memory of a GPU", machine.gpu_mem_info);
  for (const auto& [key, value] : machine.extra_info) facts.add(key, value);
}

}  // namespace

Json environment_facts(const Environment& environment) {
  Facts facts;
  facts.add("machine", environment.fingerprint);
  for (const Environment::Runner& machine : environment.machines) add_machine(facts, machine);
  facts.add("governor", environment.governor);
  facts.add("headroom", environment.headroom_version);
  add_sources(facts, environment);
  for (const auto& [key, value] : environment.extra_info) {
    if (!is_shown_run(key)) facts.add(key, value);
  }
  return std::move(facts).json();
}

std::vector<const Environment*> environments_of(const std::vector<Record>& records) {
  std::vector<const Environment*> all;
  for (const Record& record : records) {
    const bool is_new = record.environment && std::ranges::find(all, record.environment.get()) == all.end();
    if (is_new) all.push_back(record.environment.get());
  }
  return all;
}

Json run_json(const std::vector<Record>& records) {
  std::set<std::string> machines;
  const Environment* first = nullptr;
  for (const Record& record : records) {
    if (!record.environment) continue;
    if (first == nullptr) first = record.environment.get();
    machines.insert(record.environment->fingerprint);
  }
  if (first == nullptr) return {{"machines", 0}};
  const std::string processor = first->machines.empty() ? "" : first->machines.front().cpu_info;
  return {{"when", first->timestamp > 0 ? Json(first->timestamp) : Json(nullptr)},
          {"machine", first->fingerprint},
          {"processor", processor},
          {"command", join(first->command, " ")},
          {"revision", first->git_sha},
          {"version", first->headroom_version},
          {"machines", machines.size()}};
}

}  // namespace headroom
