#include "store/no_data_set.h"

#include <string>

namespace plimsoll {

InputError no_data_set(const std::filesystem::path& folder) {
  const std::string name = folder.string();
  if (!std::filesystem::exists(folder))
    return InputError("no such folder: " + name + ", expected a data set; `plimsoll ingest` makes one");
  if (!std::filesystem::is_directory(folder))
    return InputError(name + ": is a file, not a data set, which is a folder; `plimsoll ingest` makes one");
  return InputError(name + ": not a data set: it has no manifest.json; `plimsoll ingest` makes one");
}

}  // namespace plimsoll
