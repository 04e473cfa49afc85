# SPDX-License-Identifier: Apache-2.0
# Every library that headroom uses, found in one place. The package of each is in packages/.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(nlohmann_json 3.9 REQUIRED)
find_package(fmt 8 REQUIRED)
find_package(CLI11 2.1 REQUIRED)
pkg_check_modules(hwloc REQUIRED IMPORTED_TARGET hwloc)
pkg_check_modules(tomlplusplus REQUIRED tomlplusplus)
pkg_check_modules(hwy REQUIRED IMPORTED_TARGET libhwy)
pkg_check_modules(sqlite3 REQUIRED IMPORTED_TARGET sqlite3)
pkg_check_modules(zlib REQUIRED IMPORTED_TARGET zlib)
pkg_check_modules(libzstd REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(simdjson REQUIRED IMPORTED_TARGET simdjson)
pkg_check_modules(libpq REQUIRED libpq)
# headroom-trace-mpi is built where there is one; packages/mpi.txt.
find_package(MPI QUIET COMPONENTS CXX)
