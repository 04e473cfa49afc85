# SPDX-License-Identifier: Apache-2.0
# libtorch, where it is wanted and found: sets HEADROOM_HAS_TORCH and makes headroom_torch_libraries.
# Debian's libtorch-dev is found as it is; any other through CMAKE_PREFIX_PATH (docs/torch.md).
set(HEADROOM_TORCH AUTO CACHE STRING "Build headroom-torch: ON, OFF, or AUTO (where libtorch is found)")
set_property(CACHE HEADROOM_TORCH PROPERTY STRINGS AUTO ON OFF)

# A libtorch with CUDA in it: its TorchConfig insists on the CUDA toolkit that it was built with, of which nothing is
# needed here. Its CPU part is linked as it lies: headers, libtorch_cpu, libc10.
function(headroom_use_torch_cpu root)
  add_library(headroom_torch_libraries INTERFACE)
  target_link_libraries(headroom_torch_libraries INTERFACE ${root}/lib/libtorch_cpu.so ${root}/lib/libc10.so)
  target_include_directories(headroom_torch_libraries SYSTEM INTERFACE
    ${root}/include ${root}/include/torch/csrc/api/include)
  # It brings the headers of an {fmt} of its own, which come first: what they declare is in no library here.
  if(EXISTS ${root}/include/fmt)
    target_link_libraries(headroom_torch_libraries INTERFACE fmt::fmt-header-only)
  endif()
  # As in Caffe2Targets.cmake of every build for Linux.
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
    message(STATUS "headroom-torch: the CPU part of ${headroom_torch_root}")
  else()
    # TorchConfig changes flags of the whole project; they go to the one target that is linked with it.
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
