#include <fmt/format.h>

#include <memory>

#include "base/json.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/made_set.h"
#include "cli/verbs.h"
#include "store/data_kind.h"
#include "store/merge_shards.h"
#include "telemetry/progress.h"

namespace plimsoll {
namespace {

struct MergeVerbOptions {
  MergeRequest merge;
  Resources resources;
  bool json = false;
};

void run(MergeVerbOptions& options) {
  const Stopwatch watch;
  Budget budget(options.resources, 256 * kMiB);
  Merged merged;
  {
    Progress progress("merge", "data", Progress::Unit::bytes);
    options.merge.progress =
        until_stopped([&](int64_t done, int64_t total) { progress.update(done, total); });
    merged = merge_shards(options.merge);
  }
  const double seconds = watch.seconds();
  print_made(
      {.out = options.merge.out,
       .already_there = merged.already_there,
       .counts = {{"kind", merged.kind}, {"rows", merged.rows}, {"bytes", merged.bytes}},
       .text = fmt::format("{} {} of {} shards", format_count(merged.rows), find_data_kind(merged.kind)->rows,
                           options.merge.shards.size()),
       .from = "shards",
       .remarks = "",
       .took = fmt::format("{} in {} ({}/s)", format_bytes(merged.bytes), format_seconds(seconds),
                           format_bytes(static_cast<int64_t>(static_cast<double>(merged.bytes) / seconds)))},
      seconds, budget, options.json);
}

}  // namespace

void add_merge(CLI::App& app) {
  auto options = std::make_shared<MergeVerbOptions>();
  CLI::App* verb = app.add_subcommand("merge", "Join the shards of a data set");
  verb->add_option("SHARD", options->merge.shards, "All shards of one data set, in any order")->required();
  verb->add_option("--out", options->merge.out, "Write the data set to this folder")
      ->required()
      ->type_name("DIR");
  verb->add_flag("--force", options->merge.force, "Replace an existing output");
  verb->add_flag("--json", options->json, "Print the summary as JSON");
  options->resources.add_budget(*verb);
  verb->footer("Example: plimsoll merge shards/graph-1 shards/graph-2 --out graph");
  verb->callback([options] { run(*options); });
}

}  // namespace plimsoll
