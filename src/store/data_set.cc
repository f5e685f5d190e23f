#include "store/data_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/hash.h"
#include "base/json_text.h"
#include "base/version.h"
#include "io/file.h"
#include "store/data_kind.h"
#include "store/no_data_set.h"
#include "store/shared_column.h"

namespace plimsoll {
namespace {

// Returns the newest format version of a kind. A set is written in the oldest version that can express its
// content.
int newest_version(const std::string& kind) {
  const DataKind* const known = find_data_kind(kind);
  return known != nullptr ? known->newest_version : 1;
}

}  // namespace

Json read_manifest(const std::filesystem::path& folder) {
  Charge charge(Tag::columns);
  return read_manifest(folder, charge);
}

std::string kind_of(const std::filesystem::path& folder) {
  return read_manifest(folder).value("kind", "");
}

Json read_manifest(const std::filesystem::path& folder, Charge& charge) {
  const std::filesystem::path path = folder / "manifest.json";
  if (!std::filesystem::exists(path)) throw no_data_set(folder);
  std::error_code unknown;
  const auto size = std::filesystem::file_size(path, unknown);
  // The text exists twice while it grows.
  std::optional<Charge> text(std::in_place, Tag::columns, unknown ? 0 : 2 * static_cast<int64_t>(size));
  Json manifest = parse_json(read_text(path), charge);
  text.reset();
  if (manifest.is_discarded() || !manifest.is_object())
    throw InputError(path.string() + ": not JSON; the data set is damaged, make it again");
  for (const char* key : {"kind", "format_version", "columns"})
    if (!manifest.contains(key)) throw InputError(fmt::format("{}: has no \"{}\"", path.string(), key));
  if (!manifest["kind"].is_string() || !manifest["format_version"].is_number_integer() ||
      !manifest["columns"].is_object())
    throw InputError(path.string() + ": kind, format_version or columns is not of the expected type");
  const auto version = manifest["format_version"].get<int64_t>();
  const int newest = newest_version(manifest["kind"].get<std::string>());
  if (version < 1 || version > newest)
    throw InputError(fmt::format("{}: format version {} is not known to this version, which reads {}",
                                 path.string(), version, newest == 1 ? "1" : fmt::format("1 to {}", newest)));
  return manifest;
}

Existing find_existing(const std::filesystem::path& folder, const Json& provenance) {
  if (!std::filesystem::exists(folder)) return Existing::none;
  if (!std::filesystem::exists(folder / "manifest.json")) return Existing::other;
  try {
    Charge charge(Tag::columns);
    const Json manifest = read_manifest(folder, charge);
    const auto found = manifest.find("provenance");
    return found != manifest.end() && *found == provenance ? Existing::same : Existing::other;
  } catch (const InputError&) {
    return Existing::other;
  }
}

Json make_provenance(Json sources, Json options) {
  return {{"tool", std::string("plimsoll ") + kVersion},
          {"sources", std::move(sources)},
          {"options", std::move(options)}};
}

NpyWriter& DataSetWriter::add(const std::string& name, const char* dtype, const std::vector<int64_t>& row) {
  columns_.push_back({name, NpyWriter(folder_.path() / (name + ".npy"), dtype, row, folder_.files())});
  return *columns_.back().writer;
}

std::list<DataSetWriter::Column>::iterator DataSetWriter::find(const std::string& name) {
  const auto found = std::ranges::find(columns_, name, &Column::name);
  if (found == columns_.end()) throw Failure("no column '" + name + "'; this is a bug in Plimsoll");
  return found;
}

void DataSetWriter::finish(Column& column) {
  const NpyShape shape = column.writer->finish();
  column.entry = {{"file", column.name + ".npy"},
                  {"dtype", shape.dtype},
                  {"shape", shape.shape},
                  {"xxh3", column.writer->checksum()}};
  column.writer.reset();
}

void DataSetWriter::finish(const std::string& name) {
  finish(*find(name));
}

void DataSetWriter::share(const DataSetView& from, const std::string& name,
                          const std::function<void()>& tick) {
  Json entry = share_column(from, name, path(), tick, files());
  // Linked files come first in the manifest.
  const auto place = entry.contains("link") ? columns_.begin() : columns_.end();
  columns_.insert(place, {name, std::nullopt, std::move(entry)});
}

void DataSetWriter::discard(const std::string& name) {
  columns_.erase(find(name));
  const std::filesystem::path path = folder_.path() / (name + ".npy");
  if (files().remove_file(path) != 0) throw file_failure("cannot delete", path);
}

void DataSetWriter::rewrite(const std::string& name, const char* dtype, const std::vector<int64_t>& row,
                            const std::function<void(const NpyView& from, NpyWriter& to)>& fill) {
  Column& column = *find(name);
  const std::filesystem::path path = folder_.path() / (name + ".npy");
  const std::filesystem::path temporary = folder_.path() / (name + ".again.npy");
  if (column.writer) column.writer->finish(false);
  NpyWriter again(temporary, dtype, row, files());
  fill(NpyView(path), again);
  if (files().rename(temporary, path, FileSystem::Rename::replace) != 0)
    throw file_failure("cannot rename", temporary);
  column.writer = std::move(again);
}

void DataSetWriter::publish(Json manifest, int format_version) {
  Json columns = manifest.value("columns", Json::object());  // Entries for files that the caller wrote.
  for (Column& column : columns_) {
    if (column.writer) finish(column);
    columns[column.name] = std::move(column.entry);
  }
  manifest["format_version"] = format_version;
  manifest["columns"] = std::move(columns);
  try {
    const auto fill = [&](File& file) {
      write_json(manifest, 1, [&](std::string_view piece) { file.write(piece.data(), piece.size()); });
      file.write("\n", 1);
    };
    replace_file(folder_.path() / "manifest.json", fill, folder_.files());
  } catch (const Json::exception& error) {
    throw InputError(fmt::format("{}: a name in its manifest is not UTF-8 ({}); rename the source",
                                 folder_.name().string(), error.what()));
  }
  folder_.publish();
}

DataSetView::DataSetView(std::filesystem::path folder, const std::string& kind)
    : folder_(std::move(folder)), manifest_(read_manifest(folder_, charge_)) {
  if (!kind.empty() && this->kind() != kind)
    throw InputError(
        fmt::format("{}: is a data set of kind '{}', expected '{}'", folder_.string(), this->kind(), kind));
  for (const auto& [name, entry] : manifest_["columns"].items()) {
    const std::string where = fmt::format("{}: column '{}'", folder_.string(), name);
    const std::string file =
        entry.is_object() ? entry.value("file", Json()).is_string() ? entry["file"] : Json("") : "";
    if (!file.ends_with(".npy") || file.find('/') != std::string::npos)
      throw InputError(where + ": the manifest names no file for it inside the folder");
    NpyView view(folder_ / file);
    const Json shape = view.shape().shape;
    if (entry.value("dtype", Json()) != view.shape().dtype || entry.value("shape", Json()) != shape)
      throw InputError(fmt::format(
          "{}: the manifest says {} {}, the file is {} {}; the data set is damaged, make it again", where,
          entry.value("dtype", Json()).dump(), entry.value("shape", Json()).dump(), view.shape().dtype,
          shape.dump()));
    columns_.emplace(name, std::move(view));
  }
}

Json DataSetView::identity() const {
  Json columns = Json::object();
  for (const auto& [name, entry] : manifest_["columns"].items()) columns[name] = entry.value("xxh3", Json());
  Hasher recordings;
  const auto table = manifest_.find("recordings");
  const Json none = Json::array();
  write_json(table != manifest_.end() ? *table : none, 0,
             [&](std::string_view piece) { recordings.add(piece.data(), piece.size()); });
  return {{"kind", kind()}, {"columns", std::move(columns)}, {"recordings", recordings.hex64()}};
}

const NpyView& DataSetView::require(const std::string& name, const std::vector<int64_t>& row) const {
  const auto found = columns_.find(name);
  if (found == columns_.end())
    throw InputError(
        fmt::format("{}: has no column '{}', which a '{}' needs", folder_.string(), name, kind()));
  const std::vector<int64_t>& shape = found->second.shape().shape;
  if (shape.empty() || std::vector<int64_t>(shape.begin() + 1, shape.end()) != row)
    throw InputError(fmt::format("{}: column '{}' has the shape {}, expected rows of shape {}",
                                 folder_.string(), name, Json(shape).dump(), Json(row).dump()));
  return found->second;
}

}  // namespace plimsoll
