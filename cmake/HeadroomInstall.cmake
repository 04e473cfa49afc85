# SPDX-License-Identifier: Apache-2.0
# Components correspond to Debian's packages (HeadroomDebian.cmake).
include(CMakePackageConfigHelpers)

set(HEADROOM_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/headroom)

function(headroom_install_libraries export)
  install(TARGETS ${ARGN} EXPORT ${export}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT headroom NAMELINK_COMPONENT dev
    FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev
    INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})  # CMake before 3.23 knows no file sets
  install(EXPORT ${export} NAMESPACE headroom:: DESTINATION ${HEADROOM_PACKAGE_DIR} COMPONENT dev)
endfunction()
# A separate export, so that runners can be linked without the engine's dependencies.
set(runner_modules base process machine experiment runner)
get_property(engine_modules GLOBAL PROPERTY HEADROOM_MODULES)
list(REMOVE_ITEM engine_modules ${runner_modules})
list(FILTER engine_modules EXCLUDE REGEX "_commands$|^nvml$|_device$")
list(TRANSFORM runner_modules PREPEND headroom_ OUTPUT_VARIABLE libraries)
headroom_install_libraries(headroomRunnerTargets ${libraries} headroom_runner_main)
if(HEADROOM_HAS_ENGINE)
  list(TRANSFORM engine_modules PREPEND headroom_ OUTPUT_VARIABLE libraries)
  headroom_install_libraries(headroomTargets headroom headroom_standalone ${libraries})
endif()

if(HEADROOM_PROGRAMS)
  install(TARGETS headroom_cli_program headroom_trace_program headroom_pages_program headroom_native_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT headroom)
  if(TARGET headroom_trace_mpi_program)
    install(TARGETS headroom_trace_mpi_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT mpi)
  endif()
  # For a wheel (tools/make_wheel.py). The old tag, DT_RPATH, also applies to the dependencies of its
  # libraries.
  if(NOT HEADROOM_DISTRIBUTION AND NOT BUILD_SHARED_LIBS)
    foreach(program headroom_cli_program headroom_trace_program headroom_pages_program headroom_native_program)
      set_target_properties(${program} PROPERTIES INSTALL_RPATH $ORIGIN/../lib/headroom BUILD_WITH_INSTALL_RPATH ON)
      target_link_options(${program} PRIVATE -Wl,--disable-new-dtags)
    endforeach()
  endif()
  # Another machine's programs do not run here: the manual is the same.
  set(program $<TARGET_FILE:headroom_cli_program>)
  if(CMAKE_CROSSCOMPILING)
    set(program ${HEADROOM_NATIVE_PROGRAM})
  endif()
  add_custom_target(headroom_manual ALL COMMENT "Completions and man pages"
    COMMAND ${CMAKE_COMMAND} -DPROGRAM=${program} -DOUTPUT=${PROJECT_BINARY_DIR}/manual
      -P ${PROJECT_SOURCE_DIR}/cmake/write_manual.cmake
    DEPENDS headroom_cli_program headroom_trace_program headroom_pages_program)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/manual)
  install(DIRECTORY ${PROJECT_BINARY_DIR}/manual/ DESTINATION ${CMAKE_INSTALL_DATADIR} COMPONENT headroom)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/data/grafana ${PROJECT_SOURCE_DIR}/data/postgresql
    DESTINATION ${CMAKE_INSTALL_DATADIR}/headroom COMPONENT headroom)
  # What `headroom install torch` compiles, with HEADROOM_ONLY_TORCH.
  set(sources ${CMAKE_INSTALL_DATADIR}/headroom/source)
  install(FILES CMakeLists.txt LICENSE DESTINATION ${sources} COMPONENT headroom)
  install(DIRECTORY cmake DESTINATION ${sources} COMPONENT headroom)
  install(FILES data/targets.toml data/dispatch_pytorch.toml DESTINATION ${sources}/data COMPONENT headroom)
  foreach(folder headroom headroom_cuda_device headroom_nvml headroom_torch headroom_trace)
    install(DIRECTORY src/${folder} DESTINATION ${sources}/src COMPONENT headroom
      REGEX "/headroom/(command|console|environment|history|results|schedule)$|/headroom_trace/program$" EXCLUDE)
  endforeach()
endif()

# Dependencies of the static libraries that have no CMake package.
set(HEADROOM_PKG_CONFIG_MODULES hwloc libutf8proc libzstd sqlite3 zlib)
configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/headroomConfig.cmake.in ${PROJECT_BINARY_DIR}/headroomConfig.cmake
  INSTALL_DESTINATION ${HEADROOM_PACKAGE_DIR} NO_SET_AND_CHECK_MACRO)
# Before 1.0 a minor version may break compatibility.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/headroomConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/headroomConfig.cmake ${PROJECT_BINARY_DIR}/headroomConfigVersion.cmake
  DESTINATION ${HEADROOM_PACKAGE_DIR} COMPONENT dev)

# headroom-runner.pc adds a runner's main(). Modules come before their dependencies.
list(REVERSE engine_modules)
list(FILTER engine_modules EXCLUDE REGEX "^(cli|console|results)$")
list(TRANSFORM engine_modules PREPEND -lheadroom_ OUTPUT_VARIABLE libraries)
list(JOIN libraries " " HEADROOM_ENGINE_FLAGS)
list(REVERSE runner_modules)
list(TRANSFORM runner_modules PREPEND -lheadroom_ OUTPUT_VARIABLE libraries)
list(JOIN libraries " " HEADROOM_RUNNER_FLAGS)
list(JOIN HEADROOM_PKG_CONFIG_MODULES " " HEADROOM_PKG_CONFIG_REQUIRES)
file(RELATIVE_PATH HEADROOM_PREFIX_FROM_PC /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
foreach(module headroom-runner headroom)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/${module}.pc.in ${PROJECT_BINARY_DIR}/${module}.pc @ONLY)
  if(HEADROOM_HAS_ENGINE OR module STREQUAL "headroom-runner")
    install(FILES ${PROJECT_BINARY_DIR}/${module}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
  endif()
endforeach()
