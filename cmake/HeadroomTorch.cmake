# SPDX-License-Identifier: Apache-2.0
# Sets HEADROOM_HAS_TORCH and makes headroom_torch_libraries (docs/how-to/torch.md).
set(HEADROOM_TORCH AUTO CACHE STRING
  "Build headroom-torch: ON, OFF, AUTO (where libtorch is found), the folder of a libtorch, or python (the torch that python3 imports)")
set_property(CACHE HEADROOM_TORCH PROPERTY STRINGS AUTO ON OFF python)

# Does not import torch, which takes seconds and may fail without a GPU.
function(headroom_torch_of_python folder)
  set(find "import importlib.util as u; s = u.find_spec('torch'); print(s.submodule_search_locations[0] if s else '')")
  execute_process(COMMAND python3 -c "${find}" OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE status
    ERROR_QUIET)
  if(NOT status EQUAL 0 OR found STREQUAL "")
    message(FATAL_ERROR "HEADROOM_TORCH=python: python3 in PATH has no module torch; activate the virtual environment that "
      "has it (or pip install torch), or name its folder: -DHEADROOM_TORCH=/path/to/site-packages/torch")
  endif()
  set(${folder} ${found} PARENT_SCOPE)
endfunction()

function(headroom_use_torch_in folder)
  get_filename_component(root "${folder}" ABSOLUTE BASE_DIR ${PROJECT_SOURCE_DIR})
  if(NOT EXISTS ${root}/share/cmake/Torch/TorchConfig.cmake)
    message(FATAL_ERROR "HEADROOM_TORCH=${HEADROOM_TORCH}: no libtorch is in ${root} (it has no "
      "share/cmake/Torch/TorchConfig.cmake); give the folder that python3 -c 'import torch; print(torch.__path__[0])' prints, "
      "that of an unpacked libtorch, or one of AUTO, ON, OFF, python")
  endif()
  set(Torch_DIR ${root}/share/cmake/Torch CACHE PATH "Set by HEADROOM_TORCH" FORCE)
  set(HEADROOM_TORCH_CONFIG ${Torch_DIR} CACHE PATH "Set by HEADROOM_TORCH" FORCE)
  set(CMAKE_PREFIX_PATH ${root} ${CMAKE_PREFIX_PATH} PARENT_SCOPE)
endfunction()

if(HEADROOM_TORCH STREQUAL "python")
  headroom_torch_of_python(headroom_torch_folder)
  headroom_use_torch_in("${headroom_torch_folder}")
elseif(NOT HEADROOM_TORCH MATCHES "^(AUTO|ON|OFF|TRUE|FALSE|YES|NO|0|1)$")
  headroom_use_torch_in("${HEADROOM_TORCH}")
endif()

set(HEADROOM_TORCH_GLOO "" CACHE PATH
  "Source tree of the gloo that a libtorch 2.x was built with, for its headers; without it its ranks have no gloo")
option(HEADROOM_TORCH_NCCL "Ranks may use NCCL: needs a libtorch with CUDA, and the headers of CUDA and NCCL" OFF)

# PyPI builds of 2.x lack gloo's headers: writes its config.h.
function(headroom_use_gloo_headers)
  if(NOT EXISTS ${HEADROOM_TORCH_GLOO}/gloo/config.h.in)
    message(FATAL_ERROR "HEADROOM_TORCH_GLOO=${HEADROOM_TORCH_GLOO} is no source tree of gloo: it has no gloo/config.h.in")
  endif()
  set(GLOO_VERSION_MAJOR 0)
  set(GLOO_VERSION_MINOR 5)
  set(GLOO_VERSION_PATCH 0)
  set(GLOO_HAVE_TRANSPORT_TCP ON)
  configure_file(${HEADROOM_TORCH_GLOO}/gloo/config.h.in ${PROJECT_BINARY_DIR}/gloo_headers/gloo/config.h)
  target_include_directories(headroom_torch_libraries SYSTEM INTERFACE
    ${PROJECT_BINARY_DIR}/gloo_headers ${HEADROOM_TORCH_GLOO})
  target_compile_definitions(headroom_torch_libraries INTERFACE HEADROOM_TORCH_GLOO)
endfunction()

# Sets `name` (empty if unknown) and HEADROOM_TORCH_CUDART, if found: libtorch's CUDA runtime, the only one
# that a program can have.
function(headroom_find_torch_cudart root name)
  # The names of needed libraries are among the strings of a library.
  file(STRINGS ${root}/lib/libc10_cuda.so needed REGEX "^libcudart[^/]*\\.so\\.[0-9.]+$")
  if(NOT needed MATCHES "(libcudart[^/;]*\\.so\\.[0-9.]+)")
    set(${name} "" PARENT_SCOPE)
    return()
  endif()
  set(${name} ${CMAKE_MATCH_1} PARENT_SCOPE)
  file(GLOB packages ${root}/../nvidia/cu*/lib ${root}/../nvidia/cuda_runtime/lib)
  find_file(HEADROOM_TORCH_CUDART ${CMAKE_MATCH_1}
    PATHS ${root}/lib ${packages} ${CUDAToolkit_LIBRARY_DIR} /usr/local/cuda/lib64 NO_DEFAULT_PATH)
endfunction()

# headroom_torch_nccl: libtorch's CUDA part, for NCCL process groups. Headers come from the toolkit or
# PyTorch's PyPI packages.
function(headroom_use_nccl root)
  file(GLOB packages ${root}/../nvidia/cu*/include ${root}/../nvidia/cuda_runtime/include)
  find_path(HEADROOM_CUDA_HEADERS cuda_runtime_api.h HINTS ${packages} /usr/local/cuda/include)
  find_path(HEADROOM_NCCL_HEADERS nccl.h HINTS ${root}/../nvidia/nccl/include)
  if(NOT HEADROOM_CUDA_HEADERS OR NOT HEADROOM_NCCL_HEADERS)
    message(FATAL_ERROR "HEADROOM_TORCH_NCCL: no cuda_runtime_api.h or no nccl.h: name their folders with "
      "-DHEADROOM_CUDA_HEADERS=DIR -DHEADROOM_NCCL_HEADERS=DIR")
  endif()
  headroom_find_torch_cudart(${root} cudart)
  if(NOT HEADROOM_TORCH_CUDART)
    message(FATAL_ERROR "HEADROOM_TORCH_NCCL: libtorch's CUDA runtime ${cudart} was found neither beside it nor in "
      "/usr/local/cuda: name the file with -DHEADROOM_TORCH_CUDART=FILE")
  endif()
  add_library(headroom_torch_nccl INTERFACE)
  target_include_directories(headroom_torch_nccl SYSTEM INTERFACE ${HEADROOM_CUDA_HEADERS} ${HEADROOM_NCCL_HEADERS})
  target_compile_definitions(headroom_torch_nccl INTERFACE USE_C10D_NCCL)
  target_link_libraries(headroom_torch_nccl INTERFACE
    ${root}/lib/libtorch_cuda.so ${root}/lib/libc10_cuda.so ${HEADROOM_TORCH_CUDART})
endfunction()

# TorchConfig of a CUDA build requires its CUDA toolkit; this links only the CPU part.
function(headroom_use_torch_cpu root)
  add_library(headroom_torch_libraries INTERFACE)
  target_link_libraries(headroom_torch_libraries INTERFACE ${root}/lib/libtorch_cpu.so ${root}/lib/libc10.so)
  target_include_directories(headroom_torch_libraries SYSTEM INTERFACE
    ${root}/include ${root}/include/torch/csrc/api/include)
  # No library defines what its bundled {fmt} headers declare.
  if(EXISTS ${root}/include/fmt)
    target_link_libraries(headroom_torch_libraries INTERFACE fmt::fmt-header-only)
  endif()
  # As in Caffe2Targets.cmake of every Linux build.
  target_compile_definitions(headroom_torch_libraries INTERFACE USE_DISTRIBUTED USE_C10D_GLOO)
  file(STRINGS ${root}/share/cmake/Torch/TorchConfig.cmake flags REGEX "_GLIBCXX_USE_CXX11_ABI=[01]")
  if(flags MATCHES "_GLIBCXX_USE_CXX11_ABI=0")
    message(FATAL_ERROR "${root} was built with the ABI that libstdc++ had before C++11, which nothing else here has; "
      "take libtorch's cxx11-abi download, or a PyTorch of 2.7 or newer from PyPI")
  endif()
endfunction()

function(headroom_use_torch_package)
  add_library(headroom_torch_libraries INTERFACE)
  foreach(folder ${TORCH_INCLUDE_DIRS})
    if(EXISTS ${folder}/fmt AND NOT folder MATCHES "^/usr/include")
      target_link_libraries(headroom_torch_libraries INTERFACE fmt::fmt-header-only)
    endif()
  endforeach()
  target_link_libraries(headroom_torch_libraries INTERFACE ${TORCH_LIBRARIES})
  target_include_directories(headroom_torch_libraries SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})
  separate_arguments(flags NATIVE_COMMAND "${TORCH_CXX_FLAGS}")
  target_compile_options(headroom_torch_libraries INTERFACE ${flags})
endfunction()

set(HEADROOM_HAS_TORCH FALSE)
if(HEADROOM_TORCH)
  find_path(HEADROOM_TORCH_CONFIG TorchConfig.cmake PATHS ${CMAKE_PREFIX_PATH} ${Torch_DIR}
    PATH_SUFFIXES Torch share/cmake/Torch NO_DEFAULT_PATH)
  cmake_path(SET headroom_torch_root NORMALIZE "${HEADROOM_TORCH_CONFIG}/../../..")
  if(HEADROOM_TORCH_CONFIG AND EXISTS ${headroom_torch_root}/lib/libtorch_cuda.so)
    set(HEADROOM_HAS_TORCH TRUE)
    headroom_use_torch_cpu(${headroom_torch_root})
    if(HEADROOM_TORCH_NCCL)
      headroom_use_nccl(${headroom_torch_root})
    endif()
    message(STATUS "headroom-torch: the CPU part of ${headroom_torch_root}")
  else()
    # TorchConfig changes the flags of the whole project.
    set(headroom_flags_before "${CMAKE_CXX_FLAGS}")
    if(HEADROOM_TORCH STREQUAL "AUTO")
      find_package(Torch QUIET)
    else()
      find_package(Torch REQUIRED)
    endif()
    set(CMAKE_CXX_FLAGS "${headroom_flags_before}")
    if(Torch_FOUND OR TORCH_FOUND)
      set(HEADROOM_HAS_TORCH TRUE)
      headroom_use_torch_package()
      message(STATUS "headroom-torch: libtorch ${Torch_VERSION}")
    else()
      message(STATUS "headroom-torch: not built, libtorch was not found (Debian: libtorch-dev)")
    endif()
  endif()
endif()
if(HEADROOM_HAS_TORCH AND HEADROOM_TORCH_GLOO)
  headroom_use_gloo_headers()
endif()
if(HEADROOM_TORCH_NCCL AND NOT TARGET headroom_torch_nccl)
  message(FATAL_ERROR "HEADROOM_TORCH_NCCL: the libtorch that was found has no CUDA in it")
endif()
# Tests compile packages with the Python of a libtorch from PyPI.
if(HEADROOM_TORCH_CONFIG AND EXISTS ${headroom_torch_root}/__init__.py)
  find_program(HEADROOM_TORCH_PYTHON NAMES python3 PATHS ${headroom_torch_root}/../../../../bin NO_DEFAULT_PATH)
endif()
