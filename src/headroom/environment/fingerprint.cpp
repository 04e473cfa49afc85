// SPDX-License-Identifier: Apache-2.0
#include "headroom/environment/fingerprint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <random>

#include "headroom/base/files.h"
#include "headroom/base/fnv.h"
#include "headroom/base/secrets.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/environment/processor.h"
#include "headroom/machine/cpu_folder.h"
#include "headroom/machine/memory.h"
#include "headroom/machine/noise.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

fs::path find_git_folder(fs::path folder) {
  std::error_code error;
  for (; !folder.empty(); folder = folder.parent_path()) {
    const fs::path git = folder / ".git";
    const fs::file_status status = fs::status(git, error);
    if (fs::is_directory(status)) return git;
    if (fs::is_regular_file(status)) {
      constexpr std::string_view kKey = "gitdir: ";
      const std::string text = read_file_value(git);
      return text.starts_with(kKey) ? folder / text.substr(kKey.size()) : fs::path();
    }
    if (folder == folder.root_path()) break;
  }
  return {};
}

bool is_object_name(std::string_view text) {
  return (text.size() == 40 || text.size() == 64) &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isxdigit(c) != 0; });
}

std::string packed_reference(const std::string& packed, const std::string& reference) {
  for (std::size_t at = packed.find(" " + reference); at != std::string::npos;
       at = packed.find(" " + reference, at + 1)) {
    const std::size_t end = at + 1 + reference.size();
    const std::size_t start = packed.rfind('\n', at) + 1;  // npos + 1 is the start of the text
    const bool whole = end == packed.size() || packed[end] == '\n' || packed[end] == '\r';
    if (whole && is_object_name(std::string_view(packed).substr(start, at - start))) {
      return packed.substr(start, at - start);
    }
  }
  return {};
}

/// In this working tree's git folder, the shared one, and packed-refs.
std::string resolve(const fs::path& git, const fs::path& common, const std::string& reference) {
  for (const fs::path& folder : {git, common}) {
    const std::string sha = read_file_value(folder / reference);
    if (is_object_name(sha)) return sha;
  }
  return packed_reference(read_file_or_empty(common / "packed-refs"), reference);
}

namespace fs = std::filesystem;

/// Sorted.
std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator place(folder, error), end; !error && place != end; place.increment(error)) {
    found.push_back(place->path());
  }
  std::ranges::sort(found);
  return found;
}

std::string strip_0x(const std::string& id) {
  return id.starts_with("0x") ? id.substr(2) : id;
}

/// A card's other functions (sound) have other drivers.
std::vector<std::string> pci_kinds(const fs::path& root) {
  std::vector<std::string> kinds;
  for (const fs::path& device : entries(root / "sys/bus/pci/drivers/nvidia")) {
    if (device.filename().string().find(':') == std::string::npos) continue;
    const std::string vendor = strip_0x(read_file_value(device / "vendor"));
    const std::string id = strip_0x(read_file_value(device / "device"));
    if (!vendor.empty() && !id.empty()) kinds.push_back(vendor + ":" + id);
  }
  return kinds;
}

std::vector<std::string> driver_names(const fs::path& root) {
  std::vector<std::string> names;
  for (const fs::path& gpu : entries(root / "proc/driver/nvidia/gpus")) {
    for (const std::string& line : split(read_file_or_empty(gpu / "information"), '\n')) {
      if (!line.starts_with("Model:")) continue;
      names.emplace_back(trimmed(std::string_view(line).substr(std::string_view("Model:").size())));
      break;
    }
  }
  return names;
}

/// Some containers show only these files.
std::size_t device_files(const fs::path& root) {
  const auto is_gpu = [](const fs::path& path) {
    const std::string name = path.filename().string();
    constexpr std::string_view kStart = "nvidia";
    return name.starts_with(kStart) && name.size() > kStart.size() &&
           std::all_of(name.begin() + kStart.size(), name.end(),
                       [](unsigned char c) { return std::isdigit(c) != 0; });
  };
  return static_cast<std::size_t>(std::ranges::count_if(entries(root / "dev"), is_gpu));
}

constexpr double kGibibyte = 1024.0 * 1024 * 1024;

std::uint32_t to_gibibytes(std::int64_t bytes) {
  return static_cast<std::uint32_t>(std::lround(static_cast<double>(bytes) / kGibibyte));
}

std::uint32_t hash_of(std::string_view text) {
  Fnv1a hash;
  hash.add(text);
  return static_cast<std::uint32_t>(hash.value() ^ hash.value() >> 32);
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

/// For the OSS benchmark database: its dashboard reads the device from `name` and the architecture from
/// `type`; its uploader puts total memory in avail_mem_in_gb.
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
  runner.cache_bytes = facts.cache_bytes;
  runner.extra_info["isa"] = fmt::format("{}", fmt::join(read_cpu_identity().isa, " "));
  utsname system{};
  if (::uname(&system) == 0) {
    runner.extra_info["kernel"] = system.release;
    runner.extra_info["machine"] = system.machine;
  }
  return runner;
}

}  // namespace

std::string origin_address(std::string_view config) {
  bool in_origin = false;
  for (const std::string& raw : split(config, '\n')) {
    const std::string_view line = trimmed(raw);
    if (line.starts_with('[')) {
      in_origin = line.starts_with("[remote \"origin\"]");
      continue;
    }
    const std::size_t equals = line.find('=');
    if (!in_origin || equals == std::string_view::npos || trimmed(line.substr(0, equals)) != "url") continue;
    std::string_view value = trimmed(line.substr(equals + 1));
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"')
      value = value.substr(1, value.size() - 2);
    return std::string(value);
  }
  return {};
}

std::string repository_name(std::string_view address) {
  while (address.ends_with('/')) address.remove_suffix(1);
  if (address.ends_with(".git")) address.remove_suffix(4);
  while (address.ends_with('/')) address.remove_suffix(1);
  const std::size_t scheme = address.find("://");
  const std::size_t colon = address.find(':');
  const bool file = address.starts_with("file://");
  if (scheme != std::string_view::npos && !file) {
    const std::size_t path = address.find('/', scheme + 3);
    return path == std::string_view::npos ? std::string() : std::string(address.substr(path + 1));
  }
  const bool is_scp_like = colon != std::string_view::npos && address.find('/') > colon && !file;
  if (is_scp_like) return std::string(address.substr(colon + 1));
  const std::size_t slash = address.rfind('/');
  return std::string(slash == std::string_view::npos ? address : address.substr(slash + 1));
}

GitState read_git_state(const std::filesystem::path& folder) {
  GitState state;
  std::error_code error;
  const fs::path start = fs::absolute(folder, error);
  const fs::path git = error ? fs::path() : find_git_folder(start);
  if (git.empty()) return state;
  const std::string shared = read_file_value(git / "commondir");
  const fs::path common = shared.empty() ? git : git / shared;

  constexpr std::string_view kReference = "ref: ";
  constexpr std::string_view kBranch = "refs/heads/";
  const std::string head = read_file_value(git / "HEAD");
  if (head.starts_with(kReference)) {
    const std::string reference(trimmed(head).substr(kReference.size()));
    // The reftable format writes an invalid name here.
    if (reference == "refs/heads/.invalid") return state;
    if (reference.starts_with(kBranch)) state.branch = reference.substr(kBranch.size());
    state.sha = resolve(git, common, reference);
  } else if (is_object_name(head)) {
    state.sha = head;
  }
  state.repo = repository_name(origin_address(read_file_or_empty(common / "config")));
  return state;
}

GpuFiles read_gpu_files(const fs::path& root) {
  GpuFiles found;
  found.names = driver_names(root);
  found.kinds = pci_kinds(root);
  if (found.kinds.empty()) found.kinds = found.names;
  if (found.kinds.empty()) found.kinds.assign(device_files(root), "nvidia");
  std::ranges::sort(found.kinds);
  return found;
}

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
  // Keeps the fingerprint of machines without a GPU.
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
  environment.command = redact_secrets(command);
  environment.machines = {describe(facts)};
  return environment;
}

}  // namespace headroom
