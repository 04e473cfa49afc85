# SPDX-License-Identifier: Apache-2.0
# For start in a millisecond: a shared library costs about 0.1 ms, the C++ library 1 ms.

# The soname to load.
find_library(HEADROOM_SIMDJSON_FILE simdjson HINTS ${simdjson_LIBRARY_DIRS} REQUIRED)
execute_process(COMMAND ${CMAKE_READELF} -d ${HEADROOM_SIMDJSON_FILE} OUTPUT_VARIABLE dynamic_section)
if(NOT dynamic_section MATCHES "SONAME[^[]*\\[([^]]+)\\]")
  message(FATAL_ERROR "${HEADROOM_SIMDJSON_FILE} has no SONAME: headroom needs simdjson as a shared library")
endif()
set(HEADROOM_SIMDJSON ${CMAKE_MATCH_1})
set(HEADROOM_ISAL "")
if(libisal_FOUND)
  find_library(HEADROOM_ISAL_FILE isal HINTS ${libisal_LIBRARY_DIRS})
  if(HEADROOM_ISAL_FILE)
    execute_process(COMMAND ${CMAKE_READELF} -d ${HEADROOM_ISAL_FILE} OUTPUT_VARIABLE dynamic_section ERROR_QUIET)
    if(dynamic_section MATCHES "SONAME[^[]*\\[([^]]+)\\]")
      set(HEADROOM_ISAL ${CMAKE_MATCH_1})
    endif()
  endif()
endif()

# Static archives if installed. Shared builds need position-independent code, and distributions patch
# libraries centrally: both use shared libraries.
add_library(headroom_archives INTERFACE)
foreach(module sqlite3 libzstd zlib libutf8proc)
  string(REGEX REPLACE "^zlib$" "z" name ${module})
  string(REGEX REPLACE "^lib" "" name ${name})
  add_library(headroom_archive_${name} INTERFACE)
  find_library(HEADROOM_ARCHIVE_${name} lib${name}.a HINTS ${${module}_LIBRARY_DIRS})
  if(HEADROOM_ARCHIVE_${name} AND NOT BUILD_SHARED_LIBS AND NOT HEADROOM_DISTRIBUTION)
    target_include_directories(headroom_archive_${name} SYSTEM INTERFACE ${${module}_INCLUDE_DIRS})
    target_link_libraries(headroom_archive_${name} INTERFACE ${HEADROOM_ARCHIVE_${name}})
  else()
    target_link_libraries(headroom_archive_${name} INTERFACE PkgConfig::${module})
  endif()
endforeach()
target_link_libraries(headroom_archives
  INTERFACE headroom_archive_sqlite3 headroom_archive_zstd headroom_archive_z Threads::Threads m ${CMAKE_DL_LIBS})

# The wheel for every Linux: hwloc's library needs this system's libudev, its archive does not.
if(HEADROOM_OLD_GLIBC)
  find_library(HEADROOM_ARCHIVE_hwloc libhwloc.a HINTS ${hwloc_LIBRARY_DIRS} REQUIRED)
  set_property(TARGET PkgConfig::hwloc PROPERTY INTERFACE_LINK_LIBRARIES ${HEADROOM_ARCHIVE_hwloc})
endif()

function(headroom_starts_fast target)
  if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT BUILD_SHARED_LIBS AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc)
  endif()
endfunction()
