// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/machine_devices.h"

#include <fmt/format.h>

#include "cli/shared/known_runners.h"
#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/machine/gpu_files.h"
#include "headroom/schedule/runner_process.h"

namespace headroom::cli {
namespace {

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

}  // namespace

MachineDevices find_devices(const std::atomic<bool>& interrupted) {
  MachineDevices found;
  const std::string path = find_runner("headroom-cuda");
  if (path.empty()) {
    found.problem = "headroom-cuda, which knows more, is neither beside this program nor in PATH";
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

std::string devices_text(const MachineDevices& found) {
  std::string text;
  for (std::size_t index = 0; index < found.devices.size(); ++index)
    text += text_of(found.devices[index], index);
  if (!text.empty()) return text;
  const GpuFiles files = read_gpu_files();
  if (files.kinds.empty()) return "";
  const std::vector<std::string>& names = files.names.empty() ? files.kinds : files.names;
  text = fmt::format("  {} GPU{}: {}\n", names.size(), names.size() == 1 ? "" : "s", join(names, ", "));
  if (!found.problem.empty()) text += "    " + found.problem + "\n";
  return text;
}

}  // namespace headroom::cli
