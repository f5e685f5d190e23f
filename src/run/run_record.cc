#include "run/run_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/json.h"
#include "base/units.h"
#include "engine/plan/memory_by_module.h"
#include "io/file.h"
#include "job/job_report.h"
#include "telemetry/metrics_table.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

// Reads the columns of metrics.csv that are losses.
RunRecord::Losses read_losses(const fs::path& path, std::string stage, int64_t seed) {
  RunRecord::Losses losses{std::move(stage), seed, {}, {}};
  constexpr std::string_view kEnding = "_loss";
  MetricsTable metrics = parse_metrics(read_text(path));
  for (size_t c = 0; c < metrics.names.size(); ++c) {
    const std::string& name = metrics.names[c];
    if (!name.ends_with(kEnding)) continue;
    losses.names.push_back(name.substr(0, name.size() - kEnding.size()));
    losses.values.push_back(std::move(metrics.values[c]));
  }
  return losses;
}

int64_t whole_number_of(std::string_view text) {
  int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::vector<fs::path> sorted_folders(const fs::path& in) {
  std::vector<fs::path> folders;
  std::error_code missing;
  for (const fs::directory_entry& entry : fs::directory_iterator(in, missing))
    if (entry.is_directory()) folders.push_back(entry.path());
  std::ranges::sort(folders);
  return folders;
}

std::optional<int64_t> bytes_at(const Json& json, const char* path) {
  const Json::json_pointer pointer(path);
  if (!json.contains(pointer) || !json.at(pointer).is_number_integer()) return std::nullopt;
  return json.at(pointer).get<int64_t>();
}

std::string text_at(const Json& json, const char* key) {
  const auto found = json.is_object() ? json.find(key) : json.end();
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

// Returns a stage's planned peak in few enough parts for a chart. The last part is the rest of the peak.
std::vector<std::pair<std::string, int64_t>> parts_of(const Json& stage, int64_t peak, int64_t floor) {
  const auto sum = [&](std::initializer_list<const char*> names) {
    int64_t bytes = 0;
    for (const char* name : names)
      bytes += bytes_at(stage, (std::string("/breakdown/") + name).c_str()).value_or(0);
    return bytes;
  };
  std::vector<std::pair<std::string, int64_t>> parts = {
      {"program and torch", floor},
      {"weights, gradients, optimizer", sum({"parameters", "embeddings", "gradients", "optimizer"})},
      {"blocks in flight", sum({"blocks in flight"})},
      {"graphs of blocks, read ahead", sum({"graphs of blocks", "prefetch"})}};
  for (const auto& part : parts) peak -= part.second;
  parts.emplace_back("all else", peak);
  return parts;
}

// Adds the memory of each stage, in the order in which the stages ran. If there are several seeds, uses the
// one with the highest planned peak.
void add_memory(RunRecord& record, const Json& manifest) {
  const auto budget = bytes_at(manifest, "/budget_bytes");
  if (!budget || !manifest.contains("stages") || !manifest.at("stages").is_array()) return;
  const int64_t floor = bytes_at(manifest, "/memory/floor_bytes").value_or(0);
  for (const Json& stage : manifest.at("stages")) {
    const auto planned = bytes_at(stage, "/planned_peak_bytes");
    if (!planned) continue;
    const std::string name = text_at(stage, "stage");
    auto known = std::ranges::find(record.memory, name, &RunRecord::Memory::stage);
    if (known == record.memory.end())
      known = record.memory.insert(known, {name, 0, {}, {}, *budget});
    else if (known->planned_peak >= *planned)
      continue;
    *known = {name, *planned, parts_of(stage, *planned, floor), bytes_at(stage, "/measured_peak_bytes"),
              *budget};
  }
}

void add_facts(RunRecord& record, const Json& manifest) {
  const auto add = [&](const char* name, const char* key) {
    if (!manifest.is_object() || !manifest.contains(key)) return;
    const Json& value = manifest.at(key);
    record.facts.emplace_back(name, value.is_string() ? value.get<std::string>() : value.dump());
  };
  add("tool", "tool");
  add("build", "build");
  add("seed", "seed");
  add("threads", "threads");
  add("parameters", "parameters");
  add("best epoch", "best_epoch");
  add("weights", "weights");
  add("identity of recipe and data", "identity");
}

}  // namespace

RunRecord read_run_record(const RunFolder& folder) {
  RunRecord record;
  const fs::path root = fs::absolute(folder.root).lexically_normal();
  record.name = (root.has_filename() ? root : root.parent_path()).filename().string();
  record.recipe = read_text(folder.recipe());
  for (const fs::path& seed : sorted_folders(folder.root)) {
    const std::string name = seed.filename().string();
    constexpr std::string_view kSeed = "seed-";
    if (!name.starts_with(kSeed)) continue;
    for (const fs::path& stage : sorted_folders(seed)) {
      if (!fs::exists(stage / "metrics.csv")) continue;
      record.losses.push_back(read_losses(stage / "metrics.csv", stage.filename().string(),
                                          whole_number_of(std::string_view(name).substr(kSeed.size()))));
    }
  }
  const Json manifest = parse_json(read_text(folder.manifest()));
  add_facts(record, manifest);
  add_memory(record, manifest);
  if (manifest.is_object() && manifest.contains("memory_by_module"))
    record.by_module = memory_by_module_from(manifest.at("memory_by_module"));
  // Manifests of older versions have no entry "starts", which the job report needs.
  if (manifest.is_object() && manifest.contains("starts"))
    record.job_report = job_report_text(job_report(folder.root));
  // Sorts by the order in which the stages ran, if the manifest has it. A stage that is still running is not
  // in the manifest.
  std::ranges::stable_sort(record.losses, {}, [&](const RunRecord::Losses& losses) {
    return std::ranges::find(record.memory, losses.stage, &RunRecord::Memory::stage) - record.memory.begin();
  });
  return record;
}

}  // namespace plimsoll
