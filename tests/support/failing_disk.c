// A disk that fails, for a program under test. LD_PRELOAD=failing_disk.so FAILING_FILE=x.npy
// FAILING_FROM=400000 makes each pread() of a file whose name ends in x.npy fail with EIO from that byte on.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int fails(int file, size_t bytes, off_t offset) {
  const char *const name = getenv("FAILING_FILE"), *const from = getenv("FAILING_FROM");
  if (name == NULL || from == NULL) return 0;
  char link[64], path[4096];
  snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
  const ssize_t length = readlink(link, path, sizeof(path));
  const size_t suffix = strlen(name);
  if (length < (ssize_t)suffix || strncmp(path + length - suffix, name, suffix) != 0) return 0;
  const off_t at = atoll(from);
  return offset <= at && at < offset + (off_t)bytes;
}

ssize_t pread(int file, void* data, size_t bytes, off_t offset) {
  static ssize_t (*real)(int, void*, size_t, off_t);
  if (real == NULL) real = (ssize_t(*)(int, void*, size_t, off_t))dlsym(RTLD_NEXT, "pread");
  if (!fails(file, bytes, offset)) return real(file, data, bytes, offset);
  errno = EIO;
  return -1;
}
ssize_t pread64(int file, void* data, size_t bytes, off_t offset) { return pread(file, data, bytes, offset); }
