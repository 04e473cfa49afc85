// SPDX-License-Identifier: Apache-2.0
// What objects compiled on Debian 12 take from a C library newer than 2.27. Functions of the C library of the machine are
// used where it has them.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define HIDDEN __attribute__((visibility("hidden")))

// 2.32. Always 0: locks are taken.
HIDDEN char __libc_single_threaded = 0;

// 2.35: how libgcc finds the unwind table of an address.
static int find_object(struct dl_phdr_info* info, size_t size, void* given) {
  (void)size;
  struct dl_find_object* result = given;
  const uintptr_t address = (uintptr_t)result->dlfo_map_start;
  const ElfW(Phdr)* table = NULL;
  uintptr_t start = UINTPTR_MAX, end = 0;
  for (const ElfW(Phdr)* header = info->dlpi_phdr; header != info->dlpi_phdr + info->dlpi_phnum; ++header) {
    if (header->p_type == PT_GNU_EH_FRAME) table = header;
    if (header->p_type != PT_LOAD) continue;
    const uintptr_t first = info->dlpi_addr + header->p_vaddr;
    if (first < start) start = first;
    if (first + header->p_memsz > end) end = first + header->p_memsz;
  }
  if (!table || address < start || address >= end) return 0;
  result->dlfo_map_start = (void*)start;
  result->dlfo_map_end = (void*)end;
  result->dlfo_eh_frame = (void*)(info->dlpi_addr + table->p_vaddr);
  return 1;
}
HIDDEN int _dl_find_object(void* address, struct dl_find_object* result) {
  result->dlfo_map_start = address;
  return dl_iterate_phdr(find_object, result) == 1 ? 0 : -1;
}

// 2.36.
HIDDEN uint32_t arc4random(void) {
  uint32_t value;
  if (getentropy(&value, sizeof value) != 0) abort();
  return value;
}

// 2.28.
HIDDEN int fcntl64(int descriptor, int command, ...) {
  va_list rest;
  va_start(rest, command);
  void* argument = va_arg(rest, void*);
  va_end(rest);
  return fcntl(descriptor, command, argument);
}

HIDDEN int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  return (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
}

// 2.30. Old mutexes know the real-time clock alone.
HIDDEN int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock, const struct timespec* end) {
  struct timespec now, until;
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &until);
  const int64_t left = (end->tv_sec - now.tv_sec) * INT64_C(1000000000) + end->tv_nsec - now.tv_nsec;
  const int64_t nanoseconds = until.tv_nsec + (left > 0 ? left : 0);
  until.tv_sec += nanoseconds / 1000000000;
  until.tv_nsec = nanoseconds % 1000000000;
  return pthread_mutex_timedlock(mutex, &until);
}

// 2.34.
HIDDEN int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t* actions, int first) {
  int (*known)(posix_spawn_file_actions_t*, int) = dlsym(RTLD_NEXT, "posix_spawn_file_actions_addclosefrom_np");
  if (known) return known(actions, first);
  DIR* open_files = opendir("/proc/self/fd");
  if (!open_files) return errno;
  int error = 0;
  for (const struct dirent* entry; error == 0 && (entry = readdir(open_files));) {
    const int number = atoi(entry->d_name);
    if (number >= first && number != dirfd(open_files)) error = posix_spawn_file_actions_addclose(actions, number);
  }
  closedir(open_files);
  return error;
}

// 2.29. Else the folder of the next posix_spawnp of this thread.
static _Thread_local const char* folder_of_next;
HIDDEN int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t* actions, const char* folder) {
  int (*known)(posix_spawn_file_actions_t*, const char*) = dlsym(RTLD_NEXT, "posix_spawn_file_actions_addchdir_np");
  if (known) return known(actions, folder);
  folder_of_next = folder;
  return 0;
}

struct Call {
  int (*spawn)(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*, char* const*, char* const*);
  pid_t* pid;
  const char *path, *folder;
  const posix_spawn_file_actions_t* actions;
  const posix_spawnattr_t* attributes;
  char *const *arguments, *const *environment;
};

static void* spawn(void* given) {
  const struct Call* call = given;
  if (call->folder && (unshare(CLONE_FS) != 0 || chdir(call->folder) != 0)) return (void*)(intptr_t)errno;
  return (void*)(intptr_t)call->spawn(call->pid, call->path, call->actions, call->attributes, call->arguments, call->environment);
}

HIDDEN int posix_spawnp(pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions,
                        const posix_spawnattr_t* attributes, char* const* arguments, char* const* environment) {
  struct Call call = {dlsym(RTLD_NEXT, "posix_spawnp"), pid, path, folder_of_next, actions, attributes, arguments, environment};
  folder_of_next = NULL;
  if (!call.folder) return (int)(intptr_t)spawn(&call);
  pthread_t thread;  // the working folder is its own
  void* result;
  const int error = pthread_create(&thread, NULL, spawn, &call);
  if (error != 0) return error;
  pthread_join(thread, &result);
  return (int)(intptr_t)result;
}

// hwloc's archive asks libudev for the names of disks, which headroom does not: no library is loaded for it.
HIDDEN void* udev_new(void) { return NULL; }
HIDDEN void* udev_unref(void* udev) { return udev; }
HIDDEN void* udev_device_new_from_subsystem_sysname(void* udev, const char* subsystem, const char* name) {
  (void)udev, (void)subsystem, (void)name;
  return NULL;
}
HIDDEN const char* udev_device_get_property_value(void* device, const char* key) {
  (void)device, (void)key;
  return NULL;
}
HIDDEN void* udev_device_unref(void* device) { return device; }
