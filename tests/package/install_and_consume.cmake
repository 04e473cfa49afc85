# SPDX-License-Identifier: Apache-2.0
# Installs BUILD (made from SOURCE) under WORK, builds CONSUMER against that, runs it, and checks what it prints.
cmake_minimum_required(VERSION 3.25)

# Runs a command; sets `output` to its standard output. Fails the test unless it exits with 0.
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

file(REMOVE_RECURSE "${WORK}")
set(prefix "${WORK}/prefix")
run_command(install ${CMAKE_COMMAND} --install "${BUILD}" --prefix "${prefix}")
foreach(file bin/headroom bin/headroom-native include/headroom/experiment/state.h)
  if(NOT EXISTS "${prefix}/${file}")
    message(FATAL_ERROR "not installed: ${prefix}/${file}")
  endif()
endforeach()

# The package must hold no path of the tree that it was built in: it would work here and nowhere else.
file(GLOB_RECURSE package_files "${prefix}/*.cmake")
foreach(file IN LISTS package_files)
  file(READ "${file}" text)
  foreach(folder "${SOURCE}" "${BUILD}")
    string(FIND "${text}" "${folder}/" position)
    if(NOT position EQUAL -1)
      message(FATAL_ERROR "${file} names ${folder}")
    endif()
  endforeach()
endforeach()

# Moved after the install: a package must not depend on where it was put either.
file(RENAME "${prefix}" "${WORK}/moved")
set(prefix "${WORK}/moved")

run_command(configure ${CMAKE_COMMAND} -S "${CONSUMER}" -B "${WORK}/build" -G "${GENERATOR}"
  "-DCMAKE_PREFIX_PATH=${prefix}" "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}"
  "-DCMAKE_CXX_FLAGS=${FLAGS}" -DCMAKE_BUILD_TYPE=Release "-DWANTED_VERSION=${VERSION}")
run_command(build ${CMAKE_COMMAND} --build "${WORK}/build")

set(consumer "${WORK}/build/consumer")
run_command("consumer --list" "${consumer}" --list)
expect_output("consumer --list" scale dot)

# Started from a shell, a runner schedules itself: a row for each case, verified and measured.
run_command("consumer --quick" "${consumer}" --quick --no-store)
expect_output("consumer --quick" scale dot 4096 65536 single double)
