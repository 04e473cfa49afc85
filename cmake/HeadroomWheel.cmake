# SPDX-License-Identifier: Apache-2.0
# `make wheel`: the target headroom_wheel writes a wheel of the command line, the runner of the CPU and the package of Python to the
# build folder.
# What is loaded while they run is named here, because no file says so; libpq is not among it: who keeps a history in
# PostgreSQL has it, and who has not is told.
set(headroom_loaded --load ${HEADROOM_SIMDJSON})
if(HEADROOM_ISAL)
  list(APPEND headroom_loaded --load ${HEADROOM_ISAL})
endif()
find_program(HEADROOM_PYTHON NAMES python3 HINTS /usr/bin REQUIRED)
set(headroom_wheel_prefix ${PROJECT_BINARY_DIR}/wheel)
add_custom_target(headroom_wheel
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${headroom_wheel_prefix}
  COMMAND ${CMAKE_COMMAND} --install ${PROJECT_BINARY_DIR} --component headroom --strip --prefix ${headroom_wheel_prefix}
    > ${PROJECT_BINARY_DIR}/wheel_install.log
  COMMAND ${CMAKE_COMMAND} --install ${PROJECT_BINARY_DIR} --component python --strip --prefix ${headroom_wheel_prefix}
    >> ${PROJECT_BINARY_DIR}/wheel_install.log
  COMMAND ${HEADROOM_PYTHON} ${PROJECT_SOURCE_DIR}/tools/make_wheel.py ${headroom_wheel_prefix} ${PROJECT_BINARY_DIR}
    ${headroom_loaded}
  VERBATIM)
add_dependencies(headroom_wheel headroom_programs headroom_manual)
if(TARGET headroom_python)
  add_dependencies(headroom_wheel headroom_python)
endif()
if(TARGET headroom_opencl_suite)
  add_dependencies(headroom_wheel headroom_opencl_suite)
endif()
