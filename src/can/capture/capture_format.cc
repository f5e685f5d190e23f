#include "can/capture/capture_format.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

#include "base/error.h"
#include "base/shown.h"
#include "base/word_text.h"
#include "can/capture/fields.h"
#include "can/capture/formats.h"

namespace plimsoll {
namespace {

// Visits the counts by name. Adding and printing both use this list.
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
  visit("extra_bytes", notes.extra_bytes);
  visit("unmarked_id", notes.unmarked_id);
  visit("unknown_date", notes.unknown_date);
  visit("added_time", notes.added_time);
  visit("shifted_time", notes.shifted_time);
  visit("other_channels", notes.other_channels);
  visit("other_lines", notes.other_lines);
  visit("other_records", notes.other_records);
  visit("stray_bytes", notes.stray_bytes);
  visit("no_time", notes.no_time);
  visit("cut_off_bytes", notes.cut_off_bytes);
}

// A text format. The formats are tried in the order of their list.
struct TextCapture {
  const char* name;
  std::unique_ptr<CaptureFormat> (*make)(const FormatOptions& options, std::string_view first_lines);
  // Recognizes the format by its header. If null, the first frame is tried.
  bool (*has_header)(std::string_view first_lines) = nullptr;
};
template <std::unique_ptr<CaptureFormat> (*make)()>
std::unique_ptr<CaptureFormat> plain(const FormatOptions&, std::string_view) {
  return make();
}
template <std::unique_ptr<CaptureFormat> (*make)(const FormatOptions&)>
std::unique_ptr<CaptureFormat> plain(const FormatOptions& options, std::string_view) {
  return make(options);
}
std::span<const TextCapture> text_formats() {
  static constexpr TextCapture kFormats[] = {
      {"asc", make_asc,
       [](std::string_view lines) { return lines.starts_with("date ") || lines.starts_with("base "); }},
      {"trc", make_trc, [](std::string_view lines) { return lines.starts_with(';'); }},
      {"gvret", make_gvret, is_gvret},
      {"cabana", make_cabana, [](std::string_view lines) { return lines.starts_with("time,addr,bus,data"); }},
      {"busmaster", make_busmaster, [](std::string_view lines) { return lines.starts_with("***"); }},
      {"python-can", plain<make_python_can>,
       [](std::string_view lines) {
         return lines.starts_with("timestamp,arbitration_id,extended,remote,error,");
       }},
      {"ctat-csv", plain<make_ctat_csv>},
      {"hcrl-csv", plain<make_hcrl_csv>},
      {"hcrl-text", plain<make_hcrl_text>},
      {"candump", make_candump},
      // The following formats may have comments before the header, or no header.
      {"asc", make_asc},
  };
  return kFormats;
}

// Whether the first line that is not a header can be parsed or is a frame of another channel. A file that has
// only a header fits any format.
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
    } catch (const LineError&) {
      return false;
    }
    first = false;
  }
  return false;
}

std::unique_ptr<CaptureFormat> choose_format(const FormatOptions& options, std::string_view first_lines,
                                             const std::string& file) {
  if (options.name == kTableFormat) return make_table(options, first_lines);
  const auto& formats = text_formats();
  if (options.name != kAnyFormat) {
    const auto named =
        std::ranges::find_if(formats, [&](const TextCapture& format) { return options.name == format.name; });
    if (named != formats.end()) return named->make(options, first_lines);
    if (std::ranges::find(capture_formats(), options.name) != capture_formats().end())
      throw InputError(fmt::format("{}: its first bytes are not those of {}", file, options.name));
    throw UsageError(fmt::format("--format '{}' is not known; expected {} or table", options.name,
                                 fmt::join(capture_formats(), ", ")));
  }
  for (const TextCapture& candidate : formats) {
    if (candidate.has_header != nullptr && !candidate.has_header(first_lines)) continue;
    auto format = candidate.make(options, first_lines);
    if (candidate.has_header != nullptr || fits(*format, first_lines)) return format;
  }
  // One malformed line must not hide the format, so the four-column header is enough.
  if (first_lines.starts_with("timestamp,arbitration_id,data_field,attack")) return make_ctat_csv();
  if (first_lines.find_first_not_of(" \t\r\n") == std::string_view::npos)
    throw InputError(file + ": holds no frames; remove it or name the captures one by one");
  throw InputError(
      fmt::format("{}: its first lines are not in a known capture format ({}); name it with --format, or "
                  "describe its columns "
                  "to `plimsoll ingest can --format table --columns`",
                  file, fmt::join(std::span(capture_formats()).subspan(1), ", ")));
}

// Refuses --time for formats whose lines define their times. Only tables and candump accept it.
void require_useful_time(const FormatOptions& options, const CaptureFormat& format, const std::string& file) {
  const bool is_useful =
      !options.time || format.name() == kTableFormat ||
      (format.name() == kCandump && (options.time == TimeUnit::seconds || options.time == TimeUnit::delta));
  if (!is_useful)
    throw UsageError(
        fmt::format("--time {}: {} is {}, whose lines define their times; use --time with tables, or s or "
                    "delta with candump",
                    *options.time, file, format.name()));
}

}  // namespace

const std::vector<std::string>& capture_formats() {
  static const std::vector<std::string> names = {
      "auto",  "ctat-csv", "hcrl-csv",  "hcrl-text",  "candump", "asc", "trc",
      "gvret", "cabana",   "busmaster", "python-can", "blf",     "mf4", "pcap"};
  return names;
}

void LineNotes::add(const LineNotes& other) {
  std::vector<int64_t> counts;
  visit_notes(other, [&](const char*, int64_t count) { counts.push_back(count); });
  size_t i = 0;
  visit_notes(*this, [&](const char*, int64_t& count) { count += counts[i++]; });
  elapsed_ns += other.elapsed_ns;
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
  if (!channel_names.empty()) json["channel_names"] = channel_names;
  if (merge_channels) json["merge_channels"] = true;
  if (!attack_labels.empty()) json["attack_labels"] = attack_labels;
  if (benign) json["benign"] = true;
  if (refuse_truncated) json["truncated"] = "fail";
  if (name != kTableFormat) {
    if (time) json["time"] = *time;
    return json;
  }
  json["columns"] = columns;
  json["separator"] = separator;
  json["quote"] = quote;
  json["id"] = decimal_id ? "dec" : "hex";
  json["bytes"] = decimal_bytes ? "dec" : "hex";
  json["time"] = time.value_or(TimeUnit::seconds);
  json["length"] = length_in_bits ? "bits" : "bytes";
  return json;
}

std::string FormatOptions::name_of_channel(const std::string& channel_of_capture) const {
  const auto named = channel_names.find(channel_of_capture);
  return shown(named == channel_names.end() ? channel_of_capture : named->second);
}

std::unique_ptr<CaptureFormat> CaptureFormat::make(const FormatOptions& options, std::string_view first_lines,
                                                   const std::string& file) {
  if (options.payload != 8 && options.payload != 64)
    throw UsageError(fmt::format("--payload {} is neither 8 nor 64", options.payload));
  auto format = choose_format(options, first_lines, file);
  require_useful_time(options, *format, file);
  if (options.warn)
    for (const std::string& warning : format->warnings()) options.warn(fmt::format("{}:{}", file, warning));
  return format;
}

void FormatOptions::warn_on_stderr(const std::string& text) {
  fmt::print(stderr, "plimsoll: {}\n", text);
}

}  // namespace plimsoll
