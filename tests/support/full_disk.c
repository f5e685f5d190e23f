// A disk that becomes full at some moment, for a program under test and all processes it starts:
// LD_PRELOAD=full_disk.so, and
//   FULL_DISK_UNDER   the folder that is on this disk
//   FULL_DISK_COUNTER a file of 8 bytes with the number of calls that make or change something on this disk
//   FULL_DISK_FROM    the number of the first call that fails with ENOSPC, as do all later ones
//   FULL_DISK_SIGNAL  if set, that call sends this signal to its process instead, and none fails
// Calls that delete something are not counted and succeed. Renaming needs hardly any space: it fails if it is
// the first call that fails, and succeeds after it.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static uint64_t* counter(void) {
  static uint64_t* mapped;
  const char* const path = getenv("FULL_DISK_COUNTER");
  if (mapped != NULL || path == NULL) return mapped;
  const int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
  void* const data = file < 0 ? MAP_FAILED : mmap(NULL, 8, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (file >= 0) syscall(SYS_close, file);
  if (data != MAP_FAILED) mapped = data;
  return mapped;
}

static int is_below(const char* path) {
  const char* const under = getenv("FULL_DISK_UNDER");
  if (under == NULL) return 0;
  const size_t length = strlen(under);
  return strncmp(path, under, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

// Whether a call for this path fails. One that needs no space fails at most once.
static int fails_once_or_more(const char* path, int needs_room) {
  const int before = errno;
  uint64_t* const calls = counter();
  if (calls == NULL || !is_below(path)) return 0;
  const char *const from = getenv("FULL_DISK_FROM"), *const number = getenv("FULL_DISK_SIGNAL");
  const uint64_t call = __atomic_add_fetch(calls, 1, __ATOMIC_SEQ_CST);
  const uint64_t first = from == NULL ? UINT64_MAX : strtoull(from, NULL, 10);
  if (number != NULL && call == first) kill(getpid(), atoi(number));
  const int failed = number == NULL && (call == first || (call > first && needs_room));
  errno = failed ? ENOSPC : before;
  return failed;
}

static int fails_at_path(int folder, const char* path, int needs_room) {
  char link[64], whole[8192];
  if (path[0] == '/') return fails_once_or_more(path, needs_room);
  if (folder == AT_FDCWD)
    strcpy(link, "/proc/self/cwd");
  else
    snprintf(link, sizeof(link), "/proc/self/fd/%d", folder);
  const ssize_t length = readlink(link, whole, sizeof(whole) / 2);
  if (length < 0) return 0;
  snprintf(whole + length, sizeof(whole) - (size_t)length, "/%s", path);
  return fails_once_or_more(whole, needs_room);
}

static int fails_at(int folder, const char* path) { return fails_at_path(folder, path, 1); }

static int fails_of(int file) {
  char link[64], path[4096];
  snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
  const ssize_t length = readlink(link, path, sizeof(path) - 1);
  if (length < 0) return 0;
  path[length] = '\0';
  return fails_once_or_more(path, 1);
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int changes(int flags) { return (flags & (O_CREAT | O_TRUNC)) != 0 || (flags & O_TMPFILE) == O_TMPFILE; }

#define OPEN(name)                                                    \
  int name(const char* path, int flags, ...) {                        \
    va_list rest;                                                     \
    va_start(rest, flags);                                            \
    const mode_t mode = changes(flags) ? va_arg(rest, mode_t) : 0;    \
    va_end(rest);                                                     \
    if (changes(flags) && fails_at(AT_FDCWD, path)) return -1;        \
    return NEXT(name)(path, flags, mode);                             \
  }
#define OPENAT(name)                                                  \
  int name(int folder, const char* path, int flags, ...) {            \
    va_list rest;                                                     \
    va_start(rest, flags);                                            \
    const mode_t mode = changes(flags) ? va_arg(rest, mode_t) : 0;    \
    va_end(rest);                                                     \
    if (changes(flags) && fails_at(folder, path)) return -1;          \
    return NEXT(name)(folder, path, flags, mode);                     \
  }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

#define FOPEN(name)                                                                      \
  FILE* name(const char* path, const char* mode) {                                       \
    if (strpbrk(mode, "wa+") != NULL && fails_at(AT_FDCWD, path)) return NULL;           \
    return NEXT(name)(path, mode);                                                       \
  }
FOPEN(fopen)
FOPEN(fopen64)

ssize_t write(int file, const void* data, size_t bytes) {
  return fails_of(file) ? -1 : NEXT(write)(file, data, bytes);
}
ssize_t writev(int file, const struct iovec* parts, int count) {
  return fails_of(file) ? -1 : NEXT(writev)(file, parts, count);
}
ssize_t pwrite(int file, const void* data, size_t bytes, off_t offset) {
  return fails_of(file) ? -1 : NEXT(pwrite)(file, data, bytes, offset);
}
ssize_t pwrite64(int file, const void* data, size_t bytes, off64_t offset) {
  return fails_of(file) ? -1 : NEXT(pwrite64)(file, data, bytes, offset);
}
int fallocate(int file, int mode, off_t offset, off_t bytes) {
  return fails_of(file) ? -1 : NEXT(fallocate)(file, mode, offset, bytes);
}
int ftruncate(int file, off_t bytes) { return fails_of(file) ? -1 : NEXT(ftruncate)(file, bytes); }
int fsync(int file) { return fails_of(file) ? -1 : NEXT(fsync)(file); }
int fdatasync(int file) { return fails_of(file) ? -1 : NEXT(fdatasync)(file); }
int mkdir(const char* path, mode_t mode) { return fails_at(AT_FDCWD, path) ? -1 : NEXT(mkdir)(path, mode); }
int mkostemp(char* name, int flags) { return fails_at(AT_FDCWD, name) ? -1 : NEXT(mkostemp)(name, flags); }
int rename(const char* from, const char* to) {
  return fails_at_path(AT_FDCWD, to, 0) ? -1 : NEXT(rename)(from, to);
}
int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  return fails_at_path(to_folder, to, 0) ? -1 : NEXT(renameat2)(from_folder, from, to_folder, to, flags);
}
int link(const char* from, const char* to) { return fails_at(AT_FDCWD, to) ? -1 : NEXT(link)(from, to); }
int symlink(const char* from, const char* to) { return fails_at(AT_FDCWD, to) ? -1 : NEXT(symlink)(from, to); }
