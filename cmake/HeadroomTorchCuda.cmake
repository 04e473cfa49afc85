# SPDX-License-Identifier: Apache-2.0
# headroom-torch-cuda, ATen on a GPU, if libtorch has CUDA of nvcc's major version: sets
# HEADROOM_HAS_TORCH_CUDA and makes headroom_torch_cuda_libraries. A program can have only one CUDA runtime:
# libtorch's.

# Sets `why` to the reason, or HEADROOM_TORCH_CUDART to libtorch's runtime.
function(headroom_find_torch_cuda root why)
  set(${why} "" PARENT_SCOPE)
  if(NOT HEADROOM_HAS_CUDA)
    set(${why} "nvcc of CUDA 12 or newer was not found" PARENT_SCOPE)
    return()
  endif()
  headroom_find_torch_cudart(${root} name)
  if(NOT name MATCHES "\\.so\\.([0-9]+)")
    set(${why} "${root}/lib/libc10_cuda.so does not name the CUDA runtime that it needs" PARENT_SCOPE)
    return()
  endif()
  set(major ${CMAKE_MATCH_1})
  if(NOT major EQUAL CUDAToolkit_VERSION_MAJOR)
    set(${why} "libtorch was built with CUDA ${major}, nvcc is of ${CUDAToolkit_VERSION}" PARENT_SCOPE)
    return()
  endif()
  if(NOT HEADROOM_TORCH_CUDART)
    set(${why} "${name}, which libtorch needs, was found neither beside it nor in the CUDA toolkit" PARENT_SCOPE)
  endif()
endfunction()

set(HEADROOM_HAS_TORCH_CUDA FALSE)
if(HEADROOM_HAS_TORCH AND HEADROOM_TORCH_CONFIG AND EXISTS ${headroom_torch_root}/lib/libtorch_cuda.so)
  headroom_find_torch_cuda(${headroom_torch_root} headroom_torch_cuda_problem)
  if(headroom_torch_cuda_problem)
    message(STATUS "headroom-torch-cuda: not built, ${headroom_torch_cuda_problem}")
  else()
    set(HEADROOM_HAS_TORCH_CUDA TRUE)
    add_library(headroom_torch_cuda_libraries INTERFACE)
    # Kernels register themselves when the library is loaded.
    target_link_libraries(headroom_torch_cuda_libraries INTERFACE headroom_torch_libraries
      -Wl,--push-state,--no-as-needed ${headroom_torch_root}/lib/libtorch_cuda.so ${headroom_torch_root}/lib/libc10_cuda.so
      ${HEADROOM_TORCH_CUDART} -Wl,--pop-state)
    message(STATUS "headroom-torch-cuda: ${HEADROOM_TORCH_CUDART}")
  endif()
endif()
