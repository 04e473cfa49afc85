# SPDX-License-Identifier: Apache-2.0
# `make deb`: a package per install component. dpkg-shlibdeps finds the dependencies of linked libraries.
set(HEADROOM_MAINTAINER "headroom developers <headroom@localhost>" CACHE STRING "Whom Debian's packages name")
# As of Debian's stable updates: an upgrade of the system replaces its packages by those of the next release.
cmake_host_system_information(RESULT headroom_system QUERY DISTRIB_INFO)
string(REGEX REPLACE "^debian(.*)" "deb\\1u1" headroom_suffix "${headroom_system_ID}${headroom_system_VERSION_ID}")
set(HEADROOM_DEBIAN_RELEASE 1~${headroom_suffix} CACHE STRING "Of the packages of one version")

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
if(HEADROOM_HAS_CUDA)
  list(APPEND CPACK_COMPONENTS_ALL cuda)
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
headroom_debian_package(cuda headroom-cuda utils "headroom's runner on NVIDIA GPUs"
  "Kernels in CUDA as backends of headroom run, the limits of a GPU, and cuBLAS
where it is installed. It contains CUDA runtime ${CUDAToolkit_VERSION}, and loads
NVIDIA's driver.")
headroom_debian_package(python python3-headroom python "headroom's package of Python"
  "Experiments in Python, measured beside native ones; functions compared at a
prompt and in a notebook; results and traces as tables; a plugin of pytest.")
headroom_debian_package(dev headroom-dev libdevel "headroom's library, for runners of one's own"
  "Headers, static libraries, the CMake package headroom and pkg-config files.
headroom::runner makes a program of benchmarks that headroom run measures;
headroom::headroom is the whole library: it needs the recommended packages.")
set(CPACK_DEBIAN_HEADROOM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_HEADROOM_PACKAGE_DEPENDS ${headroom_loaded_packages})
set(CPACK_DEBIAN_HEADROOM_PACKAGE_SUGGESTS "headroom-torch, headroom-dev, libmicrohttpd12 | libmicrohttpd12t64, libpq5")
set(CPACK_DEBIAN_TORCH_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_TORCH_PACKAGE_DEPENDS "headroom (= ${PROJECT_VERSION}-${HEADROOM_DEBIAN_RELEASE})")
set(CPACK_DEBIAN_CUDA_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_CUDA_PACKAGE_DEPENDS "headroom (= ${PROJECT_VERSION}-${HEADROOM_DEBIAN_RELEASE})")
set(CPACK_DEBIAN_CUDA_PACKAGE_SUGGESTS "libcuda1, libnvidia-ml1")
set(CPACK_DEBIAN_PYTHON_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "headroom (= ${PROJECT_VERSION}-${HEADROOM_DEBIAN_RELEASE}), python3 (>= 3.9)")
set(CPACK_DEBIAN_PYTHON_PACKAGE_SUGGESTS "python3-pytest, python3-torch, python3-numpy, python3-pandas, python3-matplotlib")
set(CPACK_DEBIAN_DEV_PACKAGE_RECOMMENDS "headroom, g++, libfmt-dev, libhwloc-dev, libsqlite3-dev, libutf8proc-dev, libzstd-dev,\
 pkg-config, zlib1g-dev")
# As dh_python3 does: Python's caches come and go with the package.
foreach(pair postinst=py3compile prerm=py3clean)
  string(REGEX MATCH "(.*)=(.*)" pair ${pair})
  set(script ${PROJECT_BINARY_DIR}/debian/python/${CMAKE_MATCH_1})
  file(WRITE ${script} "#!/bin/sh\nset -e\nif command -v ${CMAKE_MATCH_2} >/dev/null 2>&1; then ${CMAKE_MATCH_2} -p python3-headroom; fi\n")
  file(CHMOD ${script} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
  list(APPEND CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA ${script})
endforeach()
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
# Programs that a command starts have its man page.
set(headroom_pages_headroom native=run pages=report)
if(TARGET headroom_opencl_suite)
  list(APPEND headroom_pages_headroom opencl-suite=cache)
endif()
set(headroom_pages_torch torch=run torch-rank=dispatch)
if(TARGET headroom_torch_cuda_program)
  list(APPEND headroom_pages_torch torch-cuda=run)
endif()
set(headroom_pages_cuda cuda=run)
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} key)
  set(name ${CPACK_DEBIAN_${key}_PACKAGE_NAME})
  set(folder ${PROJECT_BINARY_DIR}/debian/${name})
  file(CONFIGURE OUTPUT ${folder}/changelog.Debian CONTENT
"headroom (@PROJECT_VERSION@-@HEADROOM_DEBIAN_RELEASE@) @headroom_system_VERSION_CODENAME@; urgency=medium

  * What changed is in CHANGELOG.md of the sources.

 -- @HEADROOM_MAINTAINER@  @headroom_date@
" @ONLY)
  execute_process(COMMAND gzip -9nkf ${folder}/changelog.Debian)
  if(NOT HEADROOM_DISTRIBUTION)
    continue()
  endif()
  foreach(page IN LISTS headroom_pages_${component})
    string(REGEX MATCH "(.*)=(.*)" page ${page})
    file(WRITE ${folder}/headroom-${CMAKE_MATCH_1}.1 ".so man1/headroom-${CMAKE_MATCH_2}.1\n")
    execute_process(COMMAND gzip -9nf ${folder}/headroom-${CMAKE_MATCH_1}.1)
    install(FILES ${folder}/headroom-${CMAKE_MATCH_1}.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT ${component})
  endforeach()
  if(HEADROOM_MAINTAINER MATCHES "@localhost>")
    file(WRITE ${folder}/lintian "# Who publishes the packages names an address: HEADROOM_MAINTAINER.\n"
      "${name}: bogus-mail-host *\n${name}: bogus-mail-host-in-debian-changelog *\n")
    install(FILES ${folder}/lintian DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides RENAME ${name} COMPONENT ${component})
  endif()
  install(FILES ${PROJECT_BINARY_DIR}/debian/copyright ${folder}/changelog.Debian.gz
    DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${name} COMPONENT ${component})
endforeach()
