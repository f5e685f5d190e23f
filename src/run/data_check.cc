#include "run/data_check.h"

#include <fmt/format.h>

#include "base/error.h"
#include "engine/fit/fit.h"
#include "io/file.h"
#include "io/file_system.h"
#include "store/column_check.h"
#include "store/data_kind.h"
#include "telemetry/progress.h"

namespace plimsoll {
namespace {

// The entry "read" of a run's manifest, if the run has read this data set; otherwise an empty object.
Json read_before(const RunFolder& run, const DataSetView& set) {
  const Json manifest = parse_json(read_text_if_exists(run.manifest()).value_or(""));
  // A damaged manifest is ignored, because the checkpoints may be intact.
  if (!manifest.is_object()) return Json::object();
  if (manifest.value("data", Json()) != set.identity()) return Json::object();
  const Json read = manifest.value("read", Json());
  return read.is_object() ? read : Json::object();
}

}  // namespace

Json check_data(const std::filesystem::path& data, const RunFolder& run, const DataCheck& check) {
  const DataSetView set(data);
  const Json before = read_before(run, set);
  Progress progress("check", "data", Progress::Unit::bytes);
  Json read = check_columns(set, {.full = check.full,
                                  .known = before.value("columns", Json()),
                                  .progress = [&](int64_t done, int64_t total) {
                                    if (check.interrupt != nullptr && *check.interrupt)
                                      throw Interrupted("interrupted while checking the data set");
                                    progress.update(done, total);
                                  }});
  // True if checksums of large columns were skipped.
  const bool left_out = read.contains("columns") && !check.full;
  const DataKind* const kind = find_data_kind(set.kind());
  if (kind != nullptr && kind->require_sound != nullptr && !left_out) kind->require_sound(data);
  if (check.resume && before.contains("manifest") && before["manifest"] != read["manifest"])
    throw InputError(fmt::format(
        "{}/manifest.json: found the checksum {}, expected {} as when the run started: splits or other "
        "tables were changed; restore the data set, or start again with --force in place of --resume",
        data.string(), read["manifest"].dump(), before["manifest"].dump()));
  return read;
}

}  // namespace plimsoll
