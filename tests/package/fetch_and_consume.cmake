# SPDX-License-Identifier: Apache-2.0
# Builds CONSUMER with headroom's SOURCE (FetchContent), SHARED or static, and has PROGRAM, the command line,
# measure it.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/package_commands.cmake)
set(most_files 60)
set(most_bytes 1000000)

# ccache compiles shared files once for both kinds.
find_program(ccache ccache)
if(ccache AND NOT LAUNCHER)
  set(LAUNCHER "${ccache}")
  set(ENV{CCACHE_DIR} "${WORK}/../ccache")
  set(ENV{CCACHE_IGNOREOPTIONS} "-Dheadroom_*")  # what CMake tells shared libraries, headroom_base_EXPORTS
endif()

file(REMOVE_RECURSE "${WORK}")
set(settings "-DHEADROOM_SOURCE=${SOURCE}" -DBUILD_SHARED_LIBS=${SHARED} -DHEADROOM_PRECOMPILE=OFF "-DCMAKE_INSTALL_PREFIX=${WORK}/nowhere")
if(NOT SHARED)
  # A runner does not need these.
  list(APPEND settings -DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON -DCMAKE_DISABLE_FIND_PACKAGE_CLI11=ON)
endif()
build_consumer("${WORK}/build" ${settings})

# Only the files that the runner links are built.
file(GLOB_RECURSE objects "${WORK}/build/*.o")
list(LENGTH objects count)
message(STATUS "${count} files were compiled")
if(count GREATER most_files OR count LESS 2)
  message(FATAL_ERROR "${count} files were compiled for a runner, ${most_files} at most:\n${objects}")
endif()
file(GLOB_RECURSE libraries "${WORK}/build/libheadroom_base.so*")
if(SHARED AND NOT libraries OR libraries AND NOT SHARED)
  message(FATAL_ERROR "BUILD_SHARED_LIBS=${SHARED}, and shared libraries: '${libraries}'")
endif()

set(consumer "${WORK}/build/consumer")
run_command(strip ${STRIP} -o "${WORK}/stripped" "${consumer}")
file(SIZE "${WORK}/stripped" bytes)
message(STATUS "the stripped program has ${bytes} bytes")
if(bytes GREATER most_bytes)
  message(FATAL_ERROR "the stripped runner has ${bytes} bytes, ${most_bytes} at most")
endif()

# Headers for experiments compile quickly: no JSON readers.
run_command("the headers" ${COMPILER} -std=c++20 -M "-I${SOURCE}/src" "${CONSUMER}/consumer.cpp")
if(output MATCHES "base/json_(reader|codec)")
  message(FATAL_ERROR "a header that experiments include brings the readers of JSON:\n${output}")
endif()

run_command("run --runner" "${PROGRAM}" run --runner "${consumer}" --quick --no-store)
expect_output("run --runner" scale dot 4096 65536 single double)

# From a shell it starts the command line that HEADROOM names ...
set(ENV{HEADROOM} "${PROGRAM}")
run_command("consumer --list" "${consumer}" --list)
expect_output("consumer --list" scale dot)
# ... or the one in PATH ...
unset(ENV{HEADROOM})
cmake_path(GET PROGRAM PARENT_PATH folder)
set(ENV{PATH} "${folder}:$ENV{PATH}")
run_command("consumer --list by PATH" "${consumer}" --list)
expect_output("consumer --list by PATH" scale dot)

# ... and fails with advice if it finds only itself or nothing.
function(expect_refusal title wanted)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env ${ARGN} "${consumer}" --list
    RESULT_VARIABLE status OUTPUT_VARIABLE standard_output ERROR_VARIABLE standard_error)
  if(NOT status EQUAL 2 OR NOT standard_error MATCHES "${wanted}" OR NOT standard_output STREQUAL "")
    message(FATAL_ERROR "${title}: exit ${status}\n${standard_output}\n${standard_error}")
  endif()
endfunction()
expect_refusal("no engine" "cannot find the headroom program.*set HEADROOM=" PATH=/nowhere)
expect_refusal("HEADROOM is absent" "HEADROOM=.*not a program: set it" HEADROOM=/nowhere/headroom)
expect_refusal("HEADROOM is the runner" "is this runner: set it" "HEADROOM=${consumer}")
