#include "io/write_back.h"

#include <fcntl.h>

namespace plimsoll {

void start_write_back(const File& file, int64_t offset, int64_t bytes) {
  // With a FileSystem in memory, as in tests, the number is not a descriptor, or is the descriptor of another
  // file. Writing that file's bytes does no harm.
  ::sync_file_range(file.descriptor(), offset, bytes, SYNC_FILE_RANGE_WRITE);
}

}  // namespace plimsoll
