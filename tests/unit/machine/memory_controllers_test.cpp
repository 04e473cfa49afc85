// SPDX-License-Identifier: Apache-2.0
#include "headroom/machine/memory_controllers.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>

#include "file_tree.h"

namespace headroom {
namespace {

using Traffic = ControllerEvent::Traffic;

TEST(MemoryControllers, AreThoseOfIntelsServers) {
  FileTree tree;
  for (const char* unit : {"uncore_imc_1", "uncore_imc_0"}) {
    const std::string folder = unit;
    tree.file(folder + "/type", "22\n").file(folder + "/cpumask", "0,28\n");
    tree.file(folder + "/format/event", "config:0-7\n").file(folder + "/format/umask", "config:8-15\n");
    tree.file(folder + "/events/cas_count_read", "event=0x04,umask=0x03\n");
    tree.file(folder + "/events/cas_count_read.scale", "6.103515625e-5\n");
    tree.file(folder + "/events/cas_count_read.unit", "MiB\n");
    tree.file(folder + "/events/cas_count_write", "event=0x04,umask=0x0c\n");
    tree.file(folder + "/events/cas_count_write.scale", "6.103515625e-5\n");
    tree.file(folder + "/events/cas_count_write.unit", "MiB\n");
  }
  // Without events, and one that counts the same again.
  tree.file("uncore_imc_2/type", "23").file("uncore_imc_free_running_0/type", "24").file("cpu/type", "4");
  const auto events = memory_controllers(tree.root());
  ASSERT_EQ(events.size(), 8U) << "two units, two directions, two packages";
  EXPECT_EQ(events[0].unit, "uncore_imc_0");
  EXPECT_EQ(events[0].type, 22U);
  EXPECT_EQ(events[0].config[0], 0x0304U);
  EXPECT_EQ(events[1].cpu, 28);
  EXPECT_EQ(events[0].bytes_per_count, 64);
  EXPECT_EQ(events[0].traffic, Traffic::kRead);
  EXPECT_EQ(events[2].traffic, Traffic::kWrite);
  EXPECT_EQ(events[2].config[0], 0x0c04U);
}

TEST(MemoryControllers, AreThoseOfAmd) {
  FileTree tree;
  tree.file("amd_df/type", "9").file("amd_df/cpumask", "0");
  tree.file("amd_df/format/event", "config:0-7,32-35").file("amd_df/format/umask", "config:8-15");
  auto events = memory_controllers(tree.root());
  ASSERT_EQ(events.size(), 8U);
  EXPECT_EQ(events[0].config[0], 0x3807U);
  EXPECT_EQ(events[7].config[0], 0x1000038c7U) << "the ninth bit of an event lies in bit 32";
  EXPECT_EQ(events[0].traffic, Traffic::kBoth);

  tree.file("amd_df/format/umask", "config:8-15,24-27");
  EXPECT_TRUE(memory_controllers(tree.root()).empty()) << "since Zen 4 the numbers mean other events";

  tree.file("amd_umc_3/type", "12").file("amd_umc_3/cpumask", "4");
  tree.file("amd_umc_3/format/event", "config:0-7").file("amd_umc_3/format/rdwrmask", "config:8-9");
  events = memory_controllers(tree.root());
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].config[0], 0x10aU);
  EXPECT_EQ(events[1].config[0], 0x20aU);
  EXPECT_EQ(events[1].cpu, 4);
}

TEST(MemoryControllers, OfWhichTheKernelSaysNonsenseAreNone) {
  EXPECT_TRUE(memory_controllers("/nowhere").empty());
  FileTree tree;
  tree.file("format/event", "config:0-7").file("format/far", "config:60-70").file("format/odd", "bits 3");
  const auto encoded = [&](const std::string& terms) {
    std::array<std::uint64_t, 3> config{};
    return encode_event(terms, tree.root() / "format", config);
  };
  EXPECT_TRUE(encoded("event=0xff"));
  EXPECT_TRUE(encoded("event"));
  for (const char* terms :
       {"event=0x100", "event=", "event=x", "missing=1", "../type=1", "far=1", "odd=1", ""})
    EXPECT_FALSE(encoded(terms)) << terms;
}

}  // namespace
}  // namespace headroom
