# SPDX-License-Identifier: Apache-2.0
# Installs BUILD below WORK and builds CONSUMER against it.
cmake_minimum_required(VERSION 3.25)

include(${CMAKE_CURRENT_LIST_DIR}/package_commands.cmake)

file(REMOVE_RECURSE "${WORK}")
set(prefix "${WORK}/prefix")
run_command(install ${CMAKE_COMMAND} --install "${BUILD}" --prefix "${prefix}")
foreach(file bin/headroom bin/headroom-native bin/headroom-pages bin/headroom-trace include/headroom/experiment/state.h)
  if(NOT EXISTS "${prefix}/${file}")
    message(FATAL_ERROR "not installed: ${prefix}/${file}")
  endif()
endforeach()

# The package must be independent of the build tree ...
file(GLOB_RECURSE package_files "${prefix}/*.cmake")
foreach(file IN LISTS package_files)
  file(READ "${file}" text)
  foreach(folder "${SOURCE}" "${BUILD}")
    string(FIND "${text}" "${folder}/" position)
    if(NOT position EQUAL -1)
      message(FATAL_ERROR "${file} names ${folder}")
    endif()
  endforeach()
endforeach()

# ... with include folders also for CMake before 3.23, which skips file sets ...
foreach(export headroomRunnerTargets headroomTargets)
  file(READ "${prefix}/${LIBDIR}/cmake/headroom/${export}.cmake" text)
  string(REGEX MATCHALL "add_library\\(headroom::[a-z_]+ STATIC" libraries "${text}")
  string(REGEX MATCHALL "INTERFACE_INCLUDE_DIRECTORIES \"[^\"]*/include" folders "${text}")
  list(LENGTH libraries wanted)
  list(LENGTH folders count)
  if(wanted EQUAL 0 OR count LESS wanted)
    message(FATAL_ERROR "${export}.cmake: ${count} of ${wanted} libraries have an include folder")
  endif()
endforeach()

# ... and of the install prefix.
file(RENAME "${prefix}" "${WORK}/moved")
set(prefix "${WORK}/moved")

build_consumer("${WORK}/build" "-DCMAKE_PREFIX_PATH=${prefix}" "-DWANTED_VERSION=${VERSION}"
  -DWANTED_COMPONENTS=runner -DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON)
build_consumer("${WORK}/standalone" "-DCMAKE_PREFIX_PATH=${prefix}" "-DWANTED_VERSION=${VERSION}" -DWANTED_COMPONENTS=headroom
  -DMAIN=standalone)

find_program(pkg_config pkg-config)
if(pkg_config)
  set(ENV{PKG_CONFIG_PATH} "${prefix}/${LIBDIR}/pkgconfig")
  run_command(pkg-config ${pkg_config} --cflags --libs headroom-runner)
  separate_arguments(flags UNIX_COMMAND "${FLAGS} ${output}")
  run_command("compile by pkg-config" ${COMPILER} -std=c++20 "${CONSUMER}/consumer.cpp" ${flags} -o "${WORK}/by_pkg_config")
endif()

# From a shell, a runner starts `headroom run` (HEADROOM).
set(ENV{HEADROOM} "${prefix}/bin/headroom")
foreach(program build/consumer by_pkg_config)
  if(EXISTS "${WORK}/${program}")
    run_command("${program} --list" "${WORK}/${program}" --list)
    expect_output("${program} --list" scale dot)
  endif()
endforeach()
run_command("consumer --quick" "${WORK}/build/consumer" --quick --no-store)
expect_output("consumer --quick" scale dot 4096 65536 single double)

# headroom::standalone needs no other program.
set(ENV{HEADROOM} /nowhere)
run_command("standalone --quick" "${WORK}/standalone/consumer" dot --quick --no-store)
expect_output("standalone --quick" dot single double)
