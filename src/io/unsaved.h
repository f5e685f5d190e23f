#pragma once

#include <functional>
#include <string>

#include "base/error.h"

namespace plimsoll {

/// Files that could not be written beside a result. The result is worth reporting without them, so their
/// errors are kept until it is reported.
class Unsaved {
 public:
  /// Runs `save`, and keeps the text of its Failure. Errors: all others of `save`.
  void attempt(const std::function<void()>& save) {
    try {
      save();
    } catch (const Failure& error) {
      text_ += text_.empty() ? "" : "\n  ";
      text_ += error.what();
    }
  }
  /// The texts of all that failed, a line each; empty if everything was saved.
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace plimsoll
