#include "job/job_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "io/file.h"
#include "job/journal_sums.h"
#include "job/json_at.h"
#include "job/slurm_script.h"
#include "telemetry/journal_reader.h"
#include "telemetry/table.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

const Json& list_at(const Json& json, const char* key) {
  static const Json none = Json::array();
  const auto found = json.is_object() ? json.find(key) : json.end();
  return found != json.end() && found->is_array() ? *found : none;
}

Json read_run_manifest(const fs::path& run) {
  const fs::path path = run / "manifest.json";
  if (!fs::exists(run))
    throw InputError("no such folder: " + run.string() +
                     ", expected a run; give the folder of `train --run`");
  if (!fs::exists(path))
    throw InputError(run.string() + ": not a run: it has no manifest.json; give the folder of `train --run`");
  Json manifest = parse_json(read_text(path));
  if (!manifest.is_object() || manifest.value("kind", Json()) != "run")
    throw InputError(path.string() + ": is not the manifest of a run; give the folder of `train --run`");
  return manifest;
}

// Adds up the journals of all stages.
JournalSums sums_of(const fs::path& run) {
  std::vector<fs::path> journals;
  std::error_code failed;
  for (fs::recursive_directory_iterator at(run, failed), end; !failed && at != end; at.increment(failed))
    if (at->path().filename() == "events.jsonl") journals.push_back(at->path());
  std::ranges::sort(journals);
  JournalSums sums;
  for (const fs::path& journal : journals)
    JournalReader(journal).read([&](const Json& event) { sums.add(event); });
  return sums;
}

// Returns the peaks by tag over all starts, and the planned peaks of the stage that needs the most memory.
Json memory_of(const Json& manifest) {
  std::map<std::string, int64_t> by_tag;
  int64_t ledger = 0, anonymous = 0, floor = 0;
  for (const Json& start : list_at(manifest, "starts")) {
    ledger = std::max(ledger, bytes_at(start, "/memory/ledger_peak_bytes"));
    anonymous = std::max(anonymous, bytes_at(start, "/memory/anonymous_peak_bytes"));
    floor = std::max(floor, bytes_at(start, "/memory/floor_bytes"));
    if (const Json::json_pointer tags("/memory/by_tag"); start.contains(tags) && start.at(tags).is_object())
      for (const auto& [tag, bytes] : start.at(tags).items())
        if (bytes.is_number()) by_tag[tag] = std::max(by_tag[tag], bytes.get<int64_t>());
  }
  int64_t planned = bytes_at(manifest, "/plan/peak_bytes"),
          min = bytes_at(manifest, "/plan/min_budget_bytes");
  Json breakdown;
  for (const Json& stage : list_at(manifest, "stages")) {
    min = std::max(min, bytes_at(stage, "/min_budget_bytes"));
    if (breakdown.is_null() || bytes_at(stage, "/planned_peak_bytes") > planned)
      breakdown = at_or_null(stage, "/breakdown");
    planned = std::max(planned, bytes_at(stage, "/planned_peak_bytes"));
  }
  return {{"budget_bytes", bytes_at(manifest, "/budget_bytes")},
          {"planned_peak_bytes", planned > 0 ? Json(planned) : Json()},
          {"min_budget_bytes", min > 0 ? Json(min) : Json()},
          {"anonymous_peak_bytes", anonymous},
          {"floor_bytes", floor},
          {"ledger_peak_bytes", ledger},
          {"by_tag", by_tag},
          {"planned_parts", std::move(breakdown)}};
}

Json processors_of(const Json& manifest) {
  double seconds = 0, cpu = 0, available = 0, read = 0, written = 0, faults = 0;
  for (const Json& start : list_at(manifest, "starts")) {
    const double wall = number_at(start, "/seconds");
    seconds += wall;
    available += wall * number_at(start, "/threads");
    cpu += number_at(start, "/usage/cpu_seconds");
    read += number_at(start, "/usage/read_bytes");
    written += number_at(start, "/usage/written_bytes");
    faults += number_at(start, "/usage/major_faults");
  }
  return {{"seconds", seconds},
          {"cpu_seconds", cpu},
          {"utilisation", available > 0 ? Json(std::min(cpu / available, 1.0)) : Json()},
          {"threads", manifest.value("threads", Json())},
          {"read_bytes", static_cast<int64_t>(read)},
          {"written_bytes", static_cast<int64_t>(written)},
          {"major_faults", static_cast<int64_t>(faults)}};
}

// Returns what a repetition of the job needs: the planned peak or, if larger, the smallest budget; the number
// of processors that were busy; and the same time.
Json advice_of(const Json& report, bool finished) {
  const int64_t planned = bytes_at(report, "/memory/planned_peak_bytes");
  const int64_t given = bytes_at(report, "/memory/budget_bytes");
  const int64_t min = bytes_at(report, "/memory/min_budget_bytes");
  const int64_t budget = planned > 0 ? std::min(std::max(planned + kMiB, min), given) : given;
  const double threads = number_at(report, "/processors/threads");
  const double busy = number_at(report, "/processors/utilisation") * threads;
  constexpr double kMargin = 1.3, kIdle = 0.25, kMinute = 60;
  // A processor that was idle all the time is not needed.
  const double needed = threads - busy >= 1 ? std::ceil(busy + kIdle) : threads;
  const int cpus = std::max(1, static_cast<int>(std::min(needed, threads)));
  Json advice = {{"budget_bytes", budget}, {"mem_mib", memory_mib(budget, cpus)}, {"cpus", cpus}};
  // The device budget is the planned peak, because later blocks may need more than was used so far.
  const int64_t on_device = bytes_at(report, "/device/planned_peak_bytes");
  if (on_device > 0) advice["device_budget_bytes"] = on_device;
  advice["minutes"] = finished ? Json(static_cast<int64_t>(
                                     std::ceil(number_at(report, "/processors/seconds") * kMargin / kMinute)))
                               : Json();
  return advice;
}

std::string state_of(const Json& manifest) {
  if (manifest.contains("weights")) return "done";
  const Json& starts = list_at(manifest, "starts");
  const Json ended = starts.empty() ? Json() : at_or_null(starts.back(), "/ended");
  if (!ended.is_string()) return "running or killed";
  return ended.get<std::string>();
}

std::string bytes_or_dash(const Json& bytes) {
  return bytes.is_number() && bytes.get<double>() > 0 ? format_bytes(bytes.get<int64_t>()) : "-";
}

}  // namespace

Json job_report(const fs::path& run) {
  const Json manifest = read_run_manifest(run);
  const std::string state = state_of(manifest);
  Json starts = Json::array();
  for (const Json& start : list_at(manifest, "starts"))
    starts.push_back({{"ended", at_or_null(start, "/ended")},
                      {"seconds", at_or_null(start, "/seconds")},
                      {"slurm_job", at_or_null(start, "/usage/slurm_job")}});
  const JournalSums sums = sums_of(run);
  Json report = {{"run", run.string()},
                 {"state", state},
                 {"weights", manifest.value("weights", Json())},
                 {"starts", std::move(starts)},
                 {"memory", memory_of(manifest)},
                 {"processors", processors_of(manifest)},
                 {"device", sums.device()},
                 {"journal", sums.journal()}};
  report["next_time"] = advice_of(report, state == "done");
  return report;
}

std::string job_report_text(const Json& report) {
  const Json& memory = report["memory"];
  const Json& processors = report["processors"];
  const Json& journal = report["journal"];
  std::string text =
      fmt::format("{}: {} after {} start{}, {}\n", report["run"].get<std::string>(),
                  report["state"].get<std::string>(), report["starts"].size(),
                  report["starts"].size() == 1 ? "" : "s", format_seconds(processors["seconds"]));
  Table table({"<memory", "bytes", ""});
  const auto row = [&](const std::string& name, const Json& bytes) {
    if (bytes.is_number()) table.add({name, format_count(bytes.get<int64_t>()), bytes_or_dash(bytes)});
  };
  row("budget", memory["budget_bytes"]);
  row("planned peak", memory["planned_peak_bytes"]);
  row("measured peak (anonymous)", memory["anonymous_peak_bytes"]);
  row("  before any data", memory["floor_bytes"]);
  for (const auto& [tag, bytes] : memory["by_tag"].items()) row("  " + tag, bytes);
  row("smallest budget", memory["min_budget_bytes"]);
  const Json& device = report["device"];
  if (device.is_object()) {
    row("GPU: budget", device["budget_bytes"]);
    row("GPU: planned peak", device["planned_peak_bytes"]);
    row("GPU: used peak", device["used_peak_bytes"]);
    row("GPU: peak of the process (NVML)", device["process_peak_bytes"]);
    row("GPU: smallest budget", device["min_budget_bytes"]);
  }
  text += table.text();
  if (device.is_object())
    text += fmt::format("{}: {}\n", device["name"].get<std::string>(),
                        device["busy"].is_number()
                            ? fmt::format("{:.0f} % busy", 100 * device["busy"].get<double>())
                            : "utilisation unknown, because NVML is not available");
  text += "processors: ";
  text += processors["utilisation"].is_number()
              ? fmt::format("{:.0f} % of {} busy", 100 * processors["utilisation"].get<double>(),
                            processors["threads"].dump())
              : "unknown";
  text += fmt::format("; disk: {} read, {} written, {} major page faults\n",
                      format_bytes(processors["read_bytes"]), format_bytes(processors["written_bytes"]),
                      format_count(processors["major_faults"]));
  if (journal["rows"].is_object())
    text += fmt::format("rows of features: waited {} for the disk, {} for blocks\n",
                        format_seconds(journal["rows"]["waited_s"]),
                        format_seconds(journal["rows"]["stalled_s"]));
  text += fmt::format("blocks run again alone: {}; memory shortages: {}; interruptions: {}\n",
                      journal["reruns"].dump(), journal["pressure"].dump(), journal["interruptions"].dump());
  const Json& next = report["next_time"];
  text += fmt::format("next time: --budget {} --threads {}{}; sbatch --mem={}M --cpus-per-task={}",
                      next["budget_bytes"].dump(), next["cpus"].dump(),
                      next.contains("device_budget_bytes")
                          ? fmt::format(" --device-budget {}", next["device_budget_bytes"].dump())
                          : "",
                      next["mem_mib"].dump(), next["cpus"].dump());
  if (next["minutes"].is_number()) text += fmt::format(" --time={}", next["minutes"].dump());
  return text + "\n";
}

}  // namespace plimsoll
