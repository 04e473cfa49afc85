# SPDX-License-Identifier: Apache-2.0
# Sets HEADROOM_HAS_ONEDNN and HEADROOM_HAS_OPENBLAS (packages/peers.txt).
option(HEADROOM_PEERS "Measure oneDNN and OpenBLAS beside our kernels, where they are found" ON)
set(HEADROOM_HAS_ONEDNN FALSE)
set(HEADROOM_HAS_OPENBLAS FALSE)
if(HEADROOM_PEERS)
  # Versions 2 and 3, with one OpenMP thread in each of our threads.
  find_package(dnnl QUIET CONFIG)
  find_package(OpenMP QUIET COMPONENTS CXX)
  if(dnnl_FOUND AND NOT (dnnl_VERSION VERSION_GREATER_EQUAL 2 AND dnnl_VERSION VERSION_LESS 4
                         AND DNNL_CPU_RUNTIME MATCHES "^(OMP|SEQ)$"))
    message(STATUS "headroom-native: oneDNN ${dnnl_VERSION} (${DNNL_CPU_RUNTIME}) is not used: neither 2 nor 3, or not with OpenMP")
  elseif(dnnl_FOUND AND OpenMP_CXX_FOUND)
    set(HEADROOM_HAS_ONEDNN TRUE)
  endif()
  # It starts threads when loaded.
  pkg_check_modules(openblas QUIET openblas)
  if(openblas_FOUND)
    set(HEADROOM_HAS_OPENBLAS TRUE)
  endif()
  message(STATUS "headroom-native: peers oneDNN ${HEADROOM_HAS_ONEDNN} ${dnnl_VERSION}, OpenBLAS ${HEADROOM_HAS_OPENBLAS}")
endif()
