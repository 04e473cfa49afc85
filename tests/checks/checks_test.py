#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the programs in tools/, on small trees that break one rule."""
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools")
sys.path.insert(0, TOOLS)
import check_layers  # noqa: E402

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
        """Expects exactly one breach, whose line starts with `start`."""
        result = run_tool(tool, self.root)
        self.assertEqual((result.returncode, result.stderr), (1, ""), result.stdout)
        lines = result.stdout.splitlines()
        self.assertEqual(len(lines), 1, result.stdout)
        self.assertTrue(lines[0].startswith(start), lines[0])


class Layers(Tree):
    """A tree with the modules base, stats (links base, uses types of record) and record, and the program cli."""

    LIBRARY = """headroom_module(base LEVEL -O1 PRIVATE $<BUILD_INTERFACE:nlohmann_json>)
headroom_module(record)
headroom_module(stats LEVEL -O2
  USES base  # for errors
  TYPES_OF record PRIVATE Threads::Threads)
"""

    def setUp(self):
        super().setUp()
        self.cmake("src/headroom", self.LIBRARY)
        self.write("src/headroom/stats/links.cpp", '#include "headroom/base/a.h"\n#include "headroom/record/a.h"\n')
        self.cmake("src/cli", "headroom_module(cli FOLDER . EXCLUDE main.cpp USES stats)\nadd_executable(program main.cpp)\n")
        self.write("src/cli/links.cpp", '#include "headroom/stats/a.h"\n')

    def cmake(self, folder, text):
        self.write(f"{folder}/CMakeLists.txt", text, licence="# SPDX-License-Identifier: Apache-2.0\n")

    def runner(self, folder, libraries, *includes, text="add_library({0}_kernels kernels.cpp)\n"):
        self.cmake(f"src/{folder}", text.format(folder) + f"target_link_libraries({folder}_kernels PUBLIC {libraries})\n")
        self.write(f"src/{folder}/links.cpp", "".join(f'#include "{name}"\n' for name in includes))

    def breach_of(self, path, line, rule):
        self.write(path, line + "\n")
        self.assert_breach("check_layers.py", f"{path}:2: {rule}: ")
        os.remove(os.path.join(self.root, path))

    def clean(self, path, line):
        self.write(path, line + "\n")
        self.assert_clean("check_layers.py")

    def test_includes_of_what_a_module_links(self):
        self.clean("src/headroom/stats/mean.cpp",
                   '#include "headroom/stats/mean.h"\n#include "headroom/base/error.h"\n#include "headroom/record/record.h"\n'
                   "#include <vector>\n#include <hwy/highway.h>")

    def test_an_include_of_what_a_module_does_not_link(self):
        self.breach_of("src/headroom/record/record.cpp", '#include "headroom/stats/mean.h"', "layer")
        self.breach_of("src/headroom/base/json.cpp", '#  include "headroom/stats/quantile.h"', "layer")

    def test_dependencies_are_not_inherited(self):
        self.breach_of("src/cli/run.cpp", '#include "headroom/base/error.h"', "layer")

    def test_the_library_does_not_know_the_command_line(self):
        self.breach_of("src/headroom/stats/text.cpp", '#include "cli/options.h"', "layer")

    def test_a_module_in_a_folder_of_another(self):
        self.cmake("src/headroom_trace", "headroom_module(trace FOLDER . EXCLUDE program/)\n"
                   "headroom_module(trace_commands FOLDER program USES trace)\n")
        self.clean("src/headroom_trace/program/convert.cpp", '#include "headroom_trace/columns/trace.h"')
        self.breach_of("src/headroom_trace/columns/trace.cpp", '#include "headroom_trace/program/convert.h"', "layer")

    def test_a_module_links_what_it_does_not_include(self):
        os.remove(os.path.join(self.root, "src/headroom/stats/links.cpp"))
        self.write("src/headroom/stats/mean.cpp", '#include "headroom/record/record.h"\n')
        self.assert_breach("check_layers.py", "src/headroom/CMakeLists.txt:4: layer: stats links base ")
        self.write("src/headroom/stats/mean.cpp", '#include "headroom/base/error.h"\n')
        self.assert_breach("check_layers.py", "src/headroom/CMakeLists.txt:4: layer: stats links record ")

    def test_a_module_links_what_is_no_module(self):
        self.cmake("src/headroom_pages", "headroom_module(pages FOLDER . USES sites)\n")
        self.assert_breach("check_layers.py", "src/headroom_pages/CMakeLists.txt:2: layer: pages uses sites")

    def test_modules_in_a_circle(self):
        self.cmake("src/headroom", self.LIBRARY.replace("(record)", "(record USES base stats)"))
        self.write("src/headroom/record/links.cpp", '#include "headroom/base/a.h"\n#include "headroom/stats/a.h"\n')
        self.assert_breach("check_layers.py", "src/headroom/CMakeLists.txt:3: layer: record, stats use each other in a circle")

    def test_a_folder_that_is_no_module(self):
        self.write("src/headroom/extras/thing.cpp")
        self.assert_breach("check_layers.py", "src/headroom/extras/thing.cpp:1: layer: ")

    def test_a_runner_includes_what_its_folder_links(self):
        self.runner("headroom_native", "headroom_stats", "headroom/stats/mean.h")
        self.clean("src/headroom_native/gemv.cpp", '#include "headroom_native/gemv.h"')
        self.breach_of("src/headroom_native/main.cpp", '#include "headroom/record/record.h"', "layer")

    def test_a_runner_links_what_it_does_not_include(self):
        self.runner("headroom_native", "headroom_stats headroom_base  # headroom_record\n", "headroom/stats/mean.h")
        self.assert_breach("check_layers.py", "src/headroom_native/CMakeLists.txt:1: layer: headroom_native links base ")

    def test_the_main_of_runners_stands_for_the_module_runner(self):
        self.cmake("src/headroom", self.LIBRARY + "headroom_module(runner)\nadd_library(headroom_runner_main runner/main.cpp)\n")
        self.runner("headroom_native", "headroom_runner_main")
        self.clean("src/headroom_native/main.cpp", '#include "headroom/runner/protocol.h"')
        os.remove(os.path.join(self.root, "src/headroom_native/main.cpp"))
        self.assert_clean("check_layers.py")

    def test_nothing_else_includes_a_runner(self):
        self.runner("headroom_native", "headroom_stats", "headroom/stats/mean.h")
        self.runner("headroom_torch", "headroom_native_kernels")
        self.breach_of("src/cli/main.cpp", '#include "headroom_native/gemv.h"', "layer")
        self.breach_of("src/headroom_torch/gemv.cpp", '#include "headroom_native/gemv.h"', "layer")

    def test_what_runners_have_in_common_is_a_library(self):
        self.runner("headroom_cuda_device", "headroom_nvml", "headroom_nvml/gpu_meter.h",
                    text="add_library({0} STATIC device.cpp)\nadd_library({0}_kernels x.cpp)\n")
        self.cmake("src/headroom_nvml", "headroom_module(nvml FOLDER .)\n")
        self.runner("headroom_torch", "headroom_cuda_device", "headroom_cuda_device/device.h")
        self.assert_clean("check_layers.py")
        self.breach_of("src/headroom_torch/gemv.cpp", '#include "headroom_nvml/gpu_meter.h"', "layer")
        self.breach_of("src/headroom_nvml/gpu_meter.cpp", '#include "headroom_cuda_device/device.h"', "layer")
        self.breach_of("src/cli/main.cpp", '#include "headroom_nvml/gpu_meter.h"', "layer")

    def test_a_program_on_the_library_of_another(self):
        self.runner("headroom_mpi", "headroom_cli", "cli/run.h")
        self.clean("src/headroom_mpi/main.cpp", "#include <mpi.h>")
        self.breach_of("src/cli/main.cpp", "#include <mpi.h>", "mpi")
        self.breach_of("src/cli/main.cpp", '#include "headroom_mpi/gather.h"', "layer")

    def test_the_parts_of_a_folder_have_an_order(self):
        self.cmake("src/headroom_trace", "headroom_module(trace FOLDER .)\n")
        self.clean("src/headroom_trace/work/idle_gaps.cpp", '#include "headroom_trace/columns/trace.h"')
        self.clean("src/headroom_trace/analyses/idle.cpp", '#include "headroom_trace/analysis.h"')
        self.breach_of("src/headroom_trace/columns/trace.cpp", '#include "headroom_trace/work/idle_gaps.h"', "layer")
        self.breach_of("src/headroom_trace/analysis.cpp", '#include "headroom_trace/work/idle_gaps.h"', "layer")
        self.breach_of("src/headroom_trace/findings/findings.cpp", '#include "headroom_trace/peers/hta_idle.h"', "layer")
        for path in ("critical_path/job_path.cpp", "analyses/critical_path.cpp", "ranks/lateness.cpp", "analyses/kernels.cpp"):
            self.breach_of("src/headroom_trace/" + path, '#include "headroom_trace/peers/hta_critical_path.h"', "layer")
        self.breach_of("src/headroom_trace/extras/thing.cpp", '#include "headroom_trace/columns/trace.h"', "layer")

    def test_the_parts_of_ranks_and_of_runners_have_an_order(self):
        self.cmake("src/headroom", self.LIBRARY + "headroom_module(ranks)\n")
        self.runner("headroom_native", "")
        self.clean("src/headroom/ranks/ddp/table.cpp", '#include "headroom/ranks/collectives/collectives_table.h"')
        self.breach_of("src/headroom/ranks/rank_group.cpp", '#include "headroom/ranks/ddp/ddp_plan.h"', "layer")
        self.clean("src/headroom_native/experiments.cpp", '#include "headroom_native/limits/limit_read.h"')
        self.clean("src/headroom_native/limits/limit_read.cpp", '#include "headroom_native/kernels/gemv/gemv_kernel.h"')
        self.breach_of("src/headroom_native/kernels/isa.cpp", '#include "headroom_native/experiments.h"', "layer")

    def test_the_parts_are_in_no_circle(self):
        for folder, parts in check_layers.PARTS.items():
            every = [part for part in parts if part != "."]
            graph = {part: every if may == "*" else may.split() for part, may in parts.items()}
            self.assertEqual((folder, check_layers.in_circles(graph)), (folder, []))

    def test_only_files_that_show_other_tools_are_listed_so(self):
        for path in check_layers.SHOW_OTHER_TOOLS:
            self.assertIn(f'#include "{check_layers.OTHER_TOOLS}', check_layers.read(os.path.join(TOOLS, ".."), path), path)

    def test_the_parts_may_include_no_more_than_they_do(self):
        root = os.path.join(TOOLS, "..")
        includes = check_layers.read_includes(root, check_layers.read_modules(root))
        for folder, parts in check_layers.PARTS.items():
            part = lambda path: path[len(folder) + 1:].rpartition("/")[0].split("/")[0] or "."
            used = {(part(path[len("src/"):]), part(target)) for path, found in includes.items() for _, _, target, _ in found
                    if path.startswith(f"src/{folder}/") and target.startswith(folder + "/")}
            self.assertEqual((folder, {(own, other) for own, may in parts.items() for other in may.split() if other != "*"} - used),
                             (folder, set()))

    def test_torch_elsewhere(self):
        self.runner("headroom_torch", "")
        self.clean("src/headroom_torch/gemv.cpp", "#include <torch/torch.h>\n#include <c10/cuda/CUDAStream.h>")
        self.breach_of("src/headroom/base/gemv.cpp", "#include <ATen/ATen.h>", "torch")

    def test_cuda_elsewhere(self):
        self.runner("headroom_cuda", "")
        for header in ("cuda_runtime.h", "cuda.h", "cublasLt.h", "nccl.h", "nvtx3/nvToolsExt.h", "cub/cub.cuh"):
            with self.subTest(header):
                self.clean("src/headroom_cuda/gemv.cpp", f"#include <{header}>")
                self.breach_of("src/cli/main.cpp", f"#include <{header}>", "cuda")

    def test_a_relative_include(self):
        self.breach_of("src/headroom/base/json.cpp", '#include "json.h"', "include")
        self.breach_of("src/headroom/base/json.cpp", '#include "../stats/mean.h"', "include")

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
                self.clean("src/headroom/base/spawn.cpp", line)

    def test_a_line_number_after_a_comment_of_many_lines(self):
        self.write("src/headroom/base/json.cpp", "/* one\ntwo */\nstd::exit(1);\n")
        self.assert_breach("check_layers.py", "src/headroom/base/json.cpp:4: exits: ")

    def test_programs_may_print(self):
        self.clean("src/cli/main.cpp", "std::cout << 1;")
        self.cmake("src/headroom_trace", "headroom_module(trace FOLDER .)\nheadroom_module(trace_commands FOLDER program)\n")
        self.clean("src/headroom_trace/program/convert.cpp", "std::cout << 1;")
        self.breach_of("src/headroom_trace/columns/trace.cpp", "std::cout << 1;", "prints")
        self.cmake("src/headroom", self.LIBRARY + "headroom_module(console)\nheadroom_module(runner)\n")
        self.clean("src/headroom/console/output.cpp", "std::cout << 1;")
        self.clean("src/headroom/runner/main.cpp", "std::cout << 1;")
        self.runner("headroom_native", "")
        self.clean("src/headroom_native/gemv.cpp", "std::exit(1);")

    def test_no_licence(self):
        self.write("src/headroom/base/json.h", "#pragma once\n", licence="")
        self.assert_breach("check_layers.py", "src/headroom/base/json.h:1: licence: ")

    def test_the_licence_follows_the_interpreter(self):
        self.write("tools/check.py", licence="#!/usr/bin/env python3\n# SPDX-License-Identifier: Apache-2.0\n")
        self.assert_clean("check_layers.py")
        self.write("tools/check.py", licence="#!/usr/bin/env python3\n")
        self.assert_breach("check_layers.py", "tools/check.py:2: licence: ")

    def test_25_files_in_a_folder_and_26(self):
        for index in range(25):
            self.write(f"src/headroom/base/text_{index}.h")
        self.write("src/headroom/base/json/text.h")
        self.assert_clean("check_layers.py")
        self.write("src/headroom/base/text.cpp")
        self.assert_breach("check_layers.py", "src/headroom/base:1: folder: 26 ")

    def test_vague_and_misspelt_names(self):
        for path in ("src/headroom/base/string_utils.cpp", "src/headroom/base/common.h", "tests/unit/helpers/a.cpp",
                     "src/headroom/base/JsonText.cpp", "src/headroom/base/json.hpp", "src/headroom/base/shared/json.h"):
            with self.subTest(path):
                self.write(path)
                self.assert_breach("check_layers.py", f"{path}:1: name: ")
                os.remove(os.path.join(self.root, path))

    def test_an_experiment_of_a_runner(self):
        self.runner("headroom_native", "")
        self.write("src/headroom_native/pool.h", "Pool* pool(State& state);\n")
        self.write("src/headroom_native/gpt_fast/gemv.h", "\nvoid gemv(State& state);\n")
        for table in ('#include "headroom_native/gpt_fast/gemv.h"\n// gemv comes later\n', 'registry.add("gemv", gemver);\n'):
            self.write("src/headroom_native/experiments.cpp", table)
            self.assert_breach("check_layers.py", "src/headroom_native/gpt_fast/gemv.h:3: table: ")
        self.write("src/headroom_native/experiments.cpp", 'registry.add("matrix", &gemv);\n')
        self.assert_clean("check_layers.py")

    def test_an_experiment_that_is_told_where_to_run(self):
        self.runner("headroom_torch", "")
        self.write("src/headroom_torch/gemv.h", "void gemv(State& state, const Place& place);\n")
        self.assert_breach("check_layers.py", "src/headroom_torch/gemv.h:2: table: ")

    def test_a_tree_without_sources(self):
        shutil.rmtree(os.path.join(self.root, "src"))
        self.assertEqual(run_tool("check_layers.py", self.root).returncode, 2)

    def test_the_summary(self):
        self.write("src/headroom/base/a.h", "#pragma once\n\nnamespace headroom {\n\nint a();\n\n}  // namespace headroom\n")
        self.write("src/headroom/base/a.cpp", '#include "headroom/base/a.h"\n')
        result = run_tool("check_layers.py", "--summary", self.root)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        lines = [line.split("  ", 1) for line in result.stdout.splitlines()]
        self.assertEqual({name: value.strip() for name, value in lines}, {
            "files": "4", "lines": "15", "median lines": "2.5", "ceremony": "73.3% of lines",
            "headers with one user": "1 of 1, besides their source", "modules": "4", "arrows": "3", "modules in circles": "0"})


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
        self.assert_breach("check_includes.py", "cmake/HeadroomSettings.cmake:1: include: add the names")


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

    def test_tests_that_ran_again_are_counted_and_named_before_the_last_line(self):
        other = self.FAILED.replace('"b"', '"a2"')
        with tempfile.NamedTemporaryFile("w", suffix=".xml") as first, tempfile.NamedTemporaryFile("w") as alone:
            first.write(f"<testsuite>{self.PASSED}{self.FAILED}{other}{self.SKIPPED}</testsuite>")
            first.flush()
            self.assertEqual(run_tool("test_summary.py", "--failed", first.name).stdout, "b\na2\n")
            passed, other_passed = self.FAILED.replace("fail", "run"), other.replace("fail", "run")
            for again, lines, code in (
                    (passed + other_passed, "2 timing tests passed only alone: a2, b\n3 passed, 0 failed, 1 skipped\n", 0),
                    (passed, "1 timing test passed only alone: b\n2 passed, 1 failed, 1 skipped\n", 1),
                    (passed + other, "1 timing test passed only alone: b\n1 timing test failed alone, too: a2\n"
                     "2 passed, 1 failed, 1 skipped\n", 1),
                    (self.FAILED, "1 timing test failed alone, too: b\n1 passed, 2 failed, 1 skipped\n", 1)):
                alone.seek(0)
                alone.truncate()
                alone.write(f"<testsuite>{again}</testsuite>")
                alone.flush()
                result = run_tool("test_summary.py", first.name, alone.name)
                self.assertEqual((result.stdout, result.returncode), (lines, code))

    def test_no_file(self):
        result = run_tool("test_summary.py", "/does/not/exist.xml")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn("/does/not/exist.xml", result.stderr)


@unittest.skipUnless(shutil.which("ctest"), "ctest is not here")
class RunTests(unittest.TestCase):
    """tools/run_tests.sh on small tests that count their runs; `flaky` ones pass from the second run on."""

    TESTS = {"steady": "", "flaky_timing": "timing", "broken_timing": "cli;timing", "flaky": "cli", "timing_by_name": "cli"}

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.register(*self.TESTS)

    def register(self, *names):
        lines = []
        for name in names:
            passes = {"steady": "true", "broken_timing": "false"}.get(name, f"test $(wc -c <{self.root}/{name}.runs) -gt 1")
            lines.append(f'add_test({name} sh -c "printf x >>{self.root}/{name}.runs; {passes}")')
            if self.TESTS[name]:
                lines.append(f'set_tests_properties({name} PROPERTIES LABELS "{self.TESTS[name]}")')
        (self.root / "CTestTestfile.cmake").write_text("\n".join(lines) + "\n")

    def run_tests(self, *arguments):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("CTEST_")}
        return subprocess.run([os.path.join(TOOLS, "run_tests.sh"), *arguments], capture_output=True, text=True, check=False,
                              env={**environment, "PYTHON": sys.executable})

    def runs(self, name):
        path = self.root / f"{name}.runs"
        return len(path.read_text()) if path.exists() else 0

    def test_only_tests_that_depend_on_a_quiet_machine_run_again_and_once(self):
        result = self.run_tests(self.root)
        self.assertEqual(result.stdout.splitlines()[-3:], [
            "1 timing test passed only alone: flaky_timing", "1 timing test failed alone, too: broken_timing",
            "2 passed, 3 failed"], result.stderr)
        self.assertEqual(result.returncode, 1)
        self.assertEqual({name: self.runs(name) for name in self.TESTS},
                         {"steady": 1, "flaky_timing": 2, "broken_timing": 2, "flaky": 1, "timing_by_name": 1})

    def test_a_timing_test_that_passes_alone_has_passed(self):
        self.register("steady", "flaky_timing")
        result = self.run_tests(self.root)
        self.assertEqual((result.returncode, result.stdout.splitlines()[-2:]),
                         (0, ["1 timing test passed only alone: flaky_timing", "2 passed, 0 failed"]), result.stderr)

    def test_any_other_failure_is_final(self):
        self.register("steady", "flaky")
        result = self.run_tests(self.root)
        self.assertEqual((result.returncode, result.stdout.splitlines()[-1]), (1, "1 passed, 1 failed"), result.stderr)
        self.assertNotIn("alone", result.stdout)
        self.assertEqual(self.runs("flaky"), 1)

    def test_once_is_once(self):
        result = self.run_tests("--once", self.root, "-R", "flaky_timing")
        self.assertEqual((result.returncode, result.stdout.splitlines()[-1]), (1, "0 passed, 1 failed"), result.stderr)
        self.assertEqual((self.runs("flaky_timing"), self.runs("steady")), (1, 0))

    def test_a_selection_without_a_test_is_a_failure(self):
        result = self.run_tests(self.root, "-L", "^nothing$")
        self.assertEqual(result.returncode, 1, result.stdout)


class Labels(unittest.TestCase):
    """`make test` and `make ci` together run all tests, and tools/run_tests.sh repeats few."""

    ROOT = pathlib.Path(TOOLS).resolve().parent

    def ctest_arguments(self, *arguments):
        """Returns the arguments that make passes to tools/run_tests.sh."""
        result = subprocess.run(["make", "-n", "-o", "build", *arguments], capture_output=True, text=True, check=True, cwd=self.ROOT,
                                env={name: value for name, value in os.environ.items() if not name.startswith("MAKE") and name != "MFLAGS"})
        line, = [line for line in result.stdout.splitlines() if "run_tests.sh" in line]
        return shlex.split(line)[3:]

    def test_make_test_leaves_out_what_make_ci_runs(self):
        self.assertEqual(self.ctest_arguments("test"), ["-LE", "^ci$"])
        self.assertEqual(self.ctest_arguments("ci"), ["-L", "^ci$"])

    def test_a_label_that_is_asked_for_is_run_whole(self):
        self.assertEqual(self.ctest_arguments("test", "CTEST_ARGS=-L native"), ["-L", "native"])
        self.assertEqual(self.ctest_arguments("test", "CTEST_ARGS=--label-regex native"), ["--label-regex", "native"])
        self.assertEqual(self.ctest_arguments("test", "CTEST_ARGS=-R cli_run"), ["-LE", "^ci$", "-R", "cli_run"])
        self.assertEqual(self.ctest_arguments("ci", "CTEST_ARGS=-R clang"), ["-L", "^ci$", "-R", "clang"])

    def labelled(self, label):
        """Returns the tests to which a CMakeLists.txt gives this label in addition to the folder's."""
        lists = [path.read_text() for path in (self.ROOT / "tests").rglob("CMakeLists.txt")]
        return [name for text in lists for names in re.findall(rf"set_property\(TEST ([\w ]+) APPEND PROPERTY LABELS {label}\)", text)
                for name in names.split()]

    def test_tests_that_build_another_build_are_for_make_ci(self):
        self.assertLessEqual({"native_clang", "native_aarch64", "native_emulated_cpu", "package_wheel", "package_deb",
                              "package_fetched_static", "package_fetched_shared"}, set(self.labelled("ci")))

    def test_ci_runs_both_and_fails_where_one_does(self):
        for failing, code in (("", 0), ("test", 1), ("ci", 1)):
            with tempfile.TemporaryDirectory() as folder, self.subTest(failing):
                make = pathlib.Path(folder) / "make"
                make.write_text(f"#!/bin/sh\necho make $1\ntest $1 != '{failing}'\n")
                make.chmod(0o755)
                result = subprocess.run([self.ROOT / ".ci/run"], capture_output=True, text=True, check=False,
                                        env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"})
                self.assertEqual((result.stdout, result.returncode), ("make test\nmake ci\n", code), result.stderr)

    def test_few_tests_depend_on_a_quiet_machine(self):
        timing = self.labelled("timing")
        self.assertEqual(len(timing), len(set(timing)))
        self.assertIn("cli_ab", timing)
        self.assertLessEqual(len(timing), 6, "make its outcome independent of the machine instead")


class Setup(unittest.TestCase):
    """tools/setup.sh without apt-get: PATH has only the script's commands."""

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
