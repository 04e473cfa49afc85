# SPDX-License-Identifier: Apache-2.0
# Sets HEADROOM_HAS_PYTHON. Prefers the system's Python; the extension works with any.
find_package(Python3 3.9 QUIET COMPONENTS Interpreter Development.Module)
set(HEADROOM_HAS_PYTHON ${Python3_Development.Module_FOUND})
if(NOT HEADROOM_HAS_PYTHON)
  message(NOTICE "Without the package of Python: its headers were not found (apt-get install libpython3-dev)")
endif()
