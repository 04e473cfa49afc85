# SPDX-License-Identifier: Apache-2.0
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
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

set(HEADROOM_WARNINGS
  -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wconversion -Wno-sign-conversion
  # False overlapping copies in string concatenations (GCC bug 105651).
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>
  "$<$<AND:$<BOOL:${HEADROOM_PRECOMPILE}>,$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-stringop-overflow;-Wno-array-bounds>"
  # False for functions that return a part of their first argument (GCC 13 and newer).
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_GREATER_EQUAL:$<CXX_COMPILER_VERSION>,13>>:-Wno-dangling-reference>
  # GCC 12 has false positives for aggregate members.
  "$<$<BOOL:${HEADROOM_WERROR}>:-Werror;-Wno-error=maybe-uninitialized>")
add_library(headroom_warnings INTERFACE)
# nvcc passes generated code, which triggers more warnings, to the same compiler.
target_compile_options(headroom_warnings INTERFACE
  "$<$<NOT:$<COMPILE_LANGUAGE:CUDA>>:${HEADROOM_WARNINGS}>"
  "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra$<$<BOOL:${HEADROOM_WERROR}>:;-Xcompiler=-Werror;-Werror=all-warnings>>")

# Code that runs for milliseconds: optimise for compile time.
add_library(headroom_quickly_compiled INTERFACE)
target_compile_options(headroom_quickly_compiled INTERFACE $<$<CONFIG:Release>:-Og>)

set(HEADROOM_LIBRARY_HEADERS
  <algorithm> <array> <chrono> <cmath> <cstdint> <filesystem> <functional> <map> <memory> <optional> <set> <span> <string>
  <string_view> <utility> <variant> <vector> <fmt/format.h>)

set(CMAKE_PCH_WARN_INVALID OFF)  # a refused one is included as text
# headroom_precompile(TARGET): uses one precompiled header; headroom_torch and unit tests have others.
function(headroom_precompile target)
  if(NOT HEADROOM_PRECOMPILE)
    return()
  endif()
  if(NOT TARGET headroom_precompiled)
    file(WRITE ${PROJECT_BINARY_DIR}/precompiled.cpp "")
    add_library(headroom_precompiled OBJECT ${PROJECT_BINARY_DIR}/precompiled.cpp)
    target_compile_features(headroom_precompiled PRIVATE cxx_std_20)
    target_link_libraries(headroom_precompiled PRIVATE headroom_warnings headroom_fmt Threads::Threads)
    target_precompile_headers(headroom_precompiled PRIVATE ${HEADROOM_LIBRARY_HEADERS})
    # GCC 13 and newer refuse headers precompiled at -O2 or above in a module below it, as most are, and the reverse.
    # GCC 12 takes both, and crashes on the reverse.
    target_compile_options(headroom_precompiled PRIVATE
      $<$<AND:$<CONFIG:Release>,$<CXX_COMPILER_ID:GNU>,$<VERSION_GREATER_EQUAL:$<CXX_COMPILER_VERSION>,13>>:-O1>)
  endif()
  target_precompile_headers(${target} REUSE_FROM headroom_precompiled)
endfunction()

# For fast program start: link no unneeded libraries, drop unused functions.
add_link_options(-Wl,--as-needed)
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-ffunction-sections> $<$<COMPILE_LANGUAGE:CXX>:-fdata-sections>)
add_link_options(-Wl,--gc-sections)
