#include "telemetry/run_status.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/units.h"
#include "memory/cgroup.h"
#include "telemetry/journal_event.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLock = "/run.lock";  // Defined in run/run_lock.h.

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;  // Set if a process has ended, or belongs to another user.
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    entries.push_back(at->path());
  std::ranges::sort(entries);
  return entries;
}

// Returns whether the folder belongs to a run that is being replaced by a new run (run/run_folder.h). It is
// kept until the new run is complete.
bool is_put_aside(const fs::path& folder) {
  const std::string name = folder.filename().string();
  return name.starts_with('.') && name.find(".old.") != std::string::npos;
}

// Returns the process number in a text, or 0 if there is none.
int64_t pid_of(const std::string& text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : 0;
}

// Returns the key under which the state of a stage has its newest event of this kind.
std::string_view key_of(std::optional<JournalEvent> event) {
  switch (event.value_or(JournalEvent::pressure)) {
    case JournalEvent::start:
    case JournalEvent::resume:
      return word_of(JournalEvent::start);
    case JournalEvent::epoch:
    case JournalEvent::progress:
    case JournalEvent::end:
    case JournalEvent::interrupted:
    case JournalEvent::out_of_budget:
      return word_of(*event);
    case JournalEvent::pressure:
    case JournalEvent::damaged_checkpoint:
      break;
  }
  return "decision";
}

Json bytes_of_process(const std::string& root, int64_t process) {
  const std::string status = root + "/proc/" + std::to_string(process) + "/status";
  const auto field = [&](const char* key) {
    const auto kib = read_field(status, key);
    return kib ? Json(*kib * kKiB) : Json();
  };
  return {{"anonymous_bytes", field("RssAnon")}, {"page_cache_bytes", field("RssFile")}};
}

}  // namespace

std::vector<LiveRun> find_live_runs(const std::string& root) {
  std::vector<LiveRun> runs;
  for (const fs::path& process : entries_of(root + "/proc")) {
    const int64_t number = pid_of(process.filename().string());
    if (number == 0) continue;
    for (const fs::path& file : entries_of(process / "fd")) {
      std::error_code error;
      const std::string target = fs::read_symlink(file, error).string();
      if (error || !target.ends_with(kLock)) continue;
      const fs::path folder = target.substr(0, target.size() - kLock.size());
      const auto same = [&](const LiveRun& run) { return run.folder == folder; };
      if (!is_put_aside(folder) && fs::exists(folder / "manifest.json") && std::ranges::none_of(runs, same))
        runs.push_back({folder, number});
    }
  }
  return runs;
}

void RunStatus::read(Stage& stage) {
  stage.journal.read([&](const Json& event) {
    const Json name = event.value("event", Json());
    if (!name.is_string()) return;
    const auto kind = find_word<JournalEvent>(name.get<std::string>());
    if (kind == JournalEvent::start || kind == JournalEvent::resume) {
      stage.last = Json::object();
      stage.state = StageState::running;
    }
    if (kind == JournalEvent::end) stage.state = StageState::done;
    if (kind == JournalEvent::interrupted) stage.state = StageState::interrupted;
    if (kind == JournalEvent::out_of_budget) stage.state = StageState::out_of_budget;
    stage.last[std::string(key_of(kind))] = event;
    if (const Json time = event.value("time", Json()); time.is_number()) stage.time = time;
  });
}

Json RunStatus::look(int64_t process) {
  for (const fs::path& seed : entries_of(folder_)) {
    if (!seed.filename().string().starts_with("seed-")) continue;
    for (const fs::path& stage : entries_of(seed))
      if (const fs::path journal = stage / "events.jsonl"; fs::exists(journal))
        stages_.try_emplace(fs::relative(stage, folder_).string(), Stage{JournalReader(journal)});
  }
  Json status = {{"run", folder_.string()}, {"process", process > 0 ? Json(process) : Json()}};
  if (process > 0) status["memory"] = bytes_of_process(root_, process);
  const Stage* newest = nullptr;
  for (auto& [name, stage] : stages_) {
    read(stage);
    if (newest != nullptr && stage.time < newest->time) continue;
    newest = &stage;
    status["stage"] = name;
  }
  if (newest == nullptr) {
    status["state"] = process > 0 ? "starting" : "not started";
    return status;
  }
  const bool was_running = newest->state == StageState::running;
  // A process that has finished a stage continues with the next one.
  if (process > 0 && (was_running || newest->state == StageState::done))
    status["state"] = StageState::running;
  else if (was_running)
    status["state"] = "killed";
  else
    status["state"] = newest->state;
  status["time"] = newest->time;
  status.update(newest->last);
  return status;
}

}  // namespace plimsoll
