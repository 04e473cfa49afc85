# SPDX-License-Identifier: Apache-2.0
# `make wheel`. Libraries loaded at run time are listed here, without libpq: users with a history in
# PostgreSQL have it.
set(headroom_wheel_options --load ${HEADROOM_SIMDJSON})
if(HEADROOM_ISAL)
  list(APPEND headroom_wheel_options --load ${HEADROOM_ISAL})
endif()
if(HEADROOM_OLD_GLIBC)
  list(APPEND headroom_wheel_options --glibc ${HEADROOM_OLD_GLIBC_VERSION} --machine ${HEADROOM_MACHINE})
  if(HEADROOM_ROOT)
    list(APPEND headroom_wheel_options --root ${HEADROOM_ROOT})
  endif()
endif()
find_program(HEADROOM_PYTHON NAMES python3 HINTS /usr/bin REQUIRED)
set(headroom_wheel_prefix ${PROJECT_BINARY_DIR}/wheel)
add_custom_target(headroom_wheel
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${headroom_wheel_prefix}
  COMMAND ${CMAKE_COMMAND} --install ${PROJECT_BINARY_DIR} --component headroom --strip --prefix ${headroom_wheel_prefix}
    > ${PROJECT_BINARY_DIR}/wheel_install.log
  COMMAND ${CMAKE_COMMAND} --install ${PROJECT_BINARY_DIR} --component python --strip --prefix ${headroom_wheel_prefix}
    >> ${PROJECT_BINARY_DIR}/wheel_install.log
  COMMAND ${HEADROOM_PYTHON} ${PROJECT_SOURCE_DIR}/tools/make_wheel.py ${headroom_wheel_prefix} ${PROJECT_BINARY_DIR} ${PROJECT_VERSION}
    ${headroom_wheel_options}
  VERBATIM)
add_dependencies(headroom_wheel headroom_programs headroom_manual)
if(TARGET headroom_python)
  add_dependencies(headroom_wheel headroom_python)
endif()
if(TARGET headroom_opencl_suite)
  add_dependencies(headroom_wheel headroom_opencl_suite)
endif()

# headroom-cuda alone, for headroom[cuda].
if(HEADROOM_HAS_CUDA)
  set(headroom_cuda_wheel_prefix ${PROJECT_BINARY_DIR}/cuda_wheel)
  add_custom_target(headroom_cuda_wheel
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${headroom_cuda_wheel_prefix}
    COMMAND ${CMAKE_COMMAND} --install ${PROJECT_BINARY_DIR} --component cuda --strip --prefix ${headroom_cuda_wheel_prefix}
      > ${PROJECT_BINARY_DIR}/cuda_wheel_install.log
    COMMAND ${HEADROOM_PYTHON} ${PROJECT_SOURCE_DIR}/tools/make_cuda_wheel.py ${headroom_cuda_wheel_prefix}
      ${PROJECT_BINARY_DIR} ${PROJECT_VERSION} ${CUDAToolkit_VERSION}
    VERBATIM)
  add_dependencies(headroom_cuda_wheel headroom_cuda_program)
else()
  if(NOT HEADROOM_CUDA)
    set(headroom_cuda_problem "HEADROOM_CUDA=${HEADROOM_CUDA}")
  endif()
  add_custom_target(headroom_cuda_wheel
    COMMAND ${CMAKE_COMMAND} -E echo "wheel of headroom-cuda: not built, ${headroom_cuda_problem}" VERBATIM)
endif()
add_custom_target(headroom_wheels)
add_dependencies(headroom_wheels headroom_wheel headroom_cuda_wheel)
