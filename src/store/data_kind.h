#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace plimsoll {

struct Merged;
struct MergeRequest;

/// Operations on data sets of one kind, in addition to reading their columns. A null pointer means that the
/// kind does not have the operation.
struct DataKind {
  const char* name = "";
  const char* rows = "rows";  ///< What messages call its rows.
  int newest_version = 1;     ///< Newest version of its format that this program reads.
  /// Appends a sentence for each fault found in a set, except for wrong checksums. Errors: InputError if the
  /// set cannot be opened.
  void (*verify)(const std::filesystem::path& folder, std::vector<std::string>& wrong) = nullptr;
  /// Throws the first fault. Called before work that reads the whole set. Errors: InputError.
  void (*require_sound)(const std::filesystem::path& folder) = nullptr;
  /// Joins the shards of a set. Errors: those of merge_shards().
  Merged (*merge)(const MergeRequest& request) = nullptr;
};

/// Registers a kind. The module that owns a kind defines such an object next to the reader of its data sets,
/// so that every program that can read a kind knows it. Must be constructed before main().
class DataKindRegistration {
 public:
  explicit DataKindRegistration(const DataKind& kind);
};

/// Returns the operations of a kind, or null if this program does not know the kind. Thread-safe once main()
/// runs.
const DataKind* find_data_kind(const std::string& name);

/// Returns the names of all kinds whose shards can be merged, in alphabetical order.
std::vector<std::string> mergeable_kinds();

}  // namespace plimsoll
