#include "store/column_check.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/hash.h"
#include "io/source_reader.h"

namespace plimsoll {
namespace {

// Returns values that change if the file is written to or another file gets its name.
Json facts_of(const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) throw file_failure("cannot stat", path);
  constexpr int64_t kSecond = 1'000'000'000;
  return {{"bytes", status.st_size},
          {"inode", status.st_ino},
          {"changed_ns", status.st_ctim.tv_sec * kSecond + status.st_ctim.tv_nsec}};
}

std::string manifest_checksum(const DataSetView& set) {
  SourceReader reader(set.folder() / "manifest.json");
  std::array<char, 16 * kKiB> piece;
  while (reader.read(piece.data(), piece.size()) > 0) {
  }
  return reader.hash();
}

void require_checksum(const DataSetView& set, const std::string& name, const std::string& found) {
  const Json expected = set.manifest()["columns"][name].value("xxh3", Json());
  if (expected != found)
    throw InputError(
        fmt::format("{}: column '{}' has the checksum {}, expected {} as manifest.json says: its file was "
                    "changed or damaged since the set was made; make the set again (--force)",
                    set.folder().string(), name, found, expected.dump()));
}

}  // namespace

std::string column_checksum(const NpyView& column, const std::function<void(int64_t)>& read) {
  constexpr size_t kPiece = 4 * kMiB;
  Hasher hasher;
  for (std::span<const std::byte> rest = column.data(); !rest.empty();) {
    const auto piece = rest.first(std::min(kPiece, rest.size()));
    hasher.add(piece);
    rest = rest.subspan(piece.size());
    read(static_cast<int64_t>(piece.size()));
  }
  return hasher.hex64();
}

Json check_columns(const DataSetView& set, const ColumnCheck& check) {
  int64_t bytes = 0;
  for (const auto& [name, column] : set.columns()) bytes += static_cast<int64_t>(column.data().size());
  const bool large = bytes > check.max_bytes;
  Json columns = Json::object();
  int64_t total = 0;
  std::vector<std::string> checked;
  for (const auto& [name, column] : set.columns()) {
    columns[name] = facts_of(set.folder() / set.manifest()["columns"][name]["file"].get<std::string>());
    const bool changed = check.known.contains(name) && check.known[name] != columns[name];
    if (large && !check.full && !changed) continue;
    checked.push_back(name);
    total += static_cast<int64_t>(column.data().size());
  }
  int64_t done = 0;
  for (const std::string& name : checked)
    require_checksum(set, name, column_checksum(set.columns().at(name), [&](int64_t read) {
                       check.progress(done += read, total);
                     }));
  Json read = {{"manifest", manifest_checksum(set)}};
  if (large) read["columns"] = std::move(columns);
  return read;
}

}  // namespace plimsoll
