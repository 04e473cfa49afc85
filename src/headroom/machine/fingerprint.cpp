// SPDX-License-Identifier: Apache-2.0
#include "headroom/machine/fingerprint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <random>
#include <string_view>

#include "headroom/base/secrets.h"
#include "headroom/base/units.h"
#include "headroom/machine/cpu_folder.h"
#include "headroom/machine/cpuid.h"
#include "headroom/machine/git_state.h"
#include "headroom/machine/gpu_files.h"
#include "headroom/machine/memory.h"
#include "headroom/machine/microarchitecture.h"
#include "headroom/machine/noise.h"

namespace headroom {
namespace {

constexpr double kGibibyte = 1024.0 * 1024 * 1024;

std::uint32_t to_gibibytes(std::int64_t bytes) {
  return static_cast<std::uint32_t>(std::lround(static_cast<double>(bytes) / kGibibyte));
}

/// FNV-1a of 64 bits, folded to 32. Source: Fowler, Noll, Vo, RFC 9923.
std::uint32_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  return static_cast<std::uint32_t>(hash ^ hash >> 32);
}

std::string host_name() {
  const char* pooled = std::getenv("HEADROOM_MACHINE");
  if (pooled != nullptr && *pooled != '\0') return pooled;
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

std::string cache_list(const std::vector<std::int64_t>& bytes) {
  std::vector<std::string> sizes;
  for (const std::int64_t size : bytes) sizes.push_back(format_bytes(static_cast<double>(size)));
  return fmt::format("{}", fmt::join(sizes, ", "));
}

/// The machine as the OSS benchmark database wants it: its dashboard takes the device from `name` and the
/// architecture from `type`; avail_mem_in_gb is the memory there, not the memory free, as its uploader fills
/// it.
Environment::Runner describe(const MachineFacts& facts) {
  Environment::Runner runner;
  runner.name = "cpu";
  runner.type = facts.microarchitecture;
  runner.cpu_info = facts.cpu_model;
  runner.cpu_count = static_cast<std::uint32_t>(facts.processing_units);
  const std::int64_t memory = total_memory_bytes();
  runner.mem_info = format_bytes(static_cast<double>(memory));
  runner.avail_mem_in_gb = static_cast<std::uint32_t>(static_cast<double>(memory) / kGibibyte);
  runner.gpu_count = static_cast<std::uint32_t>(facts.gpus.size());
  runner.gpu_info = facts.first_gpu_name;
  runner.extra_info["hostname"] = facts.host;
  runner.extra_info["cores"] = std::to_string(facts.cores);
  runner.extra_info["caches"] = cache_list(facts.cache_bytes);
  runner.extra_info["isa"] = fmt::format("{}", fmt::join(read_cpu_identity().isa, " "));
  utsname system{};
  if (::uname(&system) == 0) {
    runner.extra_info["kernel"] = system.release;
    runner.extra_info["machine"] = system.machine;
  }
  return runner;
}

}  // namespace

MachineFacts read_machine_facts() {
  const CpuIdentity cpu = read_cpu_identity();
  const CpuFolder folder;
  const std::vector<int> cpus = folder.online_cpus();
  MachineFacts facts;
  facts.microarchitecture = microarchitecture(cpu);
  facts.cpu_model = cpu.brand;
  facts.stepping = cpu.stepping;
  facts.isa = cpu.hardware_isa;
  facts.cores = folder.cores(cpus);
  facts.processing_units = static_cast<int>(cpus.size());
  if (!cpus.empty()) facts.cache_bytes = folder.cache_bytes(cpus.front());
  facts.last_level_cache_bytes = folder.last_level_cache_bytes(cpus);
  facts.memory_bytes = fitted_memory_bytes("/");
  GpuFiles gpus = read_gpu_files();
  facts.gpus = std::move(gpus.kinds);
  if (!gpus.names.empty()) facts.first_gpu_name = std::move(gpus.names.front());
  facts.host = host_name();
  return facts;
}

std::string fingerprint_of(const MachineFacts& facts) {
  std::string text = fmt::format("{}\n{}\n{}\n{}\n{} {}\n{} {}\n{}\n{}", facts.microarchitecture,
                                 facts.cpu_model, facts.stepping, fmt::join(facts.isa, " "), facts.cores,
                                 facts.processing_units, fmt::join(facts.cache_bytes, " "),
                                 facts.last_level_cache_bytes, to_gibibytes(facts.memory_bytes), facts.host);
  // A machine without one has the fingerprint that it had before GPUs counted.
  if (!facts.gpus.empty()) text += fmt::format("\n{}", fmt::join(facts.gpus, " "));
  return fmt::format("{}-{}c-{:08x}", facts.microarchitecture, facts.cores, hash_of(text));
}

std::string machine_fingerprint() {
  return fingerprint_of(read_machine_facts());
}

Environment read_environment(const std::vector<std::string>& command) {
  const MachineFacts facts = read_machine_facts();
  Environment environment;
  environment.timestamp = static_cast<std::uint64_t>(std::time(nullptr));
  std::random_device chance;
  environment.session = fmt::format("{:08x}{:08x}", chance(), chance());
  environment.fingerprint = fingerprint_of(facts);
  environment.governor = cpu_governor();
  environment.headroom_version = HEADROOM_VERSION;
  std::error_code error;
  GitState git = read_git_state(std::filesystem::current_path(error));
  environment.git_sha = std::move(git.sha);
  environment.git_branch = std::move(git.branch);
  environment.git_repo = std::move(git.repo);
  environment.command = without_secrets(command);
  environment.machines = {describe(facts)};
  return environment;
}

}  // namespace headroom
