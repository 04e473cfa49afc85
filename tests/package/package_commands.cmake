# SPDX-License-Identifier: Apache-2.0

# Sets `output` to the command's standard output. Fails the test unless it exits with 0.
function(run_command title)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE standard_output ERROR_VARIABLE standard_error)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${title}: exit ${status}\n${standard_output}\n${standard_error}")
  endif()
  message(STATUS "${title}: done")
  set(output "${standard_output}" PARENT_SCOPE)
endfunction()

function(expect_output title)
  foreach(wanted IN LISTS ARGN)
    string(FIND "${output}" "${wanted}" position)
    if(position EQUAL -1)
      message(FATAL_ERROR "${title}: '${wanted}' is not in its output:\n${output}")
    endif()
  endforeach()
endfunction()

# ARGN: additional arguments to cmake.
function(build_consumer build_folder)
  run_command(configure ${CMAKE_COMMAND} -S "${CONSUMER}" -B "${build_folder}" -G "${GENERATOR}"
    "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}" "-DCMAKE_CXX_FLAGS=${FLAGS}"
    -DCMAKE_BUILD_TYPE=Release ${ARGN})
  run_command(build ${CMAKE_COMMAND} --build "${build_folder}")
endfunction()
