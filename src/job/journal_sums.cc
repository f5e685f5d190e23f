#include "job/journal_sums.h"

#include <algorithm>
#include <optional>

#include "job/json_at.h"
#include "telemetry/journal_event.h"

namespace plimsoll {

void JournalSums::add(const Json& event) {
  const Json name = at_or_null(event, "/event");
  const auto kind = name.is_string() ? find_word<JournalEvent>(name.get<std::string>()) : std::nullopt;
  if (kind == JournalEvent::start || kind == JournalEvent::resume) {
    reruns_ += reruns_of_start_;
    reruns_of_start_ = 0;
  }
  // The count is cumulative within one process.
  reruns_of_start_ = std::max(reruns_of_start_, bytes_at(event, "/reruns"));
  pressure_ += kind == JournalEvent::pressure ? 1 : 0;
  interruptions_ += kind == JournalEvent::interrupted ? 1 : 0;
  damaged_ += kind == JournalEvent::damaged_checkpoint ? 1 : 0;
  if (event.contains("reading")) {
    reads_rows_ = true;
    waited_s_ += number_at(event, "/reading/waited_s");
    stalled_s_ += number_at(event, "/reading/stalled_s");
    bytes_read_ += number_at(event, "/reading/bytes_read");
  }
  add_device(event, kind == JournalEvent::progress);
  used_ = std::max(used_, bytes_at(event, "/device_used_bytes"));
  held_ = std::max(held_, bytes_at(event, "/device_process_bytes"));
}

void JournalSums::add_device(const Json& event, bool is_progress) {
  const Json entry = at_or_null(event, "/device");
  if (!entry.is_object()) return;
  if (at_or_null(entry, "/name").is_string()) name_ = entry.at("name").get<std::string>();
  budget_ = std::max(budget_, bytes_at(entry, "/budget_bytes"));
  planned_ = std::max(planned_, bytes_at(entry, "/planned_peak_bytes"));
  used_ = std::max(used_, bytes_at(entry, "/measured_peak_bytes"));
  min_budget_ = std::max(min_budget_, bytes_at(entry, "/min_budget_bytes"));
  held_ = std::max(held_, bytes_at(entry, "/process_bytes"));
  if (!is_progress || !at_or_null(entry, "/busy").is_number()) return;
  busy_ += number_at(entry, "/busy");
  ++samples_;
}

Json JournalSums::journal() const {
  Json sums = {{"reruns", reruns_ + reruns_of_start_},
               {"pressure", pressure_},
               {"interruptions", interruptions_},
               {"damaged_checkpoints", damaged_}};
  sums["rows"] = reads_rows_
                     ? Json({{"waited_s", waited_s_}, {"stalled_s", stalled_s_}, {"bytes_read", bytes_read_}})
                     : Json();
  return sums;
}

Json JournalSums::device() const {
  if (name_.empty()) return {};
  return {{"name", name_},
          {"budget_bytes", budget_},
          {"planned_peak_bytes", planned_},
          {"used_peak_bytes", used_},
          {"min_budget_bytes", min_budget_},
          {"process_peak_bytes", held_ > 0 ? Json(held_) : Json()},
          {"busy", samples_ > 0 ? Json(busy_ / static_cast<double>(samples_)) : Json()}};
}

}  // namespace plimsoll
