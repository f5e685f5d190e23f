#include "task/layers_folder.h"

#include <unistd.h>

namespace plimsoll {

std::filesystem::path layers_folder(const RunFolder& run) {
  if (::access(run.root.c_str(), W_OK) == 0) return run.root / "layers";
  return std::filesystem::temp_directory_path() / "plimsoll-layers";
}

}  // namespace plimsoll
