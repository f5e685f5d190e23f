#pragma once

#include <CLI/CLI.hpp>

#include "can/capture/capture_format.h"

namespace plimsoll {

/// Adds --format, --payload, --channel, --name-channel, --time and --truncated, which define how a verb reads
/// captures. `format` must outlive `verb`.
void add_capture_options(CLI::App& verb, FormatOptions& format);
/// Adds --merge-channels to a verb that makes recordings from captures. Call it last, after the
/// functions that add other options.
void add_merge_channels(CLI::App& verb, FormatOptions& format);

/// The options for reading captures, and those that describe the columns of a table, such as --columns and
/// --separator. After parsing, settle() completes the format.
class TableOptions {
 public:
  void add(CLI::App& verb, FormatOptions& format);
  /// Sets the fields of `format` that depend on several options.
  void settle(FormatOptions& format) const;
  /// Returns the arguments that pass the table options and the attack labels to another verb.
  std::vector<std::string> as_words(const FormatOptions& format) const;

 private:
  std::string id_ = "hex";
  std::string bytes_;
  std::string length_ = "bytes";
};

}  // namespace plimsoll
