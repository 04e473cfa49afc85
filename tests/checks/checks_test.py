#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the programs in tools/: each is run on a small tree that breaks one rule, and must say so."""
import os
import subprocess
import sys
import tempfile
import unittest

TOOLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools")
SPDX = "// SPDX-License-Identifier: Apache-2.0\n"


def run_tool(name, *arguments):
    return subprocess.run([sys.executable, os.path.join(TOOLS, name), *arguments], capture_output=True, text=True,
                          check=False)


class Tree(unittest.TestCase):
    """A temporary repository, filled by write()."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        os.mkdir(os.path.join(self.root, "src"))

    def write(self, path, text="", licence=SPDX):
        full = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(licence + text)

    def assert_clean(self, tool):
        result = run_tool(tool, self.root)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))

    def assert_breach(self, tool, start):
        """Exactly one breach, and its line begins so."""
        result = run_tool(tool, self.root)
        self.assertEqual((result.returncode, result.stderr), (1, ""), result.stdout)
        lines = result.stdout.splitlines()
        self.assertEqual(len(lines), 1, result.stdout)
        self.assertTrue(lines[0].startswith(start), lines[0])


class Layers(Tree):
    def breach_of(self, path, line, rule):
        self.write(path, line + "\n")
        self.assert_breach("check_layers.py", f"{path}:2: {rule}: ")

    def clean(self, path, line):
        self.write(path, line + "\n")
        self.assert_clean("check_layers.py")

    def test_includes_along_the_graph(self):
        self.write("src/headroom/stats/mean.cpp", '#include "headroom/stats/mean.h"\n#include "headroom/base/error.h"\n')
        self.write("src/headroom/schedule/plan.cpp", '#include "headroom/runner/protocol.h"\n#include <vector>\n')
        self.write("src/headroom_native/gemv.cpp", '#include "headroom/experiment/state.h"\n#include "hwy/highway.h"\n')
        self.write("src/headroom_torch/gemv.cpp", '#include <torch/torch.h>\n#include <c10/cuda/CUDAStream.h>\n')
        self.write("src/headroom_cuda/gemv.cpp", "#include <cuda_runtime.h>\n#include <cublas_v2.h>\n")
        self.write("src/cli/commands/run.cpp", '#include "headroom/report/plot.h"\n#include "cli/options.h"\n')
        self.assert_clean("check_layers.py")

    def test_an_include_against_the_graph(self):
        self.breach_of("src/headroom/stats/mean.cpp", '#include "headroom/record/record.h"', "layer")

    def test_dependencies_are_not_inherited(self):
        self.breach_of("src/headroom/experiment/state.cpp", '#include "headroom/stats/quantile.h"', "layer")

    def test_base_includes_nothing(self):
        self.breach_of("src/headroom/base/json.cpp", '#  include "headroom/stats/quantile.h"', "layer")

    def test_the_library_does_not_know_the_command_line(self):
        self.breach_of("src/headroom/report/text.cpp", '#include "cli/options.h"', "layer")

    def test_the_command_line_does_not_know_a_runner(self):
        self.breach_of("src/cli/main.cpp", '#include "headroom_native/gemv.h"', "layer")

    def test_the_rooms_of_traces_have_an_order(self):
        self.clean("src/headroom/trace/work/idle_gaps.cpp", '#include "headroom/trace/columns/trace.h"')
        self.clean("src/headroom/trace/analyses/idle.cpp", '#include "headroom/trace/analysis.h"')
        self.clean("src/headroom/trace/report/text.cpp", '#include "headroom/report/metric_text.h"')
        self.breach_of("src/headroom/trace/columns/trace.cpp", '#include "headroom/trace/work/idle_gaps.h"', "layer")

    def test_the_rooms_of_ranks_have_an_order(self):
        self.clean("src/headroom/ranks/ddp/table.cpp", '#include "headroom/ranks/collectives/collectives_table.h"')
        self.breach_of("src/headroom/ranks/rank_group.cpp", '#include "headroom/ranks/ddp/ddp_plan.h"', "layer")

    def test_the_rooms_of_runners_have_an_order(self):
        self.clean("src/headroom_native/limits/limit_read.cpp", '#include "headroom_native/kernels/isa.h"')
        self.breach_of("src/headroom_native/kernels/isa.cpp", '#include "headroom_native/experiments.h"', "layer")

    def test_the_ground_of_the_command_line_includes_no_command(self):
        self.clean("src/cli/shared/print.cpp", '#include "cli/shared/table.h"')
        self.breach_of("src/cli/shared/print.cpp", '#include "cli/commands/run.h"', "layer")

    def test_a_runner_does_not_schedule(self):
        self.breach_of("src/headroom_native/main.cpp", '#include "headroom/schedule/plan.h"', "layer")

    def test_a_runner_does_not_know_another(self):
        self.breach_of("src/headroom_torch/gemv.cpp", '#include "headroom_native/gemv.h"', "layer")

    def test_runners_share_what_stands_beside_them(self):
        self.clean("src/headroom_nvml/gpu_meter.cpp", '#include "headroom_nvml/gpu_meter.h"\n#include "headroom/record/record.h"')
        self.clean("src/headroom_cuda/device.cpp", '#include "headroom_nvml/gpu_meter.h"')
        self.clean("src/headroom_cuda_device/device.cpp", '#include "headroom_nvml/gpu_meter.h"\n#include <cuda_runtime_api.h>')
        self.clean("src/headroom_torch/cuda/cuda_case.cpp", '#include "headroom_cuda_device/device.h"')
        self.breach_of("src/headroom_nvml/gpu_list.cpp", '#include "headroom_cuda/gemv.h"', "layer")

    def test_what_stands_beside_runners_is_for_those_that_it_names(self):
        self.breach_of("src/headroom_native/gemv.cpp", '#include "headroom_cuda_device/device.h"', "layer")

    def test_what_stands_beside_runners_does_not_know_each_other_both_ways(self):
        self.breach_of("src/headroom_nvml/gpu_meter.cpp", '#include "headroom_cuda_device/device.h"', "layer")

    def test_the_command_line_does_not_know_what_stands_beside_runners(self):
        self.breach_of("src/cli/main.cpp", '#include "headroom_nvml/gpu_meter.h"', "layer")

    def test_a_program_of_its_own_may_include_the_command_line(self):
        self.clean("src/headroom_mpi/main.cpp",
                   '#include <mpi.h>\n#include "cli/commands/trace_command.h"\n#include "headroom/trace/trace.h"')

    def test_nothing_else_includes_mpi_or_that_program(self):
        self.breach_of("src/cli/main.cpp", "#include <mpi.h>", "mpi")
        self.breach_of("src/cli/main.cpp", '#include "headroom_mpi/gather.h"', "layer")

    def test_an_unknown_module(self):
        self.write("src/headroom/extras/thing.cpp")
        self.assert_breach("check_layers.py", "src/headroom/extras:1: layer: ")

    def test_torch_elsewhere(self):
        self.breach_of("src/headroom_native/gemv.cpp", "#include <ATen/ATen.h>", "torch")

    def test_cuda_elsewhere(self):
        for header in ("cuda_runtime.h", "cuda.h", "cublasLt.h", "nccl.h", "nvtx3/nvToolsExt.h", "cub/cub.cuh"):
            with self.subTest(header):
                self.breach_of("src/cli/main.cpp", f"#include <{header}>", "cuda")

    def test_a_relative_include(self):
        self.breach_of("src/headroom/base/json.cpp", '#include "json.h"', "include")

    def test_angle_brackets_for_our_own(self):
        self.breach_of("src/headroom/base/json.cpp", "#include <headroom/base/json.h>", "include")

    def test_the_library_prints(self):
        for line in ("std::cout << 1;", 'printf("x");', 'fprintf(stderr, "x");', 'fmt::print("x");'):
            with self.subTest(line):
                self.breach_of("src/headroom/base/json.cpp", line, "prints")

    def test_the_library_exits(self):
        for line in ("std::exit(1);", "if (bad) abort();", "::exit(2);"):
            with self.subTest(line):
                self.breach_of("src/headroom/base/json.cpp", line, "exits")

    def test_what_only_looks_like_printing_or_exiting(self):
        for line in ("// never calls exit() or std::cout", 'throw Error("printf(");', "child.terminate(grace);",
                     "::_exit(127);", 'std::snprintf(text, 8, "x");', "/* printf(\n exit(1) */ int x;"):
            with self.subTest(line):
                self.clean("src/headroom/process/spawn.cpp", line)

    def test_the_command_line_may_print(self):
        self.clean("src/cli/main.cpp", "std::cout << 1;")

    def test_no_licence(self):
        self.write("src/headroom/base/json.h", "#pragma once\n", licence="")
        self.assert_breach("check_layers.py", "src/headroom/base/json.h:1: licence: ")

    def test_the_licence_follows_the_interpreter(self):
        self.write("tools/check.py", licence="#!/usr/bin/env python3\n# SPDX-License-Identifier: Apache-2.0\n")
        self.assert_clean("check_layers.py")

    def test_500_lines_and_501(self):
        self.write("src/headroom/base/json.cpp", "\n" * 499)
        self.assert_clean("check_layers.py")
        self.write("src/headroom/base/json.cpp", "\n" * 500)
        self.assert_breach("check_layers.py", "src/headroom/base/json.cpp:501: length: ")

    def test_vague_and_misspelt_names(self):
        for path in ("src/headroom/base/string_utils.cpp", "src/headroom/base/common.h", "tests/unit/helpers/a.cpp",
                     "src/headroom/base/JsonText.cpp", "src/headroom/base/json.hpp"):
            with self.subTest(path):
                self.write(path)
                self.assert_breach("check_layers.py", f"{path}:1: name: ")
                os.remove(os.path.join(self.root, path))

    def test_a_tree_without_sources(self):
        os.rmdir(os.path.join(self.root, "src"))
        self.assertEqual(run_tool("check_layers.py", self.root).returncode, 2)


class Tables(Tree):
    def setUp(self):
        super().setUp()
        self.write("src/cli/CMakeLists.txt", "add_executable(x\n  commands.cpp\n  commands/run.cpp\n  commands/diff.cpp)\n",
                   licence="")
        self.write("src/cli/commands/run.cpp")
        self.write("src/cli/commands/diff.cpp")
        self.write("src/cli/commands.cpp", '{"run", &run_command}, {"diff", &diff_command},\n')

    def test_complete(self):
        self.assert_clean("check_tables.py")

    def test_a_command_is_not_in_the_table(self):
        self.write("src/cli/commands.cpp", '#include "cli/commands/diff.h"\n// diff comes later\n{"run", &run_command},\n')
        self.assert_breach("check_tables.py", "src/cli/commands/diff.cpp:1: table: ")

    def test_a_part_of_an_entry_needs_no_line(self):
        self.write("src/cli/CMakeLists.txt", "add_executable(x commands.cpp commands/run.cpp commands/run_options.cpp "
                   "commands/diff.cpp)\n", licence="")
        self.write("src/cli/commands/run_options.cpp")
        self.assert_clean("check_tables.py")

    def test_a_longer_word_is_not_a_mention(self):
        self.write("src/cli/commands.cpp", '{"run", &run_command}, {"difficult", &different},\n')
        self.assert_breach("check_tables.py", "src/cli/commands/diff.cpp:1: table: ")

    def test_a_known_folder_without_a_table(self):
        self.write("src/headroom/record/CMakeLists.txt", "target_sources(x PRIVATE formats/csv.cpp)\n")
        self.write("src/headroom/record/formats/csv.cpp")
        self.assert_breach("check_tables.py", "src/headroom/record/formats:1: table: ")

    def test_any_file_beside_a_folder_of_its_name_is_a_table(self):
        self.write("src/headroom/machine/CMakeLists.txt", "target_sources(x PRIVATE probes.cpp probes/steal.cpp)\n")
        self.write("src/headroom/machine/probes.cpp", "nothing\n")
        self.write("src/headroom/machine/probes/steal.cpp")
        self.assert_breach("check_tables.py", "src/headroom/machine/probes/steal.cpp:1: table: ")

    def test_an_experiment_of_a_runner(self):
        self.write("src/headroom_native/CMakeLists.txt", "add(experiments.cpp gemv.h pool.h)\n")
        self.write("src/headroom_native/pool.h", "Pool* pool(State& state);\n")
        self.write("src/headroom_native/gemv.h", "\nvoid gemv(State& state);\n")
        self.write("src/headroom_native/experiments.cpp", '#include "headroom_native/gemv.h"\n')
        self.assert_breach("check_tables.py", "src/headroom_native/gemv.h:3: table: ")
        self.write("src/headroom_native/experiments.cpp", 'registry.add("gemv", &gemv);\n')
        self.assert_clean("check_tables.py")

    def test_a_file_that_is_not_built(self):
        self.write("src/headroom/base/options.h")
        self.assert_breach("check_tables.py", "src/headroom/base/options.h:1: build: ")

    def test_a_name_in_a_comment_is_not_built(self):
        self.write("src/cli/options.cpp")
        self.write("src/cli/CMakeLists.txt", "add_executable(x commands.cpp commands/run.cpp commands/diff.cpp)\n# options.cpp\n")
        self.assert_breach("check_tables.py", "src/cli/options.cpp:1: build: ")

    def test_paths_from_variables(self):
        self.write("src/headroom/CMakeLists.txt", "add(${CMAKE_CURRENT_SOURCE_DIR}/a.cpp ${PROJECT_SOURCE_DIR}/src/headroom/b.cpp"
                   " $<$<BOOL:${X}>:c.cpp>)\n")
        for name in "abc":
            self.write(f"src/headroom/{name}.cpp")
        self.assert_clean("check_tables.py")

    def test_an_experiment_that_is_told_where_to_run(self):
        self.write("src/headroom_torch/CMakeLists.txt", "add(experiments.cpp)\n")
        self.write("src/headroom_torch/gemv.h", "void gemv(State& state, const Place& place);\n")
        self.write("src/headroom_torch/experiments.cpp", '#include "headroom_torch/gemv.h"\n')
        self.assert_breach("check_tables.py", "src/headroom_torch/gemv.h:2: table: ")

    def test_precompiled_headers_of_others_are_not_ours(self):
        self.write("src/headroom/CMakeLists.txt", "headroom_precompile(x <cuda_runtime_api.h> <ATen/ATen.h>)\n")
        self.assert_clean("check_tables.py")

    def test_a_listed_file_that_is_gone(self):
        os.remove(os.path.join(self.root, "src/cli/commands/diff.cpp"))
        self.assert_breach("check_tables.py", "src/cli/CMakeLists.txt:4: build: ")


class Types(Tree):
    def write_types(self, first, second):
        for name, text in (("first", first), ("second", second)):
            self.write(f"src/headroom/trace/{name}.h", f"namespace headroom::trace {{\n\n{text}\n}}  // namespace headroom::trace\n")

    def test_one_name_for_two_types(self):
        self.write_types("struct Work {\n  int a;\n};", "template <typename T>\nclass Work final : Base {\n};")
        self.assert_breach("check_types.py", "src/headroom/trace/second.h:5: type: headroom::trace::Work is defined in "
                           "src/headroom/trace/first.h too")

    def test_names_that_are_apart(self):
        self.write_types("struct Work;\nstruct Time {\n  struct Unit {\n  };\n};", "struct Work {\n  struct Unit {\n  };\n};")
        self.write("src/cli/work.h", "namespace headroom::cli {\nstruct Work {\n};\n}  // namespace headroom::cli\n")
        self.assert_clean("check_types.py")


class Includes(Tree):
    def test_the_own_header_comes_first(self):
        self.write("src/headroom/stats/mean.h")
        self.write("src/headroom/stats/mean.cpp", '#include "headroom/stats/mean.h"\n\n#include <vector>\n')
        self.write("src/headroom_cuda/gemv.h")
        self.write("src/headroom_cuda/gemv.cu", '#include "headroom_cuda/gemv.h"\n')
        self.write("src/cli/main.cpp", "#include <vector>\n")
        self.assert_clean("check_includes.py")

    def test_the_own_header_comes_later_or_never(self):
        self.write("src/headroom/stats/mean.h")
        for text in ('#include <vector>\n#include "headroom/stats/mean.h"\n', '#include "headroom/stats/other.h"\n'):
            self.write("src/headroom/stats/mean.cpp", text)
            self.assert_breach("check_includes.py", "src/headroom/stats/mean.cpp:2: include: ")
        self.write("src/headroom/stats/mean.cpp")
        self.assert_breach("check_includes.py", "src/headroom/stats/mean.cpp:1: include: ")

    def test_a_header_that_names_what_it_does_not_include(self):
        self.write("src/headroom/stats/mean.h", "#include <string>\n\nstd::string name(std::vector<double>);\n")
        self.assert_breach("check_includes.py", "src/headroom/stats/mean.h:4: include: std::vector needs #include <vector>")

    def test_a_name_from_a_header_of_ours_or_in_a_comment(self):
        self.write("src/headroom/base/text.h", "#include <vector>\n#include <string>\n")
        self.write("src/headroom/base/lines.h", '#include "headroom/base/text.h"\n')
        self.write("src/headroom/stats/mean.h", '#include "headroom/base/lines.h"\n'
                   "// std::optional\nstd::vector<std::string_view> names();\n")
        self.assert_clean("check_includes.py")

    def test_a_precompiled_header_of_which_nothing_is_known(self):
        self.write("cmake/HeadroomSettings.cmake", "set(HEADROOM_LIBRARY_HEADERS\n  <vector> <fmt/format.h> <future>)\n")
        self.assert_breach("check_includes.py", "cmake/HeadroomSettings.cmake:1: include: say in NAMES")


class Summary(unittest.TestCase):
    def summary_of(self, *cases):
        with tempfile.NamedTemporaryFile("w", suffix=".xml") as file:
            file.write("<testsuite>" + "".join(cases) + "</testsuite>")
            file.flush()
            result = run_tool("test_summary.py", file.name)
        return result.stdout, result.returncode

    PASSED = '<testcase name="a" status="run"/>'
    FAILED = '<testcase name="b" status="fail"><failure message=""/></testcase>'
    SKIPPED = '<testcase name="c" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/></testcase>'
    DISABLED = '<testcase name="d" status="disabled"/>'
    MISSING = '<testcase name="e" status="notrun"><skipped message="Unable to find executable"/></testcase>'

    def test_passed(self):
        other = self.PASSED.replace('"a"', '"other"')
        self.assertEqual(self.summary_of(self.PASSED, other), ("2 passed, 0 failed\n", 0))

    def test_failed(self):
        self.assertEqual(self.summary_of(self.PASSED, self.FAILED), ("1 passed, 1 failed\n", 1))

    def test_skipped(self):
        self.assertEqual(self.summary_of(self.PASSED, self.SKIPPED, self.DISABLED), ("1 passed, 0 failed, 2 skipped\n", 0))

    def test_a_program_that_is_missing_has_failed(self):
        self.assertEqual(self.summary_of(self.PASSED, self.MISSING), ("1 passed, 1 failed\n", 1))

    def test_nothing_ran(self):
        self.assertEqual(self.summary_of(), ("0 passed, 0 failed\n", 1))
        self.assertEqual(self.summary_of(self.SKIPPED), ("0 passed, 0 failed, 1 skipped\n", 1))

    def test_what_passed_alone_is_named(self):
        with tempfile.NamedTemporaryFile("w", suffix=".xml") as first, tempfile.NamedTemporaryFile("w") as alone:
            first.write(f"<testsuite>{self.PASSED}{self.FAILED}{self.SKIPPED}</testsuite>")
            first.flush()
            self.assertEqual(run_tool("test_summary.py", "--failed", first.name).stdout, "1\n")
            for again, line, code in (
                    (self.FAILED.replace("fail", "run"), "2 passed, 0 failed, 1 skipped; passed only alone: b\n", 0),
                    (self.FAILED, "1 passed, 1 failed, 1 skipped\n", 1)):
                alone.seek(0)
                alone.truncate()
                alone.write(f"<testsuite>{again}</testsuite>")
                alone.flush()
                result = run_tool("test_summary.py", first.name, alone.name)
                self.assertEqual((result.stdout, result.returncode), (line, code))

    def test_no_file(self):
        result = run_tool("test_summary.py", "/does/not/exist.xml")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn("/does/not/exist.xml", result.stderr)


class Setup(unittest.TestCase):
    """tools/setup.sh on a machine without apt-get: PATH holds only what the script itself calls."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        os.makedirs(os.path.join(self.root, "packages"))
        os.makedirs(os.path.join(self.root, "tools"))
        os.makedirs(os.path.join(self.root, "bin"))
        os.symlink(os.path.realpath(os.path.join(TOOLS, "setup.sh")), os.path.join(self.root, "tools", "setup.sh"))
        for program in ("bash", "dirname", "sed", "env"):
            for folder in ("/usr/bin", "/bin"):
                if os.path.exists(os.path.join(folder, program)):
                    os.symlink(os.path.join(folder, program), os.path.join(self.root, "bin", program))
                    break

    def setup_of(self, *lines):
        with open(os.path.join(self.root, "packages", "part.txt"), "w", encoding="utf-8") as file:
            file.write("# a comment\n\n" + "".join(line + "\n" for line in lines))
        bin_folder = os.path.join(self.root, "bin")
        return subprocess.run([os.path.join(bin_folder, "bash"), os.path.join(self.root, "tools", "setup.sh"), "part"],
                              env={"PATH": bin_folder}, capture_output=True, text=True, check=False)

    def test_all_there_says_nothing(self):
        result = self.setup_of("sed  command sed  # why")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))

    def test_missing_is_named(self):
        result = self.setup_of("sed command sed", "libwanted-dev pkg-config wanted", "tool-package command tool_of_mine")
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn("no apt-get", result.stderr)
        self.assertIn("libwanted-dev", result.stderr)
        self.assertIn("tool_of_mine", result.stderr)
        self.assertNotIn("looked for: command sed", result.stderr)

    def test_an_unknown_part(self):
        result = subprocess.run([os.path.join(TOOLS, "setup.sh"), "nonsense"], capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 2)
        self.assertIn("nonsense", result.stderr)


if __name__ == "__main__":
    unittest.main()
