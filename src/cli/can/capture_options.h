#pragma once

#include <CLI/CLI.hpp>

#include "can/capture/capture_format.h"

namespace plimsoll {

/// Adds --format, --payload, --channel, --name-channel, --time and --truncated, which define how a verb reads
/// captures, and sets `format.payload` to kChosenPayload. Parsing the command line sets the other fields of
/// `format`, which must outlive `verb`.
void add_capture_options(CLI::App& verb, FormatOptions& format);
/// Adds --merge-channels to a verb that makes recordings from captures. Call it last, after the
/// functions that add other options.
void add_merge_channels(CLI::App& verb, FormatOptions& format);

/// The options for reading captures and texts as tables: those that describe the columns, such as --columns
/// and --separator, and --attack-label. After parsing, settle() completes the format.
class TableOptions {
 public:
  /// Adds the options of add_capture_options() and those of a table. This object and `format` must outlive
  /// `verb`.
  void add(CLI::App& verb, FormatOptions& format);
  /// Sets the fields of `format` that these options do not set directly, and the format `table` if --columns
  /// was given without --format.
  void settle(FormatOptions& format) const;
  /// Returns the arguments that pass the table options, --time and the attack labels to another verb; the
  /// other options of add_capture_options() are not among them.
  std::vector<std::string> as_words(const FormatOptions& format) const;

 private:
  std::string id_ = "hex";
  std::string bytes_;
  std::string length_ = "bytes";
};

}  // namespace plimsoll
