// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/architecture.h"

namespace headroom {

std::string architecture(const Record& record) {
  const auto said = record.benchmark.extra_info.find("arch");
  if (said != record.benchmark.extra_info.end()) return said->second;
  if (!record.environment || record.environment->machines.empty()) return {};
  const Environment::Runner& machine = record.environment->machines.front();
  if (record.device.starts_with("cuda")) return machine.gpu_info;
  const auto arch = machine.extra_info.find("arch");
  if (arch != machine.extra_info.end()) return arch->second;
  // What Python's platform.machine() says, as PyTorch's benchmark has it: x86_64, aarch64.
  const auto uname = machine.extra_info.find("machine");
  return uname != machine.extra_info.end() ? uname->second : machine.type;
}

}  // namespace headroom
