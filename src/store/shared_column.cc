#include "store/shared_column.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "base/error.h"
#include "base/units.h"

namespace plimsoll {
namespace fs = std::filesystem;
namespace {

void copy_column(const NpyView& column, const fs::path& from, const fs::path& to, const Json& entry,
                 const std::function<void()>& tick, FileSystem& files) {
  constexpr size_t kPiece = kMiB;
  const NpyShape& shape = column.shape();
  NpyWriter writer(to, shape.dtype, std::vector<int64_t>(shape.shape.begin() + 1, shape.shape.end()), files);
  for (std::span<const std::byte> rest = column.data(); !rest.empty();) {
    const auto piece = rest.first(std::min(kPiece, rest.size()));
    writer.append(piece);
    rest = rest.subspan(piece.size());
    tick();
  }
  writer.finish();
  if (const Json expected = entry.value("xxh3", Json()); expected != writer.checksum())
    throw InputError(
        fmt::format("{}: has the checksum {}, expected {} as manifest.json says: the file is "
                    "damaged; make the data set again (--force)",
                    from.string(), writer.checksum(), expected.dump()));
}

}  // namespace

Json share_column(const DataSetView& set, const std::string& name, const fs::path& folder,
                  const std::function<void()>& tick, FileSystem& files) {
  Json entry = set.manifest().at("columns").at(name);
  const auto file = entry.at("file").get<std::string>();
  // A link to a symbolic link would change with its target.
  const fs::path from = fs::canonical(set.folder() / file);
  const fs::path to = folder / file;
  const bool linked = entry.contains("link");
  std::error_code failed;
  fs::create_hard_link(from, to, failed);
  if (linked) entry["link"] = failed ? "symbolic" : "hard";
  if (!failed) return entry;
  // The file of a hard link is that of the other data set, which may be deleted.
  if (!fs::is_symlink(set.folder() / file)) {
    entry.erase("link");
    copy_column(set.columns().at(name), from, to, entry, tick, files);
    return entry;
  }
  fs::create_symlink(from, to, failed);
  if (failed)
    throw Failure(fmt::format("cannot link {} to {}: {}", to.string(), from.string(), failed.message()));
  return entry;
}

}  // namespace plimsoll
