# SPDX-License-Identifier: Apache-2.0
# `make deb`: a package per install component. dpkg-shlibdeps finds the dependencies of linked libraries.
set(HEADROOM_MAINTAINER "headroom developers <headroom@localhost>" CACHE STRING "Whom Debian's packages name")
set(HEADROOM_DEBIAN_RELEASE 1 CACHE STRING "Of the packages of one version")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME headroom)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "${HEADROOM_MAINTAINER}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_COMPONENTS_ALL headroom dev)
if(HEADROOM_HAS_PYTHON)
  list(APPEND CPACK_COMPONENTS_ALL python)
endif()
if(HEADROOM_HAS_TORCH)
  list(APPEND CPACK_COMPONENTS_ALL torch)
endif()
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE ${HEADROOM_DEBIAN_RELEASE})
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)

# Loaded at run time, which dpkg-shlibdeps does not see. The package of libsimdjson.so.14 is libsimdjson14.
set(headroom_loaded_packages "")
foreach(library ${HEADROOM_SIMDJSON} ${HEADROOM_ISAL})
  string(REGEX REPLACE "^(lib[^.]*)\\.so\\.([0-9]+).*$" "\\1\\2" package ${library})
  list(APPEND headroom_loaded_packages ${package})
endforeach()
list(JOIN headroom_loaded_packages ", " headroom_loaded_packages)
macro(headroom_debian_package component name section summary text)
  string(TOUPPER ${component} key)
  set(CPACK_DEBIAN_${key}_PACKAGE_NAME ${name})
  set(CPACK_DEBIAN_${key}_PACKAGE_SECTION ${section})
  set(CPACK_DEBIAN_${key}_DESCRIPTION "${summary}\n${text}")
  set(CPACK_COMPONENT_${key}_DESCRIPTION "${summary}\n${text}")
endmacro()
headroom_debian_package(headroom headroom utils "how fast tensor programs are, and how fast this machine could run them"
  "headroom measures programs against each other and against the limits of
the machine in the same rounds, compares results, keeps their history, and
analyses profiler traces. This package has the command line headroom, the
programs headroom-trace and headroom-pages that it starts, the runner of the
CPU, and the suites.")
headroom_debian_package(torch headroom-torch utils "headroom's runner on libtorch"
  "The operators of ATen as backends of headroom run, modules from files, and
the ranks of headroom dispatch and headroom ddp.")
headroom_debian_package(python python3-headroom python "headroom's package of Python"
  "Experiments in Python, measured beside native ones; functions compared at a
prompt and in a notebook; results and traces as tables; a plugin of pytest.")
headroom_debian_package(dev headroom-dev libdevel "headroom's library, for runners of one's own"
  "Headers, static libraries, the CMake package headroom and pkg-config files.
headroom::runner makes a program of benchmarks that headroom run measures;
headroom::headroom is the whole library: it needs the recommended packages.")
set(CPACK_DEBIAN_HEADROOM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_HEADROOM_PACKAGE_DEPENDS ${headroom_loaded_packages})
set(CPACK_DEBIAN_HEADROOM_PACKAGE_SUGGESTS "headroom-torch, headroom-dev, libmicrohttpd12, libpq5")
set(CPACK_DEBIAN_TORCH_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_TORCH_PACKAGE_DEPENDS "headroom (= ${PROJECT_VERSION}-${HEADROOM_DEBIAN_RELEASE})")
set(CPACK_DEBIAN_PYTHON_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "headroom (= ${PROJECT_VERSION}-${HEADROOM_DEBIAN_RELEASE}), python3 (>= 3.9)")
set(CPACK_DEBIAN_PYTHON_PACKAGE_SUGGESTS "python3-pytest, python3-torch, python3-numpy, python3-pandas, python3-matplotlib")
set(CPACK_DEBIAN_DEV_PACKAGE_RECOMMENDS "headroom, g++, libfmt-dev, libhwloc-dev, libsqlite3-dev, libutf8proc-dev, libzstd-dev,\
 pkg-config, zlib1g-dev")
include(CPack)

# Required by Debian's policy.
string(TIMESTAMP headroom_year %Y)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/debian/copyright CONTENT
"Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: headroom

Files: *
Copyright: @headroom_year@ headroom developers
License: Apache-2.0
 On Debian systems, the text of the Apache License 2.0 is in /usr/share/common-licenses/Apache-2.0.
" @ONLY)
# The date in Debian's format; honours SOURCE_DATE_EPOCH.
execute_process(COMMAND ${CMAKE_COMMAND} -E env LC_ALL=C date -R -u -d "@$ENV{SOURCE_DATE_EPOCH}" RESULT_VARIABLE status
  OUTPUT_VARIABLE headroom_date OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT status EQUAL 0)
  string(TIMESTAMP headroom_date "%a, %d %b %Y 00:00:00 +0000" UTC)
endif()
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} key)
  set(name ${CPACK_DEBIAN_${key}_PACKAGE_NAME})
  set(folder ${PROJECT_BINARY_DIR}/debian/${name})
  file(CONFIGURE OUTPUT ${folder}/changelog.Debian CONTENT
"headroom (@PROJECT_VERSION@-@HEADROOM_DEBIAN_RELEASE@) bookworm; urgency=medium

  * What changed is in CHANGELOG.md of the sources.

 -- @HEADROOM_MAINTAINER@  @headroom_date@
" @ONLY)
  execute_process(COMMAND gzip -9nkf ${folder}/changelog.Debian)
  if(HEADROOM_DISTRIBUTION)
    install(FILES ${PROJECT_BINARY_DIR}/debian/copyright ${folder}/changelog.Debian.gz
      DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${name} COMPONENT ${component})
  endif()
endforeach()
