// SPDX-License-Identifier: Apache-2.0
// tools/portable/old_glibc.c as on a C library that has none of its functions.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

static void* symbol_of_old_library(void* from, const char* name) {
  return strcmp(name, "posix_spawnp") == 0 ? dlsym(from, name) : NULL;
}
#define dlsym symbol_of_old_library
#include "../../tools/portable/old_glibc.c"
#undef dlsym

#define REQUIRE(condition)                                             \
  if (!(condition)) {                                                  \
    fprintf(stderr, "%s:%d: not %s\n", __FILE__, __LINE__, #condition); \
    exit(1);                                                           \
  }

extern char** environ;

// Exit code of a shell line.
static int run(const posix_spawn_file_actions_t* actions, const char* line) {
  char* arguments[] = {"sh", "-c", (char*)line, NULL};
  pid_t pid;
  int status;
  REQUIRE(posix_spawnp(&pid, "sh", actions, NULL, arguments, environ) == 0);
  REQUIRE(waitpid(pid, &status, 0) == pid);
  return WEXITSTATUS(status);
}

static void starts_in_a_folder(void) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  REQUIRE(posix_spawn_file_actions_addchdir_np(&actions, "/proc/self") == 0);
  REQUIRE(run(&actions, "test -e cmdline") == 0);
  REQUIRE(run(&actions, "test ! -e cmdline") == 0);  // of the next start alone; ours stays
  REQUIRE(posix_spawn_file_actions_addchdir_np(&actions, "/absent") == 0);
  char* arguments[] = {"true", NULL};
  pid_t pid;
  REQUIRE(posix_spawnp(&pid, "true", &actions, NULL, arguments, environ) == ENOENT);
}

static void closes_descriptors(void) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  REQUIRE(dup2(STDOUT_FILENO, 20) == 20 && dup2(STDOUT_FILENO, 40) == 40);
  REQUIRE(run(NULL, "test -e /proc/self/fd/40") == 0);
  REQUIRE(posix_spawn_file_actions_addclosefrom_np(&actions, 30) == 0);
  REQUIRE(run(&actions, "test -e /proc/self/fd/20 && test ! -e /proc/self/fd/40") == 0);
  REQUIRE(fcntl64(40, F_GETFD) == 0);
}

static void finds_unwind_tables(void) {
  int (*known)(void*, struct dl_find_object*) = dlsym(RTLD_NEXT, "_dl_find_object");
  void* addresses[] = {(void*)run, dlsym(RTLD_NEXT, "printf")};
  for (int i = 0; i < 2; ++i) {
    struct dl_find_object ours, theirs;
    REQUIRE(_dl_find_object(addresses[i], &ours) == 0);
    if (known && known(addresses[i], &theirs) == 0) REQUIRE(ours.dlfo_eh_frame == theirs.dlfo_eh_frame);
  }
  struct dl_find_object none;
  REQUIRE(_dl_find_object((void*)1, &none) == -1);
}

static void waits_for_a_mutex(void) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  struct timespec end;
  clock_gettime(CLOCK_MONOTONIC, &end);
  REQUIRE(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &end) == 0);
  REQUIRE(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &end) == ETIMEDOUT);
}

int main(void) {
  starts_in_a_folder();
  closes_descriptors();
  finds_unwind_tables();
  waits_for_a_mutex();
  REQUIRE(arc4random() != arc4random() || arc4random() != arc4random());
  return 0;
}
