# SPDX-License-Identifier: Apache-2.0
# Language level, warnings and output folders: the same for every target.
include(GNUInstallDirs)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(BUILD_SHARED_LIBS)
  set(CMAKE_INSTALL_RPATH $ORIGIN/../${CMAKE_INSTALL_LIBDIR})
endif()
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

set(HEADROOM_WARNINGS
  -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wconversion -Wno-sign-conversion
  # GCC 12 sees overlapping copies in string concatenations that are none (GCC bug 105651), and with precompiled headers
  # the same under two names more.
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>
  "$<$<AND:$<BOOL:${HEADROOM_PRECOMPILE}>,$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-stringop-overflow;-Wno-array-bounds>"
  # It also sees members of aggregates that are not initialised where they are: no reason to stop.
  "$<$<BOOL:${HEADROOM_WERROR}>:-Werror;-Wno-error=maybe-uninitialized>")
add_library(headroom_warnings INTERFACE)
# nvcc hands the host's part of a .cu file to the same compiler; what it writes itself there is not clean of more than these.
target_compile_options(headroom_warnings INTERFACE
  "$<$<NOT:$<COMPILE_LANGUAGE:CUDA>>:${HEADROOM_WARNINGS}>"
  "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra$<$<BOOL:${HEADROOM_WERROR}>:;-Xcompiler=-Werror;-Werror=all-warnings>>")

# Options, tables and tests run for milliseconds: what they cost is their compilation.
add_library(headroom_quickly_compiled INTERFACE)
target_compile_options(headroom_quickly_compiled INTERFACE $<$<CONFIG:Release>:-O1>)

# The headers that most files of the library, of the command line and of the unit tests include.
set(HEADROOM_LIBRARY_HEADERS
  <algorithm> <array> <cmath> <cstdint> <filesystem> <functional> <map> <memory> <optional> <span> <string> <string_view>
  <utility> <vector> <fmt/format.h>)
set(HEADROOM_CLI_HEADERS <CLI/CLI.hpp> <filesystem> <map> <optional> <fmt/format.h>)
set(HEADROOM_TEST_HEADERS <gmock/gmock.h> <nlohmann/json.hpp> <fmt/format.h>)

# Precompiles headers for a target, or takes those of another: headroom_precompile(TARGET HEADER... | REUSE_FROM OTHER).
# headroom_torch has its own, always.
function(headroom_precompile target)
  if(NOT HEADROOM_PRECOMPILE)
    return()
  endif()
  if(ARGV1 STREQUAL "REUSE_FROM")
    target_precompile_headers(${target} REUSE_FROM ${ARGV2})
  else()
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
endfunction()

# Where HEADROOM_UNITY is set, compiles the files of each folder of a target together, eight at a time, which takes half the
# time: headroom_compile_together(TARGET [FOLDER...]), the files of these folders each by itself. Of one folder only, so that
# who links a static library gets little more of it than he calls; tools/check_names.py sees to it that they can.
function(headroom_compile_together target)
  if(NOT HEADROOM_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source)
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE name)
    cmake_path(GET name PARENT_PATH folder)
    if((folder AND folder IN_LIST ARGN) OR NOT name MATCHES "[.]cpp$")
      continue()
    endif()
    string(MAKE_C_IDENTIFIER "${folder}" group)
    math(EXPR batch "(${count_${group}} + 0) / 8")
    math(EXPR count_${group} "${count_${group}} + 1")
    set_source_files_properties(${source} TARGET_DIRECTORY ${target} PROPERTIES UNITY_GROUP ${target}_${group}_${batch})
  endforeach()
endfunction()

# Programs of ours start fast: no library that is not needed, none bound before use.
add_link_options(-Wl,--as-needed)
# Nor with what they never call, which files compiled together bring along.
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-ffunction-sections> $<$<COMPILE_LANGUAGE:CXX>:-fdata-sections>)
add_link_options(-Wl,--gc-sections)
