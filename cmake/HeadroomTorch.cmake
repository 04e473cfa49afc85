# SPDX-License-Identifier: Apache-2.0
# libtorch, where it is wanted and found: sets HEADROOM_HAS_TORCH and makes headroom_torch_libraries.
# Debian's libtorch-dev is found as it is; any other through CMAKE_PREFIX_PATH.
set(HEADROOM_TORCH AUTO CACHE STRING "Build headroom-torch: ON, OFF, or AUTO (where libtorch is found)")
set_property(CACHE HEADROOM_TORCH PROPERTY STRINGS AUTO ON OFF)

set(HEADROOM_HAS_TORCH FALSE)
if(HEADROOM_TORCH)
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
    add_library(headroom_torch_libraries INTERFACE)
    target_link_libraries(headroom_torch_libraries INTERFACE ${TORCH_LIBRARIES})
    target_include_directories(headroom_torch_libraries SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})
    separate_arguments(headroom_torch_flags NATIVE_COMMAND "${TORCH_CXX_FLAGS}")
    target_compile_options(headroom_torch_libraries INTERFACE ${headroom_torch_flags})
    message(STATUS "headroom-torch: libtorch ${Torch_VERSION}")
  else()
    message(STATUS "headroom-torch: not built, libtorch was not found (Debian: libtorch-dev)")
  endif()
endif()
