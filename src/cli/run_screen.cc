#include "cli/run_screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/units.h"
#include "telemetry/progress.h"

namespace plimsoll {
namespace {

// Returns the number at a JSON pointer such as "/progress/done"; 0 if there is none.
double number_at(const Json& run, const char* pointer) {
  const Json::json_pointer at(pointer);
  return run.contains(at) && run.at(at).is_number() ? run.at(at).get<double>() : 0;
}
int64_t whole_at(const Json& run, const char* pointer) {
  return static_cast<int64_t>(number_at(run, pointer));
}
std::string text_at(const Json& run, const char* pointer) {
  const Json::json_pointer at(pointer);
  return run.contains(at) && run.at(at).is_string() ? run.at(at).get<std::string>() : "";
}

std::string bar(double share, int width) {
  const int filled = static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * width));
  std::string text = "[";
  for (int i = 0; i < width; ++i) text += i < filled ? "█" : "░";
  return text + "]";
}

std::string progress_line(const Json& run, int width) {
  if (run.contains("end") && run.contains(Json::json_pointer("/end/weights")))
    return fmt::format("epoch {} of {}, best {}; weights {}", whole_at(run, "/epoch/epoch"),
                       whole_at(run, "/start/max_epochs"), whole_at(run, "/end/best_epoch"),
                       text_at(run, "/end/weights"));
  const double done = number_at(run, "/progress/done");
  const double total = std::max(number_at(run, "/progress/total"), 1.0);
  const double rate = number_at(run, "/progress/graphs_per_s");
  std::string line =
      fmt::format("epoch {} of {}  {} {:.1f} %", whole_at(run, "/progress/epoch"),
                  whole_at(run, "/start/max_epochs"), bar(done / total, width / 4), 100 * done / total);
  if (rate > 0) {
    // Blocks of one giant graph had to be sampled at the start.
    const bool blocks = run.value(Json::json_pointer("/start/start_up"), Json()).is_object();
    line += fmt::format("  {} {}/s", format_count(std::llround(rate)), blocks ? "blocks" : "graphs");
    const double left = (total - done) / rate;
    if (run.at("state") == "running" && left <= kMaxEstimateSeconds)
      line += fmt::format(", {} left", format_seconds(left));
  }
  return line;
}

bool has_number(const Json& run, const char* pointer) {
  const Json::json_pointer at(pointer);
  return run.contains(at) && run.at(at).is_number();
}

std::string loss_line(const Json& run) {
  std::string line = fmt::format("loss {:.5f}", number_at(run, "/epoch/training_loss"));
  if (has_number(run, "/epoch/validation_loss"))
    line += fmt::format(", validation {:.5f}", number_at(run, "/epoch/validation_loss"));
  return line + fmt::format(" (epoch {})", whole_at(run, "/epoch/epoch"));
}

std::string budget_line(const Json& run, int width) {
  const int64_t live = whole_at(run, "/memory/anonymous_bytes");
  const int64_t held = live > 0 ? live : whole_at(run, "/progress/anonymous_bytes");
  const int64_t budget = whole_at(run, "/start/budget_bytes");
  const std::string planned = format_bytes(whole_at(run, "/start/planned_bytes"));
  if (budget == 0) return fmt::format("no budget; {} held, {} planned", format_bytes(held), planned);
  return fmt::format("budget {} {} {} held, {} planned", format_bytes(budget),
                     bar(static_cast<double>(held) / static_cast<double>(budget), width / 4),
                     format_bytes(held), planned);
}

// Returns the byte at which a line of `width` characters must break: its last space, otherwise its end.
size_t end_of_row(std::string_view line, int width) {
  int letters = 0;
  size_t space = line.npos;
  for (size_t at = 0; at < line.size(); ++at) {
    // Checks for the first byte of a UTF-8 character.
    const bool starts_letter = (static_cast<unsigned char>(line[at]) & 0xC0) != 0x80;
    if (starts_letter && ++letters > width && space != line.npos) return space;
    if (line[at] == ' ') space = at;
  }
  return line.size();
}

// Returns the path relative to the folder where the program was started, if it is inside that folder.
std::string path_from_here(const std::string& path) {
  std::error_code failed;
  const std::string here = std::filesystem::current_path(failed).string() + "/";
  return !failed && path.starts_with(here) ? path.substr(here.size()) : path;
}

// Lists the tags, the largest first.
std::string ledger_line(const Json& run) {
  std::vector<std::pair<int64_t, std::string>> tags;
  if (const Json::json_pointer at("/progress/held"); run.contains(at) && run.at(at).is_object())
    for (const auto& [tag, bytes] : run.at(at).items())
      if (bytes.is_number()) tags.emplace_back(bytes.get<int64_t>(), tag);
  std::ranges::sort(tags, std::greater<>());
  std::string line = fmt::format("ledger {}:", format_bytes(whole_at(run, "/progress/ledger_bytes")));
  for (const auto& [bytes, tag] : tags) line += fmt::format(" {} {}", tag, format_bytes(bytes));
  return line;
}

// Shows the memory of the GPU: the planned peak, the memory used in the epochs so far, and NVML's values if
// known.
std::string device_line(const Json& run, int width) {
  const int64_t held = whole_at(run, "/progress/device/process_bytes");
  const int64_t used = whole_at(run, "/epoch/device_used_bytes");
  const int64_t budget = whole_at(run, "/start/device/budget_bytes");
  std::string line = fmt::format(
      "{}: budget {} {} planned {}", text_at(run, "/start/device/name"), format_bytes(budget),
      bar(static_cast<double>(std::max(held, used)) / static_cast<double>(std::max<int64_t>(budget, 1)),
          width / 4),
      format_bytes(whole_at(run, "/start/device/planned_peak_bytes")));
  if (used > 0) line += fmt::format(", used {}", format_bytes(used));
  if (held > 0) line += fmt::format(", {} held by the process", format_bytes(held));
  if (has_number(run, "/progress/device/busy"))
    line += fmt::format(", {:.0f} % busy", 100 * number_at(run, "/progress/device/busy"));
  return line;
}

std::string binds_line(const Json& run) {
  return fmt::format("{} blocks in flight, {} threads; bottleneck: {}",
                     whole_at(run, "/progress/blocks_in_flight"), whole_at(run, "/start/threads"),
                     text_at(run, "/progress/binds"));
}

std::string work_line(const Json& run) {
  const auto share = [&](const char* pointer) { return 100 * number_at(run, pointer); };
  return fmt::format("work {:.0f} %; waiting for graphs {:.0f} %, for memory {:.0f} %, for order {:.0f} %",
                     share("/progress/working"), share("/progress/waited_reading"),
                     share("/progress/waited_memory"), share("/progress/waited_order"));
}

std::string pressure_line(const Json& run) {
  const int64_t level = whole_at(run, "/progress/pressure");
  const std::string reruns = fmt::format("{} reruns", whole_at(run, "/progress/reruns"));
  return level == 0
             ? "pressure none; " + reruns
             : fmt::format("pressure {}: {}; {}", level, text_at(run, "/progress/pressure_reason"), reruns);
}

}  // namespace

std::string run_screen(const std::vector<Json>& runs, int width, double now) {
  std::string screen = fmt::format("plimsoll top: {} run{}\n", runs.size(), runs.size() == 1 ? "" : "s");
  if (runs.empty())
    screen += "\nno process on this machine is training; give the folder of a run to see how it ended\n";
  for (const Json& run : runs) {
    screen += fmt::format("\n{}  {}  {}", path_from_here(text_at(run, "/run")), text_at(run, "/stage"),
                          text_at(run, "/state"));
    if (run.contains("process") && run.at("process").is_number())
      screen += fmt::format("  process {}", whole_at(run, "/process"));
    if (const double time = number_at(run, "/time"); time > 0)
      screen += fmt::format("  last update {} ago", format_seconds(std::max(now - time, 0.0)));
    screen += "\n";
    const auto add = [&](std::string_view line) {
      for (std::string_view indent = "  "; !line.empty(); indent = "    ") {
        const size_t end = end_of_row(line, width - static_cast<int>(indent.size()));
        screen += fmt::format("{}{}\n", indent, line.substr(0, end));
        line.remove_prefix(std::min(end + 1, line.size()));
      }
    };
    if (!run.contains(Json::json_pointer("/start/planned_bytes")))
      continue;  // The run computes a column, or an older version wrote it.
    if (run.contains("progress")) add(progress_line(run, width));
    if (run.contains("epoch")) add(loss_line(run));
    add(budget_line(run, width));
    if (!run.contains("progress")) continue;
    if (run.contains(Json::json_pointer("/start/device/name"))) add(device_line(run, width));
    add(ledger_line(run));
    if (!run.contains(Json::json_pointer("/progress/binds")))
      continue;  // A run that is trained in Python has no workers.
    add(binds_line(run));
    add(work_line(run));
    add(pressure_line(run));
  }
  return screen;
}

}  // namespace plimsoll
