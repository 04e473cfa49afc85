// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/environment_json.h"

#include "headroom/record/json_fields.h"

namespace headroom::record_json {

Environment::Runner read_machine(const Json& object, const std::string& where) {
  Environment::Runner machine;
  machine.name = json_string_or(object, "name", "", where);
  machine.type = json_string_or(object, "type", "", where);
  machine.cpu_info = json_string_or(object, "cpu_info", "", where);
  machine.cpu_count = read_whole_member<std::uint32_t>(object, "cpu_count", where);
  machine.mem_info = json_string_or(object, "mem_info", "", where);
  machine.avail_mem_in_gb = read_whole_member<std::uint32_t>(object, "avail_mem_in_gb", where);
  machine.gpu_info = json_string_or(object, "gpu_info", "", where);
  machine.gpu_count = read_whole_member<std::uint32_t>(object, "gpu_count", where);
  machine.gpu_mem_info = json_string_or(object, "gpu_mem_info", "", where);
  machine.avail_gpu_mem_in_gb = read_whole_member<std::uint32_t>(object, "avail_gpu_mem_in_gb", where);
  machine.extra_info = read_string_map(object, "extra_info", where);
  return machine;
}

Environment::Dependency read_dependency(const Json& object, const std::string& where) {
  Environment::Dependency dependency;
  dependency.repo = json_string_or(object, "repo", "", where);
  dependency.branch = json_string_or(object, "branch", "", where);
  dependency.sha = json_string_or(object, "sha", "", where);
  dependency.version = json_string_or(object, "version", "", where);
  dependency.extra_info = read_string_map(object, "extra_info", where);
  return dependency;
}

Json write_machine(const Environment::Runner& machine) {
  return {{"name", machine.name},
          {"type", machine.type},
          {"cpu_info", machine.cpu_info},
          {"cpu_count", machine.cpu_count},
          {"mem_info", machine.mem_info},
          {"avail_mem_in_gb", machine.avail_mem_in_gb},
          {"gpu_info", machine.gpu_info},
          {"gpu_count", machine.gpu_count},
          {"gpu_mem_info", machine.gpu_mem_info},
          {"avail_gpu_mem_in_gb", machine.avail_gpu_mem_in_gb},
          {"extra_info", machine.extra_info}};
}

Json write_dependencies(const Environment& environment) {
  Json dependencies = Json::object();
  for (const auto& [name, dependency] : environment.dependencies) {
    dependencies[name] = {{"repo", dependency.repo},
                          {"branch", dependency.branch},
                          {"sha", dependency.sha},
                          {"version", dependency.version},
                          {"extra_info", dependency.extra_info}};
  }
  return dependencies;
}

Json write_environment(const Environment& environment) {
  Json machines = Json::array();
  for (const Environment::Runner& machine : environment.machines) machines.push_back(write_machine(machine));
  return {{"timestamp", environment.timestamp},
          {"session", environment.session},
          {"fingerprint", environment.fingerprint},
          {"governor", environment.governor},
          {"headroom_version", environment.headroom_version},
          {"git_sha", environment.git_sha},
          {"git_branch", environment.git_branch},
          {"git_repo", environment.git_repo},
          {"command", environment.command},
          {"machines", std::move(machines)},
          {"dependencies", write_dependencies(environment)},
          {"extra_info", environment.extra_info}};
}

Environment read_environment_json(const Json& object, const std::string& where) {
  Environment environment;
  environment.timestamp = read_whole_member<std::uint64_t>(object, "timestamp", where);
  environment.session = json_string_or(object, "session", "", where);
  environment.fingerprint = json_string_or(object, "fingerprint", "", where);
  environment.governor = json_string_or(object, "governor", "", where);
  environment.headroom_version = json_string_or(object, "headroom_version", "", where);
  environment.git_sha = json_string_or(object, "git_sha", "", where);
  environment.git_branch = json_string_or(object, "git_branch", "", where);
  environment.git_repo = json_string_or(object, "git_repo", "", where);
  environment.command = read_strings(object, "command", where);
  if (optional_member(object, "machines", where) != nullptr) {
    for (const Json& machine : json_array(object, "machines", where)) {
      environment.machines.push_back(
          read_machine(machine, where + "/machines/" + std::to_string(environment.machines.size())));
    }
  }
  if (const Json* dependencies = optional_member(object, "dependencies", where)) {
    if (!dependencies->is_object()) refuse(where, "dependencies", "expected an object");
    for (const auto& [name, dependency] : dependencies->items()) {
      environment.dependencies[name] = read_dependency(dependency, where + "/dependencies/" + name);
    }
  }
  environment.extra_info = read_string_map(object, "extra_info", where);
  return environment;
}

}  // namespace headroom::record_json
