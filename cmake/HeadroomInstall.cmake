# SPDX-License-Identifier: Apache-2.0
# `cmake --install`: the programs, the library with its public headers, and the package that find_package reads.
include(CMakePackageConfigHelpers)

set(HEADROOM_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/headroom)

# Names as a consumer sees them: headroom::headroom and headroom::runner.
set_target_properties(headroom_runner_main PROPERTIES EXPORT_NAME runner)

install(TARGETS headroom headroom_runner_main headroom_run
  EXPORT headroomTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS headroom_cli_program headroom_native_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(TARGET headroom_trace_mpi_program)
  install(TARGETS headroom_trace_mpi_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(EXPORT headroomTargets NAMESPACE headroom:: DESTINATION ${HEADROOM_PACKAGE_DIR})

# The libraries without a CMake package that the static library has to be linked with.
set(HEADROOM_PKG_CONFIG_MODULES hwloc libzstd sqlite3 zlib)
configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/headroomConfig.cmake.in ${PROJECT_BINARY_DIR}/headroomConfig.cmake
  INSTALL_DESTINATION ${HEADROOM_PACKAGE_DIR} NO_SET_AND_CHECK_MACRO)
# Before 1.0 a minor version may break what the one before promised.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/headroomConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/headroomConfig.cmake ${PROJECT_BINARY_DIR}/headroomConfigVersion.cmake
  DESTINATION ${HEADROOM_PACKAGE_DIR})
