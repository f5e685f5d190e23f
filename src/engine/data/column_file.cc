#include "engine/data/column_file.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/json.h"

namespace plimsoll {
namespace {

std::string checksum_of(const NpyView& column) {
  Hasher hasher;
  hasher.add(column.data().data(), column.data().size());
  return hasher.hex64();
}

void require_equal(const std::filesystem::path& path, const char* what, const std::string& found,
                   const std::string& expected) {
  if (found == expected) return;
  throw InputError(fmt::format(
      "{}: stale: computed from {} {}, but this run has {}; delete the file, and --resume computes it again",
      path.string(), what, found, expected));
}

}  // namespace

ColumnFile::ColumnFile(const std::filesystem::path& folder, const std::string& name)
    : path_(folder / (name + ".npy")) {}

std::filesystem::path ColumnFile::key_path() const {
  return std::filesystem::path(path_).replace_extension(".json");
}

std::optional<NpyView> ColumnFile::open(const ColumnKey& key) const {
  FileSystem& files = FileSystem::disk();
  if (!files.exists(path_) || !files.exists(key_path())) return std::nullopt;
  const Json written = parse_json(read_text(key_path()));
  const auto word = [&](const char* name) {
    const bool is_text = written.is_object() && written.contains(name) && written[name].is_string();
    return is_text ? written[name].get<std::string>() : std::string("unknown");
  };
  require_equal(path_, "a model of weights", word("weights"), key.weights);
  require_equal(path_, "data", word("data"), key.data);
  require_equal(path_, "settings", word("settings"), key.settings);
  NpyView column(path_);
  if (checksum_of(column) != word("xxh3"))
    throw InputError(
        path_.string() +
        ": damaged: its bytes differ from those that were written; delete the file, and --resume "
        "computes it again");
  return column;
}

void ColumnFile::write(const ColumnKey& key, int64_t width, const Fill& fill) const {
  FileSystem& files = FileSystem::disk();
  // A column without its key is ignored: the key is removed first and written last.
  if (files.exists(key_path()) && files.remove_file(key_path()) != 0)
    throw file_failure("cannot replace", key_path());
  const std::filesystem::path partial = path_.parent_path() / fmt::format(".{}", path_.filename().string());
  std::string checksum;
  try {
    NpyWriter writer(partial, npy_dtype<float>(), {width});
    fill(writer);
    writer.finish();
    checksum = writer.checksum();
  } catch (...) {
    files.remove_file(partial);
    throw;
  }
  if (files.rename(partial, path_, FileSystem::Rename::replace) != 0)
    throw file_failure("cannot write", path_);
  const Json written = {
      {"weights", key.weights}, {"data", key.data}, {"settings", key.settings}, {"xxh3", checksum}};
  write_text(key_path(), written.dump(1) + "\n");
}

}  // namespace plimsoll
