#include "io/write_back.h"

#include <fcntl.h>

namespace plimsoll {

void start_write_back(const File& file, int64_t offset, int64_t bytes) {
  // Of a file system in memory, as tests have, the number names no file, or one whose bytes may go as well.
  ::sync_file_range(file.descriptor(), offset, bytes, SYNC_FILE_RANGE_WRITE);
}

}  // namespace plimsoll
