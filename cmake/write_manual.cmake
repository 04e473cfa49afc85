# SPDX-License-Identifier: Apache-2.0
# Writes PROGRAM's completions and man pages to OUTPUT, in the layout of share/.
cmake_minimum_required(VERSION 3.25)

function(print file)
  execute_process(COMMAND ${PROGRAM} ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE complaint)
  if(NOT status EQUAL 0 OR text STREQUAL "")
    message(FATAL_ERROR "${PROGRAM} ${ARGN}: exit ${status}, and it should print ${file}\n${complaint}")
  endif()
  file(WRITE ${OUTPUT}/${file} "${text}")
endfunction()

file(REMOVE_RECURSE ${OUTPUT})
file(MAKE_DIRECTORY ${OUTPUT})
execute_process(COMMAND ${PROGRAM} completion candidates -- help "" OUTPUT_VARIABLE candidates COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]*\t" commands "${candidates}")
list(TRANSFORM commands STRIP)
list(FILTER commands INCLUDE REGEX "^[a-z]+$")
list(REMOVE_ITEM commands help)
print(bash-completion/completions/headroom completion bash)
print(zsh/vendor-completions/_headroom completion zsh)
print(fish/vendor_completions.d/headroom.fish completion fish)
print(man/man1/headroom.1 help --man)
foreach(command IN LISTS commands)
  print(man/man1/headroom-${command}.1 help --man ${command})
endforeach()
# Compressed reproducibly, as Debian requires.
file(GLOB pages ${OUTPUT}/man/man1/*.1)
execute_process(COMMAND gzip -9nf ${pages} COMMAND_ERROR_IS_FATAL ANY)
