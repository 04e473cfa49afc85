// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cstdlib>
#include <ctime>
#include <thread>

#include "../file_tree.h"
#include "headroom/environment/fingerprint.h"
#include "headroom/process/affinity.h"

namespace headroom {
namespace {

using namespace testing;

MachineFacts facts() {
  MachineFacts facts;
  facts.microarchitecture = "emerald-rapids";
  facts.cpu_model = "Intel(R) Xeon(R) Processor";
  facts.stepping = 2;
  facts.isa = {"avx2", "avx512f"};
  facts.cores = 2;
  facts.processing_units = 4;
  facts.cache_bytes = {49152, 2097152, 314572800};
  facts.last_level_cache_bytes = 314572800;
  facts.memory_bytes = std::int64_t{24} << 30;
  facts.host = "node7";
  return facts;
}

TEST(Fingerprint, HasAReadablePrefixAndNeverChanges) {
  EXPECT_EQ(fingerprint_of(facts()), "emerald-rapids-2c-94fe8007") << "stored results are found by it";
}

TEST(Fingerprint, EveryFactCounts) {
  const std::vector<std::function<void(MachineFacts&)>> changes = {
      [](MachineFacts&) {},
      [](MachineFacts& f) { f.microarchitecture = "zen4"; },
      [](MachineFacts& f) { f.cpu_model += "X"; },
      [](MachineFacts& f) { f.stepping = 3; },
      [](MachineFacts& f) { f.isa.push_back("amx_bf16"); },
      [](MachineFacts& f) { f.cores = 4; },
      [](MachineFacts& f) { f.processing_units = 2; },
      [](MachineFacts& f) { f.cache_bytes[1] *= 2; },
      [](MachineFacts& f) { f.last_level_cache_bytes *= 2; },
      [](MachineFacts& f) { f.memory_bytes *= 2; },
      [](MachineFacts& f) { f.gpus = {"10de:2335"}; },
      [](MachineFacts& f) {
        f.gpus = {"10de:2335", "10de:2335"};
      },
      [](MachineFacts& f) { f.host = "node8"; },
  };
  std::set<std::string> seen;
  for (const auto& change : changes) {
    MachineFacts changed = facts();
    change(changed);
    seen.insert(fingerprint_of(changed));
  }
  EXPECT_EQ(seen.size(), changes.size());
}

TEST(Fingerprint, MegabytesOfMemoryDoNotCount) {
  MachineFacts less = facts();
  less.memory_bytes -= std::int64_t{100} << 20;
  EXPECT_EQ(fingerprint_of(less), fingerprint_of(facts()));
}

TEST(Fingerprint, OfThisMachineStaysAndDoesNotDependOnTheAffinity) {
  const std::string name = machine_fingerprint();
  EXPECT_THAT(name, MatchesRegex("[a-z0-9-]+-[0-9]+c-[0-9a-f]+"));
  std::thread([&] {
    pin_this_thread(allowed_cpus().front());
    EXPECT_EQ(machine_fingerprint(), name);
  }).join();
}

TEST(Fingerprint, FleetsOfEqualMachinesMayShareAName) {
  const std::string own = machine_fingerprint();
  ::setenv("HEADROOM_MACHINE", "fleet", 1);
  EXPECT_EQ(read_machine_facts().host, "fleet");
  EXPECT_NE(machine_fingerprint(), own);
  ::setenv("HEADROOM_MACHINE", "", 1);
  EXPECT_EQ(machine_fingerprint(), own);
  ::unsetenv("HEADROOM_MACHINE");
}

TEST(ReadEnvironment, FillsTheFieldsOfARun) {
  const std::vector<std::string> command = {"headroom", "run", "gemv"};
  const Environment environment = read_environment(command);
  EXPECT_EQ(environment.command, command);
  EXPECT_EQ(environment.fingerprint, machine_fingerprint());
  EXPECT_FALSE(environment.headroom_version.empty());
  EXPECT_NEAR(static_cast<double>(environment.timestamp), static_cast<double>(std::time(nullptr)), 5);
  ASSERT_EQ(environment.machines.size(), 1U);
  const Environment::Runner& machine = environment.machines[0];
  EXPECT_EQ(machine.name, "cpu");
  EXPECT_FALSE(machine.type.empty());
  EXPECT_FALSE(machine.cpu_info.empty());
  EXPECT_GE(machine.cpu_count, allowed_cpus().size());
  EXPECT_THAT(machine.mem_info, HasSubstr("iB"));
  EXPECT_EQ(machine.extra_info.count("hostname"), 1U);
  EXPECT_EQ(machine.extra_info.count("kernel"), 1U);
}

const std::string kSha = "0123456789abcdef0123456789abcdef01234567";
const std::string kOther = "89abcdef0123456789abcdef0123456789abcdef";

TEST(GitState, BranchCommitAndRemoteFromASubfolder) {
  FileTree tree;
  tree.file(".git/HEAD", "ref: refs/heads/feature/fast\n").file(".git/refs/heads/feature/fast", kSha + "\n");
  tree.file(".git/config",
            "[core]\n\tbare = false\n[remote \"upstream\"]\n\turl = https://host/a/b\n"
            "[remote \"origin\"]\n\tfetch = +refs/*\n\turl = git@host.example:owner/name.git\n");
  tree.file("src/deep/file.cpp", "");
  const GitState state = read_git_state(tree.root() / "src/deep");
  EXPECT_EQ(state.sha, kSha);
  EXPECT_EQ(state.branch, "feature/fast");
  EXPECT_EQ(state.repo, "owner/name");
}

TEST(GitState, PackedReferences) {
  FileTree tree;
  tree.file(".git/HEAD", "ref: refs/heads/main\n");
  tree.file(".git/packed-refs",
            "# pack-refs with: peeled fully-peeled sorted\n" + kOther + " refs/heads/main2\n" + kOther +
                " refs/remotes/origin/refs/heads/main\n" + kSha + " refs/heads/main\n^" + kOther + "\n");
  EXPECT_EQ(read_git_state(tree.root()).sha, kSha);
  tree.file(".git/refs/heads/main", kOther + "\n");
  EXPECT_EQ(read_git_state(tree.root()).sha, kOther) << "the loose one is newer";
}

TEST(GitState, DetachedHeadHasNoBranch) {
  FileTree tree;
  tree.file(".git/HEAD", kSha + "\n");
  const GitState state = read_git_state(tree.root());
  EXPECT_EQ(state.sha, kSha);
  EXPECT_EQ(state.branch, "");
}

TEST(GitState, LinkedWorkingTreesAndSubmodules) {
  FileTree tree;
  tree.file("main/.git/config", "[remote \"origin\"]\nurl = https://user:secret@host/o/n.git\n");
  tree.file("main/.git/refs/heads/side", kSha + "\n");
  tree.file("main/.git/worktrees/w/HEAD", "ref: refs/heads/side\n");
  tree.file("main/.git/worktrees/w/commondir", "../..\n");
  tree.file("linked/.git", "gitdir: " + (tree.root() / "main/.git/worktrees/w").string() + "\n");
  const GitState linked = read_git_state(tree.root() / "linked");
  EXPECT_EQ(linked.sha, kSha);
  EXPECT_EQ(linked.branch, "side");
  EXPECT_EQ(linked.repo, "o/n");

  tree.file("main/.git/modules/sub/HEAD", kOther + "\n");
  tree.file("main/sub/.git", "gitdir: ../.git/modules/sub\n");
  EXPECT_EQ(read_git_state(tree.root() / "main/sub").sha, kOther);
}

TEST(GitState, WhatIsNotThereIsEmpty) {
  FileTree tree;
  EXPECT_EQ(read_git_state("/proc").sha, "") << "outside git";
  EXPECT_EQ(read_git_state("/no/such/folder").branch, "");
  tree.file("new/.git/HEAD", "ref: refs/heads/main\n");
  EXPECT_EQ(read_git_state(tree.root() / "new").branch, "main");
  EXPECT_EQ(read_git_state(tree.root() / "new").sha, "") << "before the first commit";
  tree.file("odd/.git/HEAD", "nonsense\n");
  EXPECT_EQ(read_git_state(tree.root() / "odd").sha, "");
  tree.file("reftable/.git/HEAD", "ref: refs/heads/.invalid\n");
  EXPECT_EQ(read_git_state(tree.root() / "reftable").branch, "");
  tree.file("broken/.git", "not a link\n");
  EXPECT_EQ(read_git_state(tree.root() / "broken").branch, "");
}

TEST(GitState, RepositoryNamesHoldNoSecret) {
  EXPECT_EQ(repository_name("https://user:secret@host.example/owner/name.git"), "owner/name");
  EXPECT_EQ(repository_name("https://host.example/owner/name/"), "owner/name");
  EXPECT_EQ(repository_name("ssh://git@host.example:22/owner/name.git"), "owner/name");
  EXPECT_EQ(repository_name("git@host.example:owner/name.git"), "owner/name");
  EXPECT_EQ(repository_name("/srv/git/name.git"), "name");
  EXPECT_EQ(repository_name("file:///srv/git/name.git/"), "name");
  EXPECT_EQ(repository_name("../name"), "name");
  EXPECT_EQ(repository_name("https://user:secret@host.example"), "");
  EXPECT_EQ(repository_name(""), "");
}

TEST(GitState, OriginAddress) {
  EXPECT_EQ(origin_address("[remote \"origin\"]\n\turl = \"a b\"\n"), "a b");
  EXPECT_EQ(origin_address("[remote \"origin\"]\n\tpushurl = x\n[branch \"main\"]\n\turl = y\n"), "");
  EXPECT_EQ(origin_address(""), "");
}

constexpr const char* kInformation =
    "Model: \t\t NVIDIA H200\nIRQ:   \t\t 194\nGPU UUID: \t GPU-0c1b\nBus Location: \t 0000:01:00.0\n";

TEST(GpuFiles, AMachineWithoutOneHasNone) {
  const FileTree tree;
  EXPECT_THAT(read_gpu_files(tree.root()).kinds, IsEmpty());
  EXPECT_THAT(read_gpu_files("/nowhere").kinds, IsEmpty());
}

TEST(GpuFiles, ThePciBusSaysWhatTheDriverHasTaken) {
  FileTree tree;
  const std::string pci = "sys/bus/pci/drivers/nvidia/";
  tree.file(pci + "bind", "").file(pci + "module/version", "580.95.05\n");
  tree.file(pci + "0000:02:00.0/vendor", "0x10de\n").file(pci + "0000:02:00.0/device", "0x2335\n");
  tree.file(pci + "0000:01:00.0/vendor", "0x10de\n").file(pci + "0000:01:00.0/device", "0x20b0\n");
  tree.file("proc/driver/nvidia/gpus/0000:01:00.0/information", kInformation);
  tree.file("dev/nvidia0", "");
  const GpuFiles found = read_gpu_files(tree.root());
  EXPECT_THAT(found.kinds, ElementsAre("10de:20b0", "10de:2335"));
  EXPECT_THAT(found.names, ElementsAre("NVIDIA H200"));
}

TEST(GpuFiles, ContainersShowLess) {
  FileTree named;
  named.file("proc/driver/nvidia/gpus/0000:01:00.0/information", kInformation);
  named.file("proc/driver/nvidia/gpus/0000:02:00.0/information", "IRQ: 1\n");
  EXPECT_THAT(read_gpu_files(named.root()).kinds, ElementsAre("NVIDIA H200"));
  FileTree bare;
  bare.file("dev/nvidia0", "").file("dev/nvidia11", "").file("dev/nvidiactl", "").file("dev/nvidia-uvm", "");
  bare.file("dev/nvidia", "");
  const GpuFiles found = read_gpu_files(bare.root());
  EXPECT_THAT(found.kinds, ElementsAre("nvidia", "nvidia"));
  EXPECT_THAT(found.names, IsEmpty());
}

}  // namespace
}  // namespace headroom
