/* Preloaded, it leaves out the waiting for the disk: the peers do not sync what they write. */
int fsync(int descriptor) { return descriptor < 0; }
int fdatasync(int descriptor) { return descriptor < 0; }
int sync_file_range(int descriptor, long from, long bytes, unsigned flags) {
  return descriptor < 0 && from + bytes + flags;
}
