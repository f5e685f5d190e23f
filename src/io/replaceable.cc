#include "io/replaceable.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <string_view>

#include "io/file.h"

namespace plimsoll {
namespace fs = std::filesystem;
namespace {

constexpr const char* kManifest = "manifest.json";
// Kinds of data sets in Plimsoll's manifests, except runs.
constexpr std::array<std::string_view, 7> kDataSets = {"frames",      "graph_set", "graph",    "edge_shard",
                                                       "predictions", "walks",     "attention"};

// Returns the kind in the first bytes of a manifest, where Plimsoll writes it. The whole manifest may be
// large, or damaged.
std::string_view kind_in(std::string_view text) {
  for (const std::string_view word : {"{", "\"kind\"", ":", "\""}) {
    text.remove_prefix(std::min(text.find_first_not_of(" \n"), text.size()));
    if (!text.starts_with(word)) return {};
    text.remove_prefix(word.size());
  }
  return text.substr(0, text.find('"'));
}

std::string_view kind_of_manifest(const fs::path& path, std::array<char, 256>& head, FileSystem& files) {
  File file = File::open(path, files);
  return kind_in({head.data(), file.read(head.data(), head.size())});
}

// Returns whether operating systems leave files with this name in folders.
bool is_left_by_system(const std::string& name) {
  return name == ".DS_Store" || name == "Thumbs.db" || name == "desktop.ini" || name.starts_with(".nfs");
}

std::vector<std::string> names_of_users(std::vector<std::string> names) {
  std::erase_if(names, is_left_by_system);
  std::ranges::sort(names);
  return names;
}

// Returns the first name that does not belong to a data set. A complete manifest names the columns.
std::optional<fs::path> other_than_data_set(const fs::path& folder, const std::vector<std::string>& names,
                                            std::string_view kind, FileSystem& files) {
  const std::string manifest = read_text(folder / kManifest, files);
  const size_t end = manifest.find_last_not_of(" \n");
  const bool whole = end != std::string::npos && manifest[end] == '}';
  for (const std::string& name : names) {
    const bool is_column = name.ends_with(".npy") && !files.names_in(folder / name) &&
                           (!whole || manifest.find('"' + name + '"') != std::string::npos);
    if (name != kManifest && !is_column && !(kind == "predictions" && name == "predictions.csv")) return name;
  }
  return std::nullopt;
}

// Returns the first file, at any depth, that the output will not have.
std::optional<fs::path> other_than(const WillHold& will_hold, const fs::path& folder, const fs::path& below,
                                   FileSystem& files) {
  for (const std::string& name :
       names_of_users(files.names_in(folder / below).value_or(std::vector<std::string>()))) {
    const fs::path path = below / name;
    const bool is_folder = files.names_in(folder / path).has_value();
    if (!is_folder && !will_hold(path)) return path;
    if (!is_folder) continue;
    if (auto other = other_than(will_hold, folder, path, files)) return other;
  }
  return std::nullopt;
}

fs::path whole_path(const fs::path& path) {
  std::error_code unknown;
  const fs::path whole = fs::weakly_canonical(fs::absolute(path, unknown), unknown);
  return whole.has_filename() ? whole : whole.parent_path();
}

bool lies_in(const fs::path& path, const fs::path& folder) {
  const fs::path inner = whole_path(path);
  const fs::path outer = whole_path(folder);
  return !outer.empty() && std::ranges::mismatch(outer, inner).in1 == outer.end();
}

}  // namespace

void require_replaceable(const fs::path& out, const WillHold& will_hold, FileSystem& files) {
  if (!files.exists(out)) return;
  const auto found = files.names_in(out);
  if (!found) {
    const int opened = files.open(out, FileSystem::Open::read);
    if (opened < 0 && errno == ENOENT) return;  // A dangling link.
    if (opened < 0) throw file_failure("cannot read what is to be replaced,", out);
    files.close(opened);
    throw Failure(out.string() + " is a file, but the output is a folder; name another output");
  }
  const std::vector<std::string> names = names_of_users(*found);
  std::array<char, 256> head;
  const bool has_manifest = std::ranges::binary_search(names, kManifest);
  const std::string_view kind = has_manifest ? kind_of_manifest(out / kManifest, head, files) : "";
  if (kind == "run") throw Failure(out.string() + " holds a run; name another output");
  std::optional<fs::path> other;
  if (will_hold && !(other = other_than(will_hold, out, {}, files))) return;
  if (std::ranges::find(kDataSets, kind) != kDataSets.end()) {
    other = other_than_data_set(out, names, kind, files);
    if (!other) return;
  }
  if (!other && !names.empty()) other = names.front();
  if (other)
    throw Failure(
        fmt::format("{} holds {}, which is not part of such an output; delete it, or name another output",
                    out.string(), other->string()));
}

void require_outside(const fs::path& out, const std::vector<fs::path>& sources) {
  for (const fs::path& source : sources)
    if (lies_in(source, out))
      throw Failure(fmt::format("{} is an input, and would be replaced by the output; name another output",
                                source.string()));
}

void require_free(const fs::path& out, bool force, const std::vector<fs::path>& sources,
                  const WillHold& will_hold) {
  if (!FileSystem::disk().exists(out)) return;
  require_outside(out, sources);
  require_replaceable(out, will_hold);
  if (!force)
    throw Failure(out.string() + " exists already and holds something else; give --force to replace it");
}

void require_no_source(const fs::path& file, const std::vector<fs::path>& sources) {
  if (!fs::exists(file)) return;
  for (const fs::path& source : sources)
    if (lies_in(file, source))
      throw Failure(
          fmt::format("{} is an input, and would be overwritten; name another file", file.string()));
}

}  // namespace plimsoll
