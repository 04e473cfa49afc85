# SPDX-License-Identifier: Apache-2.0
# Finds CUDA 12 or newer: sets HEADROOM_HAS_CUDA, makes headroom_cuda_headers and headroom_cuda_runtime
# (static). libcuda, cuBLAS, CUPTI and NVML are loaded at run time, so that headroom-cuda starts on any
# machine. Namespaces in .cu files have names: into those without, nvcc puts a hash of the build's path.
set(HEADROOM_CUDA AUTO CACHE STRING "Build headroom-cuda: ON, OFF, or AUTO (where CUDA 12 or newer is found)")
set_property(CACHE HEADROOM_CUDA PROPERTY STRINGS AUTO ON OFF)

# Sets `why` to the reason for no CUDA; empty if CMAKE_CUDA_COMPILER works.
macro(headroom_find_cuda why)
  include(CheckLanguage)
  # The toolkit's installer does not add nvcc to PATH.
  if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    find_program(HEADROOM_NVCC nvcc HINTS $ENV{CUDA_HOME}/bin PATHS /usr/local/cuda/bin)
    if(HEADROOM_NVCC)
      set(ENV{CUDACXX} ${HEADROOM_NVCC})
    endif()
  endif()
  set(${why} "")
  check_language(CUDA)
  if(NOT CMAKE_CUDA_COMPILER)
    set(${why} "no nvcc that compiles was found in PATH, CUDA_HOME, CUDACXX or /usr/local/cuda")
  else()
    execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --version OUTPUT_VARIABLE headroom_nvcc_version ERROR_QUIET)
    if(NOT headroom_nvcc_version MATCHES "release ([0-9.]+)" OR CMAKE_MATCH_1 VERSION_LESS 12)
      set(${why} "${CMAKE_CUDA_COMPILER} is not nvcc of CUDA 12 or newer")
    endif()
  endif()
endmacro()

set(HEADROOM_HAS_CUDA FALSE)
if(HEADROOM_CUDA)
  headroom_find_cuda(headroom_cuda_problem)
  if(headroom_cuda_problem AND NOT HEADROOM_CUDA STREQUAL "AUTO")
    message(FATAL_ERROR "HEADROOM_CUDA=${HEADROOM_CUDA}: ${headroom_cuda_problem}")
  elseif(headroom_cuda_problem)
    message(STATUS "headroom-cuda: not built, ${headroom_cuda_problem}")
  else()
    set(HEADROOM_HAS_CUDA TRUE)
    # Machine code for Ampere and Hopper; PTX for later devices.
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90-real 90-virtual)
    set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
    enable_language(CUDA)
    # CMake before 3.25.2 does not know that nvcc 12 supports C++20.
    if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    endif()
    set(CMAKE_CUDA_STANDARD 20)
    set(CMAKE_CUDA_EXTENSIONS OFF)
    # The module of CMake 3.25 fails with CUDA 13, which has no nvToolsExt, if a project requires 3.25.
    set(headroom_required_cmake ${CMAKE_MINIMUM_REQUIRED_VERSION})
    set(CMAKE_MINIMUM_REQUIRED_VERSION 3.24)
    find_package(CUDAToolkit REQUIRED)
    set(CMAKE_MINIMUM_REQUIRED_VERSION ${headroom_required_cmake})
    add_library(headroom_cuda_headers INTERFACE)
    target_include_directories(headroom_cuda_headers SYSTEM INTERFACE ${CUDAToolkit_INCLUDE_DIRS})
    # Kernels call constexpr host functions.
    target_compile_options(headroom_cuda_headers INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr>)
    add_library(headroom_cuda_runtime INTERFACE)
    target_link_libraries(headroom_cuda_runtime INTERFACE headroom_cuda_headers CUDA::cudart_static)
    message(STATUS "headroom-cuda: CUDA ${CUDAToolkit_VERSION}")
  endif()
endif()
