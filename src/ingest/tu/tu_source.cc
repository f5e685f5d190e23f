#include "ingest/tu/tu_source.h"

#include <array>
#include <string_view>

#include "base/error.h"
#include "io/file.h"

namespace plimsoll {
namespace fs = std::filesystem;

std::unique_ptr<TuSource> TuSource::open(const fs::path& path) {
  if (!fs::exists(path)) throw InputError("no such file or folder: " + path.string());
  if (fs::is_directory(path)) return open_tu_tables(path, false);
  if (!fs::is_regular_file(path))
    throw InputError(path.string() +
                     ": is neither a file nor a folder; name a zip archive, a folder or a text");
  std::array<char, 2> first{};
  File::open(path).read(first.data(), first.size());
  if (path.extension() == ".zip" || std::string_view(first.data(), first.size()) == "PK")
    return open_tu_tables(path, true);
  return open_tu_text(path);
}

}  // namespace plimsoll
