#include <fmt/format.h>

#include <cstdlib>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/json.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/verbs.h"
#include "job/evict.h"
#include "job/stage.h"
#include "telemetry/progress.h"

namespace plimsoll {
namespace {

struct StageVerbOptions {
  std::filesystem::path data;
  std::string to;
  bool evict = false;
  std::string verify = "auto";
  bool json = false;
};

std::filesystem::path root_of(const StageVerbOptions& options) {
  if (options.to == "scratch") return scratch_root();
  if (!options.to.empty()) return options.to;
  if (const auto root = staging_root()) return *root;
  throw UsageError("no folder to copy to; give --to DIR or --to scratch, or set PLIMSOLL_CACHE");
}

void run_evict(const StageVerbOptions& options) {
  const std::filesystem::path root = root_of(options);
  const Eviction done = evict(options.data, root);
  Json list = Json::array();
  int64_t bytes = 0;
  for (const Evicted& copy : done.deleted) {
    list.push_back({{"name", copy.name}, {"bytes", copy.bytes}});
    bytes += copy.bytes;
    if (!options.json) fmt::print("{}: {}\n", copy.name, format_bytes(copy.bytes));
  }
  for (const std::string& name : done.left)
    fmt::print(stderr,
               "plimsoll: {}: not deleted: its name is that of a copy, but it lacks the files that `stage` "
               "writes; delete it yourself if it is not needed\n",
               (root / name).string());
  if (options.json)
    print_json({{"root", root.string()}, {"evicted", list}, {"bytes", bytes}, {"left", done.left}});
  else
    fmt::print(stderr, "{}: {} copies deleted, {}\n", root.string(), done.deleted.size(),
               format_bytes(bytes));
}

void run_stage(const StageVerbOptions& options) {
  const Stopwatch watch;
  const std::filesystem::path root = root_of(options);
  const bool named = !options.to.empty() && options.to != "scratch";
  if (!named && std::getenv("SLURM_JOB_ID") != nullptr && lies_in_memory(root))
    throw Failure(root.string() +
                  " is in memory (tmpfs), which counts against the job's --mem; set PLIMSOLL_CACHE to a "
                  "folder on a disk, or set `scratch` in the site file");
  std::optional<Progress> progress(std::in_place, "stage", "data", Progress::Unit::bytes);
  const Staged staged =
      stage({.data = options.data,
             .root = root,
             .verify_all = options.verify == "full",
             .progress = until_stopped([&](int64_t done, int64_t total) { progress->update(done, total); }),
             .say = [](const std::string& what) { fmt::print(stderr, "plimsoll: {}\n", what); }});
  progress.reset();
  const double seconds = watch.seconds();
  if (options.json) {
    return print_json({{"folder", staged.folder.string()},
                       {"already_there", staged.copied == 0},
                       {"bytes", staged.bytes},
                       {"copied_bytes", staged.copied},
                       {"resumed_bytes", staged.resumed},
                       {"seconds", seconds}});
  }
  fmt::print("{}\n", staged.folder.string());
  if (staged.copied == 0)
    fmt::print(stderr, "already there: nothing done\n");
  else
    fmt::print(stderr, "{} of {} copied in {} ({}/s)\n", format_bytes(staged.copied),
               format_bytes(staged.bytes), format_seconds(seconds),
               format_bytes(static_cast<int64_t>(static_cast<double>(staged.copied) / seconds)));
  if (staging_root() != root)
    fmt::print(stderr,
               "for train, evaluate, predict and plan to read the copy, run: export PLIMSOLL_CACHE={}\n",
               root.string());
}

}  // namespace

void add_stage(CLI::App& app) {
  auto options = std::make_shared<StageVerbOptions>();
  CLI::App* verb = app.add_subcommand("stage", "Copy a data set to a faster disk, unless a copy exists");
  CLI::Option* const data = verb->add_option("DATA", options->data, "The folder of a data set");
  verb->add_option("--to", options->to,
                   "Copy to this folder, or, with scratch, to PLIMSOLL_CACHE if set, else to `plimsoll` in "
                   "SLURM_TMPDIR, TMPDIR or /tmp; default: PLIMSOLL_CACHE")
      ->type_name("DIR|scratch");
  CLI::Option* const evict =
      verb->add_flag("--evict", options->evict, "Delete the copy of DATA; without DATA, delete all copies");
  verb->add_option("--verify", options->verify,
                   "Check only the file sizes of an existing copy (auto), or also all checksums (full)")
      ->check(CLI::IsMember({"auto", "full"}))
      ->capture_default_str()
      ->excludes(evict);
  verb->add_flag("--json", options->json, "Print the summary as JSON");
  verb->footer("Example: plimsoll stage graphs --to scratch");
  verb->callback([options, data] {
    if (options->evict) return run_evict(*options);
    if (data->count() == 0) throw UsageError("no data set given; expected `plimsoll stage DATA --to DIR`");
    run_stage(*options);
  });
}

}  // namespace plimsoll
