# SPDX-License-Identifier: Apache-2.0
# Checked by tools/check_layers.py (includes) and tests/checks/links_test.py (archives): a folder links
# exactly the modules that its files include.

# headroom_module(NAME [USES MODULE...] [TYPES_OF MODULE...] [FOLDER PATH] [EXCLUDE REGEX...] [LEVEL -Ox]
#                 [PRIVATE LIBRARY...] [EXPORT NAME])
# USES      modules whose functions it calls
# TYPES_OF  modules of which it includes only plain types; not linked
# FOLDER    default NAME; includes subfolders
# EXPORT    exported as headroom::NAME; default the name
# LEVEL     optimisation of a release; default -Og, for code that runs for milliseconds
function(headroom_module name)
  cmake_parse_arguments(ARG "" "FOLDER;LEVEL;EXPORT" "USES;TYPES_OF;PRIVATE;EXCLUDE" ${ARGN})
  if(NOT DEFINED ARG_FOLDER)
    set(ARG_FOLDER ${name})
  endif()
  if(NOT DEFINED ARG_EXPORT)
    set(ARG_EXPORT ${name})
  endif()
  if(NOT DEFINED ARG_LEVEL)
    set(ARG_LEVEL -Og)
  endif()
  cmake_path(ABSOLUTE_PATH ARG_FOLDER NORMALIZE OUTPUT_VARIABLE folder)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${folder}/*.cpp)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${folder}/*.h)
  foreach(pattern IN LISTS ARG_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX ${folder}/${pattern})
    list(FILTER headers EXCLUDE REGEX ${folder}/${pattern})
  endforeach()
  list(TRANSFORM ARG_USES PREPEND headroom_)
  add_library(headroom_${name} ${sources})
  add_library(headroom::${ARG_EXPORT} ALIAS headroom_${name})
  target_compile_features(headroom_${name} PUBLIC cxx_std_20)
  target_compile_definitions(headroom_${name} PRIVATE HEADROOM_VERSION="${PROJECT_VERSION}"
    HEADROOM_INSTALL_BINDIR="${CMAKE_INSTALL_FULL_BINDIR}")
  target_compile_options(headroom_${name} PRIVATE $<$<CONFIG:Release>:${ARG_LEVEL}>)
  target_sources(headroom_${name} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/src FILES ${headers})
  target_link_libraries(headroom_${name} PUBLIC ${ARG_USES}
    PRIVATE ${ARG_PRIVATE} $<BUILD_INTERFACE:headroom_warnings> $<BUILD_INTERFACE:headroom_fmt>)
  headroom_precompile(headroom_${name})
  # Undefined symbols fail here, not in a user's program.
  target_link_options(headroom_${name} PRIVATE $<$<BOOL:${BUILD_SHARED_LIBS}>:-Wl,-z,defs>)
  set_target_properties(headroom_${name} PROPERTIES EXPORT_NAME ${ARG_EXPORT} VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
    UNITY_BUILD ${HEADROOM_UNITY} UNITY_BUILD_BATCH_SIZE ${HEADROOM_UNITY_FILES})
  set_property(GLOBAL APPEND PROPERTY HEADROOM_MODULES ${name})
endfunction()

# headroom_shipped(MODULE TEMPLATE VARIABLE): adds the .cpp.in file TEMPLATE to MODULE.
function(headroom_shipped module template)
  cmake_path(GET template STEM LAST_ONLY name)
  configure_file(${template} ${CMAKE_CURRENT_BINARY_DIR}/${name} @ONLY)
  target_sources(headroom_${module} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/${name})
endfunction()

# A change of the file reruns CMake.
function(headroom_read file variable)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} text)
  set(${variable} "${text}" PARENT_SCOPE)
endfunction()
