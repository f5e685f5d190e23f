#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"

namespace plimsoll {

/// Shows the part of `plimsoll inspect` that is specific to one kind of data set. Not thread-safe.
class Inspector {
 public:
  virtual ~Inspector() = default;
  virtual std::string kind() const = 0;
  /// Adds the inspector's own options, which are set when the command line is parsed.
  virtual std::vector<CLI::Option*> add_options(CLI::App& /*verb*/) { return {}; }
  /// Prints a readable summary. Errors: InputError.
  virtual void print(const std::string& folder) const = 0;
  /// Adds the results of its options to the manifest, which --json prints. Errors: InputError.
  virtual void add_json(const std::string& /*folder*/, Json& /*json*/) const {}
};

std::unique_ptr<Inspector> inspector_can();  // Defined in cli/can.

}  // namespace plimsoll
