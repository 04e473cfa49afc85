# SPDX-License-Identifier: Apache-2.0
# oneDNN and OpenBLAS, where they are found: sets HEADROOM_HAS_ONEDNN and HEADROOM_HAS_OPENBLAS. packages/peers.txt.
option(HEADROOM_PEERS "Measure oneDNN and OpenBLAS beside our kernels, where they are found" ON)
set(HEADROOM_HAS_ONEDNN FALSE)
set(HEADROOM_HAS_OPENBLAS FALSE)
if(HEADROOM_PEERS)
  # Version 2: in 3 the descriptors of operations are gone.
  find_package(dnnl 2 QUIET CONFIG)
  find_package(OpenMP QUIET COMPONENTS CXX)
  if(dnnl_FOUND AND OpenMP_CXX_FOUND)
    set(HEADROOM_HAS_ONEDNN TRUE)
  endif()
  # Loaded at run time: it starts threads as soon as it is.
  pkg_check_modules(openblas QUIET openblas)
  if(openblas_FOUND)
    set(HEADROOM_HAS_OPENBLAS TRUE)
  endif()
  message(STATUS "headroom-native: peers oneDNN ${HEADROOM_HAS_ONEDNN}, OpenBLAS ${HEADROOM_HAS_OPENBLAS}")
endif()
