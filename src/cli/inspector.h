#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"

namespace plimsoll {

/// What `plimsoll inspect` shows of data sets of one kind, beside the manifest. Not thread-safe.
class Inspector {
 public:
  virtual ~Inspector() = default;
  virtual std::string kind() const = 0;
  /// Options of its own. They are completed when the command line is parsed.
  virtual std::vector<CLI::Option*> add_options(CLI::App& /*verb*/) { return {}; }
  /// Prints what people want to know. Errors: InputError.
  virtual void print(const std::string& folder) const = 0;
  /// Adds to the manifest, which --json prints, what its options ask for. Errors: InputError.
  virtual void add_json(const std::string& /*folder*/, Json& /*json*/) const {}
};

std::unique_ptr<Inspector> inspector_of_frames();  // cli/can/inspect_frames.cc

}  // namespace plimsoll
