#include "ingest/can/capture_format.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "ingest/can/fields.h"
#include "ingest/can/formats.h"

namespace plimsoll {
namespace {

// The counts by name: the one list that adding and printing use.
template <typename Notes, typename Visit>
void visit_notes(Notes& notes, Visit&& visit) {
  visit("odd_payload", notes.odd_payload);
  visit("trimmed_payload", notes.trimmed_payload);
  visit("empty_payload", notes.empty_payload);
  visit("time_runs_back", notes.time_runs_back);
  visit("rounded_time", notes.rounded_time);
  visit("float_id", notes.float_id);
  visit("blank_lines", notes.blank_lines);
  visit("crlf_lines", notes.crlf_lines);
  visit("suffixes", notes.suffixes);
  visit("other_channels", notes.other_channels);
}

// Whether the first of the lines that is no header parses, or is a frame of a channel that was not asked for;
// a file of a header alone fits any format.
bool fits(const CaptureFormat& format, std::string_view lines) {
  FrameBatch batch;
  batch.width = 64;
  LineNotes notes;
  bool first = true;
  while (!lines.empty()) {
    const size_t end = lines.find('\n');
    std::string_view line = lines.substr(0, end);
    lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 1);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (trim(line).empty()) continue;
    try {
      if (format.parse(line, first, batch, notes) || notes.other_channels > 0) return true;
    } catch (const Wrong&) {
      return false;
    }
    first = false;
  }
  return false;
}

}  // namespace

void LineNotes::add(const LineNotes& other) {
  std::vector<int64_t> counts;
  visit_notes(other, [&](const char*, int64_t count) { counts.push_back(count); });
  size_t i = 0;
  visit_notes(*this, [&](const char*, int64_t& count) { count += counts[i++]; });
}

Json LineNotes::to_json() const {
  Json json = Json::object();
  visit_notes(*this, [&](const char* name, int64_t count) {
    if (count > 0) json[name] = count;
  });
  return json;
}

Json FormatOptions::to_json() const {
  Json json = {{"format", name}, {"payload", payload}};
  if (!channel.empty()) json["channel"] = channel;
  if (!attack_labels.empty()) json["attack_labels"] = attack_labels;
  if (name != "table") return json;
  json["columns"] = columns;
  json["separator"] = separator;
  json["quote"] = quote;
  json["id"] = decimal_id ? "dec" : "hex";
  json["bytes"] = decimal_bytes ? "dec" : "hex";
  json["time"] = time;
  json["length"] = length_in_bits ? "bits" : "bytes";
  return json;
}

std::unique_ptr<CaptureFormat> CaptureFormat::make(const FormatOptions& options, std::string_view first_lines,
                                                   const std::string& file) {
  if (options.payload != 8 && options.payload != 64)
    throw UsageError(fmt::format("--payload {} is neither 8 nor 64", options.payload));
  if (options.name == "ctat-csv") return make_ctat_csv();
  if (options.name == "hcrl-csv") return make_hcrl_csv();
  if (options.name == "hcrl-text") return make_hcrl_text();
  if (options.name == "candump") return make_candump(options, first_lines);
  if (options.name == "table") return make_table(options);
  if (options.name != "auto")
    throw UsageError(
        fmt::format("--format '{}' is not known; expected auto, ctat-csv, hcrl-csv, hcrl-text, candump or "
                    "table",
                    options.name));
  using Make = std::unique_ptr<CaptureFormat> (*)();
  for (const Make make : {make_ctat_csv, make_hcrl_csv, make_hcrl_text})
    if (auto format = make(); fits(*format, first_lines)) return format;
  if (auto format = make_candump(options, first_lines); fits(*format, first_lines)) return format;
  // One malformed line must not hide what the file is: the four-column header says it as well.
  if (first_lines.starts_with("timestamp,arbitration_id,data_field,attack")) return make_ctat_csv();
  throw InputError(fmt::format(
      "{}: its first lines are of no known capture format (ctat-csv, hcrl-csv, hcrl-text, "
      "candump); name it with --format, or describe its columns to `plimsoll ingest can --format table "
      "--columns`",
      file));
}

}  // namespace plimsoll
